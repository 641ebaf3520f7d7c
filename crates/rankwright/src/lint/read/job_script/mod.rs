//! Job scripts: what the batch system grants, and the first command of the script that starts ranks.
//!
//! | file | what it reads |
//! |---|---|
//! | `lexer`, `shell` | the commands of a script, with the variables that are known without a shell |
//! | `launch_line` | the command that starts ranks, and the wrapper script behind it |
//! | `mpi` | the MPI library that the script loads, and so whose `mpirun` it starts |
//! | `allocation` | the hosts of a job, and the ranks that each is meant to have |
//! | `sbatch/` | `#SBATCH` lines and `srun` |
//! | `pbs/` | `#PBS` lines of PBS Professional, OpenPBS and Torque |
//! | `lsf/` | `#BSUB` lines; `jsrun` |
//! | `line_ends` | scripts with Windows line endings |
//! | `mpirun`, `hostfile` | `mpirun` and `mpiexec` of any MPI in a job, and the file with hosts or ranks that they name |
//! | `pals` | `mpiexec` of Cray's PALS and `aprun`, with PUs by depth or list |

mod allocation;
mod hostfile;
mod launch_line;
pub(in crate::lint) mod lexer;
pub(in crate::lint) mod line_ends;
pub(in crate::lint) mod lsf;
pub(in crate::lint) mod mpi;
mod mpirun;
mod pals;
pub(in crate::lint) mod pbs;
pub(in crate::lint) mod sbatch;
pub(in crate::lint) mod shell;

use crate::files::InputError;
use crate::lint::{Reading, Source, traps};

/// Lines for several batch systems.
pub(in crate::lint) const SEVERAL: &str = "a job script with options for several batch systems";

/// The batch systems that the script has options for, as [`FORMATS`](crate::lint::FORMATS) call them.
pub(in crate::lint) fn systems(text: &str) -> Vec<&'static str> {
    let all = [("#SBATCH", "slurm"), ("#PBS", "pbs"), ("#BSUB", "lsf")];
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    all.into_iter().filter(|(start, _)| has(start)).map(|(_, name)| name).collect()
}

/// Reads a script for the batch system that it has options for.
pub(in crate::lint) fn read(source: &Source<'_>) -> Result<Reading, InputError> {
    match systems(source.text)[..] {
        ["slurm"] => sbatch::read(source),
        ["pbs"] => pbs::read(source),
        ["lsf"] => lsf::read(source),
        _ => {
            let error = source.wrong(None, SEVERAL, "those of one");
            Err(error.with_advice("leave out the lines for the others"))
        }
    }
}

/// Warns of lines that begin with `start` but stand below the first command, where they are comments; not of those
/// of a script that this one may write.
fn warn_of_late_directives(source: &Source<'_>, start: &str, reading: &mut Reading) {
    let is_before = |line: &str| line.is_empty() || line.starts_with('#');
    let lines = (1..).zip(source.text.lines().map(str::trim_end));
    let mut after =
        lines.skip_while(|(_, line)| is_before(line)).take_while(|(_, line)| !line.contains("<<"));
    let is_late = |line: &str| {
        line.strip_prefix(start).is_some_and(|options| options.starts_with(char::is_whitespace))
    };
    if let Some((number, line)) = after.find(|(_, line)| is_late(line)) {
        let text = format!("`{line}` stands below the first command and is not read");
        reading.warn(&traps::DIRECTIVE_LATE, number, text);
    }
}

/// The words of the lines that begin with `start`, before the first command; with their line numbers.
fn directives<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = (1..).zip(text.lines()).map(|(line, text)| (line, text.trim_end()));
    let lines = lines.take_while(|(_, text)| text.is_empty() || text.starts_with('#'));
    lines.filter_map(move |(line, text)| {
        let options = text.strip_prefix(start)?;
        let is_whole = options.is_empty() || options.starts_with(char::is_whitespace);
        is_whole.then(|| (line, options.split(" #").next().unwrap_or_default()))
    })
}
