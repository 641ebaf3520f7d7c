//! Whether the traffic of recorded runs is steady, as placing by totals assumes.

use rankwright::report::Weakness;
use rankwright::timeline::steadiness_of;
use rankwright::traffic::Workload;

use crate::output::Verbosity;
use crate::output::progress::ProgressLine;

/// Runs with more calls are not looked at, so that placing is not kept waiting.
const MOST_CALLS: u64 = 5_000_000;

/// Each recorded run whose traffic is not steady.
pub(crate) fn weaknesses(workload: &Workload, verbosity: &Verbosity) -> Vec<Weakness> {
    let mut found = Vec::new();
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
            "the traffic of {} is not steady: {what}, so one placement by totals may fit no part of it",
            job.name
        );
        let remedy = format!("see `rankwright timeline show {}`", profile.display());
        found.push(Weakness { code: "traffic-not-steady", text, remedy });
    }
    found
}
