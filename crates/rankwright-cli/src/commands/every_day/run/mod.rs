//! `rankwright run`: starts a program as placed.

mod arguments;
mod comparison;
mod fitting;
mod placing;
mod preparation;
mod single;

use std::process::ExitCode;

use crate::options::programs;
use crate::output::Verbosity;
use crate::output::exit_code::NotStarted;

pub(crate) use arguments::Run;

impl Run {
    pub(crate) fn run(self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        self.refuse_contradictions()?;
        Ok(self.start(verbosity).map_err(NotStarted::by_us_unless_known)?)
    }

    fn start(&self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        let line = programs(&self.program)?;
        if self.comparison.is_wanted() {
            return self.compare(&line, verbosity);
        }
        match &self.placement {
            Some(file) => self.start_placed(file, &line, verbosity),
            None => self.place_and_start(&line, verbosity),
        }
    }
}
