//! The two builds have the same public signatures: this file names every public item of the surface
//! with its type, and is compiled against both. `.ci/run` runs it in both.
//!
//! Two tests compare properties that the compilation of one file cannot compare. No signature shows the auto traits of
//! a type, so one table lists them for both builds. No public item may depend on the build, so another test reads the
//! sources. By invariant 1, which `tidy` enforces, such an item could only be in `lib.rs` and in the seam.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use sim::check::models::{Counter, CounterOp, CounterRet};
use sim::report::Report;
use sim::{
    Atomic, Cell, History, JoinError, JoinHandle, Mutex, MutexGuard, Ordering, Ordering::SeqCst,
    RaceCell, Runner,
};

#[path = "parity/plain.rs"]
mod plain;
#[path = "parity/programs.rs"]
mod programs;
#[path = "parity/tasks.rs"]
mod tasks;
#[path = "parity/time.rs"]
mod time;

// ---- helpers

/// A future of an operation can be sent to another thread and gives an `O`.
async fn of<O>(future: impl Future<Output = O> + Send) -> O {
    future.await
}

fn is_static<T: Send + Sync + 'static>(_: &T) {}

// ---- statics

static FLAG: Atomic<bool> = Atomic::<bool>::const_new(true);
static POINTER: Atomic<*mut u8> = Atomic::<*mut u8>::const_new(std::ptr::null_mut());

// ---- the surface

macro_rules! numbers {
    ($($name:ident $type:ty;)*) => {$(
        #[test]
        fn $name() {
            static IN_A_STATIC: Atomic<$type> = Atomic::<$type>::const_new(7);
            sim::block_on(async {
                let mut atomic: Atomic<$type> = Atomic::new(1);
                is_static(&atomic);
                let _: Atomic<$type> = Atomic::from(1);
                let _: Atomic<$type> = Atomic::default();
                let _: &dyn Debug = &atomic;
                assert_eq!(of::<$type>(IN_A_STATIC.load(SeqCst)).await, 7);
                of::<()>(atomic.store(2, SeqCst)).await;
                assert_eq!(of::<$type>(atomic.swap(3, SeqCst)).await, 2);
                let exchanged = of::<Result<$type, $type>>(atomic.compare_exchange(3, 4, SeqCst, SeqCst));
                assert_eq!(exchanged.await, Ok(3));
                let exchanged = atomic.compare_exchange_weak(9, 5, SeqCst, Ordering::Relaxed);
                assert_eq!(of::<Result<$type, $type>>(exchanged).await, Err(4));
                let update = |old: $type| -> Option<$type> { Some(old + 1) };
                let updated = atomic.fetch_update(Ordering::AcqRel, Ordering::Acquire, update);
                assert_eq!(of::<Result<$type, $type>>(updated).await, Ok(4));
                assert_eq!(of::<$type>(atomic.fetch_add(1, SeqCst)).await, 5);
                assert_eq!(of::<$type>(atomic.fetch_sub(2, SeqCst)).await, 6);
                assert_eq!(of::<$type>(atomic.fetch_max(9, SeqCst)).await, 4);
                assert_eq!(of::<$type>(atomic.fetch_min(3, SeqCst)).await, 9);
                assert_eq!(of::<$type>(atomic.fetch_and(2, SeqCst)).await, 3);
                assert_eq!(of::<$type>(atomic.fetch_or(1, SeqCst)).await, 2);
                assert_eq!(of::<$type>(atomic.fetch_xor(7, SeqCst)).await, 3);
                assert_eq!(of::<$type>(atomic.fetch_nand(4, SeqCst)).await, 4);
                let _: $type = atomic.peek();
                let last: &mut $type = atomic.get_mut();
                assert_eq!(*last, !4);
                let last: $type = atomic.into_inner();
                assert_eq!(last, !4);
            });
        }
    )*};
}

numbers! {
    an_atomic_u8 u8; an_atomic_u16 u16; an_atomic_u32 u32; an_atomic_u64 u64; an_atomic_usize usize;
    an_atomic_i8 i8; an_atomic_i16 i16; an_atomic_i32 i32; an_atomic_i64 i64; an_atomic_isize isize;
}

#[test]
fn an_atomic_bool() {
    sim::block_on(async {
        is_static(&FLAG);
        assert!(of::<bool>(FLAG.load(Ordering::Acquire)).await);
        let flag: Atomic<bool> = Atomic::new(false);
        of::<()>(flag.store(true, Ordering::Release)).await;
        assert!(of::<bool>(flag.swap(false, SeqCst)).await);
        assert!(!of::<bool>(flag.fetch_or(true, SeqCst)).await);
        assert!(of::<bool>(flag.fetch_and(false, SeqCst)).await);
        assert!(!of::<bool>(flag.fetch_xor(true, SeqCst)).await);
        assert!(of::<bool>(flag.fetch_nand(true, SeqCst)).await);
        let exchanged = flag.compare_exchange(false, true, SeqCst, SeqCst);
        assert_eq!(of::<Result<bool, bool>>(exchanged).await, Ok(false));
    });
}

#[test]
fn an_atomic_pointer() {
    sim::block_on(async {
        is_static(&POINTER);
        let mut place = 5u8;
        let there: *mut u8 = &mut place;
        let pointer: Atomic<*mut u8> = Atomic::new(std::ptr::null_mut());
        assert!(pointer.load(SeqCst).await.is_null());
        pointer.store(there, SeqCst).await;
        assert_eq!(pointer.swap(std::ptr::null_mut(), SeqCst).await, there);
        let set = pointer.compare_exchange(std::ptr::null_mut(), there, SeqCst, SeqCst).await;
        assert_eq!(set, Ok(std::ptr::null_mut()));
    });
}

#[test]
fn a_mutex() {
    sim::block_on(async {
        let mut mutex: Mutex<Vec<u8>> = Mutex::new(vec![]);
        is_static(&mutex);
        let _: (Mutex<u8>, Mutex<u8>) = (Mutex::from(1), Mutex::default());
        let _: &dyn Debug = &mutex;
        let lock: sim::sync::Lock<'_, Vec<u8>> = mutex.lock();
        let mut guard: MutexGuard<'_, Vec<u8>> = of(lock).await;
        guard.push(1);
        assert!(of::<Option<MutexGuard<'_, Vec<u8>>>>(mutex.try_lock()).await.is_none());
        fn shown<T: Debug + Send + Sync>(_: &T) {}
        shown(&guard);
        drop(guard);
        assert_eq!(of(mutex.try_lock()).await.as_deref(), Some(&vec![1]));
        let last: &mut Vec<u8> = mutex.get_mut();
        last.push(2);
        let last: Vec<u8> = mutex.into_inner();
        assert_eq!(last, [1, 2]);
        // The same must hold for an unsized type.
        let of_slice: Box<Mutex<[u8]>> = Box::new(Mutex::new([1, 2]));
        assert_eq!(of_slice.lock().await[..], [1, 2]);
        let number = Mutex::new(1);
        let guard: &dyn Display = &number.lock().await;
        assert_eq!(guard.to_string(), "1");
    });
}

#[test]
fn random_values() {
    let _: u64 = sim::rand::below(3);
    let _: u64 = sim::rand::range(3..5);
    let _: bool = sim::rand::bool();
    let _: Option<&u8> = sim::rand::choose(&[1u8]);
    let () = sim::rand::shuffle(&mut [1, 2]);
}

#[test]
fn a_history() {
    sim::block_on(async {
        let history: History<Counter> = History::new(Counter::default());
        is_static(&history);
        let _: (&dyn Debug, History<Counter>) = (&history, history.clone());
        let call: sim::recorder::Recorded<Counter, _> =
            history.call(CounterOp::Increment, async { CounterRet::Done });
        assert_eq!(of::<CounterRet>(call).await, CounterRet::Done);
        let invoked: sim::recorder::Invoked<Counter> = history.invoke(CounterOp::Get);
        is_static(&invoked);
        invoked.ok(CounterRet::Value(1));
        history.invoke(CounterOp::Get).fail();
        history.invoke(CounterOp::Increment).info();
        let operations: Vec<sim::check::history::Operation<CounterOp, CounterRet>> =
            history.operations();
        assert_eq!(operations.len(), 3);
        let verdict: sim::check::verdict::Verdict = history.check();
        assert!(verdict.is_consistent());
        let budget: sim::check::Budget<'_> = sim::check::Budget::nodes(1000);
        let _: sim::check::verdict::Verdict = history.check_within(&budget);
        let () = history.assert_linearizable();
        let fed = History::new(Counter::default()).check_online(sim::check::online::Online::new);
        let fed: History<Counter> = fed.real_time();
        fed.invoke(CounterOp::Increment).ok(CounterRet::Done);
        let value = |_: &CounterOp, ret: Option<&CounterRet>| ret.cloned();
        let guess: Option<CounterRet> = fed.guess(sim::generate::Guess::Own, value);
        assert_eq!(guess, Some(CounterRet::Done));
    });
}

#[test]
fn a_condition_that_holds_after_every_step() {
    let held: sim::Invariant = sim::invariant("holds", || true);
    is_static(&held);
}

#[test]
fn a_runner() {
    let seeds: Range<u64> = 0..2;
    let runner: Runner = Runner::new()
        .name("parity")
        .seeds(seeds)
        .seed(1)
        .strategy("random")
        .max_steps(1000)
        .time(Duration::from_secs(60))
        .jobs(1)
        .hang(Duration::from_secs(60))
        .out("target/parity")
        .coverage(true)
        .closure(true)
        .prove(100)
        .statistics(true)
        .hermetic();
    is_static(&runner);
    let _: Runner = runner.clone().replay("sim2:");
    let _: (Runner, &dyn Debug) = (Runner::default(), &runner);
    let report: Report = runner.run(async || sim::sometimes!(true, "a run"));
    is_static(&report);
    assert!(report.passed());
    assert_eq!((report.runs, report.real), (1, !sim::SIMULATED));
    assert_eq!(report.coverage.is_some(), sim::SIMULATED);
    let _: Option<sim::run::coverage::Coverage> = report.coverage;
    assert_eq!(report.closure.is_some(), sim::SIMULATED);
    let _: Option<sim::report::Closure> = report.closure;
    assert_eq!(report.statistics.map(|statistics| statistics.runs), Some(1));
    let run: sim::run::Run = Runner::new().hermetic().run_seed(0, async || {});
    let _: u64 = sim::census::class_of(&run);
    let report: Result<Report, sim::runner::InvalidSetting> =
        runner.strategy("none such").try_run(async || Ok::<(), String>(()));
    let _: &dyn std::error::Error = &report.unwrap_err();
    fn result<T: sim::runner::TestResult>() {}
    result::<Result<u8, String>>();
    result::<std::convert::Infallible>();
}

#[sim::test(
    seeds = 2,
    strategy = "random",
    max_steps = 1000,
    time = "1m",
    coverage,
    closure,
    prove = 10,
    statistics
)]
async fn a_test() -> Result<(), std::num::ParseIntError> {
    let number = Atomic::new("1".parse::<u8>()?);
    number.store(2, SeqCst).await;
    Ok(())
}

/// These items are only used by tools, so their types are enough.
#[test]
fn traces_schedules_strategies_shrinking_and_checks() {
    use sim::run::schedule::{Cost, Cursor, Schedule};
    use sim::run::trace::{Header, Trace, format};
    let _: bool = sim::SIMULATED;
    let _: fn(&Trace) -> String = format::write;
    let _: fn(&[u8]) -> Result<Trace, format::TraceError> = format::parse;
    let _: fn(&str) -> Result<Trace, format::InlineError> = format::parse_inline;
    let _: fn(&Trace) -> String = format::inline;
    let _: fn(&str) -> bool = format::is_inline;
    let _: fn(&sim::run::Run, Header) -> Trace = Trace::of;
    let _: fn(&sim::run::Run) -> Schedule = Schedule::of;
    let _: fn(&Trace) -> Schedule = Schedule::from_trace;
    let _: fn(&Schedule) -> Cost = Schedule::cost;
    let _: Cursor = Cursor::new(Schedule::default());
    let _: fn(&str) -> Option<&'static sim::strategy::StrategyRow> = sim::strategy::find;
    let _: &[sim::strategy::StrategyRow] = sim::strategy::STRATEGIES;
    let _: &[sim::strategy::SearchRow] = sim::strategy::SEARCHES;
    let _: fn(&sim::report::Searched) -> bool = sim::report::Searched::is_proof;
    let _: fn(sim::report::Finding) -> Option<sim::report::Proof> = |finding| finding.proof;
    let _: Box<dyn sim::strategy::Strategy> =
        Box::new(sim::strategy::LenientReplay::new(Schedule::default()));
    let _: fn(Trace) -> sim::strategy::Replay = sim::strategy::Replay::new;
    let _: fn(
        Schedule,
        &mut dyn sim::shrink::Replayer,
        &sim::shrink::Budget,
    ) -> sim::shrink::Shrunk = sim::shrink::shrink;
    let _: &[sim::shrink::Pass] = sim::shrink::PASSES;
    let _: &[sim::report::Renderer] = sim::report::RENDERERS;
    let _: fn(&Report, &sim::report::Style) -> String = sim::report::text;
    let _: fn(&sim::run::Failure, &sim::run::Run) -> String = sim::report::one_line;
    let verdict = sim::check::linearizable(&Counter::default(), &[], &sim::check::Budget::nodes(1));
    let _: Result<sim::check::verdict::Verdict, sim::check::Malformed> = verdict;
}

// ---- auto traits

/// Returns the auto traits that the type of a value has, as `Send Sync Unpin UnwindSafe RefUnwindSafe`. A missing trait
/// is shown as `-`.
///
/// Method resolution takes the method with fewer references first: the method of a type with the
/// trait, or else the method that every type has.
macro_rules! traits {
    ($($name:literal: $value:expr;)*) => {{
        let mut table = String::new();
        $({
            let probe = Probe::of($value);
            let words = [(&&probe).send(), (&&probe).sync(), (&&probe).unpin(), (&&probe).unwind_safe(), (&&probe).ref_unwind_safe()];
            table += &format!("{}: {}\n", $name, words.join(" "));
        })*
        table
    }};
}

struct Probe<T: ?Sized>(std::marker::PhantomData<T>);

impl<T> Probe<T> {
    /// The return type of `make`.
    fn of(_: impl FnOnce() -> T) -> Probe<T> {
        Probe(std::marker::PhantomData)
    }
}

macro_rules! probes {
    ($($has:ident $has_not:ident $method:ident $word:literal $($bound:tt)::+;)*) => {$(
        trait $has {
            fn $method(&self) -> &'static str {
                $word
            }
        }
        impl<T: $($bound)::+> $has for &Probe<T> {}
        trait $has_not {
            fn $method(&self) -> &'static str {
                "-"
            }
        }
        impl<T> $has_not for Probe<T> {}
    )*};
}

probes! {
    HasSend HasNotSend send "Send" Send;
    HasSync HasNotSync sync "Sync" Sync;
    HasUnpin HasNotUnpin unpin "Unpin" Unpin;
    HasUnwindSafe HasNotUnwindSafe unwind_safe "UnwindSafe" std::panic::UnwindSafe;
    HasRefUnwindSafe HasNotRefUnwindSafe ref_unwind_safe "RefUnwindSafe" std::panic::RefUnwindSafe;
}

fn any<T>() -> T {
    unreachable!("only its type is asked for")
}

#[test]
#[rustfmt::skip]
fn types_have_the_same_auto_traits() {
    type Local = Rc<std::cell::Cell<u8>>;
    type Sent = std::cell::Cell<u8>;
    let (atomic, cell, mutex) = (Atomic::new(1), Cell::new(1), Mutex::new(1));
    let table = traits! {
        "Atomic": any::<Atomic<u8>>;
        "Atomic of a pointer": any::<Atomic<*mut u8>>;
        "Cell of what is sent": any::<Cell<Sent>>;
        "Cell of what is local": any::<Cell<Local>>;
        "RaceCell": any::<RaceCell<u8>>;
        "RaceCell of what is sent": any::<RaceCell<Sent>>;
        "RaceCell of what is local": any::<RaceCell<Local>>;
        "Mutex of what is sent": any::<Mutex<Sent>>;
        "Mutex of what is local": any::<Mutex<Local>>;
        "Lock": any::<sim::sync::Lock<'static, u8>>;
        "Lock of what is sent": any::<sim::sync::Lock<'static, Sent>>;
        "MutexGuard": any::<MutexGuard<'static, u8>>;
        "MutexGuard of what is sent": any::<MutexGuard<'static, Sent>>;
        "MutexGuard of what is local": any::<MutexGuard<'static, Local>>;
        "JoinHandle": any::<JoinHandle<u8>>;
        "JoinHandle of what is sent": any::<JoinHandle<Sent>>;
        "JoinHandle of what is local": any::<JoinHandle<Local>>;
        "JoinError": any::<JoinError>;
        "Builder": any::<sim::task::Builder>;
        "History": any::<History<Counter>>;
        "Runner": any::<Runner>;
        "Report": any::<Report>;
        "load": || atomic.load(SeqCst);
        "compare_exchange": || atomic.compare_exchange(1, 2, SeqCst, SeqCst);
        "fetch_update": || atomic.fetch_update(SeqCst, SeqCst, Some);
        "get": || cell.get();
        "set": || cell.set(1);
        "try_lock": || mutex.try_lock();
        "yield_now": sim::task::yield_now;
        "Sleep": any::<sim::time::Sleep>;
        "Timeout": any::<sim::time::Timeout<std::future::Ready<u8>>>;
        "Interval": any::<sim::time::Interval>;
        "Instant": any::<sim::time::Instant>;
        "advance": || sim::time::advance(Duration::ZERO);
    };
    assert_eq!(table, "\
Atomic: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Atomic of a pointer: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Cell of what is sent: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Cell of what is local: - - Unpin UnwindSafe RefUnwindSafe\n\
RaceCell: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
RaceCell of what is sent: - - Unpin UnwindSafe RefUnwindSafe\n\
RaceCell of what is local: - - Unpin UnwindSafe RefUnwindSafe\n\
Mutex of what is sent: Send Sync Unpin UnwindSafe -\n\
Mutex of what is local: - - Unpin - -\n\
Lock: Send Sync Unpin - -\n\
Lock of what is sent: Send - Unpin - -\n\
MutexGuard: Send Sync Unpin - -\n\
MutexGuard of what is sent: Send - Unpin - -\n\
MutexGuard of what is local: - - Unpin - -\n\
JoinHandle: Send Sync Unpin - -\n\
JoinHandle of what is sent: Send Sync Unpin - -\n\
JoinHandle of what is local: - - Unpin - -\n\
JoinError: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Builder: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
History: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Runner: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Report: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
load: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
compare_exchange: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
fetch_update: Send Sync - UnwindSafe RefUnwindSafe\n\
get: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
set: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
try_lock: Send Sync - - -\n\
yield_now: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Sleep: Send Sync - UnwindSafe RefUnwindSafe\n\
Timeout: Send Sync - UnwindSafe RefUnwindSafe\n\
Interval: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
Instant: Send Sync Unpin UnwindSafe RefUnwindSafe\n\
advance: Send Sync - UnwindSafe RefUnwindSafe\n\
");
}

// ---- the sources

#[test]
fn no_public_item_depends_on_the_build() {
    let source = |path: &str| {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src").join(path);
        syn::parse_file(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    for path in ["lib.rs", "engine/mod.rs", "seam/mod.rs"] {
        let mut times = std::collections::BTreeMap::new();
        for item in source(path).items {
            let (attributes, visibility, name) = described(&item);
            let of_one_build = attributes.iter().any(|attribute| attribute.path().is_ident("cfg"));
            let public = matches!(visibility, Some(syn::Visibility::Public(_)));
            if of_one_build && public {
                *times.entry(name).or_insert(0) += 1;
            }
        }
        for (name, times) in times {
            // Each public item must occur twice: once for each build.
            assert_eq!(times, 2, "{path}: {name} is public in one of the builds only");
        }
    }
    let of_one_build = files_of("seam/real").into_iter().chain(files_of("seam/sim"));
    for path in of_one_build {
        for item in source(&path).items {
            let (_, visibility, name) = described(&item);
            let public = matches!(visibility, Some(syn::Visibility::Public(_)));
            assert!(
                !public,
                "{path}: {name} is public, and this file is in one of the builds only"
            );
        }
    }
}

/// The files of a folder of `src`, by their paths below it.
fn files_of(folder: &str) -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src").join(folder);
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<String> =
        names.map(|name| format!("{folder}/{}", name.to_str().unwrap())).collect();
    assert!(!files.is_empty());
    files
}

fn described(item: &syn::Item) -> (&[syn::Attribute], Option<&syn::Visibility>, String) {
    use syn::Item;
    match item {
        Item::Const(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Enum(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Fn(i) => (&i.attrs, Some(&i.vis), i.sig.ident.to_string()),
        Item::Mod(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Static(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Struct(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Trait(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Type(i) => (&i.attrs, Some(&i.vis), i.ident.to_string()),
        Item::Use(i) => (&i.attrs, Some(&i.vis), "a use".to_owned()),
        Item::Impl(i) => (&i.attrs, None, "an impl".to_owned()),
        Item::Macro(i) => (&i.attrs, None, "a macro".to_owned()),
        _ => (&[], None, String::new()),
    }
}
