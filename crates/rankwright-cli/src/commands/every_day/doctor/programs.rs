//! Launchers, the shim, the tracer and the compilers that build it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rankwright::launch::{self, MPI_LAUNCHERS};
use rankwright_shim_format::shim_options;

use super::finding::{Finding, State};
use super::packages::{self, Packages};
use crate::host::mpi::built::{Compiler, Target};
use crate::host::mpi::installed::Installed;
use crate::host::mpi::launcher::MpiLauncher;
use crate::host::mpi::tracer::TRACER;
use crate::host::mpi::{Abi, Mpi};
use crate::host::shim::shim_beside_us;
use crate::host::{batch_job, child, elf, find_program};
use crate::launching::started::refuse_root;
use crate::output::Verbosity;

/// The time limit of a program that prints its version or compiles a few lines.
const PATIENCE: Duration = Duration::from_secs(20);

/// What several checks look at.
#[derive(Debug)]
pub(super) struct Here<'a> {
    /// Whether ranks are started.
    pub(super) launch: bool,
    pub(super) verbosity: &'a Verbosity,
    /// The launchers, each program once.
    pub(super) launchers: Vec<Mpi>,
    /// Programs with the name of a launcher that are none.
    others: Vec<(PathBuf, String)>,
    /// Slurm and Flux, in the order of [`MANAGERS`].
    managers: Vec<Managed>,
}

impl<'a> Here<'a> {
    pub(super) fn look(launch: bool, verbosity: &'a Verbosity) -> Self {
        let installed = Installed::until(MPI_LAUNCHERS[0], &|_| false);
        let mut seen = Vec::new();
        let mut launchers = installed.launchers;
        launchers.retain(|mpi| {
            let real = mpi.launcher.canonicalize().unwrap_or_else(|_| mpi.launcher.clone());
            let new = !seen.contains(&real);
            seen.push(real);
            new
        });
        let managers = MANAGERS.iter().map(Managed::look).collect();
        Self { launch, verbosity, launchers, others: installed.others, managers }
    }

    /// The program of a resource manager that starts ranks without an MPI launcher.
    fn starter(&self) -> Option<&Path> {
        self.managers.iter().find_map(|managed| managed.starter.as_deref())
    }

    /// The launchers, one for each ABI of their libraries.
    pub(super) fn one_per_abi(&self) -> Vec<(&Mpi, Abi)> {
        let mut found: Vec<(&Mpi, Abi)> = Vec::new();
        for mpi in &self.launchers {
            let abi = Abi::of_family(mpi.family);
            if !found.iter().any(|(_, other)| *other == abi) {
                found.push((mpi, abi));
            }
        }
        found
    }
}

/// The file name of a launcher.
pub(super) fn name_of(mpi: &Mpi) -> String {
    mpi.launcher.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `Open MPI 4.1`.
pub(super) fn title(mpi: &Mpi) -> String {
    format!("{} {}.{}", mpi.family, mpi.version.0, mpi.version.1)
}

/// Why a launcher refuses this user.
pub(super) fn refused(mpi: &Mpi) -> Option<String> {
    let row = launch::find("openmpi4")?;
    let is_open_mpi = mpi.family == crate::host::mpi::Family::OpenMpi;
    let installed = MpiLauncher { program: mpi.launcher.clone(), launcher: row };
    if !is_open_mpi {
        return None;
    }
    refuse_root(&[], &installed).err().map(|error| error.why)
}

/// The MPI launchers on PATH.
pub(super) fn launchers(here: &Here<'_>) -> Vec<Finding> {
    let usable = here.launchers.iter().any(|mpi| refused(mpi).is_none());
    let stops = !usable && here.starter().is_none();
    let finding = |mpi: &Mpi| {
        let found = format!("{}, {}", title(mpi), mpi.launcher.display());
        match refused(mpi) {
            None => Finding::ok(name_of(mpi), found),
            Some(why) => {
                let (why, advice) = why.split_once("; ").unwrap_or((&why, "use another user"));
                Finding::broken(name_of(mpi), format!("{found}: {why}"))
                    .advice(advice)
                    .stopping(stops)
            }
        }
    };
    let mut findings: Vec<Finding> = here.launchers.iter().map(finding).collect();
    for (program, said) in &here.others {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let found = format!("{}: --version prints {said}", program.display());
        let advice = "put the folder of your MPI before it on PATH (`module load`)";
        findings.push(Finding::broken(name, found).advice(advice).stopping(stops));
    }
    if findings.is_empty() {
        let advice = "load the module of your MPI (`module avail`)";
        let missing = Finding::missing("MPI launcher", "no mpirun or mpiexec on PATH");
        findings.push(missing.packages(&packages::OPEN_MPI).advice(advice).stopping(stops));
    }
    findings
}

/// The shim: beside this program, and startable on every node.
pub(super) fn shim(_: &Here<'_>) -> Vec<Finding> {
    let shim = match shim_beside_us() {
        Ok(shim) => shim,
        Err(error) => {
            let advice =
                "install rankwright with `make install`, or copy rankwright-exec beside it";
            return vec![Finding::missing("shim", error.why).advice(advice).stopping(true)];
        }
    };
    let started =
        child::ended(Command::new(&shim).arg(shim_options::REPORT).env("PMI_RANK", "0"), PATIENCE);
    let broken = |why: String| {
        let advice = "install the rankwright-exec of this machine's architecture again";
        vec![
            Finding::broken("shim", format!("{}: {why}", shim.display()))
                .advice(advice)
                .stopping(true),
        ]
    };
    match started {
        Err(error) => return broken(error.to_string()),
        // One that a signal ended says nothing.
        Ok(ended) if ended.error.trim().is_empty() && !ended.status.success() => {
            return broken(ended.status.to_string());
        }
        Ok(ended) if !ended.status.success() => return broken(ended.error),
        Ok(_) => {}
    }
    let linked = match elf::Elf::read(&shim) {
        Ok(Some(elf)) if elf.interpreter.is_some() => {
            ", linked dynamically (fast and independent of the node: `make build`)"
        }
        _ => ", static",
    };
    vec![Finding::ok("shim", format!("{}{linked}", shim.display()))]
}

/// The tracer for each ABI: installed, or a compiler that builds it.
pub(super) fn tracers(here: &Here<'_>) -> Vec<Finding> {
    let with_launcher = |(mpi, abi): (&Mpi, Abi)| {
        let target = Target { abi, launcher: &mpi.launcher, is_its_launcher: true, library: None };
        tracer(here, &target).unwrap_or_else(|| {
            let found = format!("not installed, and no mpicc of {} to build it", title(mpi));
            Finding::missing(part_of(abi), found).packages(packages_of(abi))
        })
    };
    let mut findings: Vec<Finding> = here.one_per_abi().into_iter().map(with_launcher).collect();
    if findings.is_empty() {
        findings = without_launcher(here);
    }
    let works = findings.iter().any(|finding| finding.state == State::Ok);
    findings.into_iter().map(|finding| finding.stopping(!works)).collect()
}

/// The tracers where no MPI launcher is on PATH: a resource manager may start programs of any MPI.
fn without_launcher(here: &Here<'_>) -> Vec<Finding> {
    let Some(launcher) = here.starter() else {
        let installed = Abi::ALL.into_iter().find_map(|abi| TRACER.installed(abi));
        return vec![match installed {
            Some(path) => Finding::ok("tracer", path.display().to_string()),
            None => Finding::not_needed("tracer", "no MPI launcher to record programs with"),
        }];
    };
    let of_abi =
        |abi| tracer(here, &Target { abi, launcher, is_its_launcher: false, library: None });
    let findings: Vec<Finding> = Abi::ALL.into_iter().filter_map(of_abi).collect();
    if !findings.is_empty() {
        return findings;
    }
    let found = format!(
        "not installed, and no mpicc on PATH to build it for programs that {} starts",
        launcher.display()
    );
    let advice = "load the module of your MPI (`module avail`)";
    vec![Finding::missing("tracer", found).packages(&packages::OPEN_MPI).advice(advice)]
}

fn part_of(abi: Abi) -> String {
    format!("tracer, {}", abi.name())
}

/// The packages with the compiler of an ABI.
fn packages_of(abi: Abi) -> &'static Packages {
    match abi {
        Abi::OpenMpi => &packages::OPEN_MPI,
        Abi::Mpich | Abi::Standard => &packages::MPICH,
    }
}

/// The tracer for an MPI; `None` if it is not installed and no MPI compiler wrapper can build it.
fn tracer(here: &Here<'_>, target: &Target<'_>) -> Option<Finding> {
    let part = part_of(target.abi);
    if let Some(installed) = TRACER.installed(target.abi) {
        return Some(Finding::ok(part, format!("{}, installed", installed.display())));
    }
    let compiler = TRACER.compiler(target).ok()?;
    let path = compiler.path().display();
    if let Err(why) = compiles(&compiler) {
        let packages = match why.contains("mpi.h") {
            true => packages_of(target.abi),
            false => &packages::COMPILER,
        };
        let found = format!("{path} compiles nothing: {why}");
        return Some(Finding::broken(part, found).packages(packages));
    }
    if !here.launch {
        return Some(Finding::ok(part, format!("builds with {path}")));
    }
    Some(match TRACER.built(target, here.verbosity) {
        Ok(built) => Finding::ok(part, format!("{}, built with {path}", built.display())),
        Err(error) => Finding::broken(part, format!("{error:#}")).packages(&packages::COMPILER),
    })
}

/// Whether a compiler wrapper finds its compiler and the headers of C and MPI; else the first line of
/// what it says.
fn compiles(compiler: &Compiler) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let source = folder.path().join("headers.c");
    std::fs::write(&source, "#include <stdlib.h>\n#include <mpi.h>\n")
        .map_err(|error| error.to_string())?;
    let mut command = Command::new(compiler.path());
    command.arg("-fsyntax-only").arg(&source).env("LC_ALL", "C");
    let ended = child::ended(&mut command, PATIENCE).map_err(|error| error.to_string())?;
    if ended.status.success() {
        return Ok(());
    }
    let mut lines = ended.error.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().find(|line| line.contains("error")).or_else(|| lines.next());
    Err(first.map_or_else(|| ended.status.to_string(), str::to_owned))
}

/// A resource manager whose launcher starts ranks.
struct Manager {
    name: &'static str,
    program: &'static str,
    /// A command that asks its controller for an answer.
    ask: [&'static str; 2],
}

const MANAGERS: [Manager; 2] = [
    Manager { name: "Slurm", program: "srun", ask: ["scontrol", "ping"] },
    Manager { name: "Flux", program: "flux", ask: ["flux", "uptime"] },
];

/// The time limit of a controller.
const CONTROLLER: Duration = Duration::from_secs(5);

/// What is known of a resource manager.
#[derive(Debug)]
struct Managed {
    finding: Finding,
    /// Its program, if that can start ranks: its controller answers, or we are inside one of its jobs.
    starter: Option<PathBuf>,
}

/// Slurm and Flux.
pub(super) fn resource_managers(here: &Here<'_>) -> Vec<Finding> {
    here.managers.iter().map(|managed| managed.finding.clone()).collect()
}

impl Managed {
    fn look(manager: &Manager) -> Self {
        let Manager { name, program, .. } = manager;
        let inside = batch_job::title_here().filter(|title| title.ends_with(name));
        let Some(path) = find_program(Path::new(program)) else {
            let finding = match inside {
                Some(title) => {
                    Finding::broken(*name, format!("in {title}, but no {program} on PATH"))
                        .advice(format!("load the module of {name}"))
                }
                None => Finding::not_needed(*name, format!("no {program} on PATH")),
            };
            return Self { finding, starter: None };
        };
        let finding = controller(manager, &path, inside.is_some());
        let starts = finding.state == State::Ok || inside.is_some();
        Self { finding, starter: starts.then_some(path) }
    }
}

/// Whether the program of a resource manager and its controller answer. Outside of a job, a machine may have
/// the programs without a configuration: the packages of clients are on many workstations.
fn controller(manager: &Manager, path: &Path, inside: bool) -> Finding {
    let Manager { name, ask, .. } = manager;
    let version = child::ended(Command::new(path).arg("--version"), PATIENCE);
    let version = match version {
        Ok(ended) => {
            let said = if ended.output.trim().is_empty() { ended.error } else { ended.output };
            said.lines().next().unwrap_or_default().trim().to_owned()
        }
        Err(error) => return Finding::broken(*name, format!("{}: {error}", path.display())),
    };
    let found = format!("{}, {version}", path.display());
    let asked = child::ended(Command::new(ask[0]).arg(ask[1]), CONTROLLER);
    let is_down = asked.as_ref().is_ok_and(|ended| ended.output.contains("is DOWN"));
    if !is_down && asked.is_ok_and(|ended| ended.status.success()) {
        return Finding::ok(*name, found);
    }
    let command = ask.join(" ");
    if !inside && !is_down {
        let found = format!("{found}: no controller is known here (`{command}`)");
        return Finding::not_needed(*name, found);
    }
    Finding::broken(*name, format!("{found}: its controller does not answer (`{command}`)")).advice(
        format!("run this on a login or compute node, or leave {name} alone: only jobs need it"),
    )
}
