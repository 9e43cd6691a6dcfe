//! Screens of programs with plain threads: the steps of one call of another crate are one row.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use crossbeam_queue::ArrayQueue;
use dashmap::DashMap;

/// Compares the schedule on the screen of the first failing run with a file, or writes it with `UPDATE_EXPECT`.
fn check(name: &str, body: fn()) {
    let report = sim::Runner::new().hermetic().seeds(0..1000).run_native(body);
    let screen = sim::report::text(&report, &Default::default());
    let from = screen.find("  step ").expect("a schedule");
    let to = screen.find("trace: ").expect("a trace");
    let path = format!("{}/tests/all/fold/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, &screen[from..to]).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(screen[from..to], expected, "{screen}");
}

/// Both threads find no entry, and each creates an entry.
#[test]
fn an_entry_is_made_twice() {
    check("entry", || {
        let map = Arc::new(DashMap::with_shard_amount(2));
        let made = Arc::new(Mutex::new(0));
        let threads = [1, 2].map(|thread| {
            let (map, made) = (map.clone(), made.clone());
            thread::spawn(move || {
                if !map.contains_key(&7) {
                    map.insert(7, thread);
                    *made.lock().unwrap() += 1;
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*made.lock().unwrap(), 1);
    });
}

/// Both threads find room for one more, in a loop.
#[test]
fn a_queue_is_overfilled() {
    check("queue", || {
        let queue = Arc::new(ArrayQueue::new(2));
        let threads = [1, 2].map(|thread| {
            let queue = queue.clone();
            thread::spawn(move || {
                for value in 0..2 {
                    if queue.len() < 2 {
                        queue.push(10 * thread + value).unwrap();
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A thread looks at a map while a call of another thread has it locked: the call has two rows.
#[test]
fn a_call_is_interrupted() {
    check("interrupted", || {
        let map = Arc::new(DashMap::with_shard_amount(2));
        let locked = Arc::new(AtomicBool::new(false));
        let inserts = thread::spawn({
            let map = map.clone();
            move || map.insert(7, 1)
        });
        let looks = thread::spawn({
            let (map, locked) = (map.clone(), locked.clone());
            move || locked.store(map.try_get(&7).is_locked(), SeqCst)
        });
        assert_eq!(inserts.join().unwrap(), None);
        looks.join().unwrap();
        assert!(!locked.load(SeqCst));
    });
}
