//! Plans against brute force: every order of every stage is executed.

use super::safety::{BranchProgress, CommandStep, Lattice, Possible, StageRefusal};
use super::shape::interleavings;
use super::{CommandId, Gen, Program, ProgramPlan, ProgramSize, Results, Shape};
use crate::run::program::{Change, Fate, Faults};
use crate::run::rng::Rng;
use unpause_check::Model;

/// Files that can be opened and closed. The number of an open file is the result of an earlier command.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Files {
    opened: u32,
    open: Vec<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Op {
    Open,
    /// The file that this command opened.
    Close(CommandId),
    /// Closes the file with this number. This command replaces `Close` when the program runs.
    CloseFile(u32),
    /// Closes all open files; one must be open.
    CloseAny,
    /// Waits until a file is open, and then closes all open files.
    Await,
}

impl Model for Files {
    type Op = Op;
    type Ret = Option<u32>;

    fn step(&mut self, op: &Op) -> Option<u32> {
        match op {
            Op::Open => {
                self.opened += 1;
                self.open.push(self.opened);
                Some(self.opened)
            }
            Op::Close(_) => panic!("not resolved"),
            Op::CloseFile(file) => {
                self.open.retain(|open| open != file);
                None
            }
            Op::CloseAny | Op::Await => {
                self.open.pop();
                None
            }
        }
    }
}

impl Program for Files {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        match g.below(6) {
            5 => Op::Await,
            0 | 1 => Op::Open,
            2 => Op::CloseAny,
            _ => g.choose_earlier(|e| *e.op == Op::Open).map_or(Op::Open, Op::Close),
        }
    }

    fn precondition(&self, op: &Op) -> bool {
        match op {
            Op::CloseFile(file) => self.open.contains(file),
            Op::CloseAny => !self.open.is_empty(),
            Op::Open | Op::Close(_) | Op::Await => true,
        }
    }

    fn waits(&self, op: &Op) -> bool {
        *op == Op::Await && self.open.is_empty()
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        match op {
            Op::Close(open) => Some(Op::CloseFile((*results.get(*open)?)?)),
            other => Some(other.clone()),
        }
    }
}

/// Runs the commands of branches in every order. Returns all final states, or the error if a command was
/// refused or all branches wait.
fn every_order(
    now: &Possible<Files>,
    at: &mut Vec<usize>,
    branches: &[Vec<CommandStep<'_, Files>>],
    ends: &mut Vec<Possible<Files>>,
) -> Result<(), String> {
    let mut nexts = Vec::new();
    for nth in 0..now.open.len() {
        if now.push_effects(nth, &mut nexts).is_err() {
            return Err(format!("{:?} refused late, after {at:?}", now.open[nth].op));
        }
        for next in nexts.drain(..) {
            every_order(&next, at, branches, ends)?;
        }
    }
    let (mut left, mut goes_on) = (false, false);
    for branch in 0..branches.len() {
        let Some(step) = branches[branch].get(at[branch]) else { continue };
        left = true;
        match now.after(step, true, &mut nexts) {
            Err(why) => return Err(format!("{:?} refused after {at:?}: {why:?}", step.op)),
            Ok(goes) => goes_on |= goes == BranchProgress::On,
        }
        at[branch] += 1;
        for next in nexts.drain(..) {
            every_order(&next, at, branches, ends)?;
        }
        at[branch] -= 1;
    }
    match (left, goes_on) {
        (true, false) => Err(format!("all wait after {at:?}")),
        (false, _) => {
            if !ends.contains(now) {
                ends.push(now.clone());
            }
            Ok(())
        }
        (true, true) => Ok(()),
    }
}

/// Returns the number of orders in which sequences of these lengths can be merged.
fn orders(lengths: &[usize]) -> u64 {
    let next = (0..lengths.len()).filter(|branch| lengths[*branch] > 0);
    let rest = |branch: usize| {
        let mut rest = lengths.to_vec();
        rest[branch] -= 1;
        orders(&rest)
    };
    if lengths.iter().sum::<usize>() == 0 { 1 } else { next.map(rest).sum() }
}

fn drawn(
    shape: &Shape,
    seed: u64,
    size: u32,
    changes: &mut dyn FnMut() -> Change,
) -> ProgramPlan<Files> {
    let mut rng = Rng::new(seed);
    ProgramPlan::draw(
        shape,
        ProgramSize::Percent(size),
        &Files::default(),
        &mut |bound| rng.below(bound),
        changes,
        &mut |_| 0,
    )
    .unwrap_or_else(|unfinished| panic!("{}", unfinished.doing))
}

/// Runs every command of a plan in every order of every stage. Panics if a command is not allowed, if all branches
/// wait, or if a command sees the result of a concurrent command.
fn go_through(plan: &ProgramPlan<Files>) {
    let mut starts = vec![Possible::new(Files::default())];
    for stage in &plan.stages {
        let runs = |id: &&CommandId| plan.slots[id.index()].fate == Fate::Runs;
        let branches: Vec<Vec<CommandId>> =
            stage.iter().map(|branch| branch.iter().filter(runs).copied().collect()).collect();
        let own = |branch: usize| {
            let branches = &branches;
            move |other: CommandId| {
                let beside = branches.iter().enumerate().filter(|(n, _)| *n != branch);
                !beside.flat_map(|(_, ids)| ids).any(|id| *id == other)
            }
        };
        let own: Vec<_> = (0..branches.len()).map(own).collect();
        let steps: Vec<Vec<CommandStep<'_, Files>>> = branches
            .iter()
            .zip(&own)
            .map(|(ids, sees)| {
                let step = |id: &CommandId| {
                    let super::PlanSlot { op: Some(op), faults, .. } = &plan.slots[id.index()]
                    else {
                        panic!("{id:?} is run and asks nothing")
                    };
                    CommandStep { id: *id, op, sees, faults: *faults, again: false }
                };
                ids.iter().map(step).collect()
            })
            .collect();
        for (branch, steps) in steps.iter().enumerate() {
            for step in steps {
                if let Op::Close(open) = step.op {
                    assert!(own[branch](*open), "{open:?} is seen from beside it in {plan:?}");
                }
            }
        }
        let mut ends = Vec::new();
        for start in &starts {
            let all = every_order(start, &mut vec![0; steps.len()], &steps, &mut ends);
            all.unwrap_or_else(|why| panic!("{why} in {plan:?}"));
        }
        starts = ends;
    }
}

/// Shapes with so few orders that a test can try all of them.
fn shapes() -> [Shape; 4] {
    let branches = Shape::branches().max_branches(3).max_branch_length(2).min_prefix_length(1);
    let [chunks, branches] =
        [Shape::chunks().max_chunks(2).max_chunk_size(4), branches.max_prefix_length(3)];
    // With faults, programs have many more states, so only small programs are checked as a whole.
    let few = chunks.clone().max_chunks(1).max_chunk_size(3).max_prefix_length(2);
    let short = branches.clone().max_branches(2).max_prefix_length(2).max_suffix_length(2);
    [chunks, branches, few.crash(0.2).timeout(0.1), short.crash(0.2).timeout(0.1)]
}

/// Returns the number of programs of each shape that are compared with all their orders.
fn programs() -> u64 {
    if crate::long() { 300 } else { 75 }
}

#[test]
fn every_command_is_allowed_in_every_order() {
    let mut closed = 0;
    for shape in shapes() {
        for seed in 0..programs() {
            let plan = drawn(&shape, seed, 100, &mut || Change::Keep);
            let closes = |id: &&CommandId| {
                matches!(plan.slots[id.index()].op, Some(Op::Close(_) | Op::CloseAny | Op::Await))
            };
            closed += plan.stages[1].iter().flatten().filter(closes).count();
            go_through(&plan);
        }
    }
    assert!(closed > 50, "only {closed} commands beside others needed anything");
}

#[test]
fn every_smaller_program_is_as_safe_as_the_one_it_is_made_of() {
    for shape in shapes() {
        for seed in 0..programs() {
            let mut rng = Rng::new(seed ^ 0xabcd);
            let mut moved = 0;
            let plan = drawn(&shape, seed, 100, &mut || match rng.below(8) {
                0 | 1 => Change::Drop,
                2 => Change::Tombstone(3),
                3 if moved < 3 => {
                    moved += 1;
                    Change::ToPrefix
                }
                4 => Change::ToSuffix,
                _ => Change::Keep,
            });
            go_through(&plan);
        }
    }
}

#[test]
fn what_is_left_of_a_program_asks_what_it_asked() {
    for seed in 0..if crate::long() { 100 } else { 40 } {
        let whole = drawn(&shapes()[0], seed, 100, &mut || Change::Keep);
        let mut n = 0;
        let part = drawn(&shapes()[0], seed, 100, &mut || {
            n += 1;
            if n % 2 == 0 { Change::Drop } else { Change::Keep }
        });
        for (whole, part) in whole.slots.iter().zip(&part.slots) {
            assert_eq!(whole.op, part.op);
        }
    }
}

#[test]
fn a_share_of_the_largest_number_of_commands_is_a_number() {
    let shape = Shape::chunks().max_prefix_length(u32::MAX);
    let mut bounds = Vec::new();
    let plan = ProgramPlan::draw(
        &shape,
        ProgramSize::Percent(99),
        &Files::default(),
        &mut |bound| {
            bounds.push(bound);
            0
        },
        &mut || Change::Keep,
        &mut |_| 0,
    );
    drop(plan);
    // The first draw is the number of commands in the prefix.
    assert_eq!(bounds[0], u64::from(u32::MAX) * 99 / 100 + 1);
}

fn step<'a>(
    (id, op, faults): &'a (CommandId, Op, Faults),
    sees: &'a dyn Fn(CommandId) -> bool,
) -> CommandStep<'a, Files> {
    CommandStep { id: *id, op, sees, faults: *faults, again: false }
}

#[test]
fn a_stage_is_safe_if_all_its_orders_are() {
    let mut verdicts = [0; 2];
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let mut ids = 0;
        let branches: Vec<Vec<(CommandId, Op, Faults)>> = (0..1 + rng.below(3))
            .map(|_| {
                let length = rng.below(3);
                let mut op = || {
                    ids += 1;
                    let op = [Op::Open, Op::CloseAny, Op::Await][rng.below(3) as usize].clone();
                    let (crash, timeout) = match rng.below(8) {
                        0 => (Some(1), false),
                        1 => (None, true),
                        _ => (None, false),
                    };
                    (CommandId(ids - 1), op, Faults { crash, timeout, again: false })
                };
                (0..length).map(|_| op()).collect()
            })
            .collect();
        let start = Files { opened: 2, open: (1..=rng.below(3) as u32).collect() };
        let start = Possible::new(start);
        let sees = |_| true;
        let steps: Vec<Vec<CommandStep<'_, Files>>> = branches
            .iter()
            .map(|branch| branch.iter().map(|command| step(command, &sees)).collect())
            .collect();
        let mut ends = Vec::new();
        let all = every_order(&start, &mut vec![0; steps.len()], &steps, &mut ends);
        let ends = all.is_ok().then_some(ends);
        let mut lattice = Lattice::new(vec![start], true);
        let safe = lattice.grow(&steps, u64::MAX);
        assert_eq!(safe.is_ok(), ends.is_some(), "seed {seed}: {branches:?}: {safe:?}");
        verdicts[usize::from(ends.is_some())] += 1;
        let (found, Some(ends)) = (lattice.ends(), ends) else { continue };
        assert!(found.iter().all(|a| ends.contains(a)));
        assert!(ends.iter().all(|a| found.contains(a)));
    }
    assert!(verdicts.iter().all(|count| *count > 200), "{verdicts:?}");
}

#[test]
fn with_too_many_orders_nothing_is_taken_for_safe() {
    // The program has eight branches of four commands. `CloseAny` needs a file that an earlier branch opened.
    let sees = |_| true;
    let step =
        |id, op| CommandStep { id, op, sees: &sees, faults: Faults::default(), again: false };
    let opens = || -> Vec<CommandStep<'_, Files>> {
        (0..4).map(|n| step(CommandId(n), &Op::Open)).collect()
    };
    let is_safe = |branches: &[Vec<CommandStep<'_, Files>>], budget| {
        let mut lattice = Lattice::new(vec![Possible::new(Files::default())], false);
        let safe = lattice.grow(branches, budget);
        assert!(safe.is_err() || lattice.ends().iter().all(|end| end.state.opened == 8));
        safe
    };
    let many: Vec<_> = (0..8).map(|_| opens()).collect();
    assert_eq!(is_safe(&many, u64::MAX), Err(StageRefusal::TooMany));
    assert_eq!(is_safe(&many[..2], u64::MAX), Ok(()));
    assert_eq!(is_safe(&many[..2], 10), Err(StageRefusal::TooMany));
}

/// Records all commands in order: no two orders lead to the same state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Log(Vec<u32>);

impl Model for Log {
    type Op = u32;
    type Ret = ();

    fn step(&mut self, op: &u32) {
        self.0.push(*op);
    }
}

impl Program for Log {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u32 {
        g.below(1000) as u32
    }

    /// 7 and 8 only after a 1, which nothing takes away; 9 not after many others.
    fn precondition(&self, op: &u32) -> bool {
        match op {
            7 | 8 => self.0.contains(&1),
            9 => self.0.len() < 6,
            _ => true,
        }
    }

    fn waits(&self, op: &u32) -> bool {
        *op == 2 && !self.0.contains(&1)
    }
}

#[test]
fn a_lattice_that_grows_says_what_a_new_one_says() {
    let mut answers = [0; 2];
    let mut large = 0;
    for seed in 0..if crate::long() { 300 } else { 40 } {
        let mut rng = Rng::new(seed);
        let start = || vec![Possible::new(Log::default())];
        let mut grown = Lattice::new(start(), false);
        let mut branches: Vec<Vec<(u32, Faults)>> = Vec::new();
        // Every third seed has faults, and therefore many states.
        let faults = seed % 3 == 0;
        for _ in 0..1 + rng.below(4) {
            branches.push(Vec::new());
            for _ in 0..rng.below(6) {
                let fault = if faults { rng.below(12) } else { 2 };
                let crash = (fault == 0).then_some(1);
                let faults = Faults { crash, timeout: fault == 1, again: false };
                branches.last_mut().unwrap().push((rng.below(40) as u32, faults));
                let sees = |_| true;
                let step = |(op, faults)| CommandStep {
                    id: CommandId(0),
                    op,
                    sees: &sees,
                    faults,
                    again: false,
                };
                let steps: Vec<Vec<CommandStep<'_, Log>>> = branches
                    .iter()
                    .map(|branch| branch.iter().map(|(op, faults)| step((op, *faults))).collect())
                    .collect();
                let mut new = Lattice::new(start(), false);
                let safe = grown.grow(&steps, u64::MAX);
                assert_eq!(safe, new.grow(&steps, u64::MAX), "seed {seed}: {branches:?}");
                answers[usize::from(safe.is_ok())] += 1;
                if safe.is_ok() {
                    assert_eq!(grown.ends(), new.ends(), "seed {seed}: {branches:?}");
                    large += u32::from(new.ends().len() > 256);
                } else {
                    branches.last_mut().unwrap().pop();
                }
            }
        }
    }
    println!("{answers:?}, {large}");
    assert!(answers[0] > 13 && answers[1] > 130 && large > 4, "{answers:?}, {large}");
}

#[test]
fn a_shape_of_nothing_or_of_too_much_is_refused() {
    let refused = |make: fn() -> Shape| {
        let payload = std::panic::catch_unwind(make).expect_err("it should be refused");
        *payload.downcast::<String>().unwrap()
    };
    let (few, none) = ("give 2 to 8", "give at least 1");
    type Case = (fn() -> Shape, &'static str, &'static str);
    let cases: [Case; 6] = [
        (|| Shape::branches().max_branches(0), "0 branches", few),
        (|| Shape::branches().max_branches(9), "9 branches", few),
        (|| Shape::chunks().max_chunk_size(1), "1 commands in a chunk", few),
        (|| Shape::branches().max_branch_length(0), "commands in a branch", none),
        (|| Shape::chunks().max_chunks(0), "chunks", none),
        (|| Shape::chunks().max_suffix_length(0), "commands in the suffix", none),
    ];
    for (make, says, remedy) in cases {
        let text = refused(make);
        assert!(text.contains(says) && text.ends_with(remedy), "{text}");
    }
    assert_eq!(Shape::branches().max_branches(8).max_branch_length(1).interleavings(), 40_320);
}

#[test]
fn as_many_orders_are_counted_as_there_are() {
    for lengths in [vec![], vec![3], vec![1, 1, 1, 1], vec![2, 3], vec![2, 2, 2], vec![0, 4, 1]] {
        assert_eq!(interleavings(&lengths), orders(&lengths), "{lengths:?}");
    }
    assert_eq!(interleavings(&[5, 5, 5]), 756_756);
    assert_eq!(interleavings(&[100, 100]), u64::MAX);
}

#[test]
fn what_a_seed_means_is_frozen() {
    let plan = drawn(&Shape::branches().stutter(0.5).crash(0.5), 7, 40, &mut || Change::Keep);
    let tell = |slot: &super::PlanSlot<Files>| {
        let Faults { again, crash, .. } = slot.faults;
        let op = slot.op.as_ref().map(|op| format!("{op:?}"));
        format!("{} {} {again} {crash:?}", slot.part, op.unwrap_or_default())
    };
    let told: Vec<String> = plan.slots.iter().map(tell).collect();
    expect_test::expect![[r#"
        prefix Open false Some(3)
        prefix Open false None
        prefix Open false None
        1.0 Close(#2) false None
        1.0 Await false Some(5)
        1.1 Open false None
        suffix Close(#0) false None"#]]
    .assert_eq(&told.join("\n"));
}
