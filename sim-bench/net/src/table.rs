//! The table: a row for each workload, with the bars and their results.

use crate::measure::{Contestant, Effort, Times, side_by_side};
use crate::peers::{PEERS, Peer};
use crate::workload::Workload;

/// Measures the workloads and prints them as they come.
pub(crate) fn print(workloads: &[Workload], effort: Effort) {
    println!(
        "Thousands of messages per second and core, in rows named `tiny` of runs. In brackets"
    );
    println!("how many times the peer's rate ours is: of medians, of the least times");
    print!("{:<11} {:>8}", "", "ours");
    for peer in &PEERS[1..] {
        print!("  {:>24}", peer.name);
    }
    println!("  bar, of the better");
    for workload in workloads {
        let times = measure(*workload, effort);
        let rate = |times: &Times| workload.units() as f64 / times.median() / 1e3;
        let ours = times[0].as_ref().expect("ours runs everything");
        print!("{:<11} {:>8.0}", workload.name, rate(ours));
        for times in &times[1..] {
            let cell = times.as_ref().map(|peer| {
                let (medians, least) = (peer.median() / ours.median(), peer.least() / ours.least());
                format!("{:.0}  ({medians:.1}, {least:.1})", rate(peer))
            });
            print!("  {:>24}", cell.as_deref().unwrap_or("-"));
        }
        println!("  {}", judge(*workload, ours, &times[1..]));
    }
    println!();
    for workload in workloads {
        println!("{:<11} {}", workload.name, workload.summary);
    }
}

/// The times of each peer for a run; `None` for a peer that cannot run it.
fn measure(workload: Workload, effort: Effort) -> Vec<Option<Times>> {
    let able = PEERS.iter().filter(|peer| (peer.can)(workload));
    let contestant = |peer: &'static Peer| -> Contestant<'static> {
        Box::new(move |runs| (peer.run)(workload, runs))
    };
    let contestants: Vec<Contestant<'_>> = able.map(contestant).collect();
    let mut measured = side_by_side(&contestants, effort).into_iter();
    PEERS.iter().map(|peer| (peer.can)(workload).then(|| measured.next()).flatten()).collect()
}

/// The bar with `yes` or `NO`.
fn judge(workload: Workload, ours: &Times, peers: &[Option<Times>]) -> String {
    let best = peers.iter().flatten().map(Times::median).fold(f64::INFINITY, f64::min);
    match workload.ratio_min {
        0.0 => String::new(),
        bar if best / ours.median() >= bar => format!(">= {bar}x yes"),
        bar => format!(">= {bar}x NO"),
    }
}
