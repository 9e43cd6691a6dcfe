//! Histories with the memory `c11`: a call precedes the calls that it happens before.

use std::sync::Arc;

use sim::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use sim::check::models::{Register, RegisterOp, RegisterRet};
use sim::check::online::Online;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, History, Runner, spawn};

fn runner(memory: &str) -> Runner {
    Runner::new().hermetic().memory(memory).seeds(0..200).shrink(false)
}

fn screen(report: &Report) -> String {
    text(report, &Style { width: 160, ..Style::default() })
}

fn is_violated(report: &Report) -> bool {
    let outcome = report.finding.as_ref().map(|finding| &finding.run.outcome);
    match outcome {
        None => false,
        Some(Outcome::Failed(Failure::History { .. })) => true,
        Some(other) => panic!("{other:?}"),
    }
}

type Registers = History<Register<u64>>;

/// A register: writes store one word, and reads load one word. A wrong register has two words.
struct Words {
    stored: Arc<Atomic<u64>>,
    loaded: Arc<Atomic<u64>>,
    history: Registers,
    order: Ordering,
}

impl Words {
    fn new(history: Registers, order: Ordering) -> Arc<Words> {
        let word = Arc::new(Atomic::new(0));
        Arc::new(Words { stored: word.clone(), loaded: word, history, order })
    }

    /// Creates a register whose reads miss all writes.
    fn wrong(history: Registers, order: Ordering) -> Arc<Words> {
        let [stored, loaded] = [0, 0].map(|value| Arc::new(Atomic::new(value)));
        Arc::new(Words { stored, loaded, history, order })
    }

    async fn write(&self, value: u64) {
        let work = async {
            self.stored.store(value, self.order).await;
            RegisterRet::Done
        };
        self.history.call(RegisterOp::Write(value), work).await;
    }

    async fn read(&self) {
        let work = async { RegisterRet::Value(self.loaded.load(self.order).await) };
        self.history.call(RegisterOp::Read, work).await;
    }
}

fn history() -> Registers {
    History::new(Register::new(0))
}

/// A task writes, and the body reads. If `flag` is given, the body reads only after it has seen the flag, which the
/// task stores after the write.
async fn write_and_read(words: Arc<Words>, flag: Option<[Ordering; 2]>) {
    let is_set = Arc::new(Atomic::new(false));
    let writer = spawn({
        let (words, is_set) = (words.clone(), is_set.clone());
        async move {
            words.write(1).await;
            if let Some([store, _]) = flag {
                is_set.store(true, store).await;
            }
        }
    });
    let is_seen = match flag {
        Some([_, load]) => is_set.load(load).await,
        None => true,
    };
    if is_seen {
        words.read().await;
    }
    writer.await.unwrap();
    words.history.assert_linearizable();
}

const ORDERED: Option<[Ordering; 2]> = Some([Release, Acquire]);
const UNORDERED: Option<[Ordering; 2]> = Some([Relaxed, Acquire]);

#[cfg_attr(feature = "sim", test)]
fn a_read_may_miss_a_write_that_does_not_happen_before_it() {
    for flag in [None, UNORDERED] {
        let report = runner("c11")
            .run(async move || write_and_read(Words::new(history(), Relaxed), flag).await);
        assert!(report.passed(), "{}", screen(&report));
        let report = runner("c11").run(async move || {
            write_and_read(Words::new(history().real_time(), Relaxed), flag).await
        });
        assert!(is_violated(&report), "in real time");
        // With `sc`, both kinds of order give the same verdict for a correct register.
        let report = runner("sc")
            .run(async move || write_and_read(Words::new(history(), Relaxed), flag).await);
        assert!(report.passed(), "{}", screen(&report));
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_read_must_not_miss_a_write_that_happens_before_it() {
    let run = |register: fn(Registers, Ordering) -> Arc<Words>, flag| {
        runner("c11").run(async move || write_and_read(register(history(), Relaxed), flag).await)
    };
    assert!(run(Words::new, ORDERED).passed());
    let report = run(Words::wrong, ORDERED);
    assert!(is_violated(&report), "the release and the acquire order the calls");
    let shown = screen(&report).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("a call precedes another one if it happens before it"), "{shown}");
    // A register without an order between its calls may always return the initial value.
    assert!(run(Words::wrong, UNORDERED).passed());
}

#[cfg_attr(feature = "sim", test)]
fn calls_of_one_client_keep_their_order() {
    let report = runner("c11").run(async || {
        let words = Words::wrong(history(), Relaxed);
        words.write(1).await;
        words.read().await;
        words.history.assert_linearizable();
    });
    assert!(is_violated(&report));
}

/// A call without an access happens before the calls after the next release of its task. Such a call does not happen
/// before earlier calls.
#[cfg_attr(feature = "sim", test)]
fn a_call_without_an_access_is_ordered_by_a_later_release() {
    let run = |releases_after: bool| {
        runner("c11").run(async move || {
            let (history, flag) = (history(), Arc::new(Atomic::new(false)));
            let writer = spawn({
                let (history, flag) = (history.clone(), flag.clone());
                async move {
                    if !releases_after {
                        flag.store(true, Release).await;
                    }
                    history.invoke(RegisterOp::Write(1)).ok(RegisterRet::Done);
                    if releases_after {
                        flag.store(true, Release).await;
                    }
                }
            });
            if flag.load(Acquire).await {
                history.invoke(RegisterOp::Read).ok(RegisterRet::Value(0));
            }
            writer.await.unwrap();
            history.assert_linearizable();
        })
    };
    assert!(is_violated(&run(true)));
    assert!(run(false).passed());
}

#[cfg_attr(feature = "sim", test)]
fn a_run_of_seq_cst_operations_is_checked_in_real_time() {
    for memory in ["sc", "c11"] {
        let run = |register: fn(Registers, Ordering) -> Arc<Words>| {
            let program = async move || write_and_read(register(history(), SeqCst), None).await;
            runner(memory).run(program)
        };
        assert!(run(Words::new).passed());
        assert!(is_violated(&run(Words::wrong)), "{memory}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn an_online_check_accepts_what_happens_before_allows() {
    let online = || history().check_online(Online::new);
    let run = |words: fn(Registers, Ordering) -> Arc<Words>, history: Registers, flag| {
        write_and_read(words(history, Relaxed), flag)
    };
    let passes = runner("c11").run(async move || run(Words::new, online(), None).await);
    assert!(passes.passed(), "{}", screen(&passes));
    let fails = runner("c11").run(async move || run(Words::new, online().real_time(), None).await);
    assert!(is_violated(&fails));
    let fails = runner("c11").run(async move || run(Words::wrong, online(), ORDERED).await);
    assert!(is_violated(&fails));
}

#[cfg_attr(feature = "sim", test)]
fn a_search_checks_happens_before() {
    let search = |flag, register: fn(Registers, Ordering) -> Arc<Words>| {
        Runner::new()
            .hermetic()
            .memory("c11")
            .shrink(false)
            .strategy("exhaustive")
            .run(async move || write_and_read(register(history(), Relaxed), flag).await)
    };
    let report = search(None, Words::new);
    assert!(report.passed(), "{}", screen(&report));
    assert!(search(ORDERED, Words::new).passed());
    assert!(is_violated(&search(ORDERED, Words::wrong)));
}
