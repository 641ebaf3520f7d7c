//! What a placement costs, without running anything.
//!
//! [`Load`] counts bytes and asks nothing of when they are sent. [`Prediction`] takes the clocks of
//! the ranks and says how long messages wait: the queueing model of Soryani et al. 2013, from one
//! server ([`queueing::queue`]) over the load of all ([`ServerLoads`]) to the way of a message
//! ([`MessageTime`]). [`Fluid`] says it of a run that ends, fast enough for a search, and
//! [`OfferedLoad`] estimates it while ranks move. Where ranks wait for their messages, [`RoundTrips`] says
//! how long their rounds take at least.

mod bytes;
mod collectives;
mod fluid;
mod incremental;
pub mod queueing;
mod round_trips;

pub use bytes::{BusiestNic, Direction, LevelCut, Load, NicLoad, NumaLoad};
pub use collectives::{CollectiveCost, CollectivePrices, OperationCost};
pub use fluid::{Fluid, FluidOutcome};
pub use incremental::OfferedLoad;
pub use queueing::message_time::{MessageTime, Waiting, message_time};
pub use queueing::prediction::{JobPrediction, ModelError, Prediction, ServerPrediction};
pub use queueing::server_loads::{ServerLoad, ServerLoads};
pub use queueing::variation::{slowdown_by_variation, uncontended};
pub use round_trips::{RoundTripTimes, RoundTrips};
