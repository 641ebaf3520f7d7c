//! Results as text, JSON and CSV, for people and programs.

mod comparison;
mod mapping;
pub mod traffic;
pub mod triage;

pub use comparison::{Comparison, LevelCutRow, MemoryRow, NicLoadRow, NicRow, StrategyRow};
pub use mapping::{mapping_header, mapping_rows};
