//! The channels of std and crossbeam as one type.

use std::sync::mpsc;

use super::model::{DISCONNECTED, EMPTY, HELD, REFUSED};
use super::program::Channel;

#[derive(Clone)]
pub(super) enum Sender {
    Unbounded(mpsc::Sender<i64>),
    Bounded(mpsc::SyncSender<i64>),
    Crossbeam(crossbeam_channel::Sender<i64>),
}

pub(super) enum Receiver {
    Std(mpsc::Receiver<i64>),
    Crossbeam(crossbeam_channel::Receiver<i64>),
}

pub(super) fn channel(kind: Channel) -> (Sender, Receiver) {
    match kind {
        Channel::Unbounded => {
            let (sender, receiver) = mpsc::channel();
            (Sender::Unbounded(sender), Receiver::Std(receiver))
        }
        Channel::Bounded(capacity) => {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            (Sender::Bounded(sender), Receiver::Std(receiver))
        }
        Channel::Crossbeam => {
            let (sender, receiver) = crossbeam_channel::unbounded();
            (Sender::Crossbeam(sender), Receiver::Crossbeam(receiver))
        }
        Channel::CrossbeamBounded(capacity) => {
            let (sender, receiver) = crossbeam_channel::bounded(capacity);
            (Sender::Crossbeam(sender), Receiver::Crossbeam(receiver))
        }
    }
}

impl Sender {
    pub(super) fn send(&self, value: i64) -> i64 {
        let is_sent = match self {
            Sender::Unbounded(sender) => sender.send(value).is_ok(),
            Sender::Bounded(sender) => sender.send(value).is_ok(),
            Sender::Crossbeam(sender) => sender.send(value).is_ok(),
        };
        if is_sent { 0 } else { REFUSED }
    }

    pub(super) fn try_send(&self, value: i64) -> i64 {
        match self {
            Sender::Unbounded(sender) => sender.send(value).map_or(REFUSED, |()| 0),
            Sender::Bounded(sender) => match sender.try_send(value) {
                Ok(()) => 0,
                Err(mpsc::TrySendError::Full(_)) => HELD,
                Err(mpsc::TrySendError::Disconnected(_)) => REFUSED,
            },
            Sender::Crossbeam(sender) => match sender.try_send(value) {
                Ok(()) => 0,
                Err(crossbeam_channel::TrySendError::Full(_)) => HELD,
                Err(crossbeam_channel::TrySendError::Disconnected(_)) => REFUSED,
            },
        }
    }
}

impl Receiver {
    pub(super) fn receive(&self) -> i64 {
        match self {
            Receiver::Std(receiver) => receiver.recv().unwrap_or(DISCONNECTED),
            Receiver::Crossbeam(receiver) => receiver.recv().unwrap_or(DISCONNECTED),
        }
    }

    pub(super) fn try_receive(&self) -> i64 {
        match self {
            Receiver::Std(receiver) => match receiver.try_recv() {
                Ok(value) => value,
                Err(mpsc::TryRecvError::Empty) => EMPTY,
                Err(mpsc::TryRecvError::Disconnected) => DISCONNECTED,
            },
            Receiver::Crossbeam(receiver) => match receiver.try_recv() {
                Ok(value) => value,
                Err(crossbeam_channel::TryRecvError::Empty) => EMPTY,
                Err(crossbeam_channel::TryRecvError::Disconnected) => DISCONNECTED,
            },
        }
    }
}
