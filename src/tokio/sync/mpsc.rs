//! The mpsc channels: many senders, one receiver.
//!
//! Waiting for room, for a message or for the end is a point. Every other operation is part of the current step: an
//! unbounded send, a send with a permit, the `try_` functions, the counts, and the clone or drop of an end.

mod bounded;
mod permit;
mod receiver;
mod sender;
mod unbounded;

pub use ::tokio::sync::mpsc::error;

pub use self::bounded::{Receiver, Sender, WeakSender, channel};
pub use self::permit::{OwnedPermit, Permit, PermitIterator};
pub use self::unbounded::{
    UnboundedReceiver, UnboundedSender, WeakUnboundedSender, unbounded_channel,
};
use super::numbers::{Numbers, Room};
use crate::run::event::Values;
use crate::run::op::of_tokio::mail;
use crate::run::op::{Access, Op};
use crate::seam::CallOps;

/// An end of an mpsc channel.
type End = super::ends::End<Numbers>;

const RECV: CallOps = CallOps::acting(
    ("recv", "wait_to_recv"),
    [mail::POP, mail::MISS, mail::MISS, mail::HEAR],
    CallOps::stop_waiting(mail::MISS),
);
const CLOSED: CallOps =
    CallOps::seeing(("closed", "wait_for_the_end"), [mail::SEE_CLOSED, mail::SEE_CLOSED]);
const TRY_RECV: Op = Op::of_kind("try_recv", Access::Tell, mail::POP);
const TRY_RECV_FAILED: Op = Op::of_kind("try_recv", Access::Peek, mail::MISS);
const CLOSE: Op = Op::of_kind("close", Access::Tell, mail::CLOSE);
const CLONE: Op = Op::of_kind("clone_sender", Access::Tell, mail::COUNT);
const DOWNGRADE: Op = Op::of_kind("downgrade", Access::Tell, mail::COUNT);
const UPGRADE: [&Op; 2] = [
    &Op::of_kind("upgrade", Access::Tell, mail::UPGRADE),
    &Op::of_kind("upgrade", Access::Peek, mail::LOOK),
];
const LEN: Op = Op::of_kind("len", Access::Peek, mail::LOOK);
const IS_EMPTY: Op = Op::of_kind("is_empty", Access::Peek, mail::LOOK);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, mail::LOOK);
const SENDER_IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, mail::SEE_CLOSED);
const STRONG_COUNT: Op = Op::of_kind("strong_count", Access::Peek, mail::LOOK);
const WEAK_COUNT: Op = Op::of_kind("weak_count", Access::Peek, mail::LOOK);

const DROP_SENDER: Op = Op::of_kind("drop_sender", Access::Tell, mail::DROP);
const DROP_WEAK_SENDER: Op = Op::of_kind("drop_weak_sender", Access::Tell, mail::COUNT);
const DROP_RECEIVER: Op = Op::of_kind("drop_receiver", Access::Tell, mail::CLOSE);
