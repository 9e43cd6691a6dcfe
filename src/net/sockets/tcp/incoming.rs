//! The receiving side of one direction of a connection: how a kernel handles arriving messages.

use std::io;
use std::sync::Arc;

use super::connection::{Connection, End, Owner, Parcel};
use super::keepalive::Question;
use super::retransmission::Patience;
use crate::net::stream::{Side, Sink, Then};
use crate::node::Death;
use crate::run::op::{Access, Op, net};
use crate::seam::{Here, Wrapped};

const RESET: Op = Op::of_kind("reset", Access::Tell, net::CLOSE);
const SET: Op = Op::of_kind("set", Access::Tell, net::window::SET).quiet();
const SET_BACK: Op = Op::of_kind("set", Access::Tell, net::SET_BACK).quiet();

/// The receiving side of one direction.
pub(super) struct Incoming {
    connection: Arc<Connection>,
    at: usize,
}

impl Incoming {
    pub(super) fn new(connection: Arc<Connection>, at: usize) -> Incoming {
        Incoming { connection, at }
    }

    fn end(&self) -> &End {
        &self.connection.ends[self.at]
    }

    /// Makes the other end give up if it gets no acknowledgement for a long time from now on.
    fn wait_for_answer(&self, since: Option<u64>, here: Here) {
        let from = 1 - self.at;
        let begins = match since {
            // The write or the cut has an operation on the window in this step.
            Some(_) => self.connection.ends[from].is_used(),
            None => self.connection.begins_again(from, here),
        };
        if begins {
            Patience::new(self.connection.clone(), from, since, here).begin();
        }
    }

    /// Resets both ends, to simulate a reset by a device between them.
    fn reset_both(&self, here: Here) {
        let other = &self.connection.ends[1 - self.at];
        self.end().inbox.close(false);
        self.end().break_it(io::ErrorKind::ConnectionReset, here);
        other.inbox.mark.record(&RESET, here);
        other.inbox.close(false);
        other.break_it(io::ErrorKind::ConnectionReset, here);
    }
}

impl Sink<Parcel> for Incoming {
    fn mark(&self) -> &Arc<Wrapped> {
        &self.end().inbox.mark
    }

    // The kernel of either end replies without its process.
    fn take_in(&self, parcel: Option<Parcel>, here: Here) -> bool {
        let end = self.end();
        let owner = end.owner();
        let answers = match owner {
            Owner::Process => false,
            Owner::Kernel => true,
            // When the machine is on again, it has no state for the connection and sends a reset.
            Owner::Nobody => end.host.node().is_some_and(|node| node.is_on(here)),
        };
        let needs_answer = match &parcel {
            Some(Parcel::Bytes { .. }) => true,
            Some(Parcel::Reset) => false,
            // After a `shutdown`, the other process may wait for bytes. After a drop, no process waits.
            None => owner == Owner::Nobody && self.connection.ends[1 - self.at].is_in_use(here),
        };
        match parcel {
            Some(Parcel::Reset) if owner == Owner::Process => {
                end.inbox.put_end();
                end.break_it(io::ErrorKind::ConnectionReset, here);
            }
            Some(Parcel::Bytes { breaks: true, .. }) if owner == Owner::Process => {
                self.reset_both(here);
            }
            None if owner == Owner::Process => end.end_arrives(),
            Some(parcel) if owner == Owner::Process => {
                end.inbox.put(parcel);
            }
            _ if needs_answer && answers => end.out().send_on(Some(Parcel::Reset), here),
            _ if needs_answer && owner == Owner::Nobody => self.wait_for_answer(None, here),
            _ => {}
        }
        true
    }

    fn size(parcel: &Parcel) -> usize {
        match parcel {
            Parcel::Bytes { bytes, .. } => bytes.len(),
            Parcel::Reset => 0,
        }
    }

    // The other end sends: by a write, or as the reply to an arriving message.
    fn was_set(&self, here: Here) {
        let from = &self.connection.ends[1 - self.at];
        from.window.record(&SET, here);
        from.inbox.mark.record(&SET_BACK, here);
    }

    fn was_cut(&self, is_cut: bool, here: Here) {
        // A write over a cut link may start the wait for an answer, so it conflicts with the cut.
        self.connection.ends[1 - self.at].window.record(&SET, here);
        if is_cut {
            (0..2).for_each(|at| Question::begin(&self.connection, at, here));
        }
    }

    fn was_held(&self, change: u64, here: Here) {
        self.wait_for_answer(Some(change), here);
    }

    fn died(&self, of: Side, death: Death, here: Here) -> Then {
        // Each end is the receiver of one stream. Only the stream of this end handles the death of the end's host.
        if of != Side::Sender {
            let owner = if death == Death::Killed { Owner::Kernel } else { Owner::Nobody };
            self.connection.leave(self.at, owner, false, here);
            if owner == Owner::Nobody {
                Question::begin(&self.connection, 1 - self.at, here);
                if self.connection.asks_for_room(1 - self.at) {
                    self.wait_for_answer(None, here);
                }
            }
        }
        Then::GoesOn
    }
}
