//! The progress line: what is being done and how long it will still take, on standard error if that is
//! a terminal.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Verbosity;

/// The line appears after this time.
const SILENT: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const DRAWN: Duration = Duration::from_millis(200);
/// The share of a step, and its time, from which the rest of it can be estimated.
const ENOUGH: (f64, Duration) = (0.05, Duration::from_secs(1));

/// A line on standard error about work that takes more than a second; cleared when it is dropped.
/// Prints nothing with `--quiet`, or if standard error is not a terminal.
pub(crate) struct ProgressLine {
    shared: Option<Arc<Shared>>,
    drawing: Option<JoinHandle<()>>,
}

struct Shared {
    work: Mutex<Work>,
    ended: Condvar,
}

struct Work {
    ended: bool,
    step: Step,
    /// When the present step began.
    begin: Instant,
    /// By when all work ends.
    limit: Option<Instant>,
}

/// What is being done.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Step {
    /// What, like `strategy 3 of 10: kway`. With another text another step begins.
    pub(crate) what: String,
    /// More about it, which does not begin another step.
    pub(crate) detail: String,
    /// The share that is done, from 0 to 1; 0 where it is unknown.
    pub(crate) done: f64,
    /// Whether the rest may be left out.
    pub(crate) may_end_early: bool,
    /// What follows, like `simulations`.
    pub(crate) then: &'static str,
}

impl ProgressLine {
    /// A line that says what is being done.
    pub(crate) fn new(verbosity: &Verbosity, what: impl Into<String>) -> Self {
        Self::until(verbosity, what, None)
    }

    /// As [`ProgressLine::new`], for work that ends by a time at the latest.
    pub(crate) fn until(
        verbosity: &Verbosity,
        what: impl Into<String>,
        limit: Option<Instant>,
    ) -> Self {
        if verbosity.quiet || !io::stderr().is_terminal() {
            return Self { shared: None, drawing: None };
        }
        let step = Step { what: what.into(), ..Step::default() };
        let work = Work { ended: false, step, begin: Instant::now(), limit };
        let shared = Arc::new(Shared { work: Mutex::new(work), ended: Condvar::new() });
        let drawn = Arc::clone(&shared);
        // Without a thread there is no line.
        let drawing = thread::Builder::new().spawn(move || drawn.draw()).ok();
        Self { shared: Some(shared), drawing }
    }

    /// Whether nobody sees the line.
    pub(crate) fn is_hidden(&self) -> bool {
        self.shared.is_none()
    }

    /// Says what is being done now.
    pub(crate) fn show(&self, step: Step) {
        let Some(shared) = &self.shared else { return };
        let mut work = shared.work();
        if work.step.what != step.what {
            work.begin = Instant::now();
        }
        work.step = step;
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        shared.work().ended = true;
        shared.ended.notify_all();
        if let Some(drawing) = self.drawing.take() {
            // A panic there has been printed.
            let _ = drawing.join();
        }
    }
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the line until the work has ended, and clears it.
    fn draw(&self) {
        if self.ended_within(SILENT) {
            return;
        }
        let style = ProgressStyle::with_template("{wide_msg}").expect("the template is valid");
        let bar = ProgressBar::new_spinner().with_style(style);
        loop {
            bar.set_message(self.work().line(Instant::now()));
            bar.tick();
            if self.ended_within(DRAWN) {
                break;
            }
        }
        bar.finish_and_clear();
    }

    fn ended_within(&self, time: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(self.work(), time, |work| !work.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

impl Work {
    /// The text of the line. Time left is said only where it can be estimated.
    fn line(&self, now: Instant) -> String {
        let Step { what, detail, done, may_end_early, then } = &self.step;
        let mut parts = vec![what.clone()];
        parts.extend((!detail.is_empty()).then(|| detail.clone()));
        if *done > 0.0 {
            parts.push(format!("{:.0} %", 100.0 * done.min(1.0)));
        }
        let limit = self.limit.map(|limit| limit.saturating_duration_since(now));
        let elapsed = now.saturating_duration_since(self.begin);
        let known = *done >= ENOUGH.0 && elapsed >= ENOUGH.1;
        let left = known.then(|| elapsed.mul_f64((1.0 - done).max(0.0) / done));
        match (limit, left) {
            (Some(limit), _) => parts.push(format!("at most {} left in all", duration(limit))),
            (None, Some(left)) => {
                let at_most = if *may_end_early { "at most " } else { "" };
                parts.push(format!("{at_most}{} left", duration(left)));
            }
            (None, None) => (),
        }
        if !then.is_empty() && limit.is_none() {
            parts.push(format!("then {then}"));
        }
        parts.join(", ")
    }
}

/// A time in whole seconds, minutes or hours, rounded up.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: Step, seconds: f64, limit: Option<f64>) -> String {
        let begin = Instant::now();
        let limit = limit.map(|limit| begin + Duration::from_secs_f64(limit));
        let work = Work { ended: false, step, begin, limit };
        work.line(begin + Duration::from_secs_f64(seconds))
    }

    fn step(done: f64) -> Step {
        let what = "strategy 10 of 10: contention".to_owned();
        Step { what, done, then: "simulations", ..Step::default() }
    }

    #[test]
    fn time_left_is_said_once_it_can_be_estimated() {
        let name = "strategy 10 of 10: contention";
        assert_eq!(line(step(0.0), 9.0, None), format!("{name}, then simulations"));
        assert_eq!(line(step(0.04), 9.0, None), format!("{name}, 4 %, then simulations"));
        assert_eq!(line(step(0.5), 0.9, None), format!("{name}, 50 %, then simulations"));
        assert_eq!(line(step(0.5), 9.0, None), format!("{name}, 50 %, 9 s left, then simulations"));
        let rest = Step { may_end_early: true, then: "", ..step(0.25) };
        assert_eq!(line(rest, 30.0, None), format!("{name}, 25 %, at most 1 min 30 s left"));
    }

    #[test]
    fn under_a_limit_the_line_says_when_all_ends() {
        let text = line(step(0.5), 2.0, Some(5.0));
        assert_eq!(text, "strategy 10 of 10: contention, 50 %, at most 3 s left in all");
        assert!(line(step(0.5), 9.0, Some(5.0)).ends_with("at most 0 s left in all"));
    }

    #[test]
    fn details_stand_behind_what_is_done() {
        let detail = "at 2.5 s".to_owned();
        let step = Step { what: "simulating".to_owned(), detail, done: 0.2, ..Step::default() };
        assert_eq!(line(step, 4000.0, None), "simulating, at 2.5 s, 20 %, 4 h 26 min left");
    }
}
