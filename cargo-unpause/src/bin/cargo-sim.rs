//! `cargo sim`: the short name of `cargo unpause`.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_unpause::main()
}
