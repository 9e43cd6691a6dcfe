//! unpause beside its peers: the same programs, measured in turns in one process.
//!
//! Prints tables and asserts nothing about time. The README explains them.

#![forbid(unsafe_code)]

mod arguments;
mod checkers;
mod corpus;
mod exhaustive;
mod facades;
mod generated;
mod measure;
mod moments;
mod net;
mod orders;
mod peers;
// The corpus, compiled over shuttle: `tools` stands for the module of this name there. Items that
// only their tests use are dead here.
#[allow(dead_code, unreachable_pub)]
#[path = "../../sim-tests/src/corpus/programs/mod.rs"]
mod programs;
mod table;
mod threads;
#[allow(missing_docs, unreachable_pub)]
mod tools;
mod workload;

use std::process::ExitCode;

use self::arguments::{Arguments, USAGE};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    match words.next().as_deref() {
        Some("checkers") => return checkers(words),
        Some("checkers-cell") => {
            return checkers::cell(words).map_or(ExitCode::from(2), |()| ExitCode::SUCCESS);
        }
        Some("corpus") => return corpus(words),
        Some("exhaustive") => return exhaustive(words),
        Some("facades") => return facades(words),
        Some("generated") => return generated(words),
        Some("moments") => return moments(words),
        Some("net") => return net(words),
        Some("orders") => return orders(words),
        Some("threads") => return threads(words),
        _ => {}
    }
    let Some(arguments) = Arguments::parse(std::env::args().skip(1)) else {
        eprint!("{USAGE}{}{}", checkers::USAGE, corpus::USAGE);
        eprint!("{}{}{}", exhaustive::USAGE, facades::USAGE, generated::USAGE);
        eprint!("{}{}", moments::USAGE, net::USAGE);
        eprint!("{}{}", orders::USAGE, threads::USAGE);
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

/// The other half: a wrong verdict fails, time does not.
fn checkers(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(arguments) = checkers::Arguments::parse(words) else {
        eprint!("{}", checkers::USAGE);
        return ExitCode::from(2);
    };
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    if checkers::table(&arguments) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A test from a model beside the same one written by hand.
fn generated(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let quick = match &words[..] {
        [] => false,
        [quick] if quick == "quick" => true,
        _ => {
            eprint!("{}", generated::USAGE);
            return ExitCode::from(2);
        }
    };
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    generated::table(quick);
    ExitCode::SUCCESS
}

/// The number of runs until the bugs of the corpus are found: a missed bar is shown and fails
/// nothing.
fn corpus(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(arguments) = corpus::Arguments::parse(words) else {
        eprint!("{}", corpus::USAGE);
        return ExitCode::from(2);
    };
    corpus::table(&arguments);
    ExitCode::SUCCESS
}

/// The moment of a fault, beside a uniform draw.
fn moments(words: impl Iterator<Item = String>) -> ExitCode {
    if moments::table(words) {
        return ExitCode::SUCCESS;
    }
    eprint!("{}", moments::USAGE);
    ExitCode::from(2)
}

/// Programs of plain threads: a bar that is missed is shown and fails nothing.
fn threads(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(arguments) = threads::Arguments::parse(words) else {
        eprint!("{}", threads::USAGE);
        return ExitCode::from(2);
    };
    if cfg!(debug_assertions) {
        println!("A build without optimisation: the costs of a run say nothing.\n");
    }
    match threads::table(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Nodes that talk to each other: a bar that is missed is shown and fails nothing.
fn net(words: impl Iterator<Item = String>) -> ExitCode {
    match net::table(words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Memory orders: a bar that is missed is shown and fails nothing.
fn orders(words: impl Iterator<Item = String>) -> ExitCode {
    match orders::table(words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprint!("{}", orders::USAGE);
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Tests with the names of other tools: a bar that is missed is shown and fails nothing.
fn facades(words: impl Iterator<Item = String>) -> ExitCode {
    match facades::table(words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprint!("{}", facades::USAGE);
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All interleavings: a bar that is missed is shown and fails nothing.
fn exhaustive(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(arguments) = exhaustive::Arguments::parse(words) else {
        eprint!("{}", exhaustive::USAGE);
        return ExitCode::from(2);
    };
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    exhaustive::table(&arguments);
    ExitCode::SUCCESS
}
