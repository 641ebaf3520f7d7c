//! Whether the batch system granted GPUs, and which.

use rankwright::cluster::read::allocation::{gpus_granted, gpus_here, visible_gpu_numbers};

use crate::host::flux_job;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether this program runs in a batch job to which GPUs were granted.
pub(crate) fn any() -> bool {
    let of_flux = || {
        let hosts = flux_job::hosts()?;
        Some(hosts.iter().any(|granted| granted.gpus.as_ref().is_some_and(|gpus| !gpus.is_empty())))
    };
    gpus_granted(variable) || of_flux().unwrap_or(false)
}

/// The number of GPUs granted to the batch job around this program on this host; `None` outside of jobs and
/// where that is not told.
pub(crate) fn here() -> Option<usize> {
    gpus_here(variable)
}

/// The numbers of the GPUs that the batch job around this program lists as visible on this host,
/// ascending; `None` outside of jobs, and where it lists none or other names than numbers.
pub(crate) fn visible_numbers() -> Option<Vec<u32>> {
    visible_gpu_numbers(variable)
}
