//! What the counters of network devices say about a job, beside what was predicted.
//!
//! A `Record` has the readings of all nodes before and after a job, the placement, and the traffic that
//! was due. `judge` compares them. `wire` is the only place that says how far counted bytes may be
//! from predicted ones.

mod counted;
mod elsewhere;
mod findings;
mod judge;
mod reading;
mod record;
#[cfg(test)]
mod tests;
mod wire;

pub use judge::{Judgement, Row, Verdict, judge};
pub use reading::{Combination, Counter, DeviceSample, NodeReading, Sample};
pub use record::{Due, EXPECTED, NodeDevices, RankDue, Readings, Record, RunEnd};
