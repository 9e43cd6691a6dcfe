//! `cargo sim`: the command line of unpause. See `lib.rs`; here is only the process around it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1).collect();
    ExitCode::from(cargo_sim::run(arguments, &mut cargo_sim::Terminal::of_the_process()))
}
