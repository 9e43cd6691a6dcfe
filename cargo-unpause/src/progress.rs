//! The progress of a command on long files: a single line on the terminal, which is overwritten repeatedly.

use std::io::Read;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// The number of outputs in a second.
const RATE: u8 = 4;

/// The progress line. Dropping this value erases the line.
pub(crate) struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// Returns a line on standard error. If `watched` is false, the line shows nothing.
    pub(crate) fn new(watched: bool) -> ProgressLine {
        let target = match watched {
            true => ProgressDrawTarget::stderr_with_hz(RATE),
            false => ProgressDrawTarget::hidden(),
        };
        let line = ProgressBar::with_draw_target(None, target);
        ProgressLine(line.with_finish(ProgressFinish::AndClear))
    }

    /// Returns `input`, but shows how much of it is read. `of` is the number of its bytes, if known.
    pub(crate) fn reading(&self, input: impl Read, of: Option<u64>) -> impl Read {
        let of = of.filter(|of| *of > 0);
        self.0.set_style(style(match of {
            Some(_) => "reading: {bytes} of {total_bytes}, {percent} %",
            None => "reading: {bytes}",
        }));
        if let Some(of) = of {
            self.0.set_length(of);
        }
        self.0.wrap_read(input)
    }

    /// Runs `work`, which reports no progress, and shows the elapsed time while it runs.
    pub(crate) fn during<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        self.0.set_style(style("{msg}: {elapsed}"));
        self.0.set_message(what);
        self.0.reset_elapsed();
        self.0.enable_steady_tick(Duration::from_secs(1) / u32::from(RATE));
        let done = work();
        self.0.disable_steady_tick();
        done
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant")
}
