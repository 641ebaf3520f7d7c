//! Classes of jobs by message size.

use serde::Serialize;

use super::Job;
use crate::units::Bytes;

/// The three classes of Soryani et al. 2012 (section 4) and 2013 (section 4.1), in the order in which
/// their strategies map jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LengthClass {
    /// Messages of [`LARGE`] or more.
    Large,
    /// Between [`SMALL`] and [`LARGE`].
    Medium,
    /// Messages of up to [`SMALL`].
    Small,
}

/// Smallest large message: 1 MB.
pub(crate) const LARGE: Bytes = Bytes(1_000_000);

/// Largest small message: 2 kB.
pub(crate) const SMALL: Bytes = Bytes(2_000);

impl LengthClass {
    /// The class of one message.
    #[must_use]
    pub(crate) fn of_message(length: Bytes) -> Self {
        match length {
            length if length >= LARGE => Self::Large,
            length if length > SMALL => Self::Medium,
            _ => Self::Small,
        }
    }

    /// The class of a job's largest message. Messages of a rank to itself do not count.
    #[must_use]
    pub(crate) fn of_job(job: &Job) -> Self {
        let others = job.flows.iter().filter(|flow| flow.source != flow.destination);
        Self::of_message(Bytes(others.map(|flow| flow.largest).max().unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Rank;
    use crate::traffic::Flow;

    #[test]
    fn borders_belong_to_the_outer_classes() {
        use LengthClass::{Large, Medium, Small};
        let classes = [0, 2_000, 2_001, 65_536, 999_999, 1_000_000, 1 << 21]
            .map(|length| LengthClass::of_message(Bytes(length)));
        assert_eq!(classes, [Small, Small, Medium, Medium, Medium, Large, Large]);
        assert!(Large < Medium && Medium < Small);
    }

    #[test]
    fn the_largest_message_to_another_rank_decides() {
        let flow = |source, destination, largest| Flow {
            source: Rank(source),
            destination: Rank(destination),
            messages: 10,
            bytes: 10 * largest,
            largest,
        };
        let class = |flows: Vec<Flow>| LengthClass::of_job(&Job::new("j", 2, flows).unwrap());
        assert_eq!(class(vec![]), LengthClass::Small);
        assert_eq!(class(vec![flow(0, 1, 10), flow(1, 0, 3_000)]), LengthClass::Medium);
        assert_eq!(class(vec![flow(0, 1, 10), flow(1, 1, 1 << 30)]), LengthClass::Small);
    }
}
