//! The effect of the variation of gaps on the time of a message: f of Eq. (13), Soryani 2013.

use crate::cluster::Cluster;
use crate::ids::Rank;
use crate::placement::{Granularity, JobShape, Placement, slots};
use crate::traffic::{Job, Send, Source, Workload};
use crate::units::{Bytes, PerSecond};

use super::message_time::MessageTime;
use super::prediction::Prediction;

/// The growth, in percent, of the time of a message between nodes with the coefficient of variation x
/// of its gaps: the factor a of f(x) = a x². In the model it is exactly this, since Eq. (6) is
/// linear in the square of Ca; the paper fits 0.85 x² + 0.01 x for 1 MB and 0.12 x² for 64 kB, both
/// 10 times a second.
///
/// `None` as for [`uncontended`].
#[must_use]
pub fn slowdown_by_variation(cluster: &Cluster, length: Bytes, rate: PerSecond) -> Option<f64> {
    let total = |cv| Some(uncontended(cluster, length, rate, cv)?.total().0);
    let (regular, poisson) = (total(0.0)?, total(1.0)?);
    Some(100.0 * (poisson / regular - 1.0))
}

/// The mean time of messages from a rank on the first node with free cores to a rank on the second,
/// without other messages.
///
/// `None` if there are not two such nodes, if these messages alone saturate a server, or if a
/// [`Source`] cannot have such a rate or `cv`.
#[must_use]
pub fn uncontended(
    cluster: &Cluster,
    length: Bytes,
    rate: PerSecond,
    cv: f64,
) -> Option<MessageTime> {
    let sends = vec![Send { destination: Rank(1), length }];
    let source = Source { rank: Rank(0), rate, cv, in_step: None, rounds: 1, sends };
    let workload = Workload::single(Job::from_sources("pair", 2, vec![source]).ok()?);
    let slots = slots(cluster, Granularity::Cores(1), 2).ok()?;
    let first = slots[0].place().node;
    let other = slots.iter().position(|slot| slot.place().node != first)?;
    let shapes = JobShape::of(&workload);
    let placement = Placement::from_slots(cluster, &shapes, "pair", &slots, &[0, other]).ok()?;
    Prediction::new(cluster, &workload, &placement).ok()?.time
}
