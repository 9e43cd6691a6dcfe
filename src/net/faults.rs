//! Settings and draws of message faults. In each draw, 0 means no fault.

use std::time::Duration;

use crate::seam;

const LOSS: usize = 0;
const DUPLICATE: usize = 1;
const DELAY: usize = 2;
pub(super) const SHORT_READ: usize = 3;
pub(super) const SHORT_WRITE: usize = 4;
const RESET: usize = 5;
const LOOKUP: usize = 6;

/// Random faults of messages in a run. Random faults add to the faults that a test injects by [`cut`](super::cut()) or
/// by the death of a node.
///
/// By default there are no faults, except that datagrams overtake each other. Each fault is drawn when a message is
/// sent, so shrinking removes the faults that a failure does not need. The setting limits how often each task causes
/// each kind of fault.
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

/// The maximum size of a UDP datagram, in bytes.
#[cfg_attr(not(feature = "tokio"), allow(dead_code))]
pub(super) const LARGEST: usize = 65_507;

impl Faults {
    /// Returns settings without faults.
    pub fn none() -> Faults {
        Faults::default()
    }

    /// Loses one datagram in eight, at most `budget` datagrams of each task.
    #[must_use]
    pub fn loss(self, budget: u8) -> Faults {
        Faults { loss: budget, ..self }
    }

    /// Duplicates one datagram in sixteen, at most `budget` datagrams of each task.
    ///
    /// ```
    /// use sim::net::{self, Faults};
    /// use sim::time::{Duration, sleep};
    ///
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().seeds(0..200);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     net::faults(Faults::none().duplicates(1));
    ///     let [a, b] = ["a", "b"].map(sim::node);
    ///     let (sender, mut receiver) = net::datagrams(&a, &b);
    ///     sender.send("add 1").await.unwrap();
    ///     assert_eq!(receiver.recv().await, Some("add 1"));
    ///     sleep(Duration::from_secs(1)).await;
    ///     assert_eq!(receiver.try_recv(), None, "the message has arrived twice");
    /// });
    /// assert!(!report.passed());
    /// ```
    #[must_use]
    pub fn duplicates(self, budget: u8) -> Faults {
        Faults { duplicates: budget, ..self }
    }

    /// Makes reads and writes of connections partial: they transfer one byte, half of the bytes, or all but one. At
    /// most `budget` reads and `budget` writes of each task.
    #[must_use]
    pub fn partial(self, budget: u8) -> Faults {
        Faults { parts: budget, ..self }
    }

    /// Resets the connection at the arrival of one write in 32, at most `budget` writes of each task. Both ends get
    /// [`ConnectionReset`](std::io::ErrorKind::ConnectionReset).
    #[must_use]
    pub fn resets(self, budget: u8) -> Faults {
        Faults { resets: budget, ..self }
    }

    /// Makes name lookups fail, or return the previous node of an [`alias`](super::alias). Each outcome has a
    /// probability of 1/8, with at most `budget` faults in each task. This setting applies to the whole run, not to a
    /// link.
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

    /// Sets the latency of messages.
    #[must_use]
    pub fn latency(self, latency: Latency) -> Faults {
        Faults { latency: Some(latency), ..self }
    }

    /// Limits each link to this many bytes per second. Messages leave one after the other, so a message waits until all
    /// earlier messages have left. A value of a typed link has the size of its type.
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

    /// Makes sockets refuse to send datagrams larger than `bytes`, with the error `EMSGSIZE`. Datagrams larger than
    /// 65,507 bytes are always refused.
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

    /// Draws the number of bytes, of `count`, that a call reads or writes.
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

    /// Draws the outcome of a lookup. `has_old` is `true` if the name had another node before.
    #[cfg(feature = "tokio")]
    pub(crate) fn draw_lookup(&self, has_old: bool) -> Lookup {
        let outcome = |drawn: u64| match drawn {
            6 if has_old => Lookup::Old,
            7 => Lookup::Fails,
            _ => Lookup::Right,
        };
        let is_fault = |drawn: u64| outcome(drawn) != Lookup::Right;
        outcome(seam::suffers_if(LOOKUP, (8, self.lookups), "the lookup of a name", is_fault))
    }

    /// Draws `true` if a write resets its connection.
    pub(crate) fn draw_reset(&self) -> bool {
        self.resets > 0 && seam::suffers_rarely(RESET, (32, self.resets), "a reset")
    }

    pub(super) fn draw_latency(&self) -> Duration {
        self.latency.as_ref().map_or(Duration::ZERO, Latency::draw)
    }

    pub(super) fn bytes_per_second(&self) -> Option<u64> {
        self.rate
    }

    /// Returns the maximum number of bytes of a datagram.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code))]
    pub(crate) fn largest(&self) -> usize {
        self.mtu.map_or(LARGEST, |mtu| mtu.min(LARGEST))
    }
}

/// The outcome of a name lookup.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lookup {
    Right,
    Old,
    Fails,
}

/// The latency of messages.
///
/// ```
/// use sim::net::{self, Faults, Latency};
/// use sim::time::{Duration, Instant};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().seeds(0..20).run(async || {
/// let [least, greatest] = [80, 120].map(Duration::from_millis);
/// net::faults(Faults::none().latency(Latency::within(least, greatest)));
/// let [a, b] = ["a", "b"].map(sim::node);
/// let (sender, mut receiver) = net::link(&a, &b);
/// let begin = Instant::now();
/// sender.send("late").await.unwrap();
/// assert_eq!(receiver.recv().await, Some("late"));
/// assert!((least..=greatest).contains(&begin.elapsed()));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latency(LatencyKind);

#[derive(Clone, PartialEq, Eq, Debug)]
enum LatencyKind {
    /// The scheduler chooses the arrival of five of eight messages. The other three of eight take one of these times.
    Rungs([Duration; 3]),
    Within(Duration, Duration),
}

/// The number of values from the minimum to the maximum latency.
const STEPS: u64 = 8;

impl Latency {
    /// Returns the latency of a local network. Five of eight messages arrive at any moment that the scheduler chooses.
    /// On average, one of eight takes 1 ms, one takes 20 ms, and one takes 500 ms.
    ///
    /// ```
    /// use sim::net::{self, Faults, Latency};
    /// use sim::time::{Duration, timeout};
    ///
    /// # if !sim::SIMULATED { return }
    /// let runner = sim::Runner::new().hermetic().seeds(0..200);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     net::faults(Faults::none().latency(Latency::lan()));
    ///     let [a, b] = ["a", "b"].map(sim::node);
    ///     let (sender, mut receiver) = net::link(&a, &b);
    ///     sender.send("ping").await.unwrap();
    ///     let received = timeout(Duration::from_millis(100), receiver.recv()).await;
    ///     assert!(received.is_ok(), "the message is one of the few that take 500 ms");
    /// });
    /// assert!(!report.passed());
    /// ```
    pub fn lan() -> Latency {
        Latency(LatencyKind::Rungs([1, 20, 500].map(Duration::from_millis)))
    }

    /// Like [`lan`](Self::lan), but with 30, 200 and 2000 ms.
    pub fn wan() -> Latency {
        Latency(LatencyKind::Rungs([30, 200, 2000].map(Duration::from_millis)))
    }

    /// Returns a latency that is the same for every message.
    pub fn exact(time: Duration) -> Latency {
        Latency::within(time, time)
    }

    /// Returns a latency that is drawn for each message from eight values, from `least` to `greatest`.
    pub fn within(least: Duration, greatest: Duration) -> Latency {
        Latency(LatencyKind::Within(least, greatest))
    }

    pub(super) fn draw(&self) -> Duration {
        match &self.0 {
            LatencyKind::Rungs(rungs) => {
                let (bound, why) = ((8, u8::MAX), "the latency of a message");
                let drawn = seam::suffers_if(DELAY, bound, why, |drawn| drawn >= 5);
                drawn.checked_sub(5).map_or(Duration::ZERO, |rung| rungs[rung as usize])
            }
            LatencyKind::Within(least, greatest) if least == greatest => *least,
            LatencyKind::Within(least, greatest) => {
                let step = seam::draw(STEPS, "the latency of a message") as u32;
                *least + greatest.saturating_sub(*least) / (STEPS as u32 - 1) * step
            }
        }
    }
}
