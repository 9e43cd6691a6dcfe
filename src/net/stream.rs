//! Streams: messages from one host to another that arrive in the order in which they were sent.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fabric::{Fabric, Flow, Host, Link};
use super::faults::Faults;
use super::inbox::Inbox;
use super::queue::Queue;
use super::shows::Shows;
use crate::node::Death;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Cargo, Here, Latch, Way, Wrapped};

const ARRIVE: Op = Op::of_kind("arrive", Access::Wait, net::ARRIVE);
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE).quiet();
const CUT: Op = Op::of_kind("hold", Access::Tell, net::CUT).quiet();
const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();
const HEAL: Op = Op::of_kind("go_on", Access::Tell, net::HEAL).quiet();

/// The receiving end of a stream.
pub(crate) trait Sink<T>: Send + Sync + 'static {
    /// Its object in runs.
    fn mark(&self) -> &Arc<Wrapped>;

    /// Returns `true` if nothing can be sent any more.
    fn is_closed(&self) -> bool;

    /// A message arrives, or the end.
    fn take_in(&self, message: Option<T>, here: Here);

    /// The number of bytes of a message, for links with a rate.
    fn size(_: &T) -> usize {
        size_of::<T>()
    }

    /// The settings of the link to it changed.
    fn was_set(&self, here: Here) {
        self.mark().record(&SET, here);
    }

    /// Its link was cut, as the change of this number.
    fn was_cut(&self, _change: u64, _here: Here) {}

    /// The host of one of its ends has died.
    fn died(&self, of: Side, death: Death, here: Here) -> Then;
}

/// An end of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
    /// Both are on the host.
    Both,
}

/// The effect of a death on a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// The end is sent.
    Ends,
    /// Nothing more is sent.
    Stops,
    /// None, or the sink has sent what there is to send.
    GoesOn,
}

impl<T: Send + 'static> Sink<T> for Inbox<T> {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.mark
    }

    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    fn take_in(&self, message: Option<T>, _: Here) {
        match message {
            Some(message) => {
                self.put(message);
            }
            None => self.put_end(),
        }
    }

    fn died(&self, of: Side, death: Death, _: Here) -> Then {
        if of != Side::Sender {
            // A message on the way arrives in no later life.
            self.close(true);
        }
        match death {
            // The kernel of the dead tells.
            Death::Killed if of != Side::Receiver => Then::Ends,
            _ => Then::Stops,
        }
    }
}

/// One direction of a stream.
pub(crate) struct Stream<T, S = Inbox<T>> {
    link: Arc<Link>,
    pub(crate) inbox: Arc<S>,
    flight: Mutex<Flight>,
    /// Has the words for a message.
    pub(crate) shows: Shows<T>,
    message: PhantomData<fn(T)>,
}

#[derive(Default)]
struct Flight {
    sent: u64,
    arrived: u64,
    /// Those on their way that have announced their arrival: number and latch.
    latches: Queue<(u64, Latch)>,
    /// The number of the message that the cut holds and that was counted: once, also if the link is cut again before its end.
    held: Option<u64>,
    /// The end was sent: nothing is sent after it.
    is_ended: bool,
    /// The link is cut, and has been so often cut or healed.
    is_cut: bool,
    changes: u64,
}

impl<T: Send + 'static> Stream<T> {
    pub(crate) fn new(from: Host, to: Host, kind: &'static str, here: Here) -> Arc<Stream<T>> {
        let link = Fabric::of_run().link(from, to, here);
        let inbox = Inbox::new(kind, link.name(), here);
        Stream::over(link, inbox, here)
    }
}

impl<T: Send + 'static, S: Sink<T>> Stream<T, S> {
    /// The stream over a link to `sink`.
    pub(crate) fn over(link: Arc<Link>, sink: S, here: Here) -> Arc<Stream<T, S>> {
        let inbox = Arc::new(sink);
        let stream = Stream {
            link,
            inbox,
            flight: Mutex::default(),
            shows: Shows::default(),
            message: PhantomData,
        };
        let stream = Arc::new(stream);
        stream.link.add_flow(stream.clone(), here);
        stream
    }

    /// The faults that its messages may have.
    pub(crate) fn faults(&self) -> Cow<'_, Faults> {
        self.link.faults()
    }

    /// Has something go over its link in this step that is no message. Returns `false` if it is lost.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn passes(&self, here: Here) -> bool {
        self.link.passes(here)
    }

    /// Sends a message, unless nothing can be sent any more.
    pub(crate) fn send(self: &Arc<Self>, message: T, here: Here) -> Result<(), T> {
        let number = {
            let mut flight = self.flight();
            if flight.is_ended || self.inbox.is_closed() {
                return Err(message);
            }
            flight.number()
        };
        self.send_as(number, Some(message), here);
        Ok(())
    }

    /// Sends the end, after which nothing is sent.
    pub(crate) fn end(self: &Arc<Self>, here: Here) {
        if !std::mem::replace(&mut self.flight().is_ended, true) {
            self.send_on(None, here);
        }
    }

    /// Sends a message or the end, whatever was sent before.
    pub(crate) fn send_on(self: &Arc<Self>, message: Option<T>, here: Here) {
        let number = self.flight().number();
        self.send_as(number, message, here);
    }

    fn send_as(self: &Arc<Self>, number: u64, message: Option<T>, here: Here) {
        if !seam::in_run() {
            return self.inbox.take_in(message, here);
        }
        let not_before = self.link.draw_delay(message.as_ref().map_or(0, S::size), here);
        let segment = Segment { stream: self.clone(), number, message, here };
        seam::carry(segment, Way { op: &ARRIVE, not_before }, self.link.route(), here);
    }

    /// Returns `true` if messages wait since the link was cut, as the change of this number.
    pub(crate) fn is_held_since(&self, change: u64) -> bool {
        let flight = self.flight();
        flight.changes == change && flight.sent > flight.arrived
    }

    fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The number of a message that is sent.
    fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// The link is cut, and holds the message that arrives next. Returns `true` if it is not counted yet.
    fn holds_next(&mut self) -> bool {
        self.held.replace(self.arrived) != Some(self.arrived)
    }

    /// The latch of the message that arrives next.
    fn next(&self) -> Option<Latch> {
        self.latches.iter().find(|(number, _)| *number == self.arrived).map(|(_, latch)| *latch)
    }
}

impl<T: Send + 'static, S: Sink<T>> Flow for Stream<T, S> {
    fn set_cut(&self, is_cut: bool, here: Here) {
        self.inbox.mark().record(if is_cut { &CUT } else { &HEAL }, here);
        let (next, change) = {
            let mut flight = self.flight();
            let changes = std::mem::replace(&mut flight.is_cut, is_cut) != is_cut;
            flight.changes += u64::from(changes);
            let next = flight.next();
            if !is_cut {
                flight.held = None;
            } else if next.is_some() && flight.holds_next() {
                self.link.note_met();
            }
            (next, changes.then_some(flight.changes))
        };
        if let Some(latch) = next {
            latch.set(!is_cut);
        }
        if let (true, Some(change)) = (is_cut, change) {
            self.inbox.was_cut(change, here);
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

/// A message of a stream on its way.
struct Segment<T, S> {
    stream: Arc<Stream<T, S>>,
    number: u64,
    message: Option<T>,
    here: Here,
}

impl<T: Send + 'static, S: Sink<T>> Cargo for Segment<T, S> {
    fn at(&self) -> &Wrapped {
        self.stream.inbox.mark()
    }

    fn may_arrive(&mut self, latch: Latch) -> bool {
        let (mut flight, link) = (self.stream.flight(), &self.stream.link);
        flight.latches.push((self.number, latch));
        let is_next = flight.arrived == self.number;
        if is_next && link.is_cut() && flight.holds_next() {
            link.note_met();
        }
        is_next && !link.is_cut()
    }

    fn describe(&self) -> Option<String> {
        match &self.message {
            Some(message) => self.stream.shows.describe(message),
            None => Some("the end".to_owned()),
        }
    }

    fn arrive(self) {
        let next = {
            let mut flight = self.stream.flight();
            flight.latches.retain(|(number, _)| *number != self.number);
            flight.arrived += 1;
            flight.next()
        };
        self.stream.inbox.take_in(self.message, self.here);
        if let Some(latch) = next {
            latch.set(!self.stream.link.is_cut());
        }
    }
}
