//! `cargo unpause`: the command line of unpause.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_unpause::main()
}
