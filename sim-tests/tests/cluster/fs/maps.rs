//! Mapped files: words and slices, their contents after a power failure, and the orders that a search tries.

mod brute;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex};

use sim::Ordering::SeqCst;
use sim::fs::{Faults, Map};
use sim::run::Failure;

use super::super::failure;
use super::*;

/// Creates a durable file of `len` zeros under `root`, and a map of it.
async fn mapped_at(root: &Path, len: u64) -> (File, Map) {
    let mut options = OpenOptions::new();
    let path = root.join("log");
    let file = options.read(true).write(true).create(true).truncate(true).open(path).await.unwrap();
    file.set_len(len).await.unwrap();
    file.sync_all().await.unwrap();
    File::open(root).await.unwrap().sync_all().await.unwrap();
    let map = Map::open(&file, 0..len).await.unwrap();
    (file, map)
}

async fn mapped(len: u64) -> Map {
    mapped_at(Path::new("/"), len).await.1
}

/// The body in runs, and once on a directory of the system.
fn in_both(name: &str, body: impl AsyncFn(PathBuf) + Sync) {
    if sim::SIMULATED {
        passes(&sampled(0..3, async || body("/".into()).await));
    }
    let root = std::env::temp_dir().join(format!("sim-map-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    sim::block_on(body(root.clone()));
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn a_map_is_the_file() {
    in_both("is", async |root: PathBuf| {
        let (file, map) = mapped_at(&root, 4096).await;
        let other = Map::open(&file, 512..1024).await.unwrap();
        assert_eq!((map.len(), other.len()), (4096, 512));
        let word = map.word::<u64>(512);
        word.store(7, SeqCst).await;
        assert_eq!(other.word::<u64>(0).fetch_add(3, SeqCst).await, 7);
        let mut bytes = [0; 8];
        file.read_at(&mut bytes, 512).await.unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 10);
        file.write_at(&(-2_i64).to_ne_bytes(), 512).await.unwrap();
        let signed = map.word::<i64>(512);
        assert_eq!(signed.load(SeqCst).await, -2);
        assert_eq!(signed.compare_exchange(1, 2, SeqCst, SeqCst).await, Err(-2));
        assert_eq!(signed.compare_exchange_weak(-2, 6, SeqCst, SeqCst).await, Ok(-2));
        assert_eq!(signed.fetch_max(5, SeqCst).await, 6);
        assert_eq!(signed.swap(12, SeqCst).await, 6);
        assert_eq!(word.fetch_and(4, SeqCst).await, 12);
        assert_eq!(word.fetch_or(3, SeqCst).await, 4);
        assert_eq!(word.fetch_xor(1, SeqCst).await, 7);
        assert_eq!(word.fetch_sub(7, SeqCst).await, 6);
        assert_eq!(
            word.fetch_update(SeqCst, SeqCst, |old| old.checked_add(2)).await,
            Err(u64::MAX)
        );
        assert_eq!(word.fetch_min(1, SeqCst).await, u64::MAX);
        assert_eq!(word.fetch_nand(1, SeqCst).await, 1);
        assert_eq!(word.swap(0, SeqCst).await, !1);
        map.word::<u8>(515).store(0xab, SeqCst).await;
        map.word::<u16>(516).store(0x0102, SeqCst).await;
        map.read_at(&mut bytes, 512).await;
        let [high, low] = 0x0102_u16.to_ne_bytes();
        assert_eq!(bytes, [0, 0, 0, 0xab, high, low, 0, 0]);
        map.write_at(b"over a border", 505).await;
        let mut text = [0; 13];
        other.flush(0..8).await.unwrap();
        map.flush_async(0..4096).unwrap();
        file.read_at(&mut text, 505).await.unwrap();
        assert_eq!(&text, b"over a border");
        drop((file, other));
        // The map keeps the file open, also without a name.
        fs::remove_file(root.join("log")).await.unwrap();
        map.read_at(&mut text, 505).await;
        assert_eq!(&text, b"over a border");
    });
}

#[test]
fn a_map_wants_a_file_that_is_read_and_written() {
    in_both("wants", async |root: PathBuf| {
        let (file, _) = mapped_at(&root, 64).await;
        let kind = async |file: &File, range| Map::open(file, range).await.unwrap_err().kind();
        assert_eq!(kind(&file, 0..0).await, ErrorKind::InvalidInput);
        assert_eq!(kind(&file, 4..8).await, ErrorKind::InvalidInput);
        let path = root.join("log");
        let reads = File::open(&path).await.unwrap();
        assert_eq!(kind(&reads, 0..8).await, ErrorKind::PermissionDenied);
        let writes = OpenOptions::new().write(true).open(&path).await.unwrap();
        assert_eq!(kind(&writes, 0..8).await, ErrorKind::PermissionDenied);
        let appends = OpenOptions::new().read(true).append(true).open(&path).await.unwrap();
        assert_eq!(kind(&appends, 0..8).await, ErrorKind::InvalidInput);
    });
}

/// Operations of several tasks are also atomic on real threads.
#[test]
fn words_are_atomic_outside_of_runs() {
    let root = std::env::temp_dir().join(format!("sim-map-atomic-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    sim::block_on(async {
        let (file, map) = mapped_at(&root, 16).await;
        let tasks = (0..4).map(|_| {
            let path = root.join("log");
            spawn(async move {
                let file = OpenOptions::new().read(true).write(true).open(path).await.unwrap();
                // Each task has its own map of the file.
                let word = Map::open(&file, 8..16).await.unwrap().word::<u64>(0);
                for _ in 0..500 {
                    word.fetch_add(1, SeqCst).await;
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(map.word::<u64>(8).load(SeqCst).await, 2000);
        drop(file);
    });
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn words_outside_of_the_map_are_refused() {
    let root = std::env::temp_dir().join(format!("sim-map-refused-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let (file, map) = sim::block_on(mapped_at(&root, 64));
    for at in [4, 64, u64::MAX - 7] {
        let word = || map.word::<u64>(at);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(word)).is_err(), "{at}");
    }
    // The file ends before the map does: as SIGBUS.
    sim::block_on(file.set_len(8)).unwrap();
    for end in [16, 12] {
        sim::block_on(file.set_len(end)).unwrap();
        assert_eq!(sim::block_on(map.word::<u64>(0).load(SeqCst)), 0);
        let behind = || sim::block_on(map.word::<u64>(16).store(1, SeqCst));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(behind)).unwrap_err();
        assert!(panic.downcast_ref::<String>().unwrap().contains("SIGBUS"), "{panic:?}");
    }
    assert_eq!(std::fs::metadata(root.join("log")).unwrap().len(), 12);
    std::fs::remove_dir_all(&root).unwrap();
}

#[cfg_attr(feature = "sim", test)]
fn an_access_behind_the_end_ends_the_process() {
    let shrinks = async |to: u64| {
        let (file, map) = mapped_at(Path::new("/"), 1024).await;
        let task = spawn(async move { file.set_len(to).await.unwrap() });
        map.word::<u64>(512).store(1, SeqCst).await;
        task.await.unwrap();
    };
    proves(&search().run(async || shrinks(520).await));
    let report = search().run(async || shrinks(519).await);
    let Failure::Crash { cause, message, place, .. } = failure(&report) else {
        panic!("{}", screen(&report));
    };
    assert_eq!(cause, "SIGBUS");
    assert_eq!(message, "bytes 512 to 520 of /log are mapped, and it ends at 519");
    assert!(place.contains("maps.rs"), "{place}");
}

#[cfg_attr(feature = "sim", test)]
fn a_map_of_the_dead_is_misused() {
    let report = sampled(0..1, async || {
        let db = node("db");
        let map = db.spawn(mapped(64)).await.unwrap();
        map.word::<u64>(0).store(1, SeqCst).await;
        db.kill();
        db.restart();
        let found = db.spawn(fs::read("/log")).await.unwrap().unwrap();
        assert_eq!(found[..8], 1_u64.to_ne_bytes());
        map.word::<u64>(0).load(SeqCst).await;
    });
    assert!(misuse(&report).contains("has died since"), "{}", screen(&report));
}

/// The new disk has no such file.
#[cfg_attr(feature = "sim", test)]
fn a_map_of_a_wiped_disk_is_misused() {
    for is_word in [false, true] {
        let report = sampled(0..1, async || {
            let db = node("db");
            let map = db.spawn(mapped(64)).await.unwrap();
            db.kill();
            db.wipe();
            db.restart();
            if is_word {
                map.word::<u64>(0).load(SeqCst).await;
            } else {
                map.read_at(&mut [0; 8], 0).await;
            }
        });
        assert!(misuse(&report).contains("has died since"), "{}", screen(&report));
    }
}

/// The states of these words after a program, and a power failure of its node.
fn left_by<F>(places: &'static [u64], program: impl Fn(Map) -> F + Sync) -> BTreeSet<Vec<u64>>
where
    F: Future<Output = ()> + Send + 'static,
{
    let found = Arc::new(StdMutex::new(BTreeSet::new()));
    let report = search().run(async || {
        let db = node("db");
        let map = db.spawn(mapped(2048)).await.unwrap();
        db.spawn(program(map)).await.unwrap();
        db.power_off();
        db.restart();
        let state = db.spawn(recovered(places)).await.unwrap();
        found.lock().unwrap().insert(state);
    });
    proves(&report);
    std::mem::take(&mut found.lock().unwrap())
}

async fn recovered(places: &'static [u64]) -> Vec<u64> {
    let file = OpenOptions::new().read(true).write(true).open("/log").await.unwrap();
    let map = Map::open(&file, 0..2048).await.unwrap();
    let mut words = Vec::new();
    for at in places {
        words.push(map.word::<u64>(*at).load(SeqCst).await);
    }
    words
}

fn states<const N: usize>(states: &[[u64; N]]) -> BTreeSet<Vec<u64>> {
    states.iter().map(|state| state.to_vec()).collect()
}

#[cfg_attr(feature = "sim", test)]
fn a_power_failure_leaves_a_state_between_two_stores() {
    let two_sectors = left_by(&[0, 8, 1024], |map| async move {
        map.word::<u64>(0).store(1, SeqCst).await;
        map.word::<u64>(8).store(2, SeqCst).await;
        map.word::<u64>(1024).store(3, SeqCst).await;
    });
    let all = [[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 0, 3], [1, 0, 3], [1, 2, 3]];
    assert_eq!(two_sectors, states(&all));
    let flushed = left_by(&[0, 8, 1024], |map| async move {
        map.word::<u64>(0).store(1, SeqCst).await;
        map.word::<u64>(1024).store(3, SeqCst).await;
        map.flush(0..8).await.unwrap();
        map.word::<u64>(8).store(2, SeqCst).await;
        map.flush_async(0..2048).unwrap();
    });
    assert_eq!(flushed, states(&[[1, 0, 0], [1, 2, 0], [1, 0, 3], [1, 2, 3]]));
    // A slice is torn between its words.
    let torn = left_by(&[0, 8], |map| async move {
        map.write_at(&[1_u64, 2].map(u64::to_ne_bytes).concat(), 0).await;
    });
    assert_eq!(torn, states(&[[0, 0], [1, 0], [1, 2]]));
    // A sync of the file is one of its maps.
    let synced = left_by(&[0], |map| async move {
        map.word::<u64>(0).store(1, SeqCst).await;
        File::open("/log").await.unwrap().sync_data().await.unwrap();
    });
    assert_eq!(synced, states(&[[1]]));
}

#[cfg_attr(feature = "sim", test)]
fn a_flush_may_fail() {
    let report = search().run(async || {
        fs::faults(Faults::none().sync_errors(1));
        let db = node("db");
        let map = db.spawn(mapped(2048));
        // The syncs that create the file may fail, too.
        let Ok(map) = map.await else { return };
        let told = db.spawn(async move {
            map.word::<u64>(0).store(1, SeqCst).await;
            while map.flush(0..8).await.is_err() {}
        });
        told.await.unwrap();
        db.power_off();
        db.restart();
        assert_eq!(db.spawn(recovered(&[0])).await.unwrap(), [1], "a flush that was tried again");
    });
    assert!(!report.passed());
}

/// Returns the number of runs of a search in which two tasks of a node use one map.
fn runs_of<F>(in_node: bool, two: [fn(Map) -> F; 2]) -> u64
where
    F: Future<Output = ()> + Send + 'static,
{
    runs(async || {
        let db = node("db");
        let map = match in_node {
            true => db.spawn(mapped(2048)).await.unwrap(),
            false => mapped(2048).await,
        };
        let tasks = two.map(|task| match in_node {
            true => db.spawn(task(map.clone())),
            false => spawn(task(map.clone())),
        });
        for task in tasks {
            task.await.unwrap();
        }
    })
}

type Task = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

#[cfg_attr(feature = "sim", test)]
fn operations_commute_where_nothing_tells() {
    let first: fn(Map) -> Task =
        |map| Box::pin(async move { map.word(0).store(1_u64, SeqCst).await });
    let second: fn(Map) -> Task =
        |map| Box::pin(async move { map.word(8).store(1_u64, SeqCst).await });
    let far: fn(Map) -> Task =
        |map| Box::pin(async move { map.word(512).store(1_u64, SeqCst).await });
    let load: fn(Map) -> Task = |map| {
        Box::pin(async move {
            let _: u64 = map.word(0).load(SeqCst).await;
        })
    };
    let slice: fn(Map) -> Task = |map| Box::pin(async move { map.write_at(b"slice", 514).await });
    let flush: fn(Map) -> Task = |map| Box::pin(async move { map.flush(0..8).await.unwrap() });
    let read: fn(Map) -> Task = |_| {
        Box::pin(async {
            let file = File::open("/log").await.unwrap();
            file.read_at(&mut [0; 8], 0).await.unwrap();
        })
    };
    let write: fn(Map) -> Task = |_| {
        Box::pin(async {
            let file = OpenOptions::new().write(true).open("/log").await.unwrap();
            file.write_at(b"written", 0).await.unwrap();
        })
    };
    let (mut counts, mut expected) = (Vec::new(), Vec::new());
    for (two, of_node, of_outside) in [
        ([first, first], 2, 2),
        // A power failure shows the order of two stores in a sector, and the outside has no power failure.
        ([first, second], 2, 1),
        ([first, far], 1, 1),
        ([first, load], 2, 2),
        ([second, load], 1, 1),
        ([load, load], 1, 1),
        ([far, slice], 2, 2),
        ([first, slice], 1, 1),
        ([flush, second], 2, 1),
        ([flush, far], 1, 1),
        ([flush, load], 1, 1),
    ] {
        counts.push((runs_of(true, two), runs_of(false, two)));
        expected.push((of_node, of_outside));
    }
    assert_eq!(counts, expected);
    for (two, count) in
        [([first, read], 2), ([load, read], 1), ([first, write], 2), ([load, write], 2)]
    {
        assert_eq!(runs_of(false, two), count);
    }
}

/// A task waits for a word, which a store of a map or a write of the file changes.
#[cfg_attr(feature = "sim", test)]
fn a_task_waits_for_a_word() {
    for by_file in [false, true] {
        let report = search().run(async || {
            let (file, map) = mapped_at(Path::new("/"), 1024).await;
            let word = map.word::<u64>(0).named("flag");
            let waits = spawn(async move {
                sim::spin_until(async || word.load(SeqCst).await > 0).await;
            });
            // This store concerns another word, so it makes no difference.
            map.word::<u64>(8).store(1, SeqCst).await;
            match by_file {
                true => drop(file.write_at(&1_u64.to_ne_bytes(), 0).await.unwrap()),
                false => map.word::<u64>(0).store(1, SeqCst).await,
            }
            waits.await.unwrap();
        });
        proves(&report);
    }
    // Without this operation, the run ends.
    let report = search().run(async || {
        let map = mapped(1024).await;
        let word = map.word::<u64>(0).named("flag");
        map.word::<u64>(8).store(1, SeqCst).await;
        sim::spin_until(async || word.load(SeqCst).await > 0).await;
    });
    let text = screen(&report);
    assert!(
        matches!(failure(&report), Failure::Deadlock { .. }) && text.contains("flag"),
        "{text}"
    );
}

#[cfg_attr(feature = "sim", test)]
fn a_lost_update_of_a_word_is_found_and_shown() {
    let counts = async |atomically: bool| {
        let map = mapped(64).await;
        let tasks = [(); 2].map(|()| {
            let word = map.word::<i64>(8).named("count");
            spawn(async move {
                if atomically {
                    word.fetch_sub(1, SeqCst).await;
                } else {
                    let old = word.load(SeqCst).await;
                    word.store(old - 1, SeqCst).await;
                }
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(map.word::<i64>(8).load(SeqCst).await, -2);
    };
    proves(&search().run(async || counts(true).await));
    let report = sampled(0..100, async || counts(false).await);
    let text = screen(&report);
    assert!(!report.passed() && text.contains("store count := -1"), "{text}");
}
