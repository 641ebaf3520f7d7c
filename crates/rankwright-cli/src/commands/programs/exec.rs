//! `rankwright exec`: replaces itself by the shim.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::host::shim::shim_beside_us;
use crate::output::exit_code::NotStarted;

/// Options of `rankwright exec`.
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    after_help = "`rankwright exec --help` shows the help of rankwright-exec, which has the options."
)]
pub(crate) struct Exec {
    /// Options of rankwright-exec, then the program and its arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

impl Exec {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let shim = shim_beside_us()?;
        let error = Command::new(&shim).args(self.arguments).exec();
        let why = format!("{}: {error}", shim.display());
        Err(NotStarted { code: 125, why }.into())
    }
}
