//! Node clocks. Each clock counts the time of the run at its own rate, and includes a wall clock that may jump.
//!
//! All lives of a node have one clock. The count of this clock is continuous when its rate changes. So a change makes
//! no timer due at once, and commutes with steps at the same time. Timers of a node have deadlines on its clock. The
//! due time of a timer in the run is derived from its deadline, and is recomputed when the rate changes. Outside of
//! nodes, the clock shows the true time of the run.

use std::time::Duration;

use super::nodes::Nodes;
use super::timers::{CLOCK, Timers};
use crate::rt::pending::object_id;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::board::Life;
use crate::run::event::{ValueKind, Values};
use crate::run::ids::{ObjectId, Place};
use crate::run::node_clock::{ClockChange, ClockMet, ClockState};
use crate::run::op::{Access, Op, clock, word};

const ADJUST: Op = Op::of_kind("adjust", Access::Tell, clock::ADJUST).quiet();
const CHANGE: Op = Op::of_kind("change", Access::Tell, word::WRITE).quiet();
const SEE: Op = Op::of_kind("see", Access::Peek, word::READ).quiet();
const READ: Op = Op::of_kind("read", Access::Peek, clock::READ).quiet();

/// The rate of true time: the nanoseconds that a true clock counts in a second.
const SECOND: i128 = 1_000_000_000;

/// The number of the fault that makes a timer late; see [`World::suffers`].
const LATE_TIMER: usize = 15;

/// The possible delays of a late timer, in nanoseconds: 0, 1 ms, 20 ms, 500 ms.
const LATE: [u64; 4] = [0, 1_000_000, 20_000_000, 500_000_000];

/// A moment on the clock of a life.
///
/// Each life has a span of 2^40 seconds of the run's time. The spans do not overlap, so moments of different lives are
/// never equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    pub(crate) life: Life,
    /// The nanoseconds that the clock has counted.
    pub(crate) at: u64,
}

impl Moment {
    const SPAN_BITS: u32 = 40;

    pub(crate) fn of(since: Duration) -> Moment {
        let span = since.as_secs() >> Moment::SPAN_BITS;
        let seconds = since.as_secs() & ((1 << Moment::SPAN_BITS) - 1);
        let within = Duration::new(seconds, since.subsec_nanos());
        let at = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        Moment { life: Life(span.try_into().unwrap_or(u32::MAX)), at }
    }

    pub(crate) fn since_start(self) -> Duration {
        let span = u64::from(self.life.0) << Moment::SPAN_BITS;
        Duration::from_secs(span) + Duration::from_nanos(self.at)
    }
}

/// The clock of a node.
#[derive(Debug)]
pub(super) struct NodeClock {
    /// The object that orders changes of the clock.
    mark: ObjectId,
    /// The time of the run at the last rate change, and the count of the clock at that time.
    since: u64,
    counted: u64,
    /// The deviation of the clock rate from true time, in billionths.
    drift: i64,
    /// The difference between the node's wall clock and the count of this clock.
    ahead: i64,
    /// The number of timers per task that may be late.
    pub(super) late: u8,
    pub(super) met: ClockMet,
}

impl NodeClock {
    fn new(mark: ObjectId) -> NodeClock {
        let met = ClockMet::default();
        NodeClock { mark, since: 0, counted: 0, drift: 0, ahead: 0, late: 0, met }
    }

    fn is_true(&self) -> bool {
        self.drift == 0 && self.since == self.counted
    }

    /// Returns the count at a time of the run.
    fn count(&self, now: u64) -> u64 {
        if self.is_true() {
            return now;
        }
        let passed = i128::from(now) - i128::from(self.since);
        let counted = passed * (SECOND + i128::from(self.drift)) / SECOND;
        u64::try_from(i128::from(self.counted) + counted).unwrap_or(u64::MAX)
    }

    /// Returns the first time of the run at which the count is `at` or more. The count must not have passed `at` yet.
    fn due(&self, at: u64) -> u64 {
        if self.is_true() {
            return at;
        }
        let left = (i128::from(at) - i128::from(self.counted)).max(0) * SECOND;
        let rate = SECOND + i128::from(self.drift);
        let wait = (left + rate - 1) / rate;
        u64::try_from(i128::from(self.since) + wait).unwrap_or(u64::MAX)
    }

    /// Returns the wall clock, in nanoseconds since the start of the run.
    fn wall(&self, now: u64) -> i64 {
        signed(self.count(now)).saturating_add(self.ahead)
    }

    fn offset(&self, now: u64) -> i64 {
        self.wall(now).saturating_sub(signed(now))
    }

    fn change(&mut self, change: ClockChange, now: u64) {
        let drift = match change {
            ClockChange::Jump(by) => {
                self.ahead = self.ahead.saturating_add(by);
                return;
            }
            ClockChange::Offset(offset) => {
                let wall = signed(now).saturating_add(offset);
                self.ahead = wall.saturating_sub(signed(self.count(now)));
                return;
            }
            ClockChange::Correct => {
                self.ahead = signed(now) - signed(self.count(now));
                0
            }
            ClockChange::Drift(drift) => drift,
        };
        (self.counted, self.since, self.drift) = (self.count(now), now, drift);
    }
}

fn signed(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}

impl RunState {
    /// Returns the clock of a life. `None` outside of nodes, where the clock is true.
    pub(super) fn clock_of(&mut self, life: Life) -> Option<&mut NodeClock> {
        let clock = self.lives.node_of(life)?;
        self.parts.get_mut::<Nodes>().clocks.get_mut(clock as usize)
    }

    /// Returns the current time on the clock of a life.
    fn moment(&mut self, life: Life) -> Moment {
        let now = self.timers().now;
        Moment { life, at: self.clock_of(life).map_or(now, |clock| clock.count(now)) }
    }

    /// Returns the current time on the clock of the running code.
    pub(super) fn local_now(&mut self) -> Moment {
        let life = self.running_life();
        let moment = self.moment(life);
        if let Some(clock) = self.clock_of(life) {
            clock.met.timers += u64::from(clock.drift != 0);
        }
        moment
    }

    /// Returns the time of the run at which a moment is reached.
    pub(super) fn due(&mut self, moment: Moment) -> u64 {
        self.clock_of(moment.life).map_or(moment.at, |clock| clock.due(moment.at))
    }

    /// Recomputes the times at which timers of a clock are due.
    fn retime(&mut self, clock: u32) {
        let mut moved = 0;
        for nth in 0..self.timers().announced.len() {
            let timer = self.timers().announced[nth];
            let is_of_clock = self.lives.node_of(timer.until.life) == Some(clock);
            if is_of_clock && self.moment(timer.until.life).at < timer.until.at {
                let due = self.due(timer.until).saturating_add(timer.late);
                moved += u64::from(due != timer.due);
                self.parts.get_mut::<Timers>().announced[nth].due = due;
            }
        }
        self.parts.get_mut::<Nodes>().clocks[clock as usize].met.timers += moved;
    }
}

impl World {
    /// Adds the clock of a node. Changes of the clock are operations on `mark`. Returns the number of the clock.
    pub(crate) fn add_clock(&self, mark: ObjectId) -> u32 {
        let mut state = self.state();
        let Nodes { clocks, .. } = state.parts.get_mut();
        clocks.push(NodeClock::new(mark));
        clocks.len() as u32 - 1
    }

    /// Changes the clock of a node.
    pub(crate) fn change_clock(&self, clock: u32, change: ClockChange, place: Place) {
        let time = object_id(&CLOCK, ValueKind::Time, place, || 0);
        let mut state = self.state();
        let now = state.timers().now;
        let row = &mut state.parts.get_mut::<Nodes>().clocks[clock as usize];
        row.change(change, now);
        let mark = row.mark;
        state.happened(&CHANGE, Some(mark), place, Values::None);
        if !matches!(change, ClockChange::Jump(_)) {
            state.happened(&ADJUST, Some(time), place, Values::None);
            state.retime(clock);
        }
        state.needs_work();
    }

    /// Reads the state of the clock of a node.
    pub(crate) fn clock_state(&self, clock: u32, place: Place) -> ClockState {
        let time = object_id(&CLOCK, ValueKind::Time, place, || 0);
        let mut state = self.state();
        let (now, row) = (state.timers().now, &state.parts.get::<Nodes>().clocks[clock as usize]);
        let (mark, read) = (row.mark, ClockState { offset: row.offset(now), drift: row.drift });
        state.happened(&SEE, Some(mark), place, Values::None);
        state.happened(&READ, Some(time), place, Values::None);
        read
    }

    /// Returns `true` if the clock of a node has an offset or a drift. Only changes of the clock affect the result, so
    /// a search gets no conflict with the time.
    pub(crate) fn is_clock_wrong(&self, clock: u32, place: Place) -> bool {
        let mut state = self.state();
        let (now, row) = (state.timers().now, &state.parts.get::<Nodes>().clocks[clock as usize]);
        let (mark, is_wrong) = (row.mark, row.drift != 0 || row.offset(now) != 0);
        state.happened(&SEE, Some(mark), place, Values::None);
        is_wrong
    }

    /// Returns `true` if timers of a node may be late. The caller has recorded that it looks at the node.
    pub(crate) fn has_late_timers(&self, clock: u32) -> bool {
        self.state().parts.get::<Nodes>().clocks[clock as usize].late > 0
    }

    /// Returns the number of events that observed that the clock of a node is not true.
    pub(crate) fn clock_met(&self, clock: u32) -> ClockMet {
        self.state().parts.get::<Nodes>().clocks[clock as usize].met
    }

    /// Reads the wall clock of the running code by the operation `op`. The result is in nanoseconds since the start of
    /// the run.
    pub(crate) fn read_wall(&self, op: &'static Op, time: ObjectId, place: Place) -> i64 {
        let mut state = self.state();
        let (now, life) = (state.timers().now, state.running_life());
        let (mut wall, mut mark) = (signed(now), None);
        if let Some(clock) = state.clock_of(life) {
            wall = clock.wall(now);
            mark = Some(clock.mark);
            clock.met.walls += u64::from(wall != signed(now));
        }
        if mark.is_some() {
            state.happened(&SEE, mark, place, Values::None);
        }
        let values = u64::try_from(wall).map_or(Values::None, Values::Read);
        state.happened(op, Some(time), place, values);
        wall
    }

    /// Returns the name of the life to which a moment belongs, for error messages.
    pub(crate) fn clock_name(&self, moment: Moment) -> String {
        let state = self.state();
        match state.lives.name_of(moment.life) {
            Some((name, 1)) => name.to_string(),
            Some((name, life)) => format!("{name} in life {life}"),
            None => "the test outside of nodes".to_owned(),
        }
    }

    /// Draws the delay of a timer of the current task.
    pub(super) fn draw_lateness(&self) -> u64 {
        let mut state = self.state();
        let life = state.running_life();
        let Some(budget) = state.clock_of(life).map(|clock| clock.late).filter(|late| *late > 0)
        else {
            return 0;
        };
        drop(state);
        let rung = self.suffers(LATE_TIMER, (LATE.len() as u64, budget), "a late timer");
        LATE[rung as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(changes: &[(u64, ClockChange)]) -> NodeClock {
        let mut clock = NodeClock::new(ObjectId::new(0));
        changes.iter().for_each(|(now, change)| clock.change(*change, *now));
        clock
    }

    const TENTH: i64 = 100_000_000;

    #[test]
    fn a_clock_goes_at_its_rate_and_on_when_the_rate_changes() {
        let fast = clock(&[(1_000, ClockChange::Drift(TENTH))]);
        assert_eq!([500, 1_000, 2_000].map(|now| fast.count(now)), [450, 1_000, 2_100]);
        let slow =
            clock(&[(1_000, ClockChange::Drift(TENTH)), (2_000, ClockChange::Drift(-TENTH))]);
        assert_eq!([2_000, 3_000].map(|now| slow.count(now)), [2_100, 3_000]);
        assert_eq!((slow.offset(2_000), slow.offset(3_000)), (100, 0));
    }

    #[test]
    fn a_deadline_is_due_at_the_first_time_that_has_it() {
        for drift in [-TENTH, -1, 0, 1, 3, 77_777, TENTH, 900_000_000, -900_000_000] {
            let clock = clock(&[(7, ClockChange::Drift(drift)), (1_000, ClockChange::Jump(-5))]);
            for at in (clock.count(1_000) + 1)..3_000 {
                let due = clock.due(at);
                assert!(clock.count(due) >= at && clock.count(due - 1) < at, "{drift} {at} {due}");
            }
        }
    }

    #[test]
    fn a_jump_moves_the_wall_clock_alone() {
        let jumped = clock(&[(10, ClockChange::Jump(-50))]);
        assert_eq!((jumped.count(100), jumped.wall(100), jumped.due(200)), (100, 50, 200));
        let set = clock(&[(10, ClockChange::Drift(TENTH)), (1_010, ClockChange::Offset(-7))]);
        assert_eq!((set.offset(1_010), set.offset(2_010)), (-7, 93));
        let mut corrected = set;
        corrected.change(ClockChange::Correct, 2_010);
        assert_eq!((corrected.offset(2_010), corrected.offset(9_999)), (0, 0));
        assert_eq!(corrected.count(2_010), 2_210, "timers do not jump");
        corrected.change(ClockChange::Offset(-i64::MAX), 2_010);
        assert_eq!(corrected.wall(2_010), i64::MIN + 2_210, "it cannot be further behind");
    }

    #[test]
    fn moments_of_lives_have_nothing_to_do_with_each_other() {
        for (number, at) in [(0, 0), (0, u64::MAX), (1, 5), (70_000, u64::MAX)] {
            let moment = Moment { life: Life(number), at };
            assert_eq!(Moment::of(moment.since_start()), moment);
        }
    }
}
