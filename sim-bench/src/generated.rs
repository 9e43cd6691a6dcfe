//! A test generated from a model, compared with the same test written by hand: two increments at the same time, then a
//! get.
//!
//! A generated program is planned, run, recorded and checked in each run. A hand-written test checks only the final
//! state, as hand-written tests usually do.

use std::time::Duration;

use shuttle::scheduler::RandomScheduler;
use sim::check::Model;
use sim::generate::{Gen, Program, Script, Shape};
use sim::{Atomic, Ordering::SeqCst, Runner};

use crate::measure::{Clock, Contestant, Effort, side_by_side};

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench generated [quick]

  a generated program (two increments at the same time, then a get) beside hand-written tests of the
  same, ours and shuttle's: microseconds a run
";

/// A counter model whose generated programs are always the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Counter(u64);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Increment,
    Get,
}

impl Model for Counter {
    type Op = Op;
    type Ret = Option<u64>;

    fn step(&mut self, op: &Op) -> Option<u64> {
        match op {
            Op::Increment => {
                self.0 += 1;
                None
            }
            Op::Get => Some(self.0),
        }
    }
}

impl Program for Counter {
    fn generate(&self, _: &mut Gen<'_, Self>) -> Op {
        if self.0 < 2 { Op::Increment } else { Op::Get }
    }
}

/// Prints the table.
pub(crate) fn table(quick: bool) {
    let (repetitions, millis) = if quick { (3, 20) } else { (15, 100) };
    let turn = Duration::from_millis(millis);
    let effort = Effort { repetitions, turn, runs_min: 60, clock: Clock::Processor };
    let rows: [(&str, Contestant<'_>); 5] = [
        ("generated, checked", Box::new(generated)),
        ("written down, checked", Box::new(scripted)),
        ("by hand, ours", Box::new(by_hand)),
        ("by hand, shuttle's threads", Box::new(shuttle_threads)),
        ("by hand, shuttle's futures", Box::new(shuttle_futures)),
    ];
    let (names, contestants): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let times = side_by_side(&contestants, effort);
    println!("Two increments at the same time, then a get\n");
    println!("{:28}  {:>10}  {:>10}  {:>20}", "", "us a run", "least", "of shuttle's threads");
    let shuttle = times[3].median();
    for (name, times) in names.into_iter().zip(&times) {
        let micros = |seconds: f64| seconds * 1e6;
        let ratio = times.median() / shuttle;
        let (median, least) = (micros(times.median()), micros(times.least()));
        println!("{name:28}  {median:>10.2}  {least:>10.2}  {ratio:>20.2}");
    }
}

fn runner(runs: u64) -> Runner {
    Runner::new().hermetic().seeds(0..runs).strategy("random").jobs(1)
}

async fn ask(counter: &Atomic<u64>, op: Op) -> Option<u64> {
    match op {
        Op::Increment => {
            counter.fetch_add(1, SeqCst).await;
            None
        }
        Op::Get => Some(counter.load(SeqCst).await),
    }
}

fn generated(runs: u64) {
    let report = runner(runs).run(async || {
        let counter = Atomic::new(0);
        let shape = Shape::chunks().max_prefix_length(0).max_chunks(1).max_chunk_size(2);
        let run = async |op| ask(&counter, op).await;
        sim::parallel(shape.max_suffix_length(1), Counter(0), run).await;
    });
    assert!(report.passed());
}

fn scripted(runs: u64) {
    let report = runner(runs).run(async || {
        let counter = Atomic::new(0);
        let script = Script::new().branch(0, 0, Op::Increment).branch(0, 1, Op::Increment);
        let run = async |op| ask(&counter, op).await;
        sim::parallel::scripted(script.suffix(Op::Get), Counter(0), run).await;
    });
    assert!(report.passed());
}

fn by_hand(runs: u64) {
    let report = runner(runs).run(async || {
        let counter = std::sync::Arc::new(Atomic::new(0u64));
        let tasks = [(); 2].map(|()| {
            let counter = counter.clone();
            sim::spawn(async move {
                counter.fetch_add(1, SeqCst).await;
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(counter.load(SeqCst).await, 2);
    });
    assert!(report.passed());
}

fn shuttle_runs(runs: u64, body: impl Fn() + Send + Sync + 'static) {
    let scheduler = RandomScheduler::new_from_seed(0, runs as usize);
    let runner = shuttle::Runner::new(scheduler, shuttle::Config::default());
    assert_eq!(runner.run(body) as u64, runs);
}

fn shuttle_threads(runs: u64) {
    shuttle_runs(runs, || {
        let counter = shuttle::sync::Arc::new(shuttle::sync::atomic::AtomicU64::new(0));
        let threads = [(); 2].map(|()| {
            let counter = counter.clone();
            shuttle::thread::spawn(move || {
                counter.fetch_add(1, SeqCst);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(SeqCst), 2);
    });
}

fn shuttle_futures(runs: u64) {
    shuttle_runs(runs, || {
        shuttle::future::block_on(async {
            let counter = shuttle::sync::Arc::new(shuttle::sync::atomic::AtomicU64::new(0));
            let tasks = [(); 2].map(|()| {
                let counter = counter.clone();
                shuttle::future::spawn(async move {
                    counter.fetch_add(1, SeqCst);
                })
            });
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(counter.load(SeqCst), 2);
        });
    });
}
