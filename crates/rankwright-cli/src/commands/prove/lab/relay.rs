//! `rankwright lab relay`: what delays the frames of a lab, in the namespace of its switch.

use std::process::ExitCode;

use clap::Args;
use rankwright::units::Seconds;
use rankwright_lab::{parse_delay, relay};

/// Options of `rankwright lab relay`.
#[derive(Debug, Args)]
pub(super) struct Relay {
    /// How long each frame waits
    #[arg(long, value_name = "TIME", value_parser = parse_delay)]
    delay: Seconds,
    /// The TAP devices, which it makes
    #[arg(required = true)]
    devices: Vec<String>,
}

impl Relay {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        relay(self.delay, &self.devices)?;
        Ok(ExitCode::SUCCESS)
    }
}
