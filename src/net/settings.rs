//! The link settings of one direction between two hosts: its faults, and a clog.
//!
//! A link has the settings of the network until a test or a nemesis changes them. A change affects only messages that
//! are sent after it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::fabric::Link;
use super::faults::{Faults, Latency};
use crate::run::op::net::link;
use crate::run::op::{Access, Op, clock};
use crate::seam::{self, Here};

const SET: Op = Op::of_kind("set_faults", Access::Tell, link::SET);
const CLOG: Op = Op::of_kind("clog", Access::Tell, link::SET);
const UNCLOG: Op = Op::of_kind("unclog", Access::Tell, link::SET);
const JOIN: Op = Op::of_kind("join", Access::Peek, link::JOIN).quiet();
const QUEUE: Op = Op::of_kind("queue", Access::Tell, link::QUEUE).quiet();
const SEND: Op = Op::of_kind("send_later", Access::Peek, clock::READ);

/// The settings of a link.
pub(super) struct Settings {
    /// The settings of the network, fixed before the first link is created.
    of_net: Arc<Faults>,
    /// `true` if the link settings may differ from the network settings.
    is_set: AtomicBool,
    /// `true` if messages have no faults and no delay.
    has_none: AtomicBool,
    own: Mutex<Own>,
    /// The number of messages that clogs have delayed.
    delayed: AtomicU64,
}

/// The settings specific to this link.
#[derive(Default)]
struct Own {
    faults: Option<Faults>,
    clog: Option<Latency>,
    /// The time at which all bytes sent so far have left. The field is used only if the link has a rate.
    free_at: Option<Instant>,
}

impl Settings {
    pub(super) fn new(of_net: Arc<Faults>) -> Settings {
        let (own, delayed) = (Mutex::default(), AtomicU64::new(0));
        let has_none = AtomicBool::new(*of_net == Faults::none());
        Settings { of_net, is_set: AtomicBool::new(false), has_none, own, delayed }
    }

    pub(super) fn delayed(&self) -> u64 {
        self.delayed.load(Relaxed)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the clog, if any.
    fn clog(&self) -> Option<Latency> {
        if self.is_set.load(Relaxed) { self.own().clog.clone() } else { None }
    }

    fn faults(&self) -> Cow<'_, Faults> {
        let own = if self.is_set.load(Relaxed) { self.own().faults.clone() } else { None };
        own.map_or(Cow::Borrowed(&self.of_net), Cow::Owned)
    }

    /// Queues `bytes` at this rate behind all earlier bytes. Returns the time at which they have left.
    fn queue(&self, bytes: usize, rate: u64, now: Instant) -> Instant {
        let mut own = self.own();
        let begin = own.free_at.unwrap_or(now).max(now);
        let nanos = bytes as u128 * 1_000_000_000 / u128::from(rate.max(1));
        let left = begin + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 2));
        own.free_at = Some(left);
        left
    }
}

impl Link {
    /// Returns the faults that messages may suffer; `None` if messages have no faults and no delay, like on nearly all
    /// links.
    #[inline]
    pub(crate) fn faults(&self) -> Option<Cow<'_, Faults>> {
        match self.settings.has_none.load(Relaxed) {
            true => None,
            false => Some(self.settings.faults()),
        }
    }

    /// Draws the number of copies of a datagram that arrive.
    pub(crate) fn draw_copies(&self) -> u32 {
        self.faults().map_or(1, |faults| faults.draw_copies())
    }

    /// Draws the earliest arrival time of a message of `bytes` bytes that is sent in this step. Returns `None` if the
    /// message may arrive at any time.
    ///
    /// The same step must also record a [`join`](Self::join), or an operation on the object of
    /// [`Flow::was_set`](super::fabric::Flow::was_set).
    #[inline]
    pub(crate) fn draw_delay(&self, bytes: usize, here: Here) -> Option<Instant> {
        let faults = self.faults()?;
        self.draw_delay_of(&faults, bytes, here)
    }

    fn draw_delay_of(&self, faults: &Faults, bytes: usize, here: Here) -> Option<Instant> {
        let mut delay = faults.draw_latency();
        if let Some(clog) = self.settings.clog() {
            let by = clog.draw();
            self.settings.delayed.fetch_add(u64::from(by > Duration::ZERO), Relaxed);
            delay += by;
        }
        if let Some(rate) = faults.bytes_per_second() {
            let now = seam::true_deadline(&SEND, Duration::ZERO, here);
            self.mark.record(&QUEUE, here);
            let arrival = self.settings.queue(bytes, rate, now) + delay;
            return (arrival > now).then_some(arrival);
        }
        (delay > Duration::ZERO).then(|| seam::true_deadline(&SEND, delay, here))
    }

    /// Records that a message is or will be sent over the link. A change of the link settings conflicts with this
    /// operation.
    pub(crate) fn join(&self, here: Here) {
        self.mark.record(&JOIN, here);
    }

    /// Sets the faults of this link, in place of the network faults.
    pub(crate) fn set_faults(&self, faults: Faults, here: Here) {
        self.set(&SET, here, |own| own.faults = Some(faults));
    }

    /// Delays messages by `by`; `None` ends the delay.
    pub(crate) fn clog(&self, by: Option<Latency>, here: Here) {
        let op = if by.is_some() { &CLOG } else { &UNCLOG };
        self.set(op, here, |own| own.clog = by);
    }

    /// Ends the clog, if any. The same step must cut or heal links, because that operation conflicts with a later clog.
    pub(crate) fn end_clog(&self, here: Here) {
        if self.settings.clog().is_some() {
            self.clog(None, here);
        }
    }

    fn set(&self, op: &'static Op, here: Here, change: impl FnOnce(&mut Own)) {
        change(&mut self.settings.own());
        self.settings.is_set.store(true, Relaxed);
        self.settings.has_none.store(false, Relaxed);
        self.mark.record(op, here);
        let flows = self.flows().clone();
        flows.iter().for_each(|flow| flow.was_set(here));
    }
}
