//! Child programs: passing signals on, and time limits.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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
#[expect(unsafe_code, reason = "the standard library sends no signals")]
pub(crate) fn start(command: &mut Command) -> io::Result<Child> {
    catch_signals();
    let child = command.spawn()?;
    CHILD.store(child.id() as i32, Ordering::SeqCst);
    // A signal may have come before the child's number was known.
    let signal = SIGNAL.load(Ordering::SeqCst);
    if signal != 0 {
        // SAFETY: the child has not been waited for, so its number is still its own.
        unsafe { libc::kill(child.id() as i32, signal) };
    }
    Ok(child)
}

#[expect(unsafe_code, reason = "the standard library has no call for this")]
fn catch_signals() {
    extern "C" fn pass_on(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        SIGNAL.store(signal, Ordering::SeqCst);
        let child = CHILD.load(Ordering::SeqCst);
        // SAFETY: the kernel hands a valid siginfo_t; kill may be called in a handler.
        unsafe {
            let by_a_process = (*info).si_code <= 0;
            if child > 0 && by_a_process {
                libc::kill(child, signal);
            }
        }
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: `action` is a valid sigaction and the handler only uses atomics and kills.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = pass_on as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
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
#[expect(unsafe_code, reason = "the standard library sends no signal but SIGKILL")]
pub(crate) fn end(child: &mut Child) -> io::Result<()> {
    // SAFETY: the child has not been waited for, so its number is still its own.
    unsafe {
        libc::kill(child.id() as i32, libc::SIGTERM);
    }
    if wait(child, Some(Instant::now() + GRACE))?.is_none() {
        child.kill()?;
        child.wait()?;
        CHILD.store(0, Ordering::SeqCst);
    }
    Ok(())
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

/// The beginning of the output of a short program; `None` if it cannot be started or takes longer
/// than `patience`.
pub(crate) fn first_output(command: &mut Command, patience: Duration) -> Option<String> {
    const ENOUGH: u64 = 64 * 1024;
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let pipe = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.take(ENOUGH).read_to_end(&mut text);
        // The receiver is gone if it took too long.
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    let text = receiver.recv_timeout(patience).ok();
    end(&mut child).ok()?;
    text
}
