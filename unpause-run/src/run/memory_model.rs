//! The memory of a run: a setting of the test.

use std::sync::atomic::Ordering;

use crate::run::ids::Place;
use crate::run::op::{Access, Op};

/// The event behind a load that has not seen the newest value. It shows that value.
pub const MISSED: Op = Op::new("misses_the_newest_value_of", Access::Read);
/// The event behind a store that has taken effect before the store of the newest value. It shows that value.
pub const PRECEDED: Op = Op::new("precedes_the_newest_value_of", Access::Read);

/// The memory order of an operation, in a run with the memory `c11`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderMark {
    /// The position of its event in the run.
    pub event: usize,
    /// The order that counted: of a compare-exchange that failed, the order of a failure.
    pub order: Ordering,
}

/// A memory order that is strengthened, for all operations of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raise {
    /// The place.
    pub place: Place,
    /// True if what writes also releases, false if what reads also acquires.
    pub releases: bool,
}

impl Raise {
    /// The order with what is added.
    pub fn of(self, order: Ordering) -> Ordering {
        match (order, self.releases) {
            (Ordering::Relaxed, true) => Ordering::Release,
            (Ordering::Relaxed, false) => Ordering::Acquire,
            (Ordering::Acquire, true) | (Ordering::Release, false) => Ordering::AcqRel,
            (order, _) => order,
        }
    }
}

/// The values that a load of an atomic may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryModel {
    /// The newest value, whatever memory order the program asks for.
    #[default]
    Sc,
    /// Each value that C++20 allows for the memory orders in the program.
    C11,
}

impl MemoryModel {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "sc or c11";
    /// The value if none is given.
    pub const DEFAULT: &str = "sc";

    /// The memory of this name.
    pub fn parse(name: &str) -> Option<MemoryModel> {
        match name {
            MemoryModel::DEFAULT => Some(MemoryModel::Sc),
            "c11" => Some(MemoryModel::C11),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::Sc => MemoryModel::DEFAULT,
            MemoryModel::C11 => "c11",
        }
    }
}
