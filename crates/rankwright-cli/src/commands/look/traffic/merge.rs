//! `rankwright traffic merge`.

use std::path::PathBuf;

use clap::Args;
use rankwright::files::InputError;
use rankwright::traffic::merge::merge;
use rankwright::traffic::read::profile_file;

use super::recorded::profile_of;

use super::written::refuse_input_as_output;

/// Options of `rankwright traffic merge`.
#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Profiles, or files of other formats, of one program with equal numbers of ranks
    #[arg(required = true, num_args = 2.., value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// Profile (.rwp) to write; must not be one of the inputs
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Merge {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        refuse_input_as_output(&self.output, &self.workloads)?;
        let profiles = self.workloads.iter().map(|workload| profile_of(workload));
        let profiles = profiles.collect::<anyhow::Result<Vec<_>>>()?;
        let merged = merge(profiles).map_err(|error| {
            let (file, first) = (&self.workloads[error.position], &self.workloads[0]);
            let expected = format!("{}, as in {first}", error.expected);
            InputError::new(file, format!("a profile of {}", error.found), expected)
        })?;
        Ok(profile_file::write(&merged, &self.output)?)
    }
}
