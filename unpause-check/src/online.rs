//! Online linearizability: a checker that consumes events and reports a violation at the first event without an
//! explanation.
//!
//! [`Online`] keeps a set of possibilities. A possibility consists of a model state and the set of calls in flight that
//! have taken effect. A return removes the possibilities in which the call cannot have this result. When no possibility
//! is left, this event is the violation, and no checker could have found it earlier. (Lowe, *Testing for
//! linearizability*, 2017: just-in-time linearization. Here the result of a call is unknown until it returns. So a
//! possibility also keeps the result of each call in this set, and the states that the other calls could have
//! observed.)
//!
//! A register takes constant time per event instead, with any number of calls in flight and lost, if its values are
//! unique as long as they matter (see `online/register.rs`). A register with failed swaps or repeated values takes time
//! linear in the overlap, as long as few choices are undecided (see `online/sources.rs`).
//!
//! Memory is bounded by the number of pending calls and of possibilities, not by the length of the stream. The number
//! of possibilities can be exponential in the overlap. For histories in memory with much overlap, use
//! [`linearizable`](super::linearizable()).

mod checker;
mod closure;
mod engine;
mod event;
mod orders;
mod part;
mod possibility;
mod register;
mod slab;
mod sources;

use self::closure::{alone, shared};
use self::engine::Engine;
use self::part::{PartResult, Resources};
use super::hash::Table;
use super::limits::Budget;
use super::model::{Key, Model};
use crate::verdict::{Anomaly, Evidence, Exhausted, Verdict, Witness};

pub use self::checker::OnlineChecker;
pub(super) use self::event::Clients;
pub use self::event::{ClientEvent, MalformedEvent, MalformedEventKind, OnlineStatus};

/// The name of this engine in verdicts.
const ENGINE: &str = "online";

/// The default limit on the number of possibilities.
const POSSIBILITIES: usize = 100_000;

/// A checker that consumes the events of an object's clients. After each event it knows if the results so far are
/// linearizable.
///
/// Evidence names operations by the number of their invocation, from 0.
///
/// [`new`](Online::new) accepts any model. If every operation has a [key](Model::partition), [`by_key`](Online::by_key)
/// checks each key separately, which is much faster.
///
/// For a nondeterministic model, [`Model::returns`] must return all results of an operation in a state, except for
/// results that `accepts` does not distinguish. The checker merges possibilities with the same results.
///
/// # Cost
/// An invocation is one look-up. If the call already took effect in a possibility or only observes, its return costs
/// one model step for this possibility. In other cases, the return leads to up to `2^w` possibilities for `w` calls in
/// flight. A pending call costs memory for each different result that it could have had since its invocation. A lost
/// call costs a few bytes until it is known to have taken effect. The last 32 operations of each order are kept for the
/// evidence.
///
/// A register ([`Model::register_action`]) costs constant time per event, for any number of calls in flight and of lost
/// calls, as long as its values are unique and no swap fails. (A value is not unique if a call begins to write it while
/// another call may still read it.) If a value is not unique, an event costs time linear in the number of calls since
/// the oldest pending call began. For a failed swap, it may also be linear in the number of lost swaps. An event costs
/// more if it shows that an earlier read saw a different write of the same value than assumed: a search then reassigns
/// writes to reads. In both cases the register counts as one possibility. The register's memory grows with the lost
/// writes whose values were never read, and with the calls since the oldest pending call began.
///
/// The search is exact. The search ends as [`OnlineStatus::Unknown`] after eight times [`limit`](Self::limit) attempts
/// at one event. The search can also end as unknown on a long stream with few values and many lost calls, because the
/// checker keeps choices open only for about the last hundred calls. The second case occurs if an older choice between
/// lost writes turns out to matter.
///
/// ```
/// use unpause_check::models::{Register, RegisterOp::*, RegisterRet::*};
/// use unpause_check::online::{ClientEvent::*, Online, OnlineStatus};
///
/// // client 0: |--- Write(1) ----------
/// // client 1:     |- Read: 1 -| |- Read: 0 -|
/// let mut online = Online::new(Register::new(0));
/// for event in [
///     Invoke { client: 0, op: Write(1) },
///     Invoke { client: 1, op: Read },
///     Return { client: 1, ret: Value(1) },
///     Invoke { client: 1, op: Read },
/// ] {
///     assert_eq!(online.feed(event), Ok(OnlineStatus::Possible));
/// }
/// assert_eq!(online.feed(Return { client: 1, ret: Value(0) }), Ok(OnlineStatus::Violated));
/// let evidence = online.evidence().unwrap();
/// assert_eq!((evidence.misfit, &evidence.partial[0][..]), (2, &[0, 1][..]));
/// assert_eq!(evidence.expected, ["1"]);
/// assert_eq!(online.decided_at(), Some(4));
/// ```
pub struct Online<M: Model> {
    initial: M,
    parts: Vec<Engine<M>>,
    /// The part of each key; `None` if the object is checked as a whole.
    by_key: Option<Table<Key, usize>>,
    /// For each client with a pending call, the position of the call.
    clients: Clients<CallSlot>,
    /// The number of events fed.
    events: u64,
    operations: u64,
    returned: u64,
    resources: Resources<M>,
    decision: Option<OnlineDecision>,
}

/// The position of a pending call.
#[derive(Clone, Copy)]
struct CallSlot {
    part: usize,
    slot: usize,
    operation: u64,
}

enum OnlineDecision {
    Violated { event: u64, evidence: Box<Evidence> },
    Unknown { event: u64, exhausted: Exhausted },
}

impl<M: Model> Online<M> {
    /// Creates a checker for an object that begins in state `initial`.
    ///
    /// ```
    /// use unpause_check::{models::Queue, online::{Online, OnlineStatus}};
    /// let online = Online::new(Queue::<u64>::new());
    /// assert_eq!(online.status(), OnlineStatus::Possible);
    /// ```
    pub fn new(initial: M) -> Self {
        Online {
            initial,
            parts: Vec::new(),
            by_key: None,
            clients: Clients::new(),
            events: 0,
            operations: 0,
            returned: 0,
            resources: Resources {
                limit: POSSIBILITIES,
                memory: Budget::default().memory,
                threads: 1,
                stepper: alone::<M>,
                visited: 0,
            },
            decision: None,
        }
    }

    /// Creates a checker for an object that begins in state `initial`, and checks each key separately (see
    /// [`Model::partition`]). Every operation must have a key; an operation without a key is an error.
    ///
    /// ```
    /// use unpause_check::models::{Map, MapOp};
    /// use unpause_check::online::{ClientEvent::*, MalformedEventKind, Online, OnlineStatus};
    /// let mut online = Online::by_key(Map::<u64, u64>::new());
    /// let status = online.feed(Invoke { client: 0, op: MapOp::Put(1, 7) });
    /// assert_eq!(status, Ok(OnlineStatus::Possible));
    /// let error = online.feed(Invoke { client: 1, op: MapOp::Len }).unwrap_err();
    /// assert_eq!(error.kind, MalformedEventKind::NoKey);
    /// ```
    pub fn by_key(initial: M) -> Self {
        Online { by_key: Some(Table::default()), ..Online::new(initial) }
    }

    /// Sets the limit on possibilities; 100,000 by default. A part is a key if the object is checked by key, otherwise
    /// the whole object. The checker gives up with [`OnlineStatus::Unknown`] if a part exceeds this limit after an
    /// event or from one chunk of 64 possibilities. The checker also gives up if one event needs more than eight times
    /// as many attempts to place a pending or lost call. So an event costs at most about a million model steps,
    /// regardless of the number of lost calls.
    ///
    /// ```
    /// use unpause_check::models::{Queue, QueueOp::*, QueueRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online, OnlineStatus};
    /// let mut online = Online::new(Queue::<u64>::new()).limit(10);
    /// for client in 0..8 {
    ///     let _ = online.feed(Invoke { client, op: Enqueue(client.into()) });
    /// }
    /// // In how many orders may seven enqueues have happened before it?
    /// assert_eq!(online.feed(Return { client: 0, ret: Done }), Ok(OnlineStatus::Unknown));
    /// assert!(!online.finish().is_consistent());
    /// ```
    #[must_use]
    pub fn limit(mut self, possibilities: usize) -> Self {
        self.resources.limit = possibilities;
        self
    }

    /// Sets the memory limit in bytes; a gigabyte by default. The checker gives up with [`OnlineStatus::Unknown`] if
    /// the possibilities of a part exceed this limit, or if the possibilities reached from 64 of them in one event do.
    /// The results that pending calls could have had count too. The size of a state is estimated from the bytes that it
    /// feeds to its `Hash`.
    ///
    /// ```
    /// use unpause_check::models::{Queue, QueueOp::*, QueueRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online, OnlineStatus};
    /// let mut online = Online::new(Queue::<u64>::new()).memory(100_000);
    /// for client in 0..200 {
    ///     let _ = online.feed(Invoke { client, op: Enqueue(client.into()) });
    /// }
    /// assert_eq!(online.feed(Return { client: 0, ret: Done }), Ok(OnlineStatus::Unknown));
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.resources.memory = bytes;
        self
    }

    /// Uses up to this many threads if there are more than 64 possibilities; 1 by default. The result does not depend
    /// on the number of threads.
    ///
    /// ```
    /// use unpause_check::{models::Stack, online::Online};
    /// let online = Online::new(Stack::<u64>::new()).threads(4);
    /// # assert_eq!(online.events(), 0);
    /// ```
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self
    where
        M: Send + Sync,
        M::Op: Sync,
        M::Ret: Sync,
    {
        self.resources.threads = threads;
        self.resources.stepper = shared::<M>;
        self
    }

    /// Processes the next event and returns the new status. [`OnlineStatus::Violated`] and [`OnlineStatus::Unknown`]
    /// are final.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event contradicts the earlier events of its client. The event is then ignored.
    ///
    /// # Panics
    /// If the check notices that [`Model::observes`] is wrong.
    ///
    /// ```
    /// use unpause_check::models::{Counter, CounterOp::*, CounterRet::*};
    /// use unpause_check::online::{ClientEvent::*, MalformedEventKind, Online, OnlineStatus};
    /// let mut online = Online::new(Counter::new(0));
    /// assert_eq!(online.feed(Invoke { client: 0, op: Increment }), Ok(OnlineStatus::Possible));
    /// let error = online.feed(Invoke { client: 0, op: Get }).unwrap_err();
    /// assert_eq!(error.kind, MalformedEventKind::AlreadyOpen { operation: 0 });
    /// assert_eq!(online.feed(Return { client: 0, ret: Done }), Ok(OnlineStatus::Possible));
    /// ```
    pub fn feed(
        &mut self,
        event: ClientEvent<M::Op, M::Ret>,
    ) -> Result<OnlineStatus, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(self.status())
    }

    /// Returns the current status.
    pub fn status(&self) -> OnlineStatus {
        match self.decision {
            None => OnlineStatus::Possible,
            Some(OnlineDecision::Violated { .. }) => OnlineStatus::Violated,
            Some(OnlineDecision::Unknown { .. }) => OnlineStatus::Unknown,
        }
    }

    /// Returns the reason for a violation, if any.
    ///
    /// Operations are numbered by invocation, from 0 at the start of the stream. [`partial`](Evidence::partial) has at
    /// most the last 32 operations of the longest orders. Usually the misfit cannot follow any of these orders. If an
    /// order contains the misfit itself, other results require its effect earlier, and [`expected`](Evidence::expected)
    /// is the result that it would have had at this position. [`part`](Evidence::part) has the operations of these
    /// orders and the calls in flight.
    ///
    /// ```
    /// use unpause_check::models::{Counter, CounterOp::*, CounterRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online};
    /// let mut online = Online::new(Counter::new(0));
    /// online.feed(Invoke { client: 0, op: Get })?;
    /// online.feed(Return { client: 0, ret: Value(1) })?;
    /// let evidence = online.evidence().unwrap();
    /// assert_eq!((evidence.misfit, &evidence.expected[..]), (0, &["0".to_owned()][..]));
    /// assert_eq!(online.decided_at(), Some(1));
    /// # Ok::<(), unpause_check::online::MalformedEvent>(())
    /// ```
    pub fn evidence(&self) -> Option<&Evidence> {
        match &self.decision {
            Some(OnlineDecision::Violated { evidence, .. }) => Some(evidence),
            _ => None,
        }
    }

    /// Returns the number of the event, counted from 0, at which the status changed from possible.
    pub fn decided_at(&self) -> Option<u64> {
        match &self.decision {
            Some(
                OnlineDecision::Violated { event, .. } | OnlineDecision::Unknown { event, .. },
            ) => Some(*event),
            None => None,
        }
    }

    /// Returns the number of events fed, including refused events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of pending calls.
    pub fn open(&self) -> usize {
        self.clients.len()
    }

    /// Returns the number of possibilities, for all keys together.
    ///
    /// ```
    /// use unpause_check::models::{Queue, QueueOp::*, QueueRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online};
    /// let mut online = Online::new(Queue::<u64>::new());
    /// online.feed(Invoke { client: 0, op: Enqueue(1) })?;
    /// online.feed(Invoke { client: 1, op: Enqueue(2) })?;
    /// online.feed(Return { client: 0, ret: Done })?;
    /// // The second item is in front of the first, or not in the queue yet.
    /// assert_eq!((online.possibilities(), online.open(), online.events()), (2, 1, 3));
    /// # Ok::<(), unpause_check::online::MalformedEvent>(())
    /// ```
    pub fn possibilities(&self) -> usize {
        self.parts.iter().map(Engine::possibilities).sum()
    }

    /// Returns the number of entries kept besides possibilities and pending calls. The entries are slots for calls,
    /// lost calls that may still take effect, calls of a register that still matter, entries of orders, and ranges of
    /// ended clients. This number and [`possibilities`](Self::possibilities) determine the memory use, and neither
    /// grows with the length of the stream.
    pub fn kept(&self) -> usize {
        let sizes = self.parts.iter().map(Engine::sizes);
        self.clients.kept()
            + sizes.map(|[_, lost, slots, nodes]| lost + slots + nodes).sum::<usize>()
    }

    /// Returns the verdict on all events. Calls that are still pending may or may not have taken effect.
    ///
    /// ```
    /// use unpause_check::{models::Counter, online::Online};
    /// assert!(Online::new(Counter::default()).finish().is_consistent());
    /// ```
    pub fn finish(self) -> Verdict {
        match self.decision {
            None => Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order: None }),
            Some(OnlineDecision::Violated { evidence, .. }) => Verdict::Violated(evidence),
            Some(OnlineDecision::Unknown { exhausted, .. }) => {
                Verdict::Unknown(Exhausted { operations: self.operations as usize, ..exhausted })
            }
        }
    }

    fn take(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<(), MalformedEventKind> {
        match event {
            ClientEvent::Invoke { client, op } => {
                self.clients.may_begin(client, |call| call.operation)?;
                let part = self.part_of(&op)?;
                let operation = self.operations;
                self.operations += 1;
                let mut call = CallSlot { part, slot: 0, operation };
                self.step(call, |part, resources| {
                    let (slot, left) = part.invoke(op, operation, resources);
                    call.slot = slot;
                    left
                });
                self.clients.begin(client, call);
            }
            ClientEvent::Return { client, ret } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, resources| part.returned(call.slot, &ret, resources));
                self.returned += u64::from(self.decision.is_none());
            }
            ClientEvent::Failed { client } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, resources| part.failed(call.slot, resources));
            }
            ClientEvent::Lost { client } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, resources| part.lost(call.slot, resources));
            }
            ClientEvent::End { client } => {
                if let Some(call) = self.clients.end(client)? {
                    self.step(call, |part, resources| part.lost(call.slot, resources));
                }
            }
        }
        Ok(())
    }

    /// Returns the part of the object to which an operation belongs.
    fn part_of(&mut self, op: &M::Op) -> Result<usize, MalformedEventKind> {
        let part = match &mut self.by_key {
            None => 0,
            Some(parts) => {
                let key = M::partition(op).ok_or(MalformedEventKind::NoKey)?;
                *parts.entry(key).or_insert(self.parts.len())
            }
        };
        if part == self.parts.len() {
            self.parts.push(Engine::new(&self.initial));
        }
        Ok(part)
    }

    /// Processes an event of a part, unless the status is final.
    fn step(
        &mut self,
        call: CallSlot,
        step: impl FnOnce(&mut Engine<M>, &mut Resources<M>) -> PartResult,
    ) {
        if self.decision.is_some() {
            return;
        }
        let event = self.events - 1;
        match step(&mut self.parts[call.part], &mut self.resources) {
            PartResult::Something => {}
            PartResult::Nothing(mut evidence) => {
                if self.by_key.is_none() {
                    evidence.part.clear();
                }
                self.decision = Some(OnlineDecision::Violated { event, evidence });
            }
            PartResult::TooMany(limit) => {
                let exhausted = Exhausted {
                    nodes: self.resources.visited,
                    longest: self.returned as usize,
                    operations: 0,
                    limit,
                };
                self.decision = Some(OnlineDecision::Unknown { event, exhausted });
            }
        }
    }
}

/// Creates the anomaly of an operation whose effect was observed, but which then failed.
fn aborted_read(op: &str) -> Anomaly {
    let text = format!(
        "`{op}` did not happen, and nothing else explains what was returned before it was known to have \
         failed."
    );
    Anomaly { name: "aborted read".to_owned(), text, edges: Vec::new() }
}
