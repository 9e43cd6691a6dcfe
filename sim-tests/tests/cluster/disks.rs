//! Disk faults that a nemesis injects: planted bugs with their fixed twins, searches, and the number of disks that lose
//! data.

mod programs;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sim::fs::{self, DiskFault, File, OpenOptions};
use sim::nemesis::{Nemesis, Tolerance, Victim};
use sim::report::Report;
use sim::time::{Duration, Instant, sleep};
use sim::{Node, Runner, node, spawn};

use super::{failure, passes, proves, screen, search};

const MS: Duration = Duration::from_millis(1);

fn sampled(seeds: u64, body: impl AsyncFn() + Sync) -> Report {
    Runner::new().hermetic().seeds(0..seeds).run(body)
}

/// Returns the lines about faults in the run that the report shows, with the names of their victims.
fn faults(report: &Report) -> Vec<String> {
    let run = &report.finding.as_ref().expect("it passed").run;
    let of_nemesis = run.events.iter().filter_map(|event| {
        let object = &run.objects[event.object?.index()];
        let name = object.name.unwrap_or_default();
        (object.kind == "nodes").then(|| format!("{} {name}", event.op.name))
    });
    of_nemesis.filter(|text| !text.starts_with("mend") && !text.starts_with("restart")).collect()
}

/// The length of a record of a log.
const RECORD: usize = 600;

/// The mistakes of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Log {
    Right,
    /// Syncs again after an error.
    SyncsAgain,
    /// Takes no notice of the error of a sync.
    Ignores,
    /// Assumes that a write is complete, although it may be short.
    WritesOnce,
}

impl Log {
    /// Writes a record to a separate file, and makes it durable.
    async fn append(self, n: u8) -> io::Result<()> {
        let mut file = File::create(format!("/{n}")).await?;
        match self {
            Log::WritesOnce => drop(file.write(&[n; RECORD]).await?),
            _ => file.write_all(&[n; RECORD]).await?,
        }
        match self {
            Log::SyncsAgain => while file.sync_all().await.is_err() {},
            Log::Ignores => drop(file.sync_all().await),
            Log::Right | Log::WritesOnce => file.sync_all().await?,
        }
        File::open("/").await?.sync_all().await
    }
}

async fn has(n: u8) -> bool {
    fs::read(format!("/{n}")).await.is_ok_and(|bytes| bytes == [n; RECORD])
}

/// Runs three nodes, each with a copy of a log. A record is acknowledged if two nodes have stored it. After a power
/// failure, two disks must still contain each such record. Returns the number of such records.
async fn replicates(log: Log, nemesis: Nemesis) -> usize {
    let nodes = ["n1", "n2", "n3"].map(node);
    let faults = spawn(nemesis.run(&nodes));
    let mut known = Vec::new();
    for n in 1..=2_u8 {
        let copies = nodes.each_ref().map(|node| node.spawn(log.append(n)));
        let mut stored = 0;
        for copy in copies {
            stored += usize::from(matches!(copy.await, Ok(Ok(()))));
        }
        known.extend((stored >= 2).then_some(n));
    }
    faults.await.unwrap();
    nodes.iter().for_each(Node::power_off);
    nodes.iter().for_each(Node::restart);
    for n in &known {
        let mut found = 0;
        for node in &nodes {
            found += usize::from(node.spawn(has(*n)).await.unwrap());
        }
        assert!(found >= 2, "record {n} is on {found} disks");
    }
    known.len()
}

fn bad_disks(faults: impl IntoIterator<Item = DiskFault>) -> Nemesis {
    Nemesis::new().disk(Victim::any(), faults).faults(2..=5)
}

#[cfg_attr(feature = "sim", test)]
fn a_log_that_acknowledges_what_its_disk_has_not_is_found() {
    for log in [Log::SyncsAgain, Log::Ignores, Log::WritesOnce] {
        let kinds = [DiskFault::SyncErrors, DiskFault::Short, DiskFault::Full];
        let is_shrunk = log == Log::SyncsAgain;
        let found = Runner::new().hermetic().seeds(0..500).shrink(is_shrunk).run(async || {
            replicates(log, bad_disks(kinds)).await;
        });
        assert!(failure(&found).kind() == "panic", "{log:?}: {}", screen(&found));
        let faults = faults(&found);
        let kind = if log == Log::WritesOnce { "Short" } else { "SyncErrors" };
        let is_needed = |text: &String| text.starts_with("disk n") && text.contains(kind);
        assert!(faults.iter().any(is_needed), "{log:?}: {}", screen(&found));
        assert!(!is_shrunk || faults.len() == 1, "{log:?}: {}", screen(&found));
    }
    let known = AtomicUsize::new(0);
    let right = sampled(100, async || {
        known.fetch_add(replicates(Log::Right, bad_disks(DiskFault::PASSING)).await, Relaxed);
    });
    passes(&right);
    let [count] = &right.faults[..] else { panic!("{:?}", right.faults) };
    assert!(count.kind == "disk" && count.met > 9 && count.met < count.times, "{count:?}");
    assert!(known.into_inner() > 100);
}

/// A log on one disk.
async fn saves(log: Log, nemesis: Nemesis) {
    let db = node("db");
    let faults = spawn(nemesis.run(std::slice::from_ref(&db)));
    let is_saved = matches!(db.spawn(log.append(1)).await, Ok(Ok(())));
    faults.await.unwrap();
    db.power_off();
    db.restart();
    assert!(db.spawn(has(1)).await.unwrap() || !is_saved);
}

fn one(fault: DiskFault) -> Nemesis {
    Nemesis::new().disk(Victim::one(), [fault]).faults(0..=1).gaps([]).lasting([])
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_the_faults_of_a_disk_at_each_call() {
    let bugs = [
        (Log::SyncsAgain, DiskFault::SyncErrors),
        (Log::Ignores, DiskFault::SyncErrors),
        (Log::WritesOnce, DiskFault::Short),
    ];
    for (log, fault) in bugs {
        let found = search().run(async || saves(log, one(fault)).await);
        assert!(failure(&found).kind() == "panic", "{log:?}: {}", screen(&found));
        // The bug needs the fault.
        proves(&search().run(async || saves(log, one(DiskFault::Full)).await));
        let right = search().run(async || saves(Log::Right, one(fault)).await);
        passes(&right);
        // Writes that are short repeatedly need more runs than a search executes.
        let is_proof = right.searched.as_ref().unwrap().is_proof();
        assert_eq!(is_proof, fault != DiskFault::Short, "{}", screen(&right));
    }
    proves(&search().run(async || saves(Log::Right, one(DiskFault::Slow(MS))).await));
}

/// A search proves nothing if a task could suffer more faults than it tries.
#[cfg_attr(feature = "sim", test)]
fn a_search_says_if_calls_could_fail_more_often() {
    let report = search().run(async || {
        let db = node("db");
        fs::on(&db).begin(DiskFault::Full);
        let task = db.spawn(async {
            let mut file = File::create("/a").await.unwrap();
            for _ in 0..6 {
                let _ = file.write(b"a").await;
            }
        });
        task.await.unwrap();
    });
    assert!(
        report.passed() && !report.searched.as_ref().unwrap().is_proof(),
        "{}",
        screen(&report)
    );
}

/// A value on three disks, known to be there when two have it.
async fn stores(nemesis: Nemesis) {
    let nodes = ["n1", "n2", "n3"].map(node);
    let mut copies = 0;
    for node in &nodes[..2] {
        copies += usize::from(node.spawn(Log::Right.append(1)).await.unwrap().is_ok());
    }
    assert_eq!(copies, 2);
    nemesis.run(&nodes).await;
    let mut found = 0;
    for node in &nodes {
        found += usize::from(node.spawn(has(1)).await.unwrap());
    }
    assert!(found > 0, "it is on no disk");
}

#[cfg_attr(feature = "sim", test)]
fn two_copies_outlive_one_lost_disk_and_not_two() {
    let wipes = |disks| {
        let tolerance = Tolerance::nodes(3).disks(disks);
        Nemesis::new().wipe(Victim::any()).kill(Victim::any()).faults(1..=4).tolerance(tolerance)
    };
    let found = sampled(300, async || stores(wipes(2)).await);
    assert!(failure(&found).kind() == "panic", "{}", screen(&found));
    let faults = faults(&found);
    assert!(faults.iter().all(|text| text.starts_with("wipe")), "{}", screen(&found));
    let right = sampled(1000, async || stores(wipes(1)).await);
    passes(&right);
    let met = right.faults.iter().find(|count| count.kind == "wipe").unwrap();
    assert!(met.met > 300, "{:?}", right.faults);

    // All orders.
    let few = |disks| wipes(disks).faults(0..=2).gaps([]).lasting([]);
    assert!(!search().run(async || stores(few(2)).await).passed());
    proves(&search().run(async || stores(few(1)).await));
}

/// The contents of two sectors.
fn halves() -> Vec<u8> {
    [[7; 512], [8; 512]].concat()
}

/// Returns the number of disks that lost something under these faults, in the worst of 30 runs: among all nodes, and
/// among the first two nodes.
fn lost(nemesis: impl Fn(&[Node]) -> Nemesis + Sync) -> (usize, usize) {
    let most = StdMutex::new((0, 0));
    passes(&sampled(30, async || {
        let nodes = ["n1", "n2", "n3", "n4"].map(node);
        for node in &nodes {
            node.spawn(async {
                fs::write("/a", halves()).await.unwrap();
                for name in ["/a", "/"] {
                    File::open(name).await.unwrap().sync_all().await.unwrap();
                }
            })
            .await
            .unwrap();
            node.run(async || {
                for _ in 0..12 {
                    drop(fs::read("/a").await);
                    // Bits of unsynced data do not rot.
                    if let Ok(file) = OpenOptions::new().write(true).open("/a").await {
                        let _ = file.write_at(&[8; 512], 512).await;
                        let _ = file.sync_all().await;
                    }
                    sleep(MS).await;
                }
            });
        }
        nemesis(&nodes).faults(6..=6).run(&nodes).await;
        let mut lost = BTreeSet::new();
        for (n, node) in nodes.iter().enumerate() {
            let found = node.spawn(fs::read("/a")).await.unwrap();
            lost.extend((found.ok() != Some(halves())).then_some(n));
        }
        let mut most = most.lock().unwrap();
        let of_two = lost.iter().filter(|n| **n < 2).count();
        *most = (most.0.max(lost.len()), most.1.max(of_two));
    }));
    most.into_inner().unwrap()
}

#[cfg_attr(feature = "sim", test)]
fn no_more_disks_are_lost_than_tolerated() {
    let all = |victim: fn() -> Victim| Nemesis::new().wipe(victim()).disk(victim(), DiskFault::ALL);
    let bound = |disks| Tolerance::nodes(4).disks(disks);
    assert_eq!(lost(|_| all(Victim::any).tolerance(bound(1))).0, 1);
    assert_eq!(lost(|_| all(Victim::one).tolerance(bound(3))).0, 3);
    let halves = |nodes: &[Node]| bound(1).per([&nodes[..2], &nodes[2..]]);
    assert_eq!(lost(|nodes| all(Victim::any).tolerance(halves(nodes))), (2, 1));
    // Faults that pass take nothing, and need no bound.
    assert_eq!(
        lost(|_| Nemesis::new().disk(
            Victim::any(),
            DiskFault::PASSING
                .into_iter()
                .filter(|fault| *fault != DiskFault::SyncErrors && *fault != DiskFault::Full)
        )),
        (0, 0)
    );
    // If the nodes are named, the number of their disks is not bounded.
    assert_eq!(lost(|nodes| Nemesis::new().wipe(Victim::these(&nodes[..1]))), (1, 1));
}

#[cfg_attr(feature = "sim", test)]
fn disks_are_taken_with_a_bound_or_by_name() {
    let rots = || Nemesis::new().disk(Victim::one(), [DiskFault::Short, DiskFault::Rot]);
    for nemesis in [
        || Nemesis::new().wipe(Victim::one()),
        || Nemesis::new().wipe(Victim::any()).tolerance(Tolerance::nodes(1)),
        rots,
    ] {
        let report = Runner::new().hermetic().run(async || {
            nemesis().run(&[node("a")]).await;
        });
        let text = screen(&report);
        assert!(!report.passed() && text.contains("Tolerance::nodes(..).disks(..)"), "{text}");
    }
    passes(&Runner::new().hermetic().run(async || {
        let nodes = [node("a")];
        rots().tolerance(Tolerance::nodes(1).disks(1)).run(&nodes).await;
        Nemesis::new().wipe(Victim::these(&nodes)).run(&nodes).await;
    }));
}

/// Writes a file and reads it. Returns `true` if the content is unchanged since the write.
async fn keeps() -> io::Result<bool> {
    fs::write("/a", vec![7; 1024]).await?;
    File::open("/a").await?.sync_all().await?;
    Ok(fs::read("/a").await? == [7; 1024])
}

/// Each disk fault is injected, and calls on the disk run one after the other.
#[cfg_attr(feature = "sim", test)]
fn each_fault_is_met_and_passes() {
    for fault in DiskFault::ALL {
        let (failed, rotten) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let report = sampled(15, async || {
            let db = node("db");
            let nemesis = Nemesis::new().disk(Victim::these([&db]), [fault]).must_meet();
            let faults = spawn(nemesis.run(std::slice::from_ref(&db)));
            for n in 0..24 {
                match db.spawn(keeps()).await.unwrap() {
                    Err(_) => drop(failed.fetch_add(1, Relaxed)),
                    Ok(is_right) => drop(rotten.fetch_add(usize::from(!is_right), Relaxed)),
                }
                if n % 8 == 0 {
                    sleep(MS).await;
                }
            }
            faults.await.unwrap();
            assert!(db.spawn(keeps()).await.unwrap().unwrap(), "the disk is well again");
        });
        passes(&report);
        let (failed, rotten) = (failed.into_inner(), rotten.into_inner());
        let fails =
            matches!(fault, DiskFault::ReadErrors | DiskFault::Full | DiskFault::SyncErrors);
        assert_eq!((failed > 0, rotten > 0), (fails, fault.takes_data()), "{fault:?}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_call_of_a_slow_disk_takes_time() {
    proves(&search().run(async || {
        let [db, other] = ["db", "other"].map(node);
        let slow = DiskFault::Slow(20 * MS);
        fs::on(&db).begin(slow);
        fs::on(&db).begin(slow);
        fs::on(&db).end(slow);
        let calls = async || {
            let begin = Instant::now();
            let mut file = File::create("/a").await.unwrap();
            file.write_all(b"a").await.unwrap();
            file.sync_all().await.unwrap();
            begin.elapsed()
        };
        let [of_db, of_other] = [&db, &other].map(|node| node.spawn(calls()));
        assert_eq!((of_db.await.unwrap(), of_other.await.unwrap()), (60 * MS, Duration::ZERO));
        fs::on(&db).end(slow);
        fs::on(&db).end(slow);
        assert_eq!(db.spawn(calls()).await.unwrap(), Duration::ZERO);
    }));
}

/// A fault is of the disk: it outlasts the death of the node.
#[cfg_attr(feature = "sim", test)]
fn a_fault_outlasts_a_death_and_quiesce_ends_it() {
    let body = async |quiesces: bool| {
        let db = node("db");
        fs::on(&db).begin(DiskFault::Full);
        db.kill();
        db.restart();
        if quiesces {
            sim::nemesis::quiesce(std::slice::from_ref(&db), MS).await;
        }
        let written = db.spawn(fs::write("/a", "a")).await.unwrap();
        assert!(written.is_ok());
    };
    let found = search().run(async || body(false).await);
    assert!(!found.passed() && screen(&found).contains("disk of db (Full)"), "{}", screen(&found));
    proves(&search().run(async || body(true).await));
    // Disk faults also affect files that the test uses from outside the node.
    let visits = search().run(async || {
        let db = node("db");
        let begins = {
            let db = db.clone();
            spawn(async move { fs::on(&db).begin(DiskFault::Full) })
        };
        let written = db.enter(|| fs::write("/a", "a")).await;
        begins.await.unwrap();
        assert!(written.is_ok(), "{:?}", written.unwrap_err().kind() == ErrorKind::StorageFull);
    });
    assert!(!visits.passed());
}
