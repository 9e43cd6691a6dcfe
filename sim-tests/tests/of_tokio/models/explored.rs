//! The enumeration of all interleavings of a program in the model.

use std::collections::{BTreeSet, HashSet};

use super::{Act, Call, Clock, Objects, Polled, Program};

/// The value of an act that was too late.
pub(super) const LATE: i64 = -7;
/// The last value of a task that has ended without an abort.
pub(super) const END: i64 = -77;
/// The value before the value of the second branch of a `select!`.
pub(super) const SECOND: i64 = -50;

/// The end of a run: the values of each task, and the number of tasks that wait forever.
pub(super) type Outcome = (Vec<Vec<i64>>, usize);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    /// Before the first step.
    Unborn,
    /// At the yield before the act.
    Before,
    /// At the point of the act.
    Point,
    Waits,
    /// The next step drops the task.
    Aborted {
        has_begun: bool,
    },
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Task {
    at: usize,
    phase: Phase,
    /// The deadline of the act, if it has one.
    until: Option<u32>,
    log: Vec<i64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    objects: Objects,
    tasks: Vec<Task>,
    now: u32,
}

/// Returns the outcomes of all interleavings; `None` if there are more than `states_max` states. `faulty` is the number
/// of a primitive with a planted fault.
pub(super) fn outcomes(
    program: &Program,
    states_max: usize,
    faulty: Option<usize>,
) -> Option<BTreeSet<Outcome>> {
    let tasks = program.tasks.len();
    let task = Task { at: 0, phase: Phase::Unborn, until: None, log: Vec::new() };
    let mut objects = Objects::new(tasks, program.variant);
    faulty.into_iter().for_each(|primitive| objects.plant(primitive));
    let first = State { objects, tasks: vec![task; tasks], now: 0 };
    let (mut known, mut open) = (HashSet::new(), vec![first]);
    let mut outcomes = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut next = Vec::new();
        for task in 0..tasks {
            for flips in [false, true] {
                next.extend(state.stepped(program, task, flips));
            }
        }
        if program.clock == Clock::Any || next.is_empty() {
            next.extend(state.later());
        }
        if next.is_empty() {
            let is_stuck = |task: &&Task| task.phase != Phase::Over;
            let stuck = state.tasks.iter().filter(is_stuck).count();
            outcomes.insert((state.tasks.into_iter().map(|task| task.log).collect(), stuck));
        }
        for state in next {
            if known.insert(state.clone()) {
                open.push(state);
            }
        }
        if known.len() > states_max {
            return None;
        }
    }
    Some(outcomes)
}

impl State {
    /// Returns the state after the time has advanced to the next deadline.
    fn later(&self) -> Option<State> {
        let deadlines = self.tasks.iter().filter_map(|task| task.until);
        let now = deadlines.filter(|until| *until > self.now).min()?;
        Some(State { now, ..self.clone() })
    }

    /// Returns the state after a step of a task, if the task can step. With `flips`, the second branch of a `select!`
    /// is polled first.
    fn stepped(&self, program: &Program, me: usize, flips: bool) -> Option<State> {
        let mut state = self.clone();
        let acts = &program.tasks[me];
        let phase = state.tasks[me].phase;
        let act = acts.get(state.tasks[me].at).map(|(_, act)| *act);
        match phase {
            Phase::Over => return None,
            // The first task spawns the others into its set.
            Phase::Unborn
                if me > 0 && program.has_set() && self.tasks[0].phase == Phase::Unborn =>
            {
                return None;
            }
            Phase::Unborn => state.go_on(program, me),
            Phase::Before => state.enter(program, me),
            Phase::Aborted { has_begun } => {
                if has_begun {
                    state.cancel(act.expect("an act is under way"), me, None);
                }
                state.end(program, me, true);
            }
            Phase::Point | Phase::Waits => {
                state.poll(program, me, flips && matches!(act, Some(Act::Either(_, _, false))));
                let now = &mut state.tasks[me];
                if phase == Phase::Waits && now.phase == Phase::Waits && state == *self {
                    return None;
                }
            }
        }
        Some(state)
    }

    /// Moves a task from the begin of its current act to its next point.
    fn go_on(&mut self, program: &Program, me: usize) {
        match program.tasks[me].get(self.tasks[me].at) {
            None => {
                self.tasks[me].log.push(END);
                self.end(program, me, false);
            }
            Some((true, _)) => self.set_phase(me, Phase::Before),
            Some((false, _)) => self.enter(program, me),
        }
    }

    /// Changes the phase of a task, unless it was aborted.
    fn set_phase(&mut self, me: usize, phase: Phase) {
        self.tasks[me].phase = match self.tasks[me].phase {
            Phase::Aborted { .. } => {
                Phase::Aborted { has_begun: matches!(phase, Phase::Point | Phase::Waits) }
            }
            _ => phase,
        };
    }

    /// Begins the current act of a task.
    fn enter(&mut self, program: &Program, me: usize) {
        let act = program.tasks[me][self.tasks[me].at].1;
        match act {
            Act::Abort(other) => {
                self.abort(other);
                self.done(program, me);
            }
            Act::One(call) if !call.is_point() => {
                let Polled::Done(value) = self.objects.poll(call, (me, 0)) else {
                    unreachable!("{call:?} is no point, and waits")
                };
                self.tasks[me].log.push(value);
                self.done(program, me);
            }
            act => {
                for (branch, call) in act.calls().enumerate() {
                    self.objects.begin(call, (me, branch));
                }
                if let Act::Within(time, _) | Act::Sleep(time) = act {
                    self.tasks[me].until = Some(self.now + time);
                }
                let waits = matches!(act, Act::Sleep(_));
                self.set_phase(me, if waits { Phase::Waits } else { Phase::Point });
            }
        }
    }

    /// Polls the current act of a task.
    fn poll(&mut self, program: &Program, me: usize, flips: bool) {
        let act = program.tasks[me][self.tasks[me].at].1;
        let mut calls: Vec<(usize, Call)> = act.calls().enumerate().collect();
        if flips {
            calls.reverse();
        }
        let mut continues = false;
        for (branch, call) in calls {
            match self.objects.poll(call, (me, branch)) {
                Polled::Done(value) => {
                    self.cancel(act, me, Some(branch));
                    let second = (branch == 1).then_some(SECOND);
                    self.tasks[me].log.extend(second.into_iter().chain([value]));
                    return self.done(program, me);
                }
                Polled::Continues => continues = true,
                Polled::Waits => {}
            }
        }
        if self.tasks[me].until.is_some_and(|until| until <= self.now) {
            self.cancel(act, me, None);
            self.tasks[me].log.push(LATE);
            return self.done(program, me);
        }
        self.set_phase(me, if continues { Phase::Point } else { Phase::Waits });
    }

    /// Drops the calls of an act, except the call of this branch.
    fn cancel(&mut self, act: Act, me: usize, except: Option<usize>) {
        for (branch, call) in act.calls().enumerate().filter(|(at, _)| Some(*at) != except) {
            self.objects.cancel(call, (me, branch));
        }
    }

    /// Moves a task from the end of its current act to its next point.
    fn done(&mut self, program: &Program, me: usize) {
        self.tasks[me].at += 1;
        self.tasks[me].until = None;
        if !matches!(self.tasks[me].phase, Phase::Aborted { .. }) {
            self.tasks[me].phase = Phase::Unborn;
        } else {
            self.tasks[me].phase = Phase::Aborted { has_begun: false };
        }
        self.go_on(program, me);
    }

    fn end(&mut self, program: &Program, me: usize, is_aborted: bool) {
        self.objects.end(me, is_aborted);
        (self.tasks[me].phase, self.tasks[me].until) = (Phase::Over, None);
        if program.has_set() && me == 0 {
            // The set is dropped, and aborts its tasks.
            (1..self.tasks.len()).for_each(|other| self.abort(other));
        }
    }

    fn abort(&mut self, other: usize) {
        let other = &mut self.tasks[other];
        other.phase = match other.phase {
            Phase::Over => Phase::Over,
            Phase::Aborted { has_begun } => Phase::Aborted { has_begun },
            phase => Phase::Aborted { has_begun: matches!(phase, Phase::Point | Phase::Waits) },
        };
    }
}
