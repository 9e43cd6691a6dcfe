//! The patience of kernels: one that gets no answer to what it has sent gives the connection up.

use std::sync::Arc;
use std::time::Duration;

use super::connection::Connection;
use crate::net::fabric::Fabric;
use crate::run::op::{Access, Op, clock, net};
use crate::seam::{self, Cargo, Here, Latch, Way, Wrapped};

const GIVE_UP: Op = Op::of_kind("give_up", Access::Act, net::ARRIVE);
const WAIT: Op = Op::of_kind("wait_for_answer", Access::Peek, clock::READ).quiet();

/// The time after which Linux gives up, with its fifteen retransmissions.
const LONGEST: Duration = Duration::from_secs(924);

/// One end of a connection that waits for an answer.
pub(super) struct Patience {
    pub(super) connection: Arc<Connection>,
    pub(super) at: usize,
    /// The change of the link since which it waits; none if the other machine is gone.
    pub(super) since: Option<u64>,
    pub(super) here: Here,
}

impl Patience {
    pub(super) fn begin(self) {
        let here = self.here;
        let (end, other) = (&self.connection.ends[self.at], &self.connection.ends[1 - self.at]);
        let route = Fabric::of_run().link(other.host, end.host, here).route();
        let not_before = Some(seam::true_deadline(&WAIT, LONGEST, here));
        let way = Way { op: &GIVE_UP, not_before };
        seam::carry(self, way, route, here);
    }
}

impl Cargo for Patience {
    fn at(&self) -> &Wrapped {
        &self.connection.ends[self.at].inbox.mark
    }

    fn may_arrive(&mut self, _: Latch) -> bool {
        true
    }

    fn arrive(self) {
        self.connection.give_up(self.at, self.since, self.here);
    }
}
