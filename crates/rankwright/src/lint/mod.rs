//! The effective meaning of a launcher's file: host and PUs of every rank as the launcher reads it,
//! whatever its author intended, with a warning for each known trap.
//!
//! [`FORMATS`] has a row per launcher, `read/` a file per format. The readers follow the observed
//! behaviour of the launchers; `docs/src/lint.md` names the versions.
//!
//! ```
//! let rankfile = "rank 0=node0 slot=0\nrank 1=node1 slot=p1\n";
//! let format = rankwright::lint::find("openmpi4").expect("a known format");
//! let reading = format.read(rankfile, "ranks.txt", &[], None)?;
//! assert_eq!(reading.warnings[0].trap.code, "slot-p-prefix");
//! assert_eq!(reading.warnings[0].line, Some(2));
//! # Ok::<(), rankwright::InputError>(())
//! ```

mod audit;
mod guess;
mod machines;
mod read;
mod similar;
#[cfg(test)]
mod tests;
mod translate;
mod traps;

use crate::cluster::Cluster;
use crate::files::InputError;
use crate::ids::{CoreId, LARGEST_INDEX, PuId, PuSet, Rank};

pub use guess::{Guessed, read_guessed};
use machines::Machines;
use read::arguments::Arguments;
use read::job_script::mpi::Mpi;
use read::job_script::{self, line_ends};
// For the command line; may change in any version.
#[doc(hidden)]
pub use translate::TranslateError;
pub use traps::{TRAPS, Trap};

/// The files of a launcher that can be read.
#[derive(Debug)]
pub struct Format {
    /// The launcher, as in [`LAUNCHERS`](super::launch::LAUNCHERS), or what else the file is for.
    pub name: &'static str,
    /// The files that are read, in one line.
    pub summary: &'static str,
    read: fn(&Source<'_>) -> Result<Reading, InputError>,
}

/// All formats.
pub const FORMATS: &[Format] = &[
    Format {
        name: "openmpi4",
        summary: "rankfile of Open MPI 4 (-rf FILE); hostfile (slots=), also of its seq mapper (--mca rmaps seq)",
        read: read::rankfile::read_4,
    },
    Format {
        name: "openmpi5",
        summary: "rankfile of Open MPI 5 (--map-by rankfile:file=FILE); hostfile (slots=), also of its seq mapper (--map-by seq)",
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
        summary: "SLURM_HOSTFILE or --multi-prog file of srun (--cpu-bind in --launcher-args); a script for sbatch, or with `srun -w .. : -w ..` or `SLURM_HOSTFILE=` (as `launch` writes it)",
        read: read::slurm::read,
    },
    Format {
        name: "flux",
        summary: "host list (--taskmap=hostfile:FILE) or task map ([[0,2,4,1]]) of Flux, -o cpu-affinity in --launcher-args; a script with `flux run`",
        read: read::flux::read,
    },
    Format {
        name: "pbs",
        summary: "script for qsub of PBS Professional, OpenPBS or Torque (`#PBS -l select=`, `nodes=`) with mpirun, mpiexec or aprun",
        read: read::job_script::pbs::read,
    },
    Format {
        name: "lsf",
        summary: "script for bsub of LSF (`#BSUB -n`, `-R \"span[ptile=..]\"`, `-nnodes`) with jsrun, mpirun or mpiexec",
        read: read::job_script::lsf::read,
    },
    Format {
        name: "craympich",
        summary: "MPICH_RANK_ORDER of Cray MPICH (--ntasks-per-node, --nodelist in --launcher-args)",
        read: read::rank_order::read,
    },
    Format {
        name: "wrapper",
        summary: "script that the launcher starts for each rank, and that chooses GPUs, NICs and NUMA nodes (-n, --ntasks-per-node in --launcher-args)",
        read: read::script::read,
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

/// The input of a reader.
#[derive(Clone, Copy)]
struct Source<'a> {
    text: &'a str,
    /// The file's name, for errors.
    file: &'a str,
    arguments: Arguments<'a>,
    machines: &'a Machines<'a>,
    /// The MPI library whose launcher a job script starts, if the user says it.
    mpi: Option<&'static Mpi>,
}

/// The effective meaning of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading {
    /// The ranks, ascending. If the launcher refuses the file: the ranks that the file names.
    pub ranks: Vec<RankReading>,
    /// Warnings, by line.
    pub warnings: Vec<LintWarning>,
    /// The hosts, in the order of their first ranks.
    pub hosts: Vec<HostReading>,
    /// What was not read, or could not be known.
    pub notes: Vec<String>,
    /// Whether the launcher refuses two ranks on one PU.
    overlap_is_refused: bool,
    /// Whether ranks are bound to NUMA nodes or packages, which they share on purpose.
    objects_are_shared: bool,
    /// The threads of each rank by `OMP_NUM_THREADS` of a script, and the line that starts the ranks.
    threads: Option<(usize, usize)>,
}

/// Where one rank runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankReading {
    /// The rank.
    pub rank: Rank,
    /// Its host, under the cluster's name for it if the cluster has it.
    pub host: String,
    /// Its cores, L#, ascending; `None` if neither the file nor the cluster tells.
    pub cores: Option<Vec<CoreId>>,
    /// The PUs it may run on, P#; `None` if neither the file nor the cluster tells.
    pub pus: Option<PuSet>,
    /// Whether the launcher binds it; if not, it may run on all PUs of its host.
    pub bound: bool,
    /// Its line of the file, from 1.
    pub line: usize,
    /// What a wrapper script gives it; `None` without such a script, or if it was not evaluated.
    pub devices: Option<RankDevices>,
    /// The program and its arguments, if the file has one for each rank.
    pub program: Option<String>,
}

/// What a wrapper script gives a rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankDevices {
    /// The GPUs that its program sees; `None` if the script does not say, so that it sees all.
    pub gpus: Option<Vec<String>>,
    /// The network devices by name; empty if the script names none.
    pub nics: Vec<String>,
    /// The NUMA nodes of its memory, P#.
    pub memory: Vec<u32>,
    /// The NUMA nodes of its cores as the script names them, P#.
    pub numa: Vec<u32>,
}

/// A host and the ranks on it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostReading {
    /// Its name.
    pub host: String,
    /// Number of ranks on it.
    pub ranks: usize,
    /// Number of cores; `None` if the cluster does not have the host.
    pub cores: Option<usize>,
    /// Number of cores without a rank, of those that jobs may use; `None` if it is unknown or ranks
    /// are unbound.
    pub unused_cores: Option<usize>,
}

/// A trap in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintWarning {
    /// The trap.
    pub trap: &'static Trap,
    /// The line of the file, from 1; `None` if the cause is an argument or the file as a whole.
    pub line: Option<usize>,
    /// The words concerned and their effect.
    pub text: String,
    /// Whether the launcher refuses to start the job or crashes.
    pub refused: bool,
}

impl LintWarning {
    fn refusal(trap: &'static Trap, line: impl Into<Option<usize>>, text: String) -> Self {
        Self { trap, line: line.into(), text, refused: true }
    }
}

/// A note about the hosts of a hostfile of Open MPI.
const NO_ORDER: &str = "if mpirun runs on one of these hosts other than the first, Open MPI 4.1 gives that host \
                        the first ranks: the order of a hostfile does not fix the ranks";

/// The start of notes that say why PUs are unknown.
const PUS_UNKNOWN: &str = "the PUs are unknown";

/// The most ranks that a file may have.
const MOST_RANKS: usize = 1 << 20;

impl Format {
    /// Reads a file of this format; `file` names it in errors. `arguments` are those of the
    /// launcher, with variables as `NAME=VALUE`. Files that the arguments name and that decide
    /// where ranks run (`--nodelist=FOLDER/FILE`, the map of `rankwright-exec`) are read too.
    /// Without a `cluster`, PUs are known only if the file names them. Of the launcher of an MPI library, a
    /// script for a batch system is read too: `mpirun` in it is that of the library.
    ///
    /// # Errors
    /// If a file is missing or cannot be parsed.
    pub fn read(
        &self,
        text: &str,
        file: &str,
        arguments: &[String],
        cluster: Option<&Cluster>,
    ) -> Result<Reading, InputError> {
        let machines = Machines::new(cluster);
        let arguments = Arguments::new(arguments);
        let mpi = Mpi::of_format(self.name).filter(|_| !job_script::systems(text).is_empty());
        let read = if mpi.is_some() { job_script::read } else { self.read };
        let unix = line_ends::of_unix(text);
        let as_read = unix.as_deref().unwrap_or(text);
        let source = Source { text: as_read, file, arguments, machines: &machines, mpi };
        let effect = unix.is_some().then(|| line_ends::effect(text, file));
        let mut reading = read(&source).map_err(|error| match &effect {
            Some(effect) => {
                let advice = error.advice.iter().chain([effect]).cloned().collect::<Vec<_>>();
                error.with_advice(advice.join("; also, "))
            }
            None => error,
        })?;
        if let Some(effect) = effect {
            reading.refuse(&traps::CARRIAGE_RETURN, line_ends::first(text), effect);
        }
        if reading.ranks.is_empty() {
            return Err(source.wrong(None, "no rank", "at least one rank"));
        }
        // Tasks of Cray MPICH know their slot (task number), not their rank.
        read::shim::bind(arguments, self.name == "craympich", &mut reading)?;
        reading.ranks.sort_by_key(|rank| rank.rank);
        audit::audit(&mut reading, &machines, self.name);
        reading.warnings.sort_by_key(|warning| (warning.line, warning.trap.code));
        Ok(reading)
    }
}

impl Source<'_> {
    /// An error about a line, or about the whole file.
    fn wrong(&self, line: Option<usize>, text: &str, expected: &str) -> InputError {
        // The line may have any length.
        let shown: String = text.chars().take(80).collect();
        let cut = if shown.len() < text.len() { ".." } else { "" };
        let error = InputError::new(self.file, format_args!("{shown}{cut}"), expected);
        line.into_iter().fold(error, InputError::at_line)
    }

    /// An error about an argument of the launcher.
    fn wrong_argument(&self, text: &str, expected: &str) -> InputError {
        let error = self.wrong(None, text, expected);
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

    /// Drops the cores of versions of a launcher that agree on the hosts only, with the notes about them.
    fn drop_cores(&mut self, why: &str) {
        for rank in &mut self.ranks {
            (rank.cores, rank.pus, rank.bound) = (None, None, true);
        }
        for host in &mut self.hosts {
            host.unused_cores = None;
        }
        self.notes.retain(|note| note == NO_ORDER);
        self.notes.push(format!("{PUS_UNKNOWN}: {why}"));
    }

    /// The host of every rank.
    fn host_of_rank(&self) -> impl Iterator<Item = &str> {
        self.ranks.iter().map(|rank| rank.host.as_str())
    }

    fn add(&mut self, rank: usize, host: &str, place: Place, line: usize) {
        let (cores, pus, bound) = match place {
            Place::Pus(pus) => (None, Some(pus), true),
            Place::Cores(cores) => (Some(cores), None, true),
            Place::Unbound => (None, None, false),
            Place::Unknown => (None, None, true),
        };
        let (rank, host) = (Rank::from_index(rank), host.to_owned());
        let (devices, program) = (None, None);
        self.ranks.push(RankReading { rank, host, cores, pus, bound, line, devices, program });
    }
}

/// The binding of a rank on its host.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// To these PUs.
    Pus(PuSet),
    /// To these cores (L#), ascending, of a machine without a description.
    Cores(Vec<CoreId>),
    /// Not bound.
    Unbound,
    /// By the launcher's own rules, or by settings that are not in the file.
    Unknown,
}

/// A number as C's `atoi` reads it: the leading digits, 0 if there are none; and whether the text
/// has nothing else.
fn leading_number(text: &str) -> (usize, bool) {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().unwrap_or(if digits == 0 { 0 } else { usize::MAX });
    (number, digits > 0 && digits == text.len())
}

/// The PU with this number, if it is in the range that machines can have.
fn pu(number: usize) -> Option<PuId> {
    u32::try_from(number).ok().filter(|number| *number <= LARGEST_INDEX).map(PuId)
}

/// The name of a program in a command, without its folders.
fn program_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// `rank 3`, `ranks 3-5,8`: ascending numbers, cut if the list is long.
fn listed(noun: &str, numbers: &[u32]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let list = crate::ids::format_index_list(numbers);
    let shown: String = list.chars().take(60).collect();
    let cut = if shown.len() < list.len() { ".." } else { "" };
    format!("{noun}{plural} {shown}{cut}")
}
