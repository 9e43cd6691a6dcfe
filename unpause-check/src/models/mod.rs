//! The models that come with the library, one file and one row of `every_model!` each, which makes [`registry`].
//!
//! They are generic in the values they hold, whole numbers by default. Write your own if none fits: [`Model`]
//! shows how, and these files are short enough to start from.

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

use std::fmt::Debug;
use std::hash::Hash;

use super::model::Model;
use crate::datum::Datum;

/// Makes the registry and the public names: for each model its module, its type, and the other types of its file.
macro_rules! every_model {
    ($($module:ident: $model:ident $(, $other:ident)*;)*) => {
        $(pub use self::$module::{$model $(, $other)*};)*

        /// Visits every registered model, in the order of this list.
        ///
        /// The types of the models differ, so a loop cannot iterate over them; a visitor with a generic method
        /// can. The conformance suite is one such visitor, the lookup of a model by its name another.
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
    /// One line: its operations.
    const SUMMARY: &'static str;

    /// The state in which the histories of the suite start.
    fn initial() -> Self;

    /// A few operations, each with results that some implementation might return, right and wrong ones. The
    /// suite checks *all* short histories over them, so every result costs: about eight in all, chosen so that
    /// they cover all rules of the model, the most telling first in each row.
    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)>;

    /// The same model over the values of files: mostly `Self` with [`Datum`] for its values.
    type Recorded: Model<Op: Sync, Ret: Sync> + Sync;
    /// The names of its operations in files. No other model has the same ones, because a file without the name of
    /// its model would be ambiguous. If a file fits two models, and one of them has all calls of
    /// the other and more, the file belongs to the model with fewer calls.
    const CALLS: &'static [&'static str];
    /// True if every operation with a value names a key: in files as `[key value]`, or in a field of its own.
    /// [`call`](RegisteredModel::call) then receives `[key value]`, and [`outcome`](RegisteredModel::outcome) the
    /// value alone.
    const KEYED: bool = false;

    /// Short files with an accepted and a rejected twin, from which the suite tests the readers: every name of
    /// [`CALLS`](RegisteredModel::CALLS) must occur.
    const SAMPLES: &'static [FileSample];

    /// The state before the first operation of a file: by default the empty state of the model, or `nil` for a
    /// model that always holds something.
    ///
    /// # Errors
    /// The initial states that the model accepts, if it does not accept this one.
    fn recorded(initial: Option<&Datum>) -> Result<Self::Recorded, String>;

    /// The operation that a file calls `f`, one of [`CALLS`](RegisteredModel::CALLS), with the value it was
    /// invoked with.
    ///
    /// # Errors
    /// The expected value.
    fn call(f: &str, value: &Datum) -> Result<RecordedOp<Self>, String>;

    /// The result of `op` when it succeeded with `value`; `None` if that gave the client no
    /// information. An operation without information and without effect need not be checked.
    ///
    /// # Errors
    /// The expected value.
    fn outcome(
        op: &RecordedOp<Self>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<RecordedRet<Self>>, String>;

    /// Returns `true` if a successful answer to `op` only repeats the value of the call, as for a write or an
    /// enqueue. An answer with another value then belongs to another call. By default `false`.
    fn repeats(op: &RecordedOp<Self>) -> bool {
        let _ = op;
        false
    }

    /// The result of `op` when it failed, in files whose failures are answers: a compare-and-swap found another
    /// value. By default none: a failure only means that it did not take effect.
    fn refused(op: &RecordedOp<Self>) -> Option<RecordedRet<Self>> {
        let _ = op;
        None
    }
}

/// Calls of one client in a file, one after the other. The last call is allowed by the model or is
/// not.
#[derive(Clone, Copy, Debug)]
pub struct FileSample {
    /// The initial state, in EDN; `None` if the file names none.
    pub initial: Option<&'static str>,
    /// The calls before the last. The model allows them.
    pub calls: &'static [FileCall],
    /// A last call that the model allows.
    pub allowed: FileCall,
    /// A last call that the model does not allow.
    pub rejected: FileCall,
}

/// A call in a file: the name of the operation, the value of its invocation and the value of its answer, in EDN.
pub type FileCall = (&'static str, &'static str, &'static str);

/// An operation of a registered model as a file has it.
pub type RecordedOp<M> = <<M as RegisteredModel>::Recorded as Model>::Op;
/// A result of a registered model as a file has it.
pub type RecordedRet<M> = <<M as RegisteredModel>::Recorded as Model>::Ret;

/// The meaning of a read of `nil` in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NilRead {
    /// The register held nothing.
    Nothing,
    /// Its value was not recorded: the rule of Jepsen's checkers.
    Anything,
}

/// The error `expected …, found …` of [`RegisteredModel::call`] and [`RegisteredModel::outcome`].
fn unexpected<T>(wanted: &str, found: &Datum) -> Result<T, String> {
    let mut text = found.to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(60).chain(['…']).collect();
    }
    Err(format!("expected {wanted}, found {text}"))
}

/// A collection that a file gives as a list, for [`RegisteredModel::recorded`]; empty by default.
fn listed<M: FromIterator<Datum>>(initial: Option<&Datum>, wanted: &str) -> Result<M, String> {
    match initial {
        None => Ok(std::iter::empty().collect()),
        Some(Datum::List(items)) => Ok(items.iter().cloned().collect()),
        Some(other) => unexpected(wanted, other),
    }
}

/// Returns an item for a collection, for [`RegisteredModel::call`]; an error for nil, which means
/// "no item".
fn item(value: &Datum) -> Result<Datum, String> {
    if value.is_nil() { unexpected("an item other than nil", value) } else { Ok(value.clone()) }
}

/// Returns an item taken from a collection, for [`RegisteredModel::outcome`]; nil means "no item".
fn taken(value: &Datum) -> Option<Datum> {
    Some(value.clone()).filter(|value| !value.is_nil())
}

/// The error of [`RegisteredModel::call`] for a name that is not among [`RegisteredModel::CALLS`].
fn no_such_call<M: RegisteredModel, T>(f: &str) -> Result<T, String> {
    Err(format!("{} has no operation {f:?}; it has {}", M::NAME, M::CALLS.join(", ")))
}

/// A value that a model can hold. Implemented by every type that can be one.
///
/// ```
/// fn holds<T: unpause_check::models::Value>() {}
/// holds::<String>();
/// holds::<Option<(u64, bool)>>();
/// ```
pub trait Value: Clone + Eq + Hash + Debug + Send + 'static {}

impl<T: Clone + Eq + Hash + Debug + Send + 'static> Value for T {}
