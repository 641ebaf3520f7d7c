//! Soryani, Analoui, Zarrinchian 2012, "A novel process mapping strategy in clustered environments",
//! and 2013, "Improving inter-node communications in multi-core clusters using a contention-free
//! process mapping algorithm".
//!
//! 2013 has a queueing model (section 3), a trace (Fig. 7) and simulations (section 5); 2012 has
//! simulations only, of some of the same workloads.

mod bound;
mod figure_7;
mod limits;
mod queueing_model;
mod reasons;
mod section_5;
mod statements;
mod table_1;
mod workloads;

pub(crate) use figure_7::FIGURE_7;
pub(crate) use section_5::rows_2012;
pub(crate) use workloads::{cases_2012, cases_2013};

use crate::{Results, Row};

/// The rows of 2013, in the order of the paper, then numbers that it does not print.
pub(crate) fn rows_2013(results: &Results) -> anyhow::Result<Vec<Row>> {
    let mut rows = queueing_model::rows()?;
    rows.extend(figure_7::rows()?);
    rows.extend(section_5::rows_2013(results)?);
    Ok(rows)
}
