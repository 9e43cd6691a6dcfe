//! Our side: a program that `cargo unpause` builds from `native-tests`. It receives requests line by line.

use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{Effort, Seen};

/// The running program; `native-tests/measure/main.rs` describes its requests and answers.
pub(crate) struct Ours {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The mean cost of a number of runs.
pub(crate) struct Cost {
    /// The processor time per run in microseconds.
    pub(crate) micros: f64,
    /// The number of steps per run.
    pub(crate) steps: f64,
}

/// The answer to a request.
struct Answer {
    failed: bool,
    runs: u64,
    steps: u64,
    nanos: u64,
}

impl Ours {
    /// Builds and starts the program.
    pub(crate) fn start() -> Result<Ours, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a folder of the project");
        let mut command = Command::new("cargo");
        command.args(["run", "--quiet", "--package", "cargo-unpause", "--bin", "cargo-unpause"]);
        command.arg("--manifest-path").arg(root.join("Cargo.toml"));
        command.args(["--", "unpause", "test", "--release", "--features", "measure"]);
        command.args(["--test", "measure"]).current_dir(root.join("native-tests"));
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| format!("cargo cannot be started: {error}"))?;
        let requests = child.stdin.take().expect("it is piped");
        let answers = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Ours { child, requests, answers })
    }

    /// Returns the number of runs to the first failure of the buggy twin, in each range of seeds.
    pub(super) fn first_failures(
        &mut self,
        strategy: &str,
        program: &str,
        effort: Effort,
    ) -> Result<Seen, String> {
        let first = (0..effort.ranges).map(|range| {
            let from = range * effort.runs;
            let answer = self.ask("buggy", strategy, program, from..from + effort.runs)?;
            Ok(answer.failed.then_some(answer.runs))
        });
        Ok(Seen::new(first.collect::<Result<_, String>>()?, effort))
    }

    /// Returns the cost of a run of a program without a bug, rehearsals included. `strategy` may also name a memory
    /// model.
    pub(crate) fn cost(
        &mut self,
        twin: &str,
        strategy: &str,
        program: &str,
        seeds: Range<u64>,
    ) -> Result<Cost, String> {
        let answer = self.ask(twin, strategy, program, seeds)?;
        if answer.failed {
            return Err(format!("{program}, {twin}: a run failed, but it has no bug"));
        }
        let runs = answer.runs as f64;
        Ok(Cost { micros: answer.nanos as f64 / 1000.0 / runs, steps: answer.steps as f64 / runs })
    }

    fn ask(
        &mut self,
        twin: &str,
        strategy: &str,
        program: &str,
        seeds: Range<u64>,
    ) -> Result<Answer, String> {
        let request = format!("{twin} {strategy} {program} {} {}\n", seeds.start, seeds.end);
        let ended = |_| "the program of plain threads has ended: see its error".to_owned();
        self.requests.write_all(request.as_bytes()).map_err(ended)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(ended)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            [failed, runs, steps, nanos] => parse(failed, [runs, steps, nanos]),
            _ => None,
        };
        answer.ok_or_else(|| format!("not an answer to {request:?}: {line:?}"))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // The program ends when its input ends. Its failure, if any, was reported already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn parse(failed: &str, numbers: [&str; 3]) -> Option<Answer> {
    let [runs, steps, nanos] = numbers.map(|number| number.parse().ok());
    Some(Answer { failed: failed.parse().ok()?, runs: runs?, steps: steps?, nanos: nanos? })
}
