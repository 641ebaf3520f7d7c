//! The options of `rankwright-exec`, for the code that writes its command line and the code that
//! reads it.

/// The table of ranks.
pub const MAP: &str = "--map";
/// With [`REPORT`]: keep the binding and the variables of the launcher.
pub const NO_BIND: &str = "--no-bind";
/// Print where this rank runs; start no program.
pub const REPORT: &str = "--report";
/// The file that the tracer writes.
pub const TRACE: &str = "--trace";
/// The tracer's library.
pub const TRACER: &str = "--tracer";
/// The folder of a rank's records while it runs.
pub const SPOOL: &str = "--spool";
/// Options of the tracer.
pub const TRACE_OPTIONS: &str = "--trace-options";

/// The options that are followed by a value.
pub const WITH_VALUE: [&str; 5] = [MAP, TRACE, TRACER, SPOOL, TRACE_OPTIONS];
