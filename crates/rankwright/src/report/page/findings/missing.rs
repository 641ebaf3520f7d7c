//! What was not measured, and how to measure it.

use super::super::data::{Missing, Section};
use super::table::{CALIBRATE, COUNT, PREDICT, RECORD, RECORD_OVER_TIME};
use crate::choose::NoSeconds;

/// Something that a report would show if it had been measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Run times of the program: not at all, or not in seconds.
    RunTimes(Option<NoSeconds>),
    /// The share of MPI in the run time.
    TimeInMpi,
    /// The share of MPI in the run time, as ranks waited for PUs inside MPI.
    TimeInMpiAlone,
    /// The launcher's default.
    Default,
    /// Rates of the cluster.
    Rates,
    /// What network devices counted.
    Counted,
    /// Predicted run times, beside measured ones.
    Predicted,
    /// Times of messages, for a simulation.
    Waiting,
    /// The calls in order.
    TimeLine,
    /// The time line of several jobs together.
    TimeLineOfSeveral,
    /// The time line of a run with very many calls.
    LongTimeLine,
    /// The calls of a run of which only counters were recorded.
    Calls,
    /// The efficiency by windows of time.
    Windows,
    /// The same of a replay, which is not of the recorded run.
    WindowsOfReplay,
}

impl Unmeasured {
    /// The section that lacks it, what it would tell, and the command that measures it.
    #[must_use]
    pub fn missing(self) -> Missing {
        let (section, text, snippet) = match self {
            Self::RunTimes(why) => (Section::Verdict, &*no_run_times(why), RECORD),
            Self::TimeInMpi => (
                Section::Verdict,
                "The most that any placement can gain: it is bounded by the time in MPI, which was not recorded.",
                RECORD,
            ),
            Self::TimeInMpiAlone => (
                Section::Verdict,
                "The most that any placement can gain: it is bounded by the time in MPI, which here includes waiting \
                 for a PU.",
                RECORD,
            ),
            Self::Default => (
                Section::Strategies,
                "The gain against the launcher's default: it has no placement here.",
                None,
            ),
            Self::Rates => (
                Section::Machine,
                "The bandwidths and latencies of this cluster: they are assumed.",
                CALIBRATE,
            ),
            Self::Counted => (
                Section::Devices,
                "What the network devices really carry: no counters of a run were read.",
                COUNT,
            ),
            Self::Predicted => (
                Section::Verdict,
                "Whether the runs are as predicted: the file has no column `predicted_s`.",
                PREDICT,
            ),
            Self::Waiting => (
                Section::Strategies,
                "How long messages wait, and when the run ends: nothing was simulated.",
                RECORD,
            ),
            Self::TimeLine
            | Self::TimeLineOfSeveral
            | Self::LongTimeLine
            | Self::Calls
            | Self::Windows
            | Self::WindowsOfReplay => return self.of_time_line(),
        };
        Missing { section, text: text.to_owned(), snippet: snippet.map(str::to_owned) }
    }

    /// What a time line lacks.
    fn of_time_line(self) -> Missing {
        let (text, snippet) = match self {
            Self::TimeLine => (
                "When the network is used, by whom and by how many at once: the order of the calls was \
                 not recorded.",
                RECORD_OVER_TIME,
            ),
            Self::TimeLineOfSeveral => (
                "When the network is used: a time line is of one recorded run.",
                Some("rankwright timeline show PROFILE --on {cluster} --report timeline.html"),
            ),
            Self::LongTimeLine => (
                "When the network is used: the run has too many calls for this report.",
                Some("rankwright timeline show {workload} --on {cluster} --report timeline.html"),
            ),
            Self::Calls => (
                "Who uses the network, and load balance, serialisation and transfer by window: only counters of \
                 devices were recorded.",
                RECORD_OVER_TIME,
            ),
            Self::Windows => (
                "Load balance, serialisation and transfer by window: the profile does not say when ranks computed.",
                RECORD_OVER_TIME,
            ),
            _ => (
                "Load balance, serialisation and transfer by window: they are of the run as it was recorded, not of \
                 a replay under another placement.",
                Some("rankwright timeline show {workload} --report timeline.html"),
            ),
        };
        Missing {
            section: Section::Timeline,
            text: text.to_owned(),
            snippet: snippet.map(str::to_owned),
        }
    }
}

fn no_run_times(why: Option<NoSeconds>) -> String {
    match why {
        None => {
            "The run time under each placement: the times of a run were not recorded.".to_owned()
        }
        Some(why) => format!("The run time under each placement, in seconds: {}.", why.reason()),
    }
}
