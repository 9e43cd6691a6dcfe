//! The result of a search on the screen: its progress, its limits, and its assumptions.

use super::{Audit, Bound, Cause, Clash, Excess, Fallback, RunsEstimate, Searched, Share};
use crate::run::clock_mode::ClockMode;
use unpause_check::picture::screen::{self, Paint, Screen, clean, plural};

/// Returns the completed part of an incomplete search, such as `2.19 %`, or `part` if it is unknown. The part is always
/// below 100 %.
pub(super) fn share(part: Option<f64>) -> String {
    let percent = |part: f64| screen::percent(part.clamp(0.0, 1.0 - f64::EPSILON), 2) + " %";
    part.map_or_else(|| "part".to_owned(), percent)
}

/// Returns the completed part of the runs at the next bound, as text.
fn within(bound: &Bound, part: Option<f64>) -> String {
    let next = bound.through.map_or(0, |through| through.saturating_add(1));
    format!("{} of those with {}", share(part), plural(next, &clean(&bound.what)))
}

/// Returns an estimate of the number of runs within the next bound, such as
/// `; an estimated 4100 runs have at most 2 preemptions, 3900 to 4300`. Empty without an estimate.
fn of_estimated(bound: &Bound, estimate: Option<RunsEstimate>) -> String {
    let Some(estimate) = estimate else { return String::new() };
    let next = bound.through.map_or(0, |through| through.saturating_add(1));
    let next = at_most(&Bound { through: Some(next), ..bound.clone() });
    let [runs, low, high] = estimate.rounded();
    format!("; an estimated {runs} runs have {next}, {low} to {high}")
}

/// Returns the statement that a search is complete.
pub(super) fn explored(runs: u64, searched: &Searched) -> String {
    let agrees = searched.audit.as_ref().is_none_or(Audit::agrees);
    if let (Some(Share { number, of }), true) = (searched.share, searched.complete) {
        return format!("explored share {number} of {of}: {}", plural(runs, "interleaving"));
    }
    match &searched.bound {
        _ if searched.blind || !searched.tries_all() || !agrees => plural(runs, "run"),
        None if runs == 1 => "explored the only interleaving".to_owned(),
        None => format!("explored all {runs} interleavings"),
        Some(bound) => {
            let bounds = at_most(bound) + &early_moves(searched.early_moves);
            match runs {
                1 => format!("explored the only run with {bounds}"),
                runs => format!("explored all {runs} runs with {bounds}"),
            }
        }
    }
}

/// Returns the bound on early time moves, after another bound: ` and at most 2 early time moves`.
fn early_moves(most: Option<u32>) -> String {
    let most = most.map(|most| plural(most, ClockMode::EARLY_MOVE));
    most.map_or_else(String::new, |most| format!(" and at most {most}"))
}

/// Returns a statement about the runs that a completed search left out: `runs with more preemptions were not tried`.
pub(super) fn left_out(bound: &Bound, early_moves: Option<u32>) -> String {
    let early = early_moves.map(|_| format!(" or {}s", ClockMode::EARLY_MOVE)).unwrap_or_default();
    format!("runs with more {}s{early} were not tried", clean(&bound.what))
}

/// Returns a description of the runs that a search has completed, such as `at most 2 preemptions`.
pub(super) fn at_most(bound: &Bound) -> String {
    match bound.through {
        Some(0) => format!("no {}", clean(&bound.what)),
        Some(through) => format!("at most {}", plural(through, &clean(&bound.what))),
        None => "nothing".to_owned(),
    }
}

const MORE_RUNS: &str = "seeds = N, Runner::seeds or SIM_SEEDS=N";

const SMALLER: &str = "For a proof within a bound use strategy = \"preemptions\" (or \"delays\"): it explores all \
    interleavings with no preemption, then all with one, and so on, and reports the bound that it reached";

const SAMPLE: &str = "An unfinished search has run similar interleavings only. To find bugs in a test of this \
    size, run seeds first: remove the strategy, or set SIM_STRATEGY=portfolio";

impl RunsEstimate {
    /// Returns the estimate as text, with two significant digits.
    fn text(self) -> String {
        let [runs, low, high] = self.rounded();
        format!("an estimated {runs} runs in all, {low} to {high}")
    }

    fn rounded(self) -> [String; 3] {
        let RunsEstimate { runs, low, high } = self;
        [runs, low, high].map(rounded)
    }
}

impl Excess {
    /// Returns the statement as text, with the bound that fits into the limit.
    fn text(self) -> String {
        let Excess { limit, fits } = self;
        let fits = fits.map(|fits| {
            let runs = rounded(fits.runs);
            let name = format!("preemptions:{}", fits.preemptions);
            format!(
                ". Within this limit, strategy = \"{name}\" would be complete, with an estimated {runs} runs"
            )
        });
        let needs = format!("The search needs more runs than its limit of {limit}");
        needs + &fits.unwrap_or_default()
    }
}

/// Formats a number with two significant digits: `1.2 million`.
fn rounded(number: u64) -> String {
    let digits = number.checked_ilog10().unwrap_or(0);
    let unit = 10u64.pow(digits.saturating_sub(1));
    let rounded = number.saturating_add(unit / 2) / unit * unit;
    match rounded {
        0..1_000_000 => rounded.to_string(),
        1_000_000..1_000_000_000 => format!("{} million", rounded as f64 / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{} billion", rounded as f64 / 1e9),
        _ => format!("{:.1e}", rounded as f64),
    }
}

/// Returns the reason why each order of steps was explored as a separate run.
pub(super) fn because(searched: &Searched) -> String {
    let captured = searched.audit.as_ref().is_some_and(|audit| audit.captured);
    match &searched.cause {
        Some(Cause::Clash(clash)) => did_not_commute(Some(clash), captured),
        Some(Cause::Contact(sign)) => {
            format!(
                "{}. Tasks share something outside sim, such as a channel of another crate",
                clean(sign)
            )
        }
        None => did_not_commute(None, captured),
    }
}

/// Returns a text which says that the order of two steps made a difference. The text names the steps and the remedy.
/// `captured` is true if the body has captured values.
fn did_not_commute(clash: Option<&Clash>, captured: bool) -> String {
    let which = match clash {
        Some(clash) => {
            format!("two steps that share no object of sim made a difference: {}", clash.text())
        }
        None => "steps that share no object of sim made a difference".to_owned(),
    };
    let (captured, remedy) = match captured {
        true => (format!(", or {CAPTURED}"), format!(". {CREATE_WITHIN}")),
        false => Default::default(),
    };
    format!(
        "the order of {which}. Either they share something outside sim, such as a lock of std or a thread-local{captured}, \
         or unpause has a bug: if they use sim only, please report these steps{remedy}"
    )
}

/// The reason for runs that contradict a search, if the body is a closure with captured values.
const CAPTURED: &str = "values that the closure captured changed between runs";

/// The remedy for this reason.
const CREATE_WITHIN: &str = "Create values that runs change inside the closure";

/// Writes the limits of a search's proof, and the reasons for them.
pub(super) fn limits(screen: &mut Screen, runs: u64, searched: &Searched) {
    let fallback = searched.fallback.as_deref();
    let mut limits = LimitsText { screen, searched, fallback };
    limits.write_remarks();
    if searched.is_proof() {
        return;
    }
    limits.write_end(runs);
    limits.write_bound_of_fallback();
    limits.write_audit();
    limits.write_untried();
}

/// The label of a reason why the result of a search is not a proof.
const NOT_A_PROOF: &str = "NOT A PROOF: ";

/// The text about the limits of a search.
struct LimitsText<'a> {
    screen: &'a mut Screen,
    searched: &'a Searched,
    fallback: Option<&'a Fallback>,
}

impl LimitsText<'_> {
    fn say(&mut self, label: &str, text: &str) {
        self.screen.paragraph(8, (Paint::Notice, label), (Paint::Plain, text));
    }

    /// Writes the remarks that apply even if the search is a proof.
    fn write_remarks(&mut self) {
        let searched = self.searched;
        if searched.blocked > 0 {
            let given_up = plural(searched.blocked, "run");
            self.say("", &format!("({given_up} abandoned as redundant)"));
        }
        for remark in searched.remarks(searched.audit.is_some()).into_iter().flatten() {
            self.say("", &remark);
        }
    }

    /// Writes the state in which the search ended. At most one of these cases applies: runs are left within a bound,
    /// runs are left and there is no bound, or the search is complete up to its bound.
    fn write_end(&mut self, runs: u64) {
        let searched = self.searched;
        match &searched.bound {
            Some(bound) if !searched.complete => self.write_rest_within(bound),
            None if !searched.complete => self.write_rest(runs),
            _ if searched.share.is_some() => {
                let text = "the other shares are not judged here; `cargo unpause merge` judges the results of all";
                self.say(NOT_A_PROOF, text);
            }
            Some(bound) => self.say(NOT_A_PROOF, &left_out(bound, searched.early_moves)),
            None => {}
        }
    }

    /// Writes the estimated rest of the runs within a bound.
    fn write_rest_within(&mut self, bound: &Bound) {
        let searched = self.searched;
        let done = match bound.through {
            Some(_) => format!("all with {} were, and ", at_most(bound)),
            None => String::new(),
        };
        let text = format!(
            "not all interleavings were run ({done}{}{}); allow more with {MORE_RUNS}",
            within(bound, searched.part),
            of_estimated(bound, searched.estimate),
        );
        self.say(NOT_A_PROOF, &text);
        self.say("", SAMPLE);
    }

    /// Writes the estimated rest of the runs, without a bound.
    fn write_rest(&mut self, runs: u64) {
        let searched = self.searched;
        let own = self.fallback.map(|rest| plural(runs.saturating_sub(rest.runs), "run"));
        let done = match (searched.part, own) {
            (Some(_), Some(own)) => format!("{} of the search after {own}, ", share(searched.part)),
            (Some(_), None) => format!("{} of the search, ", share(searched.part)),
            (None, Some(own)) => format!("only {own}, and "),
            (None, None) => String::new(),
        };
        let unknown = || "the total number is unknown".to_owned();
        let estimate = searched.estimate.map_or_else(unknown, RunsEstimate::text);
        let text = format!(
            "not all interleavings were run ({done}{estimate}); allow more with {MORE_RUNS}"
        );
        self.say(NOT_A_PROOF, &text);
        if let (Some(excess), None) = (searched.excess, self.fallback) {
            self.say("", &excess.text());
        }
        self.say("", SAMPLE);
        if self.fallback.is_none() {
            self.say("", SMALLER);
        }
    }

    /// Writes the bound up to which the fallback has searched.
    fn write_bound_of_fallback(&mut self) {
        let Some(fallback) = self.fallback else { return };
        let searched = &fallback.searched;
        let Some(bound) = &searched.bound else { return };
        let done = match bound.through {
            Some(_) => format!("every run with {} explored, and ", at_most(bound)),
            None => String::new(),
        };
        let so_far = within(bound, searched.part);
        let all = of_estimated(bound, searched.estimate);
        let text = format!("{done}{so_far}: the other {}{all}", plural(fallback.runs, "run"));
        self.say("BOUND:  ", &text);
    }

    /// Writes the sampled runs that contradict the search.
    fn write_audit(&mut self) {
        let searched = self.searched;
        let Some(audit) = &searched.audit else { return };
        if let Some(trace) = &audit.missed {
            let mut text = "a sampled run belongs to a class that the search missed".to_owned();
            if let Some(clash) = &audit.clash {
                text += &format!(", with these two steps in the other order: {}", clash.text());
            }
            text += &match audit.captured {
                true => format!(
                    ". Either {CAPTURED}, or this is a bug of unpause. {CREATE_WITHIN}. If it does this already, please \
                     report the test and this trace: "
                ),
                false => {
                    ". This is a bug of unpause: please report it with the test and this trace: "
                        .to_owned()
                }
            };
            self.say(NOT_A_PROOF, &(text + trace));
        }
        if audit.unseen {
            self.say(NOT_A_PROOF, &did_not_commute(audit.clash.as_ref(), audit.captured));
        }
    }

    /// Writes the parts of the program that the search did not see or try.
    fn write_untried(&mut self) {
        for reason in self.searched.untried() {
            self.say(NOT_A_PROOF, &reason);
        }
    }
}
