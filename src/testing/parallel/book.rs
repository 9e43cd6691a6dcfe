//! A running program: its plan, drawn from the decisions of the run or given by a script, and the outcome of each
//! command. This module runs nothing.

use super::hooks::NemesisOf;
use std::cell::Cell;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::nemesis::{Branch, Fault};
use crate::run::Failure;
use crate::run::ids::{Place, TaskId};
use crate::run::panics::text_of;
use crate::run::place::in_text;
use crate::run::program::{
    Change, CommandLayout, CommandRecord, Omitted, PROGRAM, ProgramRecord, ProgramSource,
};
use crate::seam;
use crate::testing::generate::{
    CommandId, PlanSlot, ProgramPlan, ProgramSize, Results, Unfinished, memo,
};
use crate::testing::generate::{Program, Script, Shape};

/// The number of outcomes of the size decision: 0 to 100 percent of the shape, or [`ALL`].
const SIZES: u64 = ALL + 1;

/// The size value for all programs of a shape.
const ALL: u64 = 101;

/// A program with the outcomes of its commands.
pub(super) struct RunningProgram<P: Program> {
    initial: P,
    pub(super) plan: ProgramPlan<P>,
    interleavings_max: u64,
    /// The range of the values drawn in the run for the program, and the index of the first value for a change.
    draws: Range<usize>,
    changes: usize,
    /// The index of the first decision about a simpler command.
    simpler: usize,
    unfinished: Option<String>,
    /// `true` if the commands block.
    pub(super) blocks: bool,
    /// The faults of the script.
    pub(super) script: Vec<Fault>,
    /// The branch of the nemesis.
    pub(super) faults: Option<Branch>,
    pages: Mutex<CommandRecords<P>>,
}

/// The payload of a panic.
pub(super) type Payload = Box<dyn std::any::Any + Send>;

/// Returns the change of the next command. The change is a given value, so searches do not explore it.
fn change() -> Change {
    Change::of_decision(seam::given(Change::BOUND, 0, "change of the program"))
}

/// The decisions that replace commands by simpler commands. These decisions are given values, so searches do not
/// explore them.
struct SimplerCommands {
    /// The index of the first of these decisions among the values drawn in the run.
    first: Option<usize>,
}

impl SimplerCommands {
    fn decide(&mut self, bound: u64) -> u64 {
        self.first.get_or_insert_with(|| seam::position().0);
        seam::given(bound, 0, "simpler command of the program")
    }
}

pub(super) struct CommandRecords<P: Program> {
    /// Indexed by [`CommandId`], with the same meaning as in [`CommandLayout`].
    ran: Vec<Option<(TaskId, u32, u32)>>,
    drawn: Vec<(usize, usize)>,
    pub(super) returned: Vec<Option<P::Ret>>,
}

const NO_NEMESIS: &str = "a script with faults and no nodes that they befall: add `.nemesis(Nemesis::new(), &nodes)` \
    after `scripted(..)`";

const TOO_LARGE: &str = "a search cannot explore all programs of this shape: give it fewer or shorter branches and \
    smaller chunks, or write one program down for `scripted`";

impl<P: Program + 'static> RunningProgram<P> {
    /// Draws a program of this shape. Also returns the panic of the model, if a panic ended the generation.
    pub(super) fn draw(shape: &Shape, program: &P) -> (RunningProgram<P>, Option<Payload>) {
        let first = seam::position().0;
        // A search explores all programs of the shape, of every size.
        let grown = |seed: u64| seed.saturating_mul(2).saturating_add(20).min(100);
        let size = seam::given(SIZES, seam::seed().map_or(ALL, grown), "size of the program");
        let size = if size == ALL { ProgramSize::All } else { ProgramSize::Percent(size as u32) };
        let own = Cell::new(1);
        let mut changes = None;
        let mut change = || {
            own.set(own.get() + 1);
            changes.get_or_insert(seam::position().0);
            change()
        };
        let mut draw = |bound| {
            own.set(own.get() + 1);
            seam::draw(bound, PROGRAM)
        };
        let mut simpler = SimplerCommands { first: None };
        let mut decide = |bound| {
            own.set(own.get() + 1);
            simpler.decide(bound)
        };
        let made = ProgramPlan::draw(shape, size, program, &mut draw, &mut change, &mut decide);
        if seam::position().0 - first != own.get() {
            // The model draws values outside of its plan, and a memoized program would not draw them.
            memo::forget();
        }
        let (plan, unfinished) = match made {
            Ok(plan) => (plan, None),
            Err(unfinished) => {
                let Unfinished { plan, doing, payload } = *unfinished;
                // In a run that has already failed, the panic has no text and only unwinds.
                if !payload.is::<String>() && !payload.is::<&'static str>() {
                    std::panic::resume_unwind(payload);
                }
                (plan, Some((doing, payload)))
            }
        };
        let Omitted { unchecked, faults, .. } = plan.omitted;
        assert!(
            size != ProgramSize::All || unchecked + faults == 0 || unfinished.is_some(),
            "{TOO_LARGE}, for it is not known that the preconditions of {} hold in every order",
            P::name()
        );
        let firsts = (first, changes.unwrap_or(first), simpler.first);
        let book = RunningProgram::of(plan, program, firsts, shape.interleavings());
        match unfinished {
            None => (book, None),
            Some((doing, payload)) => {
                (RunningProgram { unfinished: Some(doing), ..book }, Some(payload))
            }
        }
    }

    pub(super) fn of_script(script: Script<P::Op>, program: &P, place: Place) -> RunningProgram<P> {
        let first = seam::position().0;
        let mut simpler = SimplerCommands { first: None };
        let mut script = script;
        let faults = std::mem::take(&mut script.faults);
        match ProgramPlan::of_script(script, program, &mut change, &mut |bound| {
            simpler.decide(bound)
        }) {
            Ok(plan) => {
                let most = plan.interleavings;
                let book = RunningProgram::of(plan, program, (first, first, simpler.first), most);
                RunningProgram { script: faults, ..book }
            }
            Err(id) => {
                let message = format!(
                    "the model does not allow command {id:?} of the script: in some order of what runs at the \
                     same time its precondition does not hold, a result that it uses is not there, or all wait"
                );
                let failure =
                    Failure::Misuse { message: message.clone(), place: place.to_string() };
                seam::fail(|| failure);
                panic!("{message} (the script is run at {})", in_text(place))
            }
        }
    }

    /// Creates a program. The tuple has the indices of its first drawn values: for the plan, for the changes, and for
    /// the simpler commands.
    fn of(
        plan: ProgramPlan<P>,
        program: &P,
        (first, changes, simpler): (usize, usize, Option<usize>),
        most: u64,
    ) -> RunningProgram<P> {
        let commands = plan.slots.len();
        let pages = CommandRecords {
            ran: vec![None; commands],
            drawn: vec![(0, 0); commands],
            returned: vec![None; commands],
        };
        let draws = first..seam::position().0;
        let (initial, pages) = (program.clone(), Mutex::new(pages));
        let simpler = simpler.unwrap_or(draws.end);
        RunningProgram {
            initial,
            plan,
            interleavings_max: most,
            draws,
            changes,
            simpler,
            unfinished: None,
            blocks: false,
            script: Vec::new(),
            faults: None,
            pages,
        }
    }

    /// Adds a branch with the faults of `nemesis`. The faults are drawn after the commands.
    pub(super) fn add_faults(&mut self, nemesis: Option<NemesisOf>) {
        let Some((nemesis, nodes, from)) = nemesis else {
            assert!(self.script.is_empty(), "{NO_NEMESIS}");
            return;
        };
        let stages = self.plan.stages.len() - 2;
        self.faults = Some(Branch::draw(nemesis, &nodes, (stages, &self.script), from));
        self.draws.end = seam::position().0;
    }

    pub(super) fn pages(&self) -> MutexGuard<'_, CommandRecords<P>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn slot(&self, id: CommandId) -> &PlanSlot<P> {
        &self.plan.slots[id.index()]
    }

    /// Returns the command with the results of earlier commands filled in.
    pub(super) fn resolve(&self, id: CommandId) -> Option<P::Op> {
        let pages = self.pages();
        let visible = |n: usize| self.plan.sees(id, CommandId(n as u32));
        let hidden = |n: usize| if visible(n) { pages.returned[n].clone() } else { None };
        let known: Vec<_> = (0..pages.returned.len()).map(hidden).collect();
        drop(pages);
        P::resolve(self.slot(id).op.as_ref()?, &Results { known: &known })
    }

    pub(super) fn begins(&self, id: CommandId) {
        if seam::in_run() {
            let (task, (drawn, step)) = (TaskId(seam::client() as u32), seam::position());
            let mut pages = self.pages();
            pages.ran[id.index()] = Some((task, step, step));
            pages.drawn[id.index()] = (drawn, drawn);
        }
    }

    pub(super) fn ended(&self, id: CommandId) {
        let (drawn, step) = seam::position();
        let mut pages = self.pages();
        if let Some((_, _, ended)) = &mut pages.ran[id.index()] {
            *ended = step;
            pages.drawn[id.index()].1 = drawn;
        }
    }
}

impl<P> ProgramSource for RunningProgram<P>
where
    P: Program + Send + Sync + 'static,
    P::Op: Send + Sync,
    P::Ret: Send + Sync,
{
    fn record(&self) -> ProgramRecord {
        let record = |(layout, slot): (CommandLayout, &PlanSlot<P>)| {
            let op = slot.op.as_ref();
            let told = |tell: fn(&P::Op) -> String| op.map(|op| text_of(|| tell(op)));
            let faults = slot.faults;
            let text = format!("{}{faults}", told(P::op_text).as_deref().unwrap_or("nothing"));
            let label = told(P::label).unwrap_or_default();
            let source = told(P::source).unwrap_or_default();
            CommandRecord { layout, text, label, source, faults }
        };
        let commands = self.layout();
        let faults = self.faults.iter().flat_map(|faults| faults.record(self.draws.end));
        ProgramRecord {
            model: P::name().to_owned(),
            initial: text_of(|| format!("{:#?}", self.initial)),
            op_type: std::any::type_name::<P::Op>().to_owned(),
            interleavings: self.plan.interleavings,
            interleavings_max: self.interleavings_max,
            draws: self.draws.clone(),
            omitted: self.plan.omitted,
            work: self.plan.work,
            unfinished: self.unfinished.clone(),
            blocks: self.blocks,
            commands: commands
                .into_iter()
                .zip(&self.plan.slots)
                .map(record)
                .chain(faults)
                .collect(),
            pins: self.faults.as_ref().map_or(Vec::new(), Branch::pins),
        }
    }

    fn work(&self) -> u64 {
        self.plan.work
    }

    fn layout(&self) -> Vec<CommandLayout> {
        let pages = self.pages();
        let mut end = self.simpler;
        let layout = |(n, slot): (usize, &PlanSlot<P>)| {
            let PlanSlot { part, fate, candidates, decided, .. } = *slot;
            let (ran, drawn, change) = (pages.ran[n], pages.drawn[n], self.changes + n);
            let simpler = (end, end + decided);
            end += decided;
            CommandLayout { part, fate, change, simpler, candidates, ran, drawn }
        };
        let faults = self.faults.iter().flat_map(|faults| faults.layout(self.draws.end));
        self.plan.slots.iter().enumerate().map(layout).chain(faults).collect()
    }
}
