//! The MPI launcher of this machine: which one is on PATH, and of which version.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::ValueEnum;
use rankwright::launch::{self, Launcher};

use crate::child;
use crate::exit_code::NotStarted;

/// Which launcher to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// The first that is found
    #[default]
    Auto,
    /// Open MPI 4
    Openmpi4,
    /// MPICH
    Mpich,
}

/// A launcher that is installed.
#[derive(Debug)]
pub(crate) struct MpiLauncher {
    /// Its program.
    pub(crate) program: PathBuf,
    /// The row of the library's table that writes for it.
    pub(crate) launcher: &'static Launcher,
}

/// The names that launchers have; Debian has both MPIs side by side under the longer ones.
const NAMES: [&str; 7] = [
    "mpirun",
    "mpiexec",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpiexec.hydra",
];

/// How long a launcher may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Finds the launcher of a family on PATH.
///
/// # Errors
/// If there is none; the error says what was found instead.
pub(crate) fn find(family: Family) -> Result<MpiLauncher, NotStarted> {
    let mut seen = Vec::new();
    for program in NAMES.iter().filter_map(|name| on_path(name)) {
        let version = version(&program);
        if let Some((name, wanted)) = classify(&version)
            && (family == Family::Auto || family == wanted)
            && let Some(launcher) = launch::find(name)
        {
            return Ok(MpiLauncher { program, launcher });
        }
        let first = version.lines().next().unwrap_or("says no version").trim().to_owned();
        seen.push(format!("{} ({first})", program.display()));
    }
    let wanted = match family {
        Family::Auto => "Open MPI 4 or MPICH",
        Family::Openmpi4 => "Open MPI 4",
        Family::Mpich => "MPICH",
    };
    let found = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
    let why = format!(
        "found no launcher of {wanted} on PATH; launchers found: {found}; load the module of your \
         MPI, or write the files with `rankwright launch` and start the job by hand"
    );
    Err(NotStarted { code: 127, why })
}

/// The row of the launcher table, and the family, for what `--version` printed.
fn classify(version: &str) -> Option<(&'static str, Family)> {
    if let Some((_, number)) = version.split_once("(Open MPI) ") {
        return number.starts_with("4.").then_some(("openmpi4", Family::Openmpi4));
    }
    let (_, details) = version.split_once("HYDRA build details:")?;
    let (_, number) = details.split_once("Version:")?;
    let mut parts = number.trim_start().split(|c: char| !c.is_ascii_digit());
    let mut part = || parts.next().and_then(|part| part.parse::<u32>().ok());
    let number = (part()?, part().unwrap_or(0));
    Some((if number >= (4, 1) { "mpich" } else { "mpich:4.0" }, Family::Mpich))
}

fn version(program: &Path) -> String {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    child::first_output(&mut command, PATIENCE).unwrap_or_default()
}

/// The file that a name means as a command.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_choose_the_row_of_the_table() {
        let row = |text: &str| classify(text).map(|(name, _)| name);
        assert_eq!(row("mpirun (Open MPI) 4.1.4\n\nReport bugs to"), Some("openmpi4"));
        assert_eq!(row("mpirun (Open MPI) 5.0.11\n"), None);
        let hydra = |version| {
            format!("HYDRA build details:\n    Version:                {version}\n   Release Date")
        };
        assert_eq!(row(&hydra("4.0.2")), Some("mpich:4.0"));
        assert_eq!(row(&hydra("3.4")), Some("mpich:4.0"));
        assert_eq!(row(&hydra("4.1")), Some("mpich"));
        assert_eq!(row(&hydra("5.0.0rc1")), Some("mpich"));
        assert_eq!(row("Intel(R) MPI Library for Linux* OS, Version 2021.19"), None);
    }
}
