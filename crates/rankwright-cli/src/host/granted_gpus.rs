//! Whether the batch system granted GPUs.

use rankwright_shim_format::visible_gpus::lists_some;

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

/// Whether this program runs in a batch job to which GPUs were granted.
pub(crate) fn any() -> bool {
    granted(|name| std::env::var(name).ok())
}

/// The number of GPUs that the batch job around this program lists as visible on this host; `None`
/// outside of jobs and where it lists none.
pub(crate) fn visible() -> Option<usize> {
    visible_by(|name| std::env::var(name).ok())
}

fn visible_by(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    IN_JOBS.iter().find_map(|name| variable(name))?;
    let list = VISIBLE.iter().find_map(|name| variable(name).filter(|list| lists_some(list)))?;
    Some(list.split(',').count())
}

fn granted(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_some = |name: &str| variable(name).is_some_and(|value| lists_some(&value));
    let count = |name: &str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    // Torque names a file with a line for each GPU.
    let file = || {
        let file = variable("PBS_GPUFILE")?;
        Some(std::fs::metadata(file).ok()?.len() > 0)
    };
    IN_JOBS.iter().any(|name| variable(name).is_some())
        && (OF_SLURM.iter().any(|name| count(name))
            || VISIBLE.iter().any(|name| is_some(name))
            || file().unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_systems_tell_of_gpus_in_their_own_ways() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "n0-gpu0\n").unwrap();
        let file = file.path().display().to_string();
        for (variables, expected) in [
            (&[("SLURM_JOB_ID", "7"), ("SLURM_GPUS_ON_NODE", "4")][..], true),
            (&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_GPUS", "0,1")], true),
            (&[("SLURM_JOB_ID", "7"), ("SLURM_GPUS_ON_NODE", "0")], false),
            (&[("SLURM_JOB_ID", "7"), ("CUDA_VISIBLE_DEVICES", "NoDevFiles")], false),
            (&[("SLURM_JOB_ID", "7")], false),
            (&[("PBS_JOBID", "7"), ("CUDA_VISIBLE_DEVICES", "GPU-aa,GPU-bb")], true),
            (&[("PBS_JOBID", "7"), ("PBS_GPUFILE", &file)], true),
            (&[("PBS_JOBID", "7"), ("PBS_GPUFILE", "/dev/null")], false),
            (&[("LSB_JOBID", "7"), ("CUDA_VISIBLE_DEVICES", "0")], true),
            (&[("FLUX_JOB_ID", "f7"), ("CUDA_VISIBLE_DEVICES", "-1")], false),
            (&[("FLUX_JOB_ID", "f7"), ("ROCR_VISIBLE_DEVICES", "0,1")], true),
            // Nobody granted them.
            (&[("CUDA_VISIBLE_DEVICES", "0")], false),
        ] {
            let find = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(granted(find), expected, "{variables:?}");
            let listed = variables.iter().find(|(name, list)| {
                name.ends_with("VISIBLE_DEVICES") && lists_some(list) && variables.len() > 1
            });
            assert_eq!(visible_by(find), listed.map(|(_, list)| list.split(',').count()));
        }
    }
}
