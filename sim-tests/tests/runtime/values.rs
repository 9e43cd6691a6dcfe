//! Every atomic type and operation behaves as in std, inside a run and outside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::*;

use proptest::prelude::*;
use sim::run::event::Values;
use sim::run::ids::TaskId;
use sim::{Atomic, Mutex, Runner};

/// One operation: its number and two arguments.
type Operation<T> = (u8, T, T);

macro_rules! agrees {
    ($($name:ident $type:ty, $std:ty, [$($number:tt)?];)*) => {$(
        mod $name {
            use super::*;

            async fn ours(first: $type, operations: &[Operation<$type>]) -> Vec<String> {
                let atomic = Atomic::new(first);
                let mut results = Vec::new();
                for (op, a, b) in operations.iter().copied() {
                    use Ordering::*;
                    let result = match op % 14 {
                        0 => format!("{:?}", atomic.load(Acquire).await),
                        1 => format!("{:?}", atomic.store(a, Release).await),
                        2 => format!("{:?}", atomic.swap(a, AcqRel).await),
                        3 => format!("{:?}", atomic.compare_exchange(a, b, SeqCst, Relaxed).await),
                        4 => format!("{:?}", atomic.fetch_and(a, Relaxed).await),
                        5 => format!("{:?}", atomic.fetch_nand(a, SeqCst).await),
                        6 => format!("{:?}", atomic.fetch_or(a, SeqCst).await),
                        7 => format!("{:?}", atomic.fetch_xor(a, SeqCst).await),
                        8 => {
                            let pick = |old| (old != a).then_some(b);
                            format!("{:?}", atomic.fetch_update(SeqCst, Acquire, pick).await)
                        }
                        // A real exchange may fail for no reason, so it is repeated, as in a loop of a program.
                        9 => loop {
                            let done = atomic.compare_exchange_weak(a, b, SeqCst, SeqCst).await;
                            if done != Err(a) {
                                break format!("{done:?}");
                            }
                        },
                        _ => agrees!(@ours atomic, op, a, $($number)?),
                    };
                    results.push(result);
                }
                results.push(format!("{:?}", atomic.into_inner()));
                results
            }

            fn std(first: $type, operations: &[Operation<$type>]) -> Vec<String> {
                let atomic = <$std>::new(first);
                let mut results = Vec::new();
                for (op, a, b) in operations.iter().copied() {
                    use Ordering::*;
                    let result = match op % 14 {
                        0 => format!("{:?}", atomic.load(Acquire)),
                        1 => format!("{:?}", atomic.store(a, Release)),
                        2 => format!("{:?}", atomic.swap(a, AcqRel)),
                        3 => format!("{:?}", atomic.compare_exchange(a, b, SeqCst, Relaxed)),
                        4 => format!("{:?}", atomic.fetch_and(a, Relaxed)),
                        5 => format!("{:?}", atomic.fetch_nand(a, SeqCst)),
                        6 => format!("{:?}", atomic.fetch_or(a, SeqCst)),
                        7 => format!("{:?}", atomic.fetch_xor(a, SeqCst)),
                        8 => {
                            let pick = |old| (old != a).then_some(b);
                            format!("{:?}", atomic.fetch_update(SeqCst, Acquire, pick))
                        }
                        9 => format!("{:?}", atomic.compare_exchange(a, b, SeqCst, SeqCst)),
                        _ => agrees!(@std atomic, op, a, $($number)?),
                    };
                    results.push(result);
                }
                results.push(format!("{:?}", atomic.into_inner()));
                results
            }

            proptest! {
                #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
                #[test]
                fn does_what_std_does(
                    first: $type,
                    operations in proptest::collection::vec(any::<Operation<$type>>(), 1..20),
                ) {
                    // Equal operands are rare among random operands, but they are the interesting case.
                    let mut operations = operations;
                    for at in 1..operations.len() {
                        if operations[at].0 % 2 == 0 {
                            operations[at].1 = operations[at - 1].2;
                        }
                    }
                    let expected = std(first, &operations);
                    prop_assert_eq!(&sim::block_on(ours(first, &operations)), &expected);
                    let run = Runner::new().hermetic().run_seed(0, async || {
                        assert_eq!(ours(first, &operations).await, expected);
                    });
                    prop_assert_eq!(run.outcome, sim::run::Outcome::Passed);
                }
            }
        }
    )*};
    (@ours $atomic:ident, $op:ident, $a:ident, number) => {
        match $op % 4 {
            0 => format!("{:?}", $atomic.fetch_add($a, Ordering::SeqCst).await),
            1 => format!("{:?}", $atomic.fetch_sub($a, Ordering::SeqCst).await),
            2 => format!("{:?}", $atomic.fetch_max($a, Ordering::SeqCst).await),
            _ => format!("{:?}", $atomic.fetch_min($a, Ordering::SeqCst).await),
        }
    };
    (@std $atomic:ident, $op:ident, $a:ident, number) => {
        match $op % 4 {
            0 => format!("{:?}", $atomic.fetch_add($a, Ordering::SeqCst)),
            1 => format!("{:?}", $atomic.fetch_sub($a, Ordering::SeqCst)),
            2 => format!("{:?}", $atomic.fetch_max($a, Ordering::SeqCst)),
            _ => format!("{:?}", $atomic.fetch_min($a, Ordering::SeqCst)),
        }
    };
    (@$which:ident $atomic:ident, $op:ident, $a:ident,) => { String::new() };
}

agrees! {
    of_u8 u8, AtomicU8, [number];
    of_u16 u16, AtomicU16, [number];
    of_u32 u32, AtomicU32, [number];
    of_u64 u64, AtomicU64, [number];
    of_usize usize, AtomicUsize, [number];
    of_i8 i8, AtomicI8, [number];
    of_i16 i16, AtomicI16, [number];
    of_i32 i32, AtomicI32, [number];
    of_i64 i64, AtomicI64, [number];
    of_isize isize, AtomicIsize, [number];
    of_bool bool, AtomicBool, [];
}

const ORDERS: [Ordering; 5] =
    [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];

/// Returns `true` if a call panics.
fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(call()))).is_err()
}

#[test]
fn orderings_that_std_refuses_are_refused() {
    let check = || {
        let (ours, std) = (Atomic::new(0u8), AtomicU8::new(0));
        for order in ORDERS {
            let loads = panics(|| std.load(order));
            assert_eq!(panics(|| ours.load(order)), loads, "load {order:?}");
            let stores = panics(|| std.store(0, order));
            assert_eq!(panics(|| ours.store(0, order)), stores, "store {order:?}");
            for success in ORDERS {
                let std = panics(|| std.compare_exchange(0, 0, success, order));
                let strong = panics(|| ours.compare_exchange(0, 0, success, order));
                let weak = panics(|| ours.compare_exchange_weak(0, 0, success, order));
                assert_eq!((strong, weak), (std, std), "compare_exchange {success:?} {order:?}");
            }
            let ours = |order| {
                sim::block_on(ours.fetch_update(Ordering::SeqCst, order, |_| None)).is_err()
            };
            let refused = panics(|| std.fetch_update(Ordering::SeqCst, order, |_| None::<u8>));
            assert_eq!(panics(|| ours(order)), refused, "fetch_update {order:?}");
        }
    };
    check();
}

#[test]
fn pointers_keep_what_they_point_to() {
    let run = Runner::new().hermetic().run_seed(0, async || {
        let mut value = 7u8;
        let pointer = Atomic::new(&raw mut value);
        let null = std::ptr::null_mut();
        let old = pointer.swap(null, Ordering::SeqCst).await;
        assert!(std::ptr::eq(old, &raw mut value));
        let set = pointer.compare_exchange(null, old, Ordering::SeqCst, Ordering::SeqCst).await;
        assert_eq!(set.map(|pointer| pointer.is_null()), Ok(true));
        assert!(std::ptr::eq(pointer.into_inner(), &raw mut value));
    });
    assert_eq!(run.outcome, sim::run::Outcome::Passed);
}

#[test]
fn each_of_many_atomics_has_a_value_of_its_own() {
    // The number is larger than the number of values in the fast table of a run.
    const MANY: u64 = 150;
    let run = Runner::new().hermetic().run_seed(0, async || {
        let atomics: Arc<Vec<_>> = Arc::new((0..MANY).map(Atomic::new).collect());
        let adds = |by: u64| {
            let atomics = atomics.clone();
            sim::spawn(async move {
                for (nth, atomic) in atomics.iter().enumerate() {
                    atomic.fetch_add(by * nth as u64, Ordering::SeqCst).await;
                }
            })
        };
        let (ones, thousands) = (adds(1), adds(1000));
        ones.await.unwrap();
        thousands.await.unwrap();
        for (nth, atomic) in (0..MANY).zip(atomics.iter()) {
            assert_eq!(atomic.load(Ordering::SeqCst).await, 1002 * nth);
            atomic.store(nth + 7, Ordering::SeqCst).await;
        }
        let atomics = Arc::into_inner(atomics).expect("the tasks have ended");
        let last: Vec<u64> = atomics.into_iter().map(Atomic::into_inner).collect();
        assert_eq!(last, (7..MANY + 7).collect::<Vec<_>>());
    });
    assert_eq!(run.outcome, sim::run::Outcome::Passed);
}

#[cfg_attr(feature = "sim", test)]
fn what_a_step_does_is_recorded_in_its_order() {
    let run = Runner::new().hermetic().run_seed(0, async || {
        let (lock, atomic) = (Mutex::new(()), Atomic::new(0u8));
        let guard = lock.lock().await;
        atomic.store(1, Ordering::SeqCst).await;
        // The store and the next announcement are in the same step.
        drop(guard);
        let task = sim::spawn(async {});
        atomic.fetch_add(1, Ordering::SeqCst).await;
        task.abort();
        assert!(task.await.is_err());
        let end = atomic.load(Ordering::SeqCst).await;
        assert_eq!(end, 0, "in the step of the load");
    });
    let done: Vec<_> = run.events.iter().map(|e| (e.step, e.op.name, e.values)).collect();
    let steps: Vec<u32> = done.iter().map(|(step, ..)| *step).collect();
    assert!(steps.is_sorted(), "{done:?}");
    let done: Vec<_> = done.into_iter().map(|(_, name, values)| (name, values)).collect();
    let task = Values::Task(TaskId(1));
    assert_eq!(
        done,
        [
            ("lock", Values::None),
            ("store", Values::Wrote(1)),
            ("unlock", Values::None),
            ("spawn", task),
            ("fetch_add", Values::Changed(1, 2)),
            ("abort", task),
            ("join", task),
            ("load", Values::Read(2)),
        ]
    );
}
