//! The freedom of a run, and the rules that keep false alarms out of it.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::machine::KEPT;

/// The number of times that a thread sees the same old store. Loops that wait for a newer value end by that.
const REPEATS: u16 = 3;

/// The freedom of a run.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The number of stores of a word that are kept, up to [`KEPT`].
    pub(crate) kept: usize,
    /// True if a store may precede stores that were executed earlier.
    pub(crate) moves: bool,
    /// The number of times that a thread sees the same old store.
    pub(crate) repeats: u16,
    /// The rule that the run leaves out.
    pub(crate) left_out: Option<Rule>,
}

impl Rules {
    /// The newest store only. The clocks are the clocks of the orders in the source.
    pub const NEWEST: Rules = Rules { kept: 1, moves: false, repeats: 0, left_out: None };

    /// Returns `true` if a load may see another store than the newest one.
    pub fn is_weak(&self) -> bool {
        self.kept > 1
    }

    /// All stores that C++20 allows.
    pub fn weak() -> Rules {
        let left_out = Rule::left_out();
        let repeats = if left_out == Some(Rule::Fairness) { u16::MAX } else { REPEATS };
        Rules { kept: KEPT, moves: true, repeats, left_out }
    }
}

/// A rule of runs with weak memory. Without it a right program can fail.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A value that no recorded store has left is visible to all threads, and orders its reader.
    Unseen,
    /// Memory that is allocated begins anew.
    Allocations,
    /// Operations of std's primitives and of locks see the newest store.
    Primitives,
    /// A fence of the compiler directly behind a read-modify-write is one of the processor.
    SignalFences,
    /// A call of `membarrier` is a fence of each thread.
    Membarrier,
    /// An instruction in assembly is a fence.
    Instructions,
    /// A wake of a futex, and a call on a socket, happen before their ends in other threads.
    Calls,
    /// A thread sees the same old store a few times only.
    Fairness,
    /// All stores are visible when time has passed.
    Time,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 9] = [
        Rule::Unseen,
        Rule::Allocations,
        Rule::Primitives,
        Rule::SignalFences,
        Rule::Membarrier,
        Rule::Instructions,
        Rule::Calls,
        Rule::Fairness,
        Rule::Time,
    ];

    /// The rule that runs leave out.
    pub fn left_out() -> Option<Rule> {
        let number = LEFT_OUT.load(Ordering::Relaxed);
        Rule::ALL.get(usize::from(number).wrapping_sub(1)).copied()
    }

    /// Makes the runs to come leave a rule out, or none. For tests of the rules.
    pub fn leave_out(rule: Option<Rule>) {
        LEFT_OUT.store(rule.map_or(0, |rule| rule as u8 + 1), Ordering::Relaxed);
    }
}

/// The number of the rule that is left out, counted from 1; 0 for none.
static LEFT_OUT: AtomicU8 = AtomicU8::new(0);
