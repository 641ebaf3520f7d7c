//! How long each stage of the work took: told with `--verbose`.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rankwright::units::Seconds;

use super::{Verbosity, note};

/// The stages in the order in which they began, each with its begin.
static STAGES: Mutex<Vec<(String, Instant)>> = Mutex::new(Vec::new());

/// Says what begins now: what was done before has ended. The name of the present stage continues it.
pub(crate) fn begin(name: &str) {
    let mut stages = STAGES.lock().unwrap_or_else(PoisonError::into_inner);
    if stages.last().is_none_or(|(present, _)| present != name) {
        stages.push((name.to_owned(), Instant::now()));
    }
}

/// Tells the time of each stage since `started`, where there were any: `time: input 0.02 s, contention 1.20 s`.
pub(crate) fn tell(started: Instant, verbosity: &Verbosity) {
    let stages = std::mem::take(&mut *STAGES.lock().unwrap_or_else(PoisonError::into_inner));
    if stages.is_empty() {
        return;
    }
    let stages = [vec![("input".to_owned(), started)], stages].concat();
    let times = times(&stages, Instant::now());
    let times: Vec<String> =
        times.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
    note(verbosity, format_args!("time: {}", times.join(", ")));
}

/// The time of each stage until `end`, those of one name together.
fn times(stages: &[(String, Instant)], end: Instant) -> Vec<(&str, Seconds)> {
    let mut times: Vec<(&str, Seconds)> = Vec::new();
    for (at, (name, begin)) in stages.iter().enumerate() {
        let until = stages.get(at + 1).map_or(end, |(_, next)| *next);
        let seconds = (until - *begin).as_secs_f64();
        match times.iter_mut().find(|(other, _)| other == name) {
            Some((_, all)) => all.0 += seconds,
            None => times.push((name, Seconds(seconds))),
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stage_that_comes_again_is_told_once() {
        let start = Instant::now();
        let stage = |name: &str, millis| (name.to_owned(), start + Duration::from_millis(millis));
        let stages = [stage("input", 0), stage("kway", 250), stage("input", 750)];
        let end = start + Duration::from_secs(2);
        assert_eq!(times(&stages, end), [("input", Seconds(1.5)), ("kway", Seconds(0.5))]);
    }
}
