//! The plan of a program: which command is asked where.
//!
//! Order of the draws, frozen: how many commands there are in each part; for each command what becomes
//! of it in a smaller program ([`Change`], not explored); then for each command what befalls it, and its
//! arguments. Edits stand before the arguments so that they stay where they are when arguments change.
//!
//! A smaller program is the one that was generated, in the states in which it was generated, with
//! commands left out or moved afterwards: what is left of it does not change because of what is not.

use super::draws::{Earlier, Gen};
use super::safety::{After, Lattice, Possible, Step};
use super::script::{Line, Script};
use super::shape::{Middle, WIDTH_MIN, interleavings};
use super::{CommandId, Program, Shape};
use crate::program::{Change, Fate, Faults, Part};

/// How often a command is generated anew if the model refuses it.
const ATTEMPTS: u32 = 8;

/// Points before one of which a command may be dropped.
const CRASH_POINTS: u64 = 8;

/// How large a program is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    /// At most this part, 0 to 100, of what the shape says as the most.
    Percent(u32),
    /// As large as the shape allows, drawn so that each number drawn makes a difference: a search that goes
    /// through all of them goes through all programs, each at most once.
    All,
}

impl Size {
    fn of(self, most: u32) -> u32 {
        match self {
            Size::Percent(percent) => most * percent.min(100) / 100,
            Size::All => most,
        }
    }

    /// Whether something with this probability in thousandths happens. 0, the least, is that it does not;
    /// nothing is drawn for what cannot happen.
    fn strikes(self, probability: u32, draw: &mut dyn FnMut(u64) -> u64) -> bool {
        match self {
            Size::Percent(_) => probability > 0 && draw(1000) >= 1000 - u64::from(probability),
            Size::All => probability > 0 && draw(2) == 1,
        }
    }

    /// How often a command is generated anew if the model refuses it. A search has the other draws anyway.
    fn attempts(self) -> u32 {
        match self {
            Size::Percent(_) => ATTEMPTS,
            Size::All => 1,
        }
    }
}

/// A command of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Slot<P: Program> {
    pub(crate) part: Part,
    pub(crate) fate: Fate,
    pub(crate) faults: Faults,
    /// None if the model allowed none.
    pub(crate) op: Option<P::Op>,
}

/// What is asked where.
#[derive(Clone, Debug)]
pub(crate) struct Plan<P: Program> {
    /// By [`CommandId`].
    pub(crate) slots: Vec<Slot<P>>,
    /// The prefix, the stages and the suffix, each as branches of commands that are run or whose
    /// points stand for them.
    pub(crate) stages: Vec<Vec<Vec<CommandId>>>,
    /// In how many orders the commands can take effect.
    pub(crate) interleavings: u64,
}

impl<P: Program> Plan<P> {
    /// A program of this shape and size for a thing that begins as `initial`.
    ///
    /// `draw` gives a number below its argument; `change` is asked once for each command.
    pub(crate) fn draw(
        shape: &Shape,
        size: Size,
        initial: &P,
        draw: &mut dyn FnMut(u64) -> u64,
        change: &mut dyn FnMut() -> Change,
    ) -> Plan<P> {
        let parts = parts(shape, size, draw);
        let changes: Vec<Change> = parts.iter().map(|_| change()).collect();
        let mut draft = Draft::new(initial, parts);
        for n in 0..draft.slots.len() {
            draft.slots[n].faults = faults(shape, size, draw);
            draft.generate(CommandId(n as u32), size.attempts(), draw);
        }
        if changes.iter().any(|change| *change != Change::Keep) {
            draft.rearrange(&changes);
        }
        draft.into_plan()
    }

    /// The program that a script says.
    ///
    /// # Errors
    /// The first command that the model does not allow where it stands, if nothing was changed.
    pub(crate) fn of_script(
        script: Script<P::Op>,
        initial: &P,
        change: &mut dyn FnMut() -> Change,
    ) -> Result<Plan<P>, CommandId> {
        let names = script.commands.iter().map(|line| line.id.index() + 1);
        let mut parts = vec![Part::Prefix; names.max().unwrap_or(0)];
        for line in &script.commands {
            parts[line.id.index()] = line.part;
        }
        let changes: Vec<Change> = parts.iter().map(|_| change()).collect();
        let mut draft = Draft::new(initial, parts);
        // Who wrote it down may hold the name of any command.
        draft.looked = true;
        let mut said = Vec::new();
        for Line { id, part, faults, op } in script.commands {
            let slot = &mut draft.slots[id.index()];
            assert!(slot.op.is_none(), "two commands of the script are called {id:?}: name both");
            *slot = Slot { part, fate: Fate::Runs, faults, op: Some(op) };
            let (stage, branch) = draft.place(part);
            let branches = &mut draft.stages[stage];
            branches.resize(branches.len().max(branch + 1), Vec::new());
            branches[branch].push(id);
            said.push(id);
        }
        draft.rearrange(&changes);
        let refused = |id: &CommandId| {
            changes[id.index()] == Change::Keep && draft.slots[id.index()].fate == Fate::Absent
        };
        match said.into_iter().find(refused) {
            Some(id) if changes.iter().all(|change| *change == Change::Keep) => Err(id),
            _ => Ok(draft.into_plan()),
        }
    }

    /// Whether `id` has certainly ended when a command of this stage and branch begins, if it is
    /// before it.
    pub(crate) fn sees(&self, (stage, branch): (usize, usize), id: CommandId) -> bool {
        sees(&self.stages, (stage, branch), id)
    }
}

/// A command that stands in the same stage and another branch is not to be seen.
fn sees(stages: &[Vec<Vec<CommandId>>], (stage, branch): (usize, usize), id: CommandId) -> bool {
    let beside = stages[stage].iter().enumerate().filter(|(other, _)| *other != branch);
    !beside.flat_map(|(_, ids)| ids).any(|other| *other == id)
}

/// Where the commands stand, part by part.
fn parts(shape: &Shape, size: Size, draw: &mut dyn FnMut(u64) -> u64) -> Vec<Part> {
    let of_size = |most: u32| size.of(most);
    let mut up_to = |least: u32, most: u32| -> u32 {
        let most = least + of_size(most.saturating_sub(least));
        least + draw(u64::from(most - least) + 1) as u32
    };
    let mut parts = Vec::new();
    let (least, most) = shape.prefix;
    match shape.middle {
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
                // 0 is to branch at once, so that this is what it shrinks to.
                let branches = match size {
                    Size::Percent(_) => draw(1000) < u64::from(probability),
                    Size::All => probability > 0 && (probability >= 1000 || draw(2) == 0),
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

fn faults(shape: &Shape, size: Size, draw: &mut dyn FnMut(u64) -> u64) -> Faults {
    let mut strikes = |probability| size.strikes(probability, draw);
    let again = strikes(shape.stutter);
    let unheard = strikes(shape.timeout);
    let crashes = strikes(shape.crash);
    let crash = crashes.then(|| 1 + draw(CRASH_POINTS) as u32);
    Faults { again, crash, unheard }
}

/// A plan in the making.
struct Draft<P: Program> {
    slots: Vec<Slot<P>>,
    stages: Vec<Vec<Vec<CommandId>>>,
    initial: Possible<P>,
    /// The stage that was entered, and the states that it can lead to.
    entered: usize,
    lattice: Lattice<P>,
    /// Whether a command may hold the name of another, so that results matter.
    looked: bool,
}

impl<P: Program> Draft<P> {
    fn new(initial: &P, parts: Vec<Part>) -> Draft<P> {
        let middle = parts.iter().map(|part| match part {
            Part::Branch { stage, .. } => *stage as usize + 1,
            Part::Prefix | Part::Suffix => 0,
        });
        let middle = middle.max().unwrap_or(0);
        let slot = |part| Slot { part, fate: Fate::Absent, faults: Faults::default(), op: None };
        let initial = Possible::new(initial.clone());
        Draft {
            slots: parts.into_iter().map(slot).collect(),
            stages: vec![Vec::new(); middle + 2],
            entered: 0,
            lattice: Lattice::new(vec![initial.clone()], false),
            initial,
            looked: false,
        }
    }

    fn place(&self, part: Part) -> (usize, usize) {
        match part {
            Part::Prefix => (0, 0),
            Part::Branch { stage, branch } => (stage as usize + 1, branch as usize),
            Part::Suffix => (self.stages.len() - 1, 0),
        }
    }

    /// Generates the command `id` and puts it at the end of its branch, if the model allows one there.
    fn generate(&mut self, id: CommandId, most: u32, draw: &mut dyn FnMut(u64) -> u64) {
        let (stage, branch) = self.place(self.slots[id.index()].part);
        self.enter(stage);
        let mut attempts = 0;
        while attempts < most {
            let possible = self.before((stage, branch));
            let earlier = self.earlier(id, (stage, branch), &possible);
            let mut g = Gen { draw: &mut *draw, id, earlier: &earlier, looked: false };
            let op = possible.state.generate(&mut g);
            if g.looked && !self.looked {
                // Results were not kept so far, as nobody asked for them.
                self.looked = true;
                self.begin();
                self.enter(stage);
                continue;
            }
            attempts += 1;
            self.slots[id.index()].op = Some(op);
            if self.append(id, (stage, branch)) {
                return;
            }
        }
        self.slots[id.index()].op = None;
    }

    /// One of the states that the next command of a branch can be asked in: no other branch has begun.
    fn before(&self, (stage, branch): (usize, usize)) -> Possible<P> {
        let before = self.stages[stage].get(branch).map_or(&[][..], Vec::as_slice);
        let mut possible = self.lattice.start()[0].clone();
        for step in self.steps(before, &|_| true) {
            // One that waits for another branch leaves the state as it is.
            if let After::Then(next) | After::Either(next, _) = possible.after(&step, self.looked) {
                possible = next;
            }
        }
        possible
    }

    /// The commands whose results `id` may use.
    fn earlier<'a>(
        &'a self,
        id: CommandId,
        place: (usize, usize),
        possible: &'a Possible<P>,
    ) -> Vec<Earlier<'a, P>> {
        let known = possible.returned.iter().take(id.index()).enumerate();
        let earlier = known.filter_map(|(n, ret)| {
            let id = CommandId(n as u32);
            let (op, ret) = (self.slots[n].op.as_ref()?, ret.as_ref()?);
            sees(&self.stages, place, id).then_some(Earlier { id, op, ret })
        });
        earlier.collect()
    }

    /// Puts `id` at the end of a branch if that is safe.
    fn append(&mut self, id: CommandId, (stage, branch): (usize, usize)) -> bool {
        self.enter(stage);
        let branches = &mut self.stages[stage];
        if branches.len() <= branch {
            branches.resize(branch + 1, Vec::new());
        }
        branches[branch].push(id);
        self.slots[id.index()].fate = Fate::Runs;
        let safe = self.is_safe();
        if !safe {
            self.stages[stage][branch].pop();
            self.slots[id.index()].fate = Fate::Absent;
        }
        safe
    }

    /// Begins anew with the first stage.
    fn begin(&mut self) {
        self.entered = 0;
        self.lattice = Lattice::new(vec![self.initial.clone()], self.looked);
    }

    /// Goes on to a stage: all before it are as they will be.
    fn enter(&mut self, stage: usize) {
        while self.entered < stage {
            let safe = self.is_safe();
            assert!(safe, "what would make a stage unsafe was not let in");
            self.lattice = Lattice::new(self.lattice.ends().to_vec(), self.looked);
            self.entered += 1;
        }
    }

    /// Whether the commands of the stage that was entered may be asked whatever the order.
    fn is_safe(&mut self) -> bool {
        let nothing = Lattice::new(Vec::new(), self.looked);
        let mut lattice = std::mem::replace(&mut self.lattice, nothing);
        let (stages, stage) = (&self.stages, self.entered);
        let sees: Vec<_> = (0..self.stages[stage].len())
            .map(|branch| move |id| sees(stages, (stage, branch), id))
            .collect();
        let branches: Vec<Vec<Step<'_, P>>> = self.stages[stage]
            .iter()
            .zip(&sees)
            .map(|(branch, sees)| self.steps(branch, sees))
            .collect();
        let safe = lattice.grow(&branches);
        self.lattice = lattice;
        safe
    }

    /// The commands of a branch that are run, as steps.
    fn steps<'a>(
        &'a self,
        branch: &[CommandId],
        sees: &'a dyn Fn(CommandId) -> bool,
    ) -> Vec<Step<'a, P>> {
        let mut steps = Vec::with_capacity(branch.len());
        for id in branch {
            let Slot { op: Some(op), fate: Fate::Runs, faults, .. } = &self.slots[id.index()]
            else {
                continue;
            };
            let step = |again| Step { id: *id, op, sees, faults: *faults, again };
            steps.push(step(false));
            if faults.is_repeated() && P::again(op).is_some() {
                steps.push(step(true));
            }
        }
        steps
    }

    /// Leaves commands out and moves others. What is not safe any more is left out too.
    fn rearrange(&mut self, changes: &[Change]) {
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

    /// Puts commands into a stage: all of them if that is safe, else one after the other those that
    /// are. Together is not only faster: one that waits is safe beside the one that ends its waiting.
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
        if self.is_safe() {
            return;
        }
        self.stages[stage].clear();
        for (id, part) in wanted {
            let (_, branch) = self.place(*part);
            match self.slots[id.index()].fate {
                Fate::Runs => {
                    self.slots[id.index()].fate = Fate::Absent;
                    self.append(*id, (stage, branch));
                }
                _ => {
                    let branches = &mut self.stages[stage];
                    branches.resize(branches.len().max(branch + 1), Vec::new());
                    branches[branch].push(*id);
                }
            }
        }
    }

    fn into_plan(self) -> Plan<P> {
        let (slots, stages) = (self.slots, self.stages);
        let runs = |id: &&CommandId| slots[id.index()].fate == Fate::Runs;
        let lengths = |stage: &Vec<Vec<CommandId>>| -> Vec<usize> {
            stage.iter().map(|branch| branch.iter().filter(runs).count()).collect()
        };
        let orders = stages.iter().map(|stage| interleavings(&lengths(stage)));
        let interleavings = orders.fold(1, u64::saturating_mul);
        Plan { slots, stages, interleavings }
    }
}
