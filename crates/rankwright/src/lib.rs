//! rankwright places MPI processes ("ranks") on the cores, memories and network devices of a
//! cluster so that they wait as little as possible for each other.
//!
//! Data flows one way; a module uses only what stands before it (`ARCHITECTURE.md` has the table,
//! `tests/it/layering/` enforces it):
//!
//! ```text
//!  cluster      traffic        what there is, what runs
//!      └───┬──────┘
//!      placement               rank -> PUs, memory, NICs, GPUs; valid by construction
//!      ┌───┴────┬────────┐
//!    model     sim     launch  predict · witness · write
//!      │        │
//!   map rails   │              search
//!      └───┬────┘
//!       choose                 judge
//!          │
//!       report                 present
//! ```
//!
//! The library prints nothing, reads no environment, starts no process, asks no clock and keeps no
//! global state. It opens a file only when it is given the path.

mod foundation;

pub use foundation::{files, ids, parallel, statistics, units};
pub(crate) use foundation::{named_options, random};

pub mod cluster;
pub mod traffic;

pub mod placement;

pub mod network;

pub mod ranking;

pub mod estimate;
pub mod sim;

pub mod rails;

pub mod map;

pub mod choose;

pub mod launch;
pub mod lint;
pub mod report;
