//! Groups of options that several commands share, and the inputs named in them.

mod cluster;
mod count;
mod devices;
mod given;
pub(crate) mod inputs;
mod launch;
mod node_groups;
mod nodes;
mod rank_size;
mod result;
mod search;
mod simulation;
pub(crate) mod site;
mod table_row;

pub(crate) use cluster::{ClusterOptions, NodesOption};
pub(crate) use count::{parse_count, parse_count_to};
pub(crate) use devices::{FabricOptions, SelectionOptions, selection_help};
pub(crate) use given::{Given, given, refuse};
pub(crate) use launch::{LAUNCHER_NAME, LaunchOptions, ProgramsOption, TargetOptions, programs};
pub(crate) use node_groups::NodeGroupOptions;
pub(crate) use nodes::Nodes;
pub(crate) use rank_size::RankSize;
pub(crate) use result::{
    Format, ReportOption, ResultOptions, check_result, finished, form_by_name, refuse_stdout,
};
pub(crate) use search::{SearchOptions, parse_effort, strategy_help};
pub(crate) use simulation::SimulationOptions;
pub(crate) use table_row::TableRow;
