//! What a launcher's file really means: rank -> host -> PUs, as the launcher reads it and not as its
//! author meant it, with a warning for each known trap.
//!
//! One row of [`FORMATS`] per launcher, one file per format. The readers follow what the launchers
//! were seen to do; `docs/src/lint.md` says which versions those were.

mod audit;
mod machines;
mod read;
#[cfg(test)]
mod tests;
mod translate;
mod traps;

use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::{CoreId, LARGEST_INDEX, PuId, PuSet, Rank};

use machines::Machines;
use read::arguments::Arguments;
pub use translate::TranslateError;
pub use traps::{TRAPS, Trap};

/// A format of launcher files that is read.
#[derive(Debug)]
pub struct Format {
    /// The launcher, as in [`LAUNCHERS`](super::launch::LAUNCHERS).
    pub name: &'static str,
    /// Which files of it are read, in one line.
    pub summary: &'static str,
    read: fn(&Source<'_>) -> Result<Reading, InputError>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "openmpi4",
        summary: "rankfile of Open MPI 4 (-rf FILE); hostfile of its seq mapper (--mca rmaps seq)",
        read: read::rankfile::read_4,
    },
    Format {
        name: "openmpi5",
        summary: "rankfile of Open MPI 5 (--map-by rankfile:file=FILE); hostfile of its seq mapper (--map-by seq)",
        read: read::rankfile::read_5,
    },
    Format {
        name: "mpich",
        summary: "hostfile of MPICH 4.1 or newer (-f FILE, -rankmap in --launcher-args)",
        read: read::hydra::read,
    },
    Format {
        name: "mpich:4.0",
        summary: "hostfile of MPICH before 4.1 (-f FILE)",
        read: read::hydra::read_4_0,
    },
    Format {
        name: "intelmpi",
        summary: "configfile or machinefile of Intel MPI (-configfile FILE, -machinefile FILE)",
        read: read::intel::read,
    },
    Format {
        name: "slurm",
        summary: "SLURM_HOSTFILE of srun (--cpu-bind in --launcher-args); a script with `srun -w .. : -w ..`",
        read: read::slurm::read,
    },
    Format {
        name: "flux",
        summary: "host list of Flux (--taskmap=hostfile:FILE, -o cpu-affinity in --launcher-args)",
        read: read::flux::read,
    },
    Format {
        name: "craympich",
        summary: "MPICH_RANK_ORDER of Cray MPICH (--ntasks-per-node, --nodelist in --launcher-args)",
        read: read::rank_order::read,
    },
    Format {
        name: "numactl",
        summary: "bind.sh or the list of commands that `launch --for numactl` writes",
        read: read::numactl::read,
    },
];

/// The format of this launcher.
#[must_use]
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What a format is read from.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    /// The file's name, for errors.
    file: &'a str,
    arguments: Arguments<'a>,
    machines: &'a Machines<'a>,
}

/// What the launcher makes of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The ranks, ascending. Where the launcher refuses the file, what it says nevertheless.
    pub ranks: Vec<RankReading>,
    /// What is wrong with it, by line.
    pub warnings: Vec<LintWarning>,
    /// The hosts, in the order of their first ranks.
    pub hosts: Vec<HostReading>,
    /// Whether the launcher refuses two ranks on one PU.
    overlap_is_refused: bool,
}

/// Where one rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankReading {
    /// The rank.
    pub rank: Rank,
    /// Its host, as the cluster calls it if that knows it.
    pub host: String,
    /// Its cores, L#, ascending; `None` where the file and the cluster do not tell.
    pub cores: Option<Vec<CoreId>>,
    /// The PUs it may run on, P#; `None` where the file and the cluster do not tell.
    pub pus: Option<PuSet>,
    /// Whether the launcher binds it; if not, its PUs are all of its host.
    pub bound: bool,
    /// The line that says so, from 1.
    pub line: usize,
}

/// What the ranks make of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReading {
    /// Its name.
    pub host: String,
    /// How many ranks it has.
    pub ranks: usize,
    /// How many cores it has; `None` if the cluster does not know it.
    pub cores: Option<usize>,
    /// How many cores that jobs may use have no rank; `None` where that is unknown or ranks are not
    /// bound.
    pub unused_cores: Option<usize>,
}

/// A trap that a file steps into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintWarning {
    /// The trap.
    pub trap: &'static Trap,
    /// The line of the file, from 1; `None` if none is to blame, or an argument is.
    pub line: Option<usize>,
    /// What stands there and what comes of it.
    pub text: String,
    /// Whether the launcher refuses to start, or dies, because of it.
    pub refused: bool,
}

impl LintWarning {
    fn refusal(trap: &'static Trap, line: impl Into<Option<usize>>, text: String) -> Self {
        Self { trap, line: line.into(), text, refused: true }
    }
}

/// How many ranks a file may have.
const MOST_RANKS: usize = 1 << 20;

impl Format {
    /// Reads a file of this format; `file` stands for it in errors. `arguments` are those that the
    /// launcher is started with, `NAME=VALUE` for variables; files that they name and that say where
    /// ranks run (`--nodelist=FOLDER/FILE`, the map of `rankwright-exec`) are read too. Without a
    /// `cluster`, PUs are known only where the file names them.
    ///
    /// # Errors
    /// If a file is damaged: a line that neither the launcher nor we can read; or is not there.
    pub fn read(
        &self,
        text: &str,
        file: &str,
        arguments: &[String],
        cluster: Option<&Cluster>,
    ) -> Result<Reading, InputError> {
        let machines = Machines::new(cluster);
        let arguments = Arguments::new(arguments);
        let source = Source { text, file, arguments, machines: &machines };
        let mut reading = (self.read)(&source)?;
        if reading.ranks.is_empty() {
            return Err(source.wrong(None, "no rank", "at least one"));
        }
        // Tasks of Cray MPICH know their slot, not their rank.
        read::shim::bind(arguments, self.name == "craympich", &mut reading)?;
        reading.ranks.sort_by_key(|rank| rank.rank);
        audit::audit(&mut reading, &machines, self.name);
        reading.warnings.sort_by_key(|warning| (warning.line, warning.trap.code));
        Ok(reading)
    }
}

impl Source<'_> {
    /// A damaged line.
    fn wrong(&self, line: Option<usize>, found: &str, expected: &str) -> InputError {
        // A damaged line may be of any length.
        let shown: String = found.chars().take(80).collect();
        let cut = if shown.len() < found.len() { ".." } else { "" };
        let error = InputError::new(self.file, format_args!("{shown}{cut}"), expected);
        line.into_iter().fold(error, InputError::at_line)
    }

    /// An argument of the launcher that cannot be read.
    fn wrong_argument(&self, found: &str, expected: &str) -> InputError {
        let error = self.wrong(None, found, expected);
        InputError { file: "--launcher-args".to_owned(), ..error }
    }
}

impl Reading {
    /// Whether the launcher starts the ranks.
    #[must_use]
    pub fn starts(&self) -> bool {
        self.warnings.iter().all(|warning| !warning.refused)
    }

    fn warn(&mut self, trap: &'static Trap, line: impl Into<Option<usize>>, text: String) {
        self.warnings.push(LintWarning { trap, line: line.into(), text, refused: false });
    }

    fn refuse(&mut self, trap: &'static Trap, line: impl Into<Option<usize>>, text: String) {
        self.warnings.push(LintWarning::refusal(trap, line, text));
    }

    fn add(&mut self, rank: usize, host: &str, place: Place, line: usize) {
        let (cores, pus, bound) = match place {
            Place::Pus(pus) => (None, Some(pus), true),
            Place::Cores(cores) => (Some(cores), None, true),
            Place::Unbound => (None, None, false),
            Place::Unknown => (None, None, true),
        };
        let rank = Rank::from_index(rank);
        self.ranks.push(RankReading { rank, host: host.to_owned(), cores, pus, bound, line });
    }
}

/// Where a launcher binds a rank on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// To these PUs.
    Pus(PuSet),
    /// To these cores, ascending, of a machine that nobody has described.
    Cores(Vec<CoreId>),
    /// Nowhere.
    Unbound,
    /// By rules of its own, or by what is not known here.
    Unknown,
}

/// A count or index as C's `atoi` reads it: the digits at the beginning, else 0; and whether that is
/// all of the text.
fn leading_number(text: &str) -> (usize, bool) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().unwrap_or(if digits == 0 { 0 } else { usize::MAX });
    (number, digits > 0 && digits == text.len())
}

/// A PU of this number, if machines can have such a one.
fn pu(number: usize) -> Option<PuId> {
    u32::try_from(number).ok().filter(|number| *number <= LARGEST_INDEX).map(PuId)
}

/// `rank 3`, `ranks 3-5,8`: ascending numbers, of which there may be many.
fn listed(noun: &str, numbers: &[u32]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let list = crate::ids::format_index_list(numbers);
    let shown: String = list.chars().take(60).collect();
    let cut = if shown.len() < list.len() { ".." } else { "" };
    format!("{noun}{plural} {shown}{cut}")
}
