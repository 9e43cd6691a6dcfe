//! The state of a program: memory, locks, tasks, and the log so far.

use super::history::Call;
use crate::acts::program::{Act, Effect, End, LOCKS, NODES, Program, Sight, WORDS};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    /// The words, followed by the values under the locks.
    pub(super) memory: [u8; WORDS + LOCKS],
    pub(super) held: [bool; LOCKS],
    /// The added nodes, by name.
    pub(super) nodes: [Option<NodeState>; NODES],
    pub(super) tasks: Vec<Task>,
    pub(super) logs: Vec<Vec<u16>>,
    /// Sorted by name.
    pub(super) calls: Vec<Call>,
    pub(super) over: Option<End>,
}

/// An added node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct NodeState {
    /// The position of the node in the order of additions, counted from 1.
    pub(super) number: u8,
    /// The number of the current life, from 1. Each restart increments it.
    pub(super) life: u8,
    pub(super) is_up: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Life {
    Unborn,
    /// The task was spawned, but has not stepped yet.
    New,
    Begun,
    Ended,
    /// Aborted, and its future was dropped.
    Dropped,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Task {
    pub(super) life: Life,
    /// True if the next step drops the task.
    pub(super) aborted: bool,
    /// The handles that it holds, one bit per target. An ended task keeps them until another task takes them over.
    pub(super) handles: u32,
    /// The task's own acts. `branches` are the two branches of its current composite act, if any.
    pub(super) main: Fiber,
    pub(super) branches: Option<[Fiber; 2]>,
}

/// A list of acts with the progress of its execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Fiber {
    pub(super) at: u8,
    /// The progress within the current act, if the act has several parts.
    pub(super) stage: u8,
    /// True if the current operation is announced.
    pub(super) announced: bool,
    /// True if the announced operation was enabled when the current step began.
    pub(super) turn: bool,
    pub(super) last: Option<u8>,
    pub(super) items: Vec<Item>,
    pub(super) spin: Spin,
    pub(super) done: bool,
}

/// The reads of a condition that is evaluated repeatedly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Spin {
    /// One bit for each word and lock that the current evaluation has read, or the last evaluation while `held`.
    pub(super) seen: u8,
    /// True if the condition was false, so its next evaluation waits for a change of an object.
    pub(super) held: bool,
    /// True if an object that the condition read has changed since then.
    pub(super) changed: bool,
}

/// A value that a piece of a program holds until the value is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Item {
    Guard(u8),
    Defer(Effect),
}

impl State {
    pub(super) fn new(program: &Program) -> State {
        let task = |number| Task {
            life: if number == 0 { Life::New } else { Life::Unborn },
            aborted: false,
            handles: 0,
            main: Fiber::default(),
            branches: None,
        };
        State {
            memory: [0; WORDS + LOCKS],
            held: [false; LOCKS],
            nodes: [None; NODES],
            tasks: (0..program.tasks.len()).map(task).collect(),
            logs: vec![Vec::new(); program.tasks.len()],
            calls: Vec::new(),
            over: None,
        }
    }

    pub(super) fn sight(&self, end: End) -> Sight {
        Sight { end, logs: self.logs.clone(), memory: self.memory }
    }

    pub(super) fn has_ended(&self, task: usize) -> bool {
        matches!(self.tasks[task].life, Life::Ended | Life::Dropped)
    }

    /// Returns `true` if the task may take the next step.
    pub(super) fn can_step(&self, program: &Program, task: usize) -> bool {
        let Task { life, aborted, main, branches, .. } = &self.tasks[task];
        match life {
            Life::Unborn | Life::Ended | Life::Dropped => false,
            Life::New => true,
            Life::Begun if *aborted => true,
            Life::Begun => {
                let acts = &program.tasks[task];
                match branches {
                    None => self.is_enabled(main, acts),
                    Some(branches) => {
                        let pieces = acts[main.at as usize].pieces().expect("it is at pieces");
                        let each = branches.iter().zip(pieces);
                        each.into_iter().any(|(branch, piece)| self.is_enabled(branch, piece))
                    }
                }
            }
        }
    }

    /// Returns `true` if the pending operation of a fiber is enabled.
    pub(super) fn is_enabled(&self, fiber: &Fiber, acts: &[Act]) -> bool {
        if fiber.done || !fiber.announced {
            return false;
        }
        match &acts[fiber.at as usize] {
            Act::Lock(lock) => !self.held[*lock],
            Act::Join(target) => self.has_ended(*target),
            // This case applies after the yield of the act.
            Act::PollJoin(target) if fiber.stage == 1 => self.has_ended(*target),
            Act::Spin(..)
            | Act::SpinEither(..)
            | Act::SpinBoth(..)
            | Act::SpinExchange(..)
            | Act::SpinTry(_) => !fiber.spin.held || fiber.spin.changed,
            _ => true,
        }
    }
}
