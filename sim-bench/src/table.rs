//! The tables: measured rows as text, with the bars and their results.
//!
//! Bars are shown and never asserted, because a test of time would fail if other programs use the
//! machine.

use crate::measure::{Clock, Contestant, Effort, Times, side_by_side};
use crate::peers::ours::{self, Settings};
use crate::peers::{PEERS, Peer};
use crate::workload::{Bars, Workload};

/// Prints one row for each workload, with our time and the peers' times, as soon as it is measured.
pub(crate) fn peers(workloads: &[Workload], effort: Effort) {
    println!(
        "Nanoseconds per point, the peers with their ratio to ours: of medians (of the least)"
    );
    print!("{:<5} {:>6} {:>6} {:>7}", "", "points", "steps", "ours");
    for peer in &PEERS[1..] {
        print!("  {:>21}", peer.name);
    }
    println!("  bars");
    let mut by_run = Vec::new();
    for workload in workloads {
        let times = measure(*workload, effort);
        let ours = times[0].as_ref().expect("ours runs everything");
        let points = workload.points();
        let nanos = |seconds: f64| seconds * 1e9 / points as f64;
        let steps = steps_of(*workload);
        print!("{:<5} {points:>6} {steps:>6} {:>7.1}", workload.name(), nanos(ours.median()));
        for times in &times[1..] {
            match times {
                Some(peer) => print!("  {:>21}", beside(peer, ours, nanos(peer.median()))),
                None => print!("  {:>21}", "-"),
            }
        }
        println!("  {}", judge(*workload, &times));
        if workload.is_by_run() {
            by_run.push((*workload, times));
        }
    }
    runs_per_second(&by_run);
    for workload in workloads {
        println!("{:<5} {}", workload.name(), workload.summary());
    }
    println!();
}

fn runs_per_second(rows: &[(Workload, Vec<Option<Times>>)]) {
    if rows.is_empty() {
        println!();
        return;
    }
    println!("\nThousands of runs per second, ours with how many times each peer");
    print!("{:<5} {:>8}", "", "ours");
    for peer in &PEERS[1..] {
        print!("  {:>18}", peer.name);
    }
    println!();
    for (workload, times) in rows {
        let rate = |times: &Times| 1e-3 / times.median();
        let ours = times[0].as_ref().expect("ours runs everything");
        print!("{:<5} {:>8.0}", workload.name(), rate(ours));
        for times in &times[1..] {
            let cell = times
                .as_ref()
                .map(|peer| format!("{:.0}  {:>6.1}x", rate(peer), peer.median() / ours.median()));
            print!("  {:>18}", cell.as_deref().unwrap_or("-"));
        }
        println!();
    }
    println!();
}

/// Measures one row; `None` for a peer that cannot run the workload.
fn measure(workload: Workload, effort: Effort) -> Vec<Option<Times>> {
    let able: Vec<&Peer> = PEERS.iter().filter(|peer| (peer.can)(workload)).collect();
    let contestant = |peer: &&Peer| -> Contestant<'static> {
        let run = peer.run;
        Box::new(move |runs| run(workload, runs))
    };
    let contestants: Vec<Contestant<'_>> = able.iter().map(contestant).collect();
    let mut measured = side_by_side(&contestants, effort).into_iter();
    let mut times = |peer: &Peer| if (peer.can)(workload) { measured.next() } else { None };
    PEERS.iter().map(&mut times).collect()
}

/// Returns the number of steps of one of our runs.
fn steps_of(workload: Workload) -> u64 {
    const RUNS: u64 = 10;
    ours::run(workload, RUNS, Settings::default()).div_ceil(RUNS)
}

fn beside(peer: &Times, ours: &Times, nanos: f64) -> String {
    let (medians, least) = (peer.median() / ours.median(), peer.least() / ours.least());
    format!("{nanos:.0}  {medians:>5.1}x ({least:.1}x)")
}

/// Returns the bars of a workload, each with `yes` or `NO`.
fn judge(workload: Workload, times: &[Option<Times>]) -> String {
    let Bars { nanos_max, ratio_min, rate_min } = workload.bars();
    let ours = times[0].as_ref().expect("ours runs everything").median();
    let shuttles = PEERS.iter().zip(times).filter(|(peer, _)| peer.name.starts_with("shuttle"));
    let fastest = shuttles.filter_map(|(_, times)| times.as_ref().map(Times::median));
    let ratio = fastest.fold(f64::INFINITY, f64::min) / ours;
    let mut bars = Vec::new();
    let mut bar =
        |text: String, met| bars.push(format!("{text} {}", if met { "yes" } else { "NO" }));
    if nanos_max > 0.0 {
        let met = ours * 1e9 / workload.points() as f64 <= nanos_max;
        bar(format!("<= {nanos_max} ns"), met);
    }
    if rate_min > 0.0 {
        bar(format!(">= {} M/s", rate_min / 1e6), 1.0 / ours >= rate_min);
    }
    if ratio_min > 0.0 {
        bar(format!(">= {ratio_min}x"), ratio >= ratio_min);
    }
    bars.join(", ")
}

/// Compares our strategies, in nanoseconds per point.
pub(crate) fn strategies(effort: Effort) {
    const WORKLOADS: [Workload; 5] =
        [Workload::W1, Workload::W2, Workload::W3, Workload::W7, Workload::W8];
    const RATIO_MAX: f64 = 2.0;
    println!("Our strategies: nanoseconds per point, and how many times the random walk");
    print!("{:<11}", "");
    for workload in WORKLOADS {
        print!(" {:>14}", workload.name());
    }
    println!("  bar: <= {RATIO_MAX}x");
    let names = sim::strategy::STRATEGIES.iter().map(|row| row.name);
    // The exhaustive strategy may have explored everything before all runs are done.
    let others = names.filter(|name| !["exhaustive", "random"].contains(name));
    let names: Vec<&str> = std::iter::once("random").chain(others).collect();
    let rows = WORKLOADS.map(|workload| {
        let contestant = |strategy: &&'static str| -> Contestant<'static> {
            let settings = Settings { strategy, ..Settings::default() };
            Box::new(move |runs| {
                ours::run(workload, runs, settings);
            })
        };
        let contestants: Vec<Contestant<'_>> = names.iter().map(contestant).collect();
        side_by_side(&contestants, effort)
    });
    for (i, name) in names.iter().enumerate() {
        print!("{name:<11}");
        let mut met = true;
        for (workload, times) in WORKLOADS.iter().zip(&rows) {
            let nanos = times[i].median() * 1e9 / workload.points() as f64;
            let ratio = times[i].median() / times[0].median();
            met &= ratio <= RATIO_MAX;
            print!(" {:>14}", format!("{nanos:.1}  {ratio:>4.1}x"));
        }
        println!("  {}", if met { "yes" } else { "NO" });
    }
    println!();
}

/// Measures the gain of a second worker thread: runs per second with one job and with two.
pub(crate) fn workers(effort: Effort) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = cores.min(2);
    println!(
        "Workers, of {cores} cores: thousands of runs per second by the clock on the wall, so other\nprograms on the machine count"
    );
    println!(
        "{:<5} {:>9} {:>9}  {:>6}  bar: >= 0.9 x jobs",
        "",
        "1 job",
        format!("{jobs} jobs"),
        ""
    );
    for workload in [Workload::W3, Workload::W2] {
        let contestant = |jobs: usize| -> Contestant<'static> {
            let settings = Settings { jobs, ..Settings::default() };
            Box::new(move |runs| {
                ours::run(workload, runs, settings);
            })
        };
        // The second worker starts only once it pays off, so a turn must be long enough.
        let effort = Effort { turn: effort.turn * 2, clock: Clock::Wall, ..effort };
        let times = side_by_side(&[contestant(1), contestant(jobs)], effort);
        let [one, all] = [0, 1].map(|i| 1e-3 / times[i].median());
        let met = if all / one >= 0.9 * jobs as f64 { "yes" } else { "NO" };
        println!("{:<5} {one:>9.1} {all:>9.1}  {:>5.2}x  {met}", workload.name(), all / one);
    }
    println!();
}
