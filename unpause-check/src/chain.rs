//! Linearizability of a store with versions, in linear time and flat memory, however long it runs.
//!
//! In a history of a [`VersionedRegister`](super::models::VersionedRegister) each update has an id of
//! its own and names the version that it replaces, so the versions that are known to have happened
//! form one chain (Gibbons and Korach, *Testing Shared Memories*, 1997, theorem 4.13). A version is
//! appended when somebody is told of it, or of one that builds on it: at the last moment at which it
//! can have happened, so that an open read may still return the one before. Every question is then
//! one look-up: is this version at or behind the one that was the last when the read was invoked?
//!
//! [`Chain`] listens to events as they come, [`check`] takes all of them from an iterator; it is the
//! same engine and the same verdict. Nothing here orders operations of more than one object.

mod evidence;
mod links;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;

use self::links::{Fault, Known, Links};
use super::models::{VersionedRegisterOp, VersionedRegisterRet};
use super::online::{ClientEvent, Clients, MalformedEvent, MalformedEventKind, Status};
use crate::verdict::{Evidence, Verdict, Witness};

/// What verdicts call this engine.
const ENGINE: &str = "chain";

/// An event of a client of a versioned store.
pub type ChainEvent<I = u64> = ClientEvent<VersionedRegisterOp<I>, VersionedRegisterRet<I>>;

/// What can be the id of a version. Implemented by every type that can.
///
/// ```
/// fn names_versions<I: unpause_check::chain::Id>() {}
/// names_versions::<u64>();
/// names_versions::<(u32, String)>();
/// ```
pub trait Id: Clone + Eq + Hash + Debug {}

impl<I: Clone + Eq + Hash + Debug> Id for I {}

/// Listens to the clients of a versioned store and knows at every moment whether what they were told
/// so far is linearizable.
///
/// Ids must be unique among the first version and all updates that did not fail; that is checked as
/// far back as versions are remembered. An update that failed says nothing of the version. One that
/// was lost may happen at any later time, while its turn can still come.
///
/// Each violation has a name: `stale read`, `lost update` (two updates of one version), `aborted read` (of
/// an update that failed), `unknown version`, `unknown predecessor`, `future read` (the update was
/// invoked only later), `circular updates`.
///
/// # Cost
/// O(1) for each event, amortized, up to a logarithm of the number of open calls. Kept are the last
/// 1024 versions and those since the oldest open call was invoked, and updates that are open
/// or lost. A lost update is forgotten once another replaced the version that it names; one that
/// names a version nobody has heard of stays. Versions older than that are forgotten: a read of one
/// is a violation still, but it cannot be told from one that was never written, and the evidence
/// says that it may be either.
///
/// ```
/// use unpause_check::chain::Chain;
/// use unpause_check::models::{VersionedRegisterOp::*, VersionedRegisterRet::*};
/// use unpause_check::online::{ClientEvent::*, Status};
///
/// // client 0: |- Update(0 to 7) -|
/// // client 1:                      |- Read: 0 -|
/// let mut chain = Chain::new(0);
/// for event in [
///     Invoke { client: 0, op: Update { from: 0, to: 7 } },
///     Return { client: 0, ret: Updated(true) },
///     Invoke { client: 1, op: Read },
/// ] {
///     assert_eq!(chain.feed(event), Ok(Status::Possible));
/// }
/// assert_eq!(chain.feed(Return { client: 1, ret: Version(0) }), Ok(Status::Violated));
/// let evidence = chain.evidence().unwrap();
/// assert_eq!(evidence.anomaly.as_ref().unwrap().name, "stale read");
/// assert_eq!((evidence.misfit, &evidence.expected[..]), (1, &["7".to_owned()][..]));
/// ```
pub struct Chain<I = u64> {
    links: Links<I>,
    clients: Clients<Open<I>>,
    /// How many open calls were invoked when the last known version stood there.
    heads: BTreeMap<u64, u32>,
    events: u64,
    operations: u64,
    decision: Option<Decision<I>>,
}

/// An open call.
struct Open<I> {
    operation: u64,
    /// Where the last known version stood when it was invoked.
    head: u64,
    op: VersionedRegisterOp<I>,
}

struct Decision<I> {
    event: u64,
    evidence: Box<Evidence>,
    /// A version of which nobody had heard. If its update is invoked later, the evidence says so.
    unheard: Option<I>,
}

impl<I: Id> Chain<I> {
    /// A checker of a store whose first version is called `initial`.
    pub fn new(initial: I) -> Self {
        Chain {
            links: Links::new(initial),
            clients: Clients::new(),
            heads: BTreeMap::new(),
            events: 0,
            operations: 0,
            decision: None,
        }
    }

    /// Takes the next event, and says what is known after it: possible or violated, never unknown.
    /// Once violated it stays so; but an event may still explain a version of which nobody had heard.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event does not fit what its client did before, or if an id is not
    /// unique. It is then ignored.
    pub fn feed(&mut self, event: ChainEvent<I>) -> Result<Status, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(self.status())
    }

    /// What is known now.
    pub fn status(&self) -> Status {
        match self.decision {
            None => Status::Possible,
            Some(_) => Status::Violated,
        }
    }

    /// Why what was fed is violated, if it is. Operations are counted by invocation, from 0.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.decision.as_ref().map(|decision| &*decision.evidence)
    }

    /// The event, counted from 0, that is the violation.
    pub fn decided_at(&self) -> Option<u64> {
        self.decision.as_ref().map(|decision| decision.event)
    }

    /// How many events were fed, those that were refused included.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many calls are open.
    pub fn open(&self) -> usize {
        self.clients.len()
    }

    /// How many versions are remembered, those of open and lost updates included: what memory
    /// depends on, besides open calls.
    pub fn kept(&self) -> usize {
        self.links.len()
    }

    /// The id of the last version that is known to have happened.
    pub fn last(&self) -> &I {
        &self.links.head().id
    }

    /// The verdict on all that was fed; calls that are still open may or may not have happened.
    pub fn finish(self) -> Verdict {
        match self.decision {
            None => Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order: None }),
            Some(decision) => Verdict::Violated(decision.evidence),
        }
    }

    fn take(&mut self, event: ChainEvent<I>) -> Result<(), MalformedEventKind> {
        let client = event.client();
        let (call, ret) = match event {
            ClientEvent::Invoke { op, .. } => return self.invoke(client, op),
            ClientEvent::Return { ret, .. } => {
                let fits = matches!(
                    (&self.clients.current(client)?.op, &ret),
                    (VersionedRegisterOp::Read, VersionedRegisterRet::Version(_))
                        | (VersionedRegisterOp::Update { .. }, VersionedRegisterRet::Updated(_))
                );
                if !fits {
                    return Err(MalformedEventKind::WrongResult);
                }
                (self.clients.close(client)?, Some(ret))
            }
            ClientEvent::Failed { .. } => {
                (self.clients.close(client)?, Some(VersionedRegisterRet::Updated(false)))
            }
            ClientEvent::Lost { .. } => (self.clients.close(client)?, None),
            ClientEvent::End { .. } => match self.clients.end(client)? {
                Some(call) => (call, None),
                None => return Ok(()),
            },
        };
        if self.decision.is_none() {
            self.close(call, ret);
        }
        Ok(())
    }

    fn invoke(
        &mut self,
        client: u32,
        op: VersionedRegisterOp<I>,
    ) -> Result<(), MalformedEventKind> {
        self.clients.may_begin(client, |call| call.operation)?;
        let operation = self.operations;
        if let VersionedRegisterOp::Update { from, to } = &op {
            if from == to || (self.decision.is_none() && !self.links.is_new(to)) {
                return Err(MalformedEventKind::IdNotUnique { id: format!("{to:?}") });
            }
            match &mut self.decision {
                None => self.links.open(from.clone(), to.clone(), operation),
                Some(decision) if decision.unheard.as_ref() == Some(to) => {
                    decision.unheard = None;
                    evidence::from_the_future(&mut decision.evidence, to, operation);
                }
                Some(_) => {}
            }
        }
        let head = self.links.last();
        self.operations += 1;
        *self.heads.entry(head).or_default() += 1;
        self.clients.begin(client, Open { operation, head, op });
        Ok(())
    }

    /// A call ends; without a result it is lost.
    fn close(&mut self, call: Open<I>, ret: Option<VersionedRegisterRet<I>>) {
        let Open { operation, head, op } = call;
        let fault = match (op, ret) {
            (VersionedRegisterOp::Read, Some(VersionedRegisterRet::Version(id))) => {
                match self.links.find(&id) {
                    Known::At(place) if place < head => Some(Fault::Stale { place, head }),
                    Known::At(_) => None,
                    Known::Pending => self.links.reach(&id, operation).err(),
                    Known::No => Some(Fault::Unheard { id, after: None }),
                }
            }
            (VersionedRegisterOp::Update { to, .. }, Some(VersionedRegisterRet::Updated(true))) => {
                match self.links.find(&to) {
                    Known::At(_) => None,
                    _ => self.links.reach(&to, operation).err(),
                }
            }
            (VersionedRegisterOp::Update { to, .. }, Some(_)) => match self.links.find(&to) {
                Known::At(place) => Some(Fault::Aborted { place }),
                _ => {
                    self.links.forget(&to);
                    None
                }
            },
            (VersionedRegisterOp::Update { to, .. }, None) => {
                self.links.lose(&to);
                None
            }
            (VersionedRegisterOp::Read, _) => None,
        };
        if let Some(fault) = fault {
            let evidence = Box::new(evidence::of(&self.links, operation, head, &fault));
            let unheard = match fault {
                Fault::Unheard { id, .. } => Some(id),
                _ => None,
            };
            self.decision = Some(Decision { event: self.events - 1, evidence, unheard });
            return;
        }
        if let Some(count) = self.heads.get_mut(&head) {
            *count -= 1;
            if *count == 0 {
                self.heads.remove(&head);
            }
        }
        let oldest = self.heads.keys().next().copied();
        self.links.forget_old(oldest);
    }
}

/// Checks a whole history of a versioned store, event by event: what [`Chain`] says when it was fed
/// all of them. The events are never held together, so they may come from a file of any size.
///
/// # Errors
/// [`MalformedEvent`] at the first event that [`Chain::feed`] refuses.
///
/// ```
/// use unpause_check::chain::check;
/// use unpause_check::models::{VersionedRegisterOp::*, VersionedRegisterRet::*};
/// use unpause_check::online::ClientEvent::*;
/// let events = (0..1000u64).flat_map(|version| {
///     let update = Update { from: version, to: version + 1 };
///     [Invoke { client: 0, op: update }, Return { client: 0, ret: Updated(true) }]
/// });
/// assert!(check(0, events).unwrap().is_consistent());
/// ```
pub fn check<I: Id>(
    initial: I,
    events: impl IntoIterator<Item = ChainEvent<I>>,
) -> Result<Verdict, MalformedEvent> {
    let mut chain = Chain::new(initial);
    for event in events {
        let _ = chain.feed(event)?;
    }
    Ok(chain.finish())
}
