//! A plan under construction. Commands are placed where the model allows them; unsafe commands are left out.
//!
//! The work for one plan is limited ([`WORK_MAX`]). Commands that are not proved safe within this limit are left out
//! like unsafe commands, and counted ([`Omitted`]).

use super::defaults::all_called;
use super::draws::{Earlier, Gen};
use super::program_plan::sees;
use super::safety::{CommandStep, Lattice, Possible, StageRefusal, resolved};
use super::shape::interleavings;
use super::{CommandId, PlanSlot, Program, ProgramPlan};
use crate::run::program::{Change, Fate, Faults, Omitted, Part};

/// The maximum number of state transitions for one plan. Shrinking the plan has the same limit again.
const WORK_MAX: u64 = 20_000;

/// The maximum number of times that a command is simplified.
const SIMPLER_MAX: usize = 500;

/// A plan under construction.
pub(super) struct PlanDraft<P: Program> {
    pub(super) slots: Vec<PlanSlot<P>>,
    pub(super) stages: Vec<Vec<Vec<CommandId>>>,
    initial: Possible<P>,
    /// The current stage, and the lattice of states that the stage can reach.
    entered: usize,
    lattice: Lattice<P>,
    /// For each branch, the state after its commands, if no other branch of the stage has started; `None` if not
    /// computed yet.
    heads: Vec<Option<Possible<P>>>,
    /// `true` if a command may contain the id of another command, so that results matter.
    pub(super) looked: bool,
    /// True for a script. A script that is too large to check runs unchanged.
    pub(super) scripted: bool,
    /// `true` if some command could be unsafe. `None` before the first command.
    restricted: Option<bool>,
    /// True if the rest of a script is accepted unchecked.
    trusted: bool,
    /// The number of state transitions: in total, and in the current round.
    work: u64,
    spent: u64,
    omitted: Omitted,
}

/// The state of a draft after the generation of all its commands.
pub(super) struct Generated<P: Program> {
    slots: Vec<PlanSlot<P>>,
    stages: Vec<Vec<Vec<CommandId>>>,
    looked: bool,
    restricted: Option<bool>,
    omitted: Omitted,
}

impl<P: Program> PlanDraft<P> {
    /// Returns the generated state.
    pub(super) fn generated(&self) -> Generated<P> {
        let PlanDraft { slots, stages, looked, restricted, omitted, .. } = self;
        let (slots, stages) = (slots.clone(), stages.clone());
        Generated { slots, stages, looked: *looked, restricted: *restricted, omitted: *omitted }
    }

    /// Restores a generated state without any work. Must be called before any command is generated.
    pub(super) fn restore(&mut self, generated: &Generated<P>) {
        let Generated { slots, stages, looked, restricted, omitted } = generated;
        (self.slots, self.stages) = (slots.clone(), stages.clone());
        (self.looked, self.restricted, self.omitted) = (*looked, *restricted, *omitted);
    }

    pub(super) fn new(initial: &P, parts: Vec<Part>) -> PlanDraft<P> {
        let middle = parts.iter().map(|part| match part {
            Part::Branch { stage, .. } => *stage as usize + 1,
            Part::Prefix | Part::Suffix | Part::Nemesis { .. } => 0,
        });
        let middle = middle.max().unwrap_or(0);
        let slot = |part| PlanSlot {
            part,
            fate: Fate::Absent,
            faults: Faults::default(),
            op: None,
            decided: 0,
            candidates: 0,
        };
        let initial = Possible::new(initial.clone());
        PlanDraft {
            slots: parts.into_iter().map(slot).collect(),
            stages: vec![Vec::new(); middle + 2],
            entered: 0,
            lattice: Lattice::new(vec![initial.clone()], false),
            heads: Vec::new(),
            initial,
            looked: false,
            scripted: false,
            restricted: None,
            trusted: false,
            work: 0,
            spent: 0,
            omitted: Omitted::default(),
        }
    }

    pub(super) fn place(&self, part: Part) -> (usize, usize) {
        match part {
            Part::Prefix => (0, 0),
            Part::Branch { stage, branch } => (stage as usize + 1, branch as usize),
            Part::Suffix => (self.stages.len() - 1, 0),
            Part::Nemesis { .. } => unreachable!("faults are no commands of the model"),
        }
    }

    /// Generates the command `id` in at most `most` attempts, and appends it to its branch if the model allows it
    /// there.
    pub(super) fn generate(&mut self, id: CommandId, most: u32, draw: &mut dyn FnMut(u64) -> u64) {
        let (stage, branch) = self.place(self.slots[id.index()].part);
        let mut refusal = None;
        let mut attempts = 0;
        while attempts < most && refusal != Some(StageRefusal::TooMany) {
            self.enter(stage);
            let possible = self.head(branch).clone();
            let earlier = self.earlier(id, &possible);
            let client = match self.slots[id.index()].part {
                Part::Branch { branch, .. } => Some(branch),
                Part::Prefix | Part::Suffix | Part::Nemesis { .. } => None,
            };
            let draw = &mut *draw;
            let mut g = Gen { draw, id, client, earlier: &earlier, looked: false };
            let op = possible.state.generate(&mut g);
            if g.looked && !self.looked {
                // Results were not stored until now, because no command needed them.
                self.looked = true;
                let before = self.running();
                self.rearrange(&vec![Change::Keep; self.slots.len()]);
                self.omitted.unchecked += before - self.running();
                self.begin();
                continue;
            }
            attempts += 1;
            self.slots[id.index()].op = Some(op);
            let mut appended = self.append(id, (stage, branch));
            let faults = self.slots[id.index()].faults;
            if appended == Err(StageRefusal::TooMany) && faults != Faults::default() {
                // Faults cause most of the states.
                self.slots[id.index()].faults = Faults::default();
                appended = self.append(id, (stage, branch));
                match appended {
                    Ok(()) => self.omitted.faults += 1,
                    Err(_) => self.slots[id.index()].faults = faults,
                }
            }
            match appended {
                Ok(()) => return,
                Err(why) => {
                    self.omitted.refused += u32::from(why != StageRefusal::TooMany);
                    refusal = Some(why);
                }
            }
        }
        self.slots[id.index()].op = None;
        let count = match refusal {
            Some(StageRefusal::Reference) => &mut self.omitted.reference,
            Some(StageRefusal::Stuck) => &mut self.omitted.waiting,
            Some(StageRefusal::TooMany) => &mut self.omitted.unchecked,
            Some(StageRefusal::Precondition) | None => &mut self.omitted.precondition,
        };
        *count += 1;
    }

    /// Returns the number of commands that run.
    fn running(&self) -> u32 {
        self.slots.iter().filter(|slot| slot.fate == Fate::Runs).count() as u32
    }

    /// Returns a state in which the next command of a branch can run. No other branch of the stage has started in this
    /// state.
    fn head(&mut self, branch: usize) -> &Possible<P> {
        if self.heads.len() <= branch {
            self.heads.resize(branch + 1, None);
        }
        if self.heads[branch].is_none() {
            let ids = self.stages[self.entered].get(branch).map_or(&[][..], Vec::as_slice);
            let start = self.lattice.start()[0].clone();
            self.heads[branch] = Some(self.sequential(start, ids));
        }
        self.heads[branch].as_ref().expect("it was just made")
    }

    /// Returns the state after these commands in sequence. A command that waits for another branch leaves the state
    /// unchanged.
    fn sequential(&self, mut possible: Possible<P>, ids: &[CommandId]) -> Possible<P> {
        let mut nexts = Vec::new();
        for step in ids.iter().flat_map(|id| self.steps_of(*id)) {
            if possible.after(&step, self.looked, &mut nexts).is_ok() && !nexts.is_empty() {
                possible = nexts.swap_remove(0);
            }
            nexts.clear();
        }
        possible
    }

    /// Returns the commands whose results `id` may use.
    fn earlier<'a>(&'a self, id: CommandId, possible: &'a Possible<P>) -> Vec<Earlier<'a, P>> {
        let own = self.slots[id.index()].part;
        let known = possible.returned.iter().take(id.index()).enumerate();
        let earlier = known.filter_map(|(n, ret)| {
            let slot = &self.slots[n];
            let (op, ret) = (slot.op.as_ref()?, ret.as_ref()?);
            sees(own, slot.part).then_some(Earlier { id: CommandId(n as u32), op, ret })
        });
        earlier.collect()
    }

    /// Appends `id` to a branch if the result is safe.
    fn append(
        &mut self,
        id: CommandId,
        (stage, branch): (usize, usize),
    ) -> Result<(), StageRefusal> {
        self.enter(stage);
        let head = self.head(branch).clone();
        if self.restricted.is_none() {
            self.restricted = Some(self.is_restricted(id, &head));
        }
        let branches = &mut self.stages[stage];
        if branches.len() <= branch {
            branches.resize(branch + 1, Vec::new());
        }
        branches[branch].push(id);
        self.slots[id.index()].fate = Fate::Runs;
        let safe = self.check_stage();
        match safe {
            Ok(()) => self.heads[branch] = Some(self.sequential(head, &[id])),
            Err(_) => {
                self.stages[stage][branch].pop();
                self.slots[id.index()].fate = Fate::Absent;
            }
        }
        safe
    }

    /// Returns `true` if the model has own preconditions, waits or references. The command `id` serves as the probe.
    fn is_restricted(&self, id: CommandId, head: &Possible<P>) -> bool {
        let PlanSlot { op: Some(op), part, faults, .. } = &self.slots[id.index()] else {
            return true;
        };
        let sees = |other: CommandId| sees(*part, self.slots[other.index()].part);
        let step: CommandStep<'_, P> =
            CommandStep { id, op, sees: &sees, faults: *faults, again: false };
        let ask = || {
            let op = resolved(&step, &head.returned);
            op.map(|op| head.state.precondition(&op) && !head.state.waits(&op))
        };
        !matches!(all_called::<P, _>(ask), (true, Some(true)))
    }

    /// Restarts with the first stage.
    fn begin(&mut self) {
        self.entered = 0;
        self.spent = 0;
        self.trusted = false;
        self.heads.clear();
        self.lattice = Lattice::new(vec![self.initial.clone()], self.looked);
    }

    /// Advances to a stage. All earlier stages are final.
    fn enter(&mut self, stage: usize) {
        while self.entered < stage {
            let starts = if self.is_free() {
                let ids: Vec<CommandId> =
                    self.stages[self.entered].iter().flatten().copied().collect();
                vec![self.sequential(self.lattice.start()[0].clone(), &ids)]
            } else {
                // The stage was accepted before, so its cost is limited, and the rest of the budget does not matter.
                let safe = self.check_stage_within(u64::MAX);
                assert!(safe.is_ok(), "what would make a stage unsafe was not let in: {safe:?}");
                self.lattice.ends()
            };
            self.lattice = Lattice::new(starts, self.looked);
            self.heads.clear();
            self.entered += 1;
        }
    }

    /// Returns `true` if no check is needed.
    fn is_free(&self) -> bool {
        self.trusted || self.restricted == Some(false)
    }

    /// Checks that the commands of the current stage are allowed in every order.
    fn check_stage(&mut self) -> Result<(), StageRefusal> {
        let budget = if self.scripted { 10 * WORK_MAX } else { WORK_MAX };
        self.check_stage_within(budget.saturating_sub(self.spent))
    }

    /// Like `check_stage`, with at most `budget` state transitions.
    fn check_stage_within(&mut self, budget: u64) -> Result<(), StageRefusal> {
        if self.is_free() {
            return Ok(());
        }
        let nothing = Lattice::new(Vec::new(), self.looked);
        let mut lattice = std::mem::replace(&mut self.lattice, nothing);
        let slots = &self.slots;
        let part = |id: CommandId| slots[id.index()].part;
        let part = &part;
        let own: Vec<_> = self.stages[self.entered]
            .iter()
            .map(|branch| {
                let own = branch.first().map(|id| part(*id));
                move |id: CommandId| own.is_none_or(|own| sees(own, part(id)))
            })
            .collect();
        let branches: Vec<Vec<CommandStep<'_, P>>> = self.stages[self.entered]
            .iter()
            .zip(&own)
            .map(|(branch, sees)| {
                branch.iter().flat_map(|id| self.steps_seeing(*id, sees)).collect()
            })
            .collect();
        let safe = lattice.grow(&branches, budget);
        self.lattice = lattice;
        let work = self.lattice.take_work();
        (self.work, self.spent) = (self.work + work, self.spent + work);
        if self.scripted && safe == Err(StageRefusal::TooMany) {
            self.trusted = true;
            self.omitted.trusted = true;
            return Ok(());
        }
        safe
    }

    /// Returns the steps of a command, if it runs. The steps may use all results of earlier stages.
    fn steps_of(&self, id: CommandId) -> impl Iterator<Item = CommandStep<'_, P>> {
        self.steps_seeing(id, &|_| true)
    }

    fn steps_seeing<'a>(
        &'a self,
        id: CommandId,
        sees: &'a dyn Fn(CommandId) -> bool,
    ) -> impl Iterator<Item = CommandStep<'a, P>> {
        let PlanSlot { op, fate, faults, .. } = &self.slots[id.index()];
        let op = op.as_ref().filter(|_| *fate == Fate::Runs);
        let step = move |op, again| CommandStep { id, op, sees, faults: *faults, again };
        let twice = faults.is_repeated() && op.is_some_and(|op| P::again(op).is_some());
        let second = op.filter(|_| twice).map(move |op| step(op, true));
        op.map(move |op| step(op, false)).into_iter().chain(second)
    }

    /// Replaces commands by simpler commands. `decide` returns a number below its argument: 0 keeps the command, and
    /// any other number selects a simpler command, for which `decide` is called again. Returns `true` if any command
    /// was replaced; the plan may then be unsafe.
    pub(super) fn simplify(&mut self, decide: &mut dyn FnMut(u64) -> u64) -> bool {
        let mut any = false;
        for slot in &mut self.slots {
            let PlanSlot { op: Some(op), decided, candidates, .. } = slot else { continue };
            // A model may offer an earlier command again.
            let mut before: Vec<P::Op> = Vec::new();
            loop {
                let mut simpler = if *decided < SIMPLER_MAX { P::shrink(op) } else { Vec::new() };
                simpler.retain(|other| other != op && !before.contains(other));
                if simpler.is_empty() && *decided == 0 {
                    break;
                }
                *candidates = simpler.len() as u64;
                *decided += 1;
                let chosen = decide(*candidates + 1) as usize;
                if chosen == 0 || chosen > simpler.len() {
                    break;
                }
                before.push(std::mem::replace(op, simpler.swap_remove(chosen - 1)));
                any = true;
            }
        }
        any
    }

    /// Leaves out some commands and moves others, as `changes` requests. Also leaves out commands that are no longer
    /// safe.
    pub(super) fn rearrange(&mut self, changes: &[Change]) {
        let last = self.stages.len() - 1;
        let before = std::mem::replace(&mut self.stages, vec![Vec::new(); last + 1]);
        self.begin();
        for slot in &mut self.slots {
            slot.fate = Fate::Absent;
        }
        let all: Vec<CommandId> = before.iter().flatten().flatten().copied().collect();
        let with = |wanted: Change| {
            let with = all.iter().filter(move |id| changes[id.index()] == wanted);
            with.copied().collect::<Vec<_>>()
        };
        let (to_prefix, to_suffix) = (with(Change::ToPrefix), with(Change::ToSuffix));
        for (stage, branches) in before.iter().enumerate() {
            let mut wanted: Vec<(CommandId, Part)> = Vec::new();
            if stage == last {
                wanted.extend(to_suffix.iter().map(|id| (*id, Part::Suffix)));
            }
            for id in branches.iter().flatten() {
                let part = self.slots[id.index()].part;
                match changes[id.index()] {
                    Change::Keep | Change::Tombstone(_) => wanted.push((*id, part)),
                    Change::Drop | Change::ToPrefix | Change::ToSuffix => {}
                }
            }
            if stage == 0 {
                wanted.extend(to_prefix.iter().map(|id| (*id, Part::Prefix)));
            }
            self.fill(stage, &wanted, changes);
        }
    }

    /// Puts commands into a stage: all commands if that is safe, otherwise only the safe commands, one by one. Trying
    /// all commands together is faster and also finds more safe stages, because a waiting command is safe beside a
    /// command that ends its wait.
    fn fill(&mut self, stage: usize, wanted: &[(CommandId, Part)], changes: &[Change]) {
        self.enter(stage);
        let mut all: Vec<Vec<CommandId>> = Vec::new();
        for (id, part) in wanted {
            let (_, branch) = self.place(*part);
            all.resize(all.len().max(branch + 1), Vec::new());
            all[branch].push(*id);
            self.slots[id.index()].part = *part;
            self.slots[id.index()].fate = match changes[id.index()] {
                Change::Tombstone(points) => Fate::Tombstone(points),
                _ => Fate::Runs,
            };
        }
        self.stages[stage] = all;
        if self.restricted.is_none() {
            let first = wanted.iter().find(|(id, _)| self.slots[id.index()].fate == Fate::Runs);
            let start = self.lattice.start()[0].clone();
            self.restricted = first.map(|(id, _)| self.is_restricted(*id, &start));
        }
        self.heads.clear();
        if self.check_stage().is_ok() {
            return;
        }
        self.stages[stage].clear();
        for (id, part) in wanted {
            let (_, branch) = self.place(*part);
            match self.slots[id.index()].fate {
                Fate::Runs => {
                    self.slots[id.index()].fate = Fate::Absent;
                    // A refused command is left out.
                    let _ = self.append(*id, (stage, branch));
                }
                _ => {
                    let branches = &mut self.stages[stage];
                    branches.resize(branches.len().max(branch + 1), Vec::new());
                    branches[branch].push(*id);
                }
            }
        }
    }

    pub(super) fn into_plan(self) -> ProgramPlan<P> {
        let PlanDraft { slots, stages, omitted, work, .. } = self;
        let runs = |id: &&CommandId| slots[id.index()].fate == Fate::Runs;
        let lengths = |stage: &Vec<Vec<CommandId>>| -> Vec<usize> {
            stage.iter().map(|branch| branch.iter().filter(runs).count()).collect()
        };
        let orders = stages.iter().map(|stage| interleavings(&lengths(stage)));
        let interleavings = orders.fold(1, u64::saturating_mul);
        ProgramPlan { slots, stages, interleavings, omitted, work }
    }
}
