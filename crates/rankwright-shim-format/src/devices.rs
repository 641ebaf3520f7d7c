//! Whether this host has a network device or a GPU, according to the kernel.

use std::path::Path;

/// Where the kernel lists devices by name.
const CLASSES: [&str; 4] = ["infiniband", "net", "cxi", "drm"];

/// The prefixes of the kernel's device names, which a number follows. If a name has another form
/// and is not listed, it is unknown whether the device exists.
const KERNEL_NAMES: [&str; 23] = [
    "mlx", "hfi", "cxi", "hsn", "hsi", "ib", "ibp", "ibs", "bnxt_re", "irdma", "efa", "efa_",
    "rdmap", "rocep", "roceo", "roce", "qib", "mthca", "eth", "enp", "eno", "ens", "card",
];

/// The prefixes of libraries' GPU names, and the kernel drivers of these GPUs.
const GPU_DRIVERS: [(&str, &[&str]); 4] =
    [("cuda", &["nvidia"]), ("nvml", &["nvidia"]), ("rsmi", &["amdgpu"]), ("ze", &["i915", "xe"])];

/// The names of devices that a host does not have, or whose existence is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotSeen {
    /// Devices that the host does not have.
    pub missing: Vec<String>,
    /// Devices whose existence is unknown.
    pub untold: Vec<String>,
}

impl NotSeen {
    /// Looks for devices in `sys`, the `/sys` of this host. Each has a PCI address, if known, and
    /// names; the result has the first name.
    pub fn of<'a>(
        devices: impl Iterator<Item = (Option<&'a str>, Vec<&'a str>)>,
        sys: &Path,
    ) -> Self {
        let mut not_seen = Self::default();
        for (pci, names) in devices {
            let list = match is_here(pci, &names, sys) {
                Some(true) => continue,
                Some(false) => &mut not_seen.missing,
                None => &mut not_seen.untold,
            };
            list.extend(names.first().map(|name| (*name).to_owned()));
        }
        not_seen
    }
}

/// Whether the device with this PCI address (if known) and these names is in `sys`, the `/sys` of a
/// host; `None` if that is unknown. Libraries number GPUs in their own order, so `cuda3` exists if
/// the host has at least four.
fn is_here(pci: Option<&str>, names: &[&str], sys: &Path) -> Option<bool> {
    if let Some(address) = pci {
        return Some(sys.join("bus/pci/devices").join(address).exists());
    }
    let listed =
        |name: &&str| CLASSES.iter().any(|class| sys.join("class").join(class).join(name).exists());
    if names.iter().any(listed) {
        return Some(true);
    }
    let gpus = names.iter().find_map(|name| {
        let numbered = |(start, drivers)| Some((number_behind(name, start)?, drivers));
        GPU_DRIVERS.into_iter().find_map(numbered)
    });
    if let Some((number, drivers)) = gpus {
        return Some(driven(drivers, sys)? > number);
    }
    let is_kernels = |name: &&str| {
        let behind = KERNEL_NAMES.iter().filter_map(|start| name.strip_prefix(start));
        behind.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    names.iter().any(is_kernels).then_some(false)
}

fn number_behind(name: &str, start: &str) -> Option<usize> {
    name.strip_prefix(start)?.parse().ok()
}

/// The number of PCI devices of these drivers; `None` if the system does not show it.
fn driven(drivers: &[&str], sys: &Path) -> Option<usize> {
    let folder = sys.join("bus/pci/drivers");
    let is_device = |name: &std::ffi::OsStr| name.to_string_lossy().contains(':');
    let count = |driver: &&str| {
        let entries = std::fs::read_dir(folder.join(driver)).into_iter().flatten().flatten();
        entries.filter(|entry| is_device(&entry.file_name())).count()
    };
    folder.exists().then(|| drivers.iter().map(count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_address_name_or_driver() {
        let sys = tempfile::tempdir().unwrap();
        for path in [
            "bus/pci/devices/0000:41:00.0",
            "bus/pci/drivers/nvidia/0000:81:00.0",
            "bus/pci/drivers/nvidia/0000:a1:00.0",
            "bus/pci/drivers/nvidia/module",
            "class/infiniband/mlx5_0",
            "class/net/storage",
        ] {
            std::fs::create_dir_all(sys.path().join(path)).unwrap();
        }
        let is_here = |pci, names: &[&str]| is_here(pci, names, sys.path());
        assert_eq!(is_here(Some("0000:41:00.0"), &["mlx5_7"]), Some(true));
        assert_eq!(is_here(Some("0000:99:00.0"), &["mlx5_0"]), Some(false));
        for name in ["mlx5_0", "storage", "cuda0", "nvml1"] {
            assert_eq!(is_here(None, &[name]), Some(true), "{name}");
        }
        for name in [
            "mlx5_1",
            "hfi1_0",
            "ib0",
            "ibp59s0",
            "cxi0",
            "bnxt_re0",
            "efa_0",
            "rdmap0s6",
            "eth7",
            "enp65s0f0np0",
            "card3",
            "cuda2",
            "rsmi0",
            "ze0",
        ] {
            assert_eq!(is_here(None, &[name]), Some(false), "{name}");
        }
        for name in ["port A", "nic0", "ibex", "ethernet", "zebra", "cuda"] {
            assert_eq!(is_here(None, &[name]), None, "{name}");
        }
        assert_eq!(is_here(None, &["nic0", "storage"]), Some(true));
        assert_eq!(is_here(None, &["port A", "mlx5_1"]), Some(false));
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(super::is_here(None, &["cuda0"], empty.path()), None);
    }
}
