//! Tests of the parts. Each part is used by the runs that need it, and by no other run. The next run must not see the
//! state of a part.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use super::{Parts, RunLimits, TaskBody, Worker};
use crate::Ordering::SeqCst;
use crate::run::clock_mode::ClockMode;
use crate::run::faults::{Faults, Progress};
use crate::run::ids::Seed;
use crate::run::what_if::WhatIf;
use crate::strategy::Chosen;
use crate::{Atomic, Mutex, node, spawn, time};

/// A part, the settings and the body of a run that uses it.
struct Row {
    part: &'static str,
    clock: ClockMode,
    faults: Faults,
    what_if: Option<Arc<WhatIf>>,
    body: fn() -> Pin<Box<dyn Future<Output = ()>>>,
}

impl Row {
    fn new(part: &'static str, body: fn() -> Pin<Box<dyn Future<Output = ()>>>) -> Row {
        Row { part, clock: ClockMode::Last, faults: Faults::NONE, what_if: None, body }
    }

    fn limits(&self) -> RunLimits {
        let (clock, faults) = (self.clock, self.faults.clone());
        let what_if = self.what_if.clone();
        RunLimits { clock, faults, searched: false, what_if, ..RunLimits::of_test(1_000) }
    }
}

async fn sleep() {
    time::sleep(Duration::from_secs(1)).await;
}

/// Lets other tasks take some steps.
async fn let_others() {
    for _ in 0..10 {
        crate::task::yield_now().await;
    }
}

/// A run of the core: tasks, points, memory, locks, a wait for a lock, an abort.
async fn plain() {
    let shared = Arc::new((Atomic::new(0_u32), Mutex::new(())));
    let tasks = [(); 3].map(|()| {
        let shared = shared.clone();
        spawn(async move {
            let _guard = shared.1.lock().await;
            let seen = shared.0.load(SeqCst).await;
            shared.0.store(seen + 1, SeqCst).await;
            crate::task::yield_now().await;
        })
    });
    tasks[2].abort();
    for task in tasks {
        drop(task.await);
    }
}

fn rows() -> Vec<Row> {
    vec![
        Row::new("timers", || Box::pin(sleep())),
        Row { clock: ClockMode::Any, ..Row::new("hand", || Box::pin(sleep())) },
        Row {
            faults: Faults { weak: true, ..Faults::NONE },
            ..Row::new("fault", || Box::pin(plain()))
        },
        Row {
            faults: Faults { progress: Progress::WaitFree(900), ..Faults::NONE },
            ..Row::new("own_steps", || Box::pin(plain()))
        },
        Row { what_if: Some(Arc::default()), ..Row::new("what_if", || Box::pin(plain())) },
        Row::new("nodes", || Box::pin(async { node("a").spawn(plain()).await.unwrap() })),
        Row::new("pace", || {
            Box::pin(async {
                node("a").slow(2);
                node::find("a").unwrap().spawn(plain()).await.unwrap();
            })
        }),
        Row::new("carrier", || {
            Box::pin(async {
                let node = node("a");
                node.clock().late_timers(1);
                node.spawn(sleep()).await.unwrap();
            })
        }),
        Row::new("watch", || {
            Box::pin(async {
                let flag = Arc::new(Atomic::new(false));
                let own = flag.clone();
                let is_set = move || {
                    let own = own.clone();
                    async move { own.load(SeqCst).await }
                };
                let waits = spawn(crate::sync::spin_until(is_set));
                let_others().await;
                flag.store(true, SeqCst).await;
                waits.await.unwrap();
            })
        }),
        Row::new("ear", || {
            Box::pin(async {
                let pair = Arc::new((Mutex::new(false), crate::Condvar::new()));
                let own = pair.clone();
                let waits = spawn(async move {
                    let guard = own.0.lock().await;
                    drop(own.1.wait_while(guard, |is_set| !*is_set).await);
                });
                let_others().await;
                *pair.0.lock().await = true;
                pair.1.notify_all();
                waits.await.unwrap();
            })
        }),
        Row::new("parking", || {
            Box::pin(async {
                crate::task::unparker().unpark();
                crate::task::park().await;
            })
        }),
        Row::new("at_end", || Box::pin(async { crate::task::at_end(|| {}) })),
        Row::new("kept", || Box::pin(async { drop(node("a")) })),
        Row::new("invariants", || {
            Box::pin(async {
                let flag = Arc::new(Atomic::new(0));
                let own = flag.clone();
                let _holds = crate::invariant("it is small", move || own.peek() < 2);
                flag.store(1, SeqCst).await;
            })
        }),
    ]
}

/// Runs a body. Returns the run as text, and the parts that it used.
fn run(worker: &mut Worker, row: &Row) -> (String, Vec<&'static str>) {
    let place = std::panic::Location::caller();
    let body = pin!(TaskBody::new((row.body)()));
    assert_eq!(worker.run(Seed(7), &row.limits(), place, body), None, "{}", row.part);
    let run = worker.extract(Seed(7), "random");
    worker.forget_histories();
    let text = format!("{:?} {:?} {:?} {:?}", run.steps, run.draws, run.events, run.tasks);
    (text, worker.parts_used())
}

#[test]
fn a_part_is_used_by_the_runs_that_need_it_alone_and_then_forgotten() {
    let rows = rows();
    let listed: Vec<&str> = rows.iter().map(|row| row.part).collect();
    assert_eq!(listed, Parts::NAMES, "each part of the list has a row here");
    let mut worker = Worker::new(Chosen::parse("random").unwrap().create());
    let core = Row::new("none", || Box::pin(plain()));
    let (plain, none) = run(&mut worker, &core);
    assert_eq!(none, [""; 0], "a run of the core uses no part");
    for row in &rows {
        let (first, used) = run(&mut worker, row);
        assert!(used.contains(&row.part), "{}: {used:?}", row.part);
        assert_eq!(run(&mut worker, row).0, first, "{} is forgotten", row.part);
        assert_eq!(run(&mut worker, &core), (plain.clone(), Vec::new()), "after {}", row.part);
    }
}
