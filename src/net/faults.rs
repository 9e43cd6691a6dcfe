//! The faults of messages: settings, and their draws. 0 is nothing bad in each.

use std::time::Duration;

use crate::seam;

const LOSS: usize = 0;
const DUPLICATE: usize = 1;
const DELAY: usize = 2;
pub(super) const SHORT_READ: usize = 3;
pub(super) const SHORT_WRITE: usize = 4;
const RESET: usize = 5;
const LOOKUP: usize = 6;

/// Random faults of messages in a run. Faults that a test injects by [`cut`](super::cut()) or by
/// the death of a node come on top.
///
/// Nothing does by default, but that datagrams overtake each other. Each fault is drawn when a
/// message is sent, so shrinking removes the faults that a failure does not need. A task causes
/// each kind as often as the setting says, at most.
///
/// ```
/// use sim::net::{Faults, Latency, faults};
///
/// # let report = sim::Runner::new().hermetic().run(async || {
/// faults(Faults::none().loss(2).latency(Latency::lan()));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    loss: u8,
    duplicates: u8,
    latency: Option<Latency>,
    parts: u8,
    resets: u8,
    lookups: u8,
    rate: Option<u64>,
    mtu: Option<usize>,
}

/// The largest datagram that UDP has.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(super) const LARGEST: usize = 65_507;

impl Faults {
    /// No faults.
    pub fn none() -> Faults {
        Faults::default()
    }

    /// Loses datagrams: one of eight, at most `budget` of one task.
    #[must_use]
    pub fn loss(self, budget: u8) -> Faults {
        Faults { loss: budget, ..self }
    }

    /// Has datagrams arrive twice: one of sixteen, at most `budget` of one task.
    #[must_use]
    pub fn duplicates(self, budget: u8) -> Faults {
        Faults { duplicates: budget, ..self }
    }

    /// Has reads and writes of connections end early: after one byte, half of them, or all but one. At most `budget`
    /// reads and as many writes of one task.
    #[must_use]
    pub fn partial(self, budget: u8) -> Faults {
        Faults { parts: budget, ..self }
    }

    /// Resets connections: at the arrival of one write of 32, at most `budget` of one task. Both ends find
    /// [`ConnectionReset`](std::io::ErrorKind::ConnectionReset).
    #[must_use]
    pub fn resets(self, budget: u8) -> Faults {
        Faults { resets: budget, ..self }
    }

    /// Has lookups of names fail, or find the node that an [`alias`](super::alias) stood for before: each one of eight,
    /// at most `budget` of one task. Of the whole run, not of a link.
    ///
    /// ```
    /// use sim::net::{Faults, faults, lookup_host};
    ///
    /// # if !sim::SIMULATED { return }
    /// let report = sim::Runner::new().hermetic().seeds(0..100).run(async || {
    ///     faults(Faults::none().lookups(1));
    ///     let _db = sim::node("db-1");
    ///     // A client that takes a failure of the moment for the end.
    ///     lookup_host("db-1:7000").await.expect("it is there");
    /// });
    /// assert!(!report.passed());
    /// ```
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn lookups(self, budget: u8) -> Faults {
        Faults { lookups: budget, ..self }
    }

    /// Makes messages take time.
    #[must_use]
    pub fn latency(self, latency: Latency) -> Faults {
        Faults { latency: Some(latency), ..self }
    }

    /// Limits each link to this many bytes a second. Messages leave one after the other: a message
    /// waits until earlier ones have left. A value of a typed link has the size of its type.
    ///
    /// ```
    /// use sim::net::{self, Faults};
    /// use sim::time::{Duration, Instant};
    ///
    /// # if !sim::SIMULATED { return }
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let [a, b] = ["a", "b"].map(sim::node);
    /// net::faults_on(&a, &b, Faults::none().rate(1000));
    /// let (sender, mut receiver) = net::link(&a, &b);
    /// let begin = Instant::now();
    /// sender.send([0_u8; 100]).await.unwrap();
    /// sender.send([1; 100]).await.unwrap();
    /// receiver.recv().await.unwrap();
    /// receiver.recv().await.unwrap();
    /// assert_eq!(begin.elapsed(), Duration::from_millis(200));
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub fn rate(self, bytes_per_second: u64) -> Faults {
        Faults { rate: Some(bytes_per_second), ..self }
    }

    /// Has sockets send no datagram of more than so many bytes: it is the error `EMSGSIZE`, as one of more than 65,507
    /// always is.
    #[must_use]
    pub fn mtu(self, bytes: usize) -> Faults {
        Faults { mtu: Some(bytes), ..self }
    }

    pub(crate) fn draw_copies(&self) -> u32 {
        if (self.loss, self.duplicates) == (0, 0) {
            return 1;
        }
        if seam::suffers_rarely(LOSS, (8, self.loss), "the loss of a message") {
            return 0;
        }
        1 + u32::from(seam::suffers_rarely(
            DUPLICATE,
            (16, self.duplicates),
            "a message that arrives twice",
        ))
    }

    /// Draws how many of `count` bytes a call reads or writes.
    pub(crate) fn draw_part(&self, kind: usize, count: usize) -> usize {
        if self.parts == 0 || count < 2 {
            return count;
        }
        match seam::suffers(kind, (4, self.parts), "a read or write of a part") {
            1 => 1,
            2 => count / 2,
            3 => count - 1,
            _ => count,
        }
    }

    /// Draws the outcome of a lookup.
    #[cfg(feature = "tokio")]
    pub(crate) fn draw_lookup(&self) -> Lookup {
        match seam::suffers(LOOKUP, (8, self.lookups), "the lookup of a name") {
            6 => Lookup::Old,
            7 => Lookup::Fails,
            _ => Lookup::Right,
        }
    }

    /// Draws if a write resets its connection.
    pub(crate) fn draw_reset(&self) -> bool {
        self.resets > 0 && seam::suffers_rarely(RESET, (32, self.resets), "a reset")
    }

    pub(super) fn draw_latency(&self) -> Duration {
        self.latency.as_ref().map_or(Duration::ZERO, Latency::draw)
    }

    pub(super) fn bytes_per_second(&self) -> Option<u64> {
        self.rate
    }

    /// The greatest number of bytes of a datagram.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn largest(&self) -> usize {
        self.mtu.map_or(LARGEST, |mtu| mtu.min(LARGEST))
    }
}

/// The outcome of a lookup.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    Right,
    Old,
    Fails,
}

/// The time that messages take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latency(Kind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// `None` for five of eight messages: the scheduler chooses their arrival. The others take one
    /// of these.
    Rungs([Duration; 3]),
    Within(Duration, Duration),
}

/// The number of steps between the least latency and the greatest.
const STEPS: u64 = 8;

impl Latency {
    /// Five of eight messages arrive at any moment, as the scheduler chooses; one takes 1 ms, one 20 ms and one 500 ms.
    pub fn lan() -> Latency {
        Latency(Kind::Rungs([1, 20, 500].map(Duration::from_millis)))
    }

    /// Like [`lan`](Self::lan), with 30, 200 and 2000 ms.
    pub fn wan() -> Latency {
        Latency(Kind::Rungs([30, 200, 2000].map(Duration::from_millis)))
    }

    /// All messages take this time.
    pub fn exact(time: Duration) -> Latency {
        Latency::within(time, time)
    }

    /// All messages take a time from `least` to `greatest`, in eight steps.
    pub fn within(least: Duration, greatest: Duration) -> Latency {
        Latency(Kind::Within(least, greatest))
    }

    pub(super) fn draw(&self) -> Duration {
        match &self.0 {
            Kind::Rungs(rungs) => {
                let drawn = seam::suffers(DELAY, (8, u8::MAX), "the latency of a message");
                drawn.checked_sub(5).map_or(Duration::ZERO, |rung| rungs[rung as usize])
            }
            Kind::Within(least, greatest) if least == greatest => *least,
            Kind::Within(least, greatest) => {
                let step = seam::draw(STEPS, "the latency of a message") as u32;
                *least + greatest.saturating_sub(*least) / (STEPS as u32 - 1) * step
            }
        }
    }
}
