//! Memory orders: the cost of the memory `c11`, compared with the same program under `sc`.

use sim::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use crate::measure::{Clock, Contestant, Effort, side_by_side};
use crate::peers::ours::{self, Settings};
use crate::threads::Ours;
use crate::workload::Workload;

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench orders [quick] [tasks | threads]

  quick    a rough picture: 3 short turns each
  tasks    only async programs; threads: only programs with plain threads
";

/// The compared memories.
const MEMORIES: [&str; 2] = ["sc", "c11"];

/// Prints the tables. Returns `false` if the words do not fit the grammar.
///
/// # Errors
/// If the program of plain threads cannot be built, or exits.
pub(crate) fn table(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let (mut quick, mut of_tasks, mut of_threads) = (false, true, true);
    for word in words {
        match word.as_str() {
            "quick" => quick = true,
            "tasks" => of_threads = false,
            "threads" => of_tasks = false,
            _ => return Ok(false),
        }
    }
    if cfg!(debug_assertions) {
        println!("A build without optimisation: these numbers say nothing.\n");
    }
    if of_tasks {
        tasks(quick);
    }
    if of_threads {
        threads(quick)?;
    }
    Ok(true)
}

/// Compares async programs, in nanoseconds per point.
fn tasks(quick: bool) {
    /// The maximum nanoseconds per point with orders weaker than `SeqCst`.
    const NANOS_MAX: f64 = 100.0;
    let turn = std::time::Duration::from_millis(if quick { 20 } else { 80 });
    let repetitions = if quick { 3 } else { 21 };
    let effort = Effort { repetitions, turn, runs_min: 20, clock: Clock::Processor };
    let rows: [(&str, (Ordering, Ordering)); 3] = [
        ("relaxed", (Relaxed, Relaxed)),
        ("acquire and release", (Acquire, Release)),
        ("SeqCst", (SeqCst, SeqCst)),
    ];
    let contestants = rows.iter().flat_map(|(_, orders)| {
        MEMORIES.map(|memory| -> Contestant<'static> {
            let settings = Settings { memory, orders: *orders, ..Settings::default() };
            Box::new(move |runs| _ = ours::run(Workload::W2, runs, settings))
        })
    });
    let times = side_by_side(&contestants.collect::<Vec<_>>(), effort);
    let nanos = |nth: usize| times[nth].median() * 1e9 / Workload::W2.points() as f64;
    let summary = Workload::W2.summary();
    println!("{summary}: nanoseconds a point, and c11 by sc: of medians (of the least)");
    println!("{:<20} {:>7} {:>7}", "", MEMORIES[0], MEMORIES[1]);
    for (nth, (name, orders)) in rows.iter().enumerate() {
        let (of_sc, of_c11) = (2 * nth, 2 * nth + 1);
        let least = times[of_c11].least() / times[of_sc].least();
        let (sc, c11) = (nanos(of_sc), nanos(of_c11));
        let bar = match orders {
            (SeqCst, SeqCst) => "the bar is 1.02 in instructions".to_owned(),
            _ => format!("<= {NANOS_MAX} ns {}", if c11 <= NANOS_MAX { "yes" } else { "NO" }),
        };
        println!("{name:<20} {sc:>7.1} {c11:>7.1}  {:>5.2}x ({least:.2}x)  {bar}", c11 / sc);
    }
    println!();
}

/// Compares programs with plain threads, in microseconds per run.
fn threads(quick: bool) -> Result<(), String> {
    /// The maximum time of a run with `c11`, as a multiple of the time with `sc`.
    const RATIO_MAX: f64 = 1.5;
    let (turns, runs) = if quick { (3, 200) } else { (9, 1000) };
    let mut ours = Ours::start()?;
    println!("Plain threads: microseconds of a run, the least of {turns} turns, and c11 by sc");
    println!("{:<20} {:>7} {:>7}", "", MEMORIES[0], MEMORIES[1]);
    let rows = [
        ("relaxed", "relaxed"),
        ("acquire and release", "ordered"),
        ("locks", "locks"),
        ("SeqCst, tiny", "tiny"),
    ];
    for (name, program) in rows {
        let mut least = [f64::INFINITY; 2];
        for turn in 0..turns {
            for (memory, least) in MEMORIES.iter().zip(&mut least) {
                let seeds = turn * runs..(turn + 1) * runs;
                let strategy = format!("random/{memory}");
                let cost = ours.cost("size", &strategy, program, seeds)?;
                *least = least.min(cost.micros);
            }
        }
        let ratio = least[1] / least[0];
        let met = if ratio <= RATIO_MAX { "yes" } else { "NO" };
        let [sc, c11] = least;
        println!("{name:<20} {sc:>7.1} {c11:>7.1}  {ratio:>5.2}x  <= {RATIO_MAX}x {met}");
    }
    Ok(())
}
