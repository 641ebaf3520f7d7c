//! The NAS Parallel Benchmarks (NPB): their traffic, generated from a model.
//!
//! One file per benchmark. Each follows the structure described in the NAS reports (Bailey et al.
//! 1995, NAS-95-020; Bailey et al. 1991, RNR-91-002; Wong and van der Wijngaart 2003, NAS-03-002)
//! and visible in the sources of NPB 3.4, and is compared with traces of the real programs
//! (`benchmarks/nas/`). Collective calls become messages by the default [`expansion`]. `name`
//! parses `cg.B.32:option=value`, `program` collects the clocks of a benchmark.
//!
//! ```
//! use rankwright::traffic::generate::nas::{self, Benchmark, Class};
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

use crate::traffic::LARGEST_CV;
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
            /// Name in lower case.
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

/// Problem size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Class {
    /// Sample size, for tests.
    S,
    /// Workstation size of 1995.
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

/// Most ranks that are modelled.
pub const MOST_RANKS: u32 = 1 << 14;

/// The model of a benchmark.
struct Model {
    /// Iterations of the outer loop, by class.
    iterations: [u64; 6],
    /// Valid process counts; completes "needs".
    rule: &'static str,
    /// Whether the benchmark runs with this class and process count.
    takes: fn(Class, u32) -> bool,
    /// Number of operations (class, iterations) that the benchmark counts for its Mop/s.
    operations: fn(Class, f64) -> f64,
    /// Run time of class C on 64 processes, in seconds: row Exclusive-Full of Table II of the 2009
    /// paper on mixed workloads.
    seconds: f64,
    /// Adds the clocks of all ranks.
    clocks: fn(&mut Program, Class),
}

/// A run of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NasJob {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Problem size.
    pub class: Class,
    /// Number of processes.
    pub ranks: u32,
    /// Number of iterations; `None` for that of the class.
    pub iterations: Option<u64>,
    /// Total time of the iterations; `None` for [`NasJob::default_run_time`].
    pub run_time: Option<Seconds>,
    /// Factor on the tick rates that follow from the run time.
    pub rate: f64,
    /// The coefficient of variation of the gaps between ticks.
    pub cv: f64,
}

/// Why a run is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NasError {
    /// An unknown part of a name, or an invalid option value.
    #[error("nas: {field}: found {found}, expected {expected}")]
    Field {
        /// The part.
        field: &'static str,
        /// The text found.
        found: String,
        /// The texts expected.
        expected: String,
    },
    /// The benchmark does not run on this number of processes.
    #[error("{} class {class} needs {rule}: {choices}, found {found}", benchmark.name().to_uppercase())]
    ProcessCount {
        /// The benchmark.
        benchmark: Benchmark,
        /// Its class.
        class: Class,
        /// Valid process counts.
        rule: &'static str,
        /// The nearest valid process counts.
        choices: String,
        /// The process count asked for.
        found: u32,
    },
    /// The traffic does not form a job.
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
/// If it does not run on this number of processes.
pub fn job(benchmark: Benchmark, class: Class, ranks: u32) -> Result<Job, NasError> {
    NasJob::new(benchmark, class, ranks).job()
}

/// Reads `cg.B.32` or `cg.B.32:option=value,...`; the options are those of [`NasJob::set`].
///
/// # Errors
/// If a part is unknown, a value is wrong, or the benchmark does not run on this number of
/// processes.
pub fn parse(text: &str) -> Result<NasJob, NasError> {
    name::parse(text)
}

/// Reads `cg.B` or `cg.B:option=value,...` for `ranks` processes.
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

    /// Name of the job.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}.{}", self.benchmark.name(), self.class, self.ranks)
    }

    /// Number of timed iterations of the outer loop.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.iterations.unwrap_or(self.benchmark.model().iterations[self.class as usize])
    }

    /// Measured time of class C on 64 processes (2009), scaled by the benchmark's operation count
    /// and the number of processes.
    #[must_use]
    pub fn default_run_time(&self) -> Seconds {
        let model = self.benchmark.model();
        let reference = (model.operations)(Class::C, model.iterations[Class::C as usize] as f64);
        let operations = (model.operations)(self.class, self.iterations() as f64);
        Seconds(model.seconds * operations / reference * 64.0 / f64::from(self.ranks))
    }

    /// Run time from which the tick rates follow.
    #[must_use]
    pub fn run_time(&self) -> Seconds {
        Seconds(self.run_time.unwrap_or_else(|| self.default_run_time()).0 / self.rate)
    }

    /// Checks that the benchmark runs on this number of processes.
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

    /// The traffic: clocks, and the flows they add up to.
    ///
    /// # Errors
    /// If the benchmark does not run on this number of processes, or an option is out of range.
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

/// Most iterations, so that byte counts fit 64 bits.
const MOST_ITERATIONS: u64 = 1_000_000;
