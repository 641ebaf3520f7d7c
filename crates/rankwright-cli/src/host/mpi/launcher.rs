//! Finds a launcher on PATH that starts programs of the wanted MPI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rankwright::launch::{self, Launcher, MPI_LAUNCHERS, ProgramLine, Software};
use rankwright::placement::JobEntry;

use crate::host::mpi::installed::Installed;
use crate::host::mpi::library::{self, Library};
use crate::host::mpi::{self, Abi, Mpi};
use crate::host::{batch_job, child, find_program};
use crate::output::exit_code::NotStarted;

/// A launcher that is installed.
#[derive(Debug, Clone)]
pub(crate) struct MpiLauncher {
    /// Its program.
    pub(crate) program: PathBuf,
    /// Its row in the library's table of launchers.
    pub(crate) launcher: &'static Launcher,
}

/// The job that a launcher is looked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Profiled<'a> {
    /// The version string of the MPI library that it was profiled with; empty if that is not known.
    pub(crate) mpi_library: &'a str,
    /// The number of its ranks, if known.
    pub(crate) ranks: Option<usize>,
}

impl<'a> From<&'a JobEntry> for Profiled<'a> {
    fn from(job: &'a JobEntry) -> Self {
        Self { mpi_library: &job.mpi_library, ranks: Some(job.ranks.len()) }
    }
}

/// Finds the launcher `choice` on PATH. Without a choice: the launcher of the MPI that the programs
/// load, else of the MPI that the job was profiled with, because under the launcher of another MPI
/// every process would be rank 0 of 1. In a Slurm allocation without such a launcher: `srun`. In a job of
/// Flux: `flux`, because MPI launchers do not ask Flux for its hosts. The choice `mpich` accepts any version
/// of MPICH.
///
/// # Errors
/// If no launcher is found (the error lists those that were), or the programs are of another MPI.
pub(crate) fn find(
    choice: Option<&'static Launcher>,
    Profiled { mpi_library, ranks }: Profiled,
    line: Option<&ProgramLine>,
) -> Result<MpiLauncher, NotStarted> {
    let library = line.and_then(|line| library_of(line, ranks));
    if let Some(launcher) = choice.filter(is_of_resource_manager) {
        return of_resource_manager(launcher);
    }
    let flux = launch::find("flux").filter(|_| choice.is_none() && batch_job::is_of_flux());
    if let Some(Ok(launcher)) = flux.map(of_resource_manager) {
        return Ok(launcher);
    }
    let wanted = Wanted::new(choice, library.as_ref().map(|(_, library)| library), mpi_library);
    let installed = Installed::until(MPI_LAUNCHERS[0], &|mpi| wanted.is_best(mpi));
    let Some(mpi) = wanted.best(&installed.launchers) else {
        let inside = choice.is_none() && std::env::var_os("SLURM_JOB_ID").is_some();
        let slurm = launch::find("slurm").filter(|_| inside);
        if let Some(Ok(launcher)) = slurm.map(of_resource_manager) {
            return Ok(launcher);
        }
        return Err(nothing_for(choice, &wanted, &installed));
    };
    if let Some((program, library)) = &library
        && !library.abi.starts_under(mpi.family)
    {
        return Err(mixed(program, library, mpi));
    }
    let by_version = || row(mpi).and_then(launch::find);
    let chosen = choice.filter(|launcher| launcher.name != "mpich").or_else(by_version);
    let launcher = chosen.ok_or_else(|| nothing_for(choice, &wanted, &installed))?;
    Ok(MpiLauncher { program: program_of(mpi), launcher })
}

/// The name by which a launcher is started on this machine: that of the table, unless another MPI has it
/// here and the launcher's own has a longer one (`mpiexec.mpich`).
pub(crate) fn name_here(launcher: &Launcher) -> String {
    let name = here(launcher).as_ref().and_then(name_of).map(str::to_owned);
    name.unwrap_or_else(|| launcher.program.to_owned())
}

/// Why the launcher of this machine refuses the files for `launcher`, if it is too old for them. One of
/// another machine may be newer.
pub(crate) fn too_old_here(launcher: &Launcher) -> Option<String> {
    if launcher.name != "mpich" {
        return None;
    }
    let mpi = here(launcher)?;
    let fitting = row(&mpi).filter(|name| *name != launcher.name)?;
    let (major, minor) = mpi.version;
    Some(format!(
        "{} here is {} {major}.{minor}, files for {} need {}.{} or later: give --for {fitting}, unless \
         the job starts where it is newer",
        name_of(&mpi)?,
        mpi.family,
        launcher.name,
        MPICH_WITH_RANKMAP.0,
        MPICH_WITH_RANKMAP.1,
    ))
}

/// What starts jobs under the name that [`name_here`] gives; `None` if no MPI of the launcher is here.
fn here(launcher: &Launcher) -> Option<Mpi> {
    if is_of_resource_manager(&launcher) {
        return None;
    }
    let wanted = Wanted::new(Some(launcher), None, "");
    let serves = |mpi: &Mpi| wanted.best(std::slice::from_ref(mpi)).is_some();
    let is_usual = |mpi: &Mpi| name_of(mpi) == Some(launcher.program);
    let installed = Installed::until(launcher.program, &|mpi| is_usual(mpi) && serves(mpi));
    let mut serving: Vec<Mpi> = installed.launchers.into_iter().filter(serves).collect();
    let alike = |mpi: &Mpi| name_of(mpi).is_some_and(|name| name.starts_with(launcher.program));
    let first = serving.iter().position(is_usual).or_else(|| serving.iter().position(alike));
    (!serving.is_empty()).then(|| serving.swap_remove(first.unwrap_or(0)))
}

/// The name of its launcher.
fn name_of(mpi: &Mpi) -> Option<&str> {
    mpi.launcher.file_name()?.to_str()
}

fn is_of_resource_manager(launcher: &&Launcher) -> bool {
    matches!(launcher.software, Software::Slurm | Software::Flux)
}

/// The first of the programs that loads an MPI library, and the library.
pub(crate) fn library_of(line: &ProgramLine, ranks: Option<usize>) -> Option<(String, Library)> {
    let programs = line.for_ranks(ranks.or(line.total()).unwrap_or(1)).ok()?;
    let named = |words: &[String]| Some((words[0].clone(), library::of_program(words)?));
    programs.iter().find_map(|program| named(program.words))
}

/// The name of the MPI library that the programs load, if known.
pub(crate) fn library_name(line: &ProgramLine, ranks: Option<usize>) -> Option<&'static str> {
    let (_, library) = library_of(line, ranks)?;
    let is = |name: &&str| library.name.starts_with(name);
    match library.abi {
        Abi::OpenMpi => Some("Open MPI"),
        Abi::Mpich if ["libmpi.so", "libmpich.so"].iter().any(is) => Some("MPICH"),
        Abi::Mpich | Abi::Standard => None,
    }
}

/// The name of a choice in messages.
fn described(choice: Option<&Launcher>) -> String {
    let any = || "Open MPI 4 or 5, MPICH or Intel MPI".to_owned();
    choice.map_or_else(any, |launcher| launcher.software.to_string())
}

/// The acceptable launchers, the best first.
#[derive(Debug, Default)]
struct Wanted {
    /// Family and major version; 0 for any.
    choices: Vec<(mpi::Family, u32)>,
    /// Whether any launcher is acceptable.
    any: bool,
}

impl Wanted {
    fn new(choice: Option<&Launcher>, library: Option<&Library>, profiled_with: &str) -> Self {
        use mpi::Family::{Intel, Mpich, OpenMpi};
        let only = |choices: &[(mpi::Family, u32)]| Self { choices: choices.into(), any: false };
        match choice.map(|launcher| launcher.software) {
            Some(Software::OpenMpi(major)) => return only(&[(OpenMpi, major)]),
            Some(Software::Mpich) => return only(&[(Mpich, 0)]),
            Some(Software::IntelMpi) => return only(&[(Intel, 0)]),
            Some(Software::Slurm | Software::Flux) | None => {}
        }
        let profiled = mpi::Family::of_library(profiled_with);
        let profiled = profiled
            .filter(|family| library.is_none_or(|library| library.abi.starts_under(*family)));
        match (profiled, library.map(|library| library.abi)) {
            (Some(OpenMpi), _) => {
                only(&[(OpenMpi, major_version(profiled_with)), (OpenMpi, 4), (OpenMpi, 5)])
            }
            (None, Some(Abi::OpenMpi)) => only(&[(OpenMpi, 0)]),
            // Programs of one start under the launcher of the other.
            (Some(Intel), _) => only(&[(Intel, 0), (Mpich, 0)]),
            (Some(Mpich), _) | (None, Some(Abi::Mpich)) => only(&[(Mpich, 0), (Intel, 0)]),
            (None, _) => Self { choices: Vec::new(), any: true },
        }
    }

    /// Whether no other launcher is better than this one, among those that are asked after it.
    fn is_best(&self, mpi: &Mpi) -> bool {
        let first = self.choices.get(..1).unwrap_or_default().to_owned();
        Self { choices: first, ..*self }.best(std::slice::from_ref(mpi)).is_some()
    }

    fn best<'a>(&self, installed: &'a [Mpi]) -> Option<&'a Mpi> {
        if self.any {
            return installed.iter().find(|mpi| row(mpi).is_some());
        }
        self.choices.iter().find_map(|(family, major)| {
            let fits = |mpi: &&Mpi| mpi.family == *family && [0, mpi.version.0].contains(major);
            installed.iter().find(fits).filter(|mpi| row(mpi).is_some())
        })
    }
}

/// `4` of `Open MPI v4.1.4, package: ...`; 0 without a version.
fn major_version(library: &str) -> u32 {
    let version = library.split_once(" v").map_or("", |(_, rest)| rest);
    version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0)
}

fn nothing_for(
    choice: Option<&Launcher>,
    wanted: &Wanted,
    Installed { seen, .. }: &Installed,
) -> NotStarted {
    let families: Vec<String> = wanted.choices.iter().map(|(f, _)| f.to_string()).collect();
    let owner = match (choice, &families[..]) {
        (None, [first, ..]) => format!("{first}, which the program needs,"),
        _ => described(choice),
    };
    let seen = if seen.is_empty() { "none".to_owned() } else { seen.join(", ") };
    let why = format!(
        "no launcher of {owner} on PATH; launchers found: {seen}; load the module of your MPI, \
         or write the files with `rankwright launch` and start the job by hand (`rankwright doctor` \
         tests what is here)"
    );
    NotStarted { code: 127, why }
}

fn mixed(program: &str, library: &Library, mpi: &Mpi) -> NotStarted {
    let (major, minor) = mpi.version;
    let why = format!(
        "two MPIs are mixed: {} belongs to {} {major}.{minor}, but {program} loads {}, which is {}; \
         each rank would be a separate job. Use the launcher of the program's MPI (--for), or \
         compile the program with the launcher's mpicc",
        mpi.launcher.display(),
        mpi.family,
        library.name,
        library.abi,
    );
    NotStarted { code: 125, why }
}

/// The program to start: `mpirun` of Intel MPI is a script that takes hosts from the resource
/// manager; the program behind it takes the given hosts.
fn program_of(mpi: &Mpi) -> PathBuf {
    let hydra = mpi.launcher.with_file_name("mpiexec.hydra");
    if mpi.family == mpi::Family::Intel && hydra.is_file() { hydra } else { mpi.launcher.clone() }
}

/// `srun` or `flux`, which start programs of any MPI.
fn of_resource_manager(launcher: &'static Launcher) -> Result<MpiLauncher, NotStarted> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let (name, software) = (launcher.program, launcher.software.to_string());
    let missing = |why: String| NotStarted { code: 127, why };
    let program = find_program(Path::new(name))
        .ok_or_else(|| missing(format!("no {name} of {software} on PATH")))?;
    let mut command = Command::new(&program);
    command.arg("--version").stdin(Stdio::null()).stderr(Stdio::null());
    let said = child::first_output(&mut command, PATIENCE).unwrap_or_default();
    if said.to_ascii_lowercase().contains(&software.to_ascii_lowercase()) {
        return Ok(MpiLauncher { program, launcher });
    }
    let program = program.display();
    Err(missing(match said.trim() {
        "" => format!(
            "`{program} --version` prints no version, as where {software} is not configured: run it to see why, or \
             write the files with `rankwright launch`"
        ),
        _ => {
            let said = mpi::first_line(&said);
            format!("{program} is not the one of {software}: --version prints {said}")
        }
    }))
}

/// The first version of MPICH whose `mpiexec` takes `-rankmap`.
const MPICH_WITH_RANKMAP: (u32, u32) = (4, 1);

/// The row of the launcher table for this MPI.
fn row(mpi: &Mpi) -> Option<&'static str> {
    match (mpi.family, mpi.version) {
        (mpi::Family::OpenMpi, (4, _)) => Some("openmpi4"),
        (mpi::Family::OpenMpi, (5.., _)) => Some("openmpi5"),
        (mpi::Family::OpenMpi, _) => None,
        (mpi::Family::Intel, _) => Some("intelmpi"),
        (mpi::Family::Mpich, version) if version >= MPICH_WITH_RANKMAP => Some("mpich"),
        (mpi::Family::Mpich, _) => Some("mpich:4.0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launcher(family: mpi::Family, version: (u32, u32)) -> Mpi {
        Mpi { launcher: PathBuf::new(), family, version }
    }

    #[test]
    fn versions_choose_the_row_of_the_table() {
        let row = |family, version| row(&launcher(family, version));
        assert_eq!(row(mpi::Family::OpenMpi, (3, 1)), None);
        assert_eq!(row(mpi::Family::OpenMpi, (4, 1)), Some("openmpi4"));
        assert_eq!(row(mpi::Family::OpenMpi, (5, 0)), Some("openmpi5"));
        assert_eq!(row(mpi::Family::Mpich, (3, 4)), Some("mpich:4.0"));
        assert_eq!(row(mpi::Family::Mpich, (4, 0)), Some("mpich:4.0"));
        assert_eq!(row(mpi::Family::Mpich, (4, 1)), Some("mpich"));
        assert_eq!(row(mpi::Family::Mpich, (5, 0)), Some("mpich"));
        assert_eq!(row(mpi::Family::Intel, (2021, 19)), Some("intelmpi"));
    }

    #[test]
    fn the_launcher_of_the_programs_mpi_is_taken() {
        use mpi::Family::{Intel, Mpich, OpenMpi};
        let launchers =
            [(OpenMpi, (5, 0)), (Intel, (2021, 19)), (Mpich, (4, 0)), (OpenMpi, (4, 1))];
        let launchers = launchers.map(|(family, version)| launcher(family, version));
        let library = |abi| Library { abi, name: String::new(), path: None };
        let best = |choice: &str, abi: Option<Abi>, profiled: &str| {
            let choice = launch::find(choice);
            let wanted = Wanted::new(choice, abi.map(library).as_ref(), profiled);
            wanted.best(&launchers).map(|mpi| (mpi.family, mpi.version.0))
        };
        assert_eq!(best("", None, ""), Some((OpenMpi, 5)));
        assert_eq!(best("", None, "Open MPI v4.1.4"), Some((OpenMpi, 4)));
        assert_eq!(best("", None, "Intel(R) MPI Library"), Some((Intel, 2021)));
        assert_eq!(best("", None, "MPICH Version: 3.4"), Some((Mpich, 4)));
        assert_eq!(best("", Some(Abi::Mpich), ""), Some((Mpich, 4)));
        // The library that the program loads now takes precedence over the profile.
        assert_eq!(best("", Some(Abi::OpenMpi), "MPICH"), Some((OpenMpi, 5)));
        assert_eq!(best("openmpi4", None, "MPICH"), Some((OpenMpi, 4)));
        assert_eq!(best("intelmpi", None, ""), Some((Intel, 2021)));
    }
}
