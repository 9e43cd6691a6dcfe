//! The coverage of a passing test, as a line of text.

use unpause_check::picture::screen::{self, plural};

use crate::run::coverage::Coverage;

/// Returns the coverage as a line of text.
pub(super) fn line(coverage: &Coverage) -> String {
    let Coverage { runs, classes, new_per_hundred, blind, .. } = coverage;
    // The number of complete hundreds, because the last hundred may be incomplete.
    let whole = (runs / 100) as usize;
    let last = match new_per_hundred.get(whole.wrapping_sub(1)) {
        Some(new) => format!(", {new} of the last 100 runs new"),
        None => String::new(),
    };
    let classes = plural(*classes, "class");
    let unseen = match coverage.foreign {
        true => "more unseen: tasks share data outside this library".to_owned(),
        false => {
            let (low, high) = coverage.unseen_interval();
            let [share, low, high] = [coverage.unseen(), low, high].map(percent);
            format!("{share} % unseen (95 %: {low} to {high} %)")
        }
    };
    let mut text = format!("{classes}{last}, {unseen}");
    let untried: Vec<String> = [
        (blind.objects.len(), "object"),
        (blind.tasks.len(), "task"),
        (blind.draws.iter().map(|draw| draw.never.len()).sum(), "value"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| plural(count as u64, what))
    .collect();
    if !untried.is_empty() {
        text += &format!("; untried: {}", untried.join(", "));
    }
    text
}

/// Returns a share in percent, with one decimal digit, or with two digits if it is below 0.1 %.
fn percent(share: f64) -> String {
    let is_small = share > 0.0 && share < 0.001;
    screen::percent(share, if is_small { 2 } else { 1 })
}
