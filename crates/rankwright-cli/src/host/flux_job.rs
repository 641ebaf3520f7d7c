//! The job of Flux that this program runs in: its hosts, cores and GPUs, which only Flux tells.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rankwright::cluster::read::allocation::{self, BatchSystem, Granted, Which};
use rankwright::files::InputError;

use crate::host::{child, find_program};

/// The broker that answers is on this host; a node of a large site may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

/// Schedulers add their own description of the nodes, some kilobytes for each.
const MOST_BYTES: u64 = 256 << 20;

/// The hosts of the current job; `None` outside of jobs, and where Flux does not tell.
pub(crate) fn hosts() -> Option<Vec<Granted>> {
    asked().ok()
}

/// The hosts of the current job. Flux is asked once.
///
/// # Errors
/// If this does not run in a job of Flux, or Flux does not answer.
pub(crate) fn asked() -> Result<Vec<Granted>, InputError> {
    static ANSWER: OnceLock<Result<Vec<Granted>, InputError>> = OnceLock::new();
    ANSWER.get_or_init(ask).clone()
}

fn ask() -> Result<Vec<Granted>, InputError> {
    let expected = "a job of Flux, in which this must run (flux alloc, flux batch)";
    let wrong = |found: String| InputError::new("flux", found, expected);
    let variable = |name: &str| std::env::var(name).ok();
    let number = BatchSystem::Flux.number(variable).ok_or_else(|| {
        wrong("no FLUX_JOB_ID or FLUX_ENCLOSING_ID in the environment".to_owned())
    })?;
    let program =
        find_program(Path::new("flux")).ok_or_else(|| wrong("no flux on PATH".to_owned()))?;
    let told = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).stdin(Stdio::null()).stderr(Stdio::null());
        child::whole_output(&mut command, MOST_BYTES, PATIENCE)
            .map_err(|error| wrong(format!("`flux {}`: {error}", words.join(" "))))
    };
    // Inside its own instance Flux numbers the cores anew, so the instance around it is asked.
    let is_task = variable("FLUX_JOB_ID").is_some();
    let of_task = ["job", "info", &number, "R"];
    let words = [&["--parent"][..], &of_task].concat();
    let words = if is_task { &of_task[..] } else { &words };
    let mut hosts = allocation::flux(&told(words)?, &format!("flux {}", words.join(" ")))?;
    // A nested instance numbers the cores of its own allocation from 0; Flux has no map to those of the node.
    let level = told(&["getattr", "instance-level"]).unwrap_or_default();
    let numbers_are_those_of_nodes = level.trim() == if is_task { "0" } else { "1" };
    if !numbers_are_those_of_nodes {
        hosts.iter_mut().for_each(|granted| granted.which = Which::Unknown);
    }
    Ok(hosts)
}
