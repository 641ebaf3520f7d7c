//! `--quiet` and `--verbose`.

use clap::Args;

/// How much goes to standard error.
#[derive(Debug, Clone, Args)]
pub(crate) struct Verbosity {
    /// Print nothing but errors on standard error
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Print more on standard error
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}
