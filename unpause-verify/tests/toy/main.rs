//! The checker on programs of a toy machine: tasks that read and write words, and wait for a word to be set. All
//! interleavings are executed, so the classes are known without any search.

mod bounded;

use std::collections::BTreeMap;

use unpause_verify::{
    Bound, Decisions, Effect, Gap, Kind, Observed, Operation, Program, Reader, Run, Step, verify,
};

/// An operation of a task on a word.
#[derive(Clone, Copy, Debug)]
enum Op {
    Read(usize),
    /// Writes the number of the values that the task has read, and of its step.
    Write(usize),
    /// Waits until the word is not 0, unless a task has closed it.
    Wait(usize),
    /// Closes the word. Two tasks that close the same word do not conflict.
    Close(usize),
    /// Draws one of two values, and writes it.
    Draw(usize),
    /// Yields.
    Yield,
}

const READ: Kind = Kind { bit: 1, conflicts: 2, enables: 0, disables: 0, side: 0 };
const WRITE: Kind = Kind { bit: 2, conflicts: 7, enables: 4, disables: 4, side: 0 };
const WAIT: Kind = Kind { bit: 4, conflicts: 10, enables: 0, disables: 0, side: 0 };
const CLOSE: Kind = Kind { bit: 8, conflicts: 4, enables: 0, disables: 4, side: 0 };
const LIVE: Kind = Kind { bit: 1, conflicts: 0, enables: 0, disables: 0, side: 0 };

/// The tasks, which all exist from the start; the body of the test is a task without operations.
struct Toy {
    tasks: Vec<Vec<Op>>,
    /// Accesses of the last task are not recorded.
    is_silent: bool,
    bound: Option<Bound>,
}

#[derive(Clone, Default)]
struct Machine {
    words: [u64; 2],
    is_closed: [bool; 2],
    at: Vec<usize>,
    seen: Vec<u64>,
}

impl Toy {
    fn can_step(&self, machine: &Machine, task: usize) -> bool {
        match self.tasks[task].get(machine.at[task]) {
            None => false,
            Some(Op::Wait(word)) => machine.words[*word] != 0 && !machine.is_closed[*word],
            Some(_) => true,
        }
    }

    fn step(&self, machine: &mut Machine, task: usize, drawn: u64) -> Step {
        let op = self.tasks[task][machine.at[task]];
        machine.at[task] += 1;
        let mut draws = Vec::new();
        let (word, kind) = match op {
            // A read of a word that no task writes.
            Op::Yield => (2, READ),
            Op::Read(word) => {
                machine.seen[task] = machine.seen[task] * 7 + machine.words[word] + 1;
                (word, READ)
            }
            Op::Write(word) => {
                machine.words[word] = machine.seen[task] * 100 + task as u64 + 1;
                (word, WRITE)
            }
            Op::Wait(word) => (word, WAIT),
            Op::Close(word) => {
                machine.is_closed[word] = true;
                (word, CLOSE)
            }
            Op::Draw(word) => {
                draws.push([drawn, 2, 0]);
                machine.words[word] = drawn;
                (word, WRITE)
            }
        };
        let live = Operation { on: task as u64, kind: LIVE, done: true, span: (0, 0) };
        let done = Operation { on: word as u64, kind, done: true, span: (0, 0) };
        let is_told = !self.is_silent || task + 1 < self.tasks.len();
        let told = is_told.then_some(Effect::Object(done));
        Step {
            task: task + 1,
            after_all: false,
            ends: machine.at[task] == self.tasks[task].len(),
            did: machine.seen[task] * 2 + draws.first().map_or(0, |[value, ..]: &[u64; 3]| *value),
            draws,
            effects: [Effect::Task(live)].into_iter().chain(told).collect(),
            guards: self.guard(machine, task),
            ready: Vec::new(),
            after_yield: false,
        }
    }

    /// Returns the operation for which a task waits.
    fn guard(&self, machine: &Machine, task: usize) -> Vec<(usize, Effect)> {
        match self.tasks[task].get(machine.at[task]) {
            Some(Op::Wait(word)) => {
                let on = *word as u64;
                let guard = Operation { on, kind: WAIT, done: false, span: (0, 0) };
                vec![(task + 1, Effect::Object(guard))]
            }
            _ => Vec::new(),
        }
    }

    fn names(&self) -> Vec<String> {
        let children = (0..self.tasks.len()).map(|task| format!("0.{task}"));
        ["0".to_owned()].into_iter().chain(children).collect()
    }

    /// The first step, which creates the tasks.
    fn begin(&self) -> (Machine, Step) {
        let count = self.tasks.len();
        let machine = Machine { at: vec![0; count], seen: vec![0; count], ..Machine::default() };
        let spawned = (1..=count).map(Effect::Spawned).collect();
        let step = Step {
            task: 0,
            after_all: false,
            ends: true,
            did: 0,
            draws: Vec::new(),
            effects: spawned,
            guards: (0..count).flat_map(|task| self.guard(&machine, task)).collect(),
            ready: self.bound.map_or_else(Vec::new, |_| vec![0]),
            after_yield: false,
        };
        (machine, step)
    }

    fn observe(&self, decisions: &Decisions) -> Observed {
        let (mut machine, first) = self.begin();
        let (mut steps, mut last) = (vec![first], 0);
        let mut drawn = vec![0; self.tasks.len() + 1];
        for nth in 1.. {
            let possible = self.possible(&machine, last);
            let task = match decisions.steps.get(nth) {
                Some(task) => *task,
                // Continues at no cost.
                None if self.bound.is_some() && !possible.is_empty() => possible[0],
                None => match possible.iter().min() {
                    Some(task) => *task,
                    None => break,
                },
            };
            if !possible.contains(&task) {
                return Observed::Stopped(nth);
            }
            let values = decisions.draws.get(task).cloned().unwrap_or_default();
            let value = values.get(drawn[task]).copied().unwrap_or(0);
            let after_yield = self.yields(&machine, last);
            let mut step = self.step(&mut machine, task - 1, value);
            if self.bound.is_some() {
                step.after_yield = after_yield;
                step.ready = possible;
                step.ready.sort_unstable();
            }
            drawn[task] += step.draws.len();
            steps.push(step);
            last = task;
        }
        let tasks = self.names();
        Observed::Run(Run { lives: vec![0; tasks.len()], tasks, steps, unfit: None })
    }

    /// Returns `true` if the next operation of a task yields.
    fn yields(&self, machine: &Machine, task: usize) -> bool {
        task > 0 && matches!(self.tasks[task - 1].get(machine.at[task - 1]), Some(Op::Yield))
    }

    /// Returns the tasks that can step after a step of `last`, in the order of a round-robin scheduler.
    fn possible(&self, machine: &Machine, last: usize) -> Vec<usize> {
        let all = 1..=self.tasks.len();
        let mut possible: Vec<usize> =
            all.filter(|task| self.can_step(machine, task - 1)).collect();
        let turn = match self.yields(machine, last) {
            true => possible.iter().position(|task| *task > last),
            false => possible.iter().position(|task| *task >= last),
        };
        possible.rotate_left(turn.unwrap_or(0));
        possible
    }

    /// All runs within a bound.
    fn within(&self, bound: Bound) -> Vec<Decisions> {
        let (machine, _) = self.begin();
        let draws = vec![Vec::new(); self.tasks.len() + 1];
        let decisions = Decisions { tasks: self.names(), steps: vec![0], draws };
        let mut all = Vec::new();
        self.go_on_within(&machine, decisions, (bound.counts_delays, bound.most), &mut all);
        all
    }

    fn go_on_within(
        &self,
        machine: &Machine,
        decisions: Decisions,
        (counts_delays, left): (bool, usize),
        all: &mut Vec<Decisions>,
    ) {
        let last = *decisions.steps.last().unwrap();
        let possible = self.possible(machine, last);
        if possible.is_empty() {
            all.push(decisions);
            return;
        }
        let goes_on = possible.contains(&last) && !self.yields(machine, last);
        for (skipped, task) in possible.into_iter().enumerate() {
            let cost = if counts_delays { skipped } else { usize::from(goes_on && task != last) };
            let Some(left) = left.checked_sub(cost) else { continue };
            let draws = matches!(self.tasks[task - 1][machine.at[task - 1]], Op::Draw(_));
            for value in 0..if draws { 2 } else { 1 } {
                let (mut machine, mut decisions) = (machine.clone(), decisions.clone());
                self.step(&mut machine, task - 1, value);
                decisions.steps.push(task);
                if draws {
                    decisions.draws[task].push(value);
                }
                self.go_on_within(&machine, decisions, (counts_delays, left), all);
            }
        }
    }

    /// A run of each class, by the order of its conflicting operations.
    fn all(&self) -> BTreeMap<String, Decisions> {
        let (machine, _) = self.begin();
        let mut all = BTreeMap::new();
        let draws = vec![Vec::new(); self.tasks.len() + 1];
        let decisions = Decisions { tasks: self.names(), steps: vec![0], draws };
        self.go_on(&machine, &decisions, &mut Vec::new(), &mut all);
        all
    }

    fn go_on(
        &self,
        machine: &Machine,
        decisions: &Decisions,
        done: &mut Vec<(usize, Operation, u64)>,
        all: &mut BTreeMap<String, Decisions>,
    ) {
        let mut ends = true;
        for task in (0..self.tasks.len()).filter(|task| self.can_step(machine, *task)) {
            ends = false;
            let draws = matches!(self.tasks[task][machine.at[task]], Op::Draw(_));
            for value in 0..if draws { 2 } else { 1 } {
                let (mut machine, mut decisions) = (machine.clone(), decisions.clone());
                let step = self.step(&mut machine, task, value);
                decisions.steps.push(task + 1);
                if draws {
                    decisions.draws[task + 1].push(value);
                }
                let Some(Effect::Object(operation)) = step.effects.last() else { panic!() };
                done.push((task, *operation, value));
                self.go_on(&machine, &decisions, done, all);
                done.pop();
            }
        }
        if ends {
            all.insert(canonical(done), decisions.clone());
        }
    }
}

/// Returns each operation with the earlier operations that conflict with it.
fn canonical(done: &[(usize, Operation, u64)]) -> String {
    let name = |at: usize| {
        let (task, _, value) = done[at];
        let earlier = done[..at].iter().filter(|(other, ..)| *other == task).count();
        format!("{task}.{earlier}={value}")
    };
    let is_before = |earlier: usize, at: usize| {
        let [one, other] = [done[earlier].1, done[at].1];
        one.on == other.on && one.kind.conflicts & other.kind.bit != 0
    };
    let before = |at: usize| {
        let mut names: Vec<String> = (0..at).filter(|it| is_before(*it, at)).map(name).collect();
        names.sort();
        format!("{} after {names:?}", name(at))
    };
    let mut all: Vec<String> = (0..done.len()).map(before).collect();
    all.sort();
    all.join(", ")
}

impl Program for Toy {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        runs.iter().for_each(|run| show(self.observe(run)));
        Ok(())
    }

    fn bound(&self) -> Option<Bound> {
        self.bound
    }
}

fn of_tasks(tasks: Vec<Vec<Op>>) -> Toy {
    Toy { tasks, is_silent: false, bound: None }
}

/// Small programs, by number.
fn toy(number: u64) -> Toy {
    toy_of(number, 7)
}

/// Small programs with operations of the first kinds.
fn toy_of(number: u64, kinds: u64) -> Toy {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % bound
    };
    let op = |kind: u64, word: u64| match kind {
        0 | 1 => Op::Read(word as usize),
        2 | 3 => Op::Write(word as usize),
        4 => Op::Wait(word as usize),
        5 => Op::Close(word as usize),
        6 => Op::Draw(word as usize),
        _ => Op::Yield,
    };
    let tasks =
        (0..2 + below(2)).map(|_| (0..1 + below(3)).map(|_| op(below(kinds), below(2))).collect());
    Toy { tasks: tasks.collect(), is_silent: false, bound: None }
}

#[test]
fn the_whole_set_is_accepted_and_every_smaller_one_is_refused() {
    let (mut classes, mut refused) = (0, 0);
    for number in 0..120 {
        let mut toy = toy(number);
        let all: Vec<Decisions> = toy.all().into_values().collect();
        if all.len() > 40 {
            continue;
        }
        let verified = verify(&all, &mut toy);
        let verified = verified.unwrap_or_else(|gap| panic!("{:?}: {gap}\n{gap:?}", toy.tasks));
        assert_eq!(verified.classes, all.len() as u64, "{:?}", toy.tasks);
        classes += verified.classes;
        for nth in 0..all.len() {
            let mut smaller = all.clone();
            smaller.remove(nth);
            let gap = verify(&smaller, &mut toy).unwrap_err();
            assert!(matches!(gap, Gap::Missing(..) | Gap::Empty), "{gap}");
            refused += 1;
        }
    }
    assert!(classes > 200 && refused == classes, "{classes} {refused}");
}

#[test]
fn a_task_that_two_others_prevent_at_once_may_have_come_first() {
    // Two tasks close the word, and neither comes after the other. So if one of the two tasks is left out, the other
    // task prevents the wait.
    let tasks = vec![vec![Op::Write(0), Op::Wait(0)], vec![Op::Close(0)], vec![Op::Close(0)]];
    let mut toy = of_tasks(tasks);
    let all: Vec<Decisions> = toy.all().into_values().collect();
    let is_first = |run: &&Decisions| run.steps.len() == 5 && run.steps[2] == 1;
    let last: Vec<Decisions> = all.iter().filter(|run| !is_first(run)).cloned().collect();
    assert!(verify(&all, &mut toy).is_ok() && last.len() < all.len());
    let gap = verify(&last, &mut toy).unwrap_err();
    assert!(matches!(gap, Gap::Missing(..)), "{gap}");
}

#[test]
fn an_access_that_is_not_told_shows_in_another_order() {
    // The last task reads the write of the second task. Only the written value shows this order.
    let tasks = vec![vec![Op::Write(1)], vec![Op::Write(1), Op::Write(0)], vec![Op::Read(0)]];
    let mut told = Toy { tasks: tasks.clone(), is_silent: false, bound: None };
    let all: Vec<Decisions> = told.all().into_values().collect();
    assert!(verify(&all, &mut told).is_ok());
    let gap = verify(&all, &mut Toy { tasks, is_silent: true, bound: None }).unwrap_err();
    assert!(matches!(gap, Gap::Differs(..)), "{gap}");
}

/// A program that shows the runs of the certificate, and no step of all further runs.
struct Cut {
    toy: Toy,
    calls: usize,
}

impl Program for Cut {
    fn make(&mut self, runs: &[Decisions], show: &mut dyn FnMut(Observed)) -> Result<(), String> {
        self.calls += 1;
        for run in runs {
            let mut observed = self.toy.observe(run);
            // The first two calls are for the runs of the certificate.
            if let (Observed::Run(run), 3..) = (&mut observed, self.calls) {
                run.steps.clear();
            }
            show(observed);
        }
        Ok(())
    }

    fn bound(&self) -> Option<Bound> {
        None
    }
}

#[test]
fn a_run_without_the_steps_of_its_decisions_is_a_gap_and_no_panic() {
    let toy = of_tasks(vec![vec![Op::Write(0)], vec![Op::Write(0)]]);
    let all: Vec<Decisions> = toy.all().into_values().collect();
    let gap = verify(&all, &mut Cut { toy, calls: 0 }).unwrap_err();
    assert!(matches!(gap, Gap::Differs(..)), "{gap}");
}

#[test]
fn a_wrong_line_is_an_error_and_no_panic() {
    let good =
        r#"{"unfit":null,"tasks":["0"],"lives":[0],"steps":[[0,2,5,[[1,2,0]],[[1,0,0,1]],[],[]]]}"#;
    let mut reader = Reader::default();
    assert!(reader.read(good).is_err(), "an unknown kind");
    assert_eq!(reader.read(r#"{"kind":[1,2,0,0,0]}"#), Ok(None));
    assert!(matches!(reader.read(good), Ok(Some(Observed::Run(_)))));
    assert_eq!(reader.read(r#"{"stopped":3}"#), Ok(Some(Observed::Stopped(3))));
    for at in 0..good.len() {
        for byte in ["", "9", "]", "\"x\"", "-1", "null"] {
            let changed = format!("{}{byte}{}", &good[..at], &good[at + 1..]);
            let _ = reader.read(&changed);
            let _ = Decisions::read(&changed);
        }
    }
    assert!(Decisions::read(r#"{"tasks":["0"],"steps":[1],"draws":[]}"#).is_err());
    assert!(Decisions::read(r#"{"tasks":["0"],"steps":[0],"draws":[]}"#).is_ok());
}
