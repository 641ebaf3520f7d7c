//! The queue of Slurm at this moment.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;

use crate::host::{child, find_program};
use crate::output::exit_code::UsageError;

/// A controller of a large site takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A million jobs.
const MOST_BYTES: u64 = 256 << 20;

/// What `squeue -o COLUMNS` prints of all users' jobs.
pub(crate) fn jobs(columns: &str) -> anyhow::Result<String> {
    let Some(squeue) = find_program(Path::new("squeue")) else {
        let text = format!(
            "--queue: squeue is not in PATH; give what it printed elsewhere: --queue=FILE with the output \
             of `squeue -o \"{columns}\"` or `squeue --json`"
        );
        return Err(UsageError(text).into());
    };
    let mut command = Command::new(squeue);
    command.args(["-o", columns]).stdin(Stdio::null());
    // The user's own defaults would leave out jobs or columns.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"SQUEUE_") {
            command.env_remove(name);
        }
    }
    let text = child::whole_output(&mut command, MOST_BYTES, PATIENCE);
    text.with_context(|| format!("squeue gave no queue; try `squeue -o \"{columns}\"` by hand"))
}
