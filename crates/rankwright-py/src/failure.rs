//! Errors of the library as exceptions of Python.

use pyo3::prelude::*;
use rankwright::choose::{PlanError, SharingError};
use rankwright::cluster::{self, OpenError as ClusterOpenError};
use rankwright::estimate::ModelError;
use rankwright::launch::ProgramSlotsError;
use rankwright::map::StrategyError;
use rankwright::pairing::{ModeError, PredictError};
use rankwright::placement::PlacementError;
use rankwright::sim::SimulationError;
use rankwright::sim::replay::ReplayError;
use rankwright::traffic::{OpenError as TrafficOpenError, TrafficError};
use rankwright::{InputError, WriteError};

/// The classes of exceptions, which Python code defines so that they may have two bases.
mod classes {
    pyo3::import_exception!(rankwright._errors, Error);
    pyo3::import_exception!(rankwright._errors, InputError);
    pyo3::import_exception!(rankwright._errors, InfeasibleError);
}

/// Why a function gives no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An input is wrong: `InputError`.
    Input(InputError),
    /// An argument or a name is wrong: `InputError` without a file.
    Argument(String),
    /// What was asked for is not possible: `InfeasibleError`.
    Infeasible(String),
    /// Anything else: `Error`.
    Other(String),
    /// The exception of a function of the user.
    Raised(PyErr),
}

impl Failure {
    /// A name that is not in a list.
    pub(crate) fn unknown<'a>(
        what: &str,
        found: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.collect();
        Self::Argument(format!("{what}: found `{found}`, expected one of {}", known.join(", ")))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Input(error) => {
                let text = error.to_string();
                classes::InputError::new_err((text, error.file, error.line, error.field))
            }
            Failure::Argument(text) => classes::InputError::new_err(text),
            Failure::Infeasible(text) => classes::InfeasibleError::new_err(text),
            Failure::Other(text) => classes::Error::new_err(text),
            Failure::Raised(error) => error,
        }
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<TrafficOpenError> for Failure {
    fn from(error: TrafficOpenError) -> Self {
        match error {
            TrafficOpenError::Input(error) => Self::Input(error),
            error => Self::Argument(error.to_string()),
        }
    }
}

impl From<ClusterOpenError> for Failure {
    fn from(error: ClusterOpenError) -> Self {
        match error {
            ClusterOpenError::Input(error) => Self::Input(error),
            error => Self::Argument(error.to_string()),
        }
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::Strategy(error) => error.into(),
            PlanError::NoStrategy => Self::Argument(error.to_string()),
            error => Self::Infeasible(error.to_string()),
        }
    }
}

impl From<ProgramSlotsError> for Failure {
    fn from(error: ProgramSlotsError) -> Self {
        match error {
            ProgramSlotsError::OtherSize => Self::Argument(format!(
                "{error}: leave out ranks_per_node, ranks_per_package, ranks_per_numa, ranks_per_gpu and per"
            )),
            error => Self::Infeasible(error.to_string()),
        }
    }
}

impl From<SimulationError> for Failure {
    fn from(error: SimulationError) -> Self {
        match error {
            SimulationError::NoSources { .. } => Self::Argument(error.to_string()),
            error => Self::Infeasible(error.to_string()),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Input(error) => Self::Input(error),
            error => Self::Infeasible(error.to_string()),
        }
    }
}

impl From<PredictError> for Failure {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Replay(error) => error.into(),
            PredictError::Mode(error) => error.into(),
            PredictError::Stopped => Self::Other(
                "stopped before there was an answer; run it again to its end".to_owned(),
            ),
        }
    }
}

/// Conversions that keep only the text.
macro_rules! by_text {
    ($($error:ty => $variant:ident),* $(,)?) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::$variant(error.to_string())
            }
        }
    )*};
}

by_text! {
    TrafficError => Argument,
    cluster::ClusterError => Argument,
    StrategyError => Argument,
    SharingError => Infeasible,
    PlacementError => Infeasible,
    ModeError => Infeasible,
    ModelError => Argument,
    WriteError => Other,
}
