//! Exhaustive search, compared with loom's and shuttle's: runs and seconds until everything is
//! explored.

mod loom;
mod ours;
mod shuttle;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use self::ours::programs::{PROGRAMS, Program};

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench exhaustive [quick | long] ['counter(3)' IRIW ...]

  quick   2 s for a cell at most; long: 120 s
  ...     only these programs
";

/// The programs to explore.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// The maximum time for a cell.
    budget: Duration,
    /// The names of the selected programs; empty for all programs.
    names: Vec<String>,
}

impl Arguments {
    /// Parses the arguments after `exhaustive`; `None` if they do not fit the grammar.
    pub(crate) fn parse(words: impl Iterator<Item = String>) -> Option<Arguments> {
        let mut arguments = Arguments { budget: Duration::from_secs(20), names: Vec::new() };
        for word in words {
            match word.as_str() {
                "quick" => arguments.budget = Duration::from_secs(2),
                "long" => arguments.budget = Duration::from_secs(120),
                name if PROGRAMS.iter().any(|program| program.name == name) => {
                    arguments.names.push(word);
                }
                _ => return None,
            }
        }
        Some(arguments)
    }
}

/// The progress of a contestant.
#[derive(Clone, Copy, Debug)]
struct Explored {
    runs: u64,
    /// The number of runs that were abandoned, because all their continuations had been explored.
    blocked: u64,
    /// True if everything was explored.
    complete: bool,
}

/// A tool that explores the program with a given index.
struct Contestant {
    name: &'static str,
    explore: fn(usize, Duration) -> Explored,
}

/// The contestants; ours is the first.
const CONTESTANTS: [Contestant; 3] = [
    Contestant { name: "ours", explore: ours::explore },
    Contestant { name: "loom", explore: loom::explore },
    Contestant { name: "shuttle dfs", explore: shuttle::explore },
];

/// A cell of the table.
#[derive(Clone, Copy)]
struct Cell {
    explored: Explored,
    /// The processor time, the minimum of a few turns.
    seconds: f64,
}

/// Polls a future that is never pending.
///
/// # Panics
/// If the future is pending.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the primitives of peers block and are never pending"),
    }
}

/// Prints the table.
pub(crate) fn table(arguments: &Arguments) {
    println!(
        "Runs and seconds of processor time until all is explored, the peers with how many times our\n\
         runs and time. A cell that took more than {} s on the wall ran out: >. blocked: runs that were\n\
         given up. w: loom lets loads see old stores, so it has more to explore there.\n",
        arguments.budget.as_secs()
    );
    print!("{:<16} {:>8} {:>8} {:>7} {:>8}", "", "classes", "ours", "blocked", "s");
    for contestant in &CONTESTANTS[1..] {
        print!("  {:>30}", contestant.name);
    }
    println!("  one run a class, fewer runs, less time");
    for (index, program) in PROGRAMS.iter().enumerate() {
        let wanted = |name: &String| name == program.name;
        if arguments.names.is_empty() || arguments.names.iter().any(wanted) {
            let cells = CONTESTANTS.map(|contestant| cell(&contestant, index, arguments.budget));
            row(program, &cells);
        }
    }
}

/// Explores a program, and repeats a fast exploration a few times.
fn cell(contestant: &Contestant, index: usize, budget: Duration) -> Cell {
    const TURNS: usize = 20;
    const ENOUGH: Duration = Duration::from_millis(300);
    let began = Instant::now();
    let mut least = f64::INFINITY;
    let mut turns = 0;
    loop {
        let time = ProcessTime::now();
        let explored = (contestant.explore)(index, budget);
        least = least.min(time.elapsed().as_secs_f64());
        turns += 1;
        if turns == TURNS || began.elapsed() > ENOUGH {
            return Cell { explored, seconds: least };
        }
    }
}

fn row(program: &Program, cells: &[Cell; 3]) {
    let [ours, peers @ ..] = cells;
    let Explored { runs, blocked, complete } = ours.explored;
    let over = |complete: bool| if complete { "" } else { ">" };
    print!("{:<16} {:>8}", program.name, program.classes);
    print!(" {:>8} {blocked:>7}", format!("{}{runs}", over(complete)));
    print!(" {:>8}", seconds(ours.seconds));
    for (peer, cell) in peers.iter().enumerate() {
        let Explored { runs: theirs, complete, .. } = cell.explored;
        let weak = if program.weak && peer == 0 { "w" } else { " " };
        let runs = format!("{}{theirs} {:.1}x{weak}", over(complete), ratio(theirs, runs));
        let time = format!("{} {:.1}x", seconds(cell.seconds), cell.seconds / ours.seconds);
        print!("  {runs:>17} {time:>12}");
    }
    let bar = |met: bool| if met { "yes" } else { "NO" };
    let fewer = |peer: &Cell| runs <= peer.explored.runs;
    let faster = |peer: &Cell| ours.seconds <= peer.seconds;
    println!(
        "  {} {} {}",
        bar(complete && runs == program.classes),
        bar(complete && peers.iter().all(fewer)),
        bar(complete && peers.iter().all(faster)),
    );
}

fn ratio(theirs: u64, ours: u64) -> f64 {
    theirs as f64 / ours as f64
}

fn seconds(seconds: f64) -> String {
    if seconds < 0.1 { format!("{seconds:.5}") } else { format!("{seconds:.2}") }
}
