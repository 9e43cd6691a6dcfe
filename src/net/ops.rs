//! Operations that typed links and sockets share.

use crate::run::op::{Access, Op, net};
use crate::seam::CallOps;

pub(crate) const SEND_DATAGRAM: CallOps = CallOps::acting(
    ("send", "send"),
    [net::SEND_DATAGRAM, net::SEND_DATAGRAM, net::SEND_DATAGRAM, net::SEND_DATAGRAM],
    CallOps::stop_waiting(net::LOOK),
)
.quiet();
pub(crate) const RECV: [Op; 2] = Op::of_kind("recv", Access::Wait, net::TAKE).guarded();
pub(crate) const TRY_RECV: [&Op; 2] = [
    &Op::of_kind("try_recv", Access::Tell, net::TAKE_NOW),
    &Op::of_kind("try_recv", Access::Peek, net::LOOK),
];

/// The number of datagrams that a receiver buffers; further datagrams are dropped.
pub(crate) const ROOM: usize = 64;
