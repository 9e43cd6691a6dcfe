//! Keepalive: the kernel of an idle end checks that the other end is still there.
//
// Probes are sent only after the other machine is gone or the link is cut. A probe to a machine
// that replies has no effect. If such probes were sent, time could always advance, and a run would
// never detect a deadlock.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::connection::{Connection, ProbeAnswer};
use crate::net::fabric::Fabric;
use crate::run::op::{Access, Op, clock, net};
use crate::seam::{self, Arrival, Cargo, Here};

const ASK: Op = Op::of_kind("keep_alive", Access::Act, net::ARRIVE);
const WAIT: Op = Op::of_kind("wait_for_answer", Access::Peek, clock::READ).quiet();

/// The keepalive times and the number of probes of Linux: `tcp_keepalive_time`, `tcp_keepalive_intvl`,
/// `tcp_keepalive_probes`.
const IDLE: Duration = Duration::from_secs(7200);
const BETWEEN: Duration = Duration::from_secs(75);
const QUESTIONS: u32 = 9;

/// The next keepalive probe of an end.
pub(super) struct Question {
    connection: Arc<Connection>,
    at: usize,
    asked: u32,
    here: Here,
}

impl Question {
    /// Starts the probes of an end, if its keepalive is on.
    pub(super) fn begin(connection: &Arc<Connection>, at: usize, here: Here) {
        if connection.ends[at].keepalive && connection.ends[at].is_in_use(here) {
            Question { connection: connection.clone(), at, asked: 0, here }.wait(IDLE);
        }
    }

    fn wait(self, time: Duration) {
        let here = self.here;
        let (end, other) = (&self.connection.ends[self.at], &self.connection.ends[1 - self.at]);
        let route = Fabric::of_run().link(other.host, end.host, here).route();
        let not_before = Some(seam::true_deadline(&WAIT, time, here));
        let at = end.inbox.mark.clone();
        seam::carry(self, Arrival { op: &ASK, at: &at, route, not_before }, here);
    }
}

impl Cargo for Question {
    fn arrive(mut self) {
        let (connection, at, here) = (self.connection.clone(), self.at, self.here);
        match connection.ask(at, here) {
            ProbeAnswer::None if self.asked == QUESTIONS => {
                connection.ends[at].fails(io::ErrorKind::TimedOut, here);
            }
            ProbeAnswer::None => {
                self.asked += 1;
                self.wait(BETWEEN);
            }
            ProbeAnswer::Reset => connection.ends[at].fails(io::ErrorKind::ConnectionReset, here),
            ProbeAnswer::Alive => {}
        }
    }
}
