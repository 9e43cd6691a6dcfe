//! The live view: a test that takes more than two seconds shows its progress on a terminal.
//!
//! The test overwrites a single line on the process's standard error, which no harness captures, and clears the line at
//! the end. If several tests run in parallel, only one of them shows its line at a time. Without a terminal, for
//! example in a build log, a test writes a new line every 30 seconds.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use unpause_check::picture::screen::percent;

use crate::engine::runner::is_line_open;

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

/// The progress line of a test. It is cleared on drop.
pub(crate) struct Live<'a> {
    test: &'a str,
    began: Instant,
    is_terminal: bool,
    /// The time of the last write, since the test began; `None` before the first write.
    written: Mutex<Option<Duration>>,
}

impl<'a> Live<'a> {
    /// Creates the line of a test that begins now. Costs a check for a terminal.
    pub(crate) fn begin(test: &'a str) -> Live<'a> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_terminal = !is_dumb && io::stderr().is_terminal();
        Live { test, began: Instant::now(), is_terminal, written: Mutex::new(None) }
    }

    /// Returns `true` if the test currently shows its line.
    #[allow(dead_code, reason = "the real build has no searches")]
    pub(crate) fn is_on(&self) -> bool {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Updates the line on a terminal if an update is due. `text` receives the time since the test began. Without a
    /// terminal this function costs only a branch.
    #[inline]
    pub(crate) fn look(&self, text: impl FnOnce(Duration) -> String) {
        if self.is_terminal {
            self.look_at(self.began.elapsed(), text, &mut io::stderr());
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
            // The harness may have left its own line incomplete. A single write call keeps the lines of several tests
            // apart.
            let begin = if is_line_open() { "\n" } else { "" };
            let _ = to.write_all(format!("{begin}{}: {}\n", self.test, text(now)).as_bytes());
        }
    }

    fn look_at(&self, now: Duration, text: impl FnOnce(Duration) -> String, to: &mut dyn Write) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = match *written {
            None if now < FIRST || SHOWN.swap(true, Ordering::Relaxed) => return,
            None if is_line_open() => "\n",
            Some(last) if now < last + EVERY => return,
            _ => "",
        };
        *written = Some(now);
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

/// Returns the line of a search that has completed `runs` runs in the time `now`. `part` is the estimated completed
/// share of the search, if known.
#[allow(dead_code, reason = "the real build has no searches")]
pub(crate) fn search(
    runs: u64,
    part: Option<f64>,
    limit: Option<Duration>,
    now: Duration,
) -> String {
    let seconds = now.as_secs_f64();
    let rate = grouped((runs as f64 / seconds) as u64);
    let by_part = part.map_or(f64::INFINITY, |part| seconds / part - seconds);
    let by_time = limit.map_or(f64::INFINITY, |limit| limit.saturating_sub(now).as_secs_f64());
    let left = left(by_part.min(by_time));
    let share = part.map(|part| format!(", about {} % of the search", percent(part, 1)));
    format!("{} runs, {rate} a second{}{left}", grouped(runs), share.unwrap_or_default())
}

/// Returns the remaining time after a comma, or an empty text if it is unknown.
fn left(seconds: f64) -> String {
    match seconds {
        unknown if !unknown.is_finite() => String::new(),
        short if short < 100.0 => format!(", {short:.0} s left"),
        medium if medium < 6000.0 => format!(", {:.0} min left", medium / 60.0),
        long if long < 360_000.0 => format!(", {:.0} h left", long / 3600.0),
        _ => ", days left".to_owned(),
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

    fn live(test: &str) -> Live<'_> {
        Live { test, began: Instant::now(), is_terminal: false, written: Mutex::new(None) }
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
        for (runs, part, limit, expected) in [
            (
                18_230,
                Some(0.25),
                None,
                "18,230 runs, 4,557 a second, about 25.0 % of the search, 12 s left",
            ),
            (18_230, Some(0.0), None, "18,230 runs, 4,557 a second, about 0.0 % of the search"),
            (
                18_230,
                Some(1e-9),
                Some(10),
                "18,230 runs, 4,557 a second, about < 0.1 % of the search, 6 s left",
            ),
            (18_230, None, None, "18,230 runs, 4,557 a second"),
            (18_230, None, Some(10), "18,230 runs, 4,557 a second, 6 s left"),
        ] {
            assert_eq!(
                search(runs, part, limit.map(|seconds| seconds * second), 4 * second),
                expected
            );
        }
    }
}
