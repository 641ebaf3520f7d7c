//! `rankwright run`: starts a program as placed.

mod arguments;
mod comparison;
mod counters;
mod fitting;
mod placing;
mod preparation;
mod single;

use std::process::ExitCode;

use rankwright::files::InputError;

use crate::host::signals::interrupt;
use crate::options::programs;
use crate::options::site::Defaults;
use crate::output::Verbosity;
use crate::output::exit_code::NotStarted;

pub(crate) use arguments::Run;

impl Run {
    pub(crate) fn run(mut self, verbosity: &Verbosity) -> anyhow::Result<ExitCode> {
        // SIGPIPE must not end the process before the folder of the launch files is removed.
        interrupt::survive_closed_pipe();
        self.refuse_contradictions()?;
        self.take_defaults(verbosity)
            .map_err(|error| NotStarted::by_us_unless_known(error.into()))?;
        Ok(self.start(verbosity).map_err(NotStarted::by_us_unless_known)?)
    }

    /// Takes the defaults of the site for what the user left open. If they are wrong, the job is started
    /// without them, except with --strict.
    fn take_defaults(&mut self, verbosity: &Verbosity) -> Result<(), InputError> {
        let fabric = &mut self.options.fabric;
        let needs_cluster = self.placing.on.is_none() && self.placing.profile.is_some();
        if self.launcher.is_some() && fabric.fabric.is_some() && !needs_cluster {
            return Ok(());
        }
        self.placing.defaults = match self.placing.strict {
            true => Defaults::read()?,
            false => Defaults::read_or_warn(verbosity),
        };
        *fabric = fabric.or_default(&self.placing.defaults);
        Ok(())
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
