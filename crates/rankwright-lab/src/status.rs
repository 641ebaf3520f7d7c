//! The state of all labs.

use rankwright::units::BytesPerSecond;

use crate::process;
use crate::state::{Folder, LabName};

/// One lab.
#[derive(Debug)]
pub struct LabStatus {
    /// Its name.
    pub name: LabName,
    /// Whether it can be used.
    pub state: LabState,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of cores of each node in the description.
    pub cores: u32,
    /// Bandwidth of each node's network device, each way; `None` while the lab starts.
    pub nic: Option<BytesPerSecond>,
    /// Number of processes in it, without the holders of the nodes and the services of the lab.
    pub processes: usize,
}

/// Whether a lab can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabState {
    /// All nodes are up.
    Up,
    /// `up` is still running, or died.
    Unfinished,
    /// A node's holder or a service of the lab has ended.
    Broken,
}

/// All labs of this user, by name.
///
/// # Errors
/// If the folder of labs or the table of processes cannot be read.
pub fn status() -> anyhow::Result<Vec<LabStatus>> {
    Folder::all()?.iter().map(of_folder).collect()
}

fn of_folder(folder: &Folder) -> anyhow::Result<LabStatus> {
    let name = folder.name.clone();
    let inside = process::in_lab(folder)?;
    let Some(record) = folder.read().ok().flatten() else {
        let (state, processes) = (LabState::Unfinished, inside.len());
        return Ok(LabStatus { name, state, nodes: 0, cores: 0, nic: None, processes });
    };
    let holders = record.holders().filter(|pid| inside.contains(pid)).count();
    let services = record.services.iter().filter(|service| inside.contains(&service.pid)).count();
    let state = if !record.complete {
        LabState::Unfinished
    } else if holders == record.holders().count() && services == record.services.len() {
        LabState::Up
    } else {
        LabState::Broken
    };
    Ok(LabStatus {
        name,
        state,
        nodes: record.nodes.len(),
        cores: record.cores,
        nic: Some(record.nic),
        processes: inside.len() - holders - services,
    })
}
