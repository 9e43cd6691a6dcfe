//! A tiny interpreter of concurrent programs: the runs that the tests shrink.
//!
//! A step executes one visible operation, and the invisible operations up to the next visible one. If a task begins
//! with invisible operations, its first step executes them. Draws, jumps, assertions and spawns are invisible, because
//! no other task can step between them and the next visible operation.

use crate::run::ids::TaskPath;
use crate::run::schedule::{Cursor, Schedule};

/// An operation of a task. `r` is a register of the task, `v` a shared variable, `l` a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    /// r := v
    Load(usize, usize),
    /// v := r + plus
    Store(usize, usize, i64),
    /// v := v + plus, in one step
    Add(usize, i64),
    /// if v = expected then v := new, in one step; r := whether it was
    Swap(usize, i64, i64, usize),
    Lock(usize),
    Unlock(usize),
    /// Waits until the task has ended.
    Join(usize),
    /// A point without effect.
    Nop,
    /// r := a value below `bound`
    Draw(usize, u64),
    /// Skips the next `ops` operations if r = is.
    SkipIf(usize, i64, usize),
    /// Fails if r = is.
    FailIf(usize, i64),
    /// Fails if the register is at least `from`.
    FailFrom(usize, i64),
    Spawn(usize),
}

use Op::*;

impl Op {
    fn is_visible(self) -> bool {
        !matches!(self, Draw(..) | SkipIf(..) | FailIf(..) | FailFrom(..) | Spawn(..))
    }
}

/// Tasks by number; tasks without a spawner run from the start.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub tasks: Vec<Vec<Op>>,
}

/// The failure of a run: the same kind in the same place is the same failure.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Fail {
    /// This `FailIf` or `FailFrom` operation of this task failed.
    Assert { task: usize, op: usize },
    /// No task can step, and these tasks wait for locks.
    Deadlock { waiting: Vec<(usize, usize)> },
}

/// A run between two steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    pub next: Vec<usize>,
    alive: Vec<bool>,
    registers: Vec<[i64; 3]>,
    variables: [i64; 6],
    holders: [Option<usize>; 6],
}

impl Program {
    pub(super) fn new(tasks: Vec<Vec<Op>>) -> Program {
        Program { tasks }
    }

    pub(super) fn begin(&self) -> State {
        let mut alive = vec![true; self.tasks.len()];
        for op in self.tasks.iter().flatten() {
            if let Spawn(task) = op {
                alive[*task] = false;
            }
        }
        State {
            next: vec![0; self.tasks.len()],
            alive,
            registers: vec![[0; 3]; self.tasks.len()],
            variables: [0; 6],
            holders: [None; 6],
        }
    }

    /// Numbers are paths of the same order: task 0 is the body, the others its children.
    pub(super) fn path(task: usize) -> TaskPath {
        match task {
            0 => TaskPath::main(),
            n => TaskPath::main().child(n as u32 - 1),
        }
    }

    pub(super) fn is_candidate(&self, state: &State, task: usize) -> bool {
        state.alive[task]
            && match self.tasks[task].get(state.next[task]) {
                None => false,
                Some(Lock(l)) => state.holders[*l].is_none(),
                Some(Join(task)) => self.is_done(state, *task),
                Some(_) => true,
            }
    }

    fn is_done(&self, state: &State, task: usize) -> bool {
        state.alive[task] && state.next[task] >= self.tasks[task].len()
    }

    pub(super) fn step(
        &self,
        state: &mut State,
        task: usize,
        draw: &mut dyn FnMut(u64) -> u64,
    ) -> Option<Fail> {
        let mut begun = false;
        while let Some(op) = self.tasks[task].get(state.next[task]).copied() {
            if op.is_visible() && begun {
                break;
            }
            begun = true;
            let at = state.next[task];
            state.next[task] += 1;
            let registers = &mut state.registers[task];
            match op {
                Load(v, r) => registers[r] = state.variables[v],
                Store(v, r, plus) => state.variables[v] = registers[r] + plus,
                Add(v, plus) => state.variables[v] += plus,
                Swap(v, expected, new, r) => {
                    let is = state.variables[v] == expected;
                    registers[r] = i64::from(is);
                    if is {
                        state.variables[v] = new;
                    }
                }
                Lock(l) => state.holders[l] = Some(task),
                Unlock(l) => state.holders[l] = None,
                Join(..) | Nop => {}
                Draw(r, bound) => registers[r] = draw(bound) as i64,
                SkipIf(r, is, ops) if registers[r] == is => state.next[task] += ops,
                FailIf(r, is) if registers[r] == is => {
                    return Some(Fail::Assert { task, op: at });
                }
                FailFrom(r, from) if registers[r] >= from => {
                    return Some(Fail::Assert { task, op: at });
                }
                SkipIf(..) | FailIf(..) | FailFrom(..) => {}
                Spawn(task) => state.alive[task] = true,
            }
        }
        let tasks = 0..self.tasks.len();
        if tasks.clone().any(|task| self.is_candidate(state, task)) {
            return None;
        }
        let waiting: Vec<_> = tasks
            .filter(|task| {
                let op = self.tasks[*task].get(state.next[*task]);
                state.alive[*task] && matches!(op, Some(Lock(..)))
            })
            .map(|task| (task, state.next[task]))
            .collect();
        (!waiting.is_empty()).then_some(Fail::Deadlock { waiting })
    }

    /// A run: `pick` returns the task of a step, or `None` for the default; `draw` returns the drawn values.
    fn run(&self, chooser: &mut dyn Chooser, stop_at: u32) -> (Schedule, Option<Fail>) {
        let tasks = self.tasks.len();
        let mut ran =
            Schedule { tasks: (0..tasks).map(Program::path).collect(), ..Schedule::default() };
        let mut state = self.begin();
        let mut last: Option<usize> = None;
        for _ in 0..stop_at {
            let can = |task: usize| self.is_candidate(&state, task);
            let go_on = last.filter(|last| can(*last));
            let Some(default) = go_on.or((0..tasks).find(|task| can(*task))) else {
                break;
            };
            let task = chooser.pick(&can, tasks).unwrap_or(default);
            ran.step(task, go_on.is_some_and(|last| last != task));
            last = Some(task);
            let mut drawn = Vec::new();
            let fail = self.step(&mut state, task, &mut |bound| {
                drawn.push(chooser.draw(task, bound));
                drawn[drawn.len() - 1]
            });
            drawn.iter().for_each(|value| ran.draw(task, *value));
            if fail.is_some() {
                return (ran, fail);
            }
        }
        (ran, None)
    }

    /// Replays leniently.
    pub(super) fn replay(&self, schedule: &Schedule) -> (Schedule, Option<Fail>) {
        let number = |path: &TaskPath| path.segments().get(1).map_or(0, |n| *n as usize + 1);
        let mut numbers = vec![None; self.tasks.len()];
        for (listed, path) in schedule.tasks.iter().enumerate() {
            numbers[number(path)] = Some(listed);
        }
        let listed: Vec<usize> = schedule.tasks.iter().map(number).collect();
        self.run(&mut Listed { cursor: Cursor::new(schedule.clone()), listed, numbers }, 1 << 20)
    }

    /// A run under a random walk that stays with a task for about `stay` steps.
    pub(super) fn random(&self, rng: &mut Rng, stay: u64) -> (Schedule, Option<Fail>) {
        self.run(&mut Walk { rng, stay, last: None }, 1 << 20)
    }
}

trait Chooser {
    fn pick(&mut self, can: &dyn Fn(usize) -> bool, tasks: usize) -> Option<usize>;
    fn draw(&mut self, task: usize, bound: u64) -> u64;
}

struct Listed {
    cursor: Cursor,
    listed: Vec<usize>,
    numbers: Vec<Option<usize>>,
}

impl Chooser for Listed {
    fn pick(&mut self, can: &dyn Fn(usize) -> bool, _: usize) -> Option<usize> {
        let listed = self.cursor.pick(|listed| can(self.listed[listed]))?;
        Some(self.listed[listed])
    }

    fn draw(&mut self, task: usize, bound: u64) -> u64 {
        self.numbers[task].map_or(0, |listed| self.cursor.draw(listed, bound))
    }
}

struct Walk<'a> {
    rng: &'a mut Rng,
    stay: u64,
    last: Option<usize>,
}

impl Chooser for Walk<'_> {
    fn pick(&mut self, can: &dyn Fn(usize) -> bool, tasks: usize) -> Option<usize> {
        if self.last.is_none_or(|last| !can(last)) || self.rng.below(self.stay) == 0 {
            let candidates: Vec<usize> = (0..tasks).filter(|task| can(*task)).collect();
            self.last = Some(candidates[self.rng.below(candidates.len() as u64) as usize]);
        }
        self.last
    }

    fn draw(&mut self, _: usize, bound: u64) -> u64 {
        self.rng.below(bound)
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014), good enough for tests.
pub(super) struct Rng(pub u64);

impl Rng {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % bound
    }
}
