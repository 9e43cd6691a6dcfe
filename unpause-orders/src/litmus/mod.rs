//! Straight-line programs and their notation.
//!
//! `Wx1.rel Ry.acq | Ux1.ar F.sc Cy0,2.ar/rlx`: threads are separated by `|`. `W` stores, `R` loads, `U` adds, `X`
//! swaps, `M` stores a maximum, `C` compares and exchanges (expected value, new value, order of success and of
//! failure), `F` is a fence.

mod axioms;
mod graphs;

pub use self::graphs::{Outcomes, outcomes};
use crate::operation::{Operation, SEQ_CST, acquires, releases};

/// Litmus tests from the literature, one per line: the name, a tab, the program.
pub const TABLE: &str = include_str!("table.txt");

/// The litmus tests of Miri for its exhaustive search with GenMC (`tests/genmc/pass/litmus`), except four programs with
/// branches. One per line: the name, a tab, the program, a tab, the number of execution graphs. Programs that copy a
/// value to another word store a constant here. This has no influence on the number.
///
/// Miri reports the same numbers, but 22 instead of 24 for `Z6_U`. RC11 and C++20 allow the two other graphs. They are
/// the example of this name in the paper about RC11.
pub const GENMC: &str = include_str!("genmc.txt");

/// An action of a thread. Orders are given as numbers of the C ABI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Loads a word with this order.
    Load(usize, u8),
    /// Stores a value.
    Store(usize, u64, u8),
    /// Adds a value.
    Add(usize, u64, u8),
    /// Stores a value and returns the previous value.
    Swap(usize, u64, u8),
    /// Stores the larger one of a value and the previous value, and returns the previous value.
    Max(usize, u64, u8),
    /// Stores the second value if the word has the first value. The second order applies on failure.
    CompareExchange(usize, u64, u64, u8, u8),
    /// A fence.
    Fence(u8),
}

/// The order `Relaxed`.
pub const RLX: u8 = 0;
/// The order `Acquire`.
pub const ACQ: u8 = 2;
/// The order `Release`.
pub const REL: u8 = 3;
/// The order `AcqRel`.
pub const ACQ_REL: u8 = 4;

/// A program.
#[derive(Clone, Debug)]
pub struct Litmus {
    /// The actions of each thread.
    pub threads: Vec<Vec<Act>>,
    /// The number of words. Each word is initially 0.
    pub words: usize,
}

/// The values returned by the reading actions, thread by thread, followed by the final value of each word.
pub type Outcome = Vec<u64>;

impl Litmus {
    /// Parses a program in the notation of this module.
    ///
    /// # Panics
    /// If the text is not a program.
    pub fn parse(text: &str) -> Litmus {
        let threads = text.split('|').map(|thread| thread.split_whitespace().map(act).collect());
        let threads: Vec<Vec<Act>> = threads.collect();
        let words = threads.iter().flatten().filter_map(Act::word).max().map_or(0, |last| last + 1);
        Litmus { threads, words }
    }
}

impl Act {
    /// Returns the accessed word; `None` for a fence.
    pub fn word(&self) -> Option<usize> {
        match *self {
            Act::Load(word, _)
            | Act::Store(word, ..)
            | Act::Add(word, ..)
            | Act::Swap(word, ..)
            | Act::Max(word, ..)
            | Act::CompareExchange(word, ..) => Some(word),
            Act::Fence(_) => None,
        }
    }

    /// Returns `true` if the action returns a value.
    pub fn reads(&self) -> bool {
        !matches!(self, Act::Store(..) | Act::Fence(_))
    }
}

impl Operation for Act {
    fn address(&self) -> usize {
        self.word().map_or(0, |word| 0x1000 + 64 * word)
    }

    fn size(&self) -> u8 {
        if self.word().is_some() { 8 } else { 0 }
    }

    fn reads(&self) -> bool {
        self.reads()
    }

    fn may_only_read(&self) -> bool {
        matches!(self, Act::Load(..) | Act::CompareExchange(..))
    }

    fn order_if(&self, writes: bool) -> u8 {
        match *self {
            Act::CompareExchange(.., failure) if !writes => failure,
            Act::Load(_, order)
            | Act::Store(.., order)
            | Act::Add(.., order)
            | Act::Swap(.., order)
            | Act::Max(.., order)
            | Act::CompareExchange(.., order, _)
            | Act::Fence(order) => order,
        }
    }

    fn written_over(&self, old: u64) -> Option<u64> {
        match *self {
            Act::Load(..) | Act::Fence(_) => None,
            Act::Store(_, value, _) | Act::Swap(_, value, _) => Some(value),
            Act::Add(_, value, _) => Some(old.wrapping_add(value)),
            Act::Max(_, value, _) => Some(old.max(value)),
            Act::CompareExchange(_, expected, new, ..) => (old == expected).then_some(new),
        }
    }
}

fn order(text: &str) -> u8 {
    match text {
        "rlx" => RLX,
        "acq" => ACQ,
        "rel" => REL,
        "ar" => ACQ_REL,
        "sc" => SEQ_CST,
        _ => panic!("no order: {text}"),
    }
}

fn act(text: &str) -> Act {
    let (action, orders) = text.split_once('.').expect("an order");
    let mut chars = action.chars();
    let kind = chars.next().expect("an action");
    if kind == 'F' {
        return Act::Fence(order(orders));
    }
    let word = "xyzuv".find(chars.next().expect("a word")).expect("a word");
    let numbers: Vec<u64> =
        chars.as_str().split(',').filter_map(|number| number.parse().ok()).collect();
    match kind {
        'R' => Act::Load(word, order(orders)),
        'W' => Act::Store(word, numbers[0], order(orders)),
        'U' => Act::Add(word, numbers[0], order(orders)),
        'X' => Act::Swap(word, numbers[0], order(orders)),
        'M' => Act::Max(word, numbers[0], order(orders)),
        'C' => {
            let (success, failure) = orders.split_once('/').expect("two orders");
            Act::CompareExchange(word, numbers[0], numbers[1], order(success), order(failure))
        }
        _ => panic!("no action: {text}"),
    }
}

/// A random number generator.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ mixed >> 31) % bound as u64) as usize
    }
}

/// The limits of a random program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of actions.
    pub acts: usize,
    /// The maximum number of threads, at least 2.
    pub threads: usize,
    /// The number of words.
    pub words: usize,
}

/// Returns a random program of up to `acts` actions of two or three threads on two words.
pub fn random(random: &mut Random, acts: usize) -> Litmus {
    random_within(random, Limits { acts, threads: 3, words: 2 })
}

/// Returns a random program. A third of the programs is rich in sequentially consistent operations, and another third
/// in relaxed operations.
pub fn random_within(random: &mut Random, limits: Limits) -> Litmus {
    let Limits { mut acts, threads, words } = limits;
    let threads = 2 + random.below(threads - 1);
    let richness = random.below(3);
    let orders = |random: &mut Random, allowed: fn(u8) -> bool| loop {
        let order = match (richness, random.below(4)) {
            (0, 1..) => SEQ_CST,
            (1, 1..) => RLX,
            _ => [RLX, ACQ, REL, ACQ_REL, SEQ_CST][random.below(5)],
        };
        if allowed(order) {
            break order;
        }
    };
    let of_load = |order| order == RLX || acquires(order) && order != ACQ_REL;
    let of_store = |order| order == RLX || releases(order) && order != ACQ_REL;
    let mut program = Litmus { threads: Vec::new(), words };
    for thread in 0..threads {
        let count = (1 + random.below(4)).min(acts - (threads - 1 - thread));
        acts -= count;
        let thread = (0..count).map(|_| {
            let (word, value) = (random.below(words), 1 + random.below(2) as u64);
            match random.below(9) {
                0..=2 => Act::Load(word, orders(random, of_load)),
                3..=5 => Act::Store(word, value, orders(random, of_store)),
                6 => match random.below(3) {
                    0 => Act::Add(word, value, orders(random, |_| true)),
                    1 => Act::Swap(word, value, orders(random, |_| true)),
                    _ => {
                        let expected = random.below(2) as u64;
                        let success = orders(random, |_| true);
                        let failure = orders(random, of_load);
                        Act::CompareExchange(word, expected, value, success, failure)
                    }
                },
                _ => Act::Fence([ACQ, REL, ACQ_REL, SEQ_CST, SEQ_CST][random.below(5)]),
            }
        });
        program.threads.push(thread.collect());
    }
    program
}
