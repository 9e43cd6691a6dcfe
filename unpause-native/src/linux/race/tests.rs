//! The detector against the definition of happens-before, on generated executions: with the newest stores, and with
//! stores that the memory `c11` allows.

mod hidden;

use super::super::orders::{OrderS, Rules};
use super::*;

/// A step of a generated execution.
#[derive(Clone, Copy, Debug)]
enum Did {
    Plain { thread: usize, place: usize, is_write: bool },
    Atomic { thread: usize, word: usize, operation: Operation, order: u8 },
}

const THREADS: usize = 3;

/// Returns the number of programs of the usual sample and of the sample on request.
fn sample(usual: u32, long: u32) -> u32 {
    let is_long = std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0");
    if is_long { long } else { usual }
}

/// Returns a stream of numbers below a bound.
fn stream(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    move |bound| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % bound
    }
}

fn generated(seed: u64) -> Vec<Did> {
    let mut draw = stream(seed);
    (0..14)
        .map(|_| {
            let thread = draw(THREADS);
            if draw(2) == 0 {
                return Did::Plain { thread, place: draw(2), is_write: draw(2) == 0 };
            }
            let (operation, orders): (_, &[u8]) = match draw(4) {
                0 => (Operation::Load, &[0, 2, 5]),
                1 => (Operation::Store, &[0, 3, 5]),
                2 => (Operation::Swap, &[0, 2, 3, 4, 5]),
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
/// [intro.races] and [atomics.fences]). `sources` has the step that each read reads from.
fn by_definition(all: &[Did], sources: &[Option<usize>]) -> Option<usize> {
    let count = all.len();
    let mut before = vec![vec![false; count]; count];
    for a in 0..count {
        for b in a + 1..count {
            let is_same = thread_of(&all[a]) == thread_of(&all[b]);
            before[a][b] = is_same || synchronizes(all, sources, a, b);
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
fn synchronizes(all: &[Did], sources: &[Option<usize>], a: usize, b: usize) -> bool {
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
                && matches!(operation, Operation::Store | Operation::Swap)
                && if is_fence { *at > a } else { *at == a }
        }
        Did::Plain { .. } => false,
    });
    let reads: Vec<usize> = (0..=b)
        .filter(|at| match all[*at] {
            Did::Atomic { thread, operation, .. } => {
                thread == to
                    && matches!(operation, Operation::Load | Operation::Swap)
                    && if ends_in_fence { *at < b } else { *at == b }
            }
            Did::Plain { .. } => false,
        })
        .collect();
    heads.into_iter().any(|head| reads.iter().any(|read| in_sequence(all, sources, head, *read)))
}

/// Returns `true` if the read gets its value from the write, or from a read-modify-write in its release sequence.
fn in_sequence(all: &[Did], sources: &[Option<usize>], head: usize, read: usize) -> bool {
    let mut source = sources[read];
    while let Some(at) = source {
        if at == head {
            return true;
        }
        let is_update = matches!(all[at], Did::Atomic { operation: Operation::Swap, .. });
        source = sources[at].filter(|_| is_update);
    }
    false
}

/// Executes the steps with these rules, and choices by the seed. Returns the step that each read reads from, the first
/// step that the detector reports, and whether a step has chosen another store than the newest.
fn executed(all: &[Did], rules: Rules, seed: u64) -> (Vec<Option<usize>>, Option<usize>, bool) {
    let (mut detector, mut orders) = (Detector::default(), Orders::default());
    detector.reset();
    orders.reset(rules);
    (1..THREADS).for_each(|thread| orders.spawned(0, thread));
    let (mut words, mut draw) = ([0u64; 2], stream(!seed));
    let (mut sources, mut reported, mut is_old) = (vec![None; all.len()], None, false);
    let trace = [1; super::super::blocks::DEPTH];
    for (at, did) in all.iter().enumerate() {
        let found = match *did {
            Did::Plain { thread, place, is_write } => {
                detector.plain(&mut orders, thread, 0x1000 + 64 * place, 4, is_write, &trace)
            }
            Did::Atomic { thread, word, operation, order } => {
                let size = if operation == Operation::Fence { 0 } else { 8 };
                let address = 0x2000 + 64 * word;
                // Each value identifies the step that has written it.
                let (failure, operand, replacement) = (0, at as u64 + 1, 0);
                let access =
                    Access { operation, size, order, failure, address, operand, replacement };
                let memory = words[word];
                detector.begin_atomic(&mut orders, &access, memory);
                let nth = draw(orders.candidates(thread, &access, memory));
                is_old |= nth > 0;
                let done = orders.perform(thread, &access, memory, nth);
                if done.in_memory && access.changes(memory) {
                    words[word] = done.new;
                }
                if matches!(operation, Operation::Load | Operation::Swap) {
                    sources[at] = (done.old as usize).checked_sub(1);
                }
                detector.atomic(&mut orders, thread, &access, done.old, &trace)
            }
        };
        if found.is_some() && reported.is_none() {
            reported = Some(at);
        }
    }
    (sources, reported, is_old)
}

#[test]
fn races_are_those_of_the_definition() {
    let programs = sample(5_000, 20_000);
    for rules in [Rules::NEWEST, Rules::weak(OrderS::ExactWithMoves)] {
        let (mut racy, mut old) = (0, 0);
        for seed in (0..programs).map(u64::from) {
            let all = generated(seed);
            let (sources, reported, is_old) = executed(&all, rules, seed);
            let expected = by_definition(&all, &sources);
            racy += u32::from(expected.is_some());
            old += u32::from(is_old);
            assert_eq!(reported, expected, "{rules:?} {sources:?} {all:#?}");
        }
        let (fifth, most) = (programs / 5, programs / 20 * 19);
        assert!((fifth..most).contains(&racy), "{racy} of {programs} have a race");
        assert_eq!(old > fifth, rules.is_weak(), "{old} of {programs} have seen an old store");
    }
}
