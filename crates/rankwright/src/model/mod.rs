//! What a placement costs, without running anything.
//!
//! [`Load`] counts bytes and asks nothing of when they are sent. [`Prediction`] takes the clocks of
//! the ranks and says how long messages wait: the queueing model of Soryani et al. 2013, from one
//! server ([`queue`]) over the load of all ([`ServerLoads`]) to the way of a message
//! ([`MessageTime`]). [`Fluid`] says it of a run that ends, fast enough for a search, and
//! [`OfferedLoad`] estimates it while ranks move. Where ranks wait for their messages, [`RoundTrips`] says
//! how long their rounds take at least.

mod collectives;
mod demand;
mod fluid;
mod load;
mod offered;
mod path;
mod prediction;
pub mod queue;
mod round_trips;
mod servers;
mod sites;
mod variation;

pub use collectives::{CollectiveCost, CollectivePrices, OperationCost};
pub use fluid::{Fluid, FluidOutcome};
pub use load::{BusiestNic, Direction, LevelCut, Load, NicLoad, NumaLoad};
pub use offered::OfferedLoad;
pub use path::{MessageTime, Waiting, message_time};
pub use prediction::{JobPrediction, ModelError, Prediction, ServerPrediction};
pub use round_trips::{RoundTripTimes, RoundTrips};
pub use servers::{ServerLoad, ServerLoads};
pub use variation::{slowdown_by_variation, uncontended};
