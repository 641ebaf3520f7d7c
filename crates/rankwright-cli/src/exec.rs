//! `rankwright-exec`, the per-rank shim; all of it is in `rankwright-shim`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rankwright_shim::main()
}
