//! The freedom of a run in memory orders, and the rules that prevent false alarms.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::machine::KEPT;
use crate::seqcst::NODES;

/// The maximum number of times that a thread reads the same old store. The limit ends loops that wait for a newer
/// value.
const REPEATS: u16 = 3;

/// The order S of sequentially consistent operations in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OrderS {
    /// The order of execution. Some allowed outcomes are lost.
    #[default]
    Execution,
    /// Each order that C++20 allows, as long as stores may precede earlier executed stores in modification order.
    ExactWithMoves,
    /// Each order that C++20 allows.
    Exact,
}

/// The freedom of a run in memory orders.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The maximum number of stores kept per word, at most [`KEPT`].
    pub(crate) kept: usize,
    /// `true` if a store may precede earlier executed stores in modification order.
    pub(crate) moves: bool,
    /// The maximum number of times that a thread reads the same old store.
    pub(crate) repeats: u16,
    /// The order of sequentially consistent operations.
    pub(crate) s: OrderS,
    /// The maximum number of nodes in the exact order S.
    pub(crate) nodes: usize,
    /// `true` if the run must record outcomes that a search of plain threads does not try: see
    /// [`Orders::has_missed`](crate::Orders::has_missed).
    pub(crate) is_search: bool,
    /// `true` if the run records the loads of threads.
    pub(crate) records_loads: bool,
    /// The rule that does not apply to the run, if any.
    pub(crate) left_out: Option<Rule>,
}

impl Rules {
    /// Loads read only the newest store. The clocks still follow the memory orders in the source.
    pub const NEWEST: Rules = Rules {
        kept: 1,
        moves: false,
        repeats: 0,
        s: OrderS::Execution,
        nodes: NODES,
        is_search: false,
        records_loads: false,
        left_out: None,
    };

    /// Returns `true` if a load may read a store other than the newest store.
    pub fn is_weak(&self) -> bool {
        self.kept > 1
    }

    /// Returns the rules of C++20 with this order S.
    pub fn weak(s: OrderS) -> Rules {
        let left_out = Rule::left_out();
        let repeats = if left_out == Some(Rule::Fairness) { u16::MAX } else { REPEATS };
        Rules { kept: KEPT, moves: true, repeats, s, left_out, ..Rules::NEWEST }
    }

    /// Makes the run record the loads of threads, for [rounds](crate::Round) of loops.
    pub fn recording_loads(self) -> Rules {
        Rules { records_loads: true, ..self }
    }

    /// Makes the run record outcomes that a search of plain threads does not try.
    pub fn in_search(self) -> Rules {
        Rules { is_search: true, ..self }
    }
}

/// A rule of runs with weak memory. Without the rule, a correct program can fail.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A value that does not come from a recorded store is visible to all threads, and orders its reader.
    Unseen,
    /// Newly allocated memory starts without history.
    Allocations,
    /// Operations of std's primitives and of locks read the newest store.
    Primitives,
    /// A compiler fence directly after a read-modify-write counts as a processor fence.
    SignalFences,
    /// A call of `membarrier` is a fence in each thread.
    Membarrier,
    /// A synchronising instruction in assembly is a fence.
    Instructions,
    /// A futex wake or a socket call happens before the end of the matching call in another thread.
    Calls,
    /// A thread reads the same old store only a few times.
    Fairness,
    /// All stores become visible when time has passed.
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

    /// Returns the rule that does not apply to runs, if any.
    pub fn left_out() -> Option<Rule> {
        let number = LEFT_OUT.load(Ordering::Relaxed);
        Rule::ALL.get(usize::from(number).wrapping_sub(1)).copied()
    }

    /// Disables a rule for future runs, or enables all rules. For tests of the rules.
    pub fn leave_out(rule: Option<Rule>) {
        LEFT_OUT.store(rule.map_or(0, |rule| rule as u8 + 1), Ordering::Relaxed);
    }
}

/// The number of the disabled rule, counted from 1; 0 if no rule is disabled.
static LEFT_OUT: AtomicU8 = AtomicU8::new(0);
