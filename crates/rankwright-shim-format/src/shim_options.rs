//! The options of `rankwright-exec`, for those who write its command line and those who read it.

/// The table of ranks to bind by.
pub const MAP: &str = "--map";
/// With [`REPORT`]: leave binding and variables as the launcher made them.
pub const NO_BIND: &str = "--no-bind";
/// Print where this rank is, start no program.
pub const REPORT: &str = "--report";
/// The file that the tracer writes.
pub const TRACE: &str = "--trace";
/// The tracer's library.
pub const TRACER: &str = "--tracer";
/// The folder of a rank's records while it runs.
pub const SPOOL: &str = "--spool";
/// Words that the tracer understands.
pub const TRACE_OPTIONS: &str = "--trace-options";

/// The options that are followed by a value.
pub const WITH_VALUE: [&str; 5] = [MAP, TRACE, TRACER, SPOOL, TRACE_OPTIONS];
