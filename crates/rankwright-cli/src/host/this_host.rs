//! The host that this program runs on.

use std::num::NonZeroUsize;

use rankwright::cluster::read::live;
use rankwright::cluster::{Cluster, ClusterDescription, hostlist};
use rankwright::files::InputError;
use rankwright::units::counted;

/// This host as a cluster of one node; the PUs that this process may use are free.
pub(crate) fn cluster() -> anyhow::Result<Cluster> {
    let host = name()?;
    let names = hostlist::expand(&host)
        .and_then(hostlist::distinct)
        .map_err(|error| InputError::new("host name", error.found, error.expected))?;
    Ok(ClusterDescription::uniform(&host, names, live::discover()?).build()?)
}

/// Number of PUs that this process may use, by affinity and control groups.
pub(crate) fn usable_pus() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The mean number of threads that ran or waited for a PU of this host in the last minute, in words, if there
/// were more than it has PUs; `None` if the kernel does not tell.
pub(crate) fn overload() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let of_pu = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let pus = std::fs::read_to_string("/proc/stat").ok()?.lines().filter(of_pu).count();
    let pus_in_words = counted(pus, "PU");
    (load > pus as f64).then(|| format!("the load of this host is {load:.1} on {pus_in_words}"))
}

/// Whether this process runs as root.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments, no memory, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The name of this host.
#[expect(unsafe_code, reason = "the standard library has no call for this")]
pub(crate) fn name() -> anyhow::Result<String> {
    let mut buffer = [0_u8; 256];
    // SAFETY: the buffer is valid for writing up to the length given, which leaves a zero behind.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    anyhow::ensure!(result == 0, "the host name cannot be read");
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    Ok(String::from_utf8_lossy(&buffer[..end]).into_owned())
}
