//! Exit codes, as documented in `docs/src/exit-codes.md`.

use std::fmt;
use std::process::ExitCode;

use rankwright::choose::PlanError;
use rankwright::estimate::ModelError;
use rankwright::files::InputError;
use rankwright::placement::PlacementError;
use rankwright::sim::SimulationError;
use rankwright::sim::replay::ReplayError;
use rankwright::traffic::read::events::export::ExportError;
use rankwright::traffic::read::events::store::AddError;

/// Something failed at run time.
const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;
/// An input cannot be read.
const INPUT: u8 = 3;
/// The request cannot be fulfilled, such as more ranks than cores.
const INFEASIBLE: u8 = 4;
/// `check` or `lint` found a mismatch.
const MISMATCH: u8 = 5;

/// A command line that clap accepts but that is wrong.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

/// A request that cannot be fulfilled.
#[derive(Debug)]
pub(crate) struct Infeasible(pub(crate) String);

/// `check` or `lint` found differences; the details have been printed.
#[derive(Debug)]
pub(crate) struct Mismatch(pub(crate) String);

/// A program that was not started, with the exit code of `env` for it: 125 for a failure before the
/// start, 126 if the program cannot be run, 127 if it is not found.
#[derive(Debug)]
pub(crate) struct NotStarted {
    pub(crate) code: u8,
    pub(crate) why: String,
}

impl NotStarted {
    /// An error before the start of the program; its exit code is 125 unless it has another, or the command
    /// line is wrong.
    pub(crate) fn by_us_unless_known(error: anyhow::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(|error| {
            let is_usage = error.chain().any(<dyn std::error::Error>::is::<UsageError>);
            Self { code: if is_usage { USAGE } else { 125 }, why: format!("{error:#}") }
        })
    }
}

macro_rules! error_with_text {
    ($name:ident, $field:tt) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.$field)
            }
        }
        impl std::error::Error for $name {}
    };
}
error_with_text!(UsageError, 0);
error_with_text!(Infeasible, 0);
error_with_text!(Mismatch, 0);
error_with_text!(NotStarted, why);

/// The exit code for an error, from the first cause that has a code.
pub(crate) fn of(error: &anyhow::Error) -> ExitCode {
    let code = error.chain().find_map(|cause| {
        if let Some(not_started) = cause.downcast_ref::<NotStarted>() {
            Some(not_started.code)
        } else if cause.is::<UsageError>() {
            Some(USAGE)
        } else if is_input(cause) {
            Some(INPUT)
        } else if is_infeasible(cause) {
            Some(INFEASIBLE)
        } else if cause.is::<Mismatch>() {
            Some(MISMATCH)
        } else {
            None
        }
    });
    ExitCode::from(code.unwrap_or(FAILED))
}

/// Whether the cause is an input. Errors that only pass on the text of another are not in the
/// chain.
fn is_input(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<InputError>()
        || cause.is::<ModelError>()
        || cause.is::<SimulationError>()
        || matches!(cause.downcast_ref(), Some(AddError::Input(_)))
        || matches!(cause.downcast_ref(), Some(ExportError::Input(_)))
        || matches!(cause.downcast_ref(), Some(ReplayError::Input(_) | ReplayError::Stuck { .. }))
}

/// Whether the request cannot be fulfilled.
fn is_infeasible(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<PlacementError>()
        || cause.is::<Infeasible>()
        || matches!(cause.downcast_ref(), Some(PlanError::Selection { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_decide_the_code() {
        let input = anyhow::Error::from(InputError::new("a", "b", "c")).context("while reading");
        assert_eq!(of(&input), ExitCode::from(3));
        assert_eq!(of(&anyhow::anyhow!("disk full")), ExitCode::from(1));
        let missing = NotStarted { code: 127, why: "mpirun: not found".to_owned() };
        assert_eq!(of(&missing.into()), ExitCode::from(127));
        let before = |error: anyhow::Error| NotStarted::by_us_unless_known(error).code;
        assert_eq!(before(InputError::new("a", "b", "c").into()), 125);
        assert_eq!(before(UsageError("--compare: one way".to_owned()).into()), 2);
    }
}
