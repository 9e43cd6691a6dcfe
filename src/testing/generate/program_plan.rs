//! The plan of a program: its commands and their places.
//!
//! Order of the draws, frozen:
//!
//! 1. the number of commands in each part;
//! 2. for each command, its change in a smaller program ([`Change`], not explored);
//! 3. for each command, its faults and its arguments;
//! 4. for each command, the chosen simpler command ([`Program::shrink`], not explored), drawn only
//!    if simpler commands exist.
//!
//! Changes are drawn before the arguments, so their positions do not depend on arguments. Simpler
//! commands are drawn last, because they depend on the arguments.
//!
//! A smaller program is derived from the generated program: commands are left out or moved after the generation. So the
//! remaining commands do not change when other commands are left out.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::draft::PlanDraft;
use super::memo::{self, KnownProgram, ProgramOrigin};
use super::script::{Script, ScriptLine};
use super::shape::{Middle, WIDTH_MIN};
use super::{CommandId, Program, Shape};
use crate::run::program::{Change, Fate, Faults, Omitted, Part};

/// The maximum number of attempts to generate a command that the model refuses.
const ATTEMPTS: u32 = 8;

/// The number of points, from the start of a command, at which the command may be dropped.
const CRASH_POINTS: u64 = 8;

/// A function that returns a number below its argument.
type Draw<'a> = &'a mut dyn FnMut(u64) -> u64;

/// The size of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProgramSize {
    /// At most this percentage, 0 to 100, of the maximum numbers in the shape.
    Percent(u32),
    /// As large as the shape allows. Every draw makes a difference, so a search over all draws visits every program at
    /// most once.
    All,
}

impl ProgramSize {
    fn of(self, most: u32) -> u32 {
        match self {
            ProgramSize::Percent(percent) => {
                // In 64 bits, because a shape may have any maximum. The result does not exceed this maximum.
                (u64::from(most) * u64::from(percent.min(100)) / 100) as u32
            }
            ProgramSize::All => most,
        }
    }

    /// Returns `true` with this probability, in thousandths. The minimum draw, 0, gives `false`. Draws nothing if the
    /// probability is 0.
    fn happens(self, probability: u32, draw: &mut dyn FnMut(u64) -> u64) -> bool {
        match self {
            ProgramSize::Percent(_) => {
                probability > 0 && draw(1000) >= 1000 - u64::from(probability)
            }
            ProgramSize::All => probability > 0 && draw(2) == 1,
        }
    }

    /// Returns the maximum number of attempts to generate a command that the model refuses. A search needs only one
    /// attempt, because it covers the other draws anyway.
    fn attempts(self) -> u32 {
        match self {
            ProgramSize::Percent(_) => ATTEMPTS,
            ProgramSize::All => 1,
        }
    }
}

/// A command of a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanSlot<P: Program> {
    pub(crate) part: Part,
    pub(crate) fate: Fate,
    pub(crate) faults: Faults,
    /// `None` if the model allowed no command in this place.
    pub(crate) op: Option<P::Op>,
    /// The number of decisions about a simpler command in this place.
    pub(crate) decided: usize,
    /// The number of simpler commands that the model offers for the current command.
    pub(crate) candidates: u64,
}

/// A program whose generation a panic of its model has ended.
pub(crate) struct Unfinished<P: Program> {
    /// The part generated before the panic.
    pub(crate) plan: ProgramPlan<P>,
    /// A description of the activity that panicked.
    pub(crate) doing: String,
    /// The payload of the panic.
    pub(crate) payload: Box<dyn Any + Send>,
}

/// The commands of a program, with their places.
#[derive(Clone, Debug)]
pub(crate) struct ProgramPlan<P: Program> {
    /// The commands, indexed by [`CommandId`].
    pub(crate) slots: Vec<PlanSlot<P>>,
    /// The prefix, the stages and the suffix. Each of these parts consists of branches of commands, which run or are
    /// represented by their points.
    pub(crate) stages: Vec<Vec<Vec<CommandId>>>,
    /// The number of orders in which the commands can take effect.
    pub(crate) interleavings: u64,
    /// The commands that were left out at generation.
    pub(crate) omitted: Omitted,
    /// The number of state transitions that the generation needed.
    pub(crate) work: u64,
}

impl<P: Program + 'static> ProgramPlan<P> {
    /// Generates a program of this shape and size for an object whose initial state is `initial`.
    ///
    /// `draw` returns a number below its argument. `change` is called once for each command. `simpler` is the `decide`
    /// function of [`PlanDraft::simplify`].
    ///
    /// # Errors
    /// A panic of the model, with the part generated so far.
    pub(crate) fn draw(
        shape: &Shape,
        size: ProgramSize,
        initial: &P,
        draw: &mut dyn FnMut(u64) -> u64,
        change: &mut dyn FnMut() -> Change,
        simpler: &mut dyn FnMut(u64) -> u64,
    ) -> Result<ProgramPlan<P>, Box<Unfinished<P>>> {
        let parts = parts(shape, size, draw);
        // All changes are drawn before the first draw of a command. So a replay with other changes has the same draws
        // at the same positions.
        let changes: Vec<Change> = parts.iter().map(|_| change()).collect();
        let mut draft = PlanDraft::new(initial, parts.clone());
        let mut making = None;
        // The model is user code. A panic in it is reported with the commands generated so far.
        let make = AssertUnwindSafe(|| {
            let mut generate = |draft: &mut PlanDraft<P>, draw: Draw<'_>| {
                for n in 0..draft.slots.len() {
                    let id = CommandId(n as u32);
                    making = Some(id);
                    draft.slots[n].faults = faults(shape, size, draw);
                    draft.generate(id, size.attempts(), draw);
                }
                making = None;
            };
            if memo::is_on() {
                let (shape, initial) = (shape.clone(), initial.clone());
                recall(ProgramOrigin { shape, size, initial, parts }, &mut draft, draw, generate);
            } else {
                generate(&mut draft, draw);
            }
            let simplified = draft.simplify(simpler);
            if simplified || changes.iter().any(|change| *change != Change::Keep) {
                draft.rearrange(&changes);
            }
        });
        match catch_unwind(make) {
            Ok(()) => Ok(draft.into_plan()),
            Err(payload) => {
                let doing = match making {
                    Some(id) => format!("command {id:?} was made for a program"),
                    None => "a program was made smaller".to_owned(),
                };
                Err(Box::new(Unfinished { plan: draft.into_plan(), doing, payload }))
            }
        }
    }

    /// Creates the plan of a script.
    ///
    /// # Errors
    /// The first command that the model does not allow in its place, if no command was changed.
    pub(crate) fn of_script(
        script: Script<P::Op>,
        initial: &P,
        change: &mut dyn FnMut() -> Change,
        simpler: &mut dyn FnMut(u64) -> u64,
    ) -> Result<ProgramPlan<P>, CommandId> {
        let names = script.commands.iter().map(|line| line.id.index() + 1);
        let mut parts = vec![Part::Prefix; names.max().unwrap_or(0)];
        for line in &script.commands {
            parts[line.id.index()] = line.part;
        }
        let changes: Vec<Change> = parts.iter().map(|_| change()).collect();
        let mut draft = PlanDraft::new(initial, parts);
        // A command of a script may contain the id of any other command.
        draft.looked = true;
        draft.scripted = true;
        let mut said = Vec::new();
        for ScriptLine { id, part, faults, op } in script.commands {
            let slot = &mut draft.slots[id.index()];
            assert!(slot.op.is_none(), "two commands of the script are called {id:?}: name both");
            *slot = PlanSlot {
                part,
                fate: Fate::Runs,
                faults,
                op: Some(op),
                decided: 0,
                candidates: 0,
            };
            let (stage, branch) = draft.place(part);
            let branches = &mut draft.stages[stage];
            branches.resize(branches.len().max(branch + 1), Vec::new());
            branches[branch].push(id);
            said.push(id);
        }
        let simplified = draft.simplify(simpler);
        draft.rearrange(&changes);
        let refused = |id: &CommandId| {
            changes[id.index()] == Change::Keep && draft.slots[id.index()].fate == Fate::Absent
        };
        match said.into_iter().find(refused) {
            Some(id) if !simplified && changes.iter().all(|change| *change == Change::Keep) => {
                Err(id)
            }
            _ => Ok(draft.into_plan()),
        }
    }

    /// Returns `true` if a command with this label runs.
    pub(crate) fn runs(&self, label: &str) -> bool {
        let mut runs = self.slots.iter().filter(|slot| slot.fate == Fate::Runs);
        runs.any(|slot| slot.op.as_ref().is_some_and(|op| P::label(op) == label))
    }

    /// Returns `true` if the plan has a command that its branch does not wait for.
    pub(crate) fn has_timeouts(&self) -> bool {
        let mut runs = self.slots.iter().filter(|slot| slot.fate == Fate::Runs);
        runs.any(|slot| slot.faults.timeout)
    }

    /// Returns `true` if `id` may use results of `other`. In that case, if `other` precedes `id`, it has certainly
    /// ended when `id` begins.
    pub(crate) fn sees(&self, id: CommandId, other: CommandId) -> bool {
        sees(self.slots[id.index()].part, self.slots[other.index()].part)
    }
}

/// Generates the commands of a draft, or restores them if they were generated from the same numbers before. The draws
/// are the same in both cases.
fn recall<P: Program + 'static>(
    origin: ProgramOrigin<P>,
    draft: &mut PlanDraft<P>,
    draw: Draw<'_>,
    generate: impl FnOnce(&mut PlanDraft<P>, Draw<'_>),
) {
    // Up to the first different number, the bounds are the same as in the memoized generation.
    let mut drawn: Vec<(u64, u64)> = Vec::new();
    if let Some(known) = memo::find(&origin) {
        let same = known.drawn.iter().all(|(bound, value)| {
            drawn.push((*bound, draw(*bound)));
            drawn.last().is_some_and(|(_, drawn)| drawn == value)
        });
        if same {
            return draft.restore(&known.generated);
        }
    }
    let mut ahead = std::mem::take(&mut drawn).into_iter();
    let mut again = |bound: u64| {
        // The bound differs only if the model is not a function of its draws.
        let value = ahead.next().map_or_else(|| draw(bound), |(_, value)| value.min(bound - 1));
        drawn.push((bound, value));
        value
    };
    generate(draft, &mut again);
    memo::keep(KnownProgram { origin, drawn, generated: draft.generated() });
}

/// Returns `true` if a command in the part `own` may use the result of a command in the part `other`: the parts must
/// not be concurrent.
pub(super) fn sees(own: Part, other: Part) -> bool {
    match (own, other) {
        (Part::Branch { stage, branch }, Part::Branch { stage: same, branch: beside }) => {
            stage != same || branch == beside
        }
        _ => true,
    }
}

/// Draws the part of each command, in command order.
fn parts(shape: &Shape, size: ProgramSize, draw: &mut dyn FnMut(u64) -> u64) -> Vec<Part> {
    let of_size = |most: u32| size.of(most);
    let mut up_to = |least: u32, most: u32| -> u32 {
        let most = least + of_size(most.saturating_sub(least));
        least + draw(u64::from(most - least) + 1) as u32
    };
    let mut parts = Vec::new();
    let (least, most) = shape.prefix;
    match shape.middle {
        Middle::Clients { ref topology, length_max } => {
            let prefix = up_to(least, most);
            parts.extend((0..prefix).map(|_| Part::Prefix));
            for branch in 0..topology.clients().len() as u32 {
                let length = up_to(1, length_max);
                parts.extend((0..length).map(|_| Part::Branch { stage: 0, branch }));
            }
        }
        Middle::Chunks { count_max, width_max } => {
            let prefix = up_to(least, most);
            parts.extend((0..prefix).map(|_| Part::Prefix));
            for stage in 0..up_to(1, count_max) {
                let width = up_to(WIDTH_MIN, width_max);
                parts.extend((0..width).map(|branch| Part::Branch { stage, branch }));
            }
        }
        Middle::Branches { probability, count_max, length_max } => {
            parts.extend((0..least).map(|_| Part::Prefix));
            for _ in least..least + of_size(most - least) {
                // 0 means to branch now, so the draw shrinks to an immediate branch.
                let branches = match size {
                    ProgramSize::Percent(_) => draw(1000) < u64::from(probability),
                    ProgramSize::All => probability > 0 && (probability >= 1000 || draw(2) == 0),
                };
                if branches {
                    break;
                }
                parts.push(Part::Prefix);
            }
            let mut up_to = |least: u32, most: u32| -> u32 {
                let most = least + of_size(most.saturating_sub(least));
                least + draw(u64::from(most - least) + 1) as u32
            };
            for branch in 0..up_to(WIDTH_MIN, count_max) {
                let length = up_to(1, length_max);
                parts.extend((0..length).map(|_| Part::Branch { stage: 0, branch }));
            }
        }
    }
    let suffix = 1 + draw(u64::from(of_size(shape.suffix_max - 1)) + 1);
    parts.extend((0..suffix).map(|_| Part::Suffix));
    parts
}

fn faults(shape: &Shape, size: ProgramSize, draw: &mut dyn FnMut(u64) -> u64) -> Faults {
    let mut strikes = |probability| size.happens(probability, draw);
    let again = strikes(shape.stutter);
    let timeout = strikes(shape.timeout);
    let crashes = strikes(shape.crash);
    let crash = crashes.then(|| 1 + draw(CRASH_POINTS) as u32);
    Faults { again, crash, timeout }
}
