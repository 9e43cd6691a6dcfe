//! The input and output of online checkers: client events, status, and errors.
//!
//! [`Clients`] holds the pending call of each client. This type does not depend on models.

use std::error::Error;
use std::fmt;
use unpause_ordered::Map;

use crate::hash::Table;

/// An event of a client. Feed events in the order in which they happened.
///
/// ```
/// use unpause_check::online::ClientEvent;
/// let ask: ClientEvent<&str, u8> = ClientEvent::Invoke { client: 3, op: "read" };
/// assert_eq!(ask.client(), 3);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ClientEvent<O, R> {
    /// The client invoked an operation. A client has at most one pending call.
    Invoke {
        /// The client: any number; new clients may appear at any time.
        client: u32,
        /// The operation.
        op: O,
    },
    /// The client's pending call returned.
    Return {
        /// The client.
        client: u32,
        /// The result.
        ret: R,
    },
    /// The client's pending call failed: it did not take effect and never will.
    Failed {
        /// The client.
        client: u32,
    },
    /// The client's pending call never returns. The call may have taken effect, may take effect at any later time, or
    /// never. The client may continue with another call.
    Lost {
        /// The client.
        client: u32,
    },
    /// The client has ended. The pending call of the client, if any, is lost.
    End {
        /// The client.
        client: u32,
    },
}

impl<O, R> ClientEvent<O, R> {
    /// Returns the client of the event.
    pub fn client(&self) -> u32 {
        match self {
            ClientEvent::Invoke { client, .. }
            | ClientEvent::Return { client, .. }
            | ClientEvent::Failed { client }
            | ClientEvent::Lost { client }
            | ClientEvent::End { client } => *client,
        }
    }
}

/// The status after an event.
///
/// ```
/// use unpause_check::models::{Register, RegisterOp::*, RegisterRet::*};
/// use unpause_check::online::{ClientEvent::*, Online, OnlineStatus};
/// let mut online = Online::new(Register::new(0));
/// online.feed(Invoke { client: 0, op: Read })?;
/// match online.feed(Return { client: 0, ret: Value(1) })? {
///     OnlineStatus::Possible => panic!("no write of 1"),
///     OnlineStatus::Violated => assert_eq!(online.evidence().unwrap().misfit, 0),
///     OnlineStatus::Unknown => panic!("raise Online::limit or Online::memory"),
/// }
/// # Ok::<(), unpause_check::online::MalformedEvent>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "a violation that nobody looks at is not found"]
pub enum OnlineStatus {
    /// Some order explains the events so far.
    Possible,
    /// No order explains the events, and no later event can change this.
    Violated,
    /// A limit was exceeded before a decision. This status is neither a pass nor a failure. The status is final: later
    /// events are ignored.
    Unknown,
}

/// The error of an event that contradicts the earlier events of its client. The event is ignored: the checker is
/// unchanged and accepts further events.
///
/// ```
/// use unpause_check::models::{Register, RegisterRet};
/// use unpause_check::online::{ClientEvent, Online};
/// let mut online = Online::new(Register::new(0u64));
/// let early = ClientEvent::Return { client: 7, ret: RegisterRet::Done };
/// assert_eq!(
///     online.feed(early).unwrap_err().to_string(),
///     "event 0: client 7 has no call open that could end here; feed its invocation first"
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MalformedEvent {
    /// The number of the event, from 0; refused events count too.
    pub event: u64,
    /// The client of the event.
    pub client: u32,
    /// The kind of error.
    pub kind: MalformedEventKind,
}

/// The kind of error in an event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MalformedEventKind {
    /// A call ended, but the client had no pending call.
    NothingOpen,
    /// A call began while another call of the same client was pending.
    AlreadyOpen {
        /// The pending operation, numbered by invocation from 0.
        operation: u64,
    },
    /// The client had already ended.
    Ended,
    /// The operation has no key, but the checker checks by key.
    NoKey,
    /// The id of an update is, or may become, the id of another version.
    IdNotUnique {
        /// The id.
        id: String,
    },
    /// A read returned the result of an update, or vice versa.
    WrongResult,
}

impl fmt::Display for MalformedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MalformedEvent { event, client, kind } = self;
        write!(f, "event {event}: ")?;
        match kind {
            MalformedEventKind::NothingOpen => write!(
                f,
                "client {client} has no call open that could end here; feed its invocation first"
            ),
            MalformedEventKind::AlreadyOpen { operation } => write!(
                f,
                "client {client} has operation {operation} open; feed its return first, or that it \
                 is lost, or give calls that overlap clients of their own"
            ),
            MalformedEventKind::Ended => write!(
                f,
                "client {client} has ended; feed its end last, or use a new client number"
            ),
            MalformedEventKind::NoKey => write!(
                f,
                "the operation of client {client} has no key; make the checker with `Online::new` \
                 instead of `Online::by_key`"
            ),
            MalformedEventKind::IdNotUnique { id } => write!(
                f,
                "client {client} updates to {id}, which is the id of another version; give each \
                 update an id of its own"
            ),
            MalformedEventKind::WrongResult => write!(
                f,
                "client {client} got a result that its operation cannot give; a read returns a \
                 version and an update whether it was done"
            ),
        }
    }
}

impl Error for MalformedEvent {}

/// The pending calls by client, and the clients that have ended.
pub(crate) struct Clients<T> {
    open: Table<u32, T>,
    ended: Ranges,
}

/// A set of numbers, stored as ranges: clients usually get their numbers in order, and end roughly in this order.
#[derive(Default)]
struct Ranges(
    /// The last number of each range, by its first number. Invariant: there is a gap between any two ranges.
    Map<u32, u32>,
);

impl Ranges {
    fn contains(&self, number: u32) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, last)| number <= *last)
    }

    fn insert(&mut self, number: u32) {
        if self.contains(number) {
            return;
        }
        // The number may close the gap between two ranges, which then become one range.
        let after = number.checked_add(1).and_then(|next| self.0.remove(&next));
        let last = after.unwrap_or(number);
        // The earlier range does not contain `number`, so it ends below, and `end + 1` cannot overflow.
        let before = self.0.range(..number).next_back().filter(|(_, end)| **end + 1 == number);
        let first = before.map_or(number, |(first, _)| *first);
        self.0.insert(first, last);
    }
}

impl<T> Clients<T> {
    pub(crate) fn new() -> Self {
        Clients { open: Table::default(), ended: Ranges::default() }
    }

    /// Checks that the client may begin a call. `number` returns the number of the client's pending operation, for the
    /// error.
    pub(crate) fn may_begin(
        &self,
        client: u32,
        number: impl Fn(&T) -> u64,
    ) -> Result<(), MalformedEventKind> {
        // Separate from `begin`: the caller may still refuse the event for another reason, and must then change
        // nothing.
        self.not_ended(client)?;
        match self.open.get(&client) {
            None => Ok(()),
            Some(call) => Err(MalformedEventKind::AlreadyOpen { operation: number(call) }),
        }
    }

    pub(crate) fn begin(&mut self, client: u32, call: T) {
        self.open.insert(client, call);
    }

    /// Returns the pending call of the client.
    pub(crate) fn current(&self, client: u32) -> Result<&T, MalformedEventKind> {
        self.not_ended(client)?;
        self.open.get(&client).ok_or(MalformedEventKind::NothingOpen)
    }

    /// Removes and returns the pending call of the client.
    pub(crate) fn close(&mut self, client: u32) -> Result<T, MalformedEventKind> {
        self.not_ended(client)?;
        self.open.remove(&client).ok_or(MalformedEventKind::NothingOpen)
    }

    /// Ends the client. Removes and returns its pending call, if any.
    pub(crate) fn end(&mut self, client: u32) -> Result<Option<T>, MalformedEventKind> {
        self.not_ended(client)?;
        self.ended.insert(client);
        Ok(self.open.remove(&client))
    }

    /// Returns the number of pending calls.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    fn not_ended(&self, client: u32) -> Result<(), MalformedEventKind> {
        // Usually no client has ended, so the look-up is one comparison.
        match !self.ended.0.is_empty() && self.ended.contains(client) {
            false => Ok(()),
            true => Err(MalformedEventKind::Ended),
        }
    }

    /// Returns the number of entries that record ended clients.
    pub(crate) fn kept(&self) -> usize {
        self.ended.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn ranges_hold_what_was_inserted_in_any_order() {
        for order in [[3, 1, 2, 0, u32::MAX], [0, 1, 2, 3, u32::MAX], [2, u32::MAX, 0, 3, 1]] {
            let mut ranges = Ranges::default();
            for (place, number) in order.into_iter().enumerate() {
                ranges.insert(number);
                ranges.insert(number);
                for (other_place, other) in order.into_iter().enumerate() {
                    assert_eq!(ranges.contains(other), other_place <= place, "{order:?}");
                }
                assert!(!ranges.contains(4) && !ranges.contains(u32::MAX - 1));
            }
            assert_eq!(ranges.0.len(), 2);
        }
    }
}
