//! `run --compare`: starts one program in several ways, in turn, in one allocation.

mod default_hosts;
pub(super) mod options;
mod schedule;
mod times;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::Context;
use rankwright::launch::{Launcher, ProgramLine, Task};
use rankwright::placement::PlacementFile;
use rankwright_shim_format::same_host;
use regex::Regex;

use super::arguments::Run;
use super::placing::allocation::Allocation;
use crate::host::batch_job::BatchJob;
use crate::host::mpi::launcher::{MpiLauncher, Profiled};
use crate::host::this_host;
use crate::launching::files::describe;
use crate::launching::prepared::Prepared;
use crate::launching::started::{Ready, refuse_root};
use crate::output::exit_code::{NotStarted, UsageError};
use crate::output::{self, Verbosity, note, warn};
use crate::planning::accuracy::{self, Measured, SHORT};
use crate::planning::launcher_default;
use options::ComparisonOptions;
use schedule::Schedule;
use times::Times;

/// One way to start the program.
struct Way {
    name: String,
    ready: Ready,
    /// `None` for the launcher's default.
    placement: Option<PlacementFile>,
}

/// Warns of a placement that places as the launcher does by default, where it is compared with that.
fn warn_of_default(
    names: &[String],
    prepared: &[Option<Prepared>],
    (launcher, ranks): (&Launcher, Option<usize>),
    verbosity: &Verbosity,
) {
    let Some(ranks) = ranks.filter(|_| prepared.iter().any(Option::is_none)) else { return };
    let default = launcher_default::strategy(launcher, ranks, verbosity);
    let placed = names.iter().zip(prepared);
    let placed = placed.filter_map(|(name, way)| Some((name, way.as_ref()?.placement())));
    for (name, _) in placed.filter(|(_, placement)| placement.strategy == default) {
        let text = format!(
            "{name} is by `{default}`, the default of {} itself: both start the ranks alike, and differences are \
             chance",
            launcher.name
        );
        warn(verbosity, text);
    }
}

/// Prints the files and the command line of each way.
fn show(ways: &[Way]) -> anyhow::Result<ExitCode> {
    let described =
        ways.iter().map(|way| format!("# --compare {}\n{}", way.name, describe(&way.ready.launch)));
    output::print(&described.collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

impl Run {
    /// Runs all ways in turn and compares their times. A run that fails ends the comparison with
    /// its exit code.
    pub(super) fn compare(
        &self,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<ExitCode> {
        let options = &self.comparison;
        let names = options.names()?;
        options.result.check()?;
        options.report.check(&[options.result.file()])?;
        let ways = self.ways(&names, line, verbosity)?;
        if self.dry_run {
            return show(&ways);
        }
        warn_of_load(&ways, verbosity)?;
        note(verbosity, options.runs_to_come(ways.len()));
        let mut times = Times::new(names, options.seed);
        let blocks = options.warmup + options.repeat.get();
        let mut schedule = Schedule::new(ways.len(), options.seed);
        for block in 0..blocks {
            for at in schedule.block() {
                let way = &ways[at];
                match self.timed(way, line, verbosity)? {
                    Outcome::Took(seconds) => {
                        let counted = block.checked_sub(options.warmup);
                        let what = counted.map_or("warm-up".to_owned(), |block| {
                            format!("{} of {}", block + 1, options.repeat)
                        });
                        note(verbosity, format_args!("{}, {what}: {seconds:.3} s", way.name));
                        if counted.is_some() {
                            times.push(at, seconds);
                        }
                    }
                    Outcome::Failed(code) => {
                        times.failed(at, code);
                        self.write(&times, verbosity)?;
                        let name = &way.name;
                        warn(
                            verbosity,
                            format_args!(
                                "comparison stopped: a run of {name} ended with exit code {code}"
                            ),
                        );
                        return Ok(ExitCode::from(code));
                    }
                }
            }
        }
        self.write(&times, verbosity)?;
        let shortest = (0..ways.len()).filter_map(|at| times.median(at)).fold(f64::MAX, f64::min);
        if options.time_regex.is_none() && shortest < SHORT {
            let text = format!(
                "note: a run of {shortest:.2} s is short beside the start of the launcher, which is in the \
                 times: a longer run, or --time-regex with a time that the program prints, says more"
            );
            note(verbosity, text);
        }
        self.keep(&ways, &times, verbosity);
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the table of the times, and the report if it is wanted.
    fn write(&self, times: &Times, verbosity: &Verbosity) -> anyhow::Result<()> {
        let ComparisonOptions { result, report, .. } = &self.comparison;
        result.write(&times.render(result.format)?)?;
        let program = self.program.first().map(Path::new).and_then(Path::file_name);
        let program = program.unwrap_or_default().to_string_lossy();
        report.write_if_wanted(|| times.page(&program), verbosity)
    }

    /// Keeps the times of placed runs in the record of accuracy.
    fn keep(&self, ways: &[Way], times: &Times, verbosity: &Verbosity) {
        if !self.keeps_record() {
            return;
        }
        for (at, way) in ways.iter().enumerate() {
            let Some((placement, seconds)) = way.placement.as_ref().zip(times.median(at)) else {
                continue;
            };
            let measured = Measured {
                program: &self.program,
                seconds,
                with_start: self.comparison.time_regex.is_none(),
                runs: self.comparison.repeat.get(),
                bytes: None,
            };
            accuracy::keep(placement, measured, verbosity);
        }
    }

    /// Prepares all ways before the first runs. A way that cannot be placed is an error: by falling
    /// back on the launcher's default, the default would be compared with itself.
    fn ways(
        &self,
        names: &[String],
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Vec<Way>> {
        let batch = BatchJob::around()?;
        let wanted = self.placing.wanted_ranks(line.total(), batch.as_ref());
        let allocation = match self.placing.profile {
            Some(_) => {
                let workload = self.placing.workload(verbosity)?;
                let (wanted, batch) = ((wanted, line), batch.as_ref());
                Some(Allocation::new(&self.placing, workload, wanted, batch, verbosity)?)
            }
            None => None,
        };
        if let Some(allocation) = &allocation {
            allocation.note(verbosity);
        }
        // What is placed here is placed for a launcher; of a placement file the launcher follows.
        let placing = match &allocation {
            Some(allocation) => {
                let installed = self.launcher(allocation.profiled(), line, verbosity)?;
                Some((allocation, installed))
            }
            None => None,
        };
        let mut prepared: Vec<Option<Prepared>> = Vec::new();
        for name in names {
            let placed = (name != "default")
                .then(|| self.way(name, placing.as_ref(), verbosity))
                .transpose();
            prepared.push(placed.with_context(|| format!("--compare {name}"))?);
        }
        let ranks = allocation.as_ref().map(Allocation::ranks).or(wanted);
        let ranks = one_number_of_ranks(ranks, names, &prepared)?;
        let installed = match (placing, prepared.iter().flatten().next()) {
            (Some((_, installed)), _) => installed,
            (None, Some(prepared)) => self.launcher(prepared.one_job()?.into(), line, verbosity)?,
            (None, None) => self.launcher(Profiled::default(), line, verbosity)?,
        };
        warn_of_default(names, &prepared, (installed.launcher, ranks), verbosity);
        for prepared in prepared.iter().flatten() {
            self.refuse_misfits(prepared, installed.launcher, batch.as_ref(), verbosity)?;
        }
        if !self.dry_run {
            refuse_root(&self.options.launcher_arguments()?, &installed)?;
        }
        let ways = names.iter().map(String::as_str).zip(prepared.iter().map(Option::as_ref));
        let hosts = self.default_hosts(&ways.collect::<Vec<_>>(), batch.as_ref())?;
        if let Some(note_on_hosts) = &hosts.note {
            note(verbosity, format_args!("note: {note_on_hosts}"));
        }
        let named = names.iter().zip(&prepared);
        let way = |(name, prepared): (&String, &Option<Prepared>)| {
            let ready = match prepared {
                Some(prepared) => self.ready(prepared, &installed, line, verbosity)?,
                None => Ready::bare(self.default_launch(&installed, ranks, line, &hosts.hosts)?),
            };
            if !self.dry_run {
                ready.explain(verbosity);
            }
            let placement = prepared.as_ref().map(|prepared| prepared.placement().clone());
            Ok(Way { name: name.clone(), ready, placement })
        };
        named.map(way).collect()
    }

    /// A placed way; with --dry-run it has no files.
    fn ready(
        &self,
        prepared: &Prepared,
        installed: &MpiLauncher,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Ready> {
        if self.dry_run {
            return Ok(Ready::bare(self.dry_launch(prepared, installed, line, verbosity)?));
        }
        Ready::new(prepared, installed, Task::Programs(line), verbosity)
    }

    /// The placement that a name stands for.
    fn way(
        &self,
        name: &str,
        placing: Option<&(&Allocation, MpiLauncher)>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Prepared> {
        let placed = |(allocation, installed): &(&Allocation, MpiLauncher), strategy| {
            let (file, _) = allocation.placement(strategy, installed.launcher, verbosity)?;
            Prepared::new(&self.options, file, name.to_owned())
        };
        if name == "placement" {
            return match (&self.placement, placing) {
                (Some(file), _) => Prepared::read(&self.options, file),
                (None, Some(placing)) => placed(placing, self.placing.strategy.as_deref()),
                (None, None) => {
                    Err(UsageError("give the placement file, or --profile".to_owned()).into())
                }
            };
        }
        let path = Path::new(name);
        if path.is_file() || path.extension().is_some_and(|extension| extension == "json") {
            return Prepared::read(&self.options, path);
        }
        let Some(placing) = placing else {
            return Err(UsageError(format!(
                "`{name}` is not a placement file; if it is a strategy, give --profile"
            ))
            .into());
        };
        placed(placing, Some(name))
    }

    /// Runs the program once. Its output goes to standard error, because standard output is for the
    /// result of the comparison.
    fn timed(
        &self,
        way: &Way,
        line: &ProgramLine,
        verbosity: &Verbosity,
    ) -> anyhow::Result<Outcome> {
        let begin = Instant::now();
        let mut child = way.ready.spawn(|command: &mut Command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped());
        })?;
        let pipe = child.stdout.take().context("the program's standard output")?;
        let printed = pass_on(pipe, self.comparison.time_regex.clone(), verbosity.quiet);
        let code = way.ready.wait(&mut child, line, self.timeout, verbosity)?;
        let seconds = begin.elapsed().as_secs_f64();
        let last_match = printed.join().unwrap_or_default();
        if code != 0 {
            return Ok(Outcome::Failed(code));
        }
        let Some(regex) = &self.comparison.time_regex else { return Ok(Outcome::Took(seconds)) };
        let Some(text) = last_match else {
            let why = format!("--time-regex {regex}: no match in the output of {}", way.name);
            anyhow::bail!(why);
        };
        let time = text.parse().ok().filter(|time: &f64| *time > 0.0 && time.is_finite());
        let time = time.with_context(|| {
            format!("--time-regex {regex}: found `{text}`, expected a number of seconds above 0")
        })?;
        Ok(Outcome::Took(time))
    }
}

/// Warns where other programs keep this host busy, if it has ranks.
fn warn_of_load(ways: &[Way], verbosity: &Verbosity) -> anyhow::Result<()> {
    let here = this_host::name()?;
    let has_ranks = |placement: &PlacementFile| {
        // The nodes of a lab are on this host.
        placement.cluster.emulated
            || placement.nodes.iter().any(|node| same_host(&node.name, &here))
    };
    let any_here = ways.iter().filter_map(|way| way.placement.as_ref()).any(has_ranks);
    if let Some(overload) = any_here.then(this_host::overload).flatten() {
        warn(verbosity, format!("{overload}: it disturbs the times"));
    }
    Ok(())
}

/// The number of ranks that all ways have.
///
/// # Errors
/// If they differ.
fn one_number_of_ranks(
    mut ranks: Option<usize>,
    names: &[String],
    prepared: &[Option<Prepared>],
) -> anyhow::Result<Option<usize>> {
    for (name, prepared) in names.iter().zip(prepared) {
        let Some(prepared) = prepared else { continue };
        let count = prepared.one_job()?.ranks.len();
        if let Some(ranks) = ranks.filter(|ranks| *ranks != count) {
            let why = format!("--compare {name}: {count} ranks, but the ways before have {ranks}");
            return Err(NotStarted { code: 125, why }.into());
        }
        ranks = Some(count);
    }
    Ok(ranks)
}

/// The outcome of a run.
enum Outcome {
    /// Its run time, in seconds.
    Took(f64),
    /// It failed with this exit code.
    Failed(u8),
}

/// Copies the output of a program to standard error, unless quiet; returns the last match of the
/// expression.
fn pass_on(pipe: ChildStdout, regex: Option<Regex>, quiet: bool) -> JoinHandle<Option<String>> {
    thread::spawn(move || {
        let mut last = None;
        for line in BufReader::new(pipe).split(b'\n') {
            let Ok(mut line) = line else { break };
            let text = String::from_utf8_lossy(&line);
            if let Some(groups) = regex.as_ref().and_then(|regex| regex.captures_iter(&text).last())
            {
                last =
                    groups.get(1).or(groups.get(0)).map(|group| group.as_str().trim().to_owned());
            }
            line.push(b'\n');
            if !quiet {
                // Standard error may be closed.
                let _ = std::io::stderr().write_all(&line);
            }
        }
        last
    })
}
