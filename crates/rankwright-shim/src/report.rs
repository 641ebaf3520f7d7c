//! The report of where this rank runs.

use std::ffi::OsString;
use std::path::Path;

use rankwright_shim_format::devices::NotSeen;
use rankwright_shim_format::{ReportLine, Variable, pu_list, same_host};

use crate::failure::Failure;
use crate::{affinity, bind, identity, memory, ranks_map, visible_gpu};

/// Binds as the program would be bound (with a map and `bind`), then finds out where this process
/// runs. A refused binding shows in the report.
///
/// # Errors
/// If the map or the affinity cannot be read.
pub(crate) fn report(map: Option<&Path>, bind: bool) -> Result<ReportLine, Failure> {
    let rank = identity::rank();
    let host = identity::host_name();
    let (mut variables, mut devices) = (Vec::new(), NotSeen::default());
    if let (Some(map), Ok(rank)) = (map, &rank) {
        let entry = ranks_map::read(map, *rank)?;
        let (set, _) = visible_gpu::variables(&entry.line);
        let set = if bind { &set[..] } else { &[] };
        variables.extend(entry.line.variables.iter().map(|pair| variable(pair, set)));
        devices = entry.devices_not_seen(Path::new("/sys"));
        if bind && same_host(&entry.line.host, &host) {
            // A refused binding shows in the report.
            let _ = bind::bind_to(*rank, &entry);
        }
    }
    let line = look(rank.ok(), host, variables, devices);
    line.map_err(|error| Failure::ours(format!("affinity: {error}")))
}

/// The value of a variable for the program: that of the map if we `set` it, be it in other words, else
/// that of the environment. If the launcher binds, the launcher sets the variables too.
fn variable((name, wanted): &(String, OsString), set: &[(String, OsString)]) -> Variable {
    let wanted = wanted.to_string_lossy().into_owned();
    let actual = std::env::var_os(name).map(|actual| actual.to_string_lossy().into_owned());
    let ours = set.iter().any(|(other, _)| other == name).then(|| wanted.clone());
    let actual = ours.or(actual);
    Variable { name: name.clone(), actual, wanted }
}

fn look(
    rank: Option<u32>,
    host: String,
    variables: Vec<Variable>,
    devices: NotSeen,
) -> std::io::Result<ReportLine> {
    let pus = affinity::current()?;
    let pu = affinity::running_on();
    let cpuset = affinity::widen()?;
    affinity::set(&pus)?;
    Ok(ReportLine {
        rank,
        host,
        pu,
        numa: numa_nodes(&pus).map_or("-".to_owned(), |nodes| pu_list::format(&nodes)),
        pus: pu_list::format(&pus),
        memory: memory::policy(),
        cpuset: pu_list::format(&cpuset),
        variables,
        missing_devices: devices.missing,
        untold_devices: devices.untold,
    })
}

/// The NUMA nodes of PUs; `None` if the system does not tell.
fn numa_nodes(pus: &[u32]) -> Option<Vec<u32>> {
    let mut nodes = Vec::new();
    for entry in std::fs::read_dir("/sys/devices/system/node").ok()?.flatten() {
        let name = entry.file_name();
        let Some(node) = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok())
        else {
            continue;
        };
        let list = std::fs::read_to_string(entry.path().join("cpulist")).ok()?;
        if pu_list::parse(&list)?.iter().any(|pu| pus.contains(pu)) {
            nodes.push(node);
        }
    }
    nodes.sort_unstable();
    (!nodes.is_empty()).then_some(nodes)
}
