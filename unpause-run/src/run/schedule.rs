//! Schedules: the decisions of a run as shrinking edits them, and their replay.
//!
//! A [`Schedule`] has the decisions of a run without the operations, so that a changed one still
//! means something: [`Cursor`] follows it through a run that may differ from its origin. [`Cost`]
//! says which of two schedules is the smaller one.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use unpause_ordered::sort_by;

use crate::run::ids::TaskPath;
use crate::run::program::{CommandLayout, Fate, Part};
use crate::run::trace::Trace;
use crate::run::{DrawRecord, Run, StepRecord};

/// The decisions of a run, turns and drawn values, without the operations.
///
/// Tasks are named by their paths, so that a schedule means the same tasks in another run. Draws
/// belong to the task that made them and not to a step: a task does the same things in the same
/// order however its turns are moved, so its third draw stays its third draw.
///
/// ```
/// use sim::run::ids::TaskPath;
/// use sim::run::schedule::Schedule;
///
/// let mut schedule = Schedule::default();
/// let main = schedule.task(&TaskPath::main());
/// let child = schedule.task(&TaskPath::main().child(0));
/// schedule.step(main, false);
/// schedule.step(main, false);
/// schedule.step(child, true);
/// schedule.draw(child, 7);
/// assert_eq!(schedule.turns.len(), 2);
/// assert_eq!(schedule.steps(), 3);
/// assert_eq!(schedule.preemptions(), 1);
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// The tasks of the run. A task that never stepped may be listed too.
    pub tasks: Vec<TaskPath>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// `draws[t]` has the values that task `t` drew, in order. May be shorter than `tasks`:
    /// a value that is not there is 0.
    pub draws: Vec<Vec<u64>>,
    /// The commands of generated programs. Known only of schedules that have run; a replay does not read it, because
    /// drawn values determine the omissions from a program.
    pub commands: Vec<Command>,
}

/// A command of a generated program, as far as a schedule knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Its position.
    pub part: Part,
    /// Its fate.
    pub fate: Fate,
    /// The drawn value that is its [`Change`](crate::run::program::Change): its task, and the index
    /// of the value among the values of this task.
    pub change: (usize, usize),
    /// The range of values of that task that select a simpler command, as in
    /// [`CommandLayout::simpler`](crate::run::program::CommandLayout::simpler).
    pub simpler: (usize, usize),
    /// The number of simpler commands that the model offers for its current form.
    pub candidates: u64,
    /// The task that ran it and the range of its steps in this task, if it was run.
    pub steps: Option<(usize, u32, u32)>,
    /// The range of values that this task drew while the command ran.
    pub draws: (usize, usize),
}

impl Command {
    /// Returns the number of times it was simplified.
    fn simplified(&self) -> u64 {
        let (from, to) = self.simpler;
        // The last of them says that it is not made simpler any more.
        (to - from).saturating_sub(1) as u64
    }

    /// Returns its weight in the cost: concurrent commands weigh more than others, and points in
    /// place of a command weigh less than a command.
    fn weight(&self) -> u64 {
        match (self.fate, self.part) {
            (Fate::Absent, _) => 0,
            (Fate::Tombstone(_), _) => 1,
            (Fate::Runs, Part::Prefix | Part::Suffix) => 3,
            (Fate::Runs, Part::Branch { .. } | Part::Nemesis { .. }) => 4,
        }
    }
}

/// Consecutive steps of one task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    /// The task: an index into [`Schedule::tasks`].
    pub task: usize,
    /// The number of steps; [`Turn::OPEN`] means as many as possible.
    pub steps: u32,
    /// True if the task of the previous turn was still enabled. Known only of turns that have run; a replay does not
    /// read it.
    pub preempts: bool,
}

impl Turn {
    /// The number of steps of a turn that lasts until the task waits or ends. Never in the schedule of a run, only in
    /// a candidate.
    pub const OPEN: u32 = u32::MAX;
}

impl Schedule {
    /// The decisions of a run.
    pub fn of(run: &Run) -> Schedule {
        let tasks = run.tasks.iter().map(|task| task.path.clone()).collect();
        let commands = run.programs.iter().flat_map(|program| &program.commands);
        let layouts: Vec<CommandLayout> = commands.map(|command| command.layout).collect();
        Schedule::of_records(tasks, &run.steps, &run.draws, &layouts)
    }

    /// The decisions in these records, in which tasks are known by their positions in `tasks`.
    #[doc(hidden)]
    pub fn of_records(
        tasks: Vec<TaskPath>,
        steps: &[StepRecord],
        draws: &[DrawRecord],
        commands: &[CommandLayout],
    ) -> Schedule {
        let mut schedule = Schedule { tasks, ..Schedule::default() };
        for step in steps {
            schedule.step(step.task.index(), step.preempts);
        }
        for draw in draws {
            if let Some(step) = steps.get(draw.step as usize) {
                schedule.draw(step.task.index(), draw.value);
            }
        }
        schedule.commands = commands_of(commands, steps, draws);
        schedule
    }

    /// The decisions in a trace. A trace does not say which switches were preemptions, so none is
    /// marked; [`shrink`](crate::shrink::shrink()) finds out by replaying the schedule.
    ///
    /// # Panics
    /// If a step's task is not in the table of the trace; the parser of traces sees to that.
    ///
    /// ```
    /// use sim::run::schedule::Schedule;
    /// use sim::run::trace::Trace;
    ///
    /// assert_eq!(Schedule::from_trace(&Trace::default()), Schedule::default());
    /// ```
    #[track_caller]
    pub fn from_trace(trace: &Trace) -> Schedule {
        let mut schedule = Schedule {
            tasks: trace.tasks.iter().map(|task| task.path.clone()).collect(),
            ..Schedule::default()
        };
        for step in &trace.steps {
            assert!(step.task < schedule.tasks.len(), "a step of a task that is not in the table");
            schedule.step(step.task, false);
            for draw in &step.draws {
                schedule.draw(step.task, draw.value);
            }
        }
        schedule
    }

    /// The index of the task with this path, which is added if it is not there. Looks through all
    /// tasks: meant to be called once per task of a run.
    pub fn task(&mut self, path: &TaskPath) -> usize {
        self.tasks.iter().position(|known| known == path).unwrap_or_else(|| {
            self.tasks.push(path.clone());
            self.tasks.len() - 1
        })
    }

    /// Adds a step of `task`. `preempts` tells whether another task took the previous step and
    /// could have gone on; it is ignored if it was `task` itself.
    pub fn step(&mut self, task: usize, preempts: bool) {
        match self.turns.last_mut() {
            Some(turn) if turn.task == task => turn.steps += 1,
            before => {
                let preempts = preempts && before.is_some();
                self.turns.push(Turn { task, steps: 1, preempts });
            }
        }
    }

    /// Adds a value drawn by `task`.
    pub fn draw(&mut self, task: usize, value: u64) {
        if self.draws.len() <= task {
            self.draws.resize(task + 1, Vec::new());
        }
        self.draws[task].push(value);
    }

    /// Returns the number of steps, open turns counted as [`Turn::OPEN`].
    pub fn steps(&self) -> u64 {
        self.turns.iter().map(|turn| u64::from(turn.steps)).sum()
    }

    /// Returns the number of turns that began while the previous task was enabled.
    pub fn preemptions(&self) -> u64 {
        self.turns.iter().filter(|turn| turn.preempts).count() as u64
    }

    /// Returns the cost of the schedule. O(turns + draws).
    pub fn cost(&self) -> Cost {
        let draws = self.draws.iter().flatten();
        Cost {
            preemptions: self.preemptions(),
            turns: self.turns.len() as u64,
            steps: self.steps(),
            draws_sum: draws.clone().map(|draw| u128::from(*draw)).sum(),
            draws_set: draws.filter(|draw| **draw != 0).count() as u64,
            program: self.commands.iter().map(Command::weight).sum(),
            simpler: self.commands.iter().map(Command::simplified).sum(),
        }
    }

    /// Returns the same decisions in canonical form, which the whole search works with: tasks
    /// sorted by path, one list of draws for each, no empty turns, no two successive turns of one
    /// task.
    #[doc(hidden)]
    pub fn into_canonical(mut self) -> Schedule {
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        sort_by(&mut order, |a, b| self.tasks[*a].cmp(&self.tasks[*b]));
        self.draws.resize(self.tasks.len(), Vec::new());
        if !order.is_sorted() {
            let mut place = vec![0; order.len()];
            for (new, old) in order.iter().enumerate() {
                place[*old] = new;
            }
            self.tasks = order.iter().map(|old| self.tasks[*old].clone()).collect();
            self.draws = order.iter().map(|old| std::mem::take(&mut self.draws[*old])).collect();
            for turn in &mut self.turns {
                turn.task = place[turn.task];
            }
            for command in &mut self.commands {
                command.change.0 = place[command.change.0];
                if let Some((task, ..)) = &mut command.steps {
                    *task = place[*task];
                }
            }
        }
        self.turns = join(self.turns);
        self
    }
}

/// The commands in the terms of a schedule: what is counted in a run is counted in its task.
fn commands_of(
    layouts: &[CommandLayout],
    steps: &[StepRecord],
    draws: &[DrawRecord],
) -> Vec<Command> {
    let drawer = |draw: &DrawRecord| steps.get(draw.step as usize).map(|step| step.task);
    let command = |layout: &CommandLayout| {
        let task = drawer(draws.get(layout.change)?)?;
        let drawn_by = |task, end: usize| {
            let before = draws.iter().take(end);
            before.filter(|draw| drawer(draw) == Some(task)).count()
        };
        let taken = |task, end: u32| {
            let until = steps.iter().take(end as usize + 1);
            until.filter(|step| step.task == task).count() as u32
        };
        let steps = layout
            .ran
            .map(|(task, began, ended)| (task.index(), taken(task, began), taken(task, ended)));
        let by = layout.ran.map_or(task, |(task, ..)| task);
        Some(Command {
            part: layout.part,
            fate: layout.fate,
            change: (task.index(), drawn_by(task, layout.change)),
            simpler: (drawn_by(task, layout.simpler.0), drawn_by(task, layout.simpler.1)),
            candidates: layout.candidates,
            steps,
            draws: (drawn_by(by, layout.drawn.0), drawn_by(by, layout.drawn.1)),
        })
    };
    layouts.iter().filter_map(command).collect()
}

/// The turns without empty ones, neighbours of one task made one.
#[doc(hidden)]
pub fn join(turns: impl IntoIterator<Item = Turn>) -> Vec<Turn> {
    let mut joined: Vec<Turn> = Vec::new();
    for turn in turns {
        match joined.last_mut() {
            _ if turn.steps == 0 => {}
            Some(last) if last.task == turn.task => {
                last.steps = last.steps.saturating_add(turn.steps);
            }
            _ => joined.push(turn),
        }
    }
    joined
}

/// The reading effort of a schedule, which shrinking minimizes.
///
/// Compared first is the [program](Cost::program) that is left, then how often its commands were made
/// [simpler](Cost::simpler), then the [weight](Cost::weight) of the schedule: its steps, each
/// preemption counted as [`Cost::PREEMPTION`] steps more. Of equal weights the schedule with fewer
/// preemptions is less, then the schedule with fewer turns, then the schedule with smaller values
/// drawn.
///
/// The weight is measured on the screen: a step is a line; a preemption is another line, and makes
/// the reader go back to the previous state of both tasks. Fewer preemptions at any price would be
/// wrong, because a task that is never interrupted runs to its end after it has done the harm.
///
/// Every part is a natural number, and how often a command of a program can be made simpler is bounded, so the
/// order is total and has no infinite descent: a search that accepts only what costs less must end.
///
/// ```
/// use sim::run::schedule::Cost;
///
/// let one_preemption = Cost { preemptions: 1, turns: 3, steps: 15, ..Cost::default() };
/// let two_preemptions = Cost { preemptions: 2, turns: 3, steps: 7, ..Cost::default() };
/// assert!(two_preemptions < one_preemption);
/// let two_preemptions = Cost { steps: 12, ..two_preemptions };
/// assert!(one_preemption < two_preemptions);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Cost {
    /// The weight of the commands left in generated programs: 4 for each concurrent command, 3 for
    /// each other command, 1 for each command with only its points left. Compared first, because a
    /// reader must understand the commands before the switches between them.
    pub program: u64,
    /// The number of simplifications of commands by `Program::shrink`. More is better: this is the only number that
    /// is maximized.
    pub simpler: u64,
    /// Switches away from a task that could have gone on.
    pub preemptions: u64,
    /// Maximal runs of steps of one task.
    pub turns: u64,
    /// Steps up to the failure.
    pub steps: u64,
    /// The sum of all values drawn.
    pub draws_sum: u128,
    /// The number of draws that are not the default, 0.
    pub draws_set: u64,
}

impl Cost {
    /// The weight of a preemption, in steps.
    pub const PREEMPTION: u64 = 4;

    /// Steps, and [`Cost::PREEMPTION`] for each preemption.
    ///
    /// ```
    /// use sim::run::schedule::Cost;
    /// assert_eq!(Cost { preemptions: 2, steps: 7, ..Cost::default() }.weight(), 15);
    /// ```
    pub fn weight(&self) -> u64 {
        self.steps.saturating_add(Cost::PREEMPTION.saturating_mul(self.preemptions))
    }

    fn key(&self) -> (u64, Reverse<u64>, u64, u64, u64, u128, u64) {
        let Cost { program, preemptions, turns, draws_sum, draws_set, .. } = *self;
        let (simpler, weight) = (Reverse(self.simpler), self.weight());
        (program, simpler, weight, preemptions, turns, draws_sum, draws_set)
    }
}

impl Ord for Cost {
    fn cmp(&self, other: &Cost) -> Ordering {
        // Weight and preemptions tell the steps, unless there are too many to be counted.
        self.key().cmp(&other.key()).then(self.steps.cmp(&other.steps))
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Follows a schedule leniently: this is what a schedule means in a run it was not made for.
///
/// - The turns are followed in order. If the task of a turn cannot step (it waits, has ended, was
///   never spawned), it loses its turn; the steps it did not get are added to its next turn, so
///   that it is cut where it would have been. (An open turn leaves nothing over.)
/// - After the last turn [`pick`](Cursor::pick) returns nothing, and the replayer continues by default: the task of
///   the last step while it can, else the candidate with the lowest [`TaskPath`].
/// - A draw is 0 if it has no value in the schedule, or if its value is not below its bound. Values
///   left over are ignored.
///
/// So every schedule can be replayed in every run. The schedule of a run leads through that same
/// run again.
///
/// ```
/// use sim::run::ids::TaskPath;
/// use sim::run::schedule::{Cursor, Schedule, Turn};
///
/// let schedule = Schedule {
///     tasks: vec![TaskPath::main(), TaskPath::main().child(0)],
///     turns: vec![
///         Turn { task: 1, steps: 1, preempts: false },
///         Turn { task: 0, steps: 1, preempts: true },
///     ],
///     draws: vec![vec![], vec![5, 9]],
///     ..Schedule::default()
/// };
/// let mut cursor = Cursor::new(schedule);
/// assert_eq!(cursor.pick(|task| task == 0), Some(0)); // `0.0` cannot step
/// assert_eq!(cursor.pick(|_| true), None);
/// assert_eq!(cursor.draw(1, 6), 5);
/// assert_eq!(cursor.draw(1, 6), 0); // 9 is not below 6
/// assert_eq!(cursor.draw(1, 6), 0); // there is no third value
/// ```
#[derive(Clone, Debug)]
pub struct Cursor {
    schedule: Arc<Schedule>,
    /// The turn to begin when `left` is 0.
    next: usize,
    /// Steps left in the turn before `next`.
    left: u32,
    /// Steps a task should have had in its earlier turns.
    owed: Vec<u32>,
    /// The number of values drawn, by task.
    drawn: Vec<usize>,
}

impl Cursor {
    /// At the beginning of a schedule.
    pub fn new(schedule: impl Into<Arc<Schedule>>) -> Cursor {
        let schedule = schedule.into();
        let tasks = schedule.tasks.len();
        Cursor { schedule, next: 0, left: 0, owed: vec![0; tasks], drawn: vec![0; tasks] }
    }

    /// The task that takes the next step, as an index into [`Schedule::tasks`]; none when the
    /// schedule is used up. `ready` tells whether a task can step. O(1) amortized over a run.
    pub fn pick(&mut self, mut ready: impl FnMut(usize) -> bool) -> Option<usize> {
        loop {
            if self.left == 0 {
                let turn = self.schedule.turns.get(self.next)?;
                let owed = std::mem::take(&mut self.owed[turn.task]);
                self.left = turn.steps.saturating_add(owed);
                self.next += 1;
                continue;
            }
            let turn = self.schedule.turns[self.next - 1];
            let open = turn.steps == Turn::OPEN;
            if ready(turn.task) {
                self.left -= u32::from(!open);
                return Some(turn.task);
            }
            if !open {
                self.owed[turn.task] = self.left;
            }
            self.left = 0;
        }
    }

    /// The value a draw of `task` gives, below `bound`.
    pub fn draw(&mut self, task: usize, bound: u64) -> u64 {
        let nth = self.drawn[task];
        self.drawn[task] += 1;
        let value = self.schedule.draws.get(task).and_then(|draws| draws.get(nth));
        value.copied().filter(|value| *value < bound).unwrap_or(0)
    }
}
