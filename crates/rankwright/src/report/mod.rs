//! Results as text, JSON, CSV and pictures, for people and programs.

mod answer;
mod cluster_picture;
mod comparison;
mod drawing;
mod json;
mod mapping;
pub mod page;
pub mod partial;
mod permutation;
mod populations;
pub mod simulation;
pub mod timeline;
pub mod traffic;
pub mod triage;
pub mod waiting;
pub mod workload;

pub use answer::{Answer, AnswerRow, LauncherDefault, Role, Verdict, Weakness};
pub use cluster_picture::cluster_picture;
pub use comparison::{
    Comparison, EvaluatedRow, EvaluationRow, LevelCutRow, MemoryRow, NicLoadRow, NicRow,
    StrategyParts, StrategyRow,
};
pub use json::to_json;
pub use mapping::{GpuReport, mapping_table, ranks_of_nodes};
pub use permutation::{CollectiveCostRow, CollectivesRow, OperationRow, PermutationReport};
pub use populations::{PopulationReport, PopulationRow};
