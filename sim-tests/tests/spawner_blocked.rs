//! A stress test on the only thread of the runtime that polls its tasks. This test has a file of its own, because a
//! process has only one spawner.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sim::Ordering::SeqCst;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Atomic, Runner};

fn runner() -> Runner {
    Runner::new().hermetic().seeds(0..3).hang(Duration::from_secs(2))
}

async fn adds() {
    let counter = Arc::new(Atomic::new(0));
    sim::map_concurrently(0..4, |_| {
        let counter = counter.clone();
        async move { counter.fetch_add(1, SeqCst).await }
    })
    .await;
    assert_eq!(counter.load(SeqCst).await, 4);
}

fn passes(report: &Report) {
    assert!(report.passed() && report.runs == 3, "{}", text(report, &Style::default()));
}

#[test]
fn a_runtime_whose_only_thread_is_blocked_is_named_with_the_place_and_the_remedy() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    sim::task::set_spawner(move |task| {
        handle.spawn(task);
    })
    .unwrap();

    // A body that spawns nothing needs no other thread.
    passes(&runtime.block_on(async { runner().run(async || ()) }));

    let began = Instant::now();
    let report = runtime.block_on(async { runner().run(adds) });
    if sim::SIMULATED {
        return passes(&report);
    }
    // The run is ended and not the process, before the watchdog takes it for a hang.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let finding = report.finding.as_ref().expect("no thread could poll the tasks");
    let Outcome::Failed(Failure::Misuse { message, place }) = &finding.run.outcome else {
        panic!("{report:?}")
    };
    let remedy = "Call the Runner from outside of the runtime, or give the runtime more threads";
    assert!(message.contains("no thread of the spawner polls 0.0, 0.1, 0.2, 0.3"), "{message}");
    assert!(message.contains(remedy), "{message}");
    assert!(place.contains("sim-tests/tests/spawner_blocked.rs:"), "{place}");
    assert!(!text(&report, &Style::default()).contains("did not end"), "{report:?}");

    // Aborted before they began, they end when the thread is free.
    runtime.block_on(async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    });

    // The remedy.
    let (stop, stops) = futures::channel::oneshot::channel::<()>();
    let thread = std::thread::spawn(move || runtime.block_on(stops));
    passes(&runner().run(adds));
    drop(stop);
    let _ = thread.join().unwrap();
}
