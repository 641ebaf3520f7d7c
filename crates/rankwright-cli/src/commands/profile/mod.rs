//! `rankwright profile`.

mod launch_line;
mod tracer;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};

use anyhow::Context;
use clap::Args;
use rankwright::report::traffic::TrafficSummary;
use rankwright::report::triage::Triage;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::{profile_file, trace_file};

use crate::cli::Verbosity;
use crate::exit_code::{NotStarted, UsageError};
use crate::launching::shim_beside_us;
use crate::mpi::Mpi;
use crate::{child, output};

/// Options of `rankwright profile`.
#[derive(Debug, Args)]
#[command(after_help = "Example: rankwright profile -o app.rwp -- mpirun -np 16 ./app input.dat")]
pub(crate) struct Profile {
    /// The profile to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The program as the profile names it; its file name where not given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The launcher's command line: mpirun or mpiexec with its options, the program, its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Profile {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        output::refuse_stdout(&self.output)?;
        let Started { mut launcher, trace, name } =
            self.start().map_err(NotStarted::by_us_unless_known)?;
        let status = child::wait(&mut launcher, None)?.context("the launcher still runs")?;
        let result = self.finish(&trace, &name, status, verbosity);
        if result.is_err() && trace.exists() {
            return result.with_context(|| format!("the trace is kept in {}", trace.display()));
        }
        remove_trace(&trace);
        result
    }

    fn start(&self) -> anyhow::Result<Started> {
        let (launcher, arguments) = self.command.split_first().expect("clap requires one");
        let mpi = Mpi::of_launcher(Path::new(launcher))?;
        let programs = launch_line::program_positions(mpi.family, arguments);
        let Some(first) = programs.first() else {
            let text = format!(
                "found no program in `{}`, expected mpirun [OPTIONS] PROGRAM [ARGUMENTS]",
                self.command.join(" ")
            );
            return Err(UsageError(text).into());
        };
        let library = tracer::library(&mpi)?;
        let trace = self.trace_file()?;
        let name = self.name.clone().unwrap_or_else(|| program_name(&arguments[*first]));

        let shim = shim_beside_us()?;
        let mut command = Command::new(&mpi.launcher);
        for (place, argument) in arguments.iter().enumerate() {
            if programs.contains(&place) {
                command.arg(&shim).arg("--trace").arg(&trace);
                command.arg("--tracer").arg(&library).arg("--");
            }
            command.arg(argument);
        }
        let launcher = child::start(&mut command).map_err(|error| NotStarted {
            code: 126,
            why: format!("{}: {error}", mpi.launcher.display()),
        })?;
        Ok(Started { launcher, trace, name })
    }

    /// Where the tracer leaves its file: beside the profile, which every host of the job is asked
    /// to see.
    fn trace_file(&self) -> anyhow::Result<PathBuf> {
        let shown = self.output.display();
        // Known now, it costs nothing; known after a run of hours, it costs the run.
        if self.output.metadata().is_ok_and(|found| !found.is_file()) {
            let why = format!("{shown}: found no regular file, expected one for the profile");
            return Err(NotStarted { code: 125, why }.into());
        }
        let output = std::path::absolute(&self.output).with_context(|| shown.to_string())?;
        let folder = output.parent().context("the profile needs a folder")?;
        let folder = folder.canonicalize().map_err(|error| NotStarted {
            code: 125,
            why: format!("{}: {error}; make the folder first", folder.display()),
        })?;
        let name = self.output.file_name().unwrap_or_default().to_string_lossy();
        Ok(folder.join(format!("{name}.trace-{}", std::process::id())))
    }

    /// Turns the trace into the profile and says what it tells at once. The program's own exit
    /// code is ours.
    fn finish(
        &self,
        trace: &Path,
        name: &str,
        status: ExitStatus,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let code = ExitCode::from(child::code(status));
        if !trace.exists() {
            let ended = match (status.success(), status.code()) {
                (true, _) => "the program never called MPI_Init, is linked statically or with \
                              another MPI than the launcher's, or another host cannot write to this \
                              folder"
                    .to_owned(),
                (false, Some(code)) => format!("the launcher ended with exit code {code}"),
                (false, None) => "the launcher was ended by a signal".to_owned(),
            };
            let text = format!("no profile: the ranks left no trace; {ended}");
            if status.success() {
                anyhow::bail!(text);
            }
            output::warn(verbosity, text);
            return Ok(code);
        }
        let profile = trace_file::read(trace, name)?;
        profile_file::write(&profile, &self.output)?;
        let summary = TrafficSummary::new(&profile, 0);
        output::note(verbosity, format!("\n{}", summary.text().trim_end()));
        let triage = Triage::new(&profile, Expansion::Default);
        output::note(verbosity, triage.text().trim_end());
        output::note(verbosity, format!("{:<16}{}", "profile", self.output.display()));
        Ok(code)
    }
}

/// A launcher that runs the program under the tracer.
struct Started {
    launcher: Child,
    /// The file that the tracer leaves.
    trace: PathBuf,
    /// What the profile calls the program.
    name: String,
}

/// Removes the tracer's file, and what ranks that were killed while they wrote it have left beside
/// it. Neither is there if the program did not reach MPI_Finalize; `finish` has said so.
fn remove_trace(trace: &Path) {
    let _ = std::fs::remove_file(trace);
    let (Some(folder), Some(name)) = (trace.parent(), trace.file_name()) else { return };
    let beginning = [name.as_bytes(), b".tmp."].concat();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_bytes().starts_with(&beginning) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A program's file name.
fn program_name(program: &str) -> String {
    let name = Path::new(program).file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| program.to_owned())
}
