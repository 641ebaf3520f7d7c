//! Removing labs.

use crate::process;
use crate::state::{Folder, LabName};

/// The names of all labs of this user, in order.
///
/// # Errors
/// If the folder of labs cannot be read.
pub fn labs() -> anyhow::Result<Vec<LabName>> {
    Ok(Folder::all()?.into_iter().map(|folder| folder.name).collect())
}

/// Removes a lab and ends every process in it; returns whether anything of it existed.
///
/// # Errors
/// If a process cannot be ended or the folder cannot be removed.
pub fn down(lab: &LabName) -> anyhow::Result<bool> {
    let folder = Folder::of(lab)?;
    let existed = folder.exists();
    Ok(remove(&folder)? > 0 || existed)
}

/// Removes a lab in any state; returns the number of processes that were ended.
pub(crate) fn remove(folder: &Folder) -> anyhow::Result<usize> {
    // A lab without a readable record is removed too.
    let lab = folder.read().ok().flatten();
    let ended = process::end_all(folder, lab.as_ref())?;
    folder.remove()?;
    Ok(ended)
}
