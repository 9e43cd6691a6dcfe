//! The remedy of a failing run: a change of the program that makes the failure impossible, and the runs that tested it.

use super::places::ShortPlaces;
use super::why::Region;
use crate::run::what_if::Site;
use unpause_check::picture::screen::plural;

/// A change of the program that makes the failure impossible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remedy {
    /// The change.
    pub change: Change,
    /// The runs that tested the remedy.
    pub tested: Tested,
}

/// A change of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Each region is one step.
    Regions {
        /// The regions, in the order in which the failing run interrupted them.
        regions: Vec<Region>,
        /// The behavior of a task that must wait within a region. True: the task continues as one step when it can.
        /// False: runs in which a task would have to wait are excluded.
        waits: bool,
    },
    /// One operation waits for another operation.
    Order(Order),
}

/// An order of two operations. A run keeps it if `early` took effect at least `times` times before the first `late`, or
/// if `late` never took effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// The operation that comes first.
    pub early: Site,
    /// The operation that waits for `early`.
    pub late: Site,
    /// The number of times that `early` takes effect first, which is at least 1.
    pub times: u32,
}

/// The runs that tested a remedy. All of them passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tested {
    /// A proof: all interleavings were run.
    All {
        /// The number of interleavings that pass. For an order, the number of passing interleavings that keep it.
        interleavings: u64,
        /// The number of interleavings that pass without the remedy; `None` if unknown.
        of: Option<u64>,
        /// The number of interleavings in which a task would have to wait within a region.
        left_out: u64,
    },
    /// All runs with at most this many preemptions, and sampled runs.
    Within {
        /// The number of preemptions.
        preemptions: u32,
        /// The number of runs within this bound.
        runs: u64,
    },
    /// Sampled runs that begin like the failing run.
    Counted {
        /// The number of sampled runs with the remedy.
        runs: u64,
        /// The number of runs that failed without the remedy.
        failed: u64,
        /// The number of runs without the remedy.
        of: u64,
    },
}

/// Returns the remedy as text. `newest_stores` is true if it was tested only with the newest stores.
pub(super) fn words(remedy: &Remedy, newest_stores: bool) -> String {
    let stores = if newest_stores { ", with the newest stores" } else { "" };
    let mut places = ShortPlaces::default();
    match &remedy.change {
        Change::Regions { regions, waits } => {
            let spans: Vec<String> = regions
                .iter()
                .map(|Region { from, to }| match from == to {
                    true => format!("{} to the next round", short(&mut places, from)),
                    false => {
                        let [from, to] = pair(&mut places, [from, to]);
                        format!("{from} to {to}")
                    }
                })
                .collect();
            let steps = if spans.len() == 1 { "as one step" } else { "as one step each" };
            format!("{steps}, {}{stores}: {}", spans.join(" and "), tested(&remedy.tested, *waits))
        }
        Change::Order(Order { early, late, times }) => {
            let [early, late] = pair(&mut places, [early, late]);
            let times = match times {
                1 => String::new(),
                2 => " twice".to_owned(),
                3 => " three times".to_owned(),
                more => format!(" {more} times"),
            };
            format!("{early}{times} before {late}{stores}: {}", kept(&remedy.tested))
        }
    }
}

fn short(places: &mut ShortPlaces, site: &Site) -> String {
    places.short(&site.place.to_string())
}

/// Returns two different places. If they are on the same line, both have a column.
fn pair(places: &mut ShortPlaces, sites: [&Site; 2]) -> [String; 2] {
    let [first, second] = sites.map(|site| site.place);
    let is_same = first.file() == second.file() && first.line() == second.line();
    sites.map(|site| match is_same {
        true => format!("{}:{}", short(places, site), site.place.column()),
        false => short(places, site),
    })
}

/// Returns a text about the runs that tested regions.
fn tested(tested: &Tested, waits: bool) -> String {
    match *tested {
        Tested::All { interleavings, of, left_out } => {
            let all = match interleavings {
                1 => "the one interleaving passes".to_owned(),
                n => format!("all {} pass", plural(n, "interleaving")),
            };
            let kept = of.map(|of| format!("; it keeps {interleavings} of the {of} that pass now"));
            let out = (left_out > 0 && !waits)
                .then(|| format!("; in {left_out} more it would have to wait"));
            format!("{all} (proved{}{})", kept.unwrap_or_default(), out.unwrap_or_default())
        }
        Tested::Within { preemptions, runs } => {
            let at_most = plural(preemptions, "preemption");
            format!("all {} with at most {at_most} pass", plural(runs, "run"))
        }
        Tested::Counted { runs, failed, of } => {
            format!("0 of {} like this one fail (now {failed} of {of})", plural(runs, "run"))
        }
    }
}

/// Returns a text about the runs that tested an order. An order is always proved.
fn kept(order_tested: &Tested) -> String {
    let Tested::All { interleavings, of, .. } = *order_tested else {
        return tested(order_tested, true);
    };
    let all = match interleavings {
        1 => "the one interleaving that keeps it passes".to_owned(),
        n => format!("all {} that keep it pass", plural(n, "interleaving")),
    };
    let of = of.map(|of| format!("; {of} {} now", if of == 1 { "passes" } else { "pass" }));
    format!("{all} (proved{})", of.unwrap_or_default())
}
