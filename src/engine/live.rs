//! The live view: a test that takes more than two seconds shows its progress on a terminal.
//!
//! The test overwrites a single line on the process's standard error, which no harness captures, and clears the line at
//! the end. If several tests run in parallel, only one of them shows its line at a time. Without a terminal, for
//! example in a build log, a test writes a new line every 30 seconds.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::engine::runner::is_line_open;
use crate::report::Excess;

/// The delay before the first line on a terminal.
const FIRST: Duration = Duration::from_secs(2);

/// The minimum time between two updates of the line on a terminal.
const EVERY: Duration = Duration::from_millis(250);

/// Without a terminal: the delay before the first line, and the time between successive lines.
const PLAIN: Duration = Duration::from_secs(30);

/// The maximum length of a line: the 80 columns of a narrow terminal, without the last.
const WIDTH: usize = 79;

/// True while a test of this process shows its line.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// The progress line of a test. The line is cleared on drop.
pub(crate) struct Live<'a> {
    test: &'a str,
    began: Instant,
    is_terminal: bool,
    /// The time of the last write, since the test began; `None` before the first write.
    written: Mutex<Option<Duration>>,
    /// The time of the next update on a terminal, in milliseconds since the test began. Before this time, threads that
    /// check it in each run take no lock.
    next: AtomicU64,
    /// True after the first write.
    is_on: AtomicBool,
}

impl<'a> Live<'a> {
    /// Creates the line of a test that begins now. This call checks if the output is a terminal.
    pub(crate) fn begin(test: &'a str) -> Live<'a> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_terminal = !is_dumb && io::stderr().is_terminal();
        let (written, is_on) = (Mutex::new(None), AtomicBool::new(false));
        let next = AtomicU64::new(milliseconds(FIRST));
        Live { test, began: Instant::now(), is_terminal, written, next, is_on }
    }

    /// Returns `true` if the test has shown its line. Takes no lock, so the caller may hold a lock that the text needs.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Updates the line on a terminal if an update is due. `text` receives the time since the test began. Without a
    /// terminal this function costs only a branch.
    #[inline]
    pub(crate) fn look(&self, text: impl FnOnce(Duration) -> String) {
        if self.is_terminal {
            let now = self.began.elapsed();
            if milliseconds(now) >= self.next.load(Ordering::Relaxed) {
                self.look_at(now, text, &mut io::stderr());
            }
        }
    }

    /// Writes a line if the output is not a terminal and a line is due. Reads the clock, so it must not be called in
    /// each run.
    pub(crate) fn look_plainly(&self, text: impl FnOnce(Duration) -> String) {
        if !self.is_terminal {
            self.look_plainly_at(self.began.elapsed(), text, &mut io::stderr());
        }
    }

    fn look_plainly_at(
        &self,
        now: Duration,
        text: impl FnOnce(Duration) -> String,
        to: &mut dyn Write,
    ) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.unwrap_or_default() + PLAIN <= now {
            *written = Some(now);
            self.is_on.store(true, Ordering::Relaxed);
            // The harness may have left its own line incomplete. A single write call keeps the lines of several tests
            // apart.
            let begin = if is_line_open() { "\n" } else { "" };
            let _ = to.write_all(format!("{begin}{}: {}\n", self.test, text(now)).as_bytes());
        }
    }

    fn look_at(&self, now: Duration, text: impl FnOnce(Duration) -> String, to: &mut dyn Write) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let last = written.unwrap_or(now);
        self.next.store(milliseconds(FIRST.max(last + EVERY)), Ordering::Relaxed);
        let begin = match *written {
            None if now < FIRST || SHOWN.swap(true, Ordering::Relaxed) => return,
            None if is_line_open() => "\n",
            Some(last) if now < last + EVERY => return,
            _ => "",
        };
        *written = Some(now);
        self.next.store(milliseconds(now + EVERY), Ordering::Relaxed);
        self.is_on.store(true, Ordering::Relaxed);
        let line = line(self.test, &text(now));
        // The cursor returns to the first column, so that the next output overwrites the line.
        let _ = write!(to, "{begin}\r\x1b[2K{line}\r").and_then(|()| to.flush());
    }

    fn clear(&self, to: &mut dyn Write) {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        if written.is_some() {
            let _ = write!(to, "\r\x1b[2K").and_then(|()| to.flush());
            SHOWN.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        if self.is_terminal {
            self.clear(&mut io::stderr());
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Formats the line within its maximum length. If the test name is too long, only its end is shown.
fn line(test: &str, text: &str) -> String {
    let room = WIDTH.saturating_sub(text.chars().count() + 2);
    let over = test.chars().count().saturating_sub(room);
    let end = || test.chars().skip(over + 1).collect::<String>();
    let name = if over == 0 { test.to_owned() } else { format!("…{}", end()) };
    format!("{name}: {text}").chars().take(WIDTH).collect()
}

/// Returns the line of a test that has run `done` of `all` seeds in the time `now`. The remaining time takes the time
/// `limit` into account.
pub(crate) fn seeds(done: u64, all: u64, limit: Option<Duration>, now: Duration) -> String {
    let rate = done as f64 / now.as_secs_f64();
    let by_rate = all.saturating_sub(done) as f64 / rate;
    let by_time = limit.map_or(f64::INFINITY, |limit| limit.saturating_sub(now).as_secs_f64());
    let left = left(by_rate.min(by_time));
    format!("{} of {} seeds, {} a second{left}", grouped(done), grouped(all), grouped(rate as u64))
}

/// The progress of a search, for its line.
#[allow(dead_code, reason = "the real build has no searches")]
pub(crate) struct SearchLine {
    /// The number of runs so far, including the runs of earlier processes.
    pub(crate) runs: u64,
    /// The number of runs per second in this process.
    pub(crate) rate: f64,
    /// The estimated number of all runs, and the ends of its interval, if known.
    pub(crate) all: Option<[f64; 3]>,
    /// The bound of these runs, such as `at most 2 preemptions`, if any.
    pub(crate) bound: Option<String>,
    /// The estimated number of runs until the end, if known.
    pub(crate) left: Option<f64>,
    /// `Some` if the search needs more runs than its limit allows.
    pub(crate) excess: Option<Excess>,
}

/// Returns the line of a search at the time `now`. The remaining time takes the time `limit` into account.
#[allow(dead_code, reason = "the real build has no searches")]
pub(crate) fn search(line: &SearchLine, limit: Option<Duration>, now: Duration) -> String {
    let SearchLine { runs, rate, all, bound, left, excess } = line;
    let rate_text = format!("{} a second", grouped(*rate as u64));
    let runs = grouped(*runs);
    let within = bound.as_ref().map_or_else(String::new, |bound| format!(" with {bound}"));
    let by_time = limit.map_or(f64::INFINITY, |limit| limit.saturating_sub(now).as_secs_f64());
    let Some([all, low, high]) = all.map(|all| all.map(short)) else {
        return format!("{runs} runs{within}, {rate_text}{}", self::left(by_time));
    };
    let shown = format!("{runs} of {all} runs{within} ({low} to {high})");
    if let Some(Excess { limit, fits }) = excess {
        // The search stops at its limit, so the time until its end means nothing.
        let fits = fits.map(|fits| format!(", preemptions:{} fits", fits.preemptions));
        return format!("{shown}, limit {}{}", short(*limit as f64), fits.unwrap_or_default());
    }
    let by_rate = left.map_or(f64::INFINITY, |left| left / rate);
    let is_ended_by_time = by_time < by_rate;
    let by_limit = time(by_time).filter(|_| is_ended_by_time);
    let by_limit = by_limit.map(|time| format!(", time limit in {time}")).unwrap_or_default();
    format!("{shown}, {rate_text}{}{by_limit}", self::left(by_rate))
}

/// Returns the remaining time after a comma, or an empty text if it is unknown.
fn left(seconds: f64) -> String {
    time(seconds).map(|time| format!(", {time} left")).unwrap_or_default()
}

/// Returns a time as text, `None` if it is not finite.
fn time(seconds: f64) -> Option<String> {
    match seconds {
        unknown if !unknown.is_finite() => None,
        short if short < 100.0 => Some(format!("{short:.0} s")),
        medium if medium < 6000.0 => Some(format!("{:.0} min", medium / 60.0)),
        long if long < 360_000.0 => Some(format!("{:.0} h", long / 3600.0)),
        _ => Some("days".to_owned()),
    }
}

/// Formats a number of runs. A number from 10,000 on has two significant digits: `1.2M`.
fn short(number: f64) -> String {
    if number < 1e4 {
        return grouped(number.round() as u64);
    }
    // An interval may have no finite end.
    let number = number.min(1e99);
    let unit = 10f64.powi(number.log10().floor() as i32 - 1);
    match (number / unit).round() * unit {
        rounded if rounded < 1e6 => format!("{:.0}k", rounded / 1e3),
        rounded if rounded < 1e7 => format!("{:.1}M", rounded / 1e6),
        rounded if rounded < 1e9 => format!("{:.0}M", rounded / 1e6),
        rounded => format!("{rounded:.1e}"),
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let begin = |at: usize| at > 0 && (digits.len() - at) % 3 == 0;
    let parts = digits
        .chars()
        .enumerate()
        .flat_map(|(at, digit)| begin(at).then_some(',').into_iter().chain([digit]));
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::FittingBound;

    fn live(test: &str) -> Live<'_> {
        let (written, is_on) = (Mutex::new(None), AtomicBool::new(false));
        let next = AtomicU64::new(milliseconds(FIRST));
        Live { test, began: Instant::now(), is_terminal: false, written, next, is_on }
    }

    #[test]
    fn without_a_terminal_a_line_comes_each_half_minute() {
        let slow = live("slow");
        let at = |seconds| {
            let mut out = Vec::new();
            let text = |now: Duration| format!("{} s", now.as_secs());
            slow.look_plainly_at(Duration::from_secs(seconds), text, &mut out);
            String::from_utf8(out).unwrap().trim_start_matches('\n').to_owned()
        };
        let lines = [29, 30, 31, 59, 60, 200, 201].map(at);
        assert_eq!(lines, ["", "slow: 30 s\n", "", "", "slow: 60 s\n", "slow: 200 s\n", ""]);
        assert!(slow.is_on() && !live("quick").is_on());
    }

    #[test]
    fn a_line_whose_text_waits_for_a_lock_can_be_looked_at_under_this_lock() {
        let (slow, state) = (live("slow"), Mutex::new(()));
        let held = state.lock().unwrap();
        std::thread::scope(|scope| {
            let (state, view) = (&state, &slow);
            let text = move |_: Duration| {
                drop(state.lock().unwrap());
                String::new()
            };
            scope.spawn(move || view.look_plainly_at(PLAIN, text, &mut Vec::new()));
            // A search calls this while it holds the lock of its state.
            while !slow.is_on() {
                std::thread::yield_now();
            }
            drop(held);
        });
    }

    #[test]
    fn a_line_comes_after_two_seconds_and_is_written_over_and_cleared() {
        let (slow, beside) = (live("slow"), live("beside"));
        let at = |live: &Live<'_>, milliseconds| {
            let mut out = Vec::new();
            live.look_at(
                Duration::from_millis(milliseconds),
                |now| format!("{} s", now.as_secs_f64()),
                &mut out,
            );
            String::from_utf8(out).unwrap().trim_start_matches('\n').to_owned()
        };
        assert_eq!(at(&slow, 1999), "");
        assert_eq!(at(&slow, 2000), "\r\x1b[2Kslow: 2 s\r");
        assert_eq!(at(&beside, 2100), "", "the place is taken");
        assert_eq!(at(&slow, 2249), "");
        assert_eq!(at(&slow, 2250), "\r\x1b[2Kslow: 2.25 s\r");
        let mut out = Vec::new();
        slow.clear(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\r\x1b[2K");
        assert_eq!(at(&beside, 2300), "\r\x1b[2Kbeside: 2.3 s\r");
        let long = "n".repeat(200);
        beside.clear(&mut Vec::new());
        assert_eq!(at(&live(&long), 2000), format!("\r\x1b[2K…{}: 2 s\r", "n".repeat(WIDTH - 6)));
        assert_eq!(line(&long, &long).chars().count(), WIDTH);
    }

    #[test]
    fn a_line_says_how_far_the_test_is() {
        let second = Duration::from_secs(1);
        for (done, all, limit, seconds, expected) in [
            (12_400, 1_000_000, None, 2, "12,400 of 1,000,000 seeds, 6,200 a second, 3 min left"),
            (100, 300, Some(60), 4, "100 of 300 seeds, 25 a second, 8 s left"),
            (100, 300, Some(5), 4, "100 of 300 seeds, 25 a second, 1 s left"),
            (0, 300, None, 3, "0 of 300 seeds, 0 a second"),
            (1, 1_000_000, None, 3, "1 of 1,000,000 seeds, 0 a second, days left"),
        ] {
            let limit = limit.map(|seconds| seconds * second);
            assert_eq!(seeds(done, all, limit, seconds * second), expected);
        }
    }

    /// A search with these runs and this estimate, with 4,557 runs per second.
    fn line_of(runs: u64, all: Option<[f64; 3]>) -> SearchLine {
        let left = all.map(|[all, ..]| all - runs as f64);
        SearchLine { runs, rate: 4_557.5, all, bound: None, left, excess: None }
    }

    #[test]
    fn the_line_of_a_search_shows_its_estimate_with_the_interval_and_the_total() {
        let second = Duration::from_secs(1);
        let known = |runs, all| line_of(runs, Some(all));
        for (line, limit, expected) in [
            (
                known(18_230, [72_920.0, 61_000.0, 85_444.0]),
                None,
                "18,230 of 73k runs (61k to 85k), 4,557 a second, 12 s left",
            ),
            (
                known(18_230, [5.55e7, 2.6e7, 8.4e7]),
                None,
                "18,230 of 56M runs (26M to 84M), 4,557 a second, 3 h left",
            ),
            (
                known(18_230, [5.55e7, 2.6e7, 8.4e7]),
                Some(10),
                "18,230 of 56M runs (26M to 84M), 4,557 a second, 3 h left, time limit in 6 s",
            ),
            (
                known(2_000, [9_999.0, 1.26e6, f64::INFINITY]),
                Some(100),
                "2,000 of 9,999 runs (1.3M to 1.0e99), 4,557 a second, 2 s left",
            ),
            (line_of(18_230, None), None, "18,230 runs, 4,557 a second"),
            (line_of(18_230, None), Some(10), "18,230 runs, 4,557 a second, 6 s left"),
        ] {
            assert_eq!(search(&line, limit.map(|seconds| seconds * second), 4 * second), expected);
        }
    }

    #[test]
    fn the_line_of_a_search_shows_its_bound_or_the_bound_that_fits() {
        let estimated = || line_of(1_230, Some([41_000.0, 36_000.0, 46_000.0]));
        let bounded = |line| SearchLine { bound: Some("at most 3 preemptions".to_owned()), ..line };
        let text = |line: &SearchLine| search(line, None, Duration::from_secs(4));
        let expected =
            "1,230 of 41k runs with at most 3 preemptions (36k to 46k), 4,557 a second, 9 s left";
        assert_eq!(text(&bounded(estimated())), expected);
        let expected = "1,230 runs with at most 3 preemptions, 4,557 a second";
        assert_eq!(text(&bounded(line_of(1_230, None))), expected);
        let of_fits = |fits| {
            let excess = Some(Excess { limit: 30_000, fits });
            text(&SearchLine { excess, ..estimated() })
        };
        let fits = FittingBound { preemptions: 2, runs: 900 };
        let expected = "1,230 of 41k runs (36k to 46k), limit 30k";
        assert_eq!(of_fits(None), expected);
        assert_eq!(of_fits(Some(fits)), format!("{expected}, preemptions:2 fits"));
    }
}
