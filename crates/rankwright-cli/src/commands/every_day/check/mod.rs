//! `rankwright check`: compares where every rank runs with the placement.

mod arguments;
mod counters;
mod launched;
mod plan;
mod running;
mod shown;
mod verdict;

use std::process::ExitCode;

use crate::options::{given, refuse};
use crate::output::Verbosity;

pub(crate) use arguments::Check;

impl Check {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        if let Some(folder) = &self.read_counters_to {
            return counters::read_to(folder);
        }
        if let Some(record) = &self.counters {
            return self.judge(record, verbosity);
        }
        let why = " needs --counters: other checks have no report";
        refuse(&[(given("--report", self.report.is_wanted()), why)])?;
        if self.placement.is_some() {
            self.options.fabric = self.options.fabric.or_of_site()?;
        }
        if self.running.is_some() || !self.pid.is_empty() {
            return self.look(verbosity);
        }
        self.launch(verbosity)
    }
}
