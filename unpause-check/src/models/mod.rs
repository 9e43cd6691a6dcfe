//! The models of the library. Each has one file and one row in `every_model!`, which generates [`registry`].
//!
//! The models are generic in their values, which are whole numbers by default. If no model fits, write your own:
//! [`Model`] shows how, and these files are short enough to start from.

mod bank;
mod cas_register;
mod counter;
mod grow_set;
mod lock;
mod map;
mod multi_register;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;
mod text_map;
mod versioned_register;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::Hash;

use super::model::Model;
use crate::datum::Datum;

/// Generates the registry and the public names. Each row has the module of a model, its type, and the other types of
/// its file.
macro_rules! every_model {
    ($($module:ident: $model:ident $(, $other:ident)*;)*) => {
        $(pub use self::$module::{$model $(, $other)*};)*

        /// Visits every registered model, in the order of this list.
        ///
        /// The models have different types, so a loop cannot iterate over them, but a visitor with a generic method
        /// can. For example, the conformance suite and the look-up of a model by its name are visitors.
        ///
        /// ```
        /// use unpause_check::models::{registry, RegisteredModel, Visitor};
        /// struct Names(Vec<&'static str>);
        /// impl Visitor for Names {
        ///     fn visit<M: RegisteredModel>(&mut self) {
        ///         self.0.push(M::NAME);
        ///     }
        /// }
        /// let mut names = Names(Vec::new());
        /// registry(&mut names);
        /// assert_eq!(names.0[..3], ["register", "cas-register", "counter"]);
        /// assert!(names.0.contains(&"multi-register"));
        /// ```
        pub fn registry(visitor: &mut impl Visitor) {
            $(visitor.visit::<$model>();)*
        }
    };
}

every_model! {
    register: Register, RegisterOp, RegisterRet;
    cas_register: CasRegister, CasRegisterOp, CasRegisterRet;
    counter: Counter, CounterOp, CounterRet;
    queue: Queue, QueueOp, QueueRet;
    stack: Stack, StackOp, StackRet;
    priority_queue: PriorityQueue, PriorityQueueOp, PriorityQueueRet;
    set: Set, SetOp;
    map: Map, MapOp, MapRet;
    versioned_register: VersionedRegister, VersionedRegisterOp, VersionedRegisterRet;
    text_map: TextMap, TextMapOp, TextMapRet;
    grow_set: GrowSet, GrowSetOp, GrowSetRet;
    lock: Lock, LockOp, LockRet;
    multi_register: MultiRegister, AccessRet, MultiRegisterOp, MultiRegisterRet, RegisterAccess;
    bank: Bank, BankOp, BankRet;
}

/// A visitor of the [`registry`].
pub trait Visitor {
    /// Called for each model.
    fn visit<M: RegisteredModel>(&mut self);
}

/// A model of the [`registry`], with the data that the conformance suite and the readers of files need.
///
/// ```
/// use unpause_check::models::{Counter, CounterOp, RegisteredModel};
/// assert_eq!(Counter::NAME, "counter");
/// assert!(Counter::alphabet().iter().any(|(op, rets)| *op == CounterOp::Get && rets.len() > 1));
/// ```
pub trait RegisteredModel:
    Model<Op: Send + Sync, Ret: Send + Sync> + Send + Sync + 'static
{
    /// The name in reports and on the command line: lower case, words joined by `-`.
    const NAME: &'static str;
    /// The operations, in one line.
    const SUMMARY: &'static str;

    /// Returns the state in which the histories of the conformance suite start.
    fn initial() -> Self;

    /// Returns a few operations, each with results that some implementation might return, correct and wrong ones. The
    /// suite checks *all* short histories over them, so every result costs time. Use about eight results in total to
    /// cover all rules of the model, the most informative first in each row.
    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)>;

    /// The same model over the values of files: usually `Self` with [`Datum`] as its values.
    type Recorded: Model<Op: Sync, Ret: Sync> + Sync;
    /// The names of the operations in files. No two models have the same names, because a file without the name of its
    /// model would be ambiguous. If a file fits two models, and one model has all calls of the other and more, the file
    /// belongs to the model with fewer calls.
    const CALLS: &'static [&'static str];
    /// True if every operation with a value names a key: in files as `[key value]`, or in a separate field.
    /// [`call`](RegisteredModel::call) then receives `[key value]`, and [`outcome`](RegisteredModel::outcome) receives
    /// the value alone.
    const KEYED: bool = false;

    /// Short files, each with an accepted and a rejected last call, with which the suite tests the file readers. Every
    /// name of [`CALLS`](RegisteredModel::CALLS) must occur in them.
    const SAMPLES: &'static [FileSample];

    /// Returns the state before the first operation of a file. The default is the empty state of the model, or `nil`
    /// for a model that always holds a value.
    ///
    /// # Errors
    /// If the model does not accept `initial`: a description of the initial states that it accepts.
    fn recorded(initial: Option<&Datum>) -> Result<Self::Recorded, String>;

    /// Returns the operation with the name `f` in a file, one of [`CALLS`](RegisteredModel::CALLS), with the value of
    /// its invocation.
    ///
    /// # Errors
    /// A description of the expected value.
    fn call(f: &str, value: &Datum) -> Result<RecordedOp<Self>, String>;

    /// Returns the result of an `op` that succeeded with `value`; `None` if the client received no information. An
    /// operation without information and without effect need not be checked.
    ///
    /// # Errors
    /// A description of the expected value.
    fn outcome(
        op: &RecordedOp<Self>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<RecordedRet<Self>>, String>;

    /// Returns `true` if a successful answer to `op` only repeats the value of the call, as for a write or an enqueue.
    /// An answer with another value then belongs to another call. The default is `false`.
    fn repeats(op: &RecordedOp<Self>) -> bool {
        let _ = op;
        false
    }

    /// Returns the result of a failed `op`, in files that record an answer as a failure: for example, a
    /// compare-and-swap found another value. The default is `None`: the failure only means that the operation did not
    /// take effect.
    fn refused(op: &RecordedOp<Self>) -> Option<RecordedRet<Self>> {
        let _ = op;
        None
    }
}

/// A sequence of calls of one client in a file, with two possible last calls: the model allows one, and rejects the
/// other.
#[derive(Clone, Copy, Debug)]
pub struct FileSample {
    /// The initial state, in EDN; `None` if the file does not name a state.
    pub initial: Option<&'static str>,
    /// The calls before the last call. The model allows these calls.
    pub calls: &'static [FileCall],
    /// A last call that the model allows.
    pub allowed: FileCall,
    /// A last call that the model does not allow.
    pub rejected: FileCall,
}

/// A call in a file: the name of the operation, the value of its invocation and the value of its answer, in EDN.
pub type FileCall = (&'static str, &'static str, &'static str);

/// An operation of a registered model, over the values of files.
pub type RecordedOp<M> = <<M as RegisteredModel>::Recorded as Model>::Op;
/// A result of a registered model, over the values of files.
pub type RecordedRet<M> = <<M as RegisteredModel>::Recorded as Model>::Ret;

/// The meaning of a read of `nil` in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NilRead {
    /// The register held no value.
    Nothing,
    /// The value was not recorded, so any value may have been returned. Jepsen's checkers have the same rule.
    Anything,
}

/// Returns the error `expected …, found …` of [`RegisteredModel::call`] and [`RegisteredModel::outcome`].
fn unexpected<T>(wanted: &str, found: &Datum) -> Result<T, String> {
    Err(expected_text(wanted, found))
}

fn expected_text(wanted: &str, found: &Datum) -> String {
    let mut text = found.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(60).chain(['…']).collect();
    }
    format!("expected {wanted}, found {text}")
}

/// Collects the entries of a map. The `collect` of std compiles a sort for each type, these insertions do not.
fn map_of<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// Collects the members of a set, like [`map_of`].
fn set_of<T: Ord>(members: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(members);
    set
}

/// Creates a collection from the list in a file, for [`RegisteredModel::recorded`]; empty by default.
fn listed<M: FromIterator<Datum>>(initial: Option<&Datum>, wanted: &str) -> Result<M, String> {
    match initial {
        None => Ok(std::iter::empty().collect()),
        Some(Datum::List(items)) => Ok(items.iter().cloned().collect()),
        Some(other) => unexpected(wanted, other),
    }
}

/// Returns an item for a collection, for [`RegisteredModel::call`]. Returns an error for nil, which means "no item".
fn item(value: &Datum) -> Result<Datum, String> {
    if value.is_nil() { unexpected("an item other than nil", value) } else { Ok(value.clone()) }
}

/// Returns an item removed from a collection, for [`RegisteredModel::outcome`]; nil means "no item".
fn taken(value: &Datum) -> Option<Datum> {
    Some(value.clone()).filter(|value| !value.is_nil())
}

/// Returns the error of [`RegisteredModel::call`] for a name that is not among [`RegisteredModel::CALLS`].
fn no_such_call<M: RegisteredModel, T>(f: &str) -> Result<T, String> {
    Err(format!("{} has no operation {f:?}; it has {}", M::NAME, M::CALLS.join(", ")))
}

/// A value in a model, implemented by every suitable type.
///
/// ```
/// fn holds<T: unpause_check::models::Value>() {}
/// holds::<String>();
/// holds::<Option<(u64, bool)>>();
/// ```
pub trait Value: Clone + Eq + Hash + Debug + Send + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + 'static> Value for T {}
