//! `rankwright profile`.

mod counters;
mod events;
mod merge;
mod program;
mod recording;
mod sharing;
mod tracer;
mod transport;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode, ExitStatus};

use anyhow::Context;
use clap::Args;
use rankwright::launch::shell;
use rankwright::report::traffic::TrafficSummary;
use rankwright::report::triage::Triage;
use rankwright::report::workload::Sending;
use rankwright::traffic::expansion::Expansion;
use rankwright::traffic::profile::{Ended, Profile as Recorded};
use rankwright::traffic::read::profile_file;
use rankwright_shim_format::shim_options;

use super::next_steps;
use crate::host::child;
use crate::host::mpi::Abi;
use crate::host::shim::shim_beside_us;
use crate::host::signals::interrupt;
use crate::launching::launch_line::LaunchLine;
use crate::options::{Format, given, refuse, refuse_stdout};
use crate::output::exit_code::NotStarted;
use crate::output::{self, Verbosity};
use crate::planning::traffic_report::TrafficReport;
use recording::Recording;

/// Options of `rankwright profile`.
#[derive(Debug, Args)]
#[command(after_help = "\
                        Examples: rankwright profile -o app.rwp -- mpirun -np 16 ./app input.dat
          rankwright profile -o app.rwp --merge /collected/spool/*")]
pub(crate) struct Profile {
    /// Profile to write, like app.rwp
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Name of the program in the profile [default: its file name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Folder on each host for the records of its ranks during the run; they survive if a rank dies
    /// [default: beside the profile]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,
    /// Measure the time of each MPI call; `off` makes the tracer cheaper, but then the profile has
    /// no times inside MPI and no message timing
    #[arg(long, value_name = "on|off", default_value = "on")]
    gaps: Switch,
    /// Also record every call in order, for `simulate --replay` and `traffic export --format
    /// simgrid-ti`; takes about 10 bytes per call, in the spool folder and in the profile. The same as
    /// `--timeline mpi`
    #[arg(long)]
    events: bool,
    /// Also record when the network is used, for `timeline`: mpi (every call in order, as --events),
    /// transport (calls, and what goes over TCP connections, through UCX or Open MPI's PML), device (what the network
    /// devices of each node count, every 10 ms); several with commas
    #[arg(
        long,
        value_enum,
        value_name = "SOURCES",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    timeline: Vec<TimesOf>,
    /// Leave the records of every rank in its spool file instead of gathering them over the network
    #[arg(long)]
    per_rank: bool,
    /// Run nothing; make the profile from the spool files of one run in these folders
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["spool", "per_rank", "events", "timeline", "gaps", "mpi"])]
    merge: Vec<PathBuf>,
    /// Print the summary to standard output in this format, and what the program prints to standard
    /// error [default: a table on standard error]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// MPI library of the program [default: detected from the program and the launcher]
    #[arg(long, value_enum, value_name = "MPI")]
    mpi: Option<Abi>,
    /// The launcher's command line: mpirun, mpiexec or srun with its options, then the program and
    /// its arguments. With other launchers, put `rankwright exec` before the program
    #[arg(
        last = true,
        required_unless_present = "merge",
        conflicts_with = "merge",
        value_name = "COMMAND"
    )]
    command: Vec<String>,
}

/// What is recorded over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TimesOf {
    /// The calls of MPI in their order
    Mpi,
    /// TCP connections and messages through UCX and Open MPI's PML, and the calls of MPI
    Transport,
    /// The counters of network devices
    Device,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Profile {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        refuse_stdout(&self.output)?;
        // SIGPIPE must not end the process before the spool folder has been read and removed.
        interrupt::survive_closed_pipe();
        if !self.merge.is_empty() {
            let profile = merge::read(&self.merge, self.name.as_deref())?;
            profile_file::write(&profile, &self.output)?;
            let told = self.tell(&profile, verbosity);
            events::add(&self.output, profile.ranks.len(), &self.merge, verbosity)?;
            counters::add(&self.output, &profile, &self.merge, false, verbosity)?;
            transport::add(&self.output, &profile, &self.merge, false, verbosity)?;
            told?;
            self.tell_next(None, verbosity);
            return Ok(ExitCode::SUCCESS);
        }
        let without_times = self.has_events() && self.gaps == Switch::Off;
        let why = " needs --gaps on, because events have times";
        refuse(&[(given("--events", without_times), why)])?;
        let Started { mut launcher, recording, program } =
            self.start(verbosity).map_err(NotStarted::by_us_unless_known)?;
        let status = child::wait(&mut launcher, None)?.context("the launcher still runs")?;
        match self.record(recording, program, status, verbosity) {
            // A program that failed must not look as if only its profile had.
            Err(error) if child::code(status) != 0 => output::error(&error),
            result => result?,
        }
        Ok(ExitCode::from(child::code(status)))
    }

    /// Makes the profile of a run that has ended, and removes what it was made of.
    fn record(
        &self,
        recording: Recording,
        program: String,
        status: ExitStatus,
        verbosity: &Verbosity,
    ) -> anyhow::Result<()> {
        let Some(profile) = recording.read(self.name.as_deref())? else {
            recording.remove();
            return no_profile(status, verbosity);
        };
        profile_file::write(&profile, &self.output).with_context(|| recording.kept())?;
        let told = self.tell(&profile, verbosity);
        let spool = std::slice::from_ref(&recording.spool);
        let kept = || format!("they are kept in {}", recording.spool.display());
        let mut whole = !self.has_events()
            || events::add(&self.output, profile.ranks.len(), spool, verbosity)
                .with_context(kept)?;
        if self.records(TimesOf::Transport) {
            whole &= transport::add(&self.output, &profile, spool, true, verbosity)
                .with_context(kept)?;
        }
        if self.records(TimesOf::Device) {
            whole &=
                counters::add(&self.output, &profile, spool, true, verbosity).with_context(kept)?;
        }
        if !whole || profile.ranks.iter().any(|rank| rank.ended == Ended::Missing) {
            let text = format!(
                "if ranks on other hosts left files in {}, collect them and make a profile of all \
                 with `rankwright profile --merge`; the files of this host are kept there",
                recording.spool.display()
            );
            output::warn(verbosity, text);
        } else {
            recording.remove();
        }
        told?;
        if status.success() {
            self.tell_next(Some(program), verbosity);
        } else {
            let text = format!(
                "{}: if the program failed, the profile has only what was sent until then; record a run to \
                 its end",
                ended_with(status)
            );
            output::warn(verbosity, text);
        }
        Ok(())
    }

    /// Prints the commands that come next. `program` is what goes behind their `--`, if it is known.
    fn tell_next(&self, program: Option<String>, verbosity: &Verbosity) {
        let commands = next_steps::commands_to_place(&self.output, program);
        output::note(verbosity, format_args!("next: {}", commands.join("; ")));
    }

    fn start(&self, verbosity: &Verbosity) -> anyhow::Result<Started> {
        let line = LaunchLine::read(&self.command)?;
        let chosen = program::choose(&line, self.mpi, verbosity)?;
        let library = tracer::library(&chosen, &line, verbosity)?;
        let shim = shim_beside_us()?;
        sharing::warn(&line, verbosity);
        let recording = Recording::begin(&self.output, self.spool.as_deref())?;

        let mut words: Vec<OsString> = vec![shim.into()];
        let mut option = |name: &str, value: &OsStr| words.extend([name.into(), value.into()]);
        option(shim_options::TRACE, recording.trace().as_ref());
        option(shim_options::TRACER, library.as_ref());
        option(shim_options::SPOOL, recording.spool.as_ref());
        let options = self.trace_options().join(",");
        if !options.is_empty() {
            option(shim_options::TRACE_OPTIONS, options.as_ref());
        }
        let mut command = line.with_shim(&words);
        if self.format.is_some() {
            command.stdout(io::stderr().as_fd().try_clone_to_owned().context("standard error")?);
        }
        match child::start(&mut command) {
            Ok(launcher) => Ok(Started { launcher, recording, program: programs(&line) }),
            Err(error) => {
                recording.remove();
                let why = format!("{}: {error}", line.launcher.display());
                Err(NotStarted { code: 126, why }.into())
            }
        }
    }

    fn records(&self, times: TimesOf) -> bool {
        self.timeline.contains(&times)
    }

    fn has_events(&self) -> bool {
        self.events || self.records(TimesOf::Mpi) || self.records(TimesOf::Transport)
    }

    /// The options of the tracer.
    fn trace_options(&self) -> Vec<&'static str> {
        let options = [
            (self.gaps == Switch::Off, "no-gaps"),
            (self.per_rank, "per-rank"),
            (self.has_events(), "events"),
            (self.records(TimesOf::Device), "counters"),
            (self.records(TimesOf::Transport), "transport"),
        ];
        options.into_iter().filter(|(wanted, _)| *wanted).map(|(_, word)| word).collect()
    }

    /// Prints a summary of the profile.
    fn tell(&self, profile: &Recorded, verbosity: &Verbosity) -> anyhow::Result<()> {
        if self.format.is_none() && verbosity.quiet {
            return Ok(());
        }
        let pairs = if self.format.is_some() { HEAVIEST } else { 0 };
        let sending = match self.format {
            // The messages of collective calls may be many: they are made up only where asked for.
            None => None,
            Some(_) => Sending::of_run(&profile.job(Expansion::Default)?),
        };
        let summary = TrafficSummary::new(profile, pairs);
        let triage = Triage::new(profile, Expansion::Default);
        let report = TrafficReport::new(summary, sending, triage);
        let file = self.output.display();
        let text = match self.format {
            None => format!("\n{}{:<16}{file}\n", report.text(), "profile"),
            Some(Format::Table) => report.text() + &report.heaviest(),
            Some(Format::Json) => report.json()?,
            Some(Format::Csv) => report.csv(),
        };
        output::print_unless_closed(&text, self.format.is_none()).with_context(|| {
            format!("{file} is written, but its summary could not be; see `traffic show {file}`")
        })
    }
}

/// The number of heaviest pairs in a summary for programs, as of `traffic show`.
const HEAVIEST: usize = 10;

/// A running launcher whose program is under the tracer.
struct Started {
    launcher: Child,
    recording: Recording,
    /// What goes behind `--` of other commands.
    program: String,
}

/// The programs of a line with their arguments as other commands take them, for a shell: several with their
/// numbers of ranks. `./app` if these are not told as usual.
fn programs(line: &LaunchLine) -> String {
    let programs: Vec<String> = line.programs().map(shell::join).collect();
    if programs.len() == 1 {
        return programs.join(" ");
    }
    let ranks = |options: &[String]| {
        let mut pairs = options.windows(2);
        let given = pairs.find(|pair| ["-n", "-np", "--np"].contains(&pair[0].as_str()))?;
        given[1].parse::<u32>().ok()
    };
    let parts = line.options().zip(&programs);
    let parts = parts.map(|(options, program)| Some(format!("-n {} {program}", ranks(options)?)));
    let parts: Option<Vec<String>> = parts.collect();
    parts.map_or("./app".to_owned(), |parts| parts.join(" : "))
}

/// How a launcher ended that did not succeed.
fn ended_with(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("the launcher ended with exit code {code}"),
        None => "the launcher was ended by a signal".to_owned(),
    }
}

/// The error when nothing was recorded, with the probable cause.
fn no_profile(status: ExitStatus, verbosity: &Verbosity) -> anyhow::Result<()> {
    let ended = match status.success() {
        true => "the program never called MPI_Init, or the tracer was not loaded into it (it is \
                      linked statically, setuid or setgid, or started without LD_PRELOAD), or the \
                      disk is full, or another host cannot write to this folder"
            .to_owned(),
        false => ended_with(status),
    };
    let text = format!("no profile, because the ranks recorded nothing: {ended}");
    if status.success() {
        anyhow::bail!(text);
    }
    output::warn(verbosity, text);
    Ok(())
}
