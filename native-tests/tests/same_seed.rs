//! A seed always gives the same run: again in one process, with more jobs, and in a process with other addresses.
//! Each run of the program fails, so that its report has the whole run. `UNPAUSE_LONG=1` compares 10,000 seeds.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use dashmap::DashMap;
use sim::Runner;

/// Threads send the contents of maps through a channel, in the order of the hashers.
fn program() {
    let (counts, found) = (Arc::new(DashMap::new()), Arc::new(Mutex::new(Vec::new())));
    let (sender, receiver) = mpsc::sync_channel(1);
    let threads = [1_u32, 2, 3].map(|number| {
        let (counts, found, sender) = (counts.clone(), found.clone(), sender.clone());
        thread::spawn(move || {
            *counts.entry(number % 2).or_insert(0) += number;
            let names: HashMap<_, _> = (0..4).map(|name| (name, number)).collect();
            found.lock().unwrap().push(*names.keys().next().unwrap());
            sender.send(number).unwrap();
        })
    });
    let received: Vec<u32> = (0..3).map(|_| receiver.recv().unwrap()).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let counts: Vec<_> = counts.iter().map(|count| (*count.key(), *count.value())).collect();
    panic!("{received:?}, {:?}, {counts:?}", found.lock().unwrap());
}

/// A hash of each run of seeds 0 to `seeds`: of its steps, draws, values and places, and of its message.
fn hashes(seeds: u64, jobs: usize) -> Vec<u64> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (process, nth) = (std::process::id(), COUNT.fetch_add(1, Relaxed));
    let out = std::env::temp_dir().join(format!("unpause-same-seed-{process}-{nth}"));
    let runner = Runner::new().name("same_seed").hermetic().shrink(false).jobs(jobs).out(&out);
    let hash = |seed| {
        let report = runner.clone().seeds(seed..seed + 1).run_native(program);
        let run = &report.finding.as_ref().expect("each run fails").run;
        let whole = (&run.outcome, &run.steps, &run.draws, &run.events, &run.output);
        let mut hasher = DefaultHasher::new();
        format!("{whole:?}").hash(&mut hasher);
        hasher.finish()
    };
    let hashes = (0..seeds).map(hash).collect();
    _ = std::fs::remove_dir_all(out);
    hashes
}

fn seeds() -> u64 {
    let long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    if long { 10_000 } else { 100 }
}

const CHILD: &str = "SAME_SEED_CHILD";

#[test]
fn equal_seeds_are_equal_runs() {
    let first = hashes(seeds(), 1);
    let different = first.iter().collect::<BTreeSet<_>>().len();
    assert!(different as u64 > seeds() / 2, "the seeds differ: {different} of {}", seeds());
    let jobs = hashes(seeds(), 3);
    let mut child = Command::new(std::env::current_exe().unwrap());
    let child = child.args(["--exact", "prints_its_hashes", "--nocapture"]).env(CHILD, "1");
    let printed = String::from_utf8(child.output().unwrap().stdout).unwrap();
    let printed: BTreeSet<&str> = printed.lines().collect();
    for (seed, hash) in first.iter().enumerate() {
        assert_eq!(*hash, jobs[seed], "seed {seed} with 3 jobs");
        let line = format!("seed {seed}: {hash:016x}");
        assert!(printed.contains(&*line), "seed {seed} in another process");
    }
    let mut all = DefaultHasher::new();
    first.hash(&mut all);
    println!("{} seeds, {different} different runs, hash {:016x}", seeds(), all.finish());
}

/// The system's threads and a run's threads lock the same mutex in std when they begin and end. It is part of no run.
#[test]
fn threads_that_begin_beside_a_run_do_not_change_it() {
    let (alone, stop) = (hashes(100, 1), Arc::new(AtomicBool::new(false)));
    for _ in 0..3 {
        let stop = stop.clone();
        thread::spawn(move || {
            while !stop.load(Relaxed) {
                thread::spawn(|| ()).join().unwrap();
            }
        });
    }
    let beside = hashes(100, 1);
    stop.store(true, Relaxed);
    let differ = (0..100).filter(|seed| alone[*seed] != beside[*seed]).collect::<Vec<_>>();
    assert!(differ.is_empty(), "other runs beside threads that begin: seeds {differ:?}");
}

#[test]
fn prints_its_hashes() {
    if std::env::var_os(CHILD).is_some() {
        println!("at {:p}", prints_its_hashes as fn());
        for (seed, hash) in hashes(seeds(), 1).iter().enumerate() {
            println!("\nseed {seed}: {hash:016x}");
        }
    }
}
