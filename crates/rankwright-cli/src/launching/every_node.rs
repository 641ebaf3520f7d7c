//! One process of this program on each of several hosts. Each leaves a file in a folder that all share,
//! because launchers mix the output of processes.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rankwright::cluster::hostlist;
use rankwright::cluster::read::hostfile::Host;
use rankwright::files::write_atomically;
use rankwright::launch::{DefaultRequest, Launch, ProgramLine, TaskStarter};
use rankwright::units::Seconds;
use rankwright_shim_format::same_host;
use tempfile::TempDir;

use super::started::{Ready, duration, refuse_root, shared_folder};
use crate::host::mpi::launcher::MpiLauncher;
use crate::host::{child, this_host};
use crate::output::Verbosity;

/// What starts a process on each host.
pub(crate) enum Starter {
    /// A launcher of MPI programs.
    Launcher(MpiLauncher),
    /// A program of the batch system, and its path.
    Tasks(&'static TaskStarter, PathBuf),
}

/// One process on each of these hosts.
pub(crate) struct EveryNode<'a> {
    pub(crate) hosts: &'a [String],
    pub(crate) starter: &'a Starter,
    /// How the names of the files end that the hosts leave.
    pub(crate) kind: &'a str,
    /// Further arguments of the launcher.
    pub(crate) arguments: &'a [String],
    /// Program that the launcher calls instead of ssh.
    pub(crate) agent: Option<&'a str>,
    /// Time within which all must have ended, and the option that gives it, if one does.
    pub(crate) timeout: (Seconds, &'static str),
}

/// How long files of other hosts may take to be seen here after the launcher has ended.
const SHARED_FOLDER_DELAY: Duration = Duration::from_secs(2);

/// How the files of hosts without a result end, behind the host name: they have the reason.
const FAILED: &str = "failed";

/// The most that is kept of the launcher's output, in bytes, and how many lines are shown.
const MOST_SAID: u64 = 64 * 1024;
const MOST_LINES: usize = 10;

/// Leaves this host's result, in a file whose name ends in `kind`, or why there is none, in the folder.
pub(crate) fn leave(
    folder: &Path,
    kind: &str,
    result: anyhow::Result<String>,
) -> anyhow::Result<()> {
    let host = this_host::name()?;
    // A host that fails still ends well: some launchers end all processes with the first that fails.
    let (text, kind) = match result {
        Ok(text) => (text, kind),
        Err(error) => (format!("{error:#}"), FAILED),
    };
    Ok(write_atomically(&folder.join(format!("{host}.{kind}")), text.as_bytes())?)
}

/// What a host has left: the file of its result, or why it has none.
pub(crate) type Left = Result<PathBuf, String>;

/// What all hosts have left, and how the launcher ended.
pub(crate) struct Answers {
    /// By host; `None` for one that left nothing.
    pub(crate) left: Vec<Option<Left>>,
    ended: Ended,
    _folder: TempDir,
}

impl Answers {
    /// Hosts without output or that `failed` (by host and reason), the launcher's exit status, and its standard error.
    pub(crate) fn why_missing(&self, hosts: &[String], mut failed: Vec<String>) -> String {
        let silent: Vec<&str> = (hosts.iter().zip(&self.left))
            .filter(|(_, left)| left.is_none())
            .map(|(host, _)| host.as_str())
            .collect();
        if !silent.is_empty() {
            failed.push(format!("{}: no answer", hostlist::compress(&silent)));
        }
        format!("{}; {}{}", failed.join("; "), self.how(), self.said())
    }

    /// How the launcher ended.
    pub(crate) fn how(&self) -> &str {
        &self.ended.how
    }

    /// The beginning of the launcher's output, as indented lines.
    fn said(&self) -> String {
        let lines = self.ended.said.lines().filter(|line| !line.trim().is_empty());
        lines.take(MOST_LINES).map(|line| format!("\n  {line}")).collect()
    }
}

/// A launcher that has ended.
struct Ended {
    /// How, in words.
    how: String,
    /// Whether it ended before the timeout.
    in_time: bool,
    /// The beginning of its output.
    said: String,
}

impl EveryNode<'_> {
    /// Starts this program on each host, with the arguments that `words` makes of the shared folder, and
    /// waits for what all leave there.
    ///
    /// # Errors
    /// If the launcher cannot be started, or no temporary folder can be made.
    pub(crate) fn ask(&self, words: &[&str], verbosity: &Verbosity) -> anyhow::Result<Answers> {
        let folder = shared_folder()?;
        let launch = self.launch(words, folder.path())?;
        let ended = self.start(launch, folder.path(), verbosity)?;
        let left = self.left(&ended, folder.path())?;
        Ok(Answers { left, ended, _folder: folder })
    }

    /// The command line that starts this program once on each host; the folder is its last word.
    fn launch(&self, words: &[&str], folder: &Path) -> anyhow::Result<Launch> {
        let itself = std::env::current_exe().context("the path of this program")?;
        let path =
            |path: &Path| path.to_str().map(str::to_owned).context("a path that is not UTF-8");
        let (itself, folder) = (path(&itself)?, path(folder)?);
        let mut line = vec![itself];
        line.extend(words.iter().map(|word| (*word).to_owned()));
        line.push(folder);
        let installed = match self.starter {
            Starter::Launcher(installed) => installed,
            Starter::Tasks(tasks, program) => {
                let hosts: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
                let program = program.display().to_string();
                return Ok(tasks.start(&program, self.arguments, &hosts, &line));
            }
        };
        refuse_root(self.arguments, installed)?;
        let MpiLauncher { program, launcher } = installed;
        let host = |name: &String| Host { name: name.clone(), slots: Some(1) };
        let hosts: Vec<Host> = self.hosts.iter().map(host).collect();
        Ok(launcher.write_one_per_host(&DefaultRequest {
            program: &program.display().to_string(),
            agent: self.agent,
            arguments: self.arguments,
            ranks: None,
            hosts: &hosts,
            emulated: false,
            mpi_library: "",
            programs: &ProgramLine::parse(&line)?,
        })?)
    }

    /// Starts the launcher and waits for it, at most for the time that is left to it.
    fn start(&self, launch: Launch, folder: &Path, verbosity: &Verbosity) -> anyhow::Result<Ended> {
        let ready = Ready::bare(launch);
        ready.explain(verbosity);
        let said = folder.join("launcher");
        let file = File::create(&said).with_context(|| said.display().to_string())?;
        let errors = file.try_clone().context("a file for the launcher's output")?;
        let deadline = Instant::now() + duration(self.timeout.0);
        let mut child = ready.spawn(|command| {
            command.stdin(Stdio::null()).stdout(file).stderr(errors);
        })?;
        let program = &ready.launch.command[0];
        let (how, in_time) = match child::wait(&mut child, Some(deadline))? {
            Some(status) => (format!("{program} ended with {status}"), true),
            None => {
                child::end(&mut child)?;
                let (limit, option) = self.timeout;
                (format!("{program} was ended after {limit}{option}"), false)
            }
        };
        let mut text = Vec::new();
        let said = File::open(&said).with_context(|| said.display().to_string())?;
        said.take(MOST_SAID).read_to_end(&mut text).context("the launcher's output")?;
        Ok(Ended { how, in_time, said: String::from_utf8_lossy(&text).into_owned() })
    }

    /// What the hosts have left. The files of the last ones may take a moment to be seen.
    fn left(&self, ended: &Ended, folder: &Path) -> anyhow::Result<Vec<Option<Left>>> {
        let deadline = Instant::now() + SHARED_FOLDER_DELAY;
        loop {
            let left = read(folder, self.kind, self.hosts)?;
            let is_whole = left.iter().all(Option::is_some);
            if is_whole || !ended.in_time || Instant::now() >= deadline {
                return Ok(left);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// What hosts have left in a folder.
fn read(folder: &Path, kind: &str, hosts: &[String]) -> anyhow::Result<Vec<Option<Left>>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let of_host = |host: &String| {
        let file = |end: &str| {
            names.iter().find(|name| {
                let stem = name.strip_suffix(end).and_then(|stem| stem.strip_suffix('.'));
                stem.is_some_and(|stem| same_host(stem, host))
            })
        };
        if let Some(name) = file(kind) {
            return Some(Ok(folder.join(name)));
        }
        let why = fs::read_to_string(folder.join(file(FAILED)?));
        Some(Err(why.unwrap_or_else(|error| error.to_string())))
    };
    Ok(hosts.iter().map(of_host).collect())
}
