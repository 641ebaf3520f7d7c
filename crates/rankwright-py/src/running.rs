//! Runs the library's work beside the interpreter: in a thread of its own, without the interpreter's lock.
//!
//! The calling thread waits and asks the interpreter for signals, which only its main thread gets: so
//! Ctrl-C ends the work. A progress function of the user is called from a working thread, which takes the
//! lock for that call only.

use std::any::Any;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::failure::Failure;

/// How often signals are looked for.
const SIGNALS: Duration = Duration::from_millis(50);

/// The least time between two calls of a progress function about the same stage.
const PROGRESS: Duration = Duration::from_millis(100);

/// As the main thread's: searches may recurse.
const STACK: usize = 8 << 20;

/// What the work tells, and whether it shall end.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: AtomicBool,
    progress: Option<Py<PyAny>>,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    stage: String,
    at: Option<Instant>,
    /// The exception of the progress function.
    raised: Option<PyErr>,
}

impl Watch {
    /// Tells the progress function what is being done and which share of it is done, from 0 to 1; breaks if
    /// the work shall end.
    pub(crate) fn tell(&self, stage: impl FnOnce() -> String, done: f64) -> ControlFlow<()> {
        if let Some(progress) = &self.progress {
            self.call(progress, &stage(), done);
        }
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the work shall end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells the progress function that all is done, if nothing ended the work before.
    fn tell_end(&self) {
        if let Some(progress) = self.progress.as_ref().filter(|_| !self.is_stopped()) {
            self.call(progress, "done", 1.0);
        }
    }

    fn call(&self, progress: &Py<PyAny>, stage: &str, done: f64) {
        // Another thread is telling already: its news will do.
        let Ok(mut told) = self.told.try_lock() else { return };
        let is_news = told.stage != stage || told.at.is_none_or(|at| at.elapsed() >= PROGRESS);
        if !is_news || told.raised.is_some() {
            return;
        }
        stage.clone_into(&mut told.stage);
        told.at = Some(Instant::now());
        let answer = Python::attach(|py| {
            // NumPy's bool is one too. Other values that count as false, such as 0, are no answer.
            let answer = progress.bind(py).call1((stage, done))?;
            PyResult::Ok(answer.extract().unwrap_or(true))
        });
        match answer {
            Ok(true) => {}
            Ok(false) => self.stop.store(true, Ordering::Relaxed),
            Err(error) => {
                told.raised = Some(error);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Runs `work`. With `keep_best` an interrupt only ends the work, whose result so far is returned.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    (progress, keep_best): (Option<Py<PyAny>>, bool),
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let watch = Watch { stop: AtomicBool::new(false), progress, told: Mutex::default() };
    let (sender, receiver) = channel();
    let mut interrupt = None;
    let result = thread::scope(|scope| {
        let watched = || {
            let result =
                catch_unwind(AssertUnwindSafe(|| work(&watch).inspect(|_| watch.tell_end())));
            // The receiver waits until it has this.
            let _ = sender.send(result.unwrap_or_else(|panic| Err(internal(&*panic))));
        };
        let thread = thread::Builder::new().name("rankwright".to_owned()).stack_size(STACK);
        if let Err(error) = thread.spawn_scoped(scope, watched) {
            return Err(Failure::Other(format!("no thread can be started: {error}")));
        }
        let receiver = Mutex::new(receiver);
        loop {
            let received = py.detach(|| {
                receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNALS)
            });
            match received {
                Ok(result) => return result,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::Other(
                        "the working thread ended without a result".to_owned(),
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = py.check_signals() {
                watch.stop.store(true, Ordering::Relaxed);
                interrupt = Some(error);
            }
        }
    });
    let told = watch.told.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = told.raised {
        return Err(error);
    }
    let may_keep = |error: &PyErr| keep_best && error.is_instance_of::<PyKeyboardInterrupt>(py);
    match (result, interrupt) {
        (Ok(result), Some(error)) if may_keep(&error) => Ok(result),
        (_, Some(error)) => Err(error),
        (result, None) => result.map_err(PyErr::from),
    }
}

/// Runs work that tells nothing and so cannot be ended: after an interrupt it goes on to its end, then the
/// interrupt is raised.
pub(crate) fn run_quietly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    run(py, (None, false), |_| work())
}

/// The failure for a panic, which is a defect of rankwright.
fn internal(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Failure::Other(format!("internal error, please report it with the inputs: {text}"))
}

/// How many threads work, where the user does not say.
pub(crate) fn usable_pus() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
