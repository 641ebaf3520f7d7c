//! What a placement costs, without running anything.

mod demand;
mod fluid;
mod load;
mod offered;
mod sites;

pub use fluid::{Fluid, FluidOutcome};
pub use load::{BusiestNic, Direction, LevelCut, Load, NicLoad, NumaLoad};
pub use offered::OfferedLoad;
