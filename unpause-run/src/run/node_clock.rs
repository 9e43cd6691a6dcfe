//! Node clocks as data: their changes, their state, and the events that used an incorrect clock.

/// A change of a node clock, in nanoseconds or in billionths of the clock rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockChange {
    /// The clock runs faster than true time by this much.
    Drift(i64),
    /// The wall clock jumps forward by this much.
    Jump(i64),
    /// The wall clock is ahead of true time by this much.
    Offset(i64),
    /// The wall clock shows true time and runs at its rate.
    Correct,
}

/// The state of a node clock: the offset in nanoseconds, and the drift in billionths of the clock rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockState {
    pub offset: i64,
    pub drift: i64,
}

/// The numbers of events that used an incorrect node clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClockMet {
    /// The number of reads of the wall clock.
    pub walls: u64,
    /// The number of timer effects: a timer began to wait at another rate, a rate change moved a deadline, or the time
    /// was read.
    pub timers: u64,
    /// The number of steps that took time.
    pub steps: u64,
}
