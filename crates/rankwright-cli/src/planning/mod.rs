//! What commands share that place, compare or simulate: a plan, the devices of its ranks,
//! the table of a comparison, the progress of simulations. And what is told of traffic.

pub(crate) mod accuracy;
pub(crate) mod cluster_warnings;
pub(crate) mod comparison;
pub(crate) mod devices;
pub(crate) mod launcher_default;
pub(crate) mod placing;
pub(crate) mod plan;
pub(crate) mod reports;
pub(crate) mod simulations;
pub(crate) mod time_line;
pub(crate) mod traffic_report;
