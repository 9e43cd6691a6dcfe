//! Draws the faults of a run.
//!
//! Order of the draws, frozen:
//!
//! 1. the form of the nemesis, as given;
//! 2. the number of faults;
//! 3. the choice between guided and random victims, if any victims are guided;
//! 4. in a generated program, the given shrinking change of each fault;
//! 5. for each fault, its kind, victim, parameter, duration and gap;
//! 6. in a generated program with guided victims, the given node of each fault.
//!
//! Kind 0 means no fault. In a run from a seed, all five values of number 5 are drawn for every
//! fault. So the draws of other faults keep their positions when a kind is set to 0. In a search, a
//! value is drawn only if it makes a difference.

use std::fmt;
use std::time::Duration;

use super::Nemesis;
use super::fault::Package;
use super::fault_kinds::FaultKind;
use crate::run::op::{Access, Op};
use crate::run::program::{Change, PROGRAM};
use crate::seam::{self, Here, YieldPoint};
use crate::time::sleep;

const WAIT: Op = Op::new("wait", Access::Yield);

/// The choices for a number of steps to wait, in a run from a seed.
const STEPS: [u32; 3] = [1, 5, 25];

/// On average, one fault in this many has the drawn kind 0, so it is absent.
const ABSENT: u64 = 8;

/// The longest pause on real threads.
pub(super) const REAL_MAX: Duration = Duration::from_millis(10);

/// A fault to inject.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) package: usize,
    pub(super) victim: u64,
    pub(super) parameter: u64,
    /// `None` if the fault lasts until the end.
    pub(super) lasts: Option<Pause>,
    pub(super) gap: Pause,
}

/// The time between two actions of a nemesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// The nemesis passes this many points, and other tasks may take any steps between two points.
    Steps(u32),
    Time(Duration),
    /// A time that ends before the earliest timer of a task, between the earliest and the latest,
    /// or after the latest.
    Timers(u8),
}

/// The number of `Pause::Timers` variants: before, between and after the timers.
const SPANS: u8 = 3;

impl fmt::Display for Pause {
    /// Formats the pause, for example `20ms` or `5 steps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pause::Steps(1) => f.write_str("1 step"),
            Pause::Steps(steps) => write!(f, "{steps} steps"),
            Pause::Time(time) => write!(f, "{time:?}"),
            Pause::Timers(0) => f.write_str("less than the first timer"),
            Pause::Timers(1) => f.write_str("more than the first timer"),
            Pause::Timers(_) => f.write_str("more than the last timer"),
        }
    }
}

impl Pause {
    /// Returns one of `parts` equal parts of the pause.
    pub(super) fn part(self, parts: u32) -> Pause {
        match self.at_once() {
            Pause::Steps(steps) => Pause::Steps(steps.div_ceil(parts)),
            Pause::Time(time) => Pause::Time(time / parts),
            timers => timers,
        }
    }

    /// Returns the pause as steps or a time, computed from the current timers.
    pub(super) fn at_once(self) -> Pause {
        let Pause::Timers(which) = self else { return self };
        let Some((first, last)) = seam::timer_span() else { return Pause::Steps(1) };
        Pause::Time(match which {
            0 => first / 2,
            1 => first + (last - first) / 2,
            _ => last + Duration::from_millis(1),
        })
    }

    pub(super) async fn pass(self, here: Here) {
        match self.at_once() {
            Pause::Timers(_) => {}
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

/// The drawn faults.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// `None` means no fault.
    pub(super) commands: Vec<Option<Command>>,
    /// `true` if guided victims are used instead of random victims.
    pub(super) is_guided: bool,
    /// In a generated program: the change of each fault, and the index of the first change among the values drawn in
    /// the run.
    pub(super) changes: Vec<Change>,
    pub(super) first_change: usize,
    /// In a generated program with guided victims: the pinned node of each fault, from 1, which
    /// replaces the result of the function. `first_pin` is the index of the first pin among the
    /// values drawn in the run.
    pub(super) pins: Vec<u64>,
    pub(super) first_pin: usize,
}

/// The origin of the faults of a program: drawn or scripted.
pub(super) enum Source {
    /// The faults of a task.
    Task,
    /// The faults of a generated program.
    Program,
    /// The faults of a script.
    Script(Vec<Command>),
}

/// Draws the faults.
pub(super) fn draw(nemesis: &Nemesis, nodes: usize, source: Source) -> Drawn {
    let draws = Draws { nemesis, nodes, is_of_program: !matches!(source, Source::Task) };
    let mut drawn = Drawn::default();
    let (count, script) = match source {
        Source::Script(commands) => (commands.len(), Some(commands)),
        Source::Task | Source::Program => (0, None),
    };
    let searches = script.is_none() && draws.is_search();
    let count = if script.is_some() { count } else { draws.count() };
    let guides = nemesis.packages.iter().any(|package| package.victim.guide().is_some());
    drawn.is_guided = !guides || script.is_some() || draws.below(2, GUIDED) == 0;
    drawn.first_change = seam::position().0;
    if draws.is_of_program {
        drawn.changes = (0..count).map(|_| change()).collect();
    }
    drawn.commands = match script {
        Some(commands) => commands.into_iter().map(Some).collect(),
        None if searches => (0..count).map(|_| draws.searched()).collect(),
        None => (0..count).map(|_| draws.sampled()).collect(),
    };
    drawn.first_pin = seam::position().0;
    if draws.is_of_program && guides {
        drawn.pins = (0..count).map(|_| seam::given(nodes as u64 + 1, 0, PIN)).collect();
    }
    drawn
}

/// Returns the change of the next fault. The change is a given value, so searches do not explore
/// it.
fn change() -> Change {
    Change::of_decision(seam::given(Change::BOUND, 0, "change of the nemesis"))
}

const FORM: &str = "the form of the nemesis";
const COUNT: &str = "the number of faults";
const GUIDED: &str = "random victims for guided ones";
const KIND: &str = "the kind of a fault";
const VICTIM: &str = "the victim of a fault";
const PARAMETER: &str = "the parameter of a fault";
const LASTING: &str = "the duration of a fault";
const GAP: &str = "the gap before a fault";
const PIN: &str = "the node that a guided victim is";

fn pauses(steps: &[u32], rungs: &[Duration]) -> Vec<Pause> {
    let steps = steps.iter().map(|steps| Pause::Steps(*steps));
    steps.chain(rungs.iter().map(|time| Pause::Time(*time))).collect()
}

fn kind_of(nemesis: &Nemesis, package: usize) -> FaultKind {
    nemesis.packages[package].kind
}

struct Draws<'a> {
    nemesis: &'a Nemesis,
    nodes: usize,
    /// True for a generated program. The values drawn for a generated program are marked, because shrinking keeps them
    /// together.
    is_of_program: bool,
}

impl Draws<'_> {
    fn is_search(&self) -> bool {
        seam::given(2, u64::from(seam::seed().is_none()), FORM) == 1
    }

    fn count(&self) -> usize {
        let (least, most) = (*self.nemesis.count.start(), *self.nemesis.count.end());
        (u64::from(least) + self.below(u64::from(most - least) + 1, COUNT)) as usize
    }

    fn draw(&self, bound: u64, why: &'static str) -> u64 {
        seam::draw(bound, if self.is_of_program { PROGRAM } else { why })
    }

    /// Draws a number below `bound`. Draws nothing if there is only one choice.
    fn below(&self, bound: u64, why: &'static str) -> u64 {
        if bound > 1 { self.draw(bound, why) } else { 0 }
    }

    fn sampled(&self) -> Option<Command> {
        let Draws { nemesis, nodes, .. } = *self;
        let packages = nemesis.packages.len() as u64;
        let kind = self.draw(packages * (ABSENT - 1) + 1, KIND);
        // The bound is a multiple of the number of nodes, of the number of node sets and, for up to
        // seven nodes, of the number of node orders.
        let victim = self.draw(nodes as u64 * ((1 << nodes) - 1) * 5040, VICTIM);
        let parameters = nemesis.packages.iter().map(Package::parameters).max().unwrap_or(1);
        let parameter = self.draw(2 * parameters, PARAMETER);
        let (mut lasting, gaps) = (pauses(&STEPS, &nemesis.lasting), pauses(&STEPS, &nemesis.gaps));
        lasting.extend((0..SPANS).map(Pause::Timers));
        let lasts = self.draw(lasting.len() as u64 + 1, LASTING) as usize;
        let gap = self.draw(gaps.len() as u64, GAP) as usize;
        let package = (kind.checked_sub(1)? % packages) as usize;
        let lasts = lasting.get(lasts).copied();
        Some(Command { package, victim, parameter, lasts, gap: gaps[gap] })
    }

    /// Draws a fault in a search: draws only values that make a difference.
    fn searched(&self) -> Option<Command> {
        let Draws { nemesis, nodes, .. } = *self;
        let kind = self.draw(nemesis.packages.len() as u64 + 1, KIND) as usize;
        let package = kind.checked_sub(1)?;
        let Package { victim, ways, .. } = &nemesis.packages[package];
        let orders = || (1..=nodes as u64).product();
        let takes_all = !ways.is_empty() || kind_of(nemesis, package) == FaultKind::Churn;
        let victims = if takes_all { orders() } else { victim.choices(nodes) };
        let victim = self.below(victims, VICTIM);
        let parameter = self.below(nemesis.packages[package].parameters(), PARAMETER);
        let (lasting, gaps) = (pauses(&[1], &nemesis.lasting), pauses(&[1], &nemesis.gaps));
        let lasts = match nemesis.packages[package].is_instant() {
            true => 0,
            false => self.below(lasting.len() as u64 + 1, LASTING) as usize,
        };
        let gap = gaps[self.below(gaps.len() as u64, GAP) as usize];
        Some(Command { package, victim, parameter, lasts: lasting.get(lasts).copied(), gap })
    }
}
