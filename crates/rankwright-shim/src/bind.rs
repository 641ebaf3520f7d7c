//! Binds this process according to its line of the map.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use rankwright_shim_format::ranks_map::Line;
use rankwright_shim_format::{pu_list, same_host};

use crate::affinity;
use crate::failure::Failure;
use crate::identity::{host_name, rank};
use crate::memory;
use crate::ranks_map::{self, Entry};
use crate::visible_gpu;

/// The variable with the PUs that a rank of an emulated cluster has in its placement.
const WANTED_PUS: &str = "RANKWRIGHT_WANTED_PUS";

/// What follows from the line for the program.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Variables for the program.
    pub(crate) variables: Vec<(String, OsString)>,
    /// Warnings about devices.
    pub(crate) warnings: Vec<String>,
}

/// Binds this process to the PUs and the memory of its line.
///
/// # Errors
/// If the rank is unknown, the map is unreadable, the host is another, or a binding is refused.
pub(crate) fn bind(map: &Path) -> Result<Bound, Failure> {
    let rank = rank()?;
    let entry = ranks_map::read(map, rank)?;
    let line = &entry.line;
    let host = host_name();
    if !same_host(&line.host, &host) {
        return Err(Failure::ours(format!(
            "rank {rank} runs on {host}, but is placed on {}: the launcher did not start it as \
             {} says; was the job started with other files or on other nodes?",
            line.host,
            map.display()
        )));
    }
    bind_to(rank, &entry)?;
    let (mut variables, other_gpus) = visible_gpu::variables(line);
    let other_gpus =
        other_gpus.map(|text| format!("warning: rank {rank} on {}: {text}", line.host));
    let warnings = devices_gone(rank, &entry).into_iter().chain(other_gpus).collect();
    if entry.emulated {
        variables.push((WANTED_PUS.to_owned(), pu_list::format(&line.pus).into()));
    }
    Ok(Bound { variables, warnings })
}

/// The warning that this host lacks devices of a rank. The program starts nevertheless: its network
/// stack may cope, and the user may have used --force.
fn devices_gone(rank: u32, entry: &Entry) -> Option<String> {
    let gone = entry.devices_not_seen(Path::new("/sys")).missing;
    (!gone.is_empty()).then(|| {
        format!(
            "warning: rank {rank} on {}: this host does not have {}, which the rank should \
             use; discover the node again (`rankwright cluster discover`) and place again",
            entry.line.host,
            gone.join(", ")
        )
    })
}

/// Binds this process to the PUs and the memory of `entry`.
///
/// # Errors
/// If a binding is refused.
pub(crate) fn bind_to(rank: u32, Entry { line, emulated }: &Entry) -> Result<(), Failure> {
    if *emulated {
        return bind_emulated(rank, line);
    }
    // The kernel silently drops PUs that the cpuset does not contain.
    let result = affinity::set(&line.pus).and_then(|()| affinity::current());
    let granted = match &result {
        Ok(granted) => *granted == line.pus || (!line.bound && !granted.is_empty()),
        Err(_) => false,
    };
    if !granted {
        return Err(refused(rank, line));
    }
    let Some(memory) = line.memory else { return Ok(()) };
    match memory::set(memory) {
        Ok(()) => Ok(()),
        // Containers often forbid the call. Pages then come from the node of first touch, which is
        // the wanted node for a bound rank.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS)) => Ok(()),
        Err(error) => Err(Failure::ours(format!(
            "rank {rank} on {}: memory of NUMA node P#{} refused: {error}; does this host have \
             this node, and may the job use it?",
            line.host, memory.node
        ))),
    }
}

fn refused(rank: u32, line: &Line) -> Failure {
    let wanted = pu_list::format(&line.pus);
    let granted = match affinity::widen() {
        Ok(granted) => format!("this job may use P#{}", pu_list::format(&granted)),
        Err(error) => format!("error of the system: {error}"),
    };
    Failure::ours(format!(
        "rank {rank} on {}: PUs P#{wanted} refused, {granted}; request whole nodes, or place again \
         with only the granted cores free; for an emulated cluster, put `emulated = true` into \
         its description",
        line.host
    ))
}

/// Binds to PUs that exist: for P#n, to the granted PU number n modulo their count.
fn bind_emulated(rank: u32, line: &Line) -> Result<(), Failure> {
    let bind = || -> io::Result<()> {
        let real = affinity::widen()?;
        let mut pus: Vec<u32> =
            line.pus.iter().map(|pu| real[*pu as usize % real.len().max(1)]).collect();
        pus.sort_unstable();
        affinity::set(&pus)
    };
    bind().map_err(|error| Failure::ours(format!("rank {rank}: binding refused: {error}")))
}
