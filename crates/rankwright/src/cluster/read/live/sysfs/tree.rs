//! Files of the kernel below a root folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::set::Set;

/// The folder that has `sys` and `proc`.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The name of a file in messages.
    pub(super) fn name(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }

    /// The text of a file without spaces around it; `None` if it cannot be read, as of devices that the
    /// kernel cannot ask.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.root.join(path)).ok()?;
        // Some kernels end masks with a zero.
        let is_space = |character: char| character.is_whitespace() || character == '\0';
        Some(String::from_utf8_lossy(&bytes).trim_matches(is_space).to_owned())
    }

    /// The number in a file.
    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// The set in a file with a mask, like `00000000,0000ffff`.
    pub(super) fn mask(&self, path: &str) -> Option<Set> {
        Set::of_mask(&self.text(path)?)
    }

    /// The set in a file with a list, like `0-15`.
    pub(super) fn list(&self, path: &str) -> Option<Set> {
        Set::of_list(&self.text(path)?)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The names in a folder, sorted; empty if there is no folder.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The numbers behind a prefix in the names of a folder, ascending: 0 and 1 for `node0`, `node1`.
    pub(super) fn numbered(&self, path: &str, prefix: &str) -> Vec<u32> {
        let number = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        let mut numbers: Vec<u32> = self.names(path).iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Where a link leads, as it is written.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        let target = fs::read_link(self.root.join(path)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }
}
