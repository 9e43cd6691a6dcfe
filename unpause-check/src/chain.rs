//! Linearizability of a store with versions, in linear time and flat memory, however long it runs.
//!
//! In a history of a [`VersionedRegister`](super::models::VersionedRegister) each update has an id of
//! its own and names the version that it replaces, so the versions that are known to have happened
//! form one chain (Gibbons and Korach, *Testing Shared Memories*, 1997, theorem 4.13). A version is
//! appended when a call returns it or a version that builds on it. This is the last moment at which
//! it can have happened, so that an open read may still return the previous version. Each read is
//! then one look-up: is its version at or behind the last one at the invocation of the read?
//!
//! [`Chain`] takes events as they come, [`check`] takes all of them from an iterator; both use the same engine
//! and give the same verdict. [`Chain::by_key`] has a chain for each object of a store.

use unpause_ordered::Map;
mod evidence;
mod keys;
mod links;

use std::fmt::Debug;
use std::hash::Hash;

pub use self::keys::{ChainsByKey, Versions};

use self::links::{ChainFault, Links, VersionState};
use super::models::{VersionedRegisterOp, VersionedRegisterRet};
use super::online::{ClientEvent, Clients, MalformedEvent, MalformedEventKind, OnlineStatus};
use crate::verdict::{Evidence, Verdict, Witness};

/// The name of this engine in verdicts.
pub(crate) const ENGINE: &str = "chain";

/// An event of a client of a versioned store.
pub type ChainEvent<I = u64> = ClientEvent<VersionedRegisterOp<I>, VersionedRegisterRet<I>>;

/// The id of a version. Implemented by every type that can be one.
///
/// ```
/// fn names_versions<I: unpause_check::chain::Id>() {}
/// names_versions::<u64>();
/// names_versions::<(u32, String)>();
/// ```
pub trait Id: Clone + Eq + Hash + Debug {}

impl<I: Clone + Eq + Hash + Debug> Id for I {}

/// Takes the events of clients of a versioned store and knows after each one whether the results so far are
/// linearizable.
///
/// Ids must be unique among the first version and all updates that did not fail; that is checked as far back as
/// versions are remembered. An update that failed gives no information about the version. An update that was
/// lost may take effect at any later time, while the version that it replaces can still be the last.
///
/// Each violation has a name: `stale read`, `lost update` (two updates of one version), `aborted read` (of
/// an update that failed), `unknown version`, `unknown predecessor`, `future read` (the update was
/// invoked only later), `circular updates`.
///
/// # Cost
/// O(1) for each event, amortized, up to a logarithm of the number of open calls. The last 1024 versions are
/// kept, those since the oldest open call was invoked, and updates that are open or lost. A lost update is
/// forgotten once another one replaced the version that it names, but is kept if it names an unknown version.
/// Older versions are forgotten: a read of a forgotten version is still a violation, but the engine cannot
/// distinguish it from a version that was never written, and the evidence says that it may be either.
///
/// ```
/// use unpause_check::chain::Chain;
/// use unpause_check::models::{VersionedRegisterOp::*, VersionedRegisterRet::*};
/// use unpause_check::online::{ClientEvent::*, OnlineStatus};
///
/// // client 0: |- Update(0 to 7) -|
/// // client 1:                      |- Read: 0 -|
/// let mut chain = Chain::new(0);
/// for event in [
///     Invoke { client: 0, op: Update { from: 0, to: 7 } },
///     Return { client: 0, ret: Updated(true) },
///     Invoke { client: 1, op: Read },
/// ] {
///     assert_eq!(chain.feed(event), Ok(OnlineStatus::Possible));
/// }
/// assert_eq!(chain.feed(Return { client: 1, ret: Version(0) }), Ok(OnlineStatus::Violated));
/// let evidence = chain.evidence().unwrap();
/// assert_eq!(evidence.anomaly.as_ref().unwrap().name, "stale read");
/// assert_eq!((evidence.misfit, &evidence.expected[..]), (1, &["7".to_owned()][..]));
/// ```
pub struct Chain<I = u64> {
    links: Links<I>,
    clients: Clients<ChainCall<I>>,
    /// The number of open calls by the place of the last known version at their invocation.
    heads: Map<u64, u32>,
    events: u64,
    operations: u64,
    decision: Option<ChainDecision<I>>,
}

/// An open call.
struct ChainCall<I> {
    operation: u64,
    /// The place of the last known version at the invocation.
    head: u64,
    op: VersionedRegisterOp<I>,
}

struct ChainDecision<I> {
    event: u64,
    evidence: Box<Evidence>,
    /// An unknown version. If its update is invoked later, the evidence says so.
    unknown: Option<I>,
}

impl<I: Id> Chain<I> {
    /// A checker of a store whose first version is called `initial`.
    pub fn new(initial: I) -> Self {
        Chain {
            links: Links::new(initial),
            clients: Clients::new(),
            heads: Map::new(),
            events: 0,
            operations: 0,
            decision: None,
        }
    }

    /// Takes the next event and returns the status after it: possible or violated, never unknown. A violation
    /// is final, but a later event may still explain an unknown version in its evidence.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event does not fit the earlier events of its client, or if an id is not
    /// unique. It is then ignored.
    pub fn feed(&mut self, event: ChainEvent<I>) -> Result<OnlineStatus, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(self.status())
    }

    /// The current status.
    pub fn status(&self) -> OnlineStatus {
        match self.decision {
            None => OnlineStatus::Possible,
            Some(_) => OnlineStatus::Violated,
        }
    }

    /// The reason for a violation; `None` if there is none. Operations are counted by invocation,
    /// from 0.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.decision.as_ref().map(|decision| &*decision.evidence)
    }

    /// The event, counted from 0, that is the violation.
    pub fn decided_at(&self) -> Option<u64> {
        self.decision.as_ref().map(|decision| decision.event)
    }

    /// The number of events fed, including refused ones.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The number of open calls.
    pub fn open(&self) -> usize {
        self.clients.len()
    }

    /// The number of remembered versions, including versions of open and lost updates. Memory
    /// depends on this and on the number of open calls.
    ///
    /// ```
    /// use unpause_check::chain::Chain;
    /// use unpause_check::models::{VersionedRegisterOp::*, VersionedRegisterRet::*};
    /// use unpause_check::online::ClientEvent::*;
    /// let mut chain = Chain::new(0);
    /// for id in 0..5000 {
    ///     chain.feed(Invoke { client: 0, op: Update { from: id, to: id + 1 } })?;
    ///     chain.feed(Return { client: 0, ret: Updated(true) })?;
    /// }
    /// assert_eq!((chain.last(), chain.events(), chain.open()), (&5000, 10_000, 0));
    /// assert!(chain.kept() < 1100);
    /// # Ok::<(), unpause_check::online::MalformedEvent>(())
    /// ```
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
                Some(decision) if decision.unknown.as_ref() == Some(to) => {
                    decision.unknown = None;
                    evidence::from_the_future(&mut decision.evidence, to, operation);
                }
                Some(_) => {}
            }
        }
        let head = self.links.last();
        self.operations += 1;
        *self.heads.entry(head).or_default() += 1;
        self.clients.begin(client, ChainCall { operation, head, op });
        Ok(())
    }

    /// A call ends; without a result it is lost.
    fn close(&mut self, call: ChainCall<I>, ret: Option<VersionedRegisterRet<I>>) {
        let ChainCall { operation, head, op } = call;
        let fault = match (op, ret) {
            (VersionedRegisterOp::Read, Some(VersionedRegisterRet::Version(id))) => {
                match self.links.find(&id) {
                    VersionState::At(place) if place < head => {
                        Some(ChainFault::Stale { place, head })
                    }
                    VersionState::At(_) => None,
                    VersionState::Pending => self.links.reach(&id, operation).err(),
                    VersionState::No => Some(ChainFault::Unknown { id, after: None }),
                }
            }
            (VersionedRegisterOp::Update { to, .. }, Some(VersionedRegisterRet::Updated(true))) => {
                // A read may have shown already that the update happened; otherwise its own return shows it.
                match self.links.find(&to) {
                    VersionState::At(_) => None,
                    _ => self.links.reach(&to, operation).err(),
                }
            }
            (VersionedRegisterOp::Update { to, .. }, Some(_)) => match self.links.find(&to) {
                VersionState::At(place) => Some(ChainFault::Aborted { place }),
                _ => {
                    self.links.forget(&to);
                    None
                }
            },
            (VersionedRegisterOp::Update { to, .. }, None) => {
                self.links.mark_lost(&to);
                None
            }
            (VersionedRegisterOp::Read, _) => None,
        };
        if let Some(fault) = fault {
            let evidence = Box::new(evidence::violation(&self.links, operation, head, &fault));
            let unknown = match fault {
                ChainFault::Unknown { id, .. } => Some(id),
                _ => None,
            };
            self.decision = Some(ChainDecision { event: self.events - 1, evidence, unknown });
            return;
        }
        if let Some(count) = self.heads.get_mut(&head) {
            *count -= 1;
            if *count == 0 {
                self.heads.remove(&head);
            }
        }
        // Only open calls can depend on old versions, so the oldest open call decides what may be forgotten.
        let oldest = self.heads.keys().next().copied();
        self.links.forget_old(oldest);
    }
}

/// Checks a whole history of a versioned store, event by event, with the result of a [`Chain`] that was fed all
/// of them. The events are never held together, so they may come from a file of any size.
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
