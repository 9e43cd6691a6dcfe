//! Generated programs.

use super::{Call, NAMES};
use crate::differential::Dice;

/// When the time of a program advances.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Clock {
    /// When no task can step.
    Last,
    /// At any moment.
    Any,
}

/// An act of a task.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    One(Call),
    /// Two branches of a `select!`, with `biased;` if `true`.
    Either(Call, Call, bool),
    /// A call with a timeout, in milliseconds.
    Within(u32, Call),
    /// A sleep, in milliseconds.
    Sleep(u32),
    /// Aborts the task with this number.
    Abort(usize),
}

impl Act {
    /// Returns the calls of the act.
    pub(super) fn calls(self) -> impl Iterator<Item = Call> + Clone {
        let (one, other) = match self {
            Act::One(call) | Act::Within(_, call) => (Some(call), None),
            Act::Either(one, other, _) => (Some(one), Some(other)),
            Act::Sleep(_) | Act::Abort(_) => (None, None),
        };
        one.into_iter().chain(other)
    }
}

/// A generated program.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    /// The acts of each task. A task yields before an act with `true`.
    pub(super) tasks: Vec<Vec<(bool, Act)>>,
    /// Selects the capacities of the objects.
    pub(super) variant: usize,
    pub(super) clock: Clock,
}

impl Program {
    pub(super) fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.tasks.iter().flatten().flat_map(|(_, act)| act.calls())
    }

    /// Returns `true` if the first task has the others in a set.
    pub(super) fn has_set(&self) -> bool {
        self.calls().any(|call| call.name() == "set_model")
    }

    /// Returns `true` if a task waits for a time.
    pub(super) fn has_time(&self) -> bool {
        let mut acts = self.tasks.iter().flatten();
        acts.any(|(_, act)| matches!(act, Act::Within(..) | Act::Sleep(_)))
    }

    /// Returns the program of a primitive with this number. Some calls are calls of another primitive.
    pub(super) fn generate(primitive: usize, number: u64) -> Program {
        let mut dice = Dice(number.wrapping_mul(0x9E37_79B9) + 7919 * primitive as u64);
        let other = (dice.below(3) == 0).then(|| dice.below(NAMES.len()));
        let tasks = 2 + dice.below(2);
        let most = if tasks == 2 { 4 } else { 3 };
        let mut all = Vec::new();
        for task in 0..tasks {
            let acts = (2 + dice.below(most - 1)).min(4);
            let draw = |_| Program::act(&mut dice, (primitive, other), (task, tasks));
            all.push((0..acts).map(draw).collect());
        }
        let variant = dice.below(6);
        let clock = if dice.below(4) == 0 { Clock::Any } else { Clock::Last };
        Program { tasks: all, variant, clock }
    }

    fn act(
        dice: &mut Dice,
        (primitive, other): (usize, Option<usize>),
        (task, tasks): (usize, usize),
    ) -> (bool, Act) {
        let call = |dice: &mut Dice| {
            let of = other.filter(|_| dice.below(3) == 0).unwrap_or(primitive);
            Call::draw(of, dice, task, tasks)
        };
        let one = call(dice);
        let act = match dice.below(14) {
            0 | 1 if one.is_point() => Act::Within(1 + dice.below(2) as u32, one),
            2..=4 if one.is_point() => {
                let of = if one.is_exclusive() { dice.below(3) } else { primitive };
                let two = Call::draw(other.unwrap_or(of), dice, task, tasks);
                let is_taken = one.is_exclusive() && one.name() == two.name();
                match two.is_point() && !is_taken {
                    true => Act::Either(one, two, dice.below(2) == 0),
                    false => Act::One(one),
                }
            }
            5 => Act::Abort(dice.below(tasks)),
            6 if dice.below(3) == 0 => Act::Sleep(1 + dice.below(2) as u32),
            _ => Act::One(one),
        };
        // See `Notify::notified`: a future that is created right after another operation may be created again.
        let yields = dice.below(2) == 0 || act.calls().any(|call| call.name() == "notify_model");
        (yields, act)
    }
}
