//! The detector against the definition of happens-before, on generated executions.

use super::*;

/// A step of a generated execution.
#[derive(Clone, Copy, Debug)]
enum Did {
    Plain { thread: usize, place: usize, is_write: bool },
    Atomic { thread: usize, word: usize, operation: Operation, order: u8 },
}

const THREADS: usize = 3;

fn generated(seed: u64) -> Vec<Did> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let mut draw = |bound: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    };
    (0..14)
        .map(|_| {
            let thread = draw(THREADS);
            if draw(2) == 0 {
                return Did::Plain { thread, place: draw(2), is_write: draw(2) == 0 };
            }
            let (operation, orders): (_, &[u8]) = match draw(4) {
                0 => (Operation::Load, &[0, 2, 5]),
                1 => (Operation::Store, &[0, 3, 5]),
                2 => (Operation::Add, &[0, 2, 3, 4, 5]),
                _ => (Operation::Fence, &[2, 3, 4, 5]),
            };
            Did::Atomic { thread, word: draw(2), operation, order: orders[draw(orders.len())] }
        })
        .collect()
}

fn thread_of(did: &Did) -> usize {
    match did {
        Did::Plain { thread, .. } | Did::Atomic { thread, .. } => *thread,
    }
}

/// The first step that races with an earlier one: program order and synchronizes-with, closed transitively (C++20,
/// [intro.races] and [atomics.fences]).
fn by_definition(all: &[Did]) -> Option<usize> {
    let count = all.len();
    let mut before = vec![vec![false; count]; count];
    for a in 0..count {
        for b in a + 1..count {
            before[a][b] = thread_of(&all[a]) == thread_of(&all[b]) || synchronizes(all, a, b);
        }
    }
    for middle in 0..count {
        for a in 0..count {
            for b in 0..count {
                before[a][b] |= before[a][middle] && before[middle][b];
            }
        }
    }
    (0..count).find(|b| {
        let Did::Plain { place, is_write, .. } = all[*b] else { return false };
        (0..*b).any(|a| match all[a] {
            Did::Plain { place: other, is_write: wrote, .. } => {
                other == place && (wrote || is_write) && !before[a][*b]
            }
            Did::Atomic { .. } => false,
        })
    })
}

/// Returns `true` if the release at `a`, an operation or a fence, synchronizes with the acquire at `b`.
fn synchronizes(all: &[Did], a: usize, b: usize) -> bool {
    let (
        Did::Atomic { operation: first, order: released, thread: from, .. },
        Did::Atomic { operation: second, order: acquired, thread: to, .. },
    ) = (all[a], all[b])
    else {
        return false;
    };
    if !releases(released) || !acquires(acquired) {
        return false;
    }
    let (is_fence, ends_in_fence) = (first == Operation::Fence, second == Operation::Fence);
    if !is_fence && first == Operation::Load || !ends_in_fence && second == Operation::Store {
        return false;
    }
    // The write that heads a release sequence, and the read of one of its members.
    let heads = (a..all.len()).filter(|at| match all[*at] {
        Did::Atomic { thread, operation, .. } => {
            thread == from
                && matches!(operation, Operation::Store | Operation::Add)
                && if is_fence { *at > a } else { *at == a }
        }
        Did::Plain { .. } => false,
    });
    let reads: Vec<usize> = (0..=b)
        .filter(|at| match all[*at] {
            Did::Atomic { thread, operation, .. } => {
                thread == to
                    && matches!(operation, Operation::Load | Operation::Add)
                    && if ends_in_fence { *at < b } else { *at == b }
            }
            Did::Plain { .. } => false,
        })
        .collect();
    heads.into_iter().any(|head| reads.iter().any(|read| in_sequence(all, head, *read)))
}

/// Returns `true` if the read gets its value from the write, or from a read-modify-write in its release sequence.
fn in_sequence(all: &[Did], head: usize, read: usize) -> bool {
    let word_of = |at: usize| match all[at] {
        Did::Atomic { word, operation, .. } if operation != Operation::Fence => {
            Some((word, operation))
        }
        _ => None,
    };
    let (Some((word, _)), Some((other, _))) = (word_of(head), word_of(read)) else { return false };
    head < read
        && word == other
        && (head + 1..read).all(|at| word_of(at) != Some((word, Operation::Store)))
}

/// The first step that the detector reports.
fn detected(all: &[Did]) -> Option<usize> {
    let (mut detector, mut orders) = (Detector::default(), Orders::default());
    detector.reset();
    (1..THREADS).for_each(|thread| orders.spawned(0, thread));
    let mut words = [0u64; 2];
    all.iter().position(|did| {
        let trace = [1; super::super::blocks::DEPTH];
        let found = match *did {
            Did::Plain { thread, place, is_write } => {
                detector.plain(&mut orders, thread, 0x1000 + 64 * place, 4, is_write, &trace)
            }
            Did::Atomic { thread, word, operation, order } => {
                let size = if operation == Operation::Fence { 0 } else { 8 };
                let address = 0x2000 + 64 * word;
                let (failure, operand, replacement) = (0, 1, 0);
                let access =
                    Access { operation, size, order, failure, address, operand, replacement };
                let old = words[word];
                match operation {
                    Operation::Store => words[word] = 1,
                    Operation::Add => words[word] += 1,
                    _ => {}
                }
                detector.begin_atomic(&mut orders, &access, old);
                orders.perform(thread, &access, old, 0);
                detector.atomic(&mut orders, thread, &access, old, &trace)
            }
        };
        found.is_some()
    })
}

#[test]
fn races_are_those_of_the_definition() {
    let mut racy = 0;
    for seed in 0..20_000 {
        let all = generated(seed);
        let expected = by_definition(&all);
        racy += u32::from(expected.is_some());
        assert_eq!(detected(&all), expected, "{all:#?}");
    }
    assert!((4_000..19_000).contains(&racy), "{racy} of 20,000 have a race");
}
