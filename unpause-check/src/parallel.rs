//! Runs independent pieces of one check on several threads. Of all files below the runner, only this file spawns
//! threads.
//!
//! A check in a run is single-threaded like the run. Several threads run only if a caller requests them. The result
//! does not depend on this number, because pieces share nothing, and the results after the first final piece are
//! dropped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use unpause_ordered::sort_by_key;

/// The interval between calls of `stop` when the calling thread has no pieces left.
const POLL: Duration = Duration::from_millis(5);

/// Runs the pieces `0..count` and returns their results up to and including the first final piece, which is the final
/// piece with the lowest index, not the earliest in time.
///
/// Each thread creates a worker with `worker` and passes it one piece after another. The worker also receives a
/// function that returns `true` if the worker must stop; a stopped worker must mark its piece as final. `stop` is
/// called on this thread only. Uses at most `threads` threads, and no more threads than pieces.
///
/// # Panics
/// If a worker panics, with the same payload.
pub(super) fn until_first<T, W>(
    count: usize,
    threads: usize,
    stop: Option<&dyn Fn() -> bool>,
    worker: impl Fn() -> W + Sync,
) -> Vec<T>
where
    T: Send,
    W: FnMut(usize, &dyn Fn() -> bool) -> (T, bool),
{
    let (next, last, halt) =
        (AtomicUsize::new(0), AtomicUsize::new(usize::MAX), AtomicBool::new(false));
    // One thread's share: takes the next piece until no piece up to the final one is left. Pieces are handed out in
    // order, so when a piece has begun, all lower pieces have begun too.
    let share = |stop: &dyn Fn() -> bool| {
        let mut work = worker();
        let mut done = Vec::new();
        loop {
            let piece = next.fetch_add(1, Relaxed);
            if piece >= count || piece > last.load(Relaxed) {
                return done;
            }
            // A piece above the final piece is stopped, because its result is not needed.
            let (result, is_last) = work(piece, &|| piece > last.load(Relaxed) || stop());
            if is_last {
                last.fetch_min(piece, Relaxed);
            }
            done.push((piece, result));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let (ended, ends) = channel::<()>();
        let others: Vec<_> = (1..threads.min(count))
            .map(|_| {
                let (share, halt, ended) = (&share, &halt, ended.clone());
                scope.spawn(move || {
                    let _ended = ended;
                    share(&|| halt.load(Relaxed))
                })
            })
            .collect();
        drop(ended);
        let asked = || {
            if stop.is_some_and(|stop| stop()) {
                halt.store(true, Relaxed);
            }
            halt.load(Relaxed)
        };
        let mut all = share(&asked);
        // The channel closes when the last of the other threads has ended, normally or by a panic.
        while let Err(RecvTimeoutError::Timeout) = ends.recv_timeout(POLL) {
            asked();
        }
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    sort_by_key(&mut all, |(piece, _)| *piece);
    let end = last.load(Relaxed);
    all.into_iter().take_while(|(piece, _)| *piece <= end).map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_piece_that_ends_it_is_the_last_whoever_is_first() {
        for threads in [1, 2, 5, 100] {
            let done = until_first(50, threads, None, || {
                |piece, _: &dyn Fn() -> bool| {
                    if piece == 20 {
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    (piece, piece % 10 == 0 && piece >= 20)
                }
            });
            assert_eq!(done, (0..=20).collect::<Vec<_>>(), "{threads} threads");
        }
    }

    #[test]
    fn all_are_told_to_stop_though_only_one_thread_asks() {
        let stop = || true;
        let done = until_first(4, 2, Some(&stop), || {
            |piece, stop: &dyn Fn() -> bool| {
                while !stop() {
                    std::thread::yield_now();
                }
                (piece, true)
            }
        });
        assert_eq!(done, [0]);
    }

    #[test]
    fn a_panic_in_a_worker_is_a_panic_here() {
        let run = || {
            until_first(8, 4, None, || {
                |piece, _: &dyn Fn() -> bool| {
                    assert!(piece != 5, "piece five");
                    (piece, false)
                }
            })
        };
        let panic = std::panic::catch_unwind(run).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"piece five"));
    }
}
