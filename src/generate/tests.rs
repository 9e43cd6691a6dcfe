//! Plans against brute force: every order of every stage is gone through one by one.

use super::plan::Faults;
use super::safety::{After, Possible, Step, after_all};
use super::shape::interleavings;
use super::{CommandId, Gen, Plan, Program, Results, Shape};
use crate::check::Model;
use crate::program::{Change, Fate};
use crate::rng::Rng;

/// Files that are opened and closed; the number of an open one is the result of an earlier command.
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
    /// The same, with the file in its place.
    CloseFile(u32),
    /// Closes whatever is open; there must be something.
    CloseAny,
    /// Closes whatever is open once there is something.
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

/// Asks the commands of branches in every order, one order after the other. All states at the end;
/// what went wrong if a command was refused or all wait.
fn every_order(
    now: &Possible<Files>,
    at: &mut Vec<usize>,
    branches: &[Vec<Step<'_, Files>>],
    ends: &mut Vec<Possible<Files>>,
) -> Result<(), String> {
    let (mut left, mut goes_on) = (false, false);
    for branch in 0..branches.len() {
        let Some(step) = branches[branch].get(at[branch]) else { continue };
        left = true;
        match now.after(step, true) {
            After::Refused => return Err(format!("{:?} refused after {at:?}", step.op)),
            After::Waits => {}
            After::Then(next) => {
                goes_on = true;
                at[branch] += 1;
                every_order(&next, at, branches, ends)?;
                at[branch] -= 1;
            }
        }
    }
    match (left, goes_on) {
        (true, false) => Err(format!("all wait after {at:?}")),
        (false, _) => {
            let same =
                |end: &Possible<Files>| end.state == now.state && end.returned == now.returned;
            if !ends.iter().any(same) {
                ends.push(now.clone());
            }
            Ok(())
        }
        (true, true) => Ok(()),
    }
}

/// In how many orders sequences of these lengths can be merged.
fn orders(lengths: &[usize]) -> u64 {
    let next = (0..lengths.len()).filter(|branch| lengths[*branch] > 0);
    let rest = |branch: usize| {
        let mut rest = lengths.to_vec();
        rest[branch] -= 1;
        orders(&rest)
    };
    if lengths.iter().sum::<usize>() == 0 { 1 } else { next.map(rest).sum() }
}

fn drawn(shape: &Shape, seed: u64, size: u32, changes: &mut dyn FnMut() -> Change) -> Plan<Files> {
    let mut rng = Rng::new(seed);
    Plan::draw(shape, size, &Files::default(), &mut |bound| rng.below(bound), changes)
}

/// Asks every command of a plan in every order of every stage, and panics where one is not allowed,
/// all wait, or one sees what is beside it.
fn go_through(plan: &Plan<Files>) {
    let mut starts = vec![Possible { state: Files::default(), returned: Vec::new() }];
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
        let steps: Vec<Vec<Step<'_, Files>>> = branches
            .iter()
            .zip(&own)
            .map(|(ids, sees)| {
                let op = |id: &CommandId| plan.slots[id.index()].op.as_ref().unwrap();
                ids.iter().map(|id| Step { id: *id, op: op(id), sees }).collect()
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

/// Few enough orders to go through.
fn shapes() -> [Shape; 2] {
    let branches = Shape::branches().max_branches(3).max_branch_length(2).min_prefix_length(1);
    [Shape::chunks().max_chunks(2).max_chunk_size(4), branches.max_prefix_length(3)]
}

#[test]
fn every_command_is_allowed_in_every_order() {
    let mut closed = 0;
    for shape in shapes() {
        for seed in 0..300 {
            let plan = drawn(&shape, seed, 100, &mut || Change::Keep);
            let closes = |id: &&CommandId| {
                matches!(plan.slots[id.index()].op, Some(Op::Close(_) | Op::CloseAny | Op::Await))
            };
            closed += plan.stages[1].iter().flatten().filter(closes).count();
            go_through(&plan);
        }
    }
    assert!(closed > 200, "only {closed} commands beside others needed anything");
}

#[test]
fn every_smaller_program_is_as_safe_as_the_one_it_is_made_of() {
    for shape in shapes() {
        for seed in 0..300 {
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
    for seed in 0..100 {
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
fn a_stage_is_safe_if_all_its_orders_are() {
    let mut verdicts = [0; 2];
    for seed in 0..2000 {
        let mut rng = Rng::new(seed);
        let mut ids = 0;
        let branches: Vec<Vec<(CommandId, Op)>> = (0..1 + rng.below(3))
            .map(|_| {
                let length = rng.below(3);
                let mut op = || {
                    ids += 1;
                    let op = [Op::Open, Op::CloseAny, Op::Await][rng.below(3) as usize].clone();
                    (CommandId(ids - 1), op)
                };
                (0..length).map(|_| op()).collect()
            })
            .collect();
        let start = Files { opened: 2, open: (1..=rng.below(3) as u32).collect() };
        let start = Possible { state: start, returned: Vec::new() };
        let sees = |_| true;
        let steps: Vec<Vec<Step<'_, Files>>> = branches
            .iter()
            .map(|branch| branch.iter().map(|(id, op)| Step { id: *id, op, sees: &sees }).collect())
            .collect();
        let mut ends = Vec::new();
        let all = every_order(&start, &mut vec![0; steps.len()], &steps, &mut ends);
        let ends = all.is_ok().then_some(ends);
        let found = after_all(&[start], &steps, true);
        assert_eq!(found.is_some(), ends.is_some(), "seed {seed}: {branches:?}");
        verdicts[usize::from(ends.is_some())] += 1;
        let (Some((found, exact)), Some(ends)) = (found, ends) else { continue };
        assert!(exact);
        let same = |a: &Possible<Files>, b: &Possible<Files>| {
            a.state == b.state && a.returned == b.returned
        };
        assert!(found.iter().all(|a| ends.iter().any(|b| same(a, b))));
        assert!(ends.iter().all(|a| found.iter().any(|b| same(a, b))));
    }
    assert!(verdicts.iter().all(|count| *count > 200), "{verdicts:?}");
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
    let tell = |slot: &super::Slot<Files>| {
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
