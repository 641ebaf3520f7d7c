//! The queue of Slurm at this moment.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::bail;

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
    let text = child::output_within(&mut command, MOST_BYTES, PATIENCE).unwrap_or_default();
    if text.is_empty() {
        bail!("squeue: no answer (its own message is above); try `squeue -o \"{columns}\"`");
    }
    Ok(text)
}
