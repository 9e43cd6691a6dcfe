//! Datagrams: messages that overtake each other, get lost and arrive twice.

use std::sync::Arc;

use super::fabric::{Flow, Host, Link};
use super::inbox::Inbox;
use super::shows::Shows;
use crate::node::Death;
use crate::run::op::{Access, Op, net};
use crate::seam::{self, Cargo, Here, Latch, Way, Wrapped};

const ARRIVE: Op = Op::of_kind("arrive", Access::Act, net::ARRIVE);
const SET: Op = Op::of_kind("set", Access::Tell, net::SET).quiet();
const CLOSE: Op = Op::of_kind("close", Access::Tell, net::CLOSE).quiet();

/// The inbox of datagrams of one receiver.
pub(crate) struct Datagrams<T> {
    pub(crate) inbox: Inbox<T>,
    host: Host,
    /// Those that find so many in the inbox are dropped.
    room: usize,
    /// Has the words for a datagram.
    pub(crate) shows: Shows<T>,
}

impl<T: Send + 'static> Datagrams<T> {
    pub(crate) fn new(
        host: Host,
        name: &'static str,
        room: usize,
        here: Here,
    ) -> Arc<Datagrams<T>> {
        let inbox = Inbox::new("datagrams", name, here);
        Arc::new(Datagrams { inbox, host, room, shows: Shows::default() })
    }

    /// Sends a copy over the link, or as many as the faults of the net have arrive.
    pub(crate) fn send(self: &Arc<Self>, link: &Arc<Link>, datagram: T, here: Here)
    where
        T: Clone,
    {
        if !seam::in_run() {
            self.inbox.put(datagram);
            return;
        }
        for _ in 0..link.faults().draw_copies() {
            let not_before = link.draw_delay(size_of::<T>(), here);
            let way = Way { op: &ARRIVE, not_before };
            let (to, link, datagram) = (self.clone(), link.clone(), datagram.clone());
            let route = link.route();
            seam::carry(Datagram { to, link, datagram, here }, way, route, here);
        }
    }
}

impl<T: Send + 'static> Flow for Datagrams<T> {
    // They are lost at their arrival.
    fn set_cut(&self, _: bool, _: Here) {}

    fn was_set(&self, here: Here) {
        self.inbox.mark.record(&SET, here);
    }

    fn died(self: Arc<Self>, host: Host, death: Death, here: Here) {
        if death != Death::Wiped && host == self.host {
            self.inbox.mark.record(&CLOSE, here);
            self.inbox.close(true);
        }
    }
}

/// A datagram on its way.
struct Datagram<T> {
    to: Arc<Datagrams<T>>,
    link: Arc<Link>,
    datagram: T,
    here: Here,
}

impl<T: Send + 'static> Cargo for Datagram<T> {
    fn at(&self) -> &Wrapped {
        &self.to.inbox.mark
    }

    fn may_arrive(&mut self, _: Latch) -> bool {
        true
    }

    fn describe(&self) -> Option<String> {
        self.to.shows.describe(&self.datagram)
    }

    fn arrive(self) {
        let Datagram { to, link, datagram, here } = self;
        if link.passes(here) {
            to.inbox.put_within(to.room, datagram);
        }
    }
}
