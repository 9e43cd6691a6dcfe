//! Stacks, queues and versions of data.

use super::super::names::{Bug, Runs, word};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

program! {
    /// A sequence lock, with the orders of its fences.
    fn sequence_lock(write: Ordering, read: Ordering) {
        let (sequence, a, b) = (word(0), word(0), word(0));
        let writer = task!((sequence, a, b) {
            op!(sequence.store(1, Relaxed));
            order_by!(write);
            op!(a.store(1, Relaxed));
            op!(b.store(1, Relaxed));
            op!(sequence.store(2, Release));
        });
        let reader = task!((sequence, a, b) {
            let before = op!(sequence.load(Acquire));
            if before % 2 == 0 {
                let seen = (op!(a.load(Relaxed)), op!(b.load(Relaxed)));
                order_by!(read);
                if op!(sequence.load(Relaxed)) == before {
                    assert_eq!(seen.0, seen.1);
                }
            }
        });
        end!(writer);
        end!(reader);
    }
}

program! {
    /// Treiber's stack: two threads push a node each, and one pops.
    fn stack(push: Ordering) {
        let head = word(0);
        let (values, next) = ([word(0), word(0)], [word(0), word(0)]);
        let mut tasks = Vec::new();
        for node in 1..3_u64 {
            tasks.push(task!((head, values, next) {
                let own = node as usize - 1;
                op!(values[own].store(node * 10, Relaxed));
                let mut top = op!(head.load(Relaxed));
                loop {
                    op!(next[own].store(top + 1, Relaxed));
                    match op!(head.compare_exchange(top, node, push, Relaxed)) {
                        Ok(_) => break,
                        Err(other) => top = other,
                    }
                }
            }));
        }
        tasks.push(task!((head, values, next) {
            let mut top = op!(head.load(Acquire));
            while top != 0 {
                let after = op!(next[top as usize - 1].load(Relaxed));
                assert_ne!(after, 0);
                match op!(head.compare_exchange(top, after - 1, Acquire, Acquire)) {
                    Ok(_) => {
                        assert_eq!(op!(values[top as usize - 1].load(Relaxed)), top * 10);
                        break;
                    }
                    Err(other) => top = other,
                }
            }
        }));
        for task in tasks {
            end!(task);
        }
    }
}

program! {
    /// A pointer to the current version of data. The old version is freed when no reader is on its way.
    fn versions(store: Ordering, load: Ordering) {
        let (pointer, reading, values) = (word(0), word(0), [word(1), word(0)]);
        let updater = task!((pointer, reading, values) {
            op!(values[1].store(2, Relaxed));
            op!(pointer.store(1, store));
            order_by!(SeqCst);
            until!(op!(reading.load(Acquire)) == 0);
            op!(values[0].store(0, Relaxed));
        });
        let reader = task!((pointer, reading, values) {
            op!(reading.store(1, Relaxed));
            order_by!(SeqCst);
            let at = op!(pointer.load(load));
            let value = op!(values[at as usize].load(Relaxed));
            // Before it fails, because the updater waits for it.
            op!(reading.store(0, Release));
            assert_ne!(value, 0);
        });
        end!(updater);
        end!(reader);
    }
}

program! {
    /// The queue of Chase and Lev: the owner takes two elements from the bottom, a thief steals from the top.
    fn work_stealing(take: Ordering) {
        let (top, bottom, stolen) = (word(0), word(2), word(0));
        let thief = task!((top, bottom, stolen) {
            let mut mask = 0;
            for _ in 0..2 {
                let t = op!(top.load(Acquire));
                order_by!(SeqCst);
                if t < op!(bottom.load(Acquire))
                    && op!(top.compare_exchange(t, t + 1, SeqCst, Relaxed)).is_ok()
                {
                    mask |= 1 << t;
                }
            }
            op!(stolen.store(mask, Relaxed));
        });
        let mut mask = 0;
        for _ in 0..2 {
            let b = op!(bottom.load(Relaxed)).wrapping_sub(1);
            op!(bottom.store(b, Relaxed));
            order_by!(take);
            let t = op!(top.load(Relaxed));
            match (b as i64).cmp(&(t as i64)) {
                std::cmp::Ordering::Greater => mask |= 1 << b,
                unequal => {
                    if unequal.is_eq()
                        && op!(top.compare_exchange(t, t + 1, SeqCst, Relaxed)).is_ok()
                    {
                        mask |= 1_u64 << b;
                    }
                    op!(bottom.store(b.wrapping_add(1), Release));
                    break;
                }
            }
        }
        end!(thief);
        assert_eq!(mask & op!(stolen.load(Relaxed)), 0);
    }
}

program! {
    /// A ring with `slots` slots, one producer, and one consumer that empties the slots.
    fn ring(slots: usize, tail_order: Ordering, head_order: Ordering) {
        let (head, tail, data) = (word(0), word(0), [word(0), word(0)]);
        let producer = task!((head, tail, data) {
            for n in 0..3_u64 {
                until!(op!(head.load(Acquire)) + slots as u64 > n);
                op!(data[n as usize % slots].store(n + 1, Relaxed));
                op!(tail.store(n + 1, tail_order));
            }
        });
        let consumer = task!((head, tail, data) {
            let mut is_right = true;
            for n in 0..3_u64 {
                until!(op!(tail.load(Acquire)) > n);
                let slot = n as usize % slots;
                is_right &= op!(data[slot].load(Relaxed)) == n + 1;
                op!(data[slot].store(0, Relaxed));
                op!(head.store(n + 1, head_order));
            }
            // At the end, because the producer waits for it.
            assert!(is_right);
        });
        end!(producer);
        end!(consumer);
    }
}

pub(crate) const QUEUES: &[Bug] = &[
    bug!(
        "sequence lock without fences",
        19.0,
        sequence_lock(Relaxed, Relaxed),
        sequence_lock(Release, Acquire)
    ),
    bug!("stack, push relaxed", race 3.3, stack(Relaxed), stack(Release)),
    bug!("versions, pointer relaxed", race 1.7, versions(Relaxed, Relaxed), versions(Release, Acquire)),
    bug!("work stealing, take without a fence", 7.1, work_stealing(Relaxed), work_stealing(SeqCst)),
    bug!("ring, tail relaxed", race 1.0, ring(2, Relaxed, Release), ring(2, Release, Release)),
    bug!("ring, head relaxed", race 1.0, ring(1, Release, Relaxed), ring(1, Release, Release)),
];
