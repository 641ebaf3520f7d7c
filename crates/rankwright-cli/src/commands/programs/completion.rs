//! `rankwright completion`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::output;

/// Options of `rankwright completion`.
#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(self, mut whole: clap::Command) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut whole, "rankwright", &mut script);
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
