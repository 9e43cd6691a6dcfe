//! One step of a task, and the building blocks of acts.

mod acts;

use super::history::{self, Call};
use super::state::{Fiber, Item, Life, Spin, State};
use super::{Draws, JOIN_IS_A_POINT};
use crate::acts::program::{Act, Effect, End, Program, WORDS, entry};

/// A step during its execution.
pub(super) struct Step<'p, 's> {
    program: &'p Program,
    state: &'s mut State,
    task: usize,
    draws: &'s mut Draws,
}

/// The result of an act.
enum Flow {
    /// The act is done, and the piece continues.
    Done,
    /// The act is done, and the value that it saw is logged.
    Saw(u8),
    /// The act is not done in this step.
    Waits,
    /// The run has ended.
    Over,
}

/// The result of one read of a condition.
enum Answer {
    Yes,
    No,
    /// The condition needs another read.
    More,
}

/// The index of a fiber in its task: 0 for the task's own acts, 1 and 2 for its branches.
type Lane = u8;

impl<'p> Step<'p, '_> {
    /// Makes `task` take a step. The task must be able to step. `draws` supplies the values that it draws.
    pub(super) fn take(program: &'p Program, state: &mut State, task: usize, draws: &mut Draws) {
        let mut step = Step { program, state, task, draws };
        if step.state.tasks[task].aborted {
            step.drop_task();
        } else {
            step.poll();
        }
    }

    /// Drops the future of an aborted task: first its branches, then its own values.
    fn drop_task(&mut self) {
        self.release_branches();
        self.release(0);
        if self.state.over.is_none() {
            let task = &mut self.state.tasks[self.task];
            task.life = Life::Dropped;
            task.handles = 0;
            task.main = Fiber::default();
        }
    }

    fn poll(&mut self) {
        for lane in 0..3 {
            let acts = self.acts(lane);
            let turn = self.fiber(lane).is_some_and(|f| f.announced)
                && acts.is_some_and(|acts| self.state.is_enabled(self.fiber(lane).unwrap(), acts));
            if let Some(fiber) = self.fiber_mut(lane) {
                fiber.turn = turn;
            }
        }
        self.state.tasks[self.task].life = Life::Begun;
        let ended = self.run(0);
        if self.state.over.is_some() {
            return;
        }
        if ended {
            let task = &mut self.state.tasks[self.task];
            task.life = Life::Ended;
            task.main = Fiber::default();
            if self.task == 0 {
                let fine = history::is_linearizable(&self.state.calls);
                self.state.over = Some(if fine { End::Passed } else { End::Violated });
            }
        } else {
            for lane in 0..3 {
                if let Some(fiber) = self.fiber_mut(lane) {
                    fiber.turn = false;
                }
            }
        }
    }

    /// Runs a fiber as far as possible. Returns `true` if the fiber has ended.
    fn run(&mut self, lane: Lane) -> bool {
        while let Some(act) = self.acts(lane).and_then(|acts| acts.get(self.at(lane))) {
            let flow = self.act(lane, act);
            let mut skip = 0;
            match flow {
                Flow::Over => return false,
                Flow::Waits => return false,
                Flow::Done => {}
                Flow::Saw(value) => self.log(lane, value),
            }
            if let Act::SkipIf(value, count) = act {
                if self.fiber(lane).unwrap().last == Some(*value) {
                    skip = *count;
                }
            }
            let fiber = self.fiber_mut(lane).unwrap();
            fiber.at += 1 + skip;
            fiber.stage = 0;
            fiber.spin = Spin::default();
        }
        self.release(lane);
        let fiber = self.fiber_mut(lane).unwrap();
        *fiber = Fiber { done: true, ..Fiber::default() };
        self.state.over.is_none()
    }

    // ---- points and memory

    /// Returns `true` if the current operation of the fiber must take effect now. Otherwise
    /// announces the operation.
    fn point(&mut self, lane: Lane) -> bool {
        let fiber = self.fiber_mut(lane).unwrap();
        fiber.announced = !fiber.turn;
        std::mem::take(&mut fiber.turn)
    }

    /// Performs an operation that reads a word and may write a new value.
    fn access(
        &mut self,
        lane: Lane,
        word: usize,
        effect: impl FnOnce(u8) -> (Option<u8>, Option<u8>),
    ) -> Flow {
        if !self.point(lane) {
            return Flow::Waits;
        }
        let (new, seen) = effect(self.state.memory[word]);
        if let Some(new) = new {
            self.replace(word, new);
        }
        seen.map_or(Flow::Done, Flow::Saw)
    }

    fn write(&mut self, word: usize, value: u8) {
        self.state.memory[word] = value;
        self.changed(word);
    }

    /// Writes a word as part of an operation that also reads. The word counts as changed only if the new value differs.
    fn replace(&mut self, word: usize, value: u8) {
        if std::mem::replace(&mut self.state.memory[word], value) != value {
            self.changed(word);
        }
    }

    /// Records that a word or a lock has changed, so conditions that read it are evaluated again.
    fn changed(&mut self, object: usize) {
        for task in &mut self.state.tasks {
            for fiber in std::iter::once(&mut task.main).chain(task.branches.iter_mut().flatten()) {
                if fiber.spin.seen & 1 << object != 0 {
                    fiber.spin.changed = true;
                }
            }
        }
    }

    fn acquire(&mut self, lane: Lane, lock: usize) -> u8 {
        self.state.held[lock] = true;
        self.fiber_mut(lane).unwrap().items.push(Item::Guard(lock as u8));
        let value = &mut self.state.memory[WORDS + lock];
        *value += 1;
        *value - 1
    }

    /// Evaluates a condition once. The evaluation is repeated until the condition holds.
    fn ask(&mut self, lane: Lane, look: impl FnOnce(&mut Self, u8) -> Answer) -> Flow {
        if !self.point(lane) {
            return Flow::Waits;
        }
        let fiber = self.fiber_mut(lane).unwrap();
        if fiber.stage == 0 {
            fiber.spin = Spin::default();
        }
        let stage = fiber.stage;
        match look(self, stage) {
            Answer::Yes => Flow::Done,
            Answer::More => {
                let fiber = self.fiber_mut(lane).unwrap();
                fiber.stage += 1;
                fiber.announced = true;
                Flow::Waits
            }
            Answer::No => {
                let fiber = self.fiber_mut(lane).unwrap();
                fiber.stage = 0;
                fiber.announced = true;
                fiber.spin.held = true;
                Flow::Waits
            }
        }
    }

    fn looks(&mut self, lane: Lane, word: usize, value: u8) -> Answer {
        self.fiber_mut(lane).unwrap().spin.seen |= 1 << word;
        if self.state.memory[word] == value { Answer::Yes } else { Answer::No }
    }

    // ---- tasks

    /// Removes the handle of `target` from the task. Returns its bit, or 0 if the task does not hold it.
    fn give_up(&mut self, target: usize) -> u32 {
        let handles = &mut self.state.tasks[self.task].handles;
        let bit = *handles & 1 << target;
        *handles -= bit;
        bit
    }

    fn spawn(&mut self, child: usize, given: u32) {
        let task = &mut self.state.tasks[child];
        task.life = Life::New;
        task.handles = given;
        self.state.tasks[self.task].handles |= 1 << child;
    }

    /// Awaits a handle that the fiber has removed from the task.
    fn join(&mut self, lane: Lane, target: usize) -> Flow {
        if !JOIN_IS_A_POINT && self.state.has_ended(target) {
            self.fiber_mut(lane).unwrap().turn = true;
        }
        if !self.point(lane) {
            return Flow::Waits;
        }
        Flow::Saw(self.joined(target))
    }

    /// Returns the result of joining a task that has ended.
    fn joined(&mut self, target: usize) -> u8 {
        let handles = std::mem::take(&mut self.state.tasks[target].handles);
        self.state.tasks[self.task].handles |= handles;
        u8::from(self.state.tasks[target].life == Life::Ended)
    }

    fn effect(&mut self, lane: Lane, effect: Effect) {
        let holds =
            |step: &Self, target: usize| step.state.tasks[step.task].handles & 1 << target != 0;
        match effect {
            Effect::Abort(target) if holds(self, target) => {
                if !self.state.has_ended(target) {
                    self.state.tasks[target].aborted = true;
                }
            }
            Effect::Look(target) if holds(self, target) => {
                let ended = self.state.has_ended(target);
                self.log(lane, u8::from(ended));
            }
            Effect::Abort(_) | Effect::Look(_) => {}
            Effect::Draw(bound) => {
                let value = self.draws.draw(bound);
                self.log(lane, value);
            }
            Effect::Spawn(child) => self.spawn(child, 0),
            Effect::Panic => drop(self.panic()),
        }
    }

    fn panic(&mut self) -> Flow {
        self.state.over = Some(End::Panicked(self.task));
        Flow::Over
    }

    // ---- pieces

    /// Performs an act with two branches: polls the first, then the second.
    fn branches(&mut self, lane: Lane, race: bool) -> Flow {
        assert_eq!(lane, 0, "pieces have no pieces");
        let task = &mut self.state.tasks[self.task];
        task.branches.get_or_insert_default();
        let mut done = 0;
        for branch in [1, 2] {
            if !self.fiber(branch).unwrap().done {
                self.run(branch);
            }
            if self.state.over.is_some() {
                return Flow::Over;
            }
            done += u8::from(self.fiber(branch).unwrap().done);
            if race && done > 0 {
                break;
            }
        }
        if done == 2 || race && done == 1 {
            self.release_branches();
            return if self.state.over.is_some() { Flow::Over } else { Flow::Done };
        }
        Flow::Waits
    }

    fn release_branches(&mut self) {
        for branch in [1, 2] {
            if self.fiber(branch).is_some() {
                self.release(branch);
            }
        }
        self.state.tasks[self.task].branches = None;
    }

    /// Releases the values of a piece that ends or is dropped, the last value first.
    fn release(&mut self, lane: Lane) {
        while self.state.over.is_none() {
            let Some(item) = self.fiber_mut(lane).unwrap().items.pop() else { return };
            match item {
                Item::Guard(_) => self.release_item(item),
                Item::Defer(effect) => self.effect(lane, effect),
            }
        }
    }

    fn release_item(&mut self, item: Item) {
        if let Item::Guard(lock) = item {
            self.state.held[lock as usize] = false;
            self.changed(WORDS + lock as usize);
        }
    }

    // ---- recorded calls

    fn call(&mut self, lane: Lane, write: Option<u8>, words: &[usize]) -> Flow {
        if !self.point(lane) {
            return Flow::Waits;
        }
        let fiber = self.fiber(lane).unwrap();
        let (stage, at) = (fiber.stage as usize, fiber.at);
        let outer = self.state.tasks[self.task].main.at;
        let name = (self.task as u8, outer, if lane == 0 { 0 } else { 100 * lane + at });
        if stage == 0 {
            // The call is invoked at its first access.
            let returned = self.state.calls.iter().filter(|call| call.returned.is_some());
            let before = returned.map(|call| call.name).collect();
            self.state.calls.push(Call { name, write, returned: None, before });
            self.state.calls.sort_by_key(|call| call.name);
        }
        let word = words[stage];
        if let Some(value) = write {
            self.write(word, value);
        }
        if stage + 1 < words.len() {
            let fiber = self.fiber_mut(lane).unwrap();
            fiber.stage += 1;
            fiber.announced = true;
            return Flow::Waits;
        }
        let value = self.state.memory[word];
        let call = self.state.calls.iter_mut().find(|call| call.name == name);
        call.expect("it was invoked").returned = Some(value);
        if write.is_some() { Flow::Done } else { Flow::Saw(value) }
    }

    // ---- fibers

    /// Returns the acts of a fiber; `None` for a branch if the task is not at branches.
    fn acts(&self, lane: Lane) -> Option<&'p [Act]> {
        let acts = &self.program.tasks[self.task];
        match lane {
            0 => Some(acts),
            _ => acts.get(self.at(0))?.pieces().map(|pair| &pair[lane as usize - 1][..]),
        }
    }

    fn at(&self, lane: Lane) -> usize {
        self.fiber(lane).unwrap().at as usize
    }

    fn fiber(&self, lane: Lane) -> Option<&Fiber> {
        let task = &self.state.tasks[self.task];
        match lane {
            0 => Some(&task.main),
            lane => task.branches.as_ref().map(|both| &both[lane as usize - 1]),
        }
    }

    fn fiber_mut(&mut self, lane: Lane) -> Option<&mut Fiber> {
        let task = &mut self.state.tasks[self.task];
        match lane {
            0 => Some(&mut task.main),
            lane => task.branches.as_mut().map(|both| &mut both[lane as usize - 1]),
        }
    }

    fn log(&mut self, lane: Lane, value: u8) {
        self.state.logs[self.task].push(entry(lane, value));
        if let Some(fiber) = self.fiber_mut(lane) {
            fiber.last = Some(value);
        }
    }
}
