//! Schedules: the decisions of a run in the form that shrinking edits, and their replay.
//!
//! A [`Schedule`] contains the decisions of a run without the operations, so that an edited schedule is still
//! meaningful. [`Cursor`] replays it in a run that may differ from the original run. [`Cost`] defines which of two
//! schedules is smaller.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use unpause_ordered::sort_by;

use crate::run::ids::TaskPath;
use crate::run::program::{CommandLayout, Fate, Part};
use crate::run::trace::Trace;
use crate::run::{DrawRecord, Run, StepRecord};

/// The decisions of a run (turns and drawn values) without the operations.
///
/// Tasks are identified by their paths, so that a schedule means the same tasks in another run. Draws belong to the
/// task that made them and not to a step. A task does the same things in the same order even if its turns move, so its
/// third draw remains its third draw.
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
    /// The tasks of the run. May include tasks that never stepped.
    pub tasks: Vec<TaskPath>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
    /// The values that each task drew, in order: `draws[t]` for task `t`. May be shorter than `tasks`, because a
    /// missing value is 0.
    pub draws: Vec<Vec<u64>>,
    /// The commands of generated programs. Known only for schedules that have run. A replay does not read them, because
    /// drawn values determine the omissions from a program.
    pub commands: Vec<Command>,
}

/// The data about a command of a generated program that a schedule contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// The position of the command.
    pub part: Part,
    /// The fate of the command.
    pub fate: Fate,
    /// The drawn value that is the [`Change`](crate::run::program::Change) of the command: the task that drew it, and
    /// the index among the values of this task.
    pub change: (usize, usize),
    /// The range of values of the same task that select a simpler command, as in
    /// [`CommandLayout::simpler`](crate::run::program::CommandLayout::simpler).
    pub simpler: (usize, usize),
    /// The number of simpler commands that the model offers for the command's current form.
    pub candidates: u64,
    /// The task that ran the command, and the range of the command's steps in this task; `None` if it did not run.
    pub steps: Option<(usize, u32, u32)>,
    /// The range of values that this task drew while the command ran.
    pub draws: (usize, usize),
}

impl Command {
    /// Returns the number of times that the command was simplified.
    fn simplified(&self) -> u64 {
        let (from, to) = self.simpler;
        // The last value means that the command is not simplified further.
        (to - from).saturating_sub(1) as u64
    }

    /// Returns the weight of the command in the cost. Concurrent commands weigh more than other commands, and points
    /// that replace a command weigh less than a command.
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
    /// True if the task of the previous turn was still enabled. Known only for turns that have run. A replay does not
    /// read this flag.
    pub preempts: bool,
}

impl Turn {
    /// The number of steps of a turn that lasts until the task waits or ends. Only a candidate schedule has such turns,
    /// never the schedule of a run.
    pub const OPEN: u32 = u32::MAX;
}

impl Schedule {
    /// Creates the schedule of a run.
    pub fn of(run: &Run) -> Schedule {
        let tasks = run.tasks.iter().map(|task| task.path.clone()).collect();
        let mut layouts: Vec<CommandLayout> = Vec::new();
        for program in &run.programs {
            layouts.extend(program.commands.iter().map(|command| command.layout));
        }
        Schedule::of_records(tasks, &run.steps, &run.draws, &layouts)
    }

    /// Creates the schedule of these records. A task is the position in `tasks`.
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

    /// Creates the schedule of a trace. A trace does not record which switches were preemptions, so no turn is marked
    /// as a preemption. [`shrink`](crate::shrink::shrink()) determines the preemptions when it replays the schedule.
    ///
    /// # Panics
    /// Panics if a step's task is not in the table of the trace, which the trace parser prevents.
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

    /// Returns the index of the task with this path; adds the task if it is missing. The search is linear, so call this
    /// once per task of a run.
    pub fn task(&mut self, path: &TaskPath) -> usize {
        self.tasks.iter().position(|known| known == path).unwrap_or_else(|| {
            self.tasks.push(path.clone());
            self.tasks.len() - 1
        })
    }

    /// Adds a step of `task`. `preempts` is true if another task took the previous step and could have continued. The
    /// argument is ignored if `task` itself took the previous step.
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

    /// Returns the number of steps. An open turn counts as [`Turn::OPEN`] steps.
    pub fn steps(&self) -> u64 {
        self.turns.iter().map(|turn| u64::from(turn.steps)).sum()
    }

    /// Returns the number of turns that began while the task of the previous turn was enabled.
    pub fn preemptions(&self) -> u64 {
        self.turns.iter().filter(|turn| turn.preempts).count() as u64
    }

    /// Returns the cost of the schedule in O(turns + draws).
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

    /// Returns the same decisions in the canonical form that the whole search uses. Tasks are sorted by path, with one
    /// list of draws per task. There are no empty turns, and no successive turns of one task.
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

/// Returns the commands in schedule form: positions in the run become positions in its tasks.
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

/// Returns the turns without empty turns, and with adjacent turns of one task merged.
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

/// The effort to read a schedule, which shrinking minimizes.
///
/// The order compares the remaining [program](Cost::program) first, then the number of [simplifications](Cost::simpler)
/// of its commands, then the [weight](Cost::weight) of the schedule. The weight is the number of steps, where each
/// preemption counts as [`Cost::PREEMPTION`] additional steps. For equal weights, the schedule with fewer preemptions
/// is smaller, then the schedule with fewer turns, then the schedule with smaller drawn values.
///
/// The weight corresponds to the screen: a step is a line. A preemption is another line, and the reader must recall the
/// previous state of both tasks. Minimizing only preemptions would be wrong, because a task without interruptions runs
/// to its end even after it has caused the failure.
///
/// Every part is a natural number, and the number of simplifications of a command is bounded. So the order is total and
/// has no infinite descent: a search that accepts only cheaper schedules must end.
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
    /// The weight of the remaining commands in generated programs: 4 for each concurrent command, 3 for each other
    /// command, 1 for each command that is replaced by points. Compared first, because a reader must understand the
    /// commands before the switches between them.
    pub program: u64,
    /// The number of simplifications of commands by `Program::shrink`. More is better: this is the only number that
    /// is maximized.
    pub simpler: u64,
    /// The number of switches away from a task that could have continued.
    pub preemptions: u64,
    /// The number of turns: maximal sequences of steps of one task.
    pub turns: u64,
    /// The number of steps up to the failure.
    pub steps: u64,
    /// The sum of all drawn values.
    pub draws_sum: u128,
    /// The number of draws that differ from the default, 0.
    pub draws_set: u64,
}

impl Cost {
    /// The weight of a preemption, in steps.
    pub const PREEMPTION: u64 = 4;

    /// Returns the number of steps plus [`Cost::PREEMPTION`] for each preemption.
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
        // Weight and preemptions determine the steps, unless a number saturates.
        self.key().cmp(&other.key()).then(self.steps.cmp(&other.steps))
    }
}

impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Cost) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A lenient replay of a schedule. The replay defines the meaning of a schedule in a run that differs from the original
/// run.
///
/// - The turns are replayed in order. If the task of a turn cannot step (it waits, has ended, or was never spawned), it
///   loses its turn. The lost steps are added to its next turn, so that this turn ends where it would have ended. (An
///   open turn leaves no lost steps.)
/// - After the last turn, [`pick`](Cursor::pick) returns `None`, and the replayer continues by default. By default, the
///   replayer picks the task of the last step while this task can step, else the candidate with the lowest
///   [`TaskPath`].
/// - A draw returns 0 if the schedule has no value for it, or if the value is not below its bound. Unused values are
///   ignored.
///
/// So every schedule can be replayed in every run. The schedule of a run reproduces that run.
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
    /// The steps left in the current turn, which is the turn before `next`.
    left: u32,
    /// For each task, the steps that it lost in its earlier turns.
    owed: Vec<u32>,
    /// For each task, the number of values drawn so far.
    drawn: Vec<usize>,
}

impl Cursor {
    /// Creates a cursor at the beginning of a schedule.
    pub fn new(schedule: impl Into<Arc<Schedule>>) -> Cursor {
        let schedule = schedule.into();
        let tasks = schedule.tasks.len();
        Cursor { schedule, next: 0, left: 0, owed: vec![0; tasks], drawn: vec![0; tasks] }
    }

    /// Returns the task that takes the next step, as an index into [`Schedule::tasks`]; `None` after the end of the
    /// schedule. `ready` returns `true` if a task can step. O(1) amortized over a run.
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

    /// Returns the value for a draw of `task`, below `bound`.
    pub fn draw(&mut self, task: usize, bound: u64) -> u64 {
        let nth = self.drawn[task];
        self.drawn[task] += 1;
        let value = self.schedule.draws.get(task).and_then(|draws| draws.get(nth));
        value.copied().filter(|value| *value < bound).unwrap_or(0)
    }
}
