//! The option that names a lab.

use clap::Args;
use rankwright_lab::{LabName, NAME_VARIABLE};

/// The name of a lab.
#[derive(Debug, Clone, Args)]
pub(super) struct Named {
    /// Name of the lab
    #[arg(long, default_value = "lab", env = NAME_VARIABLE, hide_env_values = true)]
    pub(super) name: LabName,
}
