//! Streams: messages from one host to another that arrive in send order.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fabric::{Fabric, Flow, Host, Link};
use super::faults::Faults;
use super::inbox::Inbox;
use super::queue::Queue;
use super::refusal::{Refusal, Refused};
use super::shows::Shows;
use crate::node::Death;
use crate::run::in_flight::Delivery;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Arrival, Here, Latch, Transport, Wrapped};

const ARRIVE: Op = Op::of_kind("arrive", Access::Wait, net::ARRIVE);
const REFUSE: Op = Op::of_kind("refuse", Access::Tell, net::SET).quiet();
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE).quiet();
const CUT: Op = Op::of_kind("hold", Access::Tell, net::CUT).quiet();
const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();
const HEAL: Op = Op::of_kind("go_on", Access::Tell, net::HEAL).quiet();

/// The receiving end of a stream.
pub(crate) trait Sink<T>: Send + Sync + 'static {
    /// Returns the object of the sink in runs.
    fn mark(&self) -> &Arc<Wrapped>;

    /// Handles the arrival of a message or of the end. Returns `false` if the message has no receiver; the machine then
    /// replies with a reset.
    fn take_in(&self, message: Option<T>, here: Here) -> bool;

    /// Returns the number of bytes of a message, for links with a rate.
    fn size(_: &T) -> usize {
        size_of::<T>()
    }

    /// Records that the link settings have changed.
    fn was_set(&self, here: Here) {
        self.mark().record(&SET, here);
    }

    /// Handles a cut or the healing of the link.
    fn was_cut(&self, _is_cut: bool, _here: Here) {}

    /// Handles the first message that a cut holds back. `_change` is the number of the cut.
    fn was_held(&self, _change: u64, _here: Here) {}

    /// Handles the death of the host at one or both ends.
    fn died(&self, of: Side, death: Death, here: Here) -> Then;
}

/// The end or ends of a stream on a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
    /// Both ends of the stream are on the host that has died.
    Both,
}

/// The effect of a death on a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// The stream end is sent.
    Ends,
    /// Nothing more is sent.
    Stops,
    /// The death has no effect, or the sink has already sent everything.
    GoesOn,
}

impl<T: Send + 'static> Sink<T> for Inbox<T> {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.mark
    }

    fn take_in(&self, message: Option<T>, _: Here) -> bool {
        match message {
            Some(message) => self.put(message),
            None => {
                self.put_end();
                true
            }
        }
    }

    fn died(&self, of: Side, death: Death, _: Here) -> Then {
        if of != Side::Sender {
            // A message in flight does not arrive in a later life.
            self.close(true);
        }
        match (of, death) {
            // The sender is notified only over the link.
            (Side::Receiver, _) => Then::GoesOn,
            // The kernel of the dead process sends the end.
            (_, Death::Killed) => Then::Ends,
            _ => Then::Stops,
        }
    }
}

/// One direction of a stream.
pub(crate) struct Stream<T, S = Inbox<T>> {
    link: Arc<Link>,
    pub(crate) inbox: Arc<S>,
    flight: Mutex<Flight<T>>,
    /// Describes a message as text.
    pub(crate) shows: Shows<T>,
}

struct Flight<T> {
    /// The number of messages that have arrived. This number is also the number of the first message in flight.
    arrived: u64,
    /// The messages in flight, in the order of their numbers.
    segments: Queue<Segment<T>>,
    /// The number of the held message that was counted last. A message counts once, even if a cut link is cut again.
    held: Option<u64>,
    /// True if the end was sent. No message is sent after the end.
    is_ended: bool,
    /// The machine has replied with a reset, because the receiver is gone.
    is_answered: bool,
    /// The reset has arrived at the sender, so nothing more is sent.
    is_refused: bool,
    /// `true` if the link is cut; `changes` counts the cuts and healings.
    is_cut: bool,
    changes: u64,
}

/// A message of a stream in flight.
struct Segment<T> {
    /// The message, or `Some(None)` for the end. `None` if the message was lost.
    message: Option<Option<T>>,
    /// The latch of the announced arrival.
    latch: Option<Latch>,
    here: Here,
}

impl<T> Default for Flight<T> {
    fn default() -> Flight<T> {
        Flight {
            arrived: 0,
            segments: Queue::default(),
            held: None,
            is_ended: false,
            is_answered: false,
            is_refused: false,
            is_cut: false,
            changes: 0,
        }
    }
}

impl<T: Send + 'static> Stream<T> {
    pub(crate) fn new(from: Host, to: Host, kind: &'static str, here: Here) -> Arc<Stream<T>> {
        let link = Fabric::of_run().link(from, to, here);
        let inbox = Inbox::new(kind, link.name(), here);
        Stream::over(link, inbox, here)
    }
}

impl<T: Send + 'static, S: Sink<T>> Stream<T, S> {
    /// Creates the stream over a link to `sink`.
    pub(crate) fn over(link: Arc<Link>, sink: S, here: Here) -> Arc<Stream<T, S>> {
        let inbox = Arc::new(sink);
        let (flight, shows) = (Mutex::default(), Shows::default());
        let stream = Arc::new(Stream { link, inbox, flight, shows });
        stream.link.add_stream(stream.clone(), here);
        stream
    }

    /// Returns the faults that messages may suffer.
    pub(crate) fn faults(&self) -> Option<Cow<'_, Faults>> {
        self.link.faults()
    }

    /// Passes an item that is not a message over the link in this step. Returns `false` if the item is lost.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn passes(&self, here: Here) -> bool {
        self.link.passes(here)
    }

    /// Sends a message. Returns the message as an error if the stream has ended or a reset has arrived.
    pub(crate) fn send(self: &Arc<Self>, message: T, here: Here) -> Result<(), T> {
        let Flight { is_ended, is_refused, .. } = *self.flight();
        if is_ended || is_refused {
            return Err(message);
        }
        self.send_on(Some(message), here);
        Ok(())
    }

    /// Sends the end of the stream. Nothing is sent after the end.
    pub(crate) fn end(self: &Arc<Self>, here: Here) {
        if !std::mem::replace(&mut self.flight().is_ended, true) {
            self.send_on(None, here);
        }
    }

    /// Sends a message or the end, regardless of earlier messages.
    pub(crate) fn send_on(self: &Arc<Self>, message: Option<T>, here: Here) {
        if !seam::in_run() {
            let is_received = self.inbox.take_in(message, here);
            self.flight().is_refused |= !is_received;
            return;
        }
        let not_before = self.link.draw_delay(message.as_ref().map_or(0, S::size), here);
        let (at, route) = (self.inbox.mark(), self.link.route());
        let arrival = Arrival { op: &ARRIVE, at, route, not_before };
        let held = {
            let flight = self.flight();
            (flight.is_cut && flight.segments.is_empty()).then_some(flight.changes)
        };
        seam::send(self, (message, here), arrival, here);
        if let Some(change) = held {
            self.inbox.was_held(change, here);
        }
    }

    /// Returns `true` if a sent message has not arrived yet.
    pub(crate) fn is_in_flight(&self) -> bool {
        !self.flight().segments.is_empty()
    }

    /// Returns `true` if messages are still held by cut number `change`.
    pub(crate) fn is_held_since(&self, change: u64) -> bool {
        let flight = self.flight();
        flight.changes == change && !flight.segments.is_empty()
    }

    /// Replies to an arrived message on behalf of the receiver's machine, because the receiver is gone. Sends one reset
    /// per stream.
    fn answer(self: &Arc<Self>, here: Here) {
        let (from, to) = self.link.ends();
        let is_on = to.node().is_none_or(|node| node.is_on(here));
        if is_on && !std::mem::replace(&mut self.flight().is_answered, true) {
            let back = Fabric::of_run().link(to, from, here);
            Refusal::send(self.clone(), back, here);
        }
    }

    fn flight(&self) -> MutexGuard<'_, Flight<T>> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static, S: Sink<T>> Refused for Stream<T, S> {
    fn was_refused(&self, here: Here) {
        self.inbox.mark().record(&REFUSE, here);
        self.flight().is_refused = true;
    }
}

impl<T> Flight<T> {
    /// Returns the message in flight with this number.
    fn segment(&mut self, number: u64) -> Option<&mut Segment<T>> {
        self.segments.get_mut((number - self.arrived) as usize)
    }

    /// Returns `true` if this message, whose arrival is announced, may arrive.
    fn may_arrive(&mut self, number: u64, link: &Link) -> bool {
        if number != self.arrived {
            return false;
        }
        let is_cut = link.is_cut();
        if is_cut && self.holds_next() {
            link.note_met();
        }
        !is_cut
    }

    /// Marks the next message as held by a cut. Returns `true` if this message was not counted yet.
    fn holds_next(&mut self) -> bool {
        self.held.replace(self.arrived) != Some(self.arrived)
    }

    /// Returns the latch of the next message.
    fn next(&self) -> Option<Latch> {
        self.segments.first()?.latch
    }
}

impl<T: Send + 'static, S: Sink<T>> Flow for Stream<T, S> {
    fn set_cut(&self, is_cut: bool, here: Here) {
        self.inbox.mark().record(if is_cut { &CUT } else { &HEAL }, here);
        let (next, changes, held) = {
            let mut flight = self.flight();
            let changes = std::mem::replace(&mut flight.is_cut, is_cut) != is_cut;
            flight.changes += u64::from(changes);
            let next = flight.next();
            if !is_cut {
                flight.held = None;
            } else if next.is_some() && flight.holds_next() {
                self.link.note_met();
            }
            let holds = is_cut && changes && !flight.segments.is_empty();
            (next, changes, holds.then_some(flight.changes))
        };
        if let Some(latch) = next {
            latch.set(!is_cut);
        }
        if let Some(change) = held {
            self.inbox.was_held(change, here);
        }
        if changes {
            self.inbox.was_cut(is_cut, here);
        }
    }

    fn was_set(&self, here: Here) {
        self.inbox.was_set(here);
    }

    fn died(self: Arc<Self>, host: Host, death: Death, here: Here) {
        let (from, to) = self.link.ends();
        let side = match (host == from, host == to) {
            (true, true) => Side::Both,
            (true, false) => Side::Sender,
            (false, true) => Side::Receiver,
            (false, false) => return,
        };
        if death == Death::Wiped {
            return;
        }
        self.inbox.mark().record(&CLOSE, here);
        match self.inbox.died(side, death, here) {
            Then::Ends => self.end(here),
            Then::Stops => self.flight().is_ended = true,
            Then::GoesOn => {}
        }
    }
}

impl<T: Send + 'static, S: Sink<T>> Transport for Stream<T, S> {
    type Message = (Option<T>, Here);

    fn take(&self, (message, here): (Option<T>, Here), latch: Option<Latch>) -> (u64, bool) {
        let mut flight = self.flight();
        let number = flight.arrived + flight.segments.len() as u64;
        flight.segments.push(Segment { message: Some(message), latch, here });
        let is_announced = latch.is_some();
        (number, is_announced && flight.may_arrive(number, &self.link))
    }

    fn may_arrive(&self, number: u64, latch: Latch) -> bool {
        let mut flight = self.flight();
        flight.segment(number).into_iter().for_each(|segment| segment.latch = Some(latch));
        flight.may_arrive(number, &self.link)
    }

    fn describe(&self, number: u64) -> Option<String> {
        // User code produces the text, so the lock must not be held.
        let message = self.flight().segment(number)?.message.take()?;
        let words = match &message {
            Some(message) => self.shows.describe(message),
            None => Some("the end".to_owned()),
        };
        self.flight().segment(number)?.message = Some(message);
        words
    }
}

impl<T: Send + 'static, S: Sink<T>> Delivery for Stream<T, S> {
    fn arrive(self: Arc<Self>, number: u64) {
        let (segment, next) = {
            let mut flight = self.flight();
            debug_assert_eq!(number, flight.arrived, "messages arrive in their order");
            let segment = flight.segments.pop();
            flight.arrived += 1;
            (segment, flight.next())
        };
        if let Some(Segment { message: Some(message), here, .. }) = segment {
            if !self.inbox.take_in(message, here) {
                self.answer(here);
            }
        }
        if let Some(latch) = next {
            latch.set(!self.link.is_cut());
        }
    }

    fn lose(&self, number: u64) {
        let message = self.flight().segment(number).map(|segment| segment.message.take());
        drop(message);
    }
}
