//! Readers (and writers) of recorded and described traffic: the tracer's trace, the profile file,
//! `jobs.toml`, and the formats of other tools.

pub mod events;
pub mod import;
pub mod jobs_file;
pub mod profile_file;
mod trace_constants;
pub mod trace_file;
