//! The moment of a fault is drawn among the steps of its victim, by every strategy of the portfolio.

use std::sync::Arc;

use sim::fs::{self, File};
use sim::strategy::STRATEGIES;
use sim::{Atomic, Ordering::SeqCst, Runner};
use sim_tests::histories::long;
use sim_tests::moments::FAULTS;

/// The random walk has no memory of the steps of a task, so the moment of a fault is geometric there. The portfolio
/// does not contain it.
const NOT_PROMISED: &str = "random";

#[cfg_attr(feature = "sim", test)]
fn the_worst_moment_of_each_fault_takes_at_most_three_times_the_runs_of_a_uniform_draw() {
    let lengths: &[u64] = if long() { &[1, 2, 3, 5, 8, 12, 20, 30] } else { &[2, 12] };
    for fault in FAULTS {
        for row in STRATEGIES.iter().filter(|row| row.name != NOT_PROMISED) {
            for steps in lengths.iter().copied() {
                // With this number of seeds, even the rarest gap is counted often enough.
                let seeds = if long() { 20_000 } else { 100 * (steps + 5) };
                let worst = fault.worst(row.name, steps, 0..seeds);
                assert!(worst <= 3.0, "{}, {}: {worst:.1} of {steps} steps", fault.name, row.name);
            }
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_kill_falls_in_one_gap() {
    for row in STRATEGIES.iter().filter(|row| row.name != NOT_PROMISED) {
        for late in [8, 10, 11] {
            let runner = Runner::new().hermetic().shrink(false).strategy(row.name).seeds(0..300);
            let report = runner.run(async move || {
                let count = Arc::new(Atomic::new(0_u32));
                let db = sim::node("db");
                let life = {
                    let count = count.clone();
                    db.spawn(async move {
                        for _ in 0..12 {
                            count.fetch_add(1, SeqCst).await;
                        }
                    })
                };
                let killing = db.clone();
                sim::spawn(async move { killing.kill() }).await.unwrap();
                _ = life.await;
                assert!(count.load(SeqCst).await != late, "in the gap");
            });
            assert!(!report.passed(), "{} misses the gap after {late} calls", row.name);
        }
    }
}

/// Appends a record to a journal of two files. The index must not be longer than the data after a power failure.
async fn journal(is_fixed: bool) -> std::io::Result<()> {
    let (mut data, mut index) = (File::create("/data").await?, File::create("/index").await?);
    data.sync_all().await?;
    index.sync_all().await?;
    File::open("/").await?.sync_all().await?;
    data.write_all(b"record").await?;
    if is_fixed {
        data.sync_all().await?;
    }
    index.write_all(b"offset").await?;
    let (data, index) = sim::join!(data.sync_all(), index.sync_all());
    data.and(index)
}

#[cfg_attr(feature = "sim", test)]
fn a_journal_that_syncs_two_files_at_once_is_found() {
    let passes = |strategy: &str, is_fixed: bool| {
        let seeds = if is_fixed { 0..300 } else { 0..2000 };
        let runner = Runner::new().hermetic().shrink(false).strategy(strategy).seeds(seeds);
        let report = runner.run(async move || {
            let db = sim::node("db");
            let life = db.spawn(journal(is_fixed));
            let failing = db.clone();
            sim::spawn(async move { failing.power_off() }).await.unwrap();
            _ = life.await;
            db.restart();
            let lengths = db.spawn(async {
                let [data, index] = ["/data", "/index"];
                (
                    fs::read(data).await.unwrap_or_default().len(),
                    fs::read(index).await.unwrap_or_default().len(),
                )
            });
            let (data, index) = lengths.await.unwrap();
            assert!(index <= data, "the index names a record that is not there");
        });
        report.passed()
    };
    for row in STRATEGIES.iter().filter(|row| row.name != NOT_PROMISED) {
        assert!(!passes(row.name, false), "{}", row.name);
        assert!(passes(row.name, true), "{}", row.name);
    }
}
