//! The public names of shuttle 0.9.9. A name that is missing here does not compile. Not here, as docs/from-shuttle.md
//! says: `annotations`, `context_switches`, `reset_step_count`, tags, `DataSource`, `RandomDataSource`, `Schedule`,
//! `Task`, `AnnotationScheduler`, `ResourceSignature`, `ResourceType`, and atomics of 128 bits.

#![allow(unused_imports, reason = "the table is the test")]

mod items {
    pub(super) use shuttle::current::{
        ChildLabelFn, Labels, TaskId, TaskName, clock, clock_for, get_current_task,
        get_label_for_task, get_name_for_task, me, remove_label_for_task, set_label_for_task,
        set_name_for_task, try_get_current_task, with_labels_for_task,
    };
    pub(super) use shuttle::future::batch_semaphore::{
        Acquire, AcquireError, BatchSemaphore, Fairness, TryAcquireError,
    };
    pub(super) use shuttle::future::{
        AbortHandle, JoinError, JoinHandle, block_on, spawn, spawn_local, yield_now,
    };
    pub(super) use shuttle::hint::{black_box, spin_loop, unreachable_unchecked};
    pub(super) use shuttle::lazy_static::{Lazy, LazyStatic, initialize, lazy_static as again};
    pub(super) use shuttle::rand::rngs::ThreadRng;
    pub(super) use shuttle::rand::{Rng, RngCore, thread_rng};
    pub(super) use shuttle::scheduler::{
        DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler,
        Scheduler, TaskId as Task, UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
    };
    pub(super) use shuttle::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence,
    };
    pub(super) use shuttle::sync::mpsc::{
        Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender, TryIter,
        TryRecvError, TrySendError, channel, sync_channel,
    };
    pub(super) use shuttle::sync::{
        Arc, Barrier, BarrierWaitResult, Condvar, LockResult, Mutex, MutexGuard, Once, OnceState,
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult,
        WaitTimeoutResult, Weak,
    };
    pub(super) use shuttle::thread;
    pub(super) use shuttle::thread::{
        AccessError, LocalKey, Scope, ScopedJoinHandle, ThreadId, current, panicking, park,
        park_timeout, scope, sleep,
    };
    pub(super) use shuttle::{
        ANNOTATION_FILE, CAPTURE_BACKTRACE, Config, ContinuationFunctionBehavior,
        FailurePersistence, MaxSteps, PortfolioRunner, Runner, SILENCE_WARNINGS,
        UngracefulShutdownConfig,
    };
    pub(super) use shuttle::{
        check, check_dfs, check_pct, check_random, check_random_with_seed,
        check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
    };
    pub(super) use shuttle::{lazy_static as a_macro, thread_local as another_macro};
}

use items::*;

macro_rules! functions {
    ($($type:ty: $($name:ident)+;)+) => {
        #[test]
        fn each_function_of_shuttle_exists() {
            $($(let _ = <$type>::$name;)+)+
        }
    };
}

functions! {
    AbortHandle: abort is_finished;
    BatchSemaphore: new const_new available_permits close is_closed try_acquire acquire acquire_bypassable
        acquire_blocking release;
    Config: new;
    DfsScheduler: new;
    JoinHandle<u8>: abort is_finished abort_handle;
    Labels: new clear is_empty len extend;
    PctScheduler: new new_from_seed;
    PortfolioRunner: new;
    RandomScheduler: new new_from_seed;
    Receiver<u8>: recv try_recv recv_timeout iter try_iter;
    ReplayScheduler: new_from_encoded set_allow_incomplete;
    RoundRobinScheduler: new;
    RwLock<u8>: new into_inner read write try_read try_write get_mut clear_poison;
    SyncSender<u8>: send try_send;
    UncontrolledNondeterminismCheckScheduler<DfsScheduler>: new;
    UngracefulShutdownConfig: new;
    UrwRandomScheduler: new new_from_seed;
    thread::Builder: new name stack_size;
    thread::JoinHandle<u8>: join thread is_finished;
    thread::Thread: id name unpark;
}

#[test]
fn labels_have_a_value_for_each_type() {
    let mut labels = Labels::new();
    assert_eq!(labels.insert(1_u8), None);
    assert_eq!(labels.insert(2_u8), Some(1));
    *labels.get_or_insert(7_u16) += 1;
    *labels.get_or_insert_default::<u32>() += 1;
    *labels.get_or_insert_with(|| 5_u64) += 1;
    let mut copied = labels.clone();
    *copied.get_mut::<u8>().unwrap() = 3;
    assert_eq!((labels.get::<u8>(), labels.get::<u16>()), (Some(&2), Some(&8)));
    assert_eq!((labels.get::<u32>(), labels.get::<u64>()), (Some(&1), Some(&6)));
    assert_eq!((labels.get::<i8>(), labels.len()), (None, 4));
    labels.extend(copied);
    assert_eq!((labels.remove::<u8>(), labels.len()), (Some(3), 3));
    labels.clear();
    assert!(labels.is_empty());
}

/// As in shuttle, the type of the result needs no bounds.
#[derive(Debug)]
#[allow(dead_code, reason = "the declaration is the test")]
struct Worker<T> {
    handle: thread::JoinHandle<T>,
    scoped: Option<ScopedJoinHandle<'static, T>>,
}

mod statics {
    use shuttle::lazy_static::lazy_static;

    lazy_static! {
        pub(super) static ref NUMBER: usize = 7;
    }
}

#[test]
fn values_of_shuttle_have_its_traits_and_constants() {
    const SETTINGS: UngracefulShutdownConfig = UngracefulShutdownConfig::new();
    const BEHAVIOR: ContinuationFunctionBehavior = ContinuationFunctionBehavior::new();
    fn is_send_and_sync<T: Send + Sync + Clone + Default>() {}
    fn is_copied<T: Copy>() {}
    is_send_and_sync::<ThreadRng>();
    // A value of shuttle's lock need not be `Sync`.
    is_send_and_sync::<Arc<RwLock<std::cell::Cell<u8>>>>();
    is_copied::<BarrierWaitResult>();
    assert_eq!(SETTINGS.continuation_function_behavior, BEHAVIOR);
    assert_eq!(clock().partial_cmp(&clock()), Some(std::cmp::Ordering::Equal));
    assert_eq!(*statics::NUMBER, 7);
    assert_eq!(SILENCE_WARNINGS, "SHUTTLE_SILENCE_WARNINGS");
    assert!(thread_rng().gen_range(0..3) < 3);
}

#[test]
fn a_lock_has_the_functions_of_std() {
    let mut lock = RwLock::from(1);
    *lock.get_mut().unwrap() += 1;
    *lock.write().unwrap() += 1;
    assert_eq!(format!("{}", lock.read().unwrap()), "3");
    assert_eq!(format!("{:?}", lock.try_read().unwrap()), "3");
    let poisons = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _guard = lock.try_write().unwrap();
        assert!(lock.is_poisoned(), "panics with the lock");
    }));
    assert!(poisons.is_err() && lock.is_poisoned());
    assert!(lock.read().is_err());
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    lock.clear_poison();
    assert_eq!(lock.into_inner().unwrap(), 3);
}

#[test]
fn a_schedule_is_not_read_but_a_file_must_exist() {
    let mut scheduler = ReplayScheduler::new_from_encoded("91010100");
    scheduler.set_allow_incomplete();
    scheduler.set_target_clock(&[1_u32, 2]);
    assert_eq!(scheduler.settings(), "SIM_SEEDS=0..1000");
    assert!(ReplayScheduler::new_from_file("no such file").is_err());
}

#[test]
fn the_variable_of_shuttle_has_the_seed() {
    const NAME: &str = "the_variable_of_shuttle_has_the_seed";
    if std::env::var_os("SHUTTLE_RANDOM_SEED").is_some() {
        assert_eq!(RandomScheduler::new(2).settings(), "SIM_SEEDS=7..9");
        assert_eq!(UrwRandomScheduler::new(2).settings(), "SIM_STRATEGY=urw SIM_SEEDS=7..9");
        assert_eq!(
            PctScheduler::new(3, 2).settings(),
            "SIM_STRATEGY=pct:3 SIM_SEEDS=7..9 must_spawn"
        );
        return;
    }
    let mut test = std::process::Command::new(std::env::current_exe().unwrap());
    let output = test.args(["--exact", NAME]).env("SHUTTLE_RANDOM_SEED", "7").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_scheduler_has_seeds_for_all_its_runs() {
    assert_eq!(RoundRobinScheduler::default().settings(), "SIM_SEEDS=0..1");
    let checks = UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(2));
    assert_eq!(checks.settings(), "SIM_SEEDS=0..2 SIM_ISOLATE=run repeats_each");
    assert_eq!(RandomScheduler::new_from_seed(7, 2).settings(), "SIM_SEEDS=7..9");
    let last = RandomScheduler::new_from_seed(u64::MAX, 2).settings();
    assert_eq!(last, "SIM_SEEDS=18446744073709551613..18446744073709551615");
}
