//! The paper's classes of jobs that share nodes, and one more.

use std::fmt;

use super::JobSet;

/// How well jobs go together (section IV.B of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compatibility {
    /// All need the network for most of the time: sharing gains nothing.
    DualIntensive,
    /// None communicates much: there is little to gain.
    DualInfrequent,
    /// They need the network at different times: each runs almost as if alone on a part of the cores.
    Compatible,
    /// They gain on the whole, but at least one takes longer than alone. Not in the paper.
    OneSided,
}

/// Less than this to gain or to lose on average, in percent of the run time, is little.
const LITTLE: f64 = 2.5;

/// Jobs that reach less than this share of what can be gained hinder each other.
const HINDERED: f64 = 0.25;

impl Compatibility {
    /// By a table: what the jobs could gain (on half of the cores, without a neighbour) and what they
    /// do gain.
    pub(super) fn of_group(jobs: &JobSet, group: &[usize]) -> Self {
        let percents = || group.iter().map(|job| jobs.percent_in(*job, group));
        let possible: f64 = group.iter().map(|job| 100.0 - jobs.half(*job)).sum();
        let gained: f64 = percents().map(|percent| 100.0 - percent).sum();
        let little = LITTLE * group.len() as f64;
        if possible < little && gained > -little {
            Self::DualInfrequent
        } else if gained < HINDERED * possible {
            Self::DualIntensive
        } else if percents().any(|percent| percent > 100.0 + LITTLE) {
            Self::OneSided
        } else {
            Self::Compatible
        }
    }
}

impl fmt::Display for Compatibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DualIntensive => "dual communication-intensive",
            Self::DualInfrequent => "dual communication-infrequent",
            Self::Compatible => "communication compatible",
            Self::OneSided => "one gains, one loses",
        })
    }
}
