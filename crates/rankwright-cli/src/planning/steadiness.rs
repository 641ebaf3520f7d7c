//! Whether the traffic of recorded runs is steady, as placing by totals assumes.

use rankwright::timeline::steadiness_of;
use rankwright::traffic::Workload;

use crate::output::progress::ProgressLine;
use crate::output::{self, Verbosity};

/// Runs with more calls are not looked at, so that placing is not kept waiting.
const MOST_CALLS: u64 = 5_000_000;

/// Warns of each recorded run whose traffic is not steady; returns what was told.
pub(crate) fn warn(workload: &Workload, verbosity: &Verbosity) -> Vec<String> {
    let mut told = Vec::new();
    for job in &workload.jobs {
        let Some(profile) = &job.seen.events else { continue };
        let line = ProgressLine::new(verbosity, "looking whether the traffic is steady");
        // What is wrong with the events is told where they are needed.
        let steadiness = steadiness_of(profile, MOST_CALLS);
        drop(line);
        let Ok(Some(steadiness)) = steadiness else { continue };
        if steadiness.is_steady() {
            continue;
        }
        let what = match steadiness.has_level() {
            true => "later it goes elsewhere",
            false => "its amount changes during the run",
        };
        let text = format!(
            "the traffic of {} is not steady: {what}, so one placement by totals may fit no part of it; \
             see `rankwright timeline show {}`",
            job.name,
            profile.display()
        );
        output::warn(verbosity, &text);
        told.push(text);
    }
    told
}
