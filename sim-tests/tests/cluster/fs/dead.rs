//! No task of a crashed node continues. The tests are random programs over files and locks, with a death at a random
//! point.

use std::sync::{Arc, Mutex as StdMutex};

use sim::rand;

use super::*;

/// The files of a program.
const FILES: [&str; 2] = ["/a", "/b"];

/// Executes calls of one task of a node. Each completed call is recorded, and no call of a dead node may complete.
async fn work(calls: u64, noted: Arc<StdMutex<Vec<u64>>>, life: u64) {
    let mut open = Vec::new();
    for _ in 0..calls {
        let path = FILES[rand::below(2) as usize];
        match (rand::below(6), open.pop()) {
            (0, file) => {
                drop(file);
                fs::write(path, life.to_le_bytes()).await.unwrap();
            }
            (1, Some(file)) => {
                let file: File = file;
                file.lock().await.unwrap();
                file.write_at(&life.to_le_bytes(), 0).await.unwrap();
                file.unlock().unwrap();
                open.push(file);
            }
            (2, Some(file)) => {
                file.sync_all().await.unwrap();
                open.push(file);
            }
            (3, file) => {
                drop(file);
                let _ = fs::remove_file(path).await;
            }
            (_, file) => {
                open.extend(file);
                let mut options = OpenOptions::new();
                open.push(options.read(true).write(true).create(true).open(path).await.unwrap());
            }
        }
        noted.lock().unwrap().push(life);
    }
}

/// A destructor that uses files: its future is never polled, and its locks and drops have no effect.
struct Undoes(Option<File>);

impl Drop for Undoes {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let _ = file.unlock();
            drop(file.try_clone());
            spawn(async move { file.write_at(b"by the dead", 0).await }).detach();
        }
    }
}

async fn dies_at_random(death: fn(&sim::Node)) {
    let noted = Arc::new(StdMutex::new(Vec::new()));
    let db = node("db");
    for _ in 0..2 {
        let noted = noted.clone();
        db.spawn(async move {
            let held = OpenOptions::new().write(true).create(true).open("/held").await.unwrap();
            held.lock().await.unwrap();
            let _undoes = Undoes(Some(held));
            work(4, noted, 1).await;
            // The task lives until its node is killed.
            std::future::pending::<()>().await;
        })
        .detach();
    }
    let visitor = db.enter(|| File::create("/visited")).await.unwrap();
    let killer = spawn({
        let (db, noted) = (db.clone(), noted.clone());
        async move {
            for _ in 0..rand::below(12) {
                sim::task::yield_now().await;
            }
            death(&db);
            let done = noted.lock().unwrap().len();
            db.restart();
            done
        }
    });
    let done = killer.await.unwrap();
    assert!(visitor.write_at(b"late", 0).await.is_err());
    assert!(visitor.try_lock().is_err());
    for _ in 0..2 {
        let noted = noted.clone();
        db.spawn(async move {
            let held = OpenOptions::new().write(true).create(true).open("/held").await.unwrap();
            held.lock().await.expect("the lock of the dead is given up");
            work(2, noted, 2).await;
        })
        .await
        .unwrap();
    }
    let found = db.spawn(async { fs::read("/held").await.unwrap() }).await.unwrap();
    assert!(found.is_empty(), "a destructor of the dead wrote");
    let noted = noted.lock().unwrap().clone();
    assert!(noted[..done].iter().all(|life| *life == 1));
    assert!(noted[done..].iter().all(|life| *life == 2), "the dead go on: {noted:?}");
}

#[cfg_attr(feature = "sim", test)]
fn nothing_of_the_dead_runs_on() {
    let count = if sim_tests::histories::long() { 20_000 } else { 120 };
    passes(&sampled(0..count, async || dies_at_random(sim::Node::kill).await));
    passes(&sampled(0..count, async || dies_at_random(sim::Node::power_off).await));
}

/// The planted bug: a task of the test does the work of the node, and its death does not end it.
#[cfg_attr(feature = "sim", test)]
fn a_task_of_the_test_runs_on() {
    let outlives = async |of_the_node: bool| {
        let written = Arc::new(sim::Atomic::new(0));
        written.store(0, sim::Ordering::SeqCst).await;
        let db = node("db");
        let count = written.clone();
        let work = async move {
            fs::write("/a", "1").await.unwrap();
            count.store(1, sim::Ordering::SeqCst).await;
        };
        match of_the_node {
            true => db.spawn(work).detach(),
            false => spawn(work).detach(),
        }
        db.kill();
        let before = written.load(sim::Ordering::SeqCst).await;
        sim::task::yield_now().await;
        assert_eq!(written.load(sim::Ordering::SeqCst).await, before, "the dead go on");
    };
    proves(&search().run(async || outlives(true).await));
    assert!(!search().run(async || outlives(false).await).passed());
}

/// The disk of the current life has no such file, so a lock of it is an error.
#[cfg_attr(feature = "sim", test)]
fn a_file_of_an_earlier_life_has_no_lock() {
    passes(&Runner::new().hermetic().seeds(0..5).run(async || {
        let db = node("db");
        let file = db.enter(|| File::create("/a")).await.unwrap();
        db.kill();
        db.wipe();
        db.restart();
        assert!(file.lock().await.is_err());
        assert!(file.lock_shared().await.is_err());
        assert!(file.try_lock().is_err());
    }));
}
