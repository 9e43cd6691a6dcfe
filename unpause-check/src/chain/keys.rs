//! A chain for each key of a store of several objects.

use super::{Chain, ChainEvent, Id};
use crate::hash::Table;
use crate::model::{Key, Model};
use crate::models::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};
use crate::online::{
    ClientEvent, Clients, MalformedEvent, MalformedEventKind, OnlineChecker, OnlineStatus,
};
use crate::verdict::Evidence;

/// A store of objects with versions, each with a chain of its own.
///
/// The object of an operation is its [key](Model::partition); operations without a key are of one object.
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

    /// The first version of the object that `op` is for, in this state of the store.
    fn first(&self, op: &Self::Op) -> Self::Id;

    /// The operation on its object.
    fn version_op(op: &Self::Op) -> VersionedRegisterOp<Self::Id>;

    /// The result of `op` on its object.
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

/// The chains of a store: made by [`Chain::by_key`].
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
    /// `None` for operations without a key.
    chains: Table<Option<Key>, Chain<M::Id>>,
    /// The open call of each client.
    clients: Clients<KeyedCall<M>>,
    events: u64,
    operations: u64,
    evidence: Option<Box<Evidence>>,
}

/// An open call.
struct KeyedCall<M: Model> {
    key: Option<Key>,
    operation: u64,
    op: M::Op,
}

impl<I: Id> Chain<I> {
    /// A checker of a store that begins as `initial`, with a chain for each key.
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

    /// Like [`feed`](Chain::feed), where the next invocation is the operation with this number.
    fn feed_as(&mut self, operation: u64, event: ChainEvent<I>) -> Result<(), MalformedEventKind> {
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
            // The client has a call open for one key at most, and the others have nothing of it to end.
            ClientEvent::End { .. } => match self.clients.end(client)? {
                Some(call) => return self.of_key(call.key, ClientEvent::Lost { client }),
                None => return Ok(()),
            },
        };
        let key = self.clients.current(client)?.key;
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
        if let (None, Some(evidence)) = (&self.evidence, chain.evidence()) {
            self.evidence = Some(Box::new(evidence.clone()));
        }
        Ok(())
    }

    fn invoke(&mut self, client: u32, op: M::Op) -> Result<(), MalformedEventKind> {
        self.clients.may_begin(client, |call| call.operation)?;
        let (key, operation) = (M::partition(&op), self.operations);
        let initial = &self.initial;
        let chain = self.chains.entry(key).or_insert_with(|| Chain::new(initial.first(&op)));
        chain.feed_as(operation, ClientEvent::Invoke { client, op: M::version_op(&op) })?;
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
