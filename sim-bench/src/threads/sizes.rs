//! The cost of a tiny run and of a point of a long run, compared with shuttle and loom.

use super::Effort;
use super::loom;
use super::ours::Ours;
use super::shuttle::{self, PEERS};

/// The microseconds per run of the tiny program and of the long program.
type Micros = [f64; 2];

/// Prints the table. Each figure is the minimum of several turns.
pub(super) fn table(ours: &mut Ours, effort: Effort) -> Result<(), String> {
    let (tiny, long) = (effort.turn * 10, effort.turn / 10);
    let mut least: [(&str, Micros); 4] =
        ["portfolio", "random", "shuttle rnd", "loom"].map(|name| (name, [f64::INFINITY; 2]));
    for turn in 0..effort.turns {
        let mut seen: [Micros; 4] = [[0.0; 2]; 4];
        for (strategy, micros) in ["portfolio", "random"].into_iter().zip(&mut seen) {
            let mut cost = |program, runs| {
                let seeds = turn * runs..(turn + 1) * runs;
                ours.cost("size", strategy, program, seeds).map(|cost| cost.micros)
            };
            *micros = [cost("tiny", tiny)?, cost("long", long)?];
        }
        let theirs = |program, runs| PEERS[0].cost(program, turn, runs);
        seen[2] = [theirs(shuttle::sizes::tiny, tiny), theirs(shuttle::sizes::long, long)];
        seen[3] =
            [loom::cost(loom::sizes::tiny, tiny), loom::cost(loom::sizes::long, long.min(20))];
        for ((_, least), seen) in least.iter_mut().zip(seen) {
            *least = [least[0].min(seen[0]), least[1].min(seen[1])];
        }
    }
    println!("\nProcessor time of a run of two threads with two operations each, and of a point");
    println!("{:<14} {:>9} {:>9}", "", "us a run", "ns a point");
    for (name, [tiny, long]) in least {
        let point = (long - tiny) * 1000.0 / shuttle::sizes::OPERATIONS_MORE as f64;
        println!("{name:<14} {tiny:>9.2} {point:>9.0}");
    }
    Ok(())
}
