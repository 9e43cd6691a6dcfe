//! Output of merged results: text and JSON.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use sim::check::picture::screen::plural;
use sim::report::{Style, text};

use super::merged::{Merged, as_u64};
use super::seeds::SeedStride;
use sim::__private::results::{Failed, MustFail, Subject};

/// The maximum number of lines with seeds that were not run. More lines do not help.
const ROWS_MAX: usize = 12;

impl Merged<'_> {
    /// Returns the text. `several` is `true` if other programs also contain this test.
    pub(super) fn text(&self, several: bool, style: &Style) -> String {
        let Subject { package, target, test, settings, build, binary, .. } = self.subject;
        let mut about = vec![package.clone(), target.clone(), self.subject.strategy()];
        let others = settings.iter().filter(|(name, _)| name != "strategy");
        about.extend(others.map(|(name, value)| format!("{name} = {value}")));
        if build != "sim" {
            about.push("on real threads".to_owned());
        }
        if several {
            about.push(format!("program {binary}"));
        }
        let files = plural(self.files as u64, "file");
        let mut out = format!("{test}  ({})\n", about.join(", "));
        let (passed, asked) = (grouped(self.passed), grouped(self.asked));
        let _ = writeln!(out, "  passed   {passed} of {asked} seeds, in {files}");
        for ((kind, place), alike) in &self.failures {
            let at = if place.is_empty() { String::new() } else { format!("  {place}") };
            let wanted = if self.failed_as_it_must { ", as it must (must_fail)" } else { "" };
            let _ = writeln!(out, "  failed   {kind}{at}{wanted}");
            let _ = writeln!(out, "           {}{}", whose(alike), alike[0].what);
            if let Some(replay) = &alike[0].replay {
                let _ = writeln!(out, "           {replay}");
            }
        }
        // A must_fail test is complete with its first failure.
        let left = if self.failed_as_it_must { &[][..] } else { &self.left };
        for row in left.iter().take(ROWS_MAX) {
            let _ = writeln!(out, "  not run  {}", in_words(*row));
        }
        if let Some(more) = left.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
            let _ = writeln!(out, "  not run  and {more} rows of seeds more");
        }
        for unknown in &self.unknown {
            let _ = writeln!(out, "  unknown  {unknown}");
        }
        if let Some(report) = &self.report {
            let _ = write!(out, "\n{}", text(report, style));
        }
        out + "\n"
    }

    pub(super) fn json(&self) -> Json {
        let Subject { package, target, test, settings, build, binary, must_fail, .. } =
            self.subject;
        let settings = settings.iter().map(|(name, value)| (name.clone(), json!(value)));
        let failures = self.failures.iter().map(|((kind, place), alike)| {
            let seeds: Vec<_> = alike.iter().filter_map(|failure| failure.seed).collect();
            let Failed { what, trace, replay, .. } = &alike[0];
            json!({
                "kind": kind, "place": place, "seeds": seeds,
                "what": what, "trace": trace, "replay": replay,
            })
        });
        let left = self.left.iter();
        let left = left.map(|row| json!({"from": row.from, "every": row.of, "count": row.count}));
        let conditions = self.tally.conditions().into_iter().map(|condition| {
            json!({
                "name": condition.name, "place": condition.place.to_string(),
                "percent": condition.percent, "runs": condition.runs,
            })
        });
        json!({
            "package": package, "target": target, "test": test, "strategy": self.subject.strategy(), "settings": Json::Object(settings.collect()), "build": build,
            "program": binary, "must_fail": shown_wanted(must_fail),
            "asked": as_u64(self.asked), "passed": as_u64(self.passed),
            "failures": failures.collect::<Vec<_>>(), "left": left.collect::<Vec<_>>(),
            "unknown": self.unknown,
            "counted": {
                "runs": self.tally.runs, "steps": self.tally.steps,
                "conditions": conditions.collect::<Vec<_>>(),
            },
            "shown": self.report.as_ref().map(|report| text(report, &Style::default())),
        })
    }
}

/// Returns the origin of equal failures: the first failure, and the number of other failures.
fn whose(alike: &[Failed]) -> String {
    let others = match alike.len() {
        1 => String::new(),
        2 => ", and 1 other".to_owned(),
        count => format!(", and {} others", count - 1),
    };
    match (alike[0].seed, &alike[0].file) {
        (Some(seed), _) => format!("seed {seed}{others}: "),
        (None, Some(file)) => format!("{file}{others}: "),
        // A failure of all runs together, or a failure of a run sampled outside the shard.
        (None, None) => String::new(),
    }
}

/// Formats seeds, for example `250,000 seeds: 3, 7, 11, …, 999,999`.
fn in_words(row: SeedStride) -> String {
    let seed = |i: u64| grouped(u128::from(row.from) + u128::from(row.of) * u128::from(i));
    let first: Vec<String> = (0..row.count.min(3)).map(seed).collect();
    let last = match row.count {
        0..=3 => String::new(),
        count => format!(", …, {}", seed(count - 1)),
    };
    let seeds = if row.count == 1 { "seed" } else { "seeds" };
    format!("{} {seeds}: {}{last}", grouped(row.count.into()), first.join(", "))
}

/// Formats a number with commas: `12,345`.
pub(crate) fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the required failure of a test, as a value in a results file.
fn shown_wanted(must_fail: &MustFail) -> Json {
    match must_fail {
        MustFail::No => false.into(),
        MustFail::Somehow => true.into(),
        MustFail::With(text) => text.as_str().into(),
    }
}
