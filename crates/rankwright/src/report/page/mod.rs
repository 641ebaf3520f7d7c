//! The report: one file that says whether a placement pays, what to type, and what is not known. As a page
//! (HTML), as Markdown, as text and as JSON, all from the same [`Report`].
//!
//! `page/src/data.ts` has the same structures for the page; `docs/src/formats.md` describes them.

mod counters;
mod data;
mod facts;
mod findings;
mod given;
mod machine;
mod measured;
mod packed;
mod placements;
mod plan;
mod render;
mod strategies;
mod timeline;
mod traffic;

pub use data::{
    Addressee, Cell, Column, Command, Fact, FactGroup, Finding, JobRanks, Kind, Missing, Outcome,
    Report, Section, Severity, Table, Verdict,
};
pub use findings::{Found, Names, Unmeasured};
pub use given::Simulated;
pub use machine::{Device, Machine, MachineNode, MachineSwitch, NodeType, NumaCores, Package};
pub use measured::MeasuredWay;
pub use packed::{NumberType, Packed};
pub use placements::{DeviceLoad, MOST_RANKS, PlacementRole, PlacementView, Shown};
pub use plan::limits;
pub use render::ReportForm;
pub use strategies::{StrategyRole, StrategyRow, StrategyTable};
pub use timeline::{DeviceUse, Rows, Timeline, doubts_of_recording};
pub use traffic::Traffic;
