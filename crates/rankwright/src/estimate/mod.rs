//! Estimates of the cost of a placement, by formulas. The simulator ([`crate::sim`]) is the exact
//! reference.
//!
//! ```
//! use rankwright::cluster::Levels;
//! use rankwright::estimate::{Fluid, Load, Prediction};
//! use rankwright::placement::{Granularity, JobShape, Placement, slots};
//! use rankwright::{cluster, traffic};
//!
//! let (cluster, workload) = (cluster::open("paper:2013")?, traffic::open("nas:cg.A.16")?);
//! let slots = slots(&cluster, Granularity::Cores(1), 16)?;
//! let in_order: Vec<usize> = (0..16).collect();
//! let shapes = JobShape::of(&workload);
//! let placement = Placement::from_slots(&cluster, &shapes, "in order", &slots, &in_order)?;
//! let load = Load::new(&cluster, &Levels::new(&cluster), &workload, &placement);
//! assert_eq!(load.inter_node_share(), 0.0); // 16 ranks on the 16 cores of a node
//! let prediction = Prediction::new(&cluster, &workload, &placement)?;
//! assert!(prediction.highest_utilisation() < 1.0);
//! let run = Fluid::of_placement(&cluster, &workload, &placement)?;
//! assert!(run.workload_finish.0 > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Estimators without a link serve searches and reports and may change in any version.
//!
//! | estimator | input | gives | one evaluation |
//! |---|---|---|---|
//! | [`Load`] | flows | bytes by device, memory and level; time of the busiest device; hop-bytes | 10 to 100 us |
//! | `MovingLoad` | flows | time of the busiest device and hop-bytes, after a move | 1 us |
//! | [`CollectivePrices`] | collective calls | bytes and critical path of each operation | some us each |
//! | [`Prediction`] | clocks | utilisation of servers; mean waiting and time of a message | 0.1 to 3 ms |
//! | [`Fluid`] | clocks that end | waiting by part of the machine, and finish, of the run | 10 to 300 us |
//! | [`OfferedLoad`] | clocks that end | waiting, and work of the busiest server, after a move | 0.2 to 0.4 us |
//! | [`RoundTrips`] | clocks, closed loop | a lower bound of the time of each rank's rounds | 1 to 20 us |
//!
//! Evaluations were timed for the 256 ranks of the synthetic workloads of Soryani et al. 2013, on one
//! core of an AMD EPYC; `benchmarks/model` has fluid and offered load in detail. Offered load: time per
//! swap of two ranks; all others: per whole mapping.
//!
//! | estimator | valid for | not for |
//! |---|---|---|
//! | [`Load`] | any workload, with or without message timing | waiting |
//! | `MovingLoad` | as `Load`; messages that leave the cluster are left out | waiting |
//! | [`CollectivePrices`] | comparing rank orders | other messages, computation |
//! | [`Prediction`] | open loops, steady state below saturation | overload, batch arrivals, synchronised clocks |
//! | [`Fluid`] | open loops, saturated or not | closed loops, synchronised clocks, few or very unlike messages |
//! | [`OfferedLoad`] | comparing neighbours in a search | predicting seconds; queues that delay arrivals downstream |
//! | [`RoundTrips`] | closed loops | contention with other ranks (see `OfferedLoad::latest`) |
//!
//! | estimator | used by |
//! |---|---|
//! | [`Load`] | ranking without message timing, `compare --by static`, reports |
//! | `MovingLoad` | the steps of `contention` without message timing |
//! | [`CollectivePrices`] | the effect of a rank reordering, in `place` |
//! | [`Prediction`] | `compare --by model`, the numbers of the papers |
//! | [`Fluid`] | `contention`, `auto`, candidates at `--effort fast`, `place --nodes` |
//! | [`OfferedLoad`], [`RoundTrips`] | the steps of `contention` |
//!
//! `docs/src/queueing-model.md` and `docs/src/fluid.md` derive the formulas and say how exact they are.
//! Servers, paths and rates come from [`crate::network`], for the simulator too.

mod bytes;
mod collectives;
mod fluid;
mod incremental;
mod round_trips;
mod tick;

// For searches, tests and reproductions; may change in any version.
#[doc(hidden)]
pub mod queueing;

pub(crate) use bytes::MovingLoad;
pub use bytes::{BusiestNic, Direction, LevelCut, Load, NicLoad, NumaLoad};
pub use fluid::{Fluid, FluidOutcome};
pub use queueing::message_time::{MessageTime, MessageWaiting};
pub use queueing::prediction::{JobPrediction, ModelError, Prediction, ServerPrediction};

// For searches, tests and reproductions; may change in any version.
#[doc(hidden)]
pub use collectives::{CollectiveCost, CollectivePrices, OperationCost};
#[doc(hidden)]
pub use incremental::OfferedLoad;
#[doc(hidden)]
pub use queueing::variation::{slowdown_by_variation, uncontended};
#[doc(hidden)]
pub use round_trips::{RoundTripTimes, RoundTrips};
