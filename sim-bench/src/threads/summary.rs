//! The means over the rows.

use super::shuttle::PEERS;
use super::{Row, Seen};

/// Prints the geometric means over all programs, and over each half of them. So a choice that was made on one half can
/// be checked on the other.
pub(super) fn print(strategies: &[String], rows: &[(usize, Row)]) {
    let halves: [(&str, fn(usize) -> bool); 3] = [
        ("all programs", |_| true),
        ("programs in even places", |index| index % 2 == 0),
        ("programs in odd places", |index| index % 2 == 1),
    ];
    for (title, is_in) in halves {
        let rows: Vec<&Row> =
            rows.iter().filter(|(index, _)| is_in(*index)).map(|(_, row)| row).collect();
        if !rows.is_empty() {
            half(title, strategies, &rows);
        }
    }
    let ratios = rows.iter().map(|(_, row)| row.micros[0] / row.micros[1]);
    println!("\nA run of the default by one of shuttle's random walk: {:.2}", mean(ratios));
}

fn half(title: &str, strategies: &[String], rows: &[&Row]) {
    let random = mean(rows.iter().map(|row| row.theirs[0].median()));
    let best = mean(rows.iter().map(|row| row.best()));
    println!("\n{title} ({}), geometric mean of the medians", rows.len());
    println!("{:<14} {:>7} {:>10} {:>8} {:>12}", "", "runs", "of random", "of best", "never found");
    let line = |name: &str, seen: Vec<&Seen>| {
        let runs = mean(seen.iter().map(|seen| seen.median()));
        let never = seen.iter().filter(|seen| seen.never).count();
        println!("{name:<14} {runs:>7.2} {:>10.2} {:>8.2} {never:>12}", runs / random, runs / best);
    };
    for (at, strategy) in strategies.iter().enumerate() {
        line(strategy, rows.iter().map(|row| &row.ours[at]).collect());
    }
    for (at, peer) in PEERS.iter().enumerate() {
        line(peer.name, rows.iter().map(|row| &row.theirs[at]).collect());
    }
    println!("{:<14} {best:>7.2} {:>10.2} {:>8.2}", "shuttle's best", best / random, 1.0);
}

/// Returns the geometric mean.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}
