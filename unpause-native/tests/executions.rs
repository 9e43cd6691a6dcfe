//! std programs on simulated threads, stepped by a minimal scheduler.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};

use unpause_native::{Ended, Execution, Request, inside, note_panic, outside};

unsafe extern "C" {
    /// The call that the compiler inserts for a `fetch_add`. This test calls it itself, because it is not instrumented.
    fn __tsan_atomic64_fetch_add(address: *const AtomicU64, operand: u64, order: i32) -> u64;
    fn __tsan_atomic64_load(address: *const AtomicU64, order: i32) -> u64;
    fn __tsan_atomic64_store(address: *const AtomicU64, value: u64, order: i32);
}

fn load(atomic: &AtomicU64) -> u64 {
    // SAFETY: a reference is a valid address.
    unsafe { __tsan_atomic64_load(atomic, 5) }
}

fn store(atomic: &AtomicU64, value: u64) {
    // SAFETY: as above.
    unsafe { __tsan_atomic64_store(atomic, value, 5) }
}

/// The result of a run: its end (`None` for a deadlock), its virtual time, and its requests by thread.
#[derive(PartialEq, Debug)]
struct Ran {
    ended: Option<Ended>,
    took: Duration,
    requests: Vec<(usize, String)>,
}

/// Runs `body`. `seed` determines the order in which enabled threads take turns.
fn run(seed: u64, body: impl FnOnce() + Send + 'static) -> Ran {
    let mut execution = Execution::begin(Box::new(body)).expect("there are symbols");
    let begin = execution.now();
    let (mut state, mut requests) = (seed, Vec::new());
    let mut ready = vec![(0, 0)];
    let mut queues: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
    let mut joins: Vec<(usize, usize)> = Vec::new();
    let mut sleeps: Vec<(u64, usize)> = Vec::new();
    let mut over = Vec::new();
    loop {
        if ready.is_empty() {
            sleeps.sort();
            let Some((time, thread)) = (!sleeps.is_empty()).then(|| sleeps.remove(0)) else {
                break;
            };
            execution.advance_to(time);
            ready.push((thread, 0));
        }
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (thread, reply) = ready.swap_remove((state >> 33) as usize % ready.len());
        let request = execution.resume(thread, reply);
        let mut text = format!("{request:?}");
        if let Request::Access(_) = request {
            let (old, new) = execution.perform(thread);
            text = format!("{old} -> {new}");
            ready.push((thread, old));
        }
        match request {
            Request::Access(_) => {}
            Request::Transfer(_) => unreachable!("the programs have no files"),
            Request::Requeue { .. } | Request::WakeOp { .. } => {
                unreachable!("std has no such call")
            }
            Request::Wait { word, expected, .. } => {
                text = "wait".into();
                match execution.word(thread) == expected {
                    true => queues.entry(word).or_default().push_back(thread),
                    false => ready.push((thread, libc::EAGAIN as u64)),
                }
            }
            Request::Wake { word, count, .. } => {
                let queue = queues.entry(word).or_default();
                let woken: Vec<usize> = queue.drain(..queue.len().min(count as usize)).collect();
                text = format!("wake {}", woken.len());
                ready.push((thread, woken.len() as u64));
                ready.extend(woken.into_iter().map(|thread| (thread, 0)));
            }
            Request::Spawn { thread: child } => ready.extend([(thread, 0), (child, 0)]),
            Request::Join { thread: child } => match over.contains(&child) {
                true => ready.push((thread, 0)),
                false => joins.push((thread, child)),
            },
            Request::Yield | Request::Point => ready.push((thread, 0)),
            Request::Key => ready.push((thread, seed)),
            Request::Sleep { until } => sleeps.push((until, thread)),
            Request::Fault => panic!("{:?}", execution.take_fault()),
            Request::End => {
                over.push(thread);
                let is_for_it = |(_, child): &&(usize, usize)| *child == thread;
                ready.extend(joins.iter().filter(is_for_it).map(|(waits, _)| (*waits, 0)));
                joins.retain(|(_, child)| *child != thread);
            }
            Request::Died(_) => over.push(0),
            Request::Noted => unreachable!("the runs are in this process"),
        }
        requests.push((thread, text));
        if over.contains(&0) {
            break;
        }
    }
    let took = Duration::from_nanos(execution.now() - begin);
    Ran { ended: execution.ended(), took, requests }
}

/// Runs `body` to completion and returns its result.
fn result<R: Clone + Send + 'static>(seed: u64, body: impl FnOnce() -> R + Send + 'static) -> R {
    let found = Arc::new(Mutex::new(None));
    let slot = found.clone();
    let ran = run(seed, move || {
        let result = body();
        outside(|| *slot.lock().unwrap() = Some(result.clone()));
    });
    assert_eq!(ran.ended, Some(Ended::Returned));
    found.lock().unwrap().take().unwrap()
}

#[test]
fn an_increment_in_two_parts_is_lost_under_some_seeds_and_one_in_one_part_under_none() {
    let in_two = || {
        let counter = Arc::new(AtomicU64::new(0));
        let increment = |counter: Arc<AtomicU64>| move || store(&counter, load(&counter) + 1);
        let threads = [0, 1].map(|_| std::thread::spawn(increment(counter.clone())));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        load(&counter)
    };
    let lost = (0..100).filter(|seed| result(*seed, in_two) == 1).count();
    assert!((10..=90).contains(&lost), "{lost} of 100");
    let in_one = || {
        let counter = Arc::new(AtomicU64::new(0));
        let increment = |counter: Arc<AtomicU64>| // SAFETY: as above.
            move || unsafe { __tsan_atomic64_fetch_add(&*counter, 1, 5) };
        let threads = [0, 1].map(|_| std::thread::spawn(increment(counter.clone())));
        threads.into_iter().for_each(|thread| assert!(thread.join().is_ok()));
        load(&counter)
    };
    assert!((0..100).all(|seed| result(seed, in_one) == 2));
}

#[test]
fn locks_condition_variables_and_channels_of_std_work() {
    let buffer = || {
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let producer = shared.clone();
        let producer = std::thread::spawn(move || {
            for number in 0..5 {
                producer.0.lock().unwrap().push(number);
                producer.1.notify_one();
            }
        });
        let mut taken = Vec::new();
        while taken.len() < 5 {
            let mut list = shared.0.lock().unwrap();
            while list.is_empty() {
                list = shared.1.wait(list).unwrap();
            }
            taken.append(&mut list);
        }
        producer.join().unwrap();
        taken.iter().sum::<i32>()
    };
    assert!((0..50).all(|seed| result(seed, buffer) == 10));
    let channel = || {
        let (sender, receiver) = mpsc::channel();
        let senders = [1, 2].map(|number| {
            let sender = sender.clone();
            std::thread::spawn(move || sender.send(number).unwrap())
        });
        drop(sender);
        let sum: i32 = receiver.iter().sum();
        senders.into_iter().for_each(|thread| thread.join().unwrap());
        sum
    };
    assert!((0..50).all(|seed| result(seed, channel) == 3));
    let scoped = || {
        let sum = Mutex::new(0);
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| *sum.lock().unwrap() += 1)))
        });
        sum.into_inner().unwrap()
    };
    assert!((0..50).all(|seed| result(seed, scoped) == 3));
}

#[test]
fn two_locks_in_two_orders_deadlock_under_some_seeds() {
    let cross = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = locks.clone();
        let turn = AtomicU64::new(0);
        let thread = std::thread::spawn(move || {
            let _first = other.1.lock().unwrap();
            load(&turn);
            let _second = other.0.lock().unwrap();
        });
        let first = locks.0.lock().unwrap();
        std::thread::yield_now();
        drop((locks.1.lock().unwrap(), first));
        thread.join().unwrap();
    };
    let deadlocks = (0..100).filter(|seed| run(*seed, cross).ended.is_none()).count();
    assert!((10..=90).contains(&deadlocks), "{deadlocks} of 100");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "the order of a HashMap is a part of the run")]
fn the_same_seed_is_the_same_run_whatever_ran_before() {
    thread_local! {
        static SEEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    let body = || {
        let map: HashMap<u32, u32> = (0..20).map(|key| (key, key)).collect();
        let order: Vec<u32> = map.keys().copied().collect();
        let seen = SEEN.with(|seen| seen.replace(seen.get() + 1));
        let (sender, receiver) = mpsc::sync_channel(1);
        let threads: Vec<_> = order
            .into_iter()
            .take(3)
            .map(|key| {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    SEEN.with(|seen| seen.set(seen.get() + u64::from(key)));
                    sender.send(key).unwrap();
                })
            })
            .collect();
        drop(sender);
        let got: Vec<u32> = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        (map.keys().copied().collect::<Vec<_>>(), got, seen, Instant::now())
    };
    let text = |seed| {
        let found = Arc::new(Mutex::new(String::new()));
        let slot = found.clone();
        let ran = run(seed, move || {
            let result = body();
            outside(|| *slot.lock().unwrap() = format!("{result:?}"));
        });
        (found.lock().unwrap().clone(), format!("{ran:?}"))
    };
    text(0);
    let first: Vec<_> = (0..50).map(text).collect();
    let again: Vec<_> = (0..50).map(text).collect();
    assert_eq!(first, again);
    let orders: std::collections::HashSet<_> = first.iter().map(|(found, _)| found).collect();
    assert!(orders.len() > 20, "seeds differ: {}", orders.len());
}

#[test]
fn destructors_of_thread_locals_are_part_of_the_run() {
    struct Counts(Arc<AtomicU64>);
    impl Drop for Counts {
        fn drop(&mut self) {
            assert!(inside());
            store(&self.0, load(&self.0) + 1);
        }
    }
    thread_local! {
        static COUNTS: std::cell::RefCell<Option<Counts>> = const { std::cell::RefCell::new(None) };
    }
    let body = || {
        let dropped = Arc::new(AtomicU64::new(0));
        let counts = dropped.clone();
        std::thread::spawn(move || COUNTS.with(|slot| *slot.borrow_mut() = Some(Counts(counts))))
            .join()
            .unwrap();
        load(&dropped)
    };
    assert!((0..10).all(|seed| result(seed, body) == 1));
}

#[test]
fn an_hour_of_sleep_takes_no_time() {
    let began = Instant::now();
    let ran = run(1, || {
        let begin = Instant::now();
        std::thread::sleep(Duration::from_secs(3600));
        assert_eq!(begin.elapsed(), Duration::from_secs(3600));
    });
    assert_eq!((ran.ended, ran.took), (Some(Ended::Returned), Duration::from_secs(3600)));
    assert!(began.elapsed() < Duration::from_secs(600));
}

#[test]
fn a_panic_ends_the_body_and_a_panic_of_a_thread_is_the_result_of_its_join() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| match inside() {
        true => {
            let texts = || {
                let message = info.payload().downcast_ref::<&str>().unwrap_or(&"").to_string();
                (message, info.location().unwrap().to_string())
            };
            let (message, place) = outside(texts);
            note_panic(message, place);
        }
        false => before(info),
    }));
    let ran = run(0, || panic!("gone"));
    assert!(matches!(ran.ended, Some(Ended::Panicked(text, _)) if text == "gone"));
    assert!(result(0, || std::thread::spawn(|| panic!("gone")).join().is_err()));
}

#[test]
fn a_run_does_not_grow_with_its_number() {
    let body = || {
        let list: Vec<u64> = (0..10_000).collect();
        drop(std::thread::spawn(move || list.len()).join());
    };
    let pages = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    run(0, body);
    let growths = (0..5).map(|_| {
        let before = pages();
        (0..2_000).for_each(|seed| drop(run(seed, body)));
        pages().saturating_sub(before)
    });
    // Other tests of this process use memory, too, but runs that leave memory behind grow each time.
    let growths: Vec<u64> = growths.take_while(|growth| *growth >= 1_000).collect();
    assert!(growths.len() < 5, "grows by {growths:?} pages");
}

#[test]
fn a_variable_and_a_directory_of_a_run_end_with_it() {
    /// Returns the variables in the order of `environ`, and the directory.
    fn state() -> (Vec<(String, String)>, std::path::PathBuf) {
        (std::env::vars().collect(), std::env::current_dir().unwrap())
    }
    const NAMES: [&str; 3] =
        ["UNPAUSE_EXECUTIONS_KEPT", "UNPAUSE_EXECUTIONS_GONE", "UNPAUSE_EXECUTIONS_NEW"];
    // SAFETY: no other test of this program uses the environment.
    NAMES[..2].iter().for_each(|name| unsafe { std::env::set_var(name, "of the process") });
    let before = state();
    for seed in 0..3 {
        let changes = move || {
            for name in &NAMES[..2] {
                assert_eq!(std::env::var(name).as_deref(), Ok("of the process"));
            }
            assert!(std::env::var_os(NAMES[2]).is_none());
            // SAFETY: as above.
            unsafe {
                std::env::set_var(NAMES[0], format!("value {seed}"));
                std::env::remove_var(NAMES[1]);
                // These are more variables than libc's array has room for.
                (0..200).for_each(|nth| std::env::set_var(format!("{}{nth}", NAMES[2]), "more"));
                std::env::set_var(NAMES[2], "new");
            }
            std::env::set_current_dir("/").unwrap();
            assert_eq!(std::env::current_dir().unwrap(), std::path::Path::new("/"));
        };
        assert_eq!(run(seed, changes).ended, Some(Ended::Returned));
        assert_eq!(state(), before);
        // A run with other memory contents.
        let filled = run(seed, || drop(vec![u64::MAX; 4096]));
        assert_eq!(filled.ended, Some(Ended::Returned));
        assert_eq!(state(), before);
    }
}

#[test]
fn a_thread_that_the_system_refuses_is_an_error_of_its_spawn() {
    let spawn = |size: usize| std::thread::Builder::new().stack_size(size).spawn(|| 7);
    assert!(result(1, move || spawn(1 << 60).is_err()));
    // The next thread starts normally.
    assert_eq!(result(1, move || spawn(1 << 20).unwrap().join().unwrap()), 7);
}

/// A static outside of all Rust crates. Like std's statics, runs share it with OS threads.
#[unsafe(no_mangle)]
static UNPAUSE_SHARED_WORD: AtomicU32 = AtomicU32::new(0);

/// Performs the system call `futex` on the shared word, with its value and a count of 1.
fn futex(operation: i32) -> i64 {
    let (word, value) = (&raw const UNPAUSE_SHARED_WORD, i32::from(operation == libc::FUTEX_WAKE));
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word is a static; a wait has no time limit.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, value, std::ptr::null::<()>()) }
}

#[test]
fn a_wake_of_a_thread_of_the_system_is_no_part_of_a_run() {
    let waiting = std::thread::spawn(|| futex(libc::FUTEX_WAIT));
    let wake = || {
        while futex(libc::FUTEX_WAKE) == 0 {
            // The thread does not wait yet.
            outside(std::thread::yield_now);
        }
    };
    assert_eq!(run(1, wake).requests, run(1, || {}).requests);
    assert_eq!(waiting.join().unwrap(), 0);

    // A thread of the run is woken by a request.
    let ran = run(1, || {
        let waiting = std::thread::spawn(|| assert_eq!(futex(libc::FUTEX_WAIT), 0));
        while futex(libc::FUTEX_WAKE) == 0 {
            std::thread::yield_now();
        }
        waiting.join().unwrap();
    });
    assert_eq!(ran.ended, Some(Ended::Returned), "{ran:?}");
}

#[test]
fn memory_beyond_the_heap_of_a_run_is_noted() {
    for (blocks, is_noted) in [(4, false), (12, true)] {
        let body = move || {
            (0..blocks).for_each(|_| std::mem::forget(Vec::<u8>::with_capacity(100 << 20)));
        };
        let mut execution = Execution::begin(Box::new(body)).unwrap();
        while !matches!(execution.resume(0, 0), Request::End) {}
        let noted = unpause_native::take_entered();
        assert_eq!(noted.iter().any(|name| name.contains("1 GiB")), is_noted, "{noted:?}");
    }
}
