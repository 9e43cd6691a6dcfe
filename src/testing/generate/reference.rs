//! References to the results of earlier commands. A result may be a handle that no model can predict.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::{CommandId, Results};
use unpause_check::Model;

/// A handle that an earlier command created, such as a connection or an open file. For the object it is the real
/// handle; for the model it is the id of the command that created it.
///
/// A model must return the result of a command, but cannot know which handle the object will return. So the result is a
/// reference. References to the same command are equal, regardless of their handles. The model uses the reference as an
/// identity, also in its state, and needs to predict nothing. A later command that uses the handle contains a reference
/// without a handle. [`Program::resolve`](super::Program::resolve) fills in the returned handle, with
/// [`Results::reference`].
///
/// ```
/// use std::collections::BTreeSet;
/// use sim::check::Model;
/// use sim::{CommandId, Gen, Mutex, Program, Reference, Results, Runner, Shape};
///
/// /// A pool of connections, with handles of its own choice.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Pool(BTreeSet<Reference<String>>);
///
/// #[derive(Clone, PartialEq, Debug)]
/// enum Op { Open(CommandId), Close(Reference<String>) }
/// use Op::{Close, Open};
///
/// impl Model for Pool {
///     type Op = Op;
///     type Ret = Option<Reference<String>>;
///     fn step(&mut self, op: &Op) -> Self::Ret {
///         match op {
///             Open(id) => {
///                 self.0.insert(Reference::to(*id));
///                 Some(Reference::to(*id))
///             }
///             Close(connection) => {
///                 self.0.remove(connection);
///                 None
///             }
///         }
///     }
/// }
///
/// impl Program for Pool {
///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
///         let opened = g.choose_earlier(|e| matches!(e.op, Open(_)));
///         match opened.filter(|_| g.bool()) {
///             Some(id) => Close(Reference::to(id)),
///             None => Open(g.id()),
///         }
///     }
///     // In no order a closed connection is closed again.
///     fn precondition(&self, op: &Op) -> bool {
///         match op {
///             Open(_) => true,
///             Close(connection) => self.0.contains(connection),
///         }
///     }
///     fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
///         match op {
///             Close(connection) => Some(Close(results.reference(connection, |ret| ret.as_ref())?)),
///             open => Some(open.clone()),
///         }
///     }
/// }
///
/// let report = Runner::new().hermetic().seeds(0..50).run(async || {
///     let connections = Mutex::new((0, Vec::new()));
///     sim::parallel(Shape::chunks(), Pool::default(), async |op| {
///         let (count, open) = &mut *connections.lock().await;
///         match op {
///             Open(id) => {
///                 *count += 1;
///                 open.push(format!("connection {count}"));
///                 Some(Reference::to(id).with(open.last().unwrap().clone()))
///             }
///             Close(connection) => {
///                 let at = open.iter().position(|open| open == connection.get());
///                 open.remove(at.expect("it is open"));
///                 None
///             }
///         }
///     })
///     .await;
/// });
/// assert!(report.passed());
/// ```
#[derive(Clone, Copy)]
pub struct Reference<H> {
    id: CommandId,
    handle: Option<H>,
}

impl<H> Reference<H> {
    /// Creates a reference to the result of the command `id`, without a handle. Models return such references, and
    /// generated commands contain them.
    ///
    /// ```
    /// use sim::{CommandId, Reference};
    ///
    /// // The model predicts the command, and not the handle.
    /// let predicted = Reference::to(CommandId(3));
    /// let returned = Reference::to(CommandId(3)).with("connection 1");
    /// assert_eq!(predicted, returned);
    /// assert_ne!(predicted, Reference::to(CommandId(4)));
    /// ```
    pub const fn to(id: CommandId) -> Reference<H> {
        Reference { id, handle: None }
    }

    /// Returns the same reference with the real handle. The object returns such references.
    ///
    /// ```
    /// use sim::{CommandId, Reference};
    ///
    /// let returned = Reference::to(CommandId(3)).with("connection 1");
    /// assert_eq!((returned.id(), *returned.get()), (CommandId(3), "connection 1"));
    /// ```
    #[must_use]
    pub fn with(self, handle: H) -> Reference<H> {
        Reference { handle: Some(handle), ..self }
    }

    /// Returns the id of the command that created the handle.
    pub fn id(&self) -> CommandId {
        self.id
    }

    /// Returns the real handle.
    ///
    /// # Panics
    /// If there is no handle: either the command that contains the reference was not resolved, or the creating command
    /// returned a reference without a handle.
    #[track_caller]
    pub fn get(&self) -> &H {
        match &self.handle {
            Some(handle) => handle,
            None => panic!(
                "the reference to command {:?} has no handle: return one with `Reference::with` from that \
                 command, and put it in with `Results::reference` in `Program::resolve`",
                self.id
            ),
        }
    }
}

impl<H> PartialEq for Reference<H> {
    /// Returns `true` if the two references refer to the same command.
    fn eq(&self, other: &Reference<H>) -> bool {
        self.id == other.id
    }
}

impl<H> Eq for Reference<H> {}

impl<H> PartialOrd for Reference<H> {
    fn partial_cmp(&self, other: &Reference<H>) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<H> Ord for Reference<H> {
    fn cmp(&self, other: &Reference<H>) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}

impl<H> Hash for Reference<H> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.id.hash(state);
    }
}

impl<H> fmt::Debug for Reference<H> {
    /// Formats the reference as `#3`, like a [`CommandId`]; in the alternate form as Rust source:
    /// `sim::Reference::to(sim::CommandId(3))`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match f.alternate() {
            true => write!(f, "sim::Reference::to(sim::CommandId({}))", self.id.0),
            false => write!(f, "{:?}", self.id),
        }
    }
}

impl<'a, P: Model> Results<'a, P> {
    /// Returns the reference that the command of `reference` returned, with its handle. `None` if the command did not
    /// return, or returned a different reference. `find` extracts the reference from the result.
    pub fn reference<H: Clone + 'a>(
        &self,
        reference: &Reference<H>,
        find: impl FnOnce(&'a P::Ret) -> Option<&'a Reference<H>>,
    ) -> Option<Reference<H>> {
        let found = find(self.get(reference.id)?)?;
        (found == reference).then(|| found.clone())
    }
}
