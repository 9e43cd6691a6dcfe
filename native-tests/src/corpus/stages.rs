//! Work in stages that overlap by mistake (SCTBench: twostage; PERIOD: twostage_20). One program resembles PARSEC
//! streamcluster.

use super::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Barrier, Mutex};
use super::{Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program {
        name: "twostage",
        seeds: 300,
        buggy: || twostage(1, 1, false),
        fixed: || twostage(1, 1, true),
    },
    Program {
        name: "twostage_20",
        seeds: 600,
        buggy: || twostage(10, 10, false),
        fixed: || twostage(10, 10, true),
    },
    Program { name: "barrier", seeds: 150, buggy: || barrier(false), fixed: || barrier(true) },
    Program {
        name: "second_barrier",
        seeds: 150,
        buggy: || second_barrier(false),
        fixed: || second_barrier(true),
    },
    Program { name: "presumed_abort", seeds: 200, buggy: || commit(false), fixed: || commit(true) },
];

/// Data in two stages with one lock each, and readers in between. Fixed: the first lock is held until the second stage
/// is written.
fn twostage(writers: usize, readers: usize, fixed: bool) {
    #[derive(Default)]
    struct Stages {
        locks: [Mutex<()>; 2],
        data: [AtomicI64; 2],
    }
    let stages = Arc::new(Stages::default());
    let writer = |_| {
        on(&stages, move |Stages { locks, data }| {
            let first = locks[0].lock().unwrap();
            data[0].store(1, SeqCst);
            let first = Some(first).filter(|_| fixed);
            let _second = locks[1].lock().unwrap();
            data[1].store(data[0].load(SeqCst) + 1, SeqCst);
            drop(first);
        })
    };
    let reader = |_| {
        on(&stages, move |Stages { locks, data }| {
            let first = locks[0].lock().unwrap();
            let early = data[0].load(SeqCst);
            drop(first);
            if early == 0 {
                return;
            }
            let second = locks[1].lock().unwrap();
            let late = data[1].load(SeqCst);
            drop(second);
            assert_eq!(late, early + 1);
        })
    };
    together((0..writers).map(writer).chain((0..readers).map(reader)));
}

/// A sum that is computed before all parts exist, because a barrier is missing.
fn barrier(fixed: bool) {
    struct Shared {
        parts: [AtomicI64; 3],
        arrived: Barrier,
    }
    let parts = [const { AtomicI64::new(0) }; 3];
    let shared = Arc::new(Shared { parts, arrived: Barrier::new(3) });
    let worker = |me: usize| {
        on(&shared, move |Shared { parts, arrived }| {
            parts[me].store(5, SeqCst);
            if fixed {
                arrived.wait();
            }
            if me == 0 {
                let sum: i64 = parts.iter().map(|part| part.load(SeqCst)).sum();
                assert_eq!(sum, 15);
            }
        })
    };
    together((0..3).map(worker));
}

/// In each round, a worker writes its cell and reads the neighbour's cell. A fast worker overwrites its cell for the
/// next round before a slow worker has read it. Fixed: another barrier follows the read.
fn second_barrier(fixed: bool) {
    struct Shared {
        cells: [AtomicI64; 2],
        round: Barrier,
    }
    let cells = [const { AtomicI64::new(0) }; 2];
    let shared = Arc::new(Shared { cells, round: Barrier::new(2) });
    let worker = |me: usize| {
        on(&shared, move |Shared { cells, round }| {
            for now in 1..=2 {
                cells[me].store(now, SeqCst);
                round.wait();
                assert_eq!(cells[1 - me].load(SeqCst), now, "the cell of another round");
                if fixed {
                    round.wait();
                }
            }
        })
    };
    together([worker(0), worker(1)]);
}

const NONE: i64 = 0;
const COMMIT: i64 = 1;
const ABORT: i64 = 2;

/// Two-phase commit with a participant that votes yes and later aborts on its own. Fixed: after its vote, a participant
/// waits for the decision.
fn commit(fixed: bool) {
    #[derive(Default)]
    struct Shared {
        prepare: [Watched; 2],
        votes: [Watched; 2],
        decision: Watched,
        timeout: AtomicBool,
        outcomes: [AtomicI64; 2],
    }
    let shared = Arc::new(Shared::default());
    let participant = |me: usize| {
        on(&shared, move |shared| {
            shared.prepare[me].wait(|asked| asked == 1);
            shared.votes[me].store(1);
            let impatient = me == 1 && !fixed;
            let gives_up =
                impatient && shared.timeout.load(SeqCst) && shared.decision.load() == NONE;
            let outcome = match gives_up {
                true => ABORT,
                false => shared.decision.wait(|decision| decision != NONE),
            };
            shared.outcomes[me].store(outcome, SeqCst);
        })
    };
    let coordinator = on(&shared, |shared| {
        for prepare in &shared.prepare {
            prepare.store(1);
        }
        for vote in &shared.votes {
            vote.wait(|vote| vote == 1);
        }
        shared.decision.store(COMMIT);
    });
    let timer = on(&shared, |shared| shared.timeout.store(true, SeqCst));
    together([participant(0), participant(1), coordinator, timer]);
    let [first, second] = &shared.outcomes;
    assert_eq!(first.load(SeqCst), second.load(SeqCst), "two outcomes");
}
