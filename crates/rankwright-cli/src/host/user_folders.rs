//! The folders of the user, by the XDG Base Directory Specification.

use std::path::PathBuf;

/// `$XDG_CACHE_HOME`, else `~/.cache`.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache")
}

/// `$XDG_CONFIG_HOME`, else `~/.config`.
pub(crate) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}

/// `$XDG_STATE_HOME`, else `~/.local/state`.
pub(crate) fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// The folder that a variable names, else the one below the home folder; `None` if neither is set. The
/// specification ignores relative paths.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))
}
