//! Why the program was not started.

/// An exit code with the meanings of `env`, and the reason.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// 125 for a failure of the shim, 126 if the program cannot be run, 127 if it is not found.
    pub(crate) code: u8,
    /// What went wrong, and what to do.
    pub(crate) text: String,
}

impl Failure {
    /// A failure before the program was tried.
    pub(crate) fn ours(text: impl Into<String>) -> Self {
        Self { code: 125, text: text.into() }
    }
}
