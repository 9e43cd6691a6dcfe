//! The sequential specification: the behaviour of an object that one client uses alone.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use super::hash::WordHasher;
use super::unique::{Action, Plain};
use crate::history::Written;

/// A sequential specification. A value of the type *is* the state of the object.
///
/// A model needs two types and one function:
///
/// ```
/// use unpause_check::{linearizable, Budget, Model};
/// use unpause_check::history::Operation;
///
/// /// Hands out tickets: every call returns the next number.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// struct Tickets(u32);
///
/// impl Model for Tickets {
///     type Op = ();
///     type Ret = u32;
///     fn step(&mut self, _op: &()) -> u32 {
///         self.0 += 1;
///         self.0
///     }
/// }
///
/// let take = |client, invoked, ticket, returned| {
///     Operation { client, op: (), invoked, returned: Some((ticket, returned)) }
/// };
/// let twice = [take(0, 1, 1, 3), take(1, 2, 1, 4)];
/// assert!(linearizable(&Tickets(0), &twice, &Budget::default()).unwrap().is_violated());
/// let overlapping = [take(0, 1, 2, 3), take(1, 2, 1, 4)];
/// assert!(linearizable(&Tickets(0), &overlapping, &Budget::default()).unwrap().is_consistent());
/// ```
///
/// All other items have defaults. `Eq` and `Hash` must cover the whole state: two equal states must behave alike
/// forever. The checker keeps a copy of every state it reaches, so a state should be small and cheap to clone.
pub trait Model: Clone + Eq + Hash + Debug {
    /// An operation. Equal operations are interchangeable: in every state, they have the same possible results and
    /// effects.
    type Op: Clone + PartialEq + Debug + Send + 'static;
    /// A result.
    type Ret: Clone + PartialEq + Debug + Send + 'static;

    /// Applies `op` to the state and returns its result. The result and the new state must depend only on the old state
    /// and `op`. The function must be defined for every operation in every state: for an impossible operation, return
    /// an error value instead of panicking.
    fn step(&mut self, op: &Self::Op) -> Self::Ret;

    /// Returns `true` if a client may receive `actual` when [`step`](Model::step) returned `expected`. By default, only
    /// an equal result is accepted. A loose specification accepts more, such as any error message.
    fn accepts(op: &Self::Op, expected: &Self::Ret, actual: &Self::Ret) -> bool {
        let _ = op;
        expected == actual
    }

    /// Returns the key of the part of the object that `op` touches, if it touches no other part. Operations with
    /// different keys must neither change nor observe each other's part. If this holds, a history is linearizable if
    /// and only if the operations of each key are linearizable (Herlihy and Wing 1990, locality), and checking by key
    /// is much faster.
    ///
    /// Returns `None`, the default, if `op` may touch anything; a history with one such operation is checked as a
    /// whole. Each part is checked with this model from the initial state of the whole object. So a [`Key`] that two
    /// parts share cannot change the verdict.
    fn partition(op: &Self::Op) -> Option<Key> {
        let _ = op;
        None
    }

    /// Returns `true` if `op`, when it returns `ret`, leaves **every** state unchanged: for example a read, a failed
    /// compare-and-swap, or an empty dequeue. The checker orders such an operation as soon as it fits and never tries
    /// it again, which saves more time than any other optimization.
    ///
    /// It is not enough that one state stays the same: `write(2)` changes nothing in state 2, but may still be needed
    /// later. A wrong `true` gives wrong verdicts; a wrong `false`, the default, only costs time.
    /// [`linearizable`](super::linearizable()) panics if an observer changes a state.
    fn observes(op: &Self::Op, ret: &Self::Ret) -> bool {
        let _ = (op, ret);
        false
    }

    /// Returns an operation, with its result if it returned, in the form of a recorded history file. A failing run then
    /// writes its history beside its trace. `cargo unpause check` can check this file again, as can one line of a test
    /// with the package `unpause-histories`. Returns `None`, the default, if the file format cannot express the
    /// operation, for example because its result has the wrong type.
    ///
    /// The library's own [models](super::models) of registers, counters, queues, stacks, sets and maps implement this
    /// function if their values are whole numbers, texts, characters, booleans or [data](crate::datum). A model of your
    /// own that wraps a library model can forward to it.
    fn written(op: &Self::Op, ret: Option<&Self::Ret>) -> Option<Written> {
        let _ = (op, ret);
        None
    }

    /// Returns the calls that precede all others in such a file. These calls bring an object from the initial state of
    /// the file format (see [`RegisteredModel::recorded`](super::models::RegisteredModel::recorded)) into this state.
    /// Returns `None`, the default, if the history is not written.
    fn written_before(&self) -> Option<Vec<Written>> {
        None
    }

    /// Appends to `out` every possible state of the object after `op` returned `ret`. Appends nothing if `op` cannot
    /// return `ret` in this state. A `ret` of `None` means that any result fits, because the client never received the
    /// actual result.
    ///
    /// The default implementation appends the single state given by [`step`](Model::step) and
    /// [`accepts`](Model::accepts). Override this function only for a nondeterministic object (for example a pool that
    /// hands out any free connection), together with [`returns`](Model::returns); `step` then performs one of the
    /// possible steps.
    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let mut next = self.clone();
        let expected = next.step(op);
        if ret.is_none_or(|actual| Self::accepts(op, &expected, actual)) {
            out.push(next);
        }
    }

    /// Translates these calls into actions of the engines for unique values ([`unique`](super::unique)), if one of
    /// those engines can check this object from this state. Returns one action for each call, in the same order; a call
    /// without a result never returned. `None`, the default, leaves the history to the search.
    ///
    /// The checker verifies that no value is added twice, so the model need not verify this.
    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a Self::Ret>)>,
    ) -> Option<Plain> {
        let _ = calls;
        None
    }

    /// Returns the effect of one call on a register, if the object is a register: the whole state is one value, and
    /// calls read, overwrite or swap this value. `ret` is the result, or `None` while the call is pending. The result
    /// may change the effect: a failed swap that returns the value that it found is a [`Peek`](Action::Peek). Equal
    /// values have equal keys; different values should have different ones. [`Online`](super::online::Online) checks
    /// such an object in constant time per event while its values are unique.
    ///
    /// Only [`Add`](Action::Add), [`Peek`](Action::Peek), [`Swap`](Action::Swap), [`Absent`](Action::Absent) and
    /// [`Nothing`](Action::Nothing) apply to a register. Return `None`, the default, for an object that is not a
    /// register, or if the call cannot have this result. Implement [`register_value`](Model::register_value) together
    /// with this method.
    ///
    /// ```
    /// use unpause_check::online::{ClientEvent::*, Online, OnlineStatus};
    /// use unpause_check::{Key, Model, unique::Action};
    ///
    /// /// The address of the leader. `Some` announces one, `None` asks for it.
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Leader(String);
    ///
    /// impl Model for Leader {
    ///     type Op = Option<String>;
    ///     type Ret = String;
    ///     fn step(&mut self, op: &Option<String>) -> String {
    ///         self.0 = op.clone().unwrap_or(self.0.clone());
    ///         self.0.clone()
    ///     }
    ///     fn register_action(op: &Option<String>, ret: Option<&String>) -> Option<Action<Key>> {
    ///         Some(match (op, ret) {
    ///             (Some(address), _) => Action::Add(Key::of(address)),
    ///             (None, Some(address)) => Action::Peek(Key::of(address)),
    ///             (None, None) => Action::Nothing,
    ///         })
    ///     }
    ///     fn register_value(&self) -> Option<Key> {
    ///         Some(Key::of(&self.0))
    ///     }
    /// }
    ///
    /// let mut online = Online::new(Leader("a".into()));
    /// // Any number of announcements may be lost.
    /// for client in 0..1_000 {
    ///     let op = Some(format!("b{client}"));
    ///     assert_eq!(online.feed(Invoke { client, op }), Ok(OnlineStatus::Possible));
    ///     assert_eq!(online.feed(End { client }), Ok(OnlineStatus::Possible));
    /// }
    /// for (ret, status) in [("b7", OnlineStatus::Possible), ("a", OnlineStatus::Violated)] {
    ///     let _ = online.feed(Invoke { client: 1_000, op: None });
    ///     assert_eq!(online.feed(Return { client: 1_000, ret: ret.into() }), Ok(status));
    /// }
    /// ```
    fn register_action(op: &Self::Op, ret: Option<&Self::Ret>) -> Option<Action<Key>> {
        let _ = (op, ret);
        None
    }

    /// Returns the key of the value in this state, if the object is a register; see
    /// [`register_action`](Model::register_action).
    fn register_value(&self) -> Option<Key> {
        None
    }

    /// Returns the results that `op` can have in this state. Evidence shows them as the expected results.
    fn returns(&self, op: &Self::Op) -> Vec<Self::Ret> {
        vec![self.clone().step(op)]
    }

    /// Returns the model name for reports; by default, the name of the type without its path.
    fn name() -> &'static str {
        let full = std::any::type_name::<Self>();
        let plain = full.split('<').next().unwrap_or(full);
        plain.rsplit("::").next().unwrap_or(plain)
    }

    /// Returns the text of an operation, such as `Put(1, 7)`. Diagrams use it as a label, so it must be one short line.
    fn op_text(op: &Self::Op) -> String {
        format!("{op:?}")
    }

    /// Returns the text of a result.
    fn ret_text(ret: &Self::Ret) -> String {
        format!("{ret:?}")
    }

    /// Returns the text of the state.
    fn state_text(&self) -> String {
        format!("{self:?}")
    }
}

/// The name of a part of an object that can be checked separately; see [`Model::partition`].
///
/// The key is a hash. Two parts with the same key are checked together, which is slower but never wrong.
///
/// ```
/// use unpause_check::Key;
/// assert_eq!(Key::of("users"), Key::of(&String::from("users")));
/// assert_ne!(Key::of(&1), Key::of(&2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(u64);

impl Key {
    /// Returns the key of a value, such as the key of a map or the number of an account.
    ///
    /// ```
    /// use unpause_check::Key;
    /// assert_eq!(Key::of("x"), Key::of(&"x".to_owned()));
    /// assert_ne!(Key::of(&1), Key::of(&2));
    /// ```
    pub fn of<T: Hash + ?Sized>(value: &T) -> Key {
        let mut hasher = WordHasher::default();
        value.hash(&mut hasher);
        Key(hasher.finish())
    }
}
