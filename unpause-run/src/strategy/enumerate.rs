//! Exact probabilities, for tests: runs a small abstract program under a strategy, once for every outcome of the
//! strategy's random choices.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::{Arc, Mutex};

use super::dice::{Dice, PRIORITY_BITS};
use crate::run::board::{Announced, Board, Status, TaskRow};
use crate::run::choice::{Strategy, View};
use crate::run::event::{Event, Values};
use crate::run::ids::{ObjectId, Seed, TaskId};
use crate::run::op::{Access, Op, task};

/// An operation that a task executes at one of its points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AbstractOp {
    /// Reads, writes or otherwise accesses an object.
    To(u32, &'static Op),
    /// Waits until a lock, identified by its object number, is free, and acquires it.
    Lock(u32),
    /// Releases a lock, here as a separate operation.
    Unlock(u32),
    /// Spawns the task with this number and accesses no object.
    Spawn(usize),
    Yield,
    /// Ends the task with this number, in a step without an announcement.
    Kill(usize),
}

pub(super) const READ: Op = Op::new("read", Access::Read);
pub(super) const WRITE: Op = Op::new("write", Access::Write);
const LOCK: Op = Op::new("lock", Access::Lock);
const UNLOCK: Op = Op::new("unlock", Access::Write);
const SPAWN: Op = Op::new("spawn", Access::Spawn);
const YIELD: Op = Op::new("yield", Access::Yield);
const KILL: Op = Op::of_kind("kill", Access::Tell, task::KILL);

/// The operations of each task, by number. Tasks that a `Spawn` names do not exist at the start. As in a run, the first
/// step of each task does nothing.
pub(super) type Program = Vec<Vec<AbstractOp>>;

/// The operations in execution order: the task, and the number of its operation.
pub(super) type Order = Vec<(usize, usize)>;

/// A fraction in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Exact {
    above: u128,
    below: u128,
}

impl Exact {
    pub(super) const ZERO: Exact = Exact { above: 0, below: 1 };

    pub(super) fn new(above: u128, below: u128) -> Exact {
        let (mut a, mut b) = (above, below);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Exact { above: above / a, below: below / a }
    }

    pub(super) fn plus(self, other: Exact) -> Exact {
        let above = self.above * other.below + other.above * self.below;
        Exact::new(above, self.below * other.below)
    }

    pub(super) fn times(self, other: Exact) -> Exact {
        Exact::new(self.above * other.above, self.below * other.below)
    }

    /// Returns the fraction as an integer, if the fraction is an integer.
    pub(super) fn whole(self) -> Option<u128> {
        (self.below == 1).then_some(self.above)
    }

    pub(super) fn is_less(self, other: Exact) -> bool {
        self.above * other.below < other.above * self.below
    }
}

/// The choices of one run, and the current position.
#[derive(Default, Debug)]
struct Path {
    /// The answer and the bound of each choice.
    taken: Vec<(u64, u64)>,
    at: usize,
    priorities: Vec<u64>,
}

/// A source of random numbers that enumerates all outcomes, one outcome per run.
#[derive(Clone, Default, Debug)]
pub(super) struct All(Arc<Mutex<Path>>);

impl Path {
    fn below(&mut self, bound: u64) -> u64 {
        if self.at == self.taken.len() {
            self.taken.push((0, bound));
        }
        self.at += 1;
        assert_eq!(self.taken[self.at - 1].1, bound, "the strategy is not a function of its dice");
        self.taken[self.at - 1].0
    }
}

impl Dice for All {
    fn reseed(&mut self, _: Seed) {}

    fn below(&mut self, bound: u64) -> u64 {
        // If there is only one possibility, no random choice is needed.
        if bound == 1 { 0 } else { self.0.lock().unwrap().below(bound) }
    }

    /// A new number falls into each gap between the earlier numbers with the same probability, because all numbers have
    /// the same distribution.
    fn priority(&mut self) -> u64 {
        let mut path = self.0.lock().unwrap();
        let known = path.priorities.len() as u64;
        let gap = if known == 0 { 0 } else { path.below(known + 1) as usize };
        let low = if gap == 0 { 0 } else { path.priorities[gap - 1] };
        let high = path.priorities.get(gap).copied().unwrap_or(1 << PRIORITY_BITS);
        assert!(high - low > 1, "too many priorities");
        let middle = low + (high - low) / 2;
        path.priorities.insert(gap, middle);
        middle
    }
}

impl All {
    fn restart(&self) {
        let mut path = self.0.lock().unwrap();
        path.at = 0;
        path.priorities.clear();
    }

    /// Returns the probability of the current run.
    fn probability(&self) -> Exact {
        let path = self.0.lock().unwrap();
        let factors = path.taken.iter().map(|(_, bound)| Exact::new(1, u128::from(*bound)));
        factors.fold(Exact::new(1, 1), Exact::times)
    }

    /// Advances to the next run. Returns `false` if the current run was the last run.
    fn advance(&self) -> bool {
        let mut path = self.0.lock().unwrap();
        while let Some((answer, bound)) = path.taken.pop() {
            if answer + 1 < bound {
                path.taken.push((answer + 1, bound));
                return true;
            }
        }
        false
    }
}

/// Returns the probability of each order of operations under a strategy that `create` creates from its dice. In
/// rehearsals, every choice gets the first answer.
pub(super) fn orders<S: Strategy>(
    program: &Program,
    create: impl Fn(All) -> S,
) -> BTreeMap<Order, Exact> {
    let dice = All::default();
    let mut strategy = create(dice.clone());
    while strategy.rehearsals() > 0 {
        *dice.0.lock().unwrap() = Path::default();
        run(program, &mut strategy);
    }
    *dice.0.lock().unwrap() = Path::default();
    let mut found: BTreeMap<Order, Exact> = BTreeMap::new();
    for _ in 0..5_000_000 {
        dice.restart();
        let order = run(program, &mut strategy);
        let sum = found.entry(order).or_insert(Exact::ZERO);
        *sum = sum.plus(dice.probability());
        if !dice.advance() {
            let sum = found.values().fold(Exact::ZERO, |sum, one| sum.plus(*one));
            assert_eq!(sum, Exact::new(1, 1));
            return found;
        }
    }
    panic!("too many runs");
}

/// Returns the probability that an order has a property.
pub(super) fn probability(
    orders: &BTreeMap<Order, Exact>,
    holds: impl Fn(&Order) -> bool,
) -> Exact {
    let those = orders.iter().filter(|(order, _)| holds(order));
    those.fold(Exact::ZERO, |sum, (_, one)| sum.plus(*one))
}

/// Returns the probability of each property of orders, as computed by `key`.
pub(super) fn sums<K: Ord>(
    orders: BTreeMap<Order, Exact>,
    key: impl Fn(&Order) -> K,
) -> BTreeMap<K, Exact> {
    let mut sums = BTreeMap::new();
    for (order, one) in orders {
        let sum = sums.entry(key(&order)).or_insert(Exact::ZERO);
        *sum = sum.plus(one);
    }
    sums
}

/// Asserts that there are `count` entries with equal probabilities.
#[track_caller]
pub(super) fn assert_uniform<K: std::fmt::Debug>(sums: BTreeMap<K, Exact>, count: usize) {
    assert_eq!(sums.len(), count, "{sums:?}");
    for (key, sum) in sums {
        assert_eq!(sum, Exact::new(1, count as u128), "{key:?}");
    }
}

/// Returns all possible orders of a program.
pub(super) fn all_orders(program: &Program) -> Vec<Order> {
    let found = orders(program, AnyTask);
    found.into_keys().collect()
}

/// The random walk, with enumerated dice.
struct AnyTask(All);

impl Strategy for AnyTask {
    fn begin(&mut self, _: Seed) {}

    fn pick(&mut self, view: &View<'_>) -> Result<usize, crate::run::choice::Mismatch> {
        Ok(self.0.below(view.candidates().len() as u64) as usize)
    }

    fn draw(&mut self, _: &crate::run::choice::Draw) -> Result<u64, crate::run::choice::Mismatch> {
        Ok(0)
    }
}

/// A strategy with a replaced `begin`.
pub(super) struct WithBegin<S, F>(pub(super) S, pub(super) F);

impl<S: Strategy, F: Fn(&mut S, Seed) + Send> Strategy for WithBegin<S, F> {
    fn begin(&mut self, seed: Seed) {
        (self.1)(&mut self.0, seed);
    }

    fn rehearsals(&self) -> u32 {
        self.0.rehearsals()
    }

    fn sees_forced_steps(&self) -> bool {
        self.0.sees_forced_steps()
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, crate::run::choice::Mismatch> {
        self.0.pick(view)
    }

    fn draw(
        &mut self,
        draw: &crate::run::choice::Draw,
    ) -> Result<u64, crate::run::choice::Mismatch> {
        self.0.draw(draw)
    }

    fn end(&mut self, view: &View<'_>) -> Result<(), crate::run::choice::Mismatch> {
        self.0.end(view)
    }
}

/// An interpreter of programs that presents each state to a strategy as the view of a run.
struct Interpreter<'a> {
    program: &'a Program,
    board: Board,
    /// For each task of the board, its number in the program and its next operation; `None` before the first step.
    tasks: Vec<(usize, Option<usize>)>,
    holders: BTreeMap<u32, usize>,
}

impl Interpreter<'_> {
    fn spawn(&mut self, number: usize, parent: Option<TaskId>) {
        let nth = match parent {
            Some(parent) => {
                let children = &mut self.board.tasks.at_mut(parent.index()).children;
                *children += 1;
                *children - 1
            }
            None => self.tasks.len() as u32,
        };
        self.tasks.push((number, None));
        self.board.tasks.push(|| TaskRow::new(parent, nth, Location::caller()));
    }

    fn kill(&mut self, killer: TaskId, victim: usize) {
        let Some(id) = self.tasks.iter().position(|(number, _)| *number == victim) else { return };
        if self.board.tasks[id].status == Status::Done {
            return;
        }
        self.tasks[id].1 = Some(self.program[victim].len());
        self.board.events.push(Event {
            step: self.board.step,
            task: killer,
            object: None,
            op: &KILL,
            place: Location::caller(),
            values: Values::Task(TaskId(id as u32)),
        });
    }

    /// Updates the list of enabled tasks on the board. Returns `true` if some task is enabled.
    fn update_ready(&mut self) -> bool {
        for id in 0..self.tasks.len() {
            let (number, next) = self.tasks[id];
            let act = next.map(|next| self.program[number].get(next));
            let can = match act {
                Some(Some(AbstractOp::Lock(lock))) => !self.holders.contains_key(lock),
                Some(None) => false,
                _ => true,
            };
            let row = self.board.tasks.at_mut(id);
            row.announced.clear();
            let (op, object) = match act.flatten() {
                Some(AbstractOp::To(object, op)) => (*op, Some(*object)),
                Some(AbstractOp::Lock(object)) => (&LOCK, Some(*object)),
                Some(AbstractOp::Unlock(object)) => (&UNLOCK, Some(*object)),
                Some(AbstractOp::Spawn(_)) => (&SPAWN, None),
                Some(AbstractOp::Yield | AbstractOp::Kill(_)) => (&YIELD, None),
                None => (&YIELD, None),
            };
            if act.flatten().is_some_and(|act| !matches!(act, AbstractOp::Kill(_))) {
                let object = object.map(ObjectId::new);
                let announced =
                    Announced { op, object, enabled: can, key: 1, ..Announced::NOTHING };
                row.announced.push(announced);
            }
            let was = row.status == Status::Ready;
            row.status = match act {
                Some(None) => Status::Done,
                _ if can => Status::Ready,
                _ => Status::Blocked,
            };
            let task = TaskId(id as u32);
            if can && !was {
                self.board.arrived.push(task);
                self.board.ready.push(task);
            } else if was && !can {
                self.board.ready.retain(|other| *other != task);
            }
        }
        for (at, task) in self.board.ready.iter().enumerate() {
            self.board.tasks.at_mut(task.index()).ready_at = at as u32;
        }
        !self.board.ready.is_empty()
    }

    fn step(&mut self, task: TaskId, order: &mut Order) {
        self.board.arrived.clear();
        self.board.current = task;
        let (number, next) = self.tasks[task.index()];
        let Some(next) = next else {
            self.tasks[task.index()].1 = Some(0);
            self.board.step += 1;
            return;
        };
        order.push((number, next));
        let mut event = |op: &'static Op, object: u32| {
            self.board.events.push(Event {
                step: self.board.step,
                task,
                object: Some(ObjectId::new(object)),
                op,
                place: Location::caller(),
                values: Values::None,
            });
        };
        match self.program[number][next] {
            AbstractOp::To(object, op) => event(op, object),
            AbstractOp::Lock(object) => {
                event(&LOCK, object);
                assert!(self.holders.insert(object, number).is_none());
            }
            AbstractOp::Unlock(object) => {
                event(&UNLOCK, object);
                assert_eq!(self.holders.remove(&object), Some(number));
            }
            AbstractOp::Spawn(child) => self.spawn(child, Some(task)),
            AbstractOp::Yield => {}
            AbstractOp::Kill(victim) => self.kill(task, victim),
        }
        self.tasks[task.index()].1 = Some(next + 1);
        self.board.step += 1;
    }
}

/// Executes one run until all tasks end or deadlock.
pub(super) fn run<S: Strategy>(program: &Program, strategy: &mut S) -> Order {
    let object = |act: &AbstractOp| match act {
        AbstractOp::To(object, _) | AbstractOp::Lock(object) | AbstractOp::Unlock(object) => {
            *object
        }
        AbstractOp::Spawn(_) | AbstractOp::Yield | AbstractOp::Kill(_) => 0,
    };
    let objects = program.iter().flatten().map(object).max().map_or(0, |most| most + 1);
    let object_keys = (0..u64::from(objects)).collect();
    let mut interpreter = Interpreter {
        program,
        board: Board { object_keys, ..Board::default() },
        tasks: Vec::new(),
        holders: BTreeMap::new(),
    };
    let spawned =
        |number: usize| program.iter().flatten().any(|act| *act == AbstractOp::Spawn(number));
    for number in (0..program.len()).filter(|number| !spawned(*number)) {
        interpreter.spawn(number, None);
    }
    let mut order = Vec::new();
    strategy.begin(Seed(0));
    while interpreter.update_ready() {
        let view = View::of(&interpreter.board);
        let forced = view.candidates().len() == 1 && !strategy.sees_forced_steps();
        let at = if forced { 0 } else { strategy.pick(&view).unwrap() };
        let task = view.candidates()[at];
        interpreter.step(task, &mut order);
    }
    strategy.end(&View::of(&interpreter.board)).unwrap();
    order
}

/// Returns a program in which task n writes one object `acts[n]` times.
pub(super) fn writers(acts: &[usize]) -> Program {
    acts.iter().map(|acts| vec![AbstractOp::To(0, &WRITE); *acts]).collect()
}
