//! unpause compared with its peers: the same programs, measured in turns in one process.
//!
//! The benchmarks print tables and assert nothing about time. The README explains them.

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
// The corpus, compiled over shuttle, because `tools` is the module of this name here. Items that
// only the corpus's own tests use are dead code here.
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

/// Compares the checkers. A wrong verdict fails, a missed bar does not.
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

/// Compares a test generated from a model with the same test written by hand.
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

/// Counts the runs until the bugs of the corpus are found. A missed bar is only printed.
fn corpus(words: impl Iterator<Item = String>) -> ExitCode {
    let Some(arguments) = corpus::Arguments::parse(words) else {
        eprint!("{}", corpus::USAGE);
        return ExitCode::from(2);
    };
    corpus::table(&arguments);
    ExitCode::SUCCESS
}

/// Compares the moments of faults with a uniform draw.
fn moments(words: impl Iterator<Item = String>) -> ExitCode {
    if moments::table(words) {
        return ExitCode::SUCCESS;
    }
    eprint!("{}", moments::USAGE);
    ExitCode::from(2)
}

/// Measures programs of plain threads. A missed bar is only printed.
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

/// Measures nodes that exchange messages. A missed bar is only printed.
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

/// Measures the cost of memory orders. A missed bar is only printed.
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

/// Compares the facades with the tools that they replace. A missed bar is only printed.
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

/// Explores all interleavings of small programs. A missed bar is only printed.
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
