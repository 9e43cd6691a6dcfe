//! Linearizability of a versioned store, in linear time and bounded memory, for histories of any length.
//!
//! In a history of a [`VersionedRegister`](super::models::VersionedRegister) each update has a unique id and names the
//! version that it replaces. So the versions known to have happened form one chain (Gibbons and Korach, *Testing Shared
//! Memories*, 1997, theorem 4.13). A version is appended when a call returns this version or a version that builds on
//! it. At this time at the latest, the version has happened, so a pending read may still return the previous version.
//! Each read then needs one look-up. The look-up compares the version of the read with the last version that was known
//! when the read was invoked.
//!
//! [`Chain`] accepts events one at a time; [`check`] reads all of them from an iterator. The two functions use the same
//! engine and give the same verdict. [`Chain::by_key`] has one chain for each object of a store.

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

/// The id of a version, implemented by every suitable type.
///
/// ```
/// fn names_versions<I: unpause_check::chain::Id>() {}
/// names_versions::<u64>();
/// names_versions::<(u32, String)>();
/// ```
pub trait Id: Clone + Eq + Hash + Debug {}

impl<I: Clone + Eq + Hash + Debug> Id for I {}

/// An online checker for a versioned store. After each event of the clients it knows if the results so far are
/// linearizable.
///
/// Ids must be unique among the first version and all updates that did not fail; the checker verifies this for all
/// remembered versions. A failed update gives no information about the version. A lost update may take effect at any
/// later time, as long as the version that it replaces can still be the last.
///
/// Each violation has a name: `stale read`, `lost update`, `aborted read`, `unknown version`, `unknown predecessor`,
/// `future read` or `circular updates`. A lost update means two updates of one version. An aborted read is a read of an
/// update that failed. In a future read, the update was invoked only after the read returned.
///
/// # Cost
/// O(1) amortized for each event, up to a logarithm of the number of pending calls. The checker keeps the last 1024
/// versions, the versions since the invocation of the oldest pending call, and pending and lost updates. A lost update
/// is forgotten when another update has replaced the version that it names. If that version is unknown, the lost update
/// is kept, because a later update may write the version. Older versions are forgotten. A read of a forgotten version
/// is still a violation. The engine cannot distinguish a forgotten version from a version that was never written, so
/// the evidence names both possibilities.
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
    /// The number of pending calls for each position that the last known version had at their invocation.
    heads: Map<u64, u32>,
    events: u64,
    operations: u64,
    decision: Option<ChainDecision<I>>,
}

/// A pending call.
struct ChainCall<I> {
    operation: u64,
    /// The position of the last known version at the invocation.
    head: u64,
    op: VersionedRegisterOp<I>,
}

struct ChainDecision<I> {
    event: u64,
    evidence: Box<Evidence>,
    /// The unknown version that was read, if any. If its update is invoked later, the evidence is amended.
    unknown: Option<I>,
}

impl<I: Id> Chain<I> {
    /// Creates a checker for a store that begins with version `initial`.
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

    /// Processes the next event and returns the new status: possible or violated, never unknown. A violation is final,
    /// but a later event may still amend its evidence if this names an unknown version.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event contradicts the earlier events of its client, or if an id is not unique. The
    /// event is then ignored.
    pub fn feed(&mut self, event: ChainEvent<I>) -> Result<OnlineStatus, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(self.status())
    }

    /// Returns the current status.
    pub fn status(&self) -> OnlineStatus {
        match self.decision {
            None => OnlineStatus::Possible,
            Some(_) => OnlineStatus::Violated,
        }
    }

    /// Returns the reason for a violation, if any. Operations are numbered by invocation, from 0.
    pub fn evidence(&self) -> Option<&Evidence> {
        self.decision.as_ref().map(|decision| &*decision.evidence)
    }

    /// Returns the number of the event that caused the violation, counted from 0.
    pub fn decided_at(&self) -> Option<u64> {
        self.decision.as_ref().map(|decision| decision.event)
    }

    /// Returns the number of events fed, including refused events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of pending calls.
    pub fn open(&self) -> usize {
        self.clients.len()
    }

    /// Returns the number of remembered versions, including versions of pending and lost updates. This number and the
    /// number of pending calls determine the memory use.
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

    /// Returns the id of the last version known to have happened.
    pub fn last(&self) -> &I {
        &self.links.head().id
    }

    /// Returns the verdict on all events fed. Calls that are still pending may or may not have taken effect.
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

    /// Ends a call. A call without a result is lost.
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
                // An earlier read may already have shown that the update happened; otherwise the return of the update
                // shows it.
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
        // Only pending calls can depend on old versions, so the oldest pending call decides which versions to keep.
        let oldest = self.heads.keys().next().copied();
        self.links.forget_old(oldest);
    }
}

/// Checks a whole history of a versioned store, event by event. The result is the same as for a [`Chain`] fed with the
/// same events. The events are never stored together, so they may come from a file of any size.
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
