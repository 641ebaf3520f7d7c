//! The NAS Parallel Benchmarks (NPB) as traffic: who sends how much to whom, how often.
//!
//! One file per benchmark. Each was written from the structure that the NAS reports (Bailey et al.
//! 1995, NAS-95-020; Bailey et al. 1991, RNR-91-002; Wong and van der Wijngaart 2003, NAS-03-002) and
//! the sources of NPB 3.4 show, and is held against traces of the real programs
//! (`benchmarks/nas/`). Collective calls are messages of the default [`expansion`].
//!
//! ```
//! use rankwright::traffic::nas::{self, Benchmark, Class};
//! let job = nas::job(Benchmark::Cg, Class::B, 32).unwrap();
//! assert_eq!(job, nas::parse("cg.B.32").unwrap().job().unwrap());
//! ```
//!
//! [`expansion`]: crate::traffic::expansion

mod bt;
mod cg;
mod ep;
mod ft;
mod is;
mod keys;
mod lu;
mod mg;
mod multipartition;
mod name;
mod program;
mod sp;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Serialize;

use crate::traffic::source::LARGEST_CV;
use crate::traffic::{Job, TrafficError};
use crate::units::Seconds;
use program::Program;

macro_rules! benchmarks {
    ($($name:ident $file:ident $text:literal $summary:literal),* $(,)?) => {
        /// A benchmark.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Benchmark {
            $(#[doc = $summary] $name),*
        }

        /// The benchmarks by name, with a summary of each.
        pub const BENCHMARKS: &[(&str, Benchmark, &str)] =
            &[$(($text, Benchmark::$name, $summary)),*];

        impl Benchmark {
            /// Its name in small letters.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            fn model(self) -> &'static Model {
                match self { $(Self::$name => &$file::MODEL),* }
            }
        }
    };
}
benchmarks! {
    Bt bt "bt" "block tridiagonal systems: faces of cells, and sweeps along three axes",
    Cg cg "cg" "conjugate gradients: sums along rows of ranks, and a transposition",
    Ep ep "ep" "random numbers: sums at the end, nothing else",
    Ft ft "ft" "Fourier transforms: every rank to every other",
    Is is "is" "integer sort: counts to all, then every rank to every other",
    Lu lu "lu" "over-relaxation: many small messages to neighbours in a plane",
    Mg mg "mg" "multigrid: borders on a cube, on all levels",
    Sp sp "sp" "scalar pentadiagonal systems: faces of cells, and sweeps along three axes",
}

/// A size of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Class {
    /// For a first try.
    S,
    /// For a workstation of 1995.
    W,
    /// The smallest of the standard sizes.
    A,
    /// About four times A.
    B,
    /// About four times B.
    C,
    /// About sixteen times C.
    D,
}

/// The classes, the smallest first.
pub const CLASSES: [Class; 6] = [Class::S, Class::W, Class::A, Class::B, Class::C, Class::D];

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// More ranks than this are not modelled.
pub const MOST_RANKS: u32 = 1 << 14;

/// What the file of a benchmark says.
struct Model {
    /// Iterations of the outer loop, by class.
    iterations: [u64; 6],
    /// What process counts there are, after "needs".
    rule: &'static str,
    /// Whether it runs on that many processes.
    takes: fn(Class, u32) -> bool,
    /// What it counts as its operations, from which it prints its Mop/s.
    operations: fn(Class, f64) -> f64,
    /// The run time of class C on 64 processes in seconds: the row Exclusive-Full of Table II of
    /// the 2009 paper on mixed workloads.
    seconds: f64,
    /// Adds its clocks.
    clocks: fn(&mut Program, Class),
}

/// A run of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NasJob {
    /// Which benchmark.
    pub benchmark: Benchmark,
    /// Of which size.
    pub class: Class,
    /// How many processes.
    pub ranks: u32,
    /// How many iterations; as many as the class has where not given.
    pub iterations: Option<u64>,
    /// How long its iterations take together; [`NasJob::default_run_time`] where not given.
    pub run_time: Option<Seconds>,
    /// By what its clocks tick faster than the run time says.
    pub rate: f64,
    /// The coefficient of variation of the gaps between ticks.
    pub cv: f64,
}

/// Why there is no such run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NasError {
    /// A part of a name that is not known, or an option that cannot be.
    #[error("nas: {field}: found {found}, expected {expected}")]
    Field {
        /// Which part.
        field: &'static str,
        /// What stands there.
        found: String,
        /// What could.
        expected: String,
    },
    /// The benchmark does not run on that many processes.
    #[error("{} class {class} needs {rule}: {choices}, found {found}", benchmark.name().to_uppercase())]
    ProcessCount {
        /// The benchmark.
        benchmark: Benchmark,
        /// Its size.
        class: Class,
        /// What it needs.
        rule: &'static str,
        /// The next counts that it takes.
        choices: String,
        /// How many there were to be.
        found: u32,
    },
    /// The run is no job.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
}

impl NasError {
    fn field(field: &'static str, found: impl fmt::Display, expected: impl fmt::Display) -> Self {
        Self::Field { field, found: found.to_string(), expected: expected.to_string() }
    }
}

/// The traffic of a benchmark with default options.
///
/// # Errors
/// If it does not run on that many processes.
pub fn job(benchmark: Benchmark, class: Class, ranks: u32) -> Result<Job, NasError> {
    NasJob::new(benchmark, class, ranks).job()
}

/// Reads `cg.B.32` or `cg.B.32:option=value,...`; the options are those of [`NasJob::set`].
///
/// # Errors
/// If a part is unknown, a value is wrong, or the benchmark does not run on that many processes.
pub fn parse(text: &str) -> Result<NasJob, NasError> {
    name::parse(text)
}

/// Reads `cg.B` or `cg.B:option=value,...`, for so many processes.
///
/// # Errors
/// As of [`parse`].
pub fn parse_for(text: &str, ranks: u32) -> Result<NasJob, NasError> {
    name::parse_for(text, ranks)
}

impl NasJob {
    /// A run with default options.
    #[must_use]
    pub fn new(benchmark: Benchmark, class: Class, ranks: u32) -> Self {
        Self { benchmark, class, ranks, iterations: None, run_time: None, rate: 1.0, cv: 1.0 }
    }

    /// The name of its job.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.benchmark.name(), self.class, self.ranks)
    }

    /// How often the outer loop is passed in the part of the run that the benchmark times.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.iterations.unwrap_or(self.benchmark.model().iterations[self.class as usize])
    }

    /// The time that class C took on 64 processes in 2009, scaled by the benchmark's own count of
    /// operations and by the processes.
    #[must_use]
    pub fn default_run_time(&self) -> Seconds {
        let model = self.benchmark.model();
        let reference = (model.operations)(Class::C, model.iterations[Class::C as usize] as f64);
        let operations = (model.operations)(self.class, self.iterations() as f64);
        Seconds(model.seconds * operations / reference * 64.0 / f64::from(self.ranks))
    }

    /// The run time that its clocks follow.
    #[must_use]
    pub fn run_time(&self) -> Seconds {
        Seconds(self.run_time.unwrap_or_else(|| self.default_run_time()).0 / self.rate)
    }

    /// Whether the benchmark runs on that many processes.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_ranks(&self) -> Result<(), NasError> {
        let model = self.benchmark.model();
        let takes = |ranks: &u32| (model.takes)(self.class, *ranks);
        if (1..=MOST_RANKS).contains(&self.ranks) && takes(&self.ranks) {
            return Ok(());
        }
        let below = (1..self.ranks.min(MOST_RANKS + 1)).rev().find(takes);
        let above = (self.ranks.saturating_add(1)..=MOST_RANKS).find(takes);
        let choices = match (below, above) {
            (Some(below), Some(above)) => format!("{below} or {above}"),
            (Some(below), None) => format!("at most {below}"),
            (None, Some(above)) => format!("at least {above}"),
            (None, None) => "none".to_owned(),
        };
        Err(NasError::ProcessCount {
            benchmark: self.benchmark,
            class: self.class,
            rule: model.rule,
            choices,
            found: self.ranks,
        })
    }

    /// Its traffic: clocks, and the flows that they make together.
    ///
    /// # Errors
    /// If the benchmark does not run on that many processes, or an option cannot be.
    pub fn job(&self) -> Result<Job, NasError> {
        self.check_ranks()?;
        self.check_options()?;
        let mut program = Program::new(self.ranks, self.iterations());
        (self.benchmark.model().clocks)(&mut program, self.class);
        let collectives = program.collective_calls();
        let sources = program.into_sources(self.run_time(), self.cv);
        Ok(Job { collectives, ..Job::from_sources(self.name(), self.ranks, sources)? })
    }

    fn check_options(&self) -> Result<(), NasError> {
        if !(1..=MOST_ITERATIONS).contains(&self.iterations()) {
            let expected = format!("1 to {MOST_ITERATIONS}");
            return Err(NasError::field("iterations", self.iterations(), expected));
        }
        for (field, value) in [("rate", self.rate), ("time", self.run_time().0)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(NasError::field(field, value, "a number above 0"));
            }
        }
        if !(0.0..=LARGEST_CV).contains(&self.cv) {
            return Err(NasError::field("cv", self.cv, format!("a number from 0 to {LARGEST_CV}")));
        }
        Ok(())
    }
}

/// So many iterations that all bytes can still be counted.
const MOST_ITERATIONS: u64 = 1_000_000;
