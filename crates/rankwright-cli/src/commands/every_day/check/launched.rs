//! `check` starts the job with rankwright-exec in place of the program: every rank reports and
//! ends.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rankwright::launch::Task;
use rankwright_shim_format::ReportLine;

use super::arguments::Check;
use super::shown;
use super::verdict::{self, Remarks, Verdict};

use crate::host::mpi::launcher;
use crate::host::{batch_job, child};
use crate::launching::prepared::Prepared;
use crate::launching::started::{Started, duration};
use crate::options::{Format, programs, site};
use crate::output::exit_code::{Infeasible, Mismatch};
use crate::output::{Verbosity, note, warn};

impl Check {
    /// Starts the launcher and compares the reports of the ranks with the placement.
    pub(super) fn launch(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        // Without a placement, the command line asks for running processes.
        let file = self.placement.as_deref().unwrap_or(Path::new("-"));
        let prepared = Prepared::read(&self.options, file)?;
        let job = prepared.one_job()?;
        if let Some(why) = prepared.unreachable_hosts(&[job]) {
            return Err(Infeasible(format!("{}: {why}", prepared.file())).into());
        }
        let wanted = site::launcher_if_any(self.launcher)?;
        let line = (!self.program.is_empty()).then(|| programs(&self.program)).transpose()?;
        let installed = launcher::find(wanted, job.into(), line.as_ref())?;
        let why = match batch_job::hosts_around().ok().flatten() {
            Some((title, granted)) => prepared.hosts_not_granted(&[job], &title, &granted),
            None if batch_job::system().is_none() => {
                prepared.unknown_hosts(installed.launcher, &[job])
            }
            None => None,
        };
        if let Some(why) = why {
            return Err(Infeasible(format!("{}: {why}", prepared.file())).into());
        }
        let task = Task::Report(line.as_ref());
        let mut started = Started::new(&prepared, &installed, task, verbosity, |command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        })?;
        let collected = collect(&mut started, job.ranks.len(), duration(self.timeout))?;
        if collected.reports.is_empty() {
            let unknown = unknown_host(&collected.noise).map_or(String::new(), |host| {
                format!("host {host} is not known here, run this where it is; ")
            });
            let (end, noise) = (&collected.end, indented(&collected.noise));
            anyhow::bail!("no rank reported: {unknown}{end}{noise}");
        }
        let reports = &collected.reports;
        let shared = verdict::shared(prepared.placement(), job, reports);
        let remarks: Vec<Remarks> = shared.into_iter().map(Remarks::of_faults).collect();
        let verdicts = verdict::verdicts(prepared.placement(), job, None, reports, &remarks);
        self.show(&verdicts, verbosity)?;
        note(verbosity, &started.ready.launch.binding);
        let limits = verdict::unverifiable(prepared.placement(), job, &collected.reports);
        limits.iter().for_each(|limit| note(verbosity, limit));
        if shown::wrong(&verdicts) == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        if collected.reports.len() < job.ranks.len() {
            let what = format!("not all ranks reported: {}", collected.end);
            warn(verbosity, what + &indented(&collected.noise));
        }
        Err(Mismatch(shown::sentence(&verdicts)).into())
    }

    /// Writes the result. Where standard output does not begin with the sentence, it is a note.
    pub(super) fn show(&self, verdicts: &[Verdict], verbosity: &Verbosity) -> anyhow::Result<()> {
        let format = self.result.format;
        self.result.write(&shown::render(verdicts, format, verbosity.verbose)?)?;
        let is_told = format == Format::Table && !self.result.has_file();
        if !is_told && shown::wrong(verdicts) == 0 {
            note(verbosity, shown::sentence(verdicts));
        }
        Ok(())
    }
}

/// The output of the ranks and the launcher.
struct Collected {
    reports: Vec<ReportLine>,
    /// All other output.
    noise: String,
    /// How the launcher ended.
    end: String,
}

/// The time that the launcher may take to end and close its pipes after the last report.
const LAST_WORDS: Duration = Duration::from_secs(2);

fn collect(started: &mut Started, ranks: usize, limit: Duration) -> anyhow::Result<Collected> {
    let deadline = Instant::now() + limit;
    let (sender, lines) = mpsc::channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        started.child.stdout.take().map(|pipe| Box::new(pipe) as _),
        started.child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    for pipe in pipes.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n') {
                let Ok(line) = line else { break };
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
            }
        });
    }
    drop(sender);
    let mut collected = Collected { reports: Vec::new(), noise: String::new(), end: String::new() };
    collected.listen(&lines, ranks, deadline);
    let last_words = deadline.min(Instant::now() + LAST_WORDS);
    collected.end = match child::wait(&mut started.child, Some(last_words))? {
        Some(status) => format!("the launcher ended with {status}"),
        None => {
            child::end(&mut started.child)?;
            format!("the launcher did not end within {} s", limit.as_secs_f64())
        }
    };
    // If more ranks than placed have reported, wait for all of them.
    collected.listen(&lines, usize::MAX, Instant::now() + LAST_WORDS);
    Ok(collected)
}

impl Collected {
    /// Takes lines until there are `enough` reports, all pipes are closed or time is up.
    fn listen(&mut self, lines: &Receiver<String>, enough: usize, deadline: Instant) {
        const LONGEST_NOISE: usize = 64 * 1024;
        while self.reports.len() < enough {
            let line = match lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            };
            match line.parse() {
                Ok(report) => self.reports.push(report),
                Err(()) if self.noise.len() + line.len() < LONGEST_NOISE => {
                    self.noise += line.trim_end();
                    self.noise.push('\n');
                }
                Err(()) => {}
            }
        }
    }
}

/// The host that ssh did not find, by what it printed.
fn unknown_host(noise: &str) -> Option<&str> {
    let (_, host) = noise.split_once("ssh: Could not resolve hostname ")?;
    host.split([':', ' ', '\n']).next().filter(|host| !host.is_empty())
}

/// The launcher's output, indented below the error.
fn indented(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("\n  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_that_ssh_did_not_find_is_named() {
        let said = "--\nssh: Could not resolve hostname node2: Name or service not known\n--\n";
        assert_eq!(unknown_host(said), Some("node2"));
        assert_eq!(unknown_host("ssh: Could not resolve hostname "), None);
        assert_eq!(unknown_host("bash: orted: command not found\n"), None);
    }
}
