//! What a placement costs, without running anything.

mod load;
pub mod queue;

pub use load::{BusiestNic, Direction, LevelCut, Load, NicLoad, NumaLoad};
