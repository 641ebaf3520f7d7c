//! `--launch`: starts 2 ranks with each launcher, and records 2 ranks under the tracer.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rankwright::traffic::read::profile_file;
use rankwright_shim_format::{ReportLine, shim_options};

use super::finding::Finding;
use super::programs::{Here, name_of, refused, title};
use crate::host::child;
use crate::host::mpi::built::Target;
use crate::host::mpi::tracer::TRACER;
use crate::host::mpi::{Abi, Family, Mpi};
use crate::host::shim::shim_beside_us;

/// The time limit of 2 ranks that end at once, and of the compiler.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program that is recorded: each of 2 ranks sends to the other.
const PROGRAM: &str = include_str!("exchange.c");

/// Starts 2 ranks with a launcher, also where this machine has one PU.
fn two_ranks(mpi: &Mpi, command: &mut Command) {
    command.args(["-n", "2"]);
    // Variables, because the options of Open MPI 4 and 5 differ.
    if mpi.family == Family::OpenMpi {
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    }
}

/// Whether each launcher starts ranks with numbers of their own: 2 shims report theirs.
pub(super) fn ranks(here: &Here<'_>) -> Vec<Finding> {
    // The check of the shim says if it is missing.
    let Ok(shim) = shim_beside_us() else { return Vec::new() };
    let started = |mpi: &Mpi| -> Result<(), Failure> {
        let mut command = Command::new(&mpi.launcher);
        two_ranks(mpi, &mut command);
        command.arg(&shim).arg(shim_options::REPORT);
        let ended = child::ended(&mut command, PATIENCE).map_err(|error| error.to_string())?;
        let reports = ended.output.lines().filter_map(|line| line.parse::<ReportLine>().ok());
        let mut numbers: Vec<u32> = reports.filter_map(|report| report.rank).collect();
        numbers.sort_unstable();
        match numbers[..] {
            [0, 1] => Ok(()),
            [] => Err(first_line(&ended.error, &ended.status.to_string()).into()),
            _ => Err(format!("expected ranks 0 and 1, found {numbers:?}").into()),
        }
    };
    of_launchers(here, "2 ranks started", started)
}

/// Whether a program of each ABI is recorded: its profile must have both messages.
pub(super) fn recorded(here: &Here<'_>) -> Vec<Finding> {
    let record = |mpi: &Mpi| -> Result<(), Failure> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = built(mpi, folder.path()).map_err(Failure::NotTried)?;
        let profile = folder.path().join("exchange.rwp");
        let us = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(us);
        command.args(["profile", "--quiet", "-o"]).arg(&profile).arg("--").arg(&mpi.launcher);
        two_ranks(mpi, &mut command);
        command.arg(program);
        let ended = child::ended(&mut command, PATIENCE).map_err(|error| error.to_string())?;
        if !ended.status.success() {
            return Err(first_line(&ended.error, &ended.status.to_string()).into());
        }
        let profile = profile_file::read(&profile).map_err(|error| error.to_string())?;
        let messages: u64 = profile.flows.iter().map(|record| record.flow.messages).sum();
        match (profile.ranks.len(), messages) {
            (2, 2) => Ok(()),
            (ranks, messages) => {
                let why =
                    format!("expected 2 ranks with 2 messages, found {ranks} with {messages}");
                Err(why.into())
            }
        }
    };
    of_launchers(here, "2 ranks recorded", record)
}

/// Why a trial failed.
enum Failure {
    /// It does not work.
    Broken(String),
    /// What the attempt itself needs is missing; the commands may work.
    NotTried(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// A finding for each launcher that this user may use. The commands stop if none works and one is broken.
fn of_launchers(
    here: &Here<'_>,
    done: &str,
    does: impl Fn(&Mpi) -> Result<(), Failure>,
) -> Vec<Finding> {
    let usable = here.launchers.iter().filter(|mpi| refused(mpi).is_none());
    let tried: Vec<_> = usable.map(|mpi| (mpi, does(mpi))).collect();
    let works = tried.iter().any(|(_, result)| result.is_ok());
    let finding = |(mpi, result): (&Mpi, Result<(), Failure>)| match result {
        Ok(()) => Finding::ok(name_of(mpi), format!("{done}, {}", title(mpi))),
        Err(Failure::NotTried(why)) => {
            Finding::not_tried(name_of(mpi), format!("{}: {why}", title(mpi)))
        }
        Err(Failure::Broken(why)) => {
            let advice = format!("try it by hand: `{} -n 2 hostname`", mpi.launcher.display());
            Finding::broken(name_of(mpi), format!("{}: {why}", title(mpi)))
                .advice(advice)
                .stopping(!works)
        }
    };
    tried.into_iter().map(finding).collect()
}

/// Compiles the program with the MPI's compiler. Nodes with an installed tracer need none, so that it fails
/// says nothing of `profile`.
fn built(mpi: &Mpi, folder: &Path) -> Result<std::path::PathBuf, String> {
    let abi = Abi::of_family(mpi.family);
    let target = Target { abi, launcher: &mpi.launcher, is_its_launcher: true, library: None };
    let compiler = TRACER
        .compiler(&target)
        .map_err(|_| "no mpicc of this MPI, so no program to record".to_owned())?;
    let (source, program) = (folder.join("exchange.c"), folder.join("exchange"));
    std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
    let mut command = Command::new(compiler.path());
    command.arg("-o").arg(&program).arg(&source);
    let ended = child::ended(&mut command, PATIENCE).map_err(|error| error.to_string())?;
    match ended.status.success() {
        true => Ok(program),
        false => {
            let said = first_line(&ended.error, &ended.status.to_string());
            Err(format!("{} compiles nothing: {said}", compiler.path().display()))
        }
    }
}

/// The first line of a program's messages, without lines of dashes.
fn first_line(said: &str, otherwise: &str) -> String {
    let mut lines = said.lines().map(str::trim);
    let line = lines.find(|line| line.contains(char::is_alphanumeric));
    line.unwrap_or(otherwise).to_owned()
}
