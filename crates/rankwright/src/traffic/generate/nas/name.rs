//! The names of runs: `cg.B.32:time=12s,rate=0.5`.

use super::{BENCHMARKS, Benchmark, CLASSES, Class, NasError, NasJob};
use crate::named_options::{NamedOptions, one_of};
use crate::units::{Seconds, UnitError};

const OPTIONS: [&str; 4] = ["time", "rate", "cv", "iterations"];

pub(super) fn parse(text: &str) -> Result<NasJob, NasError> {
    let run = NamedOptions::new(text);
    let (program, ranks) = run.name.rsplit_once('.').ok_or_else(|| no_name(run.name))?;
    let (benchmark, class) = benchmark_and_class(program, run.name)?;
    let ranks = number("processes", ranks, "a number of processes")?;
    with_options(NasJob::new(benchmark, class, ranks), run)
}

pub(super) fn parse_for(text: &str, ranks: u32) -> Result<NasJob, NasError> {
    let run = NamedOptions::new(text);
    let (benchmark, class) = benchmark_and_class(run.name, run.name)?;
    with_options(NasJob::new(benchmark, class, ranks), run)
}

fn no_name(name: &str) -> NasError {
    NasError::field("name", format!("`{name}`"), "benchmark, class and processes, like cg.B.32")
}

fn benchmark_and_class(program: &str, whole: &str) -> Result<(Benchmark, Class), NasError> {
    let (name, letter) = program.split_once('.').ok_or_else(|| no_name(whole))?;
    let benchmark = BENCHMARKS.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    let (_, benchmark, _) = benchmark.ok_or_else(|| {
        let expected = one_of(BENCHMARKS.iter().map(|(known, _, _)| *known));
        NasError::field("benchmark", format!("`{name}`"), expected)
    })?;
    let class = CLASSES.iter().find(|class| class.to_string().eq_ignore_ascii_case(letter));
    let class = class.ok_or_else(|| {
        let known = CLASSES.map(|class| class.to_string()).join(", ");
        NasError::field("class", format!("`{letter}`"), format!("one of {known}"))
    })?;
    Ok((*benchmark, *class))
}

/// The run with options `key=value,...`; everything is checked.
fn with_options(mut job: NasJob, run: NamedOptions<'_>) -> Result<NasJob, NasError> {
    for option in run.options() {
        job.set(option.key, option.value.unwrap_or_default())?;
    }
    job.check_ranks()?;
    job.check_options()?;
    Ok(job)
}

impl NasJob {
    /// Sets an option from its text: `time` (`12 s`), `rate` (`0.5`: half as fast), `cv`,
    /// `iterations`.
    ///
    /// # Errors
    /// If there is no such option, or the value is not one.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), NasError> {
        match key {
            "time" => {
                let time: Result<Seconds, UnitError> = value.parse();
                self.run_time =
                    Some(time.map_err(|e| {
                        NasError::field("time", format!("`{}`", e.found), e.expected)
                    })?);
            }
            "rate" => self.rate = number("rate", value, "a number above 0")?,
            "cv" => self.cv = number("cv", value, "a number from 0 up")?,
            "iterations" => {
                self.iterations = Some(number("iterations", value, "a number from 1 up")?);
            }
            _ => {
                return Err(NasError::field("option", format!("`{key}`"), one_of(OPTIONS)));
            }
        }
        Ok(())
    }
}

fn number<N: std::str::FromStr>(
    field: &'static str,
    text: &str,
    expected: &str,
) -> Result<N, NasError> {
    text.parse().map_err(|_| NasError::field(field, format!("`{text}`"), expected))
}
