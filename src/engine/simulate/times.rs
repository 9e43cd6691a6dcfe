//! The CPU times of a thread, as Linux counts them. Other systems do not provide them.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The CPU times of a thread since its start.
pub(super) struct ThreadTimes {
    /// The time during which the thread ran.
    ran: Duration,
    /// The time during which the thread was ready to run but had no processor.
    pub(super) queued: Duration,
    /// The number of times that the thread waited for something else than a processor.
    pub(super) waits: u64,
}

impl ThreadTimes {
    /// Returns the times of the current thread. `None` if the system does not provide them.
    pub(super) fn now() -> Option<ThreadTimes> {
        ThreadTimes::read(Path::new("/proc/thread-self"))
    }

    /// Returns the time during which the thread ran or was ready to run.
    pub(super) fn busy(&self) -> Duration {
        self.ran.saturating_add(self.queued)
    }

    fn read(folder: &Path) -> Option<ThreadTimes> {
        let times = fs::read_to_string(folder.join("schedstat")).ok()?;
        let status = fs::read_to_string(folder.join("status")).ok()?;
        ThreadTimes::of(&times, &status)
    }

    fn of(times: &str, status: &str) -> Option<ThreadTimes> {
        let (ran, queued) = times_of(times)?;
        let waits =
            status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        let waits = waits.trim().parse().ok()?;
        Some(ThreadTimes { ran, queued, waits })
    }
}

/// Returns the times in the text of a file `schedstat`: the time during which the thread ran, and the time during which
/// it had no processor.
fn times_of(text: &str) -> Option<(Duration, Duration)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (ran, queued) = (numbers.next()??, numbers.next()??);
    Some((Duration::from_nanos(ran), Duration::from_nanos(queued)))
}

/// A handle to a thread of this process, with which another thread reads its times.
#[derive(Debug)]
pub(super) struct Thread {
    /// The folder with the files of the thread. `None` if the system has no such folder.
    folder: Option<Arc<Path>>,
}

impl Thread {
    pub(super) fn current() -> Thread {
        thread_local! {
            /// The folder of this thread, and the process in which it was found. A fork changes both.
            static KNOWN: RefCell<(u32, Option<Arc<Path>>)> = const { RefCell::new((0, None)) };
        }
        let process = std::process::id();
        KNOWN.with_borrow_mut(|known| {
            if known.0 != process {
                let link = fs::read_link("/proc/thread-self").ok();
                *known = (process, link.map(|link| Path::new("/proc").join(link).into()));
            }
            Thread { folder: known.1.clone() }
        })
    }

    /// Returns `true` if both are the same thread.
    pub(super) fn is(&self, other: &Thread) -> bool {
        self.folder.is_some() && self.folder == other.folder
    }

    /// Returns the number of the system call in which the thread waits. `None` if it runs, or if the system does not
    /// show it.
    pub(super) fn waits_in(&self) -> Option<u32> {
        let text = fs::read_to_string(self.folder.as_deref()?.join("syscall")).ok()?;
        // A running thread has the text `running`.
        text.split_whitespace().next()?.parse().ok()
    }

    /// Returns the time during which the thread was ready to run but had no processor. Zero if the
    /// system does not provide it.
    pub(super) fn queued(&self) -> Duration {
        let file = self.folder.as_deref().map(|folder| folder.join("schedstat"));
        let times = file.and_then(|file| times_of(&fs::read_to_string(file).ok()?));
        times.map_or(Duration::ZERO, |(_, queued)| queued)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_times_of_a_thread_are_read_or_unknown() {
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n";
        let times = ThreadTimes::of("100 20 3\n", status).unwrap();
        assert_eq!((times.busy(), times.waits), (Duration::from_nanos(120), 7));
        assert_eq!(times.queued, Duration::from_nanos(20));
        for (times, status) in
            [("", status), ("1", status), ("1 x 3", status), ("1 2 3", "Name: a")]
        {
            assert!(ThreadTimes::of(times, status).is_none(), "{times:?} {status:?}");
        }
    }

    /// Starts more threads than processors, and checks the times of one of them.
    #[test]
    fn a_thread_without_a_processor_is_queued_and_one_that_sleeps_is_not() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let ends = AtomicBool::new(false);
        let (asleep, queued) = thread::scope(|scope| {
            for _ in 0..4 * processors {
                scope.spawn(|| {
                    while !ends.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let (asleep, worked) = (Thread::current(), Instant::now());
            thread::sleep(Duration::from_millis(1));
            let before = asleep.queued();
            let thread = scope.spawn(move || {
                let thread = Thread::current();
                while worked.elapsed() < Duration::from_millis(400) {}
                thread.queued()
            });
            let queued = thread.join().unwrap();
            let asleep = asleep.queued().saturating_sub(before);
            ends.store(true, Ordering::Relaxed);
            (asleep, queued)
        });
        if cfg!(target_os = "linux") {
            assert!(queued > Duration::from_millis(50), "{queued:?}");
            assert!(asleep < queued, "{asleep:?} {queued:?}");
        }
    }
}
