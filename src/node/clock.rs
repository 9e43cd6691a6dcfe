//! The clock of a node. A test can give it an offset, a wrong rate, jumps, and late timers.

use std::fmt;
use std::time::Duration;

use super::{LOOK, Node, PACE};
use crate::run::node_clock::{ClockChange, ClockMet};
use crate::run::op::{Access, Op, word};
use crate::seam::{self, Group, Here, here};

const JUMP: Op = Op::of_kind("jump", Access::Tell, word::WRITE);
const SET: Op = Op::of_kind("set", Access::Tell, word::WRITE);
const DRIFT: Op = Op::of_kind("drift", Access::Tell, word::WRITE);
const CORRECT: Op = Op::of_kind("correct", Access::Tell, word::WRITE);

/// The maximum drift.
const DRIFT_MAX: f64 = 0.9;

/// The number of billionths in 1.
const GIGA: f64 = 1e9;

/// The possible sizes of drawn offsets and jumps.
const OFFSETS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(500), Duration::from_secs(3600)];

/// The possible sizes of drawn drifts, in billionths.
const DRIFTS: [i64; 3] = [10_000, 1_000_000, 100_000_000];

/// The clock of a [node](Node::clock).
///
/// The wall clock, [`SystemTime::now`](crate::time::SystemTime::now) in the node, may have an offset and may jump. The
/// rate of the clock may be wrong by a *drift*. A drift affects the wall clock, [`Instant`](crate::time::Instant)s and
/// all timers of the node: `sleep`, `timeout`, `interval`. With a drift of 0.1 the clock is fast, so a timeout of 10 s
/// ends after 9.1 s of true time. Timers and `Instant`s never jump.
///
/// A new clock shows true time. The clock keeps running when the node dies. No method of `Clock` is a point. Outside of
/// runs and in the real build, all clocks are the system clock. System clocks cannot be changed, and count as true.
///
/// ```
/// use sim::node::Shift;
/// use sim::time::{Duration, sleep, truth};
///
/// # if !sim::SIMULATED { return }
/// # let report = sim::Runner::new().hermetic().run(async || {
/// let db = sim::node("db-1");
/// let clock = db.clock();
/// clock.set_offset(Shift::Behind(Duration::from_millis(500)));
/// clock.set_drift(-0.2);
/// sleep(Duration::from_secs(1)).await;
/// assert_eq!(clock.offset(), Shift::Behind(Duration::from_millis(700)));
/// clock.correct();
/// assert_eq!((clock.offset(), clock.drift()), (Shift::NONE, 0.0));
/// # });
/// # assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Node);

/// A time difference with a sign, relative to another clock.
///
/// ```
/// use sim::node::Shift;
/// use sim::time::Duration;
///
/// let late = Shift::Behind(Duration::from_millis(500));
/// assert_eq!(late.to_string(), "500ms behind");
/// assert_ne!(late, Shift::Ahead(Duration::from_millis(500)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    /// Later by this duration.
    Ahead(Duration),
    /// Earlier by this duration.
    Behind(Duration),
}

impl Shift {
    /// No difference to true time.
    pub const NONE: Shift = Shift::Ahead(Duration::ZERO);

    fn nanoseconds(self) -> i64 {
        let size = |by: Duration| i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        match self {
            Shift::Ahead(by) => size(by),
            Shift::Behind(by) => -size(by),
        }
    }

    fn of(nanoseconds: i64) -> Shift {
        let size = Duration::from_nanos(nanoseconds.unsigned_abs());
        if nanoseconds < 0 { Shift::Behind(size) } else { Shift::Ahead(size) }
    }

    /// Returns the shift for a drawn number below [`RUNGS`]; 0 means no shift.
    pub(crate) fn drawn(number: u64) -> Shift {
        let Some((rung, is_ahead)) = rung(number) else { return Shift::NONE };
        if is_ahead { Shift::Ahead(OFFSETS[rung]) } else { Shift::Behind(OFFSETS[rung]) }
    }

    pub(crate) fn back(self) -> Shift {
        Shift::of(-self.nanoseconds())
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shift::Ahead(by) => write!(f, "{by:?} ahead"),
            Shift::Behind(by) => write!(f, "{by:?} behind"),
        }
    }
}

/// The number of possible offsets or drifts, including zero.
pub(crate) const RUNGS: u64 = 7;

fn rung(number: u64) -> Option<(usize, bool)> {
    let number = number.checked_sub(1)?;
    Some(((number / 2) as usize % 3, number % 2 == 0))
}

/// Returns the drift for a drawn number below [`RUNGS`]; 0 means no drift.
pub(crate) fn drawn_drift(number: u64) -> f64 {
    let Some((rung, is_fast)) = rung(number) else { return 0.0 };
    let drift = DRIFTS[rung] as f64 / GIGA;
    if is_fast { drift } else { -drift }
}

impl Node {
    /// Returns the clock of the node.
    pub fn clock(&self) -> Clock {
        Clock(self.clone())
    }

    /// Makes each step of the node's tasks take time from now on: 1 ms, 20 ms or 500 ms of true time when `k` is 1, 2
    /// or 3. The node stays slow until its death. At most 1,000 steps of each task are slow.
    ///
    /// This call is not a point. Outside of runs and in the real build it does nothing.
    ///
    /// ```
    /// use sim::time::{Duration, Instant};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// db.slow(2);
    /// let begin = Instant::now();
    /// let task = db.spawn(async {
    ///     for _ in 0..3 {
    ///         sim::task::yield_now().await;
    ///     }
    /// });
    /// # if !sim::SIMULATED { return }
    /// task.await.unwrap();
    /// assert_eq!(begin.elapsed(), Duration::from_millis(60));
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If `k` is more than 3.
    #[track_caller]
    pub fn slow(&self, k: u32) {
        assert!(k <= 3, "slow({k}): the slowest pace is 3");
        self.set_pace(k, here());
    }

    /// Like [`slow`](Self::slow), on behalf of the caller at `here`.
    pub(crate) fn set_pace(&self, k: u32, here: Here) {
        let rest = [0, 1, 20, 500][k as usize % 4];
        self.0.mark.last(&PACE, here);
        let group = self.state().group;
        if let Some(group) = group {
            let (op, text) = match rest {
                0 => (&super::SPEED_UP, format!("node {}", self.name())),
                rest => (&super::SLOW, format!("{}, {rest}ms a step", self.name())),
            };
            seam::Wrapped::outside_named("clocks", &text, here).last(op, here);
            group.set_pace(rest * 1_000_000, here);
        }
    }

    /// Ends all faults of the clock and of the pace. Records a change only for a fault that exists, so the other steps
    /// of a search get no conflicts with it.
    pub(crate) fn calm(&self, here: Here) {
        self.0.mark.last(&LOOK, here);
        let group = self.state().group;
        if group.is_some_and(Group::is_slow) {
            self.set_pace(0, here);
        }
        if self.0.clock.has_late_timers() {
            self.clock().set_late_timers(0, here);
        }
        if self.0.clock.is_wrong(here) {
            self.clock().correct_at(here);
        }
    }
}

impl Clock {
    /// Returns the difference between the wall clock and true time.
    #[track_caller]
    pub fn offset(&self) -> Shift {
        Shift::of(self.0.0.clock.state(here()).offset)
    }

    /// Returns the error of the rate relative to true time: 0.1 means that the clock runs a tenth too fast.
    #[track_caller]
    pub fn drift(&self) -> f64 {
        self.0.0.clock.state(here()).drift as f64 / GIGA
    }

    /// Sets the wall clock to true time plus `offset`, regardless of its previous value.
    #[track_caller]
    pub fn set_offset(&self, offset: Shift) {
        self.set_to(offset, here());
    }

    pub(crate) fn set_to(&self, offset: Shift, here: Here) {
        self.change(ClockChange::Offset(offset.nanoseconds()), &SET, &offset.to_string(), here);
    }

    /// Makes the wall clock jump, like a correction does.
    ///
    /// ```
    /// use sim::node::Shift;
    /// use sim::time::{Duration, Instant};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let (db, hour) = (sim::node("db-1"), Duration::from_secs(3600));
    /// let begin = db.enter(Instant::now);
    /// db.clock().jump(Shift::Ahead(hour));
    /// assert_eq!(db.clock().offset(), Shift::Ahead(hour));
    /// assert_eq!(db.enter(|| begin.elapsed()), Duration::ZERO);
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn jump(&self, by: Shift) {
        self.jump_by(by, here());
    }

    pub(crate) fn jump_by(&self, by: Shift, here: Here) {
        self.change(ClockChange::Jump(by.nanoseconds()), &JUMP, &by.to_string(), here);
    }

    /// Changes the rate of the clock from now on. A positive drift makes it faster than true time, a negative drift
    /// slower.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, sleep};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// # if !sim::SIMULATED { return }
    /// let db = sim::node("db-1");
    /// db.clock().set_drift(0.25);
    /// let begin = Instant::now();
    /// db.spawn(async { sleep(Duration::from_secs(10)).await }).await.unwrap();
    /// assert_eq!(begin.elapsed(), Duration::from_secs(8));
    /// # });
    /// # assert!(report.passed());
    /// ```
    ///
    /// # Panics
    /// If `drift` is not from -0.9 to 0.9.
    #[track_caller]
    pub fn set_drift(&self, drift: f64) {
        assert!(
            (-DRIFT_MAX..=DRIFT_MAX).contains(&drift),
            "a drift of {drift}: the clock of a node goes from a tenth of its rate to 1.9 times that"
        );
        self.drift_by(drift, here());
    }

    pub(crate) fn drift_by(&self, drift: f64, here: Here) {
        let text = match drift {
            0.0 => "no more".to_owned(),
            // Rounded, because most decimal fractions have no exact binary form.
            fast if fast > 0.0 => format!("{}% fast", rounded(fast * 100.0)),
            slow => format!("{}% slow", rounded(-slow * 100.0)),
        };
        self.change(ClockChange::Drift((drift * GIGA).round() as i64), &DRIFT, &text, here);
    }

    /// Sets the clock to true time and the true rate, like a good time server does. Timers do not jump.
    #[track_caller]
    pub fn correct(&self) {
        self.correct_at(here());
    }

    pub(crate) fn correct_at(&self, here: Here) {
        self.change(ClockChange::Correct, &CORRECT, "true again", here);
    }

    /// Draws an error of the clock. In half of the runs the clock stays true. In the other half, the clock gets an
    /// offset of 0, ±10 ms, ±500 ms or ±1 h and a drift of 0, ±1e-5, ±1e-3 or ±1e-1. In each draw 0 means no error, so
    /// shrinking removes the errors that a failure does not need.
    ///
    /// ```
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// for name in ["a", "b", "c"] {
    ///     sim::node(name).clock().draw();
    /// }
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn draw(&self) {
        let here = here();
        if !seam::in_run() || seam::draw(2, "a clock that is not true") == 0 {
            return;
        }
        let offset = Shift::drawn(seam::draw(RUNGS, "the offset of a clock"));
        let drift = drawn_drift(seam::draw(RUNGS, "the drift of a clock"));
        if offset != Shift::NONE {
            self.set_to(offset, here);
        }
        if drift != 0.0 {
            self.drift_by(drift, here);
        }
    }

    /// Makes timers of the node fire late. When a task begins to wait or resets a timer, the delay is drawn: none, 1
    /// ms, 20 ms or 500 ms. At most `budget` timers of each task are late; 0 ends the fault.
    ///
    /// ```
    /// use sim::time::{Duration, Instant, sleep};
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let db = sim::node("db-1");
    /// db.clock().late_timers(1);
    /// db.spawn(async {
    ///     let begin = Instant::now();
    ///     sleep(Duration::from_millis(1)).await;
    ///     assert!(begin.elapsed() <= Duration::from_millis(501) || !sim::SIMULATED);
    /// });
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[track_caller]
    pub fn late_timers(&self, budget: u8) {
        self.set_late_timers(budget, here());
    }

    fn set_late_timers(&self, budget: u8, here: Here) {
        let node = &self.0.0;
        node.mark.last(&PACE, here);
        let group = self.0.state().group;
        node.clock.set_late_timers(budget, group, here);
    }

    /// Returns the numbers of events so far that observed the wrong clock.
    pub(crate) fn met(&self) -> ClockMet {
        self.0.0.clock.met()
    }

    fn change(&self, change: ClockChange, op: &'static Op, to: &str, here: Here) {
        let node = &self.0.0;
        node.mark.last(&LOOK, here);
        node.clock.change(change, op, &format!("clock of {}, {to}", self.0.name()), here);
    }
}

/// Removes the rounding error of binary fractions.
fn rounded(percent: f64) -> f64 {
    (percent * 1e7).round() / 1e7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rungs_are_as_said() {
        let ms = Duration::from_millis;
        let [ahead, behind] = [Shift::Ahead, Shift::Behind];
        let hour = Duration::from_secs(3600);
        let all: Vec<Shift> = (0..RUNGS).map(Shift::drawn).collect();
        let pairs = [ms(10), ms(500), hour].into_iter().flat_map(|by| [ahead(by), behind(by)]);
        assert_eq!(all, [Shift::NONE].into_iter().chain(pairs).collect::<Vec<_>>());
        let drifts: Vec<f64> = (0..RUNGS).map(drawn_drift).collect();
        assert_eq!(drifts, [0.0, 1e-5, -1e-5, 1e-3, -1e-3, 1e-1, -1e-1]);
        assert!(all.iter().all(|shift| shift.back().back() == *shift));
    }
}
