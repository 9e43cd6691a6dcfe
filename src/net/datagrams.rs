//! Datagrams: messages that overtake each other, and may be lost or duplicated.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fabric::{Flow, Host, Link};
use super::inbox::Inbox;
use super::shows::Shows;
use super::slots::Slots;
use crate::node::Death;
use crate::run::in_flight::Delivery;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Arrival, Here, Latch, Transport};

const ARRIVE: Op = Op::of_kind("arrive", Access::Act, net::ARRIVE);
const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE).quiet();

/// The incoming datagrams of one receiver.
pub(crate) struct Datagrams<T> {
    pub(crate) inbox: Inbox<T>,
    link: Arc<Link>,
    flying: Mutex<Slots<FlyingDatagram<T>>>,
    /// A datagram is dropped if the inbox already contains this many messages.
    room: usize,
    /// Describes a datagram as text.
    pub(crate) shows: Shows<T>,
}

impl<T: Send + 'static> Datagrams<T> {
    /// Creates the inbox for the datagrams that are sent over a link.
    pub(crate) fn over(link: Arc<Link>, room: usize, here: Here) -> Arc<Datagrams<T>> {
        let inbox = Inbox::new("datagrams", link.name(), here);
        let (flying, shows) = (Mutex::default(), Shows::default());
        let datagrams = Arc::new(Datagrams { inbox, link, flying, room, shows });
        datagrams.link.add_flow(datagrams.clone(), here);
        datagrams
    }

    /// Sends a datagram. The faults of the link determine the number of copies that are sent.
    pub(crate) fn send(self: &Arc<Self>, datagram: T, here: Here)
    where
        T: Clone,
    {
        if !seam::in_run() {
            self.inbox.put(datagram);
            return;
        }
        let link = &self.link;
        for _ in 0..link.draw_copies() {
            let not_before = link.draw_delay(size_of::<T>(), here);
            let (at, route) = (&self.inbox.mark, link.route());
            let arrival = Arrival { op: &ARRIVE, at, route, not_before };
            seam::send(self, (datagram.clone(), here), arrival, here);
        }
    }

    fn flying(&self) -> MutexGuard<'_, Slots<FlyingDatagram<T>>> {
        self.flying.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + 'static> Flow for Datagrams<T> {
    // A cut link loses datagrams at their arrival.
    fn set_cut(&self, _: bool, _: Here) {}

    fn was_set(&self, here: Here) {
        self.inbox.mark.record(&SET, here);
    }

    fn died(self: Arc<Self>, host: Host, death: Death, here: Here) {
        if death != Death::Wiped && host == self.link.ends().1 {
            self.inbox.mark.record(&CLOSE, here);
            self.inbox.close(true);
        }
    }
}

/// A datagram in flight.
struct FlyingDatagram<T> {
    /// `None` while the datagram is described.
    datagram: Option<T>,
    here: Here,
}

impl<T: Send + 'static> Transport for Datagrams<T> {
    type Message = (T, Here);

    fn take(&self, (datagram, here): (T, Here), _: Option<Latch>) -> (u64, bool) {
        (self.flying().add(FlyingDatagram { datagram: Some(datagram), here }), true)
    }

    fn may_arrive(&self, _: u64, _: Latch) -> bool {
        true
    }

    fn describe(&self, number: u64) -> Option<String> {
        // User code produces the text, so the lock must not be held. The datagram is out of its slot
        // meanwhile, but the slot stays reserved.
        let datagram = self.flying().get_mut(number)?.datagram.take()?;
        let words = self.shows.describe(&datagram);
        self.flying().get_mut(number)?.datagram = Some(datagram);
        words
    }
}

impl<T: Send + 'static> Delivery for Datagrams<T> {
    fn arrive(self: Arc<Self>, number: u64) {
        let flying = self.flying().remove(number);
        let Some(FlyingDatagram { datagram: Some(datagram), here }) = flying else { return };
        if self.link.passes(here) {
            self.inbox.put_within(self.room, datagram);
        }
    }

    fn lose(&self, number: u64) {
        let flying = self.flying().remove(number);
        drop(flying);
    }
}
