//! The folder of a lab while it is up, with `lab.json`, `hosts`, `agent` and `cluster.toml`.
//! Removing the lab does not need the folder.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use rankwright::files::{InputError, read_text, write_atomically};
use rankwright::units::BytesPerSecond;
use serde::{Deserialize, Serialize};

use crate::network::Network;

/// The variable with the default of `--name`; set inside a lab.
pub const NAME_VARIABLE: &str = "RANKWRIGHT_LAB";

/// The variable with the folder of all labs, if it is not the default; set inside a lab, where a
/// user may appear as root.
pub(crate) const FOLDER_VARIABLE: &str = "RANKWRIGHT_LAB_FOLDER";

/// The files of Slurm, below the folder of a lab that has it.
pub(crate) const SLURM_FOLDER: &str = "slurm";

const FORMAT: u32 = 2;

/// The name of a lab: safe as a file name and in messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabName(String);

impl FromStr for LabName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let valid = text.len() <= 40 && text.chars().all(allowed) && !text.starts_with('-');
        if valid && !text.is_empty() {
            Ok(Self(text.to_owned()))
        } else {
            Err("expected up to 40 of a-z, 0-9 and -, not beginning with -".to_owned())
        }
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A lab as `lab.json` describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Lab {
    /// The version of the format: 2.
    format: u32,
    /// Whether `up` finished.
    pub(crate) complete: bool,
    /// Number of cores of each node in the description.
    pub(crate) cores: u32,
    /// Bandwidth of each data device, each way.
    pub(crate) nic: BytesPerSecond,
    /// Number of data devices of each node.
    pub(crate) nics: u32,
    /// The switches with a switch above.
    pub(crate) switches: Vec<String>,
    /// The process that holds the switch's namespaces.
    pub(crate) head: u32,
    /// The nodes in order.
    pub(crate) nodes: Vec<Node>,
    /// What runs as long as the lab.
    pub(crate) services: Vec<Service>,
    /// Whether Slurm is among them.
    pub(crate) slurm: bool,
}

/// A program that runs as long as the lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Service {
    /// What it is, and where.
    pub(crate) name: String,
    /// Its process.
    pub(crate) pid: u32,
}

/// A node of a lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    /// Its host name.
    pub(crate) name: String,
    /// The process that holds its namespaces.
    pub(crate) holder: u32,
}

impl Lab {
    /// A lab that is being made.
    pub(crate) fn unfinished(cores: u32, network: &Network, head: u32, nodes: Vec<Node>) -> Self {
        let below = network.switches().into_iter().filter(|switch| switch.parent.is_some());
        Self {
            format: FORMAT,
            complete: false,
            cores,
            nic: network.nic,
            nics: network.nics,
            switches: below.map(|switch| switch.name).collect(),
            head,
            nodes,
            services: Vec::new(),
            slurm: false,
        }
    }

    /// The holders of all namespaces, the switch's first.
    pub(crate) fn holders(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.head).chain(self.nodes.iter().map(|node| node.holder))
    }
}

/// The folder of one lab.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) name: LabName,
    path: PathBuf,
}

impl Folder {
    /// The folder of the lab of this name, whether or not it exists.
    pub(crate) fn of(name: &LabName) -> anyhow::Result<Self> {
        Ok(Self { name: name.clone(), path: root()?.join(&name.0) })
    }

    /// The folders of all labs, by name; other entries are ignored.
    pub(crate) fn all() -> anyhow::Result<Vec<Self>> {
        let root = root()?;
        let entries = match fs::read_dir(&root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).context(root.display().to_string()),
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.ok()?.file_name().to_str().and_then(|name| name.parse::<LabName>().ok())
        };
        let mut names: Vec<LabName> = entries.filter_map(name).collect();
        names.sort();
        names.iter().map(Self::of).collect()
    }

    /// Makes the folder, which also locks the name against a second lab.
    pub(crate) fn create(&self) -> anyhow::Result<()> {
        let root = self.path.parent().unwrap_or(Path::new("/"));
        for _ in 0..10 {
            fs::create_dir_all(root).with_context(|| root.display().to_string())?;
            match fs::create_dir(&self.path) {
                Ok(()) => return Ok(()),
                // The last lab was removed at the same time, with the folder of all labs.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    bail!(
                        "lab `{0}` exists already; remove it with `rankwright lab down --name {0}`, or choose \
                         another --name",
                        self.name
                    );
                }
                Err(error) => return Err(error).context(self.path.display().to_string()),
            }
        }
        bail!("{}: cannot be created, because it is removed again and again", root.display())
    }

    /// Removes the folder, and that of all labs if this was the last.
    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).context(self.path.display().to_string());
            }
            _ => {}
        }
        if let Some(root) = self.path.parent() {
            // Other labs may be there; then it stays.
            let _ = fs::remove_dir(root);
        }
        Ok(())
    }

    /// Whether the folder exists.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// A file of the lab.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder of all labs.
    pub(crate) fn root(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The mark in the mount namespaces of the lab's nodes: the source of their `/dev/shm`.
    pub(crate) fn mark(&self) -> String {
        format!("rankwright-lab:{}", self.path.display())
    }

    /// Records the lab.
    pub(crate) fn write(&self, lab: &Lab) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(lab)? + "\n";
        Ok(write_atomically(&self.file("lab.json"), text.as_bytes())?)
    }

    /// Reads the record of a lab in any state; `None` if it does not exist.
    pub(crate) fn read(&self) -> Result<Option<Lab>, InputError> {
        let path = self.file("lab.json");
        if !path.exists() {
            return Ok(None);
        }
        let expected = "the record of a lab";
        let advice = || format!("`rankwright lab down --name {}` removes the lab", self.name);
        let text = read_text(&path, expected)?;
        let lab: Lab = serde_json::from_str(&text).map_err(|error| {
            InputError::new(path.display(), &error, expected)
                .at_line(error.line())
                .with_advice(advice())
        })?;
        if lab.format == FORMAT {
            Ok(Some(lab))
        } else {
            Err(InputError::new(path.display(), lab.format, FORMAT)
                .in_field("format")
                .with_advice(advice()))
        }
    }

    /// Reads the record of a lab that is up.
    pub(crate) fn read_complete(&self) -> anyhow::Result<Lab> {
        let name = &self.name;
        match self.read()? {
            Some(lab) if lab.complete => Ok(lab),
            None if !self.exists() => Err(anyhow!("no lab `{name}` is up; {}", other_labs()?)),
            _ => Err(anyhow!(
                "lab `{name}` is still starting, or its start was interrupted; \
                 `rankwright lab down --name {name}` removes it"
            )),
        }
    }
}

fn other_labs() -> anyhow::Result<String> {
    let names: Vec<String> =
        Folder::all()?.iter().map(|folder| format!("`{}`", folder.name)).collect();
    Ok(if names.is_empty() {
        "start one with `rankwright lab up`".to_owned()
    } else {
        format!("existing labs: {}", names.join(", "))
    })
}

/// Where labs are kept: `/run/rankwright-lab` for root, else in the user's runtime folder.
pub(crate) fn root() -> anyhow::Result<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let absolute = |name: &str, path: PathBuf| {
        if path.is_absolute() {
            Ok(path)
        } else {
            Err(anyhow!("{name}: expected an absolute path"))
        }
    };
    if let Some(root) = variable(FOLDER_VARIABLE) {
        return absolute(FOLDER_VARIABLE, root);
    }
    // The owner of this process's entry is its effective user.
    if fs::metadata("/proc/self").context("/proc/self")?.uid() == 0 {
        return Ok(PathBuf::from("/run/rankwright-lab"));
    }
    let runtime = variable("XDG_RUNTIME_DIR").with_context(|| {
        format!(
            "XDG_RUNTIME_DIR is not set, so a lab has no folder; set it, or {FOLDER_VARIABLE}, to one of \
             your folders"
        )
    })?;
    Ok(absolute("XDG_RUNTIME_DIR", runtime)?.join("rankwright-lab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_as_file_names() {
        for name in ["lab", "a", "run-7"] {
            assert_eq!(name.parse::<LabName>().unwrap().to_string(), name);
        }
        for name in ["", "..", "a/b", "A", "-x", "a b", &"x".repeat(41)] {
            assert!(name.parse::<LabName>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_record_that_is_cut_off_is_an_error_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        let lab = Folder { name: LabName("x".to_owned()), path: folder.path().join("x") };
        lab.create().unwrap();
        assert!(lab.create().unwrap_err().to_string().contains("exists already"));
        assert!(lab.read().unwrap().is_none());
        fs::write(lab.file("lab.json"), "{\"format\": 1,").unwrap();
        let error = lab.read().unwrap_err().to_string();
        assert!(error.contains("lab down --name x"), "{error}");
        lab.remove().unwrap();
        assert!(!lab.exists());
    }
}
