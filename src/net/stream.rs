//! Streams: messages from one host to another that arrive in the order in which they were sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fabric::{Fabric, Flow, Host, Link};
use super::inbox::Inbox;
use crate::node::Death;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Cargo, Here, Latch, Way};

const ARRIVE: Op = Op::of_kind("arrive", Access::Wait, net::ARRIVE);
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE).quiet();
const CUT: Op = Op::of_kind("hold", Access::Tell, net::CUT).quiet();
const HEAL: Op = Op::of_kind("go_on", Access::Tell, net::HEAL).quiet();

/// One direction of a stream.
pub(crate) struct Stream<T> {
    link: Arc<Link>,
    pub(crate) inbox: Arc<Inbox<T>>,
    flight: Mutex<Flight>,
}

#[derive(Default)]
struct Flight {
    sent: u64,
    arrived: u64,
    /// Those on their way that have announced their arrival: number and latch.
    latches: VecDeque<(u64, Latch)>,
    /// The end was sent: nothing is sent after it.
    is_ended: bool,
}

impl<T: Send + 'static> Stream<T> {
    pub(crate) fn new(from: Host, to: Host, kind: &'static str, here: Here) -> Arc<Stream<T>> {
        let link = Fabric::of_run().link(from, to, here);
        let inbox = Inbox::new(kind, &link.name(), here);
        let inbox = Arc::new(inbox);
        let stream = Arc::new(Stream { link, inbox, flight: Mutex::default() });
        stream.link.add_flow(stream.clone());
        stream
    }

    /// Sends a message, unless nothing can be sent any more.
    pub(crate) fn send(self: &Arc<Self>, message: T, here: Here) -> Result<(), T> {
        if self.flight().is_ended || self.inbox.is_closed() {
            return Err(message);
        }
        self.send_on(Some(message), here);
        Ok(())
    }

    /// Sends the end, after which nothing is sent.
    pub(crate) fn end(self: &Arc<Self>, here: Here) {
        if !std::mem::replace(&mut self.flight().is_ended, true) {
            self.send_on(None, here);
        }
    }

    fn send_on(self: &Arc<Self>, message: Option<T>, here: Here) {
        if !seam::in_run() {
            return self.take_in(message);
        }
        let number = {
            let mut flight = self.flight();
            flight.sent += 1;
            flight.sent - 1
        };
        let not_before = Fabric::of_run().draw_delay(here);
        let way = Way { op: &ARRIVE, at: self.inbox.mark.clone(), not_before };
        seam::carry(
            Segment { stream: self.clone(), number, message },
            way,
            self.link.route(),
            here,
        );
    }

    fn take_in(&self, message: Option<T>) {
        match message {
            Some(message) => {
                self.inbox.put(message);
            }
            None => self.inbox.put_end(),
        }
    }

    fn flight(&self) -> MutexGuard<'_, Flight> {
        self.flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// The latch of the message that arrives next.
    fn next(&self) -> Option<Latch> {
        self.latches.iter().find(|(number, _)| *number == self.arrived).map(|(_, latch)| *latch)
    }
}

impl<T: Send + 'static> Flow for Stream<T> {
    fn set_cut(&self, is_cut: bool, here: Here) {
        self.inbox.mark.act(if is_cut { &CUT } else { &HEAL }, here, || ());
        let next = self.flight().next();
        if let Some(latch) = next {
            latch.set(!is_cut);
            if is_cut {
                self.link.meets();
            }
        }
    }

    fn died(self: Arc<Self>, host: Host, death: Death, here: Here) {
        let (from, to) = self.link.ends();
        if death == Death::Wiped || (host != from && host != to) {
            return;
        }
        self.inbox.mark.act(&CLOSE, here, || ());
        if host == to {
            // What is on the way arrives in no later life.
            self.inbox.close(true);
        }
        match death {
            // The kernel of the dead tells.
            Death::Killed if host == from => self.end(here),
            _ => self.flight().is_ended = true,
        }
    }
}

/// A message of a stream on its way.
struct Segment<T> {
    stream: Arc<Stream<T>>,
    number: u64,
    message: Option<T>,
}

impl<T: Send + 'static> Cargo for Segment<T> {
    fn may_arrive(&mut self, latch: Latch) -> bool {
        let is_next = {
            let mut flight = self.stream.flight();
            flight.latches.push_back((self.number, latch));
            flight.arrived == self.number
        };
        is_next && !self.stream.link.holds()
    }

    fn arrive(self) {
        let next = {
            let mut flight = self.stream.flight();
            flight.latches.retain(|(number, _)| *number != self.number);
            flight.arrived += 1;
            flight.next()
        };
        self.stream.take_in(self.message);
        if let Some(latch) = next {
            latch.set(!self.stream.link.holds());
        }
    }
}
