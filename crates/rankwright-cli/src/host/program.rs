//! Programs on this host.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A program by its path, or by its name in the folders of `PATH`.
pub(crate) fn find_program(name: &Path) -> Option<PathBuf> {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.components().count() > 1 {
        return executable(name).then(|| name.to_owned());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| executable(path))
}

/// The file of this program. Without /proc, as in an empty root folder, the name by which it was started tells.
pub(crate) fn this_program() -> std::io::Result<PathBuf> {
    std::env::current_exe().or_else(|error| {
        let found = std::env::args_os().next().and_then(|name| find_program(Path::new(&name)));
        found.and_then(|path| std::path::absolute(path).ok()).ok_or(error)
    })
}
