//! Starting services.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::enter::enter;
use crate::state::{Folder, Service};

/// The time limit for a service to be ready.
const LONGEST_START: Duration = Duration::from_secs(60);

/// A service, started by this process.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    child: Child,
}

impl Running {
    /// Starts a service by a command that enters its node; what it says goes to `log`.
    pub(crate) fn start(name: &str, mut command: Command, log: &Path) -> anyhow::Result<Self> {
        let file = File::create(log).with_context(|| log.display().to_string())?;
        let errors = file.try_clone().with_context(|| log.display().to_string())?;
        command.current_dir("/").stdin(Stdio::null()).stdout(file).stderr(errors);
        let child = command.spawn().with_context(|| format!("starting {name}"))?;
        Ok(Self { name: name.to_owned(), child })
    }

    /// Its entry in the record of the lab. Its process stays the same while programs replace each
    /// other in it.
    pub(crate) fn record(&self) -> Service {
        Service { name: self.name.clone(), pid: self.child.id() }
    }

    /// Ends it, if it had not yet entered the lab when that was removed, and waits for its end, so that
    /// no zombie remains.
    pub(crate) fn reap(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until `is_ready`; fails if a service ends, or none of this comes in time. `log` is a file or
/// a folder of files whose last lines tell why.
pub(crate) fn wait_until(
    services: &mut [Running],
    log: &Path,
    check: &dyn Fn() -> anyhow::Result<()>,
    is_ready: impl Fn() -> bool,
) -> anyhow::Result<()> {
    let start = Instant::now();
    while !is_ready() {
        check()?;
        for service in &mut *services {
            if let Ok(Some(status)) = service.child.try_wait() {
                bail!("{} ended ({status}): {}", service.name, last_lines(log));
            }
        }
        if start.elapsed() > LONGEST_START {
            let limit = LONGEST_START.as_secs();
            bail!("not ready within {limit} s: {}", last_lines(log));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The last line of each file in a folder, or of a file.
fn last_lines(log: &Path) -> String {
    let files: Vec<_> = match fs::read_dir(log) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => vec![log.to_owned()],
    };
    let mut lines: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = String::from_utf8_lossy(&fs::read(file).ok()?).into_owned();
            let line = text.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
            Some(format!("{}: {line}", file.file_name()?.to_string_lossy()))
        })
        .collect();
    lines.sort();
    if lines.is_empty() { "it said nothing".to_owned() } else { lines.join("; ") }
}

/// A command in all namespaces of a process of the lab, in a session of its own: hangups and
/// interrupts of the terminal do not reach it.
pub(crate) fn command_in(holder: u32) -> anyhow::Result<Command> {
    let mut command = enter(holder, &["--net", "--uts", "--ipc", "--mount"])?;
    command.arg("setsid");
    Ok(command)
}

/// A folder for the files of a service; only the lab's user may look into it.
pub(crate) fn make_folder(folder: &Folder, name: &str) -> anyhow::Result<PathBuf> {
    let path = folder.file(name);
    let made = DirBuilder::new().mode(0o700).create(&path);
    made.with_context(|| path.display().to_string())?;
    Ok(path)
}
