//! Litmus tests. The names come from the literature.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, fence};
use std::thread::{self, ScopedJoinHandle};

use super::{Right, Weak, alone, assert_found, assert_silent, never};

fn new() -> AtomicU64 {
    AtomicU64::new(0)
}

/// The results of threads.
trait Joined {
    type Results;
    fn joined(self) -> Self::Results;
}

macro_rules! joined {
    ($($result:ident $at:tt),+) => {
        impl<'scope, $($result),+> Joined for ($(ScopedJoinHandle<'scope, $result>,)+) {
            type Results = ($($result,)+);
            fn joined(self) -> Self::Results {
                ($(self.$at.join().unwrap(),)+)
            }
        }
    };
}

joined!(A 0, B 1);
joined!(A 0, B 1, C 2);
joined!(A 0, B 1, C 2, D 3);

/// The results of expressions, each computed by a thread.
macro_rules! threads {
    ($($body:expr),+ $(,)?) => {
        thread::scope(|scope| ($(scope.spawn(|| $body),)+).joined())
    };
}

fn fence_if(order: Option<Ordering>) {
    if let Some(order) = order {
        fence(order);
    }
}

/// Store buffering.
fn sb(store: Ordering, load: Ordering, fences: [Option<Ordering>; 2]) -> bool {
    let (x, y) = (new(), new());
    let results = threads!(
        {
            x.store(1, store);
            fence_if(fences[0]);
            y.load(load)
        },
        {
            y.store(1, store);
            fence_if(fences[1]);
            x.load(load)
        },
    );
    results == (0, 0)
}

/// Message passing: the orders of the flag, the orders of the data, and fences.
fn mp(
    flag: (Ordering, Ordering),
    data: (Ordering, Ordering),
    fences: [Option<Ordering>; 2],
) -> bool {
    let (x, y) = (new(), new());
    let ((), seen) = threads!(
        {
            x.store(1, data.0);
            fence_if(fences[0]);
            y.store(1, flag.0);
        },
        {
            let flag = y.load(flag.1);
            fence_if(fences[1]);
            (flag, x.load(data.1))
        },
    );
    seen == (1, 0)
}

/// Independent reads of independent writes.
fn iriw(store: Ordering, load: Ordering, between: Option<Ordering>) -> bool {
    let (x, y) = (new(), new());
    let both = |first: &AtomicU64, second: &AtomicU64| {
        let seen = first.load(load);
        fence_if(between);
        (seen, second.load(load))
    };
    let ((), (), third, fourth) =
        threads!(x.store(1, store), y.store(1, store), both(&x, &y), both(&y, &x));
    third == (1, 0) && fourth == (1, 0)
}

/// Write-to-read causality.
fn wrc(store: Ordering, load: Ordering) -> bool {
    let (x, y) = (new(), new());
    let ((), second, third) = threads!(
        x.store(1, store),
        {
            let seen = x.load(load);
            y.store(1, store);
            seen
        },
        (y.load(load), x.load(Relaxed)),
    );
    second == 1 && third == (1, 0)
}

/// Read-to-write causality.
fn rwc(between: Option<Ordering>) -> bool {
    let (x, y) = (new(), new());
    let ((), second, third) = threads!(
        x.store(1, Release),
        {
            let seen = x.load(Acquire);
            fence_if(between);
            (seen, y.load(Acquire))
        },
        {
            y.store(1, Release);
            fence_if(between);
            x.load(Acquire)
        },
    );
    second == (1, 0) && third == 0
}

/// Two stores by each of two threads.
fn two_plus_two(store: Ordering) -> bool {
    let (x, y) = (new(), new());
    threads!(
        {
            x.store(1, store);
            y.store(2, store);
        },
        {
            y.store(1, store);
            x.store(2, store);
        },
    );
    (x.load(SeqCst), y.load(SeqCst)) == (1, 1)
}

/// A store that is overtaken.
fn s(store: Ordering, load: Ordering) -> bool {
    let (x, y) = (new(), new());
    let ((), seen) = threads!(
        {
            x.store(2, Relaxed);
            y.store(1, store);
        },
        {
            let seen = y.load(load);
            x.store(1, Relaxed);
            seen
        },
    );
    seen == 1 && x.load(SeqCst) == 2
}

/// Load buffering.
fn lb() -> bool {
    let (x, y) = (new(), new());
    let exchanged = |first: &AtomicU64, second: &AtomicU64| {
        let seen = first.load(Relaxed);
        second.store(1, Relaxed);
        seen
    };
    threads!(exchanged(&x, &y), exchanged(&y, &x)) == (1, 1)
}

/// Coherence of two reads.
fn corr() -> bool {
    let x = new();
    let ((), (first, second)) = threads!(
        {
            x.store(1, Relaxed);
            x.store(2, Relaxed);
        },
        (x.load(Relaxed), x.load(Relaxed)),
    );
    first > second
}

/// Causality over three threads: the orders in the middle.
fn isa2(load: Ordering, store: Ordering) -> bool {
    let (x, y, z) = (new(), new(), new());
    let ((), second, third) = threads!(
        {
            x.store(1, Relaxed);
            y.store(1, Release);
        },
        {
            let seen = y.load(load);
            z.store(1, store);
            seen
        },
        (z.load(Acquire), x.load(Relaxed)),
    );
    second == 1 && third == (1, 0)
}

/// A release sequence: continued by a read-modify-write of another thread, or ended by a store of its own thread.
fn release_sequence(by_update: bool) -> bool {
    let (x, y) = (new(), new());
    let ((), (), seen) = threads!(
        {
            x.store(1, Relaxed);
            y.store(1, Release);
            if !by_update {
                y.store(2, Relaxed);
            }
        },
        {
            if by_update {
                y.fetch_add(1, Relaxed);
            }
        },
        (y.load(Acquire), x.load(Relaxed)),
    );
    seen == (2, 0)
}

/// A compare-exchange that fails.
fn failure(order: Ordering) -> bool {
    let (x, y) = (new(), new());
    let ((), seen) = threads!(
        {
            x.store(1, Relaxed);
            y.store(1, Release);
        },
        (y.compare_exchange(0, 5, Relaxed, order), x.load(Relaxed)),
    );
    seen == (Err(1), 0)
}

const NO_FENCE: [Option<Ordering>; 2] = [None, None];
const RELAXED: (Ordering, Ordering) = (Relaxed, Relaxed);

/// Each with three times the seeds that a prototype needed, or the median of seven ranges of seeds if that was greater.
const ALLOWED: &[Weak] = &[
    Weak("SB relaxed", 6, || never(sb(Relaxed, Relaxed, NO_FENCE))),
    Weak("SB release, acquire", 6, || never(sb(Release, Acquire, NO_FENCE))),
    Weak("SB one fence", 6, || never(sb(Relaxed, Relaxed, [Some(SeqCst), None]))),
    Weak("SB AcqRel fences", 6, || never(sb(Relaxed, Relaxed, [Some(AcqRel), Some(AcqRel)]))),
    Weak("SB SeqCst stores, acquire loads", 6, || never(sb(SeqCst, Acquire, NO_FENCE))),
    Weak("MP relaxed", 27, || never(mp(RELAXED, RELAXED, NO_FENCE))),
    Weak("MP release, relaxed", 27, || never(mp((Release, Relaxed), RELAXED, NO_FENCE))),
    Weak("MP release fence only", 27, || never(mp(RELAXED, RELAXED, [Some(Release), None]))),
    Weak("IRIW release, acquire", 273, || never(iriw(Release, Acquire, None))),
    Weak("WRC relaxed", 243, || never(wrc(Relaxed, Relaxed))),
    Weak("RWC release, acquire", 24, || never(rwc(None))),
    Weak("2+2W release", 54, || never(two_plus_two(Release))),
    Weak("S relaxed", 396, || never(s(Relaxed, Relaxed))),
    Weak("ISA2 relaxed middle", 1029, || never(isa2(Relaxed, Relaxed))),
    Weak("release sequence, own store", 27, || never(release_sequence(false))),
    Weak("failure relaxed", 21, || never(failure(Relaxed))),
    // S is not the order of execution, which is possible in one run of four.
    Weak("MP SeqCst data, relaxed flag", 600, || never(mp(RELAXED, (SeqCst, SeqCst), NO_FENCE))),
];

const FORBIDDEN: &[Right] = &[
    Right("SB SeqCst", || never(sb(SeqCst, SeqCst, NO_FENCE))),
    Right("SB fences", || never(sb(Relaxed, Relaxed, [Some(SeqCst), Some(SeqCst)]))),
    Right("MP release, acquire", || never(mp((Release, Acquire), RELAXED, NO_FENCE))),
    Right("MP fences", || never(mp(RELAXED, RELAXED, [Some(Release), Some(Acquire)]))),
    Right("MP SeqCst flag", || never(mp((SeqCst, SeqCst), RELAXED, NO_FENCE))),
    Right("IRIW SeqCst", || never(iriw(SeqCst, SeqCst, None))),
    Right("IRIW fences", || never(iriw(Relaxed, Relaxed, Some(SeqCst)))),
    Right("WRC release, acquire", || never(wrc(Release, Acquire))),
    Right("RWC fences", || never(rwc(Some(SeqCst)))),
    Right("2+2W SeqCst", || never(two_plus_two(SeqCst))),
    Right("S release, acquire", || never(s(Release, Acquire))),
    Right("CoRR", || never(corr())),
    Right("ISA2", || never(isa2(Acquire, Release))),
    Right("release sequence, update", || never(release_sequence(true))),
    Right("failure acquire", || never(failure(Acquire))),
];

/// C++20 allows this outcome, but the model does not.
const LOST: &[Right] = &[Right("LB", || never(lb()))];

#[test]
fn allowed_outcomes_are_found() {
    assert_found(ALLOWED);
}

#[test]
fn forbidden_outcomes_are_not_found() {
    let _alone = alone();
    assert_silent(FORBIDDEN, 300);
}

#[test]
fn lost_outcomes_are_not_found() {
    let _alone = alone();
    assert_silent(LOST, 300);
}
