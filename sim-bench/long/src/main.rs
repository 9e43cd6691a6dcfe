//! Long programs with one rare bug each: runs and processor time until a strategy finds the bug.
//!
//! Prints a table and asserts nothing. The README of `sim-bench` explains it.

#![forbid(unsafe_code)]

mod learning;
mod marks;
mod programs;

use std::process::ExitCode;
use std::time::Duration;

use cpu_time::ThreadTime;
use sim::Runner;

use self::programs::{PROGRAMS, Program};

const USAGE: &str = "\
usage: long-bench check [PROGRAM ...]
       long-bench [quick | long] [PROGRAM ...]

  check   steps of a run, whether the fixed twins pass, and how often the bug is found
  quick   3 searches of each program by each strategy; usual: 10; long: 40
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, names) = match words.first().map(String::as_str) {
        Some(word @ ("check" | "quick" | "long")) => (word, &words[1..]),
        _ => ("usual", &words[..]),
    };
    let is_known = |name: &String| PROGRAMS.iter().any(|program| program.name == name);
    if let Some(wrong) = names.iter().find(|name| !is_known(name)) {
        eprint!("unknown program {wrong}\n{USAGE}");
        return ExitCode::from(2);
    }
    let chosen: Vec<&Program> = PROGRAMS
        .iter()
        .filter(|program| names.is_empty() || names.iter().any(|name| name == program.name))
        .collect();
    match mode {
        "check" => check(&chosen),
        "quick" => table(&chosen, 3),
        "long" => table(&chosen, 40),
        _ => table(&chosen, 10),
    }
    ExitCode::SUCCESS
}

fn runner(seeds: std::ops::Range<u64>) -> Runner {
    let out = std::env::temp_dir().join("long-bench");
    let runner = Runner::new().hermetic().seeds(seeds).jobs(1).shrink(false).why(0).out(out);
    runner.hang(Duration::from_secs(600)).max_steps(100_000)
}

fn check(programs: &[&Program]) {
    for program in programs {
        let fixed = runner(0..1_000).run(|| (program.body)(true));
        let steps = fixed.steps / fixed.runs.max(1);
        let start = ThreadTime::now();
        let found = runner(0..20_000).run(|| (program.body)(false));
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{:<20} {steps:>6} steps  fixed {}  bug {:>6} runs {:>6.2} s  {}",
            program.name,
            if fixed.passed() { "passes" } else { "FAILS" },
            found.runs,
            seconds,
            if found.passed() { "not found" } else { "found" },
        );
        for (what, report) in [("fixed", &fixed), ("bug", &found)] {
            if let Some(finding) = &report.finding {
                let text = format!("{:?}", finding.run.outcome);
                println!("    {what}: {}", text.chars().take(300).collect::<String>());
            }
        }
    }
}

/// The most runs of one search.
const RUNS_MAX: u64 = 40_000;

/// The runs and seconds of one search for the bug, whose seeds begin at `first`.
fn search(program: &Program, learns: bool, first: u64) -> (u64, f64, bool) {
    learning::forget();
    let runner = runner(first..first + RUNS_MAX);
    let runner = if learns { runner.strategy_with("learning", learning::create) } else { runner };
    let start = ThreadTime::now();
    let report = runner.run(|| (program.body)(false));
    (report.runs, start.elapsed().as_secs_f64(), !report.passed())
}

fn table(programs: &[&Program], searches: u64) {
    println!(
        "{:<20} {:>10} {:>10} {:>9} {:>9} {:>7}  found",
        "program", "runs", "learning", "s", "learning", "ratio"
    );
    let mut logs = Vec::new();
    for program in programs {
        let (mut runs, mut seconds, mut found) = ([0; 2], [0.0; 2], [0; 2]);
        for n in 0..searches {
            for learns in [false, true] {
                let (r, s, f) = search(program, learns, n * 1_000_000);
                runs[usize::from(learns)] += r;
                seconds[usize::from(learns)] += s;
                found[usize::from(learns)] += u64::from(f);
            }
        }
        // Each search ends at the bug or at the limit: the time for one bug is the mean over found bugs.
        let per = |i: usize| seconds[i] / (found[i].max(1) as f64);
        let ratio = per(0) / per(1);
        logs.push(ratio.ln());
        println!(
            "{:<20} {:>10.0} {:>10.0} {:>9.3} {:>9.3} {:>7.2}  {} {}",
            program.name,
            runs[0] as f64 / found[0].max(1) as f64,
            runs[1] as f64 / found[1].max(1) as f64,
            per(0),
            per(1),
            ratio,
            found[0],
            found[1],
        );
    }
    let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
    println!("geometric mean of the ratios of time: {mean:.2}");
}
