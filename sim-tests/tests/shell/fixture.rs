//! The tests of a user's package, with bugs. The tests do nothing unless `UNPAUSE_FIXTURE` is set.
//!
//! `UNPAUSE_VARIANT` names the state the program is in, as if it had been edited.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use sim::check::models::{CounterOp, CounterRet};
use sim::{Atomic, Cell, Mutex};

mod answers;
mod many_runs;
mod musts;
mod threads;
mod told;

/// Returns `true` if a test must do nothing.
fn off() -> bool {
    !sim::SIMULATED || std::env::var_os("UNPAUSE_FIXTURE").is_none()
}

fn variant(name: &str) -> bool {
    std::env::var("UNPAUSE_VARIANT").is_ok_and(|variant| variant == name)
}

/// A counter with a lost update, and later versions of its code.
async fn counts() {
    assert!(!variant("at once"), "failed at once");
    let (hits, spare) = (Arc::new(Atomic::new(0u64)), Arc::new(Atomic::new(0u64)));
    let add = |hits: Arc<Atomic<u64>>, spare: Arc<Atomic<u64>>| async move {
        if variant("fixed") {
            hits.fetch_add(1, SeqCst).await;
            return;
        }
        let seen = match variant("other object") {
            true => spare.load(SeqCst).await,
            false => hits.load(SeqCst).await,
        };
        if variant("more steps") {
            spare.load(SeqCst).await;
        }
        if variant("fewer steps") {
            return;
        }
        // No failing run reads a 1: only runs for shrinking and for the explanation do.
        while (variant("never ends") || variant("other operation, never ends")) && seen == 1 {
            std::hint::spin_loop();
        }
        match variant("other operation") || variant("other operation, never ends") {
            true => drop(hits.swap(seen + 1, SeqCst).await),
            false => hits.store(seen + 1, SeqCst).await,
        }
    };
    let count = if variant("task missing") { 1 } else { 2 };
    let tasks: Vec<_> = (0..count).map(|_| sim::spawn(add(hits.clone(), spare.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    let found = hits.load(SeqCst).await;
    assert!(found == 2 || variant("forgiving"), "an update was lost: {found} of 2");
}

#[sim::test]
async fn lost_update() {
    if !off() {
        counts().await;
    }
}

/// The name of this test begins with the name of another test.
#[sim::test(seeds = 20)]
async fn lost_update_of_another_test() {
    if !off() {
        Atomic::new(0).store(1, SeqCst).await;
    }
}

/// Fails for one value in fifty, and prints the drawn values.
#[sim::test(seeds = 30)]
async fn draws() {
    if off() {
        return;
    }
    let value = sim::rand::below(u64::MAX);
    println!("drew {value}");
    assert!(variant("all") || value % 50 != 0, "it was {value}");
}

#[sim::test(max_steps = 200)]
async fn never_ends() {
    if off() {
        return;
    }
    let ready = Arc::new(Atomic::new(false));
    while !ready.load(SeqCst).await {}
}

/// The trace of this test has more decisions than fit on a line.
#[sim::test]
async fn fails_after_long() {
    if off() {
        return;
    }
    let hits = Arc::new(Atomic::new(0u64));
    let one = |hits: Arc<Atomic<u64>>| async move {
        for _ in 0..100 {
            hits.fetch_add(sim::rand::below(1000) % 2 + 1, SeqCst).await;
        }
    };
    let tasks = [sim::spawn(one(hits.clone())), sim::spawn(one(hits.clone()))];
    for task in tasks {
        task.await.unwrap();
    }
    assert!(hits.load(SeqCst).await < 200, "too many");
}

#[sim::test]
async fn returns_an_error() -> Result<(), std::num::ParseIntError> {
    if !off() {
        let _: u8 = "two hundred".parse()?;
    }
    Ok(())
}

/// The output of the test body is a part of the captured output.
#[sim::test]
#[should_panic(expected = "an update was lost: 1 of 2")]
async fn should_panic_with_its_own_words() {
    if off() {
        panic!("an update was lost: 1 of 2");
    }
    counts().await;
}

#[sim::test(must_fail)]
async fn must_fail() {
    if off() {
        let simulated = sim::SIMULATED;
        assert!(!simulated, "wanted");
        return;
    }
    counts().await;
}

#[sim::test(seeds = 10)]
#[ignore = "is slow, says its user"]
async fn ignored() {
    println!("the ignored test ran");
}

#[rstest::rstest]
#[case(1)]
#[case(2)]
#[sim::test]
async fn with_cases(#[case] number: u32) {
    assert!(off(), "case {number}");
}

#[test_case::test_case(1; "one")]
#[test_case::test_case(2; "two")]
#[sim::test]
async fn with_test_cases(number: u32) {
    assert!(off(), "test case {number}");
}

#[sim::test]
async fn awaits_nothing() {
    assert!(off() || variant(""), "nothing was awaited");
}

#[sim::test(seeds = 5)]
async fn does_nothing() {
    let _ = off();
}

/// A task holds a lock of std across a point. The other task waits for this lock and blocks the whole thread.
#[sim::test]
#[allow(clippy::await_holding_lock)]
async fn holds_a_real_lock() {
    if off() {
        return;
    }
    let real = Arc::new(std::sync::Mutex::new(0));
    let point = Atomic::new(0);
    let other = real.clone();
    let task = sim::spawn(async move { *other.lock().unwrap() += 1 });
    let held = real.lock().unwrap();
    point.load(SeqCst).await;
    drop(held);
    task.await.unwrap();
}

/// Panics under some seeds. A destructor then panics, too.
#[sim::test(seeds = 500)]
async fn panics_twice() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if std::thread::panicking() {
                panic!("the destructor failed as well");
            }
        }
    }
    if off() {
        return;
    }
    let _bomb = Bomb;
    assert!(sim::rand::below(20) != 7, "the first panic");
    Cell::new(0).set(1).await;
}

#[sim::test(seeds = 500)]
async fn aborts() {
    ends_its_process();
}

/// Ends its process in the same way, for another test about marks.
#[sim::test(seeds = 500)]
async fn aborts_too() {
    ends_its_process();
}

/// Ends the process under a seed, without a word.
fn ends_its_process() {
    if !off() && !variant("fixed") {
        let value = sim::rand::below(100);
        assert!(!variant("exits") || value != 17, "a failure that can be shrunk");
        if value == 17 {
            std::process::abort();
        }
    }
}

#[sim::test]
async fn deadlocks() {
    if off() {
        return;
    }
    let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    let both = |first: Arc<Mutex<()>>, second: Arc<Mutex<()>>| async move {
        let _first = first.lock().await;
        let _second = second.lock().await;
    };
    let tasks = [sim::spawn(both(a.clone(), b.clone())), sim::spawn(both(b, a))];
    for task in tasks {
        task.await.unwrap();
    }
}

/// Two tasks that add to a counter, in one operation each.
async fn adds() {
    let hits = Arc::new(Atomic::new(0));
    let add = |hits: Arc<Atomic<u64>>| async move {
        hits.fetch_add(1, SeqCst).await;
        hits.fetch_add(1, SeqCst).await;
    };
    let tasks = [sim::spawn(add(hits.clone())), sim::spawn(add(hits))];
    for task in tasks {
        task.await.unwrap();
    }
}

#[sim::test(strategy = "exhaustive", must_prove)]
async fn proves() {
    if !off() {
        adds().await;
    }
}

#[sim::test(strategy = "exhaustive")]
async fn attempts() {
    if !off() {
        adds().await;
    }
}

/// `lost_update` in a package whose folder the environment names, so that traces can be kept there.
#[test]
fn in_a_package() {
    let Ok(folder) = std::env::var("UNPAUSE_PACKAGE") else {
        return;
    };
    if off() {
        return;
    }
    if std::env::var_os("UNPAUSE_TRACING").is_some() {
        tracing::subscriber::set_global_default(Subscriber).expect("there is none yet");
    }
    let site = sim::__private::Site {
        test: "demo::in_a_package",
        package: "demo",
        version: "1.2.3",
        manifest_dir: folder.leak(),
        file: file!(),
        line: line!(),
        binary: None,
        integration: false,
    };
    let replay = std::env::var("UNPAUSE_ATTRIBUTE").ok().map(|source| &*source.leak());
    let attributes = sim::__private::Attributes { seeds: Some(40), replay, ..Default::default() };
    sim::__private::test(site, attributes, counts);
}

/// Prints the operations that `tracing` reports.
struct Subscriber;

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "sim"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        println!("heard an operation");
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Each run takes some time, in both builds.
#[sim::test(seeds = 9000)]
async fn takes_its_time() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_some() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Takes one long step that consists of many short sleeps, so it remains slow after the process was stopped for a time.
#[sim::test(seeds = 1)]
async fn takes_a_while() {
    if let Some(mark) = std::env::var_os("UNPAUSE_MARK") {
        std::fs::write(mark, "").unwrap();
        (0..60).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(10)));
    }
}

#[sim::test(seeds = 20)]
async fn never_sees_it() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_some() {
        sim::sometimes!(false, "the impossible");
    }
}

/// A counter from the library, and its commands.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Counter(sim::check::models::Counter);

impl sim::check::Model for Counter {
    type Op = CounterOp;
    type Ret = CounterRet;

    fn step(&mut self, op: &CounterOp) -> CounterRet {
        self.0.step(op)
    }

    fn written(op: &CounterOp, ret: Option<&CounterRet>) -> Option<sim::check::history::Written> {
        sim::check::models::Counter::written(op, ret)
    }

    fn written_before(&self) -> Option<Vec<sim::check::history::Written>> {
        self.0.written_before()
    }
}

impl sim::Program for Counter {
    fn generate(&self, g: &mut sim::Gen<'_, Self>) -> CounterOp {
        g.choose(&[CounterOp::Get, CounterOp::Increment])
    }
}

/// Commands of a counter, run on a counter that adds in one step or in two steps.
async fn commands(at_once: bool) {
    let counter = Atomic::new(0);
    sim::parallel(sim::Shape::chunks(), Counter::default(), async |op| match op {
        CounterOp::Get => {
            let value = counter.load(SeqCst).await;
            let percent = if variant("wants too much") { 99 } else { 1 };
            sim::cover!(value == 0, percent, "a get before all else");
            CounterRet::Value(value)
        }
        _ if at_once => {
            counter.fetch_add(1, SeqCst).await;
            CounterRet::Done
        }
        _ => {
            let value = counter.load(SeqCst).await;
            counter.store(value + 1, SeqCst).await;
            CounterRet::Done
        }
    })
    .await;
}

#[sim::test]
async fn generated() {
    if !off() {
        commands(false).await;
    }
}

/// In both builds.
#[sim::test(seeds = 30)]
async fn counted() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_some() {
        commands(true).await;
    }
}

/// Claims about all runs: conditions that are rare, frequent, or counted only in some runs, and commands. The test is
/// for both builds.
#[sim::test(seeds = 200)]
async fn adds_up() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_some() {
        let value = sim::rand::below(60);
        sim::sometimes!(value == 7, "a rare value");
        if value > 20 {
            sim::cover!(value % 2 == 0, 32, "an even value, and not a small one");
        }
        commands(true).await;
    }
}

/// A counter that adds in two steps, with time between them. In both builds.
#[sim::test(seeds = 50)]
async fn generated_with_time() {
    if std::env::var_os("UNPAUSE_FIXTURE").is_none() {
        return;
    }
    let moment = || std::thread::sleep(std::time::Duration::from_millis(1));
    let counter = Atomic::new(0);
    sim::parallel(sim::Shape::chunks(), Counter::default(), async |op| match op {
        CounterOp::Get => CounterRet::Value(counter.load(SeqCst).await),
        _ if variant("fixed") => {
            counter.fetch_add(1, SeqCst).await;
            CounterRet::Done
        }
        _ => {
            let value = counter.load(SeqCst).await;
            moment();
            counter.store(value + 1, SeqCst).await;
            assert!(!variant("panics"), "no room");
            while variant("hangs") {
                moment();
            }
            CounterRet::Done
        }
    })
    .await;
}

/// A read is stale if it begins after the write and ends before the written value is copied. The read rarely starts so
/// late, and it needs many steps.
#[sim::test(seeds = 30, strategy = "random", closure)]
async fn reads_a_copy() {
    use sim::check::models::{Register, RegisterOp, RegisterRet};
    if off() {
        return;
    }
    let words = Arc::new([Atomic::new(0u64), Atomic::new(0u64)]);
    let history = sim::History::new(Register::default());
    let (copied, written) = (words.clone(), words.clone());
    let copy = sim::spawn(async move {
        sim::spin_until(async || copied[0].load(SeqCst).await == 1).await;
        copied[1].store(1, SeqCst).await;
    });
    let writer = history.clone();
    let write = sim::spawn(async move {
        let work = async {
            written[0].store(1, SeqCst).await;
            RegisterRet::Done
        };
        writer.call(RegisterOp::Write(1), work).await;
    });
    let read = async {
        let own = Atomic::new(0);
        for n in 0..12 {
            own.store(n, SeqCst).await;
        }
        RegisterRet::Value(words[1].load(SeqCst).await)
    };
    history.call(RegisterOp::Read, read).await;
    copy.await.unwrap();
    write.await.unwrap();
    history.assert_linearizable();
}
