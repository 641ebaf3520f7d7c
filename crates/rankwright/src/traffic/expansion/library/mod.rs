//! The collective algorithms that an MPI library chooses, by its name, version and settings.

mod mpich;
mod openmpi;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use super::algorithms::{Algorithm, Order};
use super::schedule::{Call, Layout};
use crate::traffic::collectives::Operation;
use mpich::Mpich;
use openmpi::OpenMpi;

/// An MPI library as far as it chooses algorithms of collective operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    rules: Rules,
    estimated: Option<Estimated>,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Rules {
    /// Direct messages for every operation.
    #[default]
    Linear,
    OpenMpi(OpenMpi),
    Mpich(Mpich),
}

/// Why the algorithms are not certainly those of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Estimated {
    /// The profile names no library, or one whose algorithms are not known.
    Unknown {
        /// The library in its own words; empty if none is named.
        library: String,
    },
    /// The library's choice is not public.
    Closed {
        /// Its name.
        library: &'static str,
    },
    /// The rules are those of another version.
    OtherVersion {
        /// The library and version of the run.
        library: String,
        /// The version whose rules are used.
        rules: &'static str,
    },
    /// A component takes part whose choice is not known (HCOLL, UCC, SHARP).
    Component {
        /// Its name.
        component: &'static str,
    },
    /// A setting changes the choice in a way that is not followed.
    Setting {
        /// The setting, as `name=value`.
        setting: String,
    },
}

impl fmt::Display for Estimated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { library } if library.is_empty() => {
                formatter.write_str("the profile names no MPI library")
            }
            Self::Unknown { library } => {
                write!(formatter, "the algorithms of `{library}` are not known")
            }
            Self::Closed { library } => {
                write!(formatter, "how {library} chooses algorithms is not public")
            }
            Self::OtherVersion { library, rules } => {
                write!(formatter, "the run used {library}; the algorithms are those of {rules}")
            }
            Self::Component { component } => {
                write!(formatter, "the run used {component}, whose algorithms are not known")
            }
            Self::Setting { setting } => write!(formatter, "`{setting}` is not followed"),
        }
    }
}

/// Settings of a library by their names as MPI_T control variables, as the run had them.
pub type Settings = BTreeMap<String, String>;

/// Components beside the library's own that take over collective operations, by the settings that
/// enable them.
const COMPONENTS: [(&str, &str); 5] = [
    ("coll_hcoll_enable", "HCOLL"),
    ("coll_ucc_enable", "UCC"),
    ("MPIR_CVAR_ENABLE_HCOLL", "HCOLL"),
    ("MPIR_CVAR_CH4_UCX_ENABLE_UCC", "UCC"),
    ("SHARP_COLL_ENABLE_SAT", "SHARP"),
];

/// Libraries whose choice is not public, by what their version begins with or contains.
const CLOSED: [(&str, &str); 4] = [
    ("Intel(R) MPI", "Intel MPI"),
    ("CRAY MPICH", "Cray MPICH"),
    ("MVAPICH", "MVAPICH"),
    ("IBM Spectrum MPI", SPECTRUM),
];

/// The only one of them that is made from Open MPI, the others are from MPICH.
const SPECTRUM: &str = "IBM Spectrum MPI";

impl Library {
    /// Direct messages for every operation.
    #[must_use]
    pub const fn linear() -> Self {
        Self { rules: Rules::Linear, estimated: None }
    }

    /// The library of a run: its version in its own words (`MPI_Get_library_version`) and its settings.
    #[must_use]
    pub fn new(version: &str, settings: &Settings) -> Self {
        let number = number_of(version);
        let closed = CLOSED.iter().find(|(text, _)| version.contains(text)).map(|(_, name)| *name);
        let (rules, mut estimated) = if version.starts_with("Open MPI") {
            let (rules, estimated) = OpenMpi::new(version, number, settings);
            (Rules::OpenMpi(rules), estimated)
        } else if version.contains("MPICH") || closed.is_some_and(|name| name != SPECTRUM) {
            let (rules, estimated) = Mpich::new(version, number, settings);
            (Rules::Mpich(rules), estimated)
        } else {
            let library = first_line(version).to_owned();
            (Rules::OpenMpi(OpenMpi::by_default()), Some(Estimated::Unknown { library }))
        };
        if let Some(library) = closed {
            estimated = Some(Estimated::Closed { library });
        }
        let is_on = |name: &str| settings.get(name).is_some_and(|value| is_true(value));
        if let Some((_, component)) = COMPONENTS.iter().find(|(setting, _)| is_on(setting)) {
            estimated = Some(Estimated::Component { component });
        }
        Self { rules, estimated }
    }

    /// Why its algorithms are an estimate; `None` if they are those of the run.
    #[must_use]
    pub fn estimated(&self) -> Option<&Estimated> {
        self.estimated.as_ref()
    }

    /// In which order a call runs within nodes and across them; `None` if it disregards nodes.
    pub(super) fn levels(&self, call: &Call<'_>, layout: &Layout) -> Option<Order> {
        if layout.across.len() < 2 || call.nonblocking {
            return None;
        }
        match &self.rules {
            Rules::Linear => None,
            Rules::OpenMpi(rules) => rules.levels(call.operation, layout),
            Rules::Mpich(rules) => rules.levels(call, layout),
        }
    }

    /// The algorithm for a call on `size` members, at least two.
    pub(super) fn choose(&self, call: &Call<'_>, size: usize) -> Algorithm {
        match &self.rules {
            Rules::Linear => Algorithm::Direct,
            Rules::OpenMpi(rules) => rules.choose(call, size),
            Rules::Mpich(rules) => rules.choose(call, size),
        }
    }
}

/// Bytes by which libraries choose: of the buffer, or of one block.
fn deciding_bytes(call: &Call<'_>, size: usize) -> u64 {
    match call.operation {
        operation if operation.divides_buffer() => call.bytes / size as u64,
        Operation::Allgatherv => call.contributed(0, size) / size as u64,
        _ => call.bytes,
    }
}

fn is_true(value: &str) -> bool {
    matches!(value.trim(), "1" | "true" | "yes" | "on" | "enabled")
}

fn first_line(version: &str) -> &str {
    version.lines().next().unwrap_or_default().trim()
}

/// The first version number of a text, as major and minor.
fn number_of(version: &str) -> Option<(u32, u32)> {
    let word = |word: &str| {
        let mut numbers = word.trim_start_matches(['v', ':']).split(['.', ',', 'a', 'b', 'r']);
        let major = numbers.next()?.parse().ok()?;
        Some((major, numbers.next()?.parse().ok()?))
    };
    version.split_whitespace().find_map(word)
}
