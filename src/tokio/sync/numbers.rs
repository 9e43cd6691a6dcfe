//! Message numbers of a channel, used to find the operations that can be swapped.
//!
//! A channel counts sent messages, requested room, and received messages. All operations that
//! change one of these counts conflict, so a message has the same number in all runs that differ
//! only in the order of non-conflicting operations. The modules
//! [`mail`](crate::run::op::of_tokio::mail) and [`ring`](crate::run::op::of_tokio::ring) define the
//! meaning of a number.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use crate::run::event::Values;
use crate::seam::{Here, Owner, Wrapped, run_number};

/// The object of a channel, with its counts.
#[derive(Debug)]
pub(super) struct Numbers {
    wrapped: Wrapped,
    /// The number of the run that created the channel, 0 outside of runs. The channel has message
    /// numbers in this run only.
    run: u64,
    /// The number of messages for which there is room, or the largest `u32` if unbounded.
    capacity: u32,
    sent: AtomicU32,
    asked: AtomicU32,
    received: AtomicU32,
    /// True if room was ever returned without a message. After that, room may be available earlier than the numbers
    /// show.
    gave: AtomicBool,
}

impl Numbers {
    /// Creates the numbers of a channel with this capacity; `None` is unbounded.
    pub(super) fn new(kind: &'static str, capacity: Option<usize>, here: Here) -> Numbers {
        let capacity = capacity.and_then(|capacity| u32::try_from(capacity).ok());
        Numbers {
            wrapped: Wrapped::new(kind, here),
            run: run_number(),
            capacity: capacity.unwrap_or(u32::MAX),
            sent: AtomicU32::new(0),
            asked: AtomicU32::new(0),
            received: AtomicU32::new(0),
            gave: AtomicBool::new(false),
        }
    }

    /// Counts a sent message for which there was room.
    pub(super) fn sent(&self) -> Values {
        self.sent_after(0)
    }

    /// Counts a message sent to `receivers` receivers. The message takes the place of an older
    /// message.
    pub(super) fn sent_to_all(&self, receivers: usize) -> Values {
        let sent = self.sent.fetch_add(1, Relaxed);
        match self.messages(sent.saturating_add(1).saturating_sub(self.capacity), sent) {
            Values::Messages { from, to, .. } => {
                Values::Messages { from, to, saw: u32::try_from(receivers).ok() }
            }
            _ => Values::Read(receivers as u64),
        }
    }

    /// Counts a sent message that requires the messages before `first` to have been received.
    fn sent_after(&self, first: u32) -> Values {
        let sent = self.sent.fetch_add(1, Relaxed);
        self.messages(first, sent)
    }

    /// Counts `count` received messages. `all` is `true` if the caller wanted more, but no more
    /// were available.
    pub(super) fn received(&self, count: u32, all: bool) -> Values {
        let first = self.received.fetch_add(count, Relaxed);
        self.messages(first, first + count + u32::from(all))
    }

    /// Returns the number of sent messages.
    pub(super) fn next(&self) -> u32 {
        self.sent.load(Relaxed)
    }

    /// Returns the values of receiving message `number`. Every receiver receives this message.
    pub(super) fn received_at(&self, number: u32) -> Values {
        self.messages(number, number.saturating_add(1))
    }

    /// Records that a permit was returned without sending a message.
    pub(super) fn gave(&self) {
        self.gave.store(true, Relaxed);
    }

    fn messages(&self, from: u32, to: u32) -> Values {
        match self.run != 0 && self.run == run_number() {
            true => Values::Messages { from, to, saw: None },
            false => Values::None,
        }
    }
}

impl Owner for Numbers {
    fn wrapped(&self) -> &Wrapped {
        &self.wrapped
    }
}

/// A call that reserves room for messages.
#[derive(Debug)]
pub(super) struct Room<'a> {
    channel: &'a Numbers,
    count: u32,
    /// The end of the number range of the room, once requested; 0 before.
    end: AtomicU32,
}

impl<'a> Room<'a> {
    /// Creates a call that reserves room for `count` messages.
    pub(super) fn new(channel: &'a Numbers, count: usize) -> Room<'a> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Room { channel, count, end: AtomicU32::new(0) }
    }

    /// Returns the values of an operation that reserved the room.
    pub(super) fn took(&self) -> Values {
        self.channel.messages(self.first(), u32::MAX)
    }

    /// Counts a message sent into the reserved room.
    pub(super) fn sent(&self) -> Values {
        self.channel.sent_after(self.first())
    }

    /// Returns the first message whose receipt does not affect the room.
    fn first(&self) -> u32 {
        self.ask().saturating_sub(self.channel.capacity)
    }

    /// Returns the end of the number range of the room, and requests the range first if needed.
    fn ask(&self) -> u32 {
        match self.end.load(Relaxed) {
            0 => {
                let asked = self.channel.asked.load(Relaxed);
                // If the numbers are used up, the room has the last number.
                let end = asked.saturating_add(self.count);
                self.channel.asked.store(end, Relaxed);
                self.end.store(end, Relaxed);
                end
            }
            end => end,
        }
    }
}

impl Owner for Room<'_> {
    fn wrapped(&self) -> &Wrapped {
        &self.channel.wrapped
    }

    fn queued(&self) -> Values {
        let last = self.ask().saturating_sub(1);
        match self.channel.gave.load(Relaxed) {
            true => Values::None,
            false => self.channel.messages(0, last.saturating_sub(self.channel.capacity)),
        }
    }

    fn left(&self) {
        self.channel.gave();
    }
}
