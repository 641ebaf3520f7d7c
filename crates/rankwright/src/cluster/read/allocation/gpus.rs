//! Whether a batch system granted GPUs, and which: by the variables that it sets for a job.

use std::collections::BTreeMap;
use std::path::Path;

use rankwright_shim_format::visible_gpus::lists_some;

use crate::files;
use crate::ids::PuSet;

/// Variables that are set in jobs of Slurm, PBS, LSF and Flux.
const IN_JOBS: [&str; 5] =
    ["SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "FLUX_ENCLOSING_ID"];

/// Numbers and lists of Slurm, set where a job has GPUs.
const OF_SLURM: [&str; 7] = [
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPUS_PER_SOCKET",
];

/// Lists of visible GPUs, which batch systems set for a job, to nothing visible where it has no GPUs.
const VISIBLE: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"];

/// Whether GPUs were granted to the batch job whose environment `variable` reads; `false` outside of jobs, and
/// where only Flux would tell.
pub fn gpus_granted(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_some = |name: &str| variable(name).is_some_and(|value| lists_some(&value));
    let count = |name: &str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    IN_JOBS.iter().any(|name| variable(name).is_some())
        && (OF_SLURM.iter().any(|name| count(name))
            || VISIBLE.iter().any(|name| is_some(name))
            || list_of_torque(&variable).is_some_and(|text| !text.is_empty()))
}

/// The number of GPUs granted to a batch job on the host whose environment `variable` reads; `None` outside of
/// jobs and where that is not told.
pub fn gpus_here(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let listed = |list: String| list.parse::<PuSet>().ok().map(|numbers| numbers.len());
    IN_JOBS.iter().find_map(|name| variable(name))?;
    let of_slurm = variable("SLURM_JOB_GPUS").and_then(listed);
    let counted = || variable("SLURM_GPUS_ON_NODE")?.parse().ok().filter(|count| *count > 0);
    let visible = || visible_list(&variable).map(|list| list.split(',').count());
    of_slurm.or_else(counted).or_else(visible)
}

/// The numbers of the GPUs that a batch job lists as visible on this host, ascending; `None` outside of jobs, and
/// where it lists none or other names than numbers.
pub fn visible_gpu_numbers(variable: impl Fn(&str) -> Option<String>) -> Option<Vec<u32>> {
    let numbers = |list: String| list.split(',').map(|number| number.trim().parse().ok()).collect();
    visible_list(variable).and_then(numbers).map(ascending)
}

/// The GPUs of each host that Torque's file lists (`n0-gpu0` in each line), ascending; none without
/// such a file, or if a line is of another form.
pub(super) fn listed_gpus(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, Vec<u32>)> {
    list_of_torque(variable).and_then(|text| listed_in(&text)).unwrap_or_default()
}

/// Torque names a file with a line for each GPU.
fn list_of_torque(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    files::read_text(Path::new(&variable("PBS_GPUFILE")?), "Torque's list of GPUs").ok()
}

fn listed_in(text: &str) -> Option<Vec<(String, Vec<u32>)>> {
    let mut hosts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (host, number) = line.rsplit_once("-gpu")?;
        hosts.entry(host).or_default().push(number.parse().ok()?);
    }
    Some(hosts.into_iter().map(|(host, numbers)| (host.to_owned(), ascending(numbers))).collect())
}

fn ascending(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn visible_list(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    IN_JOBS.iter().find_map(|name| variable(name))?;
    VISIBLE.iter().find_map(|name| variable(name).filter(|list| lists_some(list)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_gpus_have_numbers() {
        let of_hosts = |text: &str| listed_in(text).unwrap_or_default();
        let expected = [("n-gpu".to_owned(), vec![2]), ("n0".to_owned(), vec![0, 3])];
        assert_eq!(of_hosts("n0-gpu3\nn0-gpu0\n\nn-gpu-gpu2\n"), expected);
        assert_eq!(of_hosts("n0\n"), []);
        for (list, expected) in [
            ("2,0", Some(vec![0, 2])),
            ("1, 3", Some(vec![1, 3])),
            ("GPU-8a1f,GPU-99", None),
            ("NoDevFiles", None),
            ("", None),
        ] {
            let in_job = |name: &str| match name {
                "LSB_JOBID" => Some("7".to_owned()),
                "CUDA_VISIBLE_DEVICES" => Some(list.to_owned()),
                _ => None,
            };
            assert_eq!(visible_gpu_numbers(in_job), expected, "{list}");
            assert_eq!(
                visible_gpu_numbers(|name| in_job(name).filter(|_| name != "LSB_JOBID")),
                None
            );
        }
    }

    #[test]
    fn batch_systems_tell_of_gpus_in_their_own_ways() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "n0-gpu0\n").unwrap();
        let file = file.path().display().to_string();
        for (variables, any, here) in [
            (&[("SLURM_JOB_ID", "7"), ("SLURM_GPUS_ON_NODE", "4")][..], true, Some(4)),
            (&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_GPUS", "0,4-6")], true, Some(4)),
            (&[("SLURM_JOB_ID", "7"), ("SLURM_GPUS_ON_NODE", "0")], false, None),
            (&[("SLURM_JOB_ID", "7"), ("CUDA_VISIBLE_DEVICES", "NoDevFiles")], false, None),
            (&[("SLURM_JOB_ID", "7")], false, None),
            (&[("PBS_JOBID", "7"), ("CUDA_VISIBLE_DEVICES", "GPU-aa,GPU-bb")], true, Some(2)),
            (&[("PBS_JOBID", "7"), ("PBS_GPUFILE", &file)], true, None),
            (&[("PBS_JOBID", "7"), ("PBS_GPUFILE", "/dev/null")], false, None),
            (&[("LSB_JOBID", "7"), ("CUDA_VISIBLE_DEVICES", "0")], true, Some(1)),
            (&[("FLUX_JOB_ID", "f7"), ("CUDA_VISIBLE_DEVICES", "-1")], false, None),
            (&[("FLUX_JOB_ID", "f7"), ("ROCR_VISIBLE_DEVICES", "0,1")], true, Some(2)),
            // Nobody granted them.
            (&[("CUDA_VISIBLE_DEVICES", "0")], false, None),
        ] {
            let find = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!((gpus_granted(find), gpus_here(find)), (any, here), "{variables:?}");
        }
    }
}
