//! unpause beside other simulators of clusters: the same programs, measured in turns in one process.
//!
//! Prints tables and asserts nothing about time. The README of `sim-bench` explains them.

#![forbid(unsafe_code)]

#[cfg(not(madsim))]
compile_error!("write RUSTFLAGS=\"--cfg madsim\", or call cargo in the folder sim-bench/net");

#[allow(dead_code)]
#[path = "../../src/measure.rs"]
mod measure;
mod peers;
mod table;
mod workload;

use std::process::ExitCode;
use std::time::Duration;

use self::measure::{Clock, Effort};
use self::peers::PEERS;
use self::workload::{ALL, Workload};

const USAGE: &str = "\
usage: net-bench [quick | long] [tcp udp typed gossip-10 gossip-100 ...]
       net-bench alone PEER WORKLOAD RUNS

  quick   a rough picture: 3 short turns each; long: 15 long ones
  tcp...  only these workloads
  alone   so many runs of one peer, measured by a tool of yours
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    let done = match words.first().map(String::as_str) {
        Some("alone") => alone(&words[1..]),
        _ => tables(&words),
    };
    if done.is_none() {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn workload(name: &str) -> Option<Workload> {
    ALL.into_iter().find(|workload| workload.name == name)
}

fn alone(words: &[String]) -> Option<()> {
    let [peer, name, runs] = words else { return None };
    let peer = PEERS.iter().find(|known| known.name == peer)?;
    (peer.run)(workload(name)?, runs.parse().ok()?);
    Some(())
}

fn tables(words: &[String]) -> Option<()> {
    let effort = |repetitions, millis| {
        let turn = Duration::from_millis(millis);
        Effort { repetitions, turn, runs_min: 1, clock: Clock::Processor }
    };
    let mut chosen = effort(7, 300);
    let mut workloads = Vec::new();
    for word in words {
        match word.as_str() {
            "quick" => chosen = effort(3, 60),
            "long" => chosen = effort(15, 600),
            name => workloads.push(workload(name)?),
        }
    }
    if workloads.is_empty() {
        workloads.extend(ALL);
    }
    table::print(&workloads, chosen);
    Some(())
}
