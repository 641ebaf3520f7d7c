//! Child programs: passing signals on, and time limits.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Once, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// The time between asking a child to end and killing it.
const GRACE: Duration = Duration::from_secs(3);

/// The exit code of a child that took too long, as of `timeout`.
pub(crate) const TIMED_OUT: u8 = 124;

/// The child that gets the signals.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// The last signal that came; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Starts a child and from then on passes SIGINT, SIGTERM and SIGHUP on to it, instead of ending by
/// them. Signals of the terminal (ctrl-c) reach the child directly and are not passed on: launchers
/// take a second ctrl-c as a request to end at once.
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    pass_signals_on();
    let child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    // A signal may have come before the child's number was known.
    send(child.id() as i32, SIGNAL.load(Ordering::SeqCst));
    Ok(child)
}

#[expect(unsafe_code, reason = "handlers may only do what is safe in them")]
fn pass_signals_on() {
    static PASSED_ON: Once = Once::new();
    PASSED_ON.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let pass_on = move |info: &libc::siginfo_t| {
                SIGNAL.store(signal, Ordering::SeqCst);
                let by_a_process = info.si_code <= 0;
                let child = CHILD.load(Ordering::SeqCst);
                if by_a_process || is_in_another_group(child) {
                    send(child, signal);
                }
            };
            // SAFETY: the action only loads and stores atomics and makes the system calls kill, getpgid
            // and getpgrp.
            let handled = unsafe { signal_hook_registry::register_sigaction(signal, pass_on) };
            handled.expect("these signals can be handled");
        }
    });
}

/// Whether signals of the terminal do not reach the child: `timeout` and `setsid` leave our group.
#[expect(unsafe_code, reason = "the standard library has no process groups of others")]
fn is_in_another_group(child: i32) -> bool {
    // SAFETY: both take and return integers only. getpgid(0), no child, is our own group; it returns -1 if there
    // is no such process.
    let (of_child, ours) = unsafe { (libc::getpgid(child), libc::getpgrp()) };
    of_child != -1 && of_child != ours
}

/// Sends a signal to a child that has not been waited for: until then its number belongs to it. Has no
/// effect if one of the numbers is 0.
#[expect(unsafe_code, reason = "the standard library sends SIGKILL only")]
fn send(child: i32, signal: i32) {
    if child > 0 && signal != 0 {
        // SAFETY: kill takes integers only. If the child has exited, it returns ESRCH, which is ignored.
        unsafe { libc::kill(child, signal) };
    }
}

/// Waits for a child until `deadline` (for ever if `None`); returns `None` if it still runs then.
pub(crate) fn wait(child: &mut Child, deadline: Option<Instant>) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            CHILD.store(0, Ordering::SeqCst);
            return Ok(Some(status));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Ends a child: asks it to end, and kills it after a while.
pub(crate) fn end(child: &mut Child) -> io::Result<()> {
    send(child.id() as i32, libc::SIGTERM);
    if wait(child, Some(Instant::now() + GRACE))?.is_none() {
        child.kill()?;
        child.wait()?;
        CHILD.store(0, Ordering::SeqCst);
    }
    Ok(())
}

/// Whether this program was asked to end, and its child with it.
pub(crate) fn was_asked_to_end() -> bool {
    SIGNAL.load(Ordering::SeqCst) != 0
}

/// The exit code that a shell would show. A launcher that was asked to end has not succeeded, even
/// if MPICH's sometimes returns 0.
pub(crate) fn code(status: ExitStatus) -> u8 {
    let signal = SIGNAL.load(Ordering::SeqCst);
    if status.success() && signal != 0 {
        return u8::try_from(128 + signal).unwrap_or(1);
    }
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The beginning of the output of a short program, whatever its exit status; `None` if it cannot be
/// started or takes longer than `patience`.
pub(crate) fn first_output(command: &mut Command, patience: Duration) -> Option<String> {
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let text = read_within(&mut child, 64 * 1024, patience);
    end(&mut child).ok()?;
    text
}

/// How a short program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The beginning of its standard output and of its standard error.
    pub(crate) output: String,
    pub(crate) error: String,
}

/// Runs a short program to its end.
///
/// # Errors
/// If it cannot be started, or takes longer than `patience`.
pub(crate) fn ended(command: &mut Command, patience: Duration) -> io::Result<Ended> {
    let deadline = Instant::now() + patience;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no end after {patience:?}"));
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    let read = pipes.map(|pipe| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut begin = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.by_ref().take(64 * 1024).read_to_end(&mut begin);
                // What goes on writing must not wait for a full pipe.
                let _ = io::copy(&mut pipe, &mut io::sink());
            }
            let _ = sender.send(String::from_utf8_lossy(&begin).into_owned());
        });
        receiver
    });
    let Some(status) = wait(&mut child, Some(deadline))? else {
        end(&mut child)?;
        return Err(late());
    };
    let rest = deadline.saturating_duration_since(Instant::now()).min(GRACE);
    // Programs that it left behind may hold the pipes.
    let [output, error] = read.map(|text| text.recv_timeout(rest).unwrap_or_default());
    Ok(Ended { status, output, error })
}

/// The whole output of a program; an error if it cannot be started, fails, prints more than `most` bytes
/// or takes longer than `patience`.
pub(crate) fn whole_output(
    command: &mut Command,
    most: u64,
    patience: Duration,
) -> anyhow::Result<String> {
    let deadline = Instant::now() + patience;
    let mut child = command.stdout(Stdio::piped()).spawn().context("it cannot be started")?;
    let text = read_within(&mut child, most + 1, patience);
    let is_whole = text.as_ref().is_some_and(|text| text.len() as u64 <= most);
    let status = if is_whole { wait(&mut child, Some(deadline))? } else { None };
    if status.is_none() {
        end(&mut child)?;
    }
    match (text, status) {
        (Some(text), Some(status)) if status.success() => Ok(text),
        (_, Some(status)) => bail!("it failed ({status})"),
        (Some(_), None) if !is_whole => bail!("it prints more than {} MiB", most >> 20),
        (_, None) => bail!("no answer within {} s", patience.as_secs()),
    }
}

/// Up to `most` bytes of what a child prints; `None` if it prints longer than `patience`.
fn read_within(child: &mut Child, most: u64, patience: Duration) -> Option<String> {
    let pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.take(most).read_to_end(&mut text);
        // The receiver is gone if it took too long.
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver.recv_timeout(patience).ok()
}
