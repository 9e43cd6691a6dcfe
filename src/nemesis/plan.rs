//! The faults of a run, drawn.
//!
//! Order of the draws, frozen: the form, which is given; the number of faults; the choice of guided or random victims, if there
//! are guided ones; then for each fault its kind, victim, parameter, duration and gap. Kind 0 is no fault. In a run of a seed
//! all five are drawn for each, whatever the kind, so that others keep their places when one is set to 0. In a search
//! only those are drawn that make a difference.

use std::time::Duration;

use super::Nemesis;
use super::fault::Package;
use crate::run::op::{Access, Op};
use crate::seam::{self, Here, YieldPoint};
use crate::time::sleep;

const WAIT: Op = Op::new("wait", Access::Yield);

/// The numbers of steps of which one passes, in a run of a seed.
const STEPS: [u32; 3] = [1, 5, 25];

/// One fault of so many is left out by its kind.
const ABSENT: u64 = 8;

/// The longest pause on real threads.
const REAL_MAX: Duration = Duration::from_millis(10);

/// A fault to cause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) package: usize,
    pub(super) victim: u64,
    pub(super) parameter: u64,
    /// None for one that lasts until the end.
    pub(super) lasts: Option<Pause>,
    pub(super) gap: Pause,
}

/// The time between two acts of a nemesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// Other tasks may take any steps between so many points.
    Steps(u32),
    Time(Duration),
}

impl Pause {
    /// One of so many parts of it.
    pub(super) fn part(self, parts: u32) -> Pause {
        match self {
            Pause::Steps(steps) => Pause::Steps(steps.div_ceil(parts)),
            Pause::Time(time) => Pause::Time(time / parts),
        }
    }

    pub(super) async fn pass(self, here: Here) {
        match self {
            Pause::Steps(steps) => {
                for _ in 0..steps {
                    YieldPoint::new(&WAIT, here).await;
                }
            }
            Pause::Time(time) if seam::in_run() => sleep(time).await,
            Pause::Time(time) => sleep(time.min(REAL_MAX)).await,
        }
    }
}

/// Draws the faults; and true if guided victims are taken.
pub(super) fn draw(nemesis: &Nemesis, nodes: usize) -> (Vec<Command>, bool) {
    let searches = seam::given(2, u64::from(seam::seed().is_none()), FORM) == 1;
    let (least, most) = (*nemesis.count.start(), *nemesis.count.end());
    let count = least + draw_below(u64::from(most - least) + 1, "the number of faults") as u32;
    let guides = nemesis.packages.iter().any(|package| package.victim.guide().is_some());
    let is_guided = !guides || draw_below(2, "random victims for guided ones") == 0;
    let commands = (0..count).filter_map(|_| match searches {
        true => searched(nemesis, nodes),
        false => sampled(nemesis, nodes),
    });
    (commands.collect(), is_guided)
}

const FORM: &str = "the form of the nemesis";
const KIND: &str = "the kind of a fault";
const VICTIM: &str = "the victim of a fault";
const PARAMETER: &str = "the parameter of a fault";
const LASTING: &str = "the duration of a fault";
const GAP: &str = "the gap before a fault";

/// Draws nothing if there is one choice.
fn draw_below(bound: u64, why: &'static str) -> u64 {
    if bound > 1 { seam::draw(bound, why) } else { 0 }
}

fn pauses(steps: &[u32], rungs: &[Duration]) -> Vec<Pause> {
    let steps = steps.iter().map(|steps| Pause::Steps(*steps));
    steps.chain(rungs.iter().map(|time| Pause::Time(*time))).collect()
}

fn sampled(nemesis: &Nemesis, nodes: usize) -> Option<Command> {
    let packages = nemesis.packages.len() as u64;
    let kind = seam::draw(packages * (ABSENT - 1) + 1, KIND);
    // A multiple of the number of nodes, of that of their sets and, for up to seven, of that of their orders.
    let victim = seam::draw(nodes as u64 * ((1 << nodes) - 1) * 5040, VICTIM);
    let ways = nemesis.packages.iter().map(|package| package.ways.len() as u64);
    // A multiple of all numbers of sizes, too.
    let has_sizes = nemesis.packages.iter().any(|package| package.kind.sizes().is_some());
    let ways = ways.max().unwrap_or(0).max(1) * if has_sizes { 3 } else { 1 };
    let parameter = seam::draw(2 * ways, PARAMETER);
    let (lasting, gaps) = (pauses(&STEPS, &nemesis.lasting), pauses(&STEPS, &nemesis.gaps));
    let lasts = seam::draw(lasting.len() as u64 + 1, LASTING) as usize;
    let gap = seam::draw(gaps.len() as u64, GAP) as usize;
    let package = (kind.checked_sub(1)? % packages) as usize;
    Some(Command { package, victim, parameter, lasts: lasting.get(lasts).copied(), gap: gaps[gap] })
}

/// Only what makes a difference.
fn searched(nemesis: &Nemesis, nodes: usize) -> Option<Command> {
    let kind = seam::draw(nemesis.packages.len() as u64 + 1, KIND) as usize;
    let package = kind.checked_sub(1)?;
    let Package { victim, ways, .. } = &nemesis.packages[package];
    let orders = || (1..=nodes as u64).product();
    let victims = if ways.is_empty() { victim.choices(nodes) } else { orders() };
    let victim = draw_below(victims, VICTIM);
    let parameter = draw_below(nemesis.packages[package].parameters(), PARAMETER);
    let (lasting, gaps) = (pauses(&[1], &nemesis.lasting), pauses(&[1], &nemesis.gaps));
    let lasts = match nemesis.packages[package].is_instant() {
        true => 0,
        false => draw_below(lasting.len() as u64 + 1, LASTING) as usize,
    };
    let gap = gaps[draw_below(gaps.len() as u64, GAP) as usize];
    Some(Command { package, victim, parameter, lasts: lasting.get(lasts).copied(), gap })
}
