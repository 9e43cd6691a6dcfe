//! Settings without effect on real threads. Real threads follow no strategy and no trace, and count no steps.
//!
//! Most of these settings affect only the report, so the test runs nevertheless and lists them in a note. A requested
//! replay is an error, because real threads would run something else than the trace.

use super::{InvalidSetting, SETTINGS, Settings};

impl Settings {
    /// Returns the settings that have no effect on real threads, each with its argument name and its variable.
    pub(crate) fn idle_on_threads(&self) -> Vec<(&'static str, &'static str)> {
        let idle = SETTINGS.iter().filter(|row| !row.on_threads && (row.requests)(self));
        idle.map(|row| (row.name, row.variable)).collect()
    }

    /// Returns an error if a replay is requested on real threads.
    pub(super) fn replay_on_threads(&self) -> Result<(), InvalidSetting> {
        let Some(value) = self.replay.clone() else { return Ok(()) };
        let grammar = "left out in this build: real threads follow no trace. Build with the feature `sim` to \
                       replay it";
        Err(InvalidSetting { name: "replay".to_owned(), value, grammar: grammar.to_owned() })
    }
}

/// Returns the note about settings that have no effect on real threads.
pub(crate) fn idle_text(names: &[&str]) -> Option<String> {
    let (last, rest) = names.split_last()?;
    let have = if rest.is_empty() { "has" } else { "have" };
    let names = if rest.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", rest.join(", "))
    };
    Some(format!("{names} {have} no effect on real threads; build with the feature `sim`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::config::ProofRuns;

    #[test]
    fn what_means_nothing_is_named() {
        assert_eq!(Settings::default().idle_on_threads(), []);
        let settings = Settings {
            strategy: Some("pct".to_owned()),
            jobs: Some(1),
            prove: Some(ProofRuns(0)),
            coverage: Some(false),
            ..Settings::default()
        };
        let idle = settings.idle_on_threads();
        assert_eq!(idle, [("strategy", "SIM_STRATEGY"), ("jobs", "SIM_JOBS")]);
        let text = |names: &[&str]| idle_text(names).unwrap_or_default();
        assert_eq!(text(&[]), "");
        let rest = "no effect on real threads; build with the feature `sim`";
        assert_eq!(text(&["jobs"]), format!("jobs has {rest}"));
        assert_eq!(text(&["a", "b", "c"]), format!("a, b and c have {rest}"));
    }
}
