//! The choice of stores by the operations of a run, with the memory model `c11`.
//!
//! A choice is a decision of the run, and 0 is the newest store. Strategies do not answer this choice. Instead, the
//! value derives from the seed, so that a strategy has the same random stream with `c11` and without. A search explores
//! all values.
//!
//! Most runs choose uniformly, but one run in four nearly always chooses the oldest store. This halves the number of
//! runs that are needed to find store buffering. In one run in four, stores can move: a store may take effect before
//! stores that were executed earlier. These runs also have the exact order S of `SeqCst` operations. In all runs of a
//! search, stores can move.

/// The names of the decisions, for traces.
const MOVES: &str = "stores that take effect early";
const SEEN: &str = "the store that a load sees";
const PLACE: &str = "the place of a store";

/// Returns `true` if a decision with this name chooses a store.
pub fn is_store_choice(why: &str) -> bool {
    [MOVES, SEEN, PLACE].contains(&why)
}

/// A store decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The number of possible answers.
    pub bound: u64,
    /// The answer; `None` if a search explores all answers.
    pub value: Option<u64>,
    /// The name of the decision, for traces.
    pub why: &'static str,
}

/// The store choices of a run.
#[derive(Clone, Copy, Debug)]
pub struct StoreChoices {
    /// A number derived from the seed; `None` in a search.
    seed: Option<u64>,
    /// True if the oldest store is nearly always chosen.
    prefers_oldest: bool,
    /// True if a store may take effect before stores that were executed earlier; `None` before the first choice. A run
    /// without choices thus has the same decisions as a run with the memory model `sc`.
    moves: Option<bool>,
    /// The number of choices so far.
    made: u64,
}

impl StoreChoices {
    /// Creates the choices of a run with this seed; `None` for a run of a search.
    pub fn new(seed: Option<u64>) -> StoreChoices {
        let seed = seed.map(|seed| mixed(seed.wrapping_add(0x51_7CC1_B727_220A)));
        let of_run = seed.unwrap_or(0);
        StoreChoices { seed, prefers_oldest: of_run & 3 == 3, moves: None, made: 0 }
    }

    /// Returns `true` for a run of a search.
    pub fn is_of_search(&self) -> bool {
        self.seed.is_none()
    }

    /// Returns the decision whether stores can move in the run; `None` after the first choice.
    pub fn moves(&self) -> Option<Decision> {
        let moves = self.seed.is_none_or(|seed| seed >> 2 & 3 == 3);
        let (value, why) = (Some(u64::from(moves)), MOVES);
        self.moves.is_none().then_some(Decision { bound: 2, value, why })
    }

    /// Returns `true` if no store can move in the run, so that an operation that always writes has no choice.
    #[inline]
    pub fn has_no_moves(&self) -> bool {
        self.moves == Some(false)
    }

    /// Sets whether stores can move in the run.
    pub fn set_moves(&mut self, moves: bool) {
        self.moves = Some(moves);
    }

    /// Returns the decision of an operation among `bound` stores.
    pub fn store(&mut self, bound: u64, is_load: bool) -> Decision {
        let why = if is_load { SEEN } else { PLACE };
        let Some(seed) = self.seed else { return Decision { bound, value: None, why } };
        self.made += 1;
        let random = mixed(seed ^ self.made.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        let (coin, random) = (random & 7, random >> 8);
        let value = match self.prefers_oldest {
            _ if !is_load && coin < 4 => 0,
            true if coin == 0 => 0,
            true => bound - 1,
            false => random % bound,
        };
        Decision { bound, value: Some(value), why }
    }
}

fn mixed(number: u64) -> u64 {
    let mixed = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}
