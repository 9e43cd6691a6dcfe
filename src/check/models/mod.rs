//! The models that come with the library, one file and one row of [`registry`] each.
//!
//! They are generic in the values they hold, whole numbers by default. Write your own when none
//! fits: [`Model`] shows how, and these files are short enough to start from.

mod cas_register;
mod counter;
mod map;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;
mod versioned_register;

use std::fmt::Debug;
use std::hash::Hash;

pub use cas_register::{CasRegister, CasRegisterOp, CasRegisterRet};
pub use counter::{Counter, CounterOp, CounterRet};
pub use map::{Map, MapOp, MapRet};
pub use priority_queue::{PriorityQueue, PriorityQueueOp, PriorityQueueRet};
pub use queue::{Queue, QueueOp, QueueRet};
pub use register::{Register, RegisterOp, RegisterRet};
pub use set::{Set, SetOp};
pub use stack::{Stack, StackOp, StackRet};
pub use versioned_register::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};

use super::model::Model;

/// Shows every shipped model to `visitor`, in the order of this list.
///
/// The types of the models differ, so a list of them cannot be walked by a loop; a visitor with a
/// generic method can. The conformance suite is one, whoever chooses a model by name is another.
///
/// ```
/// use sim::check::models::{registry, Shipped, Visitor};
/// struct Names(Vec<&'static str>);
/// impl Visitor for Names {
///     fn visit<M: Shipped>(&mut self) {
///         self.0.push(M::NAME);
///     }
/// }
/// let mut names = Names(Vec::new());
/// registry(&mut names);
/// assert_eq!(names.0[..3], ["register", "cas-register", "counter"]);
/// assert!(names.0.contains(&"versioned-register"));
/// ```
pub fn registry(visitor: &mut impl Visitor) {
    visitor.visit::<Register>();
    visitor.visit::<CasRegister>();
    visitor.visit::<Counter>();
    visitor.visit::<Queue>();
    visitor.visit::<Stack>();
    visitor.visit::<PriorityQueue>();
    visitor.visit::<Set>();
    visitor.visit::<Map>();
    visitor.visit::<VersionedRegister>();
}

/// Who walks the [`registry`].
pub trait Visitor {
    /// Called for each model.
    fn visit<M: Shipped>(&mut self);
}

/// A model of the [`registry`]: what the conformance suite must know of it besides its behaviour.
///
/// ```
/// use sim::check::models::{Counter, CounterOp, Shipped};
/// assert_eq!(Counter::NAME, "counter");
/// assert!(Counter::alphabet().iter().any(|(op, rets)| *op == CounterOp::Get && rets.len() > 1));
/// ```
pub trait Shipped: Model {
    /// How it is called in reports and on the command line: lower case, words joined by `-`.
    const NAME: &'static str;
    /// One line: the operations it has.
    const SUMMARY: &'static str;

    /// The state in which the histories of the suite start.
    fn initial() -> Self;

    /// A few operations, each with results that some implementation might return, right ones and
    /// wrong ones. The suite checks *all* short histories over them, so every result costs: some
    /// eight in all, chosen so that all rules of the model come to bear, and in each row the most
    /// telling first.
    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)>;
}

/// What a model can hold. Implemented by every type that can.
///
/// ```
/// fn holds<T: sim::check::models::Value>() {}
/// holds::<String>();
/// holds::<Option<(u64, bool)>>();
/// ```
pub trait Value: Clone + Eq + Hash + Debug + Send + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + 'static> Value for T {}
