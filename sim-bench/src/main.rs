//! unpause beside its peers: the same programs, measured in turns in one process.
//!
//! Prints tables and asserts nothing about time. The README says how to read them.

#![forbid(unsafe_code)]

mod arguments;
mod measure;
mod peers;
mod table;
mod workload;

use std::process::ExitCode;

use self::arguments::{Arguments, USAGE};

fn main() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    if !arguments.workloads.is_empty() {
        table::peers(&arguments.workloads, arguments.effort);
    }
    if arguments.ours {
        table::strategies(arguments.effort);
        table::workers(arguments.effort);
    }
    ExitCode::SUCCESS
}
