//! Runs programs of plain threads for `sim-bench threads`, which compares the answers with shuttle's and loom's.
//!
//! Reads requests from standard input, a line each, and answers each with a line:
//!
//! ```text
//! TWIN STRATEGY PROGRAM FROM TO        buggy portfolio dining_5 20000 40000
//! FAILED RUNS STEPS NANOS              true 31 1822 910400
//! ```
//!
//! `TWIN` is `buggy`, `fixed`, or `size` for a program of [`native_tests::sizes`]. `STRATEGY` may be followed by a
//! memory model: `random/c11`. The seeds `FROM..TO` run until one fails. `NANOS` is the processor time of all of it,
//! rehearsals included.

#![forbid(unsafe_code)]

use std::io::{BufRead, Write};

use cpu_time::ProcessTime;
use native_tests::{corpus, sizes};
use sim::Runner;

fn main() {
    let mut answers = std::io::stdout();
    for request in std::io::stdin().lock().lines() {
        let request = request.expect("the caller writes lines of text");
        let Some(answer) = answer(&request) else {
            eprintln!("error: not a request: {request:?}; write `buggy portfolio dining_5 0 1000`");
            std::process::exit(2);
        };
        writeln!(answers, "{answer}").expect("the caller reads the answer");
    }
}

/// The answer to a request; `None` if the request does not fit the grammar.
fn answer(request: &str) -> Option<String> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let [twin, strategy, program, from, to] = words[..] else { return None };
    let body = body(twin, program)?;
    let seeds = from.parse().ok()?..to.parse().ok()?;
    let (strategy, memory) = strategy.split_once('/').unwrap_or((strategy, "sc"));
    let runner =
        Runner::new().hermetic().jobs(1).strategy(strategy).memory(memory).shrink(false).prove(0);
    let began = ProcessTime::now();
    let report = runner.seeds(seeds).run_native(body);
    let nanos = began.elapsed().as_nanos();
    let failed = report.finding.is_some();
    Some(format!("{failed} {} {} {nanos}", report.runs, report.steps))
}

fn body(twin: &str, program: &str) -> Option<fn()> {
    if twin == "size" {
        return match program {
            "tiny" => Some(sizes::tiny),
            "long" => Some(sizes::long),
            "relaxed" => Some(sizes::relaxed),
            "ordered" => Some(sizes::ordered),
            "locks" => Some(sizes::locks),
            _ => None,
        };
    }
    let program = corpus::all().find(|known| known.name == program)?;
    match twin {
        "buggy" => Some(program.buggy),
        "fixed" => Some(program.fixed),
        _ => None,
    }
}
