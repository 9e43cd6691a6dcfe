//! Retransmission timeouts. A kernel without an acknowledgement resends its bytes, and finally
//! gives up the connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, ProbeAnswer};
use crate::net::fabric::Fabric;
use crate::run::op::{Access, Op, clock, net};
use crate::seam::{self, Arrival, Cargo, Here};

const GIVE_UP: Op = Op::of_kind("give_up", Access::Act, net::ARRIVE);
const AGAIN: Op = Op::of_kind("send_again", Access::Act, net::ARRIVE);
const WAIT: Op = Op::of_kind("wait_for_answer", Access::Peek, clock::READ).quiet();

/// The time from the first transmission until Linux gives up the connection, after fifteen
/// retransmissions.
const LONGEST: Duration = Duration::from_secs(924);

/// The times of the modelled retransmissions, in seconds. Retransmissions are sent only to a machine that is gone,
/// because it may be on again. Bytes that were sent over a cut link arrive once the link is healed.
const AGAINS: [u64; 4] = [3, 15, 63, 247];

/// An end of a connection that waits for an acknowledgement.
pub(super) struct Patience {
    connection: Arc<Connection>,
    at: usize,
    /// The number of the cut that caused the wait; `None` if the other machine is gone.
    since: Option<u64>,
    /// The number of retransmissions so far.
    tries: usize,
    here: Here,
}

impl Patience {
    pub(super) fn new(
        connection: Arc<Connection>,
        at: usize,
        since: Option<u64>,
        here: Here,
    ) -> Patience {
        Patience { connection, at, since, tries: 0, here }
    }

    pub(super) fn begin(self) {
        let here = self.here;
        let (end, other) = (&self.connection.ends[self.at], &self.connection.ends[1 - self.at]);
        let route = Fabric::of_run().link(other.host, end.host, here).route();
        let next = self.next();
        let before = self.tries.checked_sub(1).map_or(0, |before| AGAINS[before]);
        let wait = next.map_or(LONGEST, Duration::from_secs) - Duration::from_secs(before);
        let not_before = Some(seam::true_deadline(&WAIT, wait, here));
        let (op, at) = (if next.is_some() { &AGAIN } else { &GIVE_UP }, end.inbox.mark.clone());
        let arrival = Arrival { op, at: &at, route, not_before };
        seam::carry(self, arrival, here);
    }

    /// Returns the time of the next retransmission in seconds, if any.
    fn next(&self) -> Option<u64> {
        AGAINS.get(self.tries).filter(|_| self.since.is_none()).copied()
    }
}

impl Cargo for Patience {
    fn arrive(mut self) {
        if self.next().is_none() {
            return self.connection.give_up(self.at, self.since, self.here);
        }
        match self.connection.ask(self.at, self.here) {
            ProbeAnswer::None => {
                self.tries += 1;
                self.begin();
            }
            ProbeAnswer::Reset => {
                self.connection.ends[self.at].fails(io::ErrorKind::ConnectionReset, self.here);
            }
            ProbeAnswer::Alive => {}
        }
    }
}
