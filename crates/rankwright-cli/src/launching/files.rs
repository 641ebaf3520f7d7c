//! Writes or shows the files of one launch.

use std::path::Path;

use rankwright::files::write_atomically;
use rankwright::launch::Launch;

/// Writes the files of a launch to a folder.
pub(crate) fn write_files(launch: &Launch, folder: &Path) -> anyhow::Result<()> {
    for file in &launch.files {
        let path = folder.join(file.name);
        write_atomically(&path, file.contents.as_bytes())?;
        if file.executable {
            make_executable(&path)?;
        }
    }
    Ok(())
}

/// Makes a file executable for all who may read it.
pub(crate) fn make_executable(path: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = std::fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    Ok(std::fs::set_permissions(path, permissions)?)
}

/// The files and the command line as text.
pub(crate) fn describe(launch: &Launch) -> String {
    let mut text = format!("# {}\n", launch.binding);
    for note in &launch.notes {
        text += &format!("# note: {note}\n");
    }
    for file in &launch.files {
        let lines = file.contents.lines().map(|line| line.trim_end().to_owned() + "\n");
        text += &format!("# FOLDER/{}\n{}\n", file.name, lines.collect::<String>());
    }
    text + &format!("# command line\n{launch}\n")
}
