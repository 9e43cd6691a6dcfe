//! All schedules and all choices of small programs, compared with the axioms.
//!
//! No outcome may be found that the axioms forbid. Some allowed outcomes are lost, because S is the order of execution.
//! Their number is a constant in each test, so that a change cannot lose more of them unseen.
//!
//! 300 random programs are compared by default, in about a second of a build without optimizations. `UNPAUSE_LONG=1`
//! compares 100,000.

use std::collections::BTreeSet;

use crate::fences::FENCES_KEPT;
use crate::litmus::{Act, Litmus, Outcome, Outcomes, Random, TABLE, outcomes, random};
use crate::{KEPT, Orders, Rules, SEQ_CST};

/// The outcomes of all schedules and all choices.
struct Explorer<'a> {
    program: &'a Litmus,
    found: BTreeSet<Outcome>,
}

/// A moment of a run.
#[derive(Clone)]
struct Moment {
    orders: Orders,
    /// The number of actions that each thread has done.
    done: Vec<usize>,
    memory: Vec<u64>,
    read: Vec<Vec<u64>>,
}

impl Explorer<'_> {
    fn explore(&mut self, from: &mut Moment) {
        let mut is_end = true;
        for (thread, acts) in self.program.threads.iter().enumerate() {
            let Some(act) = acts.get(from.done[thread]) else { continue };
            is_end = false;
            let memory = act.word().map_or(0, |word| from.memory[word]);
            let candidates = from.orders.candidates(thread + 1, act, memory);
            for nth in 0..candidates {
                let mut next = from.clone();
                next.done[thread] += 1;
                let done = next.orders.perform(thread + 1, act, memory, nth);
                assert!(done.in_memory || nth > 0, "{act:?}");
                if let (Some(word), true) = (act.word(), done.in_memory) {
                    next.memory[word] = done.new;
                }
                if act.reads() {
                    next.read[thread].push(done.old);
                }
                self.explore(&mut next);
            }
        }
        if is_end {
            self.found.insert(from.read.iter().flatten().chain(&from.memory).copied().collect());
        }
    }
}

/// The outcomes of a program in runs with these rules.
fn explored(program: &Litmus, rules: Rules) -> BTreeSet<Outcome> {
    let mut orders = Orders::default();
    orders.reset(rules);
    // The first values are known to all threads.
    for word in 0..program.words {
        orders.perform(0, &Act::Load(word, 0), 0, 0);
    }
    (0..program.threads.len()).for_each(|thread| orders.spawned(0, thread + 1));
    let (done, read) = (vec![0; program.threads.len()], vec![Vec::new(); program.threads.len()]);
    let mut begin = Moment { orders, done, memory: vec![0; program.words], read };
    let mut explorer = Explorer { program, found: BTreeSet::new() };
    explorer.explore(&mut begin);
    explorer.found
}

/// Every store that the model allows, however often a thread has seen it.
fn unfair(moves: bool) -> Rules {
    Rules { kept: KEPT, moves, repeats: u16::MAX, left_out: None }
}

/// The number of outcomes that the axioms allow, and the numbers of lost ones: in runs without moves, and with them.
#[derive(Default, PartialEq, Eq, Debug)]
struct Count {
    allowed: usize,
    lost: [usize; 2],
}

impl Count {
    fn add(&mut self, program: &Litmus, name: &str) {
        let Outcomes { by_cpp20: allowed, by_rc11 } = outcomes(program);
        assert!(allowed.is_subset(&by_rc11), "{name}: {program:?}");
        self.allowed += allowed.len();
        for (moves, lost) in [false, true].into_iter().zip(&mut self.lost) {
            let found = explored(program, unfair(moves));
            let forbidden: Vec<&Outcome> = found.difference(&allowed).collect();
            assert!(forbidden.is_empty(), "{name}, moves {moves}: {forbidden:?} of {program:?}");
            *lost += allowed.difference(&found).count();
        }
    }
}

#[test]
fn litmus_programs_have_no_forbidden_outcome() {
    let (mut count, mut rows) = (Count::default(), 0);
    for line in TABLE.lines() {
        let (name, program) = line.split_once('\t').expect("a name and a program");
        count.add(&Litmus::parse(program), name);
        rows += 1;
    }
    assert_eq!((rows, count), (80, Count { allowed: 577, lost: [17, 5] }));
}

#[test]
fn random_programs_have_no_forbidden_outcome() {
    // The only test that has a large sample here.
    let is_long = std::env::var_os("UNPAUSE_LONG").is_some_and(|value| value != "0");
    let mut stream = Random(1);
    let mut count = Count::default();
    let (programs, expected) = match is_long {
        false => (300, Count { allowed: 1048, lost: [7, 2] }),
        true => (100_000, Count { allowed: 364925, lost: [3055, 478] }),
    };
    for at in 0..programs {
        let program = random(&mut stream, 7);
        count.add(&program, &format!("program {at}"));
    }
    assert_eq!(count, expected);
}

/// A run with many fences keeps only the last fences, but has no store buffering around any fence.
#[test]
fn fences_that_are_dropped_add_no_outcome() {
    let fence = Act::Fence(SEQ_CST);
    let [read_x, read_y] = [0, 1].map(|word| Act::Load(word, 0));
    let [write_x, write_y] = [0, 1].map(|word| Act::Store(word, 1, 0));
    for between in [0, 10, 3 * FENCES_KEPT] {
        let mut orders = Orders::default();
        orders.reset(unfair(true));
        orders.perform(0, &read_x, 0, 0);
        orders.perform(0, &read_y, 0, 0);
        (1..4).for_each(|thread| orders.spawned(0, thread));
        orders.perform(1, &write_x, 0, 0);
        orders.perform(1, &fence, 0, 0);
        (0..between).for_each(|_| _ = orders.perform(3, &fence, 0, 0));
        orders.perform(2, &write_y, 0, 0);
        orders.perform(2, &fence, 0, 0);
        // The second thread cannot miss the store of the first thread, whose fence was earlier.
        assert_eq!(orders.candidates(2, &read_x, 1), 1, "{between} fences");
        assert_eq!(orders.candidates(1, &read_y, 1), 2, "{between} fences");
        assert!(orders.fences.count() <= FENCES_KEPT);
    }
}

/// A sequentially consistent memory has only the newest store.
#[test]
fn runs_without_older_stores_are_sequentially_consistent() {
    let mut stream = Random(2);
    for _ in 0..100 {
        let program = random(&mut stream, 6);
        let strong = |act: &Act| match *act {
            Act::Load(word, _) => Act::Load(word, 5),
            Act::Store(word, value, _) => Act::Store(word, value, 5),
            Act::Add(word, value, _) => Act::Add(word, value, 5),
            Act::Swap(word, value, _) => Act::Swap(word, value, 5),
            Act::CompareExchange(word, old, new, ..) => Act::CompareExchange(word, old, new, 5, 5),
            Act::Fence(_) => Act::Fence(5),
        };
        let threads = program.threads.iter().map(|acts| acts.iter().map(strong).collect());
        let strong = Litmus { threads: threads.collect(), words: program.words };
        let newest = explored(&program, Rules::NEWEST);
        assert_eq!(newest, explored(&strong, unfair(true)), "{program:?}");
        assert_eq!(newest, outcomes(&strong).by_cpp20, "{program:?}");
    }
}
