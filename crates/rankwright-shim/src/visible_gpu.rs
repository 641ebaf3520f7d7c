//! The variables that show a rank its GPU.

use std::ffi::OsString;
use std::path::Path;

use rankwright_shim_format::ranks_map::{Device, Line};
use rankwright_shim_format::visible_gpus::{narrowed, restricts};

/// The variables of a line that are to be set: not those that the environment has, unless they narrow
/// the visible GPUs to the rank's; and a warning if the environment shows other GPUs.
pub(crate) fn variables(line: &Line) -> (Vec<(String, OsString)>, Option<String>) {
    let preset = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    variables_in(line, preset, Path::new("/"))
}

fn variables_in(
    line: &Line,
    preset: impl Fn(&str) -> Option<String>,
    root: &Path,
) -> (Vec<(String, OsString)>, Option<String>) {
    let text =
        |(name, value): &(String, OsString)| (name.clone(), value.to_string_lossy().into_owned());
    let wanted: Vec<(String, String)> = line.variables.iter().map(text).collect();
    let (own, warning) = match narrowed(&wanted, &preset, None) {
        Ok(own) => (own, None),
        Err(warning) => (Vec::new(), Some(warning)),
    };
    let is_own = |name: &str| own.iter().any(|(other, _)| other == name);
    let is_set = |(name, _): &&(String, OsString)| {
        !is_own(name) && preset(name).is_none() && (warning.is_none() || !restricts(name))
    };
    let mut variables: Vec<_> = line.variables.iter().filter(is_set).cloned().collect();
    for (name, value) in own {
        let listed = preset(&name).filter(|list| !list.is_empty());
        let listed = listed.map(|list| list.split(',').count());
        let unique = unique_name(&name, &line.devices, listed, root);
        let value = if value.parse::<u32>().is_ok() { unique.unwrap_or(value) } else { value };
        variables.push((name, value.into()));
    }
    (variables, warning)
}

/// The name of the rank's GPU that is the same in every process, whatever GPUs a cgroup hides: CUDA's
/// UUID, ROCm's unique id. `None` where the driver does not tell, or the environment `listed` fewer
/// GPUs than there are: then the rank's may not be granted, and a number still gives it one that is.
fn unique_name(
    variable: &str,
    devices: &[Device],
    listed: Option<usize>,
    root: &Path,
) -> Option<String> {
    let mut addresses = devices.iter().filter_map(|device| device.pci.as_deref());
    let count = |folder: &str| -> usize {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().contains(':')).count()
    };
    let (folder, name) = match variable {
        "CUDA_VISIBLE_DEVICES" => {
            let folder = "proc/driver/nvidia/gpus";
            let uuid = |address: &str| -> Option<String> {
                let file = root.join(folder).join(address).join("information");
                let text = std::fs::read_to_string(file).ok()?;
                let uuid = text.lines().find_map(|line| line.strip_prefix("GPU UUID:"))?.trim();
                // The driver shows question marks to those who may not see it.
                let is_uuid = uuid.starts_with("GPU-") && !uuid.contains('?');
                is_uuid.then(|| uuid.to_owned())
            };
            (folder, addresses.find_map(uuid)?)
        }
        "ROCR_VISIBLE_DEVICES" => {
            let id = |address: &str| -> Option<String> {
                let file = root.join("sys/bus/pci/devices").join(address).join("unique_id");
                let id =
                    u64::from_str_radix(std::fs::read_to_string(file).ok()?.trim(), 16).ok()?;
                (id > 0).then(|| format!("GPU-{id:016x}"))
            };
            ("sys/bus/pci/drivers/amdgpu", addresses.find_map(id)?)
        }
        _ => return None,
    };
    listed.is_none_or(|listed| listed == count(folder)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(variables: &[(&str, &str)], pci: &str) -> Line {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), OsString::from(value));
        Line {
            rank: 0,
            host: "n0".to_owned(),
            pus: vec![0],
            memory: None,
            bound: true,
            devices: vec![Device { names: vec!["gpu".to_owned()], pci: Some(pci.to_owned()) }],
            variables: variables.iter().map(owned).collect(),
        }
    }

    fn set(line: &Line, preset: &[(&str, &str)], root: &Path) -> (String, Option<String>) {
        let find = |name: &str| {
            preset.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
        };
        let (variables, warning) = variables_in(line, find, root);
        let text = variables.iter().map(|(n, v)| format!("{n}={}", v.to_string_lossy()));
        (text.collect::<Vec<_>>().join(" "), warning)
    }

    #[test]
    fn the_drivers_name_of_a_gpu_is_better_than_its_number() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = root.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        for (address, uuid) in [("0000:07:00.0", "GPU-ec1a-07"), ("0000:0f:00.0", "GPU-????-0f")] {
            let text =
                format!("Model: \t\t NVIDIA A100\nGPU UUID: \t {uuid}\nDevice Minor: \t 1\n");
            write(&format!("proc/driver/nvidia/gpus/{address}/information"), &text);
        }
        write("sys/bus/pci/devices/0000:c1:00.0/unique_id", "18f68e602b8a790f\n");
        write("sys/bus/pci/drivers/amdgpu/0000:c1:00.0/x", "");
        let cuda = [("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", "1")];
        let order = "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES";
        let known = line(&cuda, "0000:07:00.0");
        let shown = |preset: &[(&str, &str)]| set(&known, preset, root.path());
        assert_eq!(shown(&[]), (format!("{order}=GPU-ec1a-07"), None));
        assert_eq!(shown(&[("CUDA_VISIBLE_DEVICES", "0,1")]).0, format!("{order}=GPU-ec1a-07"));
        // One of the two is granted at most: the number is that within the list.
        assert_eq!(shown(&[("CUDA_VISIBLE_DEVICES", "1")]).0, format!("{order}=1"));
        let hidden = line(&cuda, "0000:0f:00.0");
        assert_eq!(set(&hidden, &[], root.path()).0, format!("{order}=1"));
        let amd = line(&[("ROCR_VISIBLE_DEVICES", "0")], "0000:c1:00.0");
        let wanted = "ROCR_VISIBLE_DEVICES=GPU-18f68e602b8a790f";
        assert_eq!(set(&amd, &[], root.path()).0, wanted);
        let hip = set(&amd, &[("HIP_VISIBLE_DEVICES", "0")], root.path()).0;
        assert_eq!(hip, format!("{wanted} HIP_VISIBLE_DEVICES=0"));
    }

    #[test]
    fn an_environment_with_other_gpus_is_kept_with_a_warning() {
        let wanted = [("A", "1"), ("CUDA_VISIBLE_DEVICES", "1")];
        let line = line(&wanted, "0000:07:00.0");
        let preset = [("CUDA_VISIBLE_DEVICES", "3")];
        let (variables, warning) = set(&line, &preset, Path::new("/nowhere"));
        assert_eq!(variables, "A=1");
        assert!(warning.unwrap().starts_with("CUDA_VISIBLE_DEVICES=3 is kept"));
    }
}
