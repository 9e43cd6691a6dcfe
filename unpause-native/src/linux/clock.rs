//! libc functions that read a clock or sleep. They use virtual time, in nanoseconds. The time advances when all threads
//! wait. A thread that does nothing but read the clock counts as waiting.
//!
//! Each reading is later than the previous one, as on a real machine, because programs order events by their times. For
//! this, the run counts its readings and adds them to its time, but they are not a part of the time. The end of a wait
//! does not depend on the number of earlier readings, so equal waits end at the same time and in any order. A search
//! does not try the orders of readings, so in a search, two readings at the same time are equal.
//!
//! The clocks since the boot of the system may start at another time in each run. Some generators of random numbers
//! derive their seeds from these clocks, so their numbers would otherwise be the same in all runs.

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::sync::OnceLock;
use std::time::Duration;

use object::{Object, ObjectSymbol};

use super::heap;
use super::local::{BEGIN, Run};
use super::program::program;
use super::real::real;
use super::request::Request;
use super::switch::frame_pointer;
use super::thread::current;

const SECOND: u64 = 1_000_000_000;

/// The calendar time at the start of each run, in nanoseconds since 1970: the first of January 2026, as in runs of
/// async tests.
const DATE: u64 = 1_767_225_600 * SECOND;

/// The number of readings without a wait in between after which a thread may be waiting for a time. A thread that
/// changes memory between its readings sleeps before each further reading.
const READS: u32 = 16;

/// The number of readings after which a thread that changes nothing sleeps. A loop that looks for work in several
/// places may read the clock a hundred times before it waits, while no time passes. For example, crossbeam's `select`
/// reads it 11 times for each timer. Before this number, the thread lets other threads run first, once in [`READS`]
/// readings.
const POLLS: u32 = 128;

/// A program with more live allocations than this may have a task or an entry in each of them, and may read the clock
/// for each. So the readings of its threads do not count as loops, unless their number far exceeds the number of
/// allocations.
const MANY: u32 = 256;

/// The number of such readings allowed for each allocation above `MANY`. For example, a bb8 task that waits for a
/// connection reads the clock four times, and has two allocations.
const FOR_EACH: u32 = 4;

/// The nanoseconds per reading that [`READS`] such readings take: the nth reading takes n/4 ns. So 100,000 readings
/// take little more than a second, and a loop that adds an entry in each round still reaches any time.
const SLEEP_FOR_MANY: u64 = 4;

/// The duration of the first such sleep, in nanoseconds.
const SLEEP: u64 = 1_000;

/// The difference between two readings at the same time, in nanoseconds.
const READING: u64 = 1;

/// A wait ends at a multiple of this number of nanoseconds. It exceeds the readings between the computation of a
/// deadline and the wait, which are not a part of the time.
const GRAIN: u64 = 1_000;

/// The clock readings of a thread since its last sleep or wait.
#[derive(Clone, Copy, Default)]
pub(crate) struct Readings {
    /// The number of readings since the thread last changed memory by an atomic operation.
    idle: u32,
    /// The number of readings before each of which the thread changed memory.
    at_work: u32,
    /// The number of readings for the allocations of a large program.
    for_many: u32,
    /// True if the thread has changed memory by an atomic operation since the last reading.
    pub(crate) has_changed: bool,
}

impl Readings {
    /// Returns the numbers that decide when a reading sleeps.
    pub(crate) fn numbers(&self) -> [usize; 4] {
        let Readings { idle, at_work, for_many, has_changed } = *self;
        [idle as usize, at_work as usize, for_many as usize, has_changed.into()]
    }

    /// Counts a reading. Returns the duration of the sleep before the reading, if any.
    ///
    /// A thread that changes nothing between its readings waits for a time. At first its sleeps take no time. Then the
    /// sleep doubles with each reading, so that some dozen readings reach any time. A thread that changes memory may do
    /// work with any number of readings, for example a cache that records the time of each entry. For such a thread,
    /// the nth sleep is n times the first sleep. So 1,400 readings take a second, and a million would take days.
    ///
    /// `peak` is the maximum number of live allocations in the run so far. `all_for_many` is the number of readings for
    /// these allocations, by all threads.
    fn count(&mut self, peak: u32, all_for_many: &mut u32) -> Option<u64> {
        let has_changed = std::mem::take(&mut self.has_changed);
        let may_loop = match has_changed {
            true => self.at_work + 1 >= READS,
            false => self.idle + 1 >= POLLS,
        };
        if may_loop && *all_for_many / FOR_EACH < peak.saturating_sub(MANY) {
            *all_for_many += 1;
            self.for_many += 1;
            let is_last = self.for_many.is_multiple_of(READS);
            return is_last.then(|| SLEEP_FOR_MANY * u64::from(self.for_many));
        }
        if has_changed {
            self.idle = 0;
            self.at_work = self.at_work.saturating_add(1);
            return self.at_work.checked_sub(READS).map(|more| SLEEP * (u64::from(more) + 1));
        }
        self.idle = self.idle.saturating_add(1);
        match self.idle.checked_sub(POLLS) {
            Some(more) => Some(SLEEP << more.min(40)),
            None => self.idle.is_multiple_of(READS).then_some(0),
        }
    }
}

impl Run {
    /// Returns the nanoseconds by which a clock is ahead of the virtual time.
    fn ahead(&self, clock: libc::clockid_t) -> u64 {
        let readings = self.readings.unwrap_or(0) * READING;
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_TAI => DATE - BEGIN + readings,
            libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_BOOTTIME => {
                self.uptime + readings
            }
            // A coarse clock is the kernel's time of the last tick.
            libc::CLOCK_REALTIME_COARSE => DATE - BEGIN,
            libc::CLOCK_MONOTONIC_COARSE => self.uptime,
            _ => readings,
        }
    }

    /// Makes the clocks since the boot of the system start this number of seconds later. Must be called before the
    /// first reading.
    pub(crate) fn set_uptime(&mut self, seconds: u64) {
        self.uptime = seconds.saturating_mul(SECOND);
    }

    /// Returns the virtual time at which a wait of `time` nanoseconds ends.
    pub(crate) fn in_nanoseconds(&self, time: u64) -> u64 {
        self.end_of_wait(self.now.saturating_add(time))
    }

    /// Returns the virtual time at which a wait of `time` nanoseconds ends that has begun at another virtual time.
    pub(crate) fn after(&self, begin: u64, time: u64) -> u64 {
        self.end_of_wait(begin.saturating_add(time))
    }

    /// Returns the virtual time at which a wait until a time of a clock ends.
    pub(crate) fn at(&self, clock: libc::clockid_t, time: u64) -> u64 {
        self.end_of_wait(time.saturating_sub(self.ahead(clock)))
    }

    /// Rounds up the end of a wait. A thread computes its deadline from a reading, and the remaining time from a later
    /// reading. Without rounding, two equal waits would end some nanoseconds apart, as if their order were known.
    fn end_of_wait(&self, time: u64) -> u64 {
        match self.readings {
            Some(_) => time.checked_next_multiple_of(GRAIN).unwrap_or(time),
            None => time,
        }
    }

    /// Returns the first time at which every reading is after the end of a wait.
    pub(crate) fn past(&self, deadline: u64) -> u64 {
        match self.readings {
            // The next reading is later in both cases.
            Some(_) => deadline,
            None => deadline.saturating_add(1),
        }
    }
}

/// Returns `true` if the program contains the crate fastrand. The seeds of its generators are hashes of the monotonic
/// clock and of thread ids, which are both equal in all runs.
pub fn has_seeds_of_clock() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let is_it = |symbol: &str| symbol.contains("8fastrand");
        program().is_ok_and(|program| program.symbols().any(|s| s.name().is_ok_and(is_it)))
    })
}

/// Returns a time in nanoseconds. `None` if the result is 2^64 or more, or the time is invalid.
///
/// # Safety
/// `time` must be null or valid.
pub(crate) unsafe fn nanoseconds(time: *const libc::timespec) -> Option<u64> {
    // SAFETY: the caller guarantees that the pointer is null or valid.
    let time = unsafe { time.as_ref() }?;
    let seconds = u64::try_from(time.tv_sec).ok()?.checked_mul(SECOND)?;
    seconds.checked_add(u64::try_from(time.tv_nsec).ok()?)
}

/// Returns a time in nanoseconds that no run reaches, if `time` is valid and longer than [`nanoseconds`] can return.
/// `thread::sleep(Duration::MAX)` waits for such a time.
///
/// # Safety
/// `time` must be null or valid.
unsafe fn endless(time: *const libc::timespec) -> Option<u64> {
    // Half of the range, because the current time is added to it.
    // SAFETY: the caller guarantees that the pointer is null or valid.
    unsafe { is_valid(time) }.then_some(i64::MAX as u64)
}

/// Returns `true` for a time that the kernel accepts.
///
/// # Safety
/// `time` must be null or valid.
pub(crate) unsafe fn is_valid(time: *const libc::timespec) -> bool {
    // SAFETY: the caller guarantees that the pointer is null or valid.
    let time = unsafe { time.as_ref() };
    time.is_some_and(|time| time.tv_sec >= 0 && (0..SECOND as i64).contains(&time.tv_nsec))
}

/// Returns the processor time of the calling OS thread. Must be called on the carrier: within a simulated thread, the
/// result would be virtual time.
pub fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: there is room for the result.
    unsafe {
        clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    if let Some(thread) = current() {
        let mut all_for_many = thread.run().readings_for_many;
        let sleep = thread.readings.count(heap::peak(), &mut all_for_many);
        thread.run().readings_for_many = all_for_many;
        if let Some(sleep) = sleep {
            let until = thread.run().now.saturating_add(sleep);
            thread.stop(Request::Sleep { until }, (0, frame_pointer()));
        }
        let run = thread.run();
        run.readings = run.readings.map(|readings| readings + 1);
        let now = run.now.saturating_add(run.ahead(clock));
        let (seconds, rest) = (now / SECOND, now % SECOND);
        // SAFETY: the caller provides room for the time.
        unsafe {
            *time = libc::timespec { tv_sec: seconds as i64, tv_nsec: rest as c_long };
        }
        return 0;
    }
    type GetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"clock_gettime", GetTime)(clock, time) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    if current().is_some() {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the caller provides room for the time, or passes null.
        unsafe {
            clock_gettime(libc::CLOCK_REALTIME, &mut now);
            if let Some(time) = time.as_mut() {
                *time = libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1_000 };
            }
        }
        return 0;
    }
    type GetTime = unsafe extern "C" fn(*mut libc::timeval, *mut c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"gettimeofday", GetTime)(time, zone) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(seconds: *mut libc::time_t) -> libc::time_t {
    if current().is_some() {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the caller provides room for the time, or passes null.
        unsafe {
            clock_gettime(libc::CLOCK_REALTIME, &mut now);
            if let Some(seconds) = seconds.as_mut() {
                *seconds = now.tv_sec;
            }
        }
        return now.tv_sec;
    }
    // SAFETY: the caller guarantees the argument.
    unsafe { real!(c"time", unsafe extern "C" fn(*mut libc::time_t) -> libc::time_t)(seconds) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    if let Some(thread) = current() {
        // SAFETY: the caller guarantees the time.
        let time = unsafe { endless(time).map(|endless| nanoseconds(time).unwrap_or(endless)) };
        let Some(time) = time else { return libc::EINVAL };
        let until = match flags & libc::TIMER_ABSTIME {
            0 => thread.run().in_nanoseconds(time),
            _ => thread.run().at(clock, time),
        };
        thread.readings = Readings::default();
        thread.stop(Request::Sleep { until }, (0, frame_pointer()));
        return 0;
    }
    type Sleep = unsafe extern "C" fn(
        libc::clockid_t,
        c_int,
        *const libc::timespec,
        *mut libc::timespec,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"clock_nanosleep", Sleep)(clock, flags, time, left) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    if current().is_some() {
        // SAFETY: the caller guarantees the arguments.
        return match unsafe { clock_nanosleep(libc::CLOCK_MONOTONIC, 0, time, left) } {
            0 => 0,
            error => fail(error),
        };
    }
    type Sleep = unsafe extern "C" fn(*const libc::timespec, *mut libc::timespec) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"nanosleep", Sleep)(time, left) }
}

/// Lets the current simulated thread sleep for some nanoseconds, in a function with this frame pointer. Returns `false`
/// outside of runs.
pub(crate) fn sleep_for(time: u64, frame: usize) -> bool {
    let Some(thread) = current() else { return false };
    let until = thread.run().in_nanoseconds(time);
    thread.readings = Readings::default();
    thread.stop(Request::Sleep { until }, (0, frame));
    true
}

// libc's own functions sleep by an internal call.

#[unsafe(no_mangle)]
unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    if sleep_for(u64::from(seconds) * SECOND, frame_pointer()) {
        return 0;
    }
    // SAFETY: the argument is a number.
    unsafe { real!(c"sleep", unsafe extern "C" fn(c_uint) -> c_uint)(seconds) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usleep(microseconds: c_uint) -> c_int {
    if sleep_for(u64::from(microseconds) * 1_000, frame_pointer()) {
        return 0;
    }
    // SAFETY: the argument is a number.
    unsafe { real!(c"usleep", unsafe extern "C" fn(c_uint) -> c_int)(microseconds) }
}

/// Sets `errno` and returns -1.
pub(crate) fn fail<T: From<i8>>(error: c_int) -> T {
    // SAFETY: libc provides an `errno` for each thread.
    unsafe { *libc::__errno_location() = error };
    T::from(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the time that passes in `count` readings, in nanoseconds. If `at_work` is true, each reading follows a
    /// change.
    fn passes(count: u32, at_work: bool) -> u64 {
        passes_with(count, at_work, &|_| MANY)
    }

    /// Returns the time that passes in `count` readings, in a program that has had `peak(n)` allocations at the nth
    /// reading.
    fn passes_with(count: u32, at_work: bool, peak: &dyn Fn(u32) -> u32) -> u64 {
        let (mut readings, mut all_for_many) = (Readings::default(), 0);
        let sleeps = (0..count).filter_map(|n| {
            readings.has_changed = at_work;
            readings.count(peak(n), &mut all_for_many)
        });
        sleeps.sum()
    }

    #[test]
    fn a_thread_that_waits_comes_to_any_time_soon_and_one_that_works_does_not() {
        assert_eq!((passes(POLLS - 1, false), passes(READS - 1, true)), (0, 0));
        assert_eq!((passes(POLLS, false), passes(READS, true)), (SLEEP, SLEEP));
        assert!(passes(POLLS + 44, false) > 3_600 * SECOND);
        assert!(passes(60, true) < SECOND / 100);
        assert!((SECOND..2 * SECOND).contains(&passes(1_500, true)));
        assert!(passes(4_000, true) < 10 * SECOND);
    }

    #[test]
    fn many_tasks_may_each_read_the_clock_and_a_loop_still_comes_to_any_time() {
        let tasks = 25_000;
        let of_tasks = |_| 2 * tasks;
        for (readings, at_work) in [(tasks, true), (4 * tasks, true), (4 * tasks, false)] {
            assert!(passes_with(readings, at_work, &of_tasks) < 2 * SECOND, "{readings}");
        }
        // A loop that has made readings for all allocations waits for a time.
        assert!(passes_with(8 * tasks + 5_000, true, &of_tasks) > 10 * SECOND);
        assert!(passes_with(8 * tasks + POLLS + 44, false, &of_tasks) > 3_600 * SECOND);
        // This is a loop that adds an entry in each round.
        for at_work in [true, false] {
            assert!(passes_with(100_000, at_work, &|n| 2 * n) > SECOND);
            assert!(passes_with(300_000, at_work, &|n| 2 * n) > 10 * SECOND);
        }
    }
}
