//! `rankwright traffic redact`.

use std::path::PathBuf;

use clap::Args;
use rankwright::traffic::read::profile_file;
use rankwright::traffic::redact::redact;

use super::recorded::profile_of;

use super::written::refuse_input_as_output;

/// Options of `rankwright traffic redact`.
#[derive(Debug, Args)]
pub(crate) struct Redact {
    /// A profile, or a file of another format
    workload: String,
    /// Profile (.rwp) to write; must not be the input
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Redact {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        refuse_input_as_output(&self.output, std::slice::from_ref(&self.workload))?;
        let mut profile = profile_of(&self.workload)?;
        redact(&mut profile);
        Ok(profile_file::write(&profile, &self.output)?)
    }
}
