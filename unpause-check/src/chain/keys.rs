//! One chain for each key of a store with several objects.

use super::{Chain, ChainEvent, Id};
use crate::hash::Table;
use crate::model::{Key, Model};
use crate::models::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};
use crate::online::{
    ClientEvent, Clients, MalformedEvent, MalformedEventKind, OnlineChecker, OnlineStatus,
};
use crate::verdict::Evidence;

/// A store of versioned objects, each with its own chain.
///
/// The object of an operation is its [key](Model::partition); all operations without a key belong to one object.
///
/// ```
/// use unpause_check::chain::{Chain, Versions};
/// use unpause_check::models::{VersionedRegisterOp as Op, VersionedRegisterRet as Ret};
/// use unpause_check::online::{ClientEvent::*, OnlineChecker, OnlineStatus};
/// use unpause_check::{Key, Model};
///
/// /// Registers by name.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
/// struct Store(std::collections::BTreeMap<&'static str, u64>);
///
/// impl Model for Store {
///     type Op = (&'static str, Op);
///     type Ret = Ret;
///     fn step(&mut self, (name, op): &(&'static str, Op)) -> Ret {
///         let version = self.0.entry(name).or_default();
///         match op {
///             Op::Read => Ret::Version(*version),
///             Op::Update { from, to } if from == version => {
///                 *version = *to;
///                 Ret::Updated(true)
///             }
///             Op::Update { .. } => Ret::Updated(false),
///         }
///     }
///     fn partition((name, _): &(&'static str, Op)) -> Option<Key> {
///         Some(Key::of(name))
///     }
/// }
///
/// impl Versions for Store {
///     type Id = u64;
///     fn first(&self, _: &(&'static str, Op)) -> u64 {
///         0
///     }
///     fn version_op((_, op): &(&'static str, Op)) -> Op {
///         op.clone()
///     }
///     fn version_ret(_: &(&'static str, Op), ret: &Ret) -> Ret {
///         ret.clone()
///     }
/// }
///
/// let mut chains = Chain::by_key(Store::default());
/// for event in [
///     Invoke { client: 0, op: ("x", Op::Update { from: 0, to: 7 }) },
///     Return { client: 0, ret: Ret::Updated(true) },
///     Invoke { client: 0, op: ("y", Op::Read) },
///     Return { client: 0, ret: Ret::Version(0) },
///     Invoke { client: 0, op: ("x", Op::Read) },
/// ] {
///     assert_eq!(chains.feed(event), Ok(OnlineStatus::Possible));
/// }
/// let stale = Return { client: 0, ret: Ret::Version(0) };
/// assert_eq!(chains.feed(stale), Ok(OnlineStatus::Violated));
/// assert_eq!(chains.evidence().unwrap().misfit, 2);
/// ```
pub trait Versions: Model {
    /// The id of a version.
    type Id: Id;

    /// Returns the first version of the object of `op`, in this state of the store.
    fn first(&self, op: &Self::Op) -> Self::Id;

    /// Returns the operation in the form of a versioned register.
    fn version_op(op: &Self::Op) -> VersionedRegisterOp<Self::Id>;

    /// Returns the result of `op` in the form of a versioned register.
    fn version_ret(op: &Self::Op, ret: &Self::Ret) -> VersionedRegisterRet<Self::Id>;
}

impl<I: Id> Versions for VersionedRegister<I>
where
    VersionedRegister<I>: Model<Op = VersionedRegisterOp<I>, Ret = VersionedRegisterRet<I>>,
{
    type Id = I;

    fn first(&self, _: &Self::Op) -> I {
        self.id().clone()
    }

    fn version_op(op: &Self::Op) -> VersionedRegisterOp<I> {
        op.clone()
    }

    fn version_ret(_: &Self::Op, ret: &Self::Ret) -> VersionedRegisterRet<I> {
        ret.clone()
    }
}

/// The chains of a store, created by [`Chain::by_key`].
///
/// ```
/// use unpause_check::chain::Chain;
/// use unpause_check::models::{VersionedRegister, VersionedRegisterOp::*};
/// use unpause_check::online::{ClientEvent::*, OnlineChecker, OnlineStatus};
/// let mut chains = Chain::by_key(VersionedRegister::new(0));
/// let begins = Invoke { client: 0, op: Update { from: 0, to: 7 } };
/// assert_eq!(chains.feed(begins), Ok(OnlineStatus::Possible));
/// ```
pub struct ChainsByKey<M: Versions> {
    initial: M,
    /// The chain of each key; `None` is the key of operations without a key.
    chains: Table<Option<Key>, Chain<M::Id>>,
    /// The pending call of each client.
    clients: Clients<KeyedCall<M>>,
    events: u64,
    operations: u64,
    evidence: Option<Box<Evidence>>,
}

/// A pending call.
struct KeyedCall<M: Model> {
    key: Option<Key>,
    operation: u64,
    op: M::Op,
}

impl<I: Id> Chain<I> {
    /// Creates a checker with a chain for each key, for a store that begins in state `initial`.
    pub fn by_key<M: Versions<Id = I>>(initial: M) -> ChainsByKey<M> {
        ChainsByKey {
            initial,
            chains: Table::default(),
            clients: Clients::new(),
            events: 0,
            operations: 0,
            evidence: None,
        }
    }

    /// Feeds an event like [`feed`](Chain::feed), but numbers the next invocation `operation`.
    fn feed_as(&mut self, operation: u64, event: ChainEvent<I>) -> Result<(), MalformedEventKind> {
        // The chain would count only the invocations of its own key, but evidence uses the operation numbers of the
        // whole store.
        self.operations = operation;
        self.feed(event).map(|_| ()).map_err(|error| error.kind)
    }
}

impl<M: Versions> ChainsByKey<M> {
    fn take(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<(), MalformedEventKind> {
        let client = event.client();
        let event = match event {
            ClientEvent::Invoke { op, .. } => return self.invoke(client, op),
            ClientEvent::Return { ret, .. } => {
                let ret = M::version_ret(&self.clients.current(client)?.op, &ret);
                ClientEvent::Return { client, ret }
            }
            ClientEvent::Failed { .. } => ClientEvent::Failed { client },
            ClientEvent::Lost { .. } => ClientEvent::Lost { client },
            // The client has a pending call in one chain at most, so the other chains have nothing to end.
            ClientEvent::End { .. } => match self.clients.end(client)? {
                Some(call) => return self.of_key(call.key, ClientEvent::Lost { client }),
                None => return Ok(()),
            },
        };
        let key = self.clients.current(client)?.key;
        // If the chain refuses the event, the call stays open here as well.
        self.of_key(key, event)?;
        self.clients.close(client).map(drop)
    }

    /// Feeds an event to the chain of a key.
    fn of_key(
        &mut self,
        key: Option<Key>,
        event: ChainEvent<M::Id>,
    ) -> Result<(), MalformedEventKind> {
        let chain = self.chains.get_mut(&key).expect("a call that is open has begun in its chain");
        chain.feed_as(self.operations, event)?;
        // The first violation of any key is the verdict, so later violations do not replace it.
        if let (None, Some(evidence)) = (&self.evidence, chain.evidence()) {
            self.evidence = Some(Box::new(evidence.clone()));
        }
        Ok(())
    }

    fn invoke(&mut self, client: u32, op: M::Op) -> Result<(), MalformedEventKind> {
        self.clients.may_begin(client, |call| call.operation)?;
        let (key, operation) = (M::partition(&op), self.operations);
        let initial = &self.initial;
        // A refused event may create a chain, but this chain has the same state as a chain that is created later.
        let chain = self.chains.entry(key).or_insert_with(|| Chain::new(initial.first(&op)));
        chain.feed_as(operation, ClientEvent::Invoke { client, op: M::version_op(&op) })?;
        // Refused invocations get no number.
        self.operations += 1;
        self.clients.begin(client, KeyedCall { key, operation, op });
        Ok(())
    }
}

impl<M: Versions> OnlineChecker<M> for ChainsByKey<M> {
    fn feed(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<OnlineStatus, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(match self.evidence {
            None => OnlineStatus::Possible,
            Some(_) => OnlineStatus::Violated,
        })
    }

    fn evidence(&self) -> Option<&Evidence> {
        self.evidence.as_deref()
    }
}
