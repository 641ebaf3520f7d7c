//! How much is said.

use clap::Args;

/// How much is said on standard error.
#[derive(Debug, Clone, Args)]
pub(crate) struct Verbosity {
    /// Say nothing but errors on standard error
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more on standard error
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}
