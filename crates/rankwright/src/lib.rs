//! rankwright places MPI processes (ranks) on the cores, memories and network devices of a cluster so
//! that they wait as little as possible for each other.
//!
//! The way from two files to a placement:
//!
//! ```
#![doc = include_str!("../examples/plan.rs")]
//! ```
//!
//! | to | use |
//! |---|---|
//! | read a cluster: `cluster.toml`, hwloc XML, a synthetic string, a built-in one | [`cluster::open`] |
//! | read traffic: a profile, `jobs.toml`, files of other tools, patterns, NAS benchmarks | [`traffic::open`] |
//! | find a placement | [`Planner`] |
//! | read and write `placement.json` | [`placement::PlacementFile`] |
//! | evaluate a placement by formulas | [`estimate`]: bytes, the queueing model, a fluid |
//! | simulate a placement message by message | [`sim::simulate`] |
//! | write what a launcher needs | [`launch`] |
//! | choose network devices for ranks that have their cores | [`rails::select`] |
//!
//! # Modules
//!
//! The modules listed below are the documented interface; most of their pages begin with an example.
//! Everything else that the crate exports, such as `lint`, `pairing` and `report`, serves the command line, the tests and the
//! reproductions of papers. It is hidden here and may change in any version.
//!
//! Data flows one way: a module uses only modules above it. `ARCHITECTURE.md` has the table, and a test
//! enforces it.
//!
//! ```text
//!  cluster      traffic            what there is, what runs
//!      └───┬──────┘
//!      placement                   rank -> PUs, memory, NICs, GPUs; valid by construction
//!      ┌───┴────────────┬──────┐
//!  network, ranking   launch  lint  servers and paths of messages; which score is best
//!      ┌───┴─────┐
//!  estimate     sim
//!      │         │
//!    rails       │                 network devices of each rank
//!      │         │
//!     map        │                 strategies
//!      └───┬─────┘
//!       choose                     run strategies, evaluate, rank: the `Planner`
//!          │
//!       report                     results as text and pictures
//! ```
//!
//! The library prints nothing, reads no environment, starts no process, asks no clock and keeps no
//! global state. It opens a file only when it is given the path. The same inputs and seed give the same
//! result on any machine and any number of threads.
//!
//! # Features
//!
//! Off by default, because they need libraries of the system: `hwloc` (discovers this machine by libhwloc
//! instead of from `/sys`, [`cluster::read::live`]) and `scotch` (the strategy `drb`).

mod foundation;

pub use foundation::files::{InputError, WriteError};
// For the command line; may change in any version.
pub(crate) use foundation::named_options;
#[doc(hidden)]
pub use foundation::{calendar, files, parallel, random};
pub use foundation::{ids, statistics, units};

pub mod cluster;
pub mod traffic;

pub mod placement;

pub mod network;

pub mod ranking;

pub mod estimate;
pub mod sim;
// For the command line; may change in any version.
#[doc(hidden)]
pub mod timeline;

// For the command line and Python; may change in any version.
#[doc(hidden)]
pub mod pairing;

pub mod rails;

pub mod map;

pub mod choose;
pub use choose::{Plan, Planner};

pub mod launch;
// For the command line; may change in any version.
#[doc(hidden)]
pub mod lint;
#[doc(hidden)]
pub mod measured;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod site;
