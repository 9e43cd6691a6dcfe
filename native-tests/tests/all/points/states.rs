//! Loops that are held: a loop is endless if its whole state repeats. A loop that counts further than a copy of the
//! process continues it is no proof, wherever it counts. A state that grows up to a limit, or that returns, is a proof.

use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use super::counting::{flagged, must_not_prove};
use super::runner;

/// The bounds of these counters are beyond all rounds that a copy of the process continues.
const FAR: u64 = 300_000;

#[test]
fn a_long_count_on_the_heap_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut counter = Box::new([0_u64; 512]);
            while flag.load(SeqCst) == 0 {
                black_box(&mut counter)[300] += 1;
                if black_box(&counter)[300] == FAR {
                    return true;
                }
            }
            false
        });
    });
}

#[test]
fn a_long_count_in_a_thread_local_is_no_proof() {
    thread_local! {
        static COUNTER: Cell<u64> = const { Cell::new(0) };
    }
    must_not_prove(|| {
        flagged(|flag| {
            while flag.load(SeqCst) == 0 {
                COUNTER.set(black_box(COUNTER.get()) + 1);
                if COUNTER.get() == FAR {
                    return true;
                }
            }
            false
        });
    });
}

/// Reads the flag below a large frame.
#[inline(never)]
fn is_set_below_a_buffer(flag: &AtomicU64) -> bool {
    let buffer = [0_u8; 32 << 10];
    black_box(&buffer);
    flag.load(SeqCst) == 1
}

#[test]
fn a_long_count_beyond_a_large_frame_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut counter = 0;
            while !is_set_below_a_buffer(flag) {
                *black_box(&mut counter) += 1;
                if counter == FAR {
                    return true;
                }
            }
            false
        });
    });
}

#[test]
fn a_long_count_on_the_stack_of_another_thread_is_no_proof() {
    must_not_prove(|| {
        let (flag, mut words) = (AtomicU64::new(0), [0_u64; 512]);
        let gave_up = thread::scope(|scope| {
            let waits = scope.spawn(|| {
                while flag.load(SeqCst) == 0 {
                    black_box(&mut words)[300] += 1;
                    if words[300] == FAR {
                        return true;
                    }
                }
                false
            });
            flag.store(1, SeqCst);
            waits.join().unwrap()
        });
        assert!(!gave_up, "gave up");
    });
}

/// Waits for a flag that another thread sets. If the order of the threads is the `given` one, it gives up after forty
/// rounds. The registers are the same in both orders.
fn gives_up_in_one_order(given: u64) {
    let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.0.swap(1, SeqCst);
            shared.1.store(1, SeqCst);
        })
    };
    let mut left = Box::new([0_u64; 512]);
    left[300] = if shared.0.swap(1, SeqCst) == given { 40 } else { 0 };
    while shared.1.load(SeqCst) == 0 {
        let left = &mut black_box(&mut left)[300];
        if *left > 0 {
            *left -= 1;
            assert!(*left > 0, "gave up");
        }
    }
    other.join().unwrap();
}

/// Each state of a loop is tried, also at one place.
#[test]
fn a_count_in_one_order_of_the_threads_is_no_proof() {
    must_not_prove(|| gives_up_in_one_order(0));
    must_not_prove(|| gives_up_in_one_order(1));
}

/// Fails if a search of the program is no proof.
#[track_caller]
fn must_prove(body: fn()) {
    let searched = runner("exhaustive", 1_000).run_native(body).searched.unwrap();
    assert!(searched.is_proof(), "{searched:?}");
}

/// No limit is known for a counter on the heap that grows in each round.
#[test]
fn a_loop_that_only_counts_is_no_proof() {
    must_not_prove(|| {
        flagged(|flag| {
            let mut counter = Box::new([0_u64; 512]);
            while flag.load(SeqCst) == 0 {
                black_box(&mut counter)[300] += 1;
            }
            false
        });
    });
}

/// A backoff on the heap, which grows up to a limit.
#[test]
fn a_backoff_on_the_heap_is_held() {
    must_prove(|| {
        flagged(|flag| {
            let mut backoff = Box::new([0_u64; 512]);
            while flag.load(SeqCst) == 0 {
                let step = &mut black_box(&mut backoff)[300];
                *step = (*step + 1).min(10);
                (0..1 << *step).for_each(|_| spin_loop());
            }
            false
        });
    });
}

/// A position that returns to its start after some rounds.
#[test]
fn a_position_in_a_ring_is_held() {
    must_prove(|| {
        flagged(|flag| {
            let mut position = Box::new([0_u64; 512]);
            while flag.load(SeqCst) == 0 {
                let at = &mut black_box(&mut position)[300];
                *at = (*at + 1) % 7;
            }
            false
        });
    });
}

/// Returns the number of page faults of the processes that this process has created and waited for.
fn faults_of_children() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    // The third field of proc_pid_stat(5) follows the name. The number is the eleventh field.
    fields.split_whitespace().nth(8).unwrap().parse().unwrap()
}

/// Each copy of the process has some hundred page faults. Runs of other orders have the same states, although the
/// engine's own values on the stack differ.
#[test]
fn equal_states_of_other_runs_need_no_copy() {
    let before = faults_of_children();
    let report = runner("exhaustive", 20_000).run_native(|| {
        let (flag, value) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let stores = [5, 6].map(|times| {
            let (flag, value) = (flag.clone(), value.clone());
            thread::spawn(move || {
                (0..times).for_each(|_| value.store(1, SeqCst));
                flag.fetch_add(1, SeqCst);
            })
        });
        while flag.load(SeqCst) < 2 {
            spin_loop();
        }
        stores.into_iter().for_each(|store| store.join().unwrap());
    });
    let faults = faults_of_children() - before;
    let searched = report.searched.unwrap();
    assert!(searched.is_proof() && report.runs > 1_000, "{} {searched:?}", report.runs);
    assert!(faults < 12 * report.runs, "{faults} page faults in {} runs", report.runs);
}
