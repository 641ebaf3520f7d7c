//! The running probe: its record, its progress, and its end.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::record::{Record, Step};
use crate::host::child;
use crate::output::exit_code::NotStarted;
use crate::output::progress::{self, ProgressLine};
use crate::output::{Verbosity, warn};

/// How many lines of the launcher's output are shown if it fails.
const MOST_LINES: usize = 10;
/// How long the launcher may take until the record begins: it may wait for its allocation.
const STARTING: Duration = Duration::from_secs(600);
/// How long the launcher may take to end after the end of the record.
const ENDING: Duration = Duration::from_secs(10);

/// A line of standard output, or of standard error.
enum Said {
    Output(String),
    Error(String),
}

/// How a run of the probe ended.
enum Ended {
    /// With a whole record.
    Whole(Record),
    /// It said nothing for too long.
    Silent { after: String },
}

/// Runs the probe to its end; once more if it hangs, as some MPI libraries do now and then. `patience` is
/// how long it may be silent once its record has begun. `checked` is called when the hosts are known.
///
/// # Errors
/// If the launcher fails, the record is not whole, or `checked` refuses the hosts.
pub(super) fn run(
    command: &mut Command,
    patience: Duration,
    checked: &dyn Fn(&Record) -> anyhow::Result<()>,
    verbosity: &Verbosity,
) -> anyhow::Result<Record> {
    let after = match once(command, patience, checked, verbosity)? {
        Ended::Whole(record) => return Ok(record),
        Ended::Silent { after } => after,
    };
    warn(verbosity, format!("the probe was silent for too long during: {after}; once more"));
    match once(command, patience, checked, verbosity)? {
        Ended::Whole(record) => Ok(record),
        Ended::Silent { after } => anyhow::bail!(
            "the probe hung twice, the second time during: {after}; nothing is written"
        ),
    }
}

fn once(
    command: &mut Command,
    patience: Duration,
    checked: &dyn Fn(&Record) -> anyhow::Result<()>,
    verbosity: &Verbosity,
) -> anyhow::Result<Ended> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut launcher = child::start(command).map_err(|error| {
        let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
        NotStarted { code, why: format!("{program}: {error}") }
    })?;
    let mut run = Run { record: Record::default(), said: Vec::new(), step: "its start".to_owned() };
    let heard = run.listen(&mut launcher, patience, checked, verbosity);
    match heard {
        Ok(true) => {}
        Ok(false) => {
            child::end(&mut launcher).context("ending the launcher")?;
            return Ok(Ended::Silent { after: run.step });
        }
        Err(error) => {
            child::end(&mut launcher).context("ending the launcher")?;
            return Err(error);
        }
    }
    let status = child::wait(&mut launcher, Some(Instant::now() + ENDING))?;
    if status.is_none() {
        child::end(&mut launcher).context("ending the launcher")?;
    }
    if run.record.seconds.is_some() {
        // Without a step nothing has been checked.
        checked(&run.record)?;
        return Ok(Ended::Whole(run.record));
    }
    let how = status.map_or("did not end".to_owned(), |status| format!("ended with {status}"));
    let lines: String = run.said.iter().map(|line| format!("\n  {line}")).collect();
    let during = &run.step;
    let why = format!(
        "the probe's record has no end: {program} {how} during: {during}; nothing is written{lines}"
    );
    match run.record.ranks {
        0 => Err(NotStarted { code: 125, why }.into()),
        _ => Err(anyhow::anyhow!(why)),
    }
}

/// What a run has said so far.
struct Run {
    record: Record,
    /// The first lines that are not of the record.
    said: Vec<String>,
    /// The measurement that runs.
    step: String,
}

impl Run {
    /// Takes the output of the launcher until it closes it; whether it did so in time. Only lines of the
    /// record count: a launcher may repeat a warning for ever.
    fn listen(
        &mut self,
        launcher: &mut Child,
        patience: Duration,
        checked: &dyn Fn(&Record) -> anyhow::Result<()>,
        verbosity: &Verbosity,
    ) -> anyhow::Result<bool> {
        let (sender, receiver) = mpsc::channel();
        let output = launcher.stdout.take().context("the output of the launcher")?;
        let errors = launcher.stderr.take().context("the output of the launcher")?;
        let again = sender.clone();
        thread::spawn(move || pass_on(output, &sender, Said::Output));
        thread::spawn(move || pass_on(errors, &again, Said::Error));
        let progress = ProgressLine::new(verbosity, "starting the probe");
        let mut is_checked = false;
        let mut end = Instant::now() + STARTING;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = match receiver.recv_timeout(left) {
                Ok(line) => line,
                // It may hang at its end, which loses nothing.
                Err(RecvTimeoutError::Timeout) => return Ok(self.record.seconds.is_some()),
                Err(RecvTimeoutError::Disconnected) => return Ok(true),
            };
            let step = match &line {
                Said::Output(text) => self.record.take(text)?,
                Said::Error(_) => None,
            };
            if step.is_some() {
                end = Instant::now() + patience;
            }
            match (line, step) {
                (Said::Output(text) | Said::Error(text), None) => {
                    if self.said.len() < MOST_LINES && !text.trim().is_empty() {
                        self.said.push(text);
                    }
                }
                (_, Some(Some(step))) => {
                    if !is_checked {
                        checked(&self.record)?;
                        is_checked = true;
                    }
                    self.step.clone_from(&step.what);
                    progress.show(shown(&step));
                }
                (_, Some(None)) => {}
            }
        }
    }
}

fn shown(step: &Step) -> progress::Step {
    progress::Step {
        what: "measuring".to_owned(),
        detail: format!("{} of {}: {}", step.step, step.of, step.what),
        done: f64::from(step.step.saturating_sub(1)) / f64::from(step.of.max(1)),
        ..progress::Step::default()
    }
}

/// Passes lines on until the end of the output, or until the receiver is closed.
fn pass_on(from: impl Read, to: &Sender<Said>, as_said: fn(String) -> Said) {
    for line in BufReader::new(from).split(b'\n') {
        let Ok(line) = line else { return };
        if to.send(as_said(String::from_utf8_lossy(&line).into_owned())).is_err() {
            return;
        }
    }
}
