//! Linearizability while it happens: a checker that is fed events and says at once when no
//! explanation is left.
//!
//! [`Online`] keeps the set of ways in which things may stand: a state of the model, and for each
//! call in flight whether it has had its effect. A return strikes out those that cannot have
//! returned that; when none is left, this event decides, and no checker could have known before.
//! (Lowe, *Testing for linearizability*, 2017: just-in-time linearization. Ours does not know the
//! result of a call before it returns, so a way also keeps what each call that had its effect has to
//! be told, and which states an open call could have observed.)
//!
//! A register whose values are unique while they matter takes constant time per event instead, with any
//! number of calls in flight and lost (see `online/register.rs`). A register with failed swaps or with values that
//! are written again takes time linear in what overlaps as long as that leaves few choices (see
//! `online/sources.rs`).
//!
//! What is kept is bounded by the calls that are open at once and by how many ways there are, not by
//! how long the stream is. The number of ways can be exponential in the overlap: histories with much
//! overlap that lie in memory are better given to [`linearizable`](super::linearizable()).

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
use self::part::{Left, Means};
use super::hash::Table;
use super::limits::Budget;
use super::model::{Key, Model};
use crate::verdict::{Anomaly, Evidence, Exhausted, Verdict, Witness};

pub(super) use self::event::Clients;
pub use self::event::{ClientEvent, MalformedEvent, MalformedEventKind, Status};

/// What verdicts call this engine.
const ENGINE: &str = "online";

/// Possibilities kept at once unless told otherwise.
const POSSIBILITIES: usize = 100_000;

/// Listens to the clients of an object and knows at every moment whether what they were told so far
/// is linearizable.
///
/// Every invocation counts as one operation, from 0: this is how evidence names them.
///
/// [`new`](Online::new) takes any model. If every operation has a [key](Model::partition),
/// [`by_key`](Online::by_key) checks each key by itself, which is incomparably faster.
///
/// For a nondeterministic model, [`Model::returns`] must name everything that an operation can
/// return in a state, up to what `accepts` treats alike: ways that can return the same are one.
///
/// # Cost
/// An invocation is one look-up. A return costs one step of the model for each possibility if the
/// call already had its effect there or only observes; otherwise up to `2^w` possibilities for
/// `w` calls in flight. A call that stays open costs memory for each different result that it
/// could have had meanwhile; a lost one some bytes until it is known to have taken effect. The
/// last 32 operations of each order are kept for the evidence.
///
/// A register ([`Model::register_action`]) costs constant time per event, whatever is in flight and however many
/// calls were lost, up to the first event at which its values are not unique any more (a call begins to write a
/// value that another call may still read) or a swap fails. From then on an event costs time linear in the calls
/// since the oldest open one began and, for a failed swap, in the lost swaps at worst. It costs more if it shows that
/// an earlier read saw another write of the same value than assumed: then a search assigns writes to reads anew. Both
/// count as one possibility, and their memory grows with the lost writes whose values nobody has read, and with the
/// calls since the oldest open one began.
///
/// The search is exact, and ends as [`Status::Unknown`] after eight times [`limit`](Self::limit) attempts at one
/// event. A long stream of few values with many lost calls ends so too if a choice long ago, of which lost write had
/// taken effect, turns out to matter: such choices are kept open only for the last hundred calls or so.
///
/// ```
/// use unpause_check::models::{Register, RegisterOp::*, RegisterRet::*};
/// use unpause_check::online::{ClientEvent::*, Online, Status};
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
///     assert_eq!(online.feed(event), Ok(Status::Possible));
/// }
/// assert_eq!(online.feed(Return { client: 1, ret: Value(0) }), Ok(Status::Violated));
/// let evidence = online.evidence().unwrap();
/// assert_eq!((evidence.misfit, &evidence.partial[0][..]), (2, &[0, 1][..]));
/// assert_eq!(evidence.expected, ["1"]);
/// assert_eq!(online.decided_at(), Some(4));
/// ```
pub struct Online<M: Model> {
    initial: M,
    parts: Vec<Engine<M>>,
    /// The part of each key; none if the object is checked as a whole.
    by_key: Option<Table<Key, usize>>,
    /// For each client with an open call where the call is.
    clients: Clients<Call>,
    /// Events fed, and operations invoked.
    events: u64,
    operations: u64,
    returned: u64,
    means: Means<M>,
    decision: Option<Decision>,
}

/// Where an open call is kept.
#[derive(Clone, Copy)]
struct Call {
    part: usize,
    slot: usize,
    operation: u64,
}

enum Decision {
    Violated { event: u64, evidence: Box<Evidence> },
    Unknown { event: u64, exhausted: Exhausted },
}

impl<M: Model> Online<M> {
    /// A checker of an object that begins as `initial`.
    pub fn new(initial: M) -> Self {
        Online {
            initial,
            parts: Vec::new(),
            by_key: None,
            clients: Clients::new(),
            events: 0,
            operations: 0,
            returned: 0,
            means: Means {
                limit: POSSIBILITIES,
                memory: Budget::default().memory,
                threads: 1,
                stepper: alone::<M>,
                visited: 0,
            },
            decision: None,
        }
    }

    /// The same, with each key of the object checked by itself (see [`Model::partition`]). Whether
    /// every operation to come has a key, only the caller knows: one without is refused.
    ///
    /// ```
    /// use unpause_check::models::{Map, MapOp};
    /// use unpause_check::online::{ClientEvent::*, MalformedEventKind, Online, Status};
    /// let mut online = Online::by_key(Map::<u64, u64>::new());
    /// let status = online.feed(Invoke { client: 0, op: MapOp::Put(1, 7) });
    /// assert_eq!(status, Ok(Status::Possible));
    /// let error = online.feed(Invoke { client: 1, op: MapOp::Len }).unwrap_err();
    /// assert_eq!(error.kind, MalformedEventKind::NoKey);
    /// ```
    pub fn by_key(initial: M) -> Self {
        Online { by_key: Some(Table::default()), ..Online::new(initial) }
    }

    /// Gives up, as [`Status::Unknown`], when a part of the object (a key, if checked by key) has more
    /// than this many possibilities after an event, or comes to more on the way from 64 of them, or when an
    /// event takes more than eight times as many attempts to place one more call, open or lost; 100,000
    /// unless told. So an event costs at most about a million steps of the model, however many calls are
    /// lost.
    ///
    /// ```
    /// use unpause_check::models::{Queue, QueueOp::*, QueueRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online, Status};
    /// let mut online = Online::new(Queue::<u64>::new()).limit(10);
    /// for client in 0..8 {
    ///     let _ = online.feed(Invoke { client, op: Enqueue(client.into()) });
    /// }
    /// // In how many orders may seven enqueues have happened before it?
    /// assert_eq!(online.feed(Return { client: 0, ret: Done }), Ok(Status::Unknown));
    /// assert!(!online.finish().is_consistent());
    /// ```
    #[must_use]
    pub fn limit(mut self, possibilities: usize) -> Self {
        self.means.limit = possibilities;
        self
    }

    /// Gives up, as [`Status::Unknown`], when the possibilities of a part of the object, or what comes of 64
    /// of them in one event, take more than this many bytes; a gigabyte unless told. What a state takes is
    /// estimated from what its `Hash` feeds.
    ///
    /// ```
    /// use unpause_check::models::{Queue, QueueOp::*, QueueRet::*};
    /// use unpause_check::online::{ClientEvent::*, Online, Status};
    /// let mut online = Online::new(Queue::<u64>::new()).memory(100_000);
    /// for client in 0..200 {
    ///     let _ = online.feed(Invoke { client, op: Enqueue(client.into()) });
    /// }
    /// assert_eq!(online.feed(Return { client: 0, ret: Done }), Ok(Status::Unknown));
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.means.memory = bytes;
        self
    }

    /// Steps possibilities on up to this many threads when there are many (more than 64). The result
    /// is the same for any number; 1 unless told.
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
        self.means.threads = threads;
        self.means.stepper = shared::<M>;
        self
    }

    /// Takes the next event, and says what is known after it. Once it has said
    /// [`Status::Violated`] or [`Status::Unknown`], it says so for ever.
    ///
    /// # Errors
    /// [`MalformedEvent`] if the event does not fit what its client did before. It is then ignored.
    ///
    /// # Panics
    /// If [`Model::observes`] is wrong in a way that shows.
    pub fn feed(&mut self, event: ClientEvent<M::Op, M::Ret>) -> Result<Status, MalformedEvent> {
        let (number, client) = (self.events, event.client());
        self.events += 1;
        self.take(event).map_err(|kind| MalformedEvent { event: number, client, kind })?;
        Ok(self.status())
    }

    /// What is known now.
    pub fn status(&self) -> Status {
        match self.decision {
            None => Status::Possible,
            Some(Decision::Violated { .. }) => Status::Violated,
            Some(Decision::Unknown { .. }) => Status::Unknown,
        }
    }

    /// Why what was fed is violated, if it is.
    ///
    /// Operations are counted by invocation, from 0 at the start of the stream.
    /// [`partial`](Evidence::partial) holds the last 32 operations, or fewer, of the orders that got
    /// furthest. Mostly the misfit fits after none of them. If it stands in them itself, then
    /// what others were told needs its effect earlier, and [`expected`](Evidence::expected) is what
    /// it had to return. [`part`](Evidence::part) is what these orders and the calls in flight hold.
    pub fn evidence(&self) -> Option<&Evidence> {
        match &self.decision {
            Some(Decision::Violated { evidence, .. }) => Some(evidence),
            _ => None,
        }
    }

    /// The event, counted from 0, that made the status other than possible.
    pub fn decided_at(&self) -> Option<u64> {
        match &self.decision {
            Some(Decision::Violated { event, .. } | Decision::Unknown { event, .. }) => {
                Some(*event)
            }
            None => None,
        }
    }

    /// How many events were fed, those that were refused included.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many calls are open.
    pub fn open(&self) -> usize {
        self.clients.len()
    }

    /// How many ways there are in which things may stand, for all keys together.
    pub fn possibilities(&self) -> usize {
        self.parts.iter().map(Engine::possibilities).sum()
    }

    /// How many things are kept besides possibilities and open calls: slots for calls, lost calls that
    /// may still take effect, calls of a register that still matter, entries of orders, and ranges of clients
    /// that have ended. This and [`possibilities`](Self::possibilities)
    /// are what memory depends on, and neither grows with the length of the stream.
    pub fn kept(&self) -> usize {
        let sizes = self.parts.iter().map(Engine::sizes);
        self.clients.kept()
            + sizes.map(|[_, lost, slots, nodes]| lost + slots + nodes).sum::<usize>()
    }

    /// The verdict on all that was fed; calls that are still open may or may not have happened.
    ///
    /// ```
    /// use unpause_check::{models::Counter, online::Online};
    /// assert!(Online::new(Counter::default()).finish().is_consistent());
    /// ```
    pub fn finish(self) -> Verdict {
        match self.decision {
            None => Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order: None }),
            Some(Decision::Violated { evidence, .. }) => Verdict::Violated(evidence),
            Some(Decision::Unknown { exhausted, .. }) => {
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
                let mut call = Call { part, slot: 0, operation };
                self.step(call, |part, means| {
                    let (slot, left) = part.invoke(op, operation, means);
                    call.slot = slot;
                    left
                });
                self.clients.begin(client, call);
            }
            ClientEvent::Return { client, ret } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, means| part.returned(call.slot, &ret, means));
                self.returned += u64::from(self.decision.is_none());
            }
            ClientEvent::Failed { client } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, means| part.failed(call.slot, means));
            }
            ClientEvent::Lost { client } => {
                let call = self.clients.close(client)?;
                self.step(call, |part, means| part.lost(call.slot, means));
            }
            ClientEvent::End { client } => {
                if let Some(call) = self.clients.end(client)? {
                    self.step(call, |part, means| part.lost(call.slot, means));
                }
            }
        }
        Ok(())
    }

    /// The part of the object that an operation belongs to.
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

    /// Has a part do something, unless all is decided.
    fn step(&mut self, call: Call, step: impl FnOnce(&mut Engine<M>, &mut Means<M>) -> Left) {
        if self.decision.is_some() {
            return;
        }
        let event = self.events - 1;
        match step(&mut self.parts[call.part], &mut self.means) {
            Left::Something => {}
            Left::Nothing(mut evidence) => {
                if self.by_key.is_none() {
                    evidence.part.clear();
                }
                self.decision = Some(Decision::Violated { event, evidence });
            }
            Left::TooMany(limit) => {
                let exhausted = Exhausted {
                    nodes: self.means.visited,
                    longest: self.returned as usize,
                    operations: 0,
                    limit,
                };
                self.decision = Some(Decision::Unknown { event, exhausted });
            }
        }
    }
}

/// An operation that was observed and then failed.
fn aborted_read(op: &str) -> Anomaly {
    let text = format!(
        "`{op}` did not happen, and nothing else explains what was returned before it was known to have \
         failed."
    );
    Anomaly { name: "aborted read".to_owned(), text, edges: Vec::new() }
}
