//! The memory model of a run: a setting of the test.

use std::sync::atomic::Ordering;

use crate::run::ids::Place;
use crate::run::op::{Access, Op};

/// An event that follows a load which did not see the newest value. The event shows the newest value.
pub const MISSED: Op = Op::new("misses_the_newest_value_of", Access::Read);
/// An event that follows a store which took effect before the newest store. The event shows the newest value.
pub const PRECEDED: Op = Op::new("precedes_the_newest_value_of", Access::Read);

/// The kind of the words with which a cell of another tool counts its accesses. Such words are not atomics of the
/// program, so their operations have no memory order that a report could name.
pub const CELL: &str = "UnsafeCell";

/// The memory order of an operation, in a run with the memory model `c11`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderMark {
    /// The position of the operation's event in the run.
    pub event: usize,
    /// The order that applied; for a failed compare-exchange, the failure order.
    pub order: Ordering,
}

/// A strengthened memory order for all operations at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raise {
    /// The place.
    pub place: Place,
    /// The change of the order.
    pub by: Stronger,
}

/// A change that strengthens the memory order of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stronger {
    /// Writing operations also release.
    Release,
    /// Reading operations also acquire.
    Acquire,
    /// Operations are sequentially consistent.
    SeqCst,
    /// A fence of this order precedes each operation.
    Fence(Ordering),
}

impl Raise {
    /// Returns the strengthened form of `order`.
    pub fn of(self, order: Ordering) -> Ordering {
        match (order, self.by) {
            (_, Stronger::SeqCst) => Ordering::SeqCst,
            (Ordering::Relaxed, Stronger::Release) => Ordering::Release,
            (Ordering::Relaxed, Stronger::Acquire) => Ordering::Acquire,
            (Ordering::Acquire, Stronger::Release) | (Ordering::Release, Stronger::Acquire) => {
                Ordering::AcqRel
            }
            (order, _) => order,
        }
    }

    /// Returns the order of the fence before the operations, if any.
    pub fn fence(self) -> Option<Ordering> {
        match self.by {
            Stronger::Fence(order) => Some(order),
            Stronger::Release | Stronger::Acquire | Stronger::SeqCst => None,
        }
    }
}

/// An operation with a memory order too weak to order anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WeakLink {
    /// The missing ordering, and the place of the operation.
    pub raise: Raise,
    /// The name of the operation.
    pub op: &'static str,
    /// The current memory order of the operation.
    pub order: Ordering,
}

/// The values that a load of an atomic may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryModel {
    /// The newest value, regardless of the memory order in the program.
    #[default]
    Sc,
    /// Each value that C++20 allows for the memory orders in the program.
    C11,
}

impl MemoryModel {
    /// The values of the setting, for messages.
    pub const GRAMMAR: &str = "sc or c11";
    /// The default value.
    pub const DEFAULT: &str = "sc";

    /// Parses the name of a memory model.
    pub fn parse(name: &str) -> Option<MemoryModel> {
        match name {
            MemoryModel::DEFAULT => Some(MemoryModel::Sc),
            "c11" => Some(MemoryModel::C11),
            _ => None,
        }
    }

    /// Returns the name of the memory model.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::Sc => MemoryModel::DEFAULT,
            MemoryModel::C11 => "c11",
        }
    }
}
