//! A run chosen step by step. Each replay runs the test with the tasks chosen so far, and its report names the tasks
//! that can take the next step.

use super::{Stop, run};
use crate::Usage;
use crate::document::Document;
use crate::invocation::Invocation;

/// The number of draws that are filled in for one replay.
const DRAWS_MAX: usize = 1_000;
/// The prefix that names the language of a text trace.
const PREFIX: &str = "sim2:";

/// The tasks of the first steps of a run, each with its drawn values: `0=1/24`, `0.1`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Choices(Vec<String>);

impl Choices {
    /// Parses a text trace, with or without its language prefix: `sim2:0,0.0x2`, `0,0.0,0.0`.
    ///
    /// # Errors
    /// If a word is not a step.
    pub(crate) fn parse(text: &str) -> Result<Choices, Usage> {
        let text = text.trim().strip_prefix(PREFIX).unwrap_or(text.trim());
        let mut steps = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (step, times) = word.rsplit_once('x').unwrap_or((word, "1"));
            let is_step = |step: &str| {
                step.starts_with(|c: char| c.is_ascii_digit())
                    && step.chars().all(|c| c.is_ascii_digit() || ".=/".contains(c))
            };
            let times = times.parse().ok().filter(|times| (1..=1_000_000).contains(times));
            let (true, Some(times)) = (is_step(step), times) else {
                return Err(Usage(format!(
                    "{word:?} is no step: a step is the path of a task, such as 0.1, with a number of times, such as \
                     0.1x3, and drawn values, such as 0=1/24"
                )));
            };
            steps.extend(std::iter::repeat_n(step.to_owned(), times));
        }
        Ok(Choices(steps))
    }

    /// Returns the text trace. Consecutive equal steps are written once, with their number.
    pub(crate) fn text(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        for steps in self.0.chunk_by(|one, other| one == other) {
            match steps.len() {
                1 => words.push(steps[0].clone()),
                times if !steps[0].contains('=') => words.push(format!("{}x{times}", steps[0])),
                _ => words.extend_from_slice(steps),
            }
        }
        format!("{PREFIX}{}", words.join(","))
    }

    pub(crate) fn push(&mut self, task: &str) {
        self.0.push(task.to_owned());
    }

    /// Removes the last step, if any.
    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The state of a run after its first steps.
pub(crate) struct After {
    /// The chosen steps, with values for all draws.
    pub(crate) choices: Choices,
    pub(crate) report: Document,
    /// The paths of the tasks that can step. Empty if the run has ended.
    pub(crate) enabled: Vec<String>,
}

/// Replays the test with these steps. A draw without a value is 0.
///
/// # Errors
/// If the test cannot be run, or the steps are not a possible run of the test.
pub(crate) fn after(
    invocation: &Invocation,
    mut choices: Choices,
    stop: &Stop,
) -> Result<After, Usage> {
    let mut invocation = invocation.clone();
    // The explanation of a failure takes longer than all replays together, so it is switched off.
    invocation.set("SIM_WHY", "0");
    for _ in 0..DRAWS_MAX {
        invocation.set("SIM_REPLAY", &choices.text());
        let ended = run(&invocation, stop)?;
        let Some(report) = single(ended.reports, &invocation)? else {
            return Err(Usage(format!(
                "no test has written a report, so it was not replayed:\n{}",
                super::tail(&ended.output, 3_000)
            )));
        };
        let failure = report.finding.as_ref().and_then(|finding| finding.failure.as_ref());
        let diverged = failure.and_then(|failure| failure.diverged.0.as_ref());
        let Some(diverged) = diverged else {
            return Ok(After { choices, report, enabled: Vec::new() });
        };
        let at = usize::try_from(diverged.step).unwrap_or(usize::MAX);
        if let Some(bound) = diverged.found.strip_prefix("a draw of a value below ") {
            let Some(step) = choices.0.get_mut(at) else { break };
            *step += &format!("=0/{bound}");
        } else if at == choices.len() {
            let names = diverged.found.strip_prefix("enabled tasks: ").unwrap_or_default();
            let path = |name: &str| if name == "main" { "0".to_owned() } else { name.to_owned() };
            let enabled = names.split(", ").filter(|name| !name.is_empty()).map(path).collect();
            return Ok(After { choices, report, enabled });
        } else {
            return Err(Usage(format!(
                "at step {at} the trace has {}, and the run has {}",
                diverged.expected, diverged.found
            )));
        }
    }
    Err(Usage("the values drawn by the run cannot be filled in".to_owned()))
}

/// Returns the report of the test, if the test has run.
///
/// # Errors
/// If there are several reports.
fn single(mut reports: Vec<Document>, invocation: &Invocation) -> Result<Option<Document>, Usage> {
    if reports.len() > 1 {
        let names: Vec<&str> = reports.iter().map(|report| &report.test[..]).collect();
        return Err(Usage(format!(
            "steps are chosen for one test, and `{}` runs {}",
            invocation.text(),
            names.join(", ")
        )));
    }
    Ok(reports.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_written_as_in_traces() {
        for text in ["sim2:", "sim2:0,0.0x2,0.1x3,0.0,0x3", "sim2:0=1/24=0/3,0x2,0.0"] {
            assert_eq!(Choices::parse(text).unwrap().text(), text);
        }
        assert_eq!(Choices::parse("0, 0.1,0.1").unwrap().text(), "sim2:0,0.1x2");
        assert_eq!(Choices::parse("0=1/2x2").unwrap().text(), "sim2:0=1/2,0=1/2");
        for wrong in ["a", "0x", "0x0", "0xx2", "x2", "0;1", "main"] {
            let error = Choices::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("is no step"), "{wrong}: {error}");
        }
    }
}
