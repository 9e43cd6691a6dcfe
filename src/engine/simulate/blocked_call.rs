//! The call in which a run blocks its thread, by its name and by the step of the run.
//!
//! The kernel shows the system call in which a thread waits. So a run that has blocked its thread is executed once
//! more, while another thread reads this file and the current step of the run.
//!
//! # Limits
//!
//! Only Linux has the file, and a system may forbid reading it. A repeated run that does not block shows nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use unpause_ordered::Map;

use super::times::Thread;
use super::watchdog::Watchdog;
use crate::run::Run;
use crate::run::place::in_text;

/// The time between two samples.
const PAUSE: Duration = Duration::from_millis(2);

/// A kind of blocking call.
struct CallKind {
    /// The call, as a user of std knows it.
    name: &'static str,
    /// The replacement in a test.
    remedy: &'static str,
    /// The numbers of its system calls on x86-64 and on aarch64.
    numbers: [&'static [u32]; 2],
}

/// The blocking calls of std.
const KINDS: [CallKind; 7] = [
    CallKind {
        name: "thread::sleep",
        remedy: "Use sim::time::sleep, which takes no real time",
        // nanosleep, clock_nanosleep
        numbers: [&[35, 230], &[101, 115]],
    },
    CallKind {
        name: "a wait for another thread: the join of a std::thread, or a lock, channel, Condvar, Barrier or park of std",
        remedy: "Use sim::spawn, and the locks and channels of sim",
        // futex
        numbers: [&[202], &[98]],
    },
    CallKind {
        name: "a wait for a process",
        remedy: "Run the process outside of the test's body",
        // wait4, waitid
        numbers: [&[61, 247], &[260, 95]],
    },
    CallKind {
        name: "a call of a socket",
        remedy: "Use sim::net",
        // connect, accept, sendto, recvfrom, sendmsg, recvmsg, accept4, recvmmsg
        numbers: [&[42, 43, 44, 45, 46, 47, 288, 299], &[203, 202, 206, 207, 211, 212, 242, 243]],
    },
    CallKind {
        name: "a wait for several files or sockets",
        remedy: "Use sim::net",
        // poll, select, epoll_wait, pselect6, ppoll, epoll_pwait
        numbers: [&[7, 23, 232, 270, 271, 281], &[72, 73, 22]],
    },
    CallKind {
        name: "a read or write of a file, a pipe, a terminal or a socket",
        remedy: "Use sim::fs or sim::net",
        // read, write, pread64, pwrite64, readv, writev, fsync, fdatasync
        numbers: [&[0, 1, 17, 18, 19, 20, 74, 75], &[63, 64, 67, 68, 65, 66, 82, 83]],
    },
    CallKind {
        name: "a lock of a file",
        remedy: "Use one file for each run",
        // flock, fcntl
        numbers: [&[73, 72], &[32, 25]],
    },
];

/// The column of the numbers for this processor, if any.
const COLUMN: Option<usize> = match () {
    () if cfg!(target_arch = "x86_64") => Some(0),
    () if cfg!(target_arch = "aarch64") => Some(1),
    () => None,
};

/// A call that has blocked the thread of a run.
pub(super) struct BlockedCall {
    kind: &'static CallKind,
    /// The step that made the call.
    step: u32,
}

/// Calls `act`, which executes a run on this thread. Returns its result, and the call in which the thread waited for
/// the longest time. `None` if the system does not show it.
pub(super) fn named<T>(watch: &Watchdog, act: impl FnOnce() -> T) -> (T, Option<BlockedCall>) {
    let (current, ended) = (Thread::current(), AtomicBool::new(false));
    thread::scope(|scope| {
        let sampler = scope.spawn(|| samples(watch, &current, &ended));
        let done = act();
        ended.store(true, Ordering::Relaxed);
        (done, sampler.join().ok().flatten())
    })
}

/// Samples the calls of a thread until the run has ended. Returns the most frequent call.
fn samples(watch: &Watchdog, thread: &Thread, ended: &AtomicBool) -> Option<BlockedCall> {
    let mut counts: Map<(usize, u32), u32> = Map::new();
    while !ended.load(Ordering::Relaxed) {
        let step = watch.step_of(thread);
        let kind = thread.waits_in().and_then(kind_of);
        // The thread may have continued between the two readings.
        if let (Some(step), Some(kind)) = (step.filter(|_| step == watch.step_of(thread)), kind) {
            *counts.entry((kind, step)).or_default() += 1;
        }
        thread::sleep(PAUSE);
    }
    let most = counts.iter().max_by_key(|(_, count)| **count);
    most.map(|((kind, step), _)| BlockedCall { kind: &KINDS[*kind], step: *step })
}

/// Returns the position of the kind of a system call.
fn kind_of(number: u32) -> Option<usize> {
    let column = COLUMN?;
    KINDS.iter().position(|kind| kind.numbers[column].contains(&number))
}

impl BlockedCall {
    /// Returns a text with the call, the step of `run` that made the call, and the remedy.
    pub(super) fn text(&self, run: &Run) -> String {
        let CallKind { name, remedy, .. } = self.kind;
        format!("in {name}{}. {remedy}", place(run, self.step))
    }
}

/// Returns the place at which a step begins, with the task: ` (task 0.1, after the operation at src/a.rs:7:9)`.
fn place(run: &Run, step: u32) -> String {
    let Some(record) = run.steps.get(step as usize) else { return String::new() };
    let Some(task) = run.tasks.get(record.task.index()) else { return String::new() };
    // The operation of a step takes effect at its beginning.
    match run.events.iter().find(|event| event.step == step) {
        Some(event) => format!(" ({task}, after the operation at {})", in_text(event.place)),
        None => format!(" ({task}, after its start at {})", in_text(task.place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_belongs_to_one_kind() {
        for column in 0..2 {
            let all = KINDS.iter().flat_map(|kind| kind.numbers[column]);
            let mut all: Vec<u32> = all.copied().collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
