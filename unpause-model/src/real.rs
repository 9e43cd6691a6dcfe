//! Models on real threads, without the engine.

use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::door::Ended;

/// The number of runs of a model.
const RUNS: u32 = 100;
/// The time after which no further run begins.
const TIME: Duration = Duration::from_secs(1);
/// The time after which a run counts as never ending.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a model several times. Returns the number of runs, and the failure message if a run fails.
pub(crate) fn check(tool: &str, once: &(dyn Fn() -> Result<(), Option<String>> + Sync)) -> Ended {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "note: {tool}: this program runs each model at most {RUNS} times on real threads. \
             `cargo unpause test --any` tries its interleavings."
        );
    });
    // The records of a run can belong to only one model at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let begun = Instant::now();
    for made in 1..=RUNS {
        let failure = run(once);
        if failure.is_some() || begun.elapsed() > TIME {
            return (made.into(), failure);
        }
    }
    (RUNS.into(), None)
}

/// Runs a model on a separate thread, so that a run that never ends is detected as a failure.
fn run(once: &(dyn Fn() -> Result<(), Option<String>> + Sync)) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let _ = sender.send(once());
        });
        match receiver.recv_timeout(PATIENCE) {
            Ok(ended) => ended.err().map(Option::unwrap_or_default),
            Err(_) => {
                // The thread cannot be stopped, so the process exits.
                eprintln!(
                    "error: a run on real threads has not ended for {} s: a deadlock or an endless loop. `cargo unpause test --any` shows it.",
                    PATIENCE.as_secs()
                );
                std::process::exit(101);
            }
        }
    })
}
