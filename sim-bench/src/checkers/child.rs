//! Measures one cell of the table in a separate process, with limits on time and memory.

use std::process::Command;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use super::case::{Case, Extent};
use super::contestant::{Contestant, Turns};

/// The maximum processor time of a cell in seconds, including the generation of the history.
pub(super) const SECONDS_MAX: u64 = 10;
/// The maximum memory of a cell in GiB.
pub(super) const GIB_MAX: u64 = 3;

const EXIT_SLOW: i32 = 101 + 1;
const EXIT_LARGE: i32 = EXIT_SLOW + 1;

/// The measured values.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) millis: f64,
    pub(super) visited: u64,
    /// The maximum memory growth of the process; 0 if it is unknown.
    pub(super) mebibytes: f64,
    pub(super) engine: String,
}

/// The end of the process.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Done(Cell),
    Slow,
    Large,
    Died,
    Unknown,
    Wrong,
}

/// Measures a cell in a separate process.
pub(super) fn run(contestant: &Contestant, case: &Case, extent: Extent) -> Outcome {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(own);
    command.args(["checkers-cell", contestant.name, &extent.turns().to_string()]);
    command.args(case.words());
    let output = command.output().expect("this program can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    // A later turn may have been stopped; the measurement of the earlier turn is kept.
    let Some(line) = said.lines().last() else {
        return match output.status.code() {
            Some(EXIT_SLOW) => Outcome::Slow,
            Some(EXIT_LARGE) => Outcome::Large,
            _ => Outcome::Died,
        };
    };
    let words: Vec<&str> = line.split('\t').collect();
    let [state, millis, visited, mebibytes, engine] = words[..] else {
        panic!("a cell says five words: {line}");
    };
    match state {
        "right" => Outcome::Done(Cell {
            millis: millis.parse().expect("milliseconds"),
            visited: visited.parse().expect("a count"),
            mebibytes: mebibytes.parse().expect("mebibytes"),
            engine: engine.to_owned(),
        }),
        "unknown" => Outcome::Unknown,
        _ => Outcome::Wrong,
    }
}

/// Measures a cell in its own process, and prints a line for each turn.
pub(super) fn measure(contestant: &Contestant, case: &Case, turns: u32) {
    // A peer may recurse as deep as the history is long. This is not a fault.
    const STACK: usize = 1 << 30;
    std::thread::spawn(watch);
    std::thread::scope(|scope| {
        let check = || (contestant.check)(case, &mut Turns::new(turns));
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, check);
        worker.expect("a thread").join().expect("the contestant does not panic");
    });
}

/// Prints the measurement of a turn.
pub(super) fn say(state: &str, millis: f64, visited: u64, before: f64, engine: &str) {
    let grown = status("VmHWM:").map_or(0.0, |peak| peak - before);
    println!("{state}\t{millis}\t{visited}\t{grown}\t{engine}");
}

/// Returns the memory in use, in MiB; 0 if it is unknown.
pub(super) fn memory_now() -> f64 {
    status("VmRSS:").unwrap_or(0.0)
}

/// Ends the process when it exceeds a limit.
fn watch() {
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let processor = ProcessTime::now().as_duration();
        if processor.as_secs() >= SECONDS_MAX || began.elapsed().as_secs() >= 6 * SECONDS_MAX {
            std::process::exit(EXIT_SLOW);
        }
        if memory_now() > (GIB_MAX * 1024) as f64 {
            std::process::exit(EXIT_LARGE);
        }
    }
}

/// Returns a value of `/proc/self/status`, in MiB.
fn status(name: &str) -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}
