//! Readers and writers of traffic files.
//!
//! | file | written by | read by |
//! |---|---|---|
//! | `trace.rwt`, all ranks | the tracer on rank 0, at `MPI_Finalize` | [`trace_file`] → [`Profile`] |
//! | `rank-N.rwr`, spool file of one rank | the tracer, while the rank runs; survives a crash | [`trace_file`] → [`Profile`] |
//! | `rank-N.events`, one per rank | the tracer, with `profile --events` | [`events`] → tables of the profile |
//! | `rank-N.counters`, one per node | the tracer, with `profile --timeline device` | [`counter_series`] → tables of the profile |
//! | `rank-N.transport`, one per rank | the tracer, with `profile --timeline transport` | [`transport`] → tables of the profile |
//! | profile `*.rwp` (SQLite) | [`profile_file`], [`events`] | [`profile_file`], [`events`]; `sqlite3`, pandas, DuckDB |
//! | `jobs.toml` | people, `traffic generate` | [`jobs_file`] → [`Workload`] |
//! | formats of other tools (CSV, METIS, IPM, OTF2, ...) | those tools, `traffic export` | [`import`] → [`Workload`] or [`Profile`] |
//!
//! The formats are described in `docs/src/formats.md`; those of the tracer byte by byte in
//! `tracer/src/format/`. `trace_constants` is generated from the same headers.
//!
//! [`Profile`]: super::profile::Profile
//! [`Workload`]: super::Workload

pub mod counter_series;
pub mod events;
pub mod import;
pub mod jobs_file;
pub mod profile_file;
mod trace_constants;
pub mod trace_file;
pub mod transport;
mod varints;
