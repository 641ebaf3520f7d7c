//! Papers on process placement, reproduced: each number or statement of a paper becomes a [`Row`]
//! with the paper's number, ours, and a verdict.
//!
//! | module | paper |
//! |---|---|
//! | `process_placement` | Mercier, Clet-Ortega 2009 |
//! | `mixed_workloads` | Koop, Luo, Panda 2009 |
//! | `contention` | Soryani, Analoui, Zarrinchian 2012 and 2013 |
//! | `device_affinity` | Ganapathi, Gopalakrishnan, McGuire 2017 |
//!
//! The printed numbers are in `papers/<year>/*.csv`, which are embedded when the crate is built;
//! `papers/<year>/README.md` says what agrees and what does not. The strategies, the queueing model
//! and the simulator of the papers are in `rankwright`, as are their clusters and workloads
//! (`paper:2013`, `paper:2013/mixed-1`).
//!
//! ```no_run
//! use std::num::NonZeroUsize;
//! use std::ops::ControlFlow;
//! use rankwright_papers::{Paper, simulate};
//!
//! # fn main() -> anyhow::Result<()> {
//! let paper: Paper = "2013".parse()?;
//! let threads = NonZeroUsize::MIN;
//! let results = simulate(&paper.cases(), threads, &|_, _| ControlFlow::Continue(()))?;
//! for row in paper.rows(&results)? {
//!     println!("{}: {}: {}", row.item, row.what, row.verdict);
//! }
//! # Ok(())
//! # }
//! ```

mod agreement;
mod built_in;
mod contention;
mod data_file;
mod device_affinity;
mod mixed_workloads;
mod paper;
mod printed;
mod process_placement;
mod row;
mod simulation;
mod strategies;

pub use paper::Paper;
pub use row::{Assumption, Reading, Row, Verdict};
pub use simulation::{Case, CaseResult, Results, simulate};
