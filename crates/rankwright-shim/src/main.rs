//! The shim without the command line's package: to link it alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    rankwright_shim::main()
}
