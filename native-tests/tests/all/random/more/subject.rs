//! Programs of a family, their generator, and the enumeration of their interleavings.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::thread;

use super::super::interleavings::explore;
use super::super::model::{Outcome, Outcomes};
use super::super::program::Numbers;

/// The model of the objects of a family.
pub(super) trait Subject: Clone + Eq + Hash + Debug {
    /// The commands on the objects.
    type Act: Copy + PartialEq + Debug + Send + Sync + 'static;
    const NAME: &'static str;
    /// True if the memory `c11` has no further outcomes.
    const IS_SAME_WITH_C11: bool;
    /// True if the counts of `Arc` are points.
    const COUNTS: bool = false;
    /// True if the objects have waits with time limits.
    const HAS_LIMITS: bool = false;
    /// Draws a command.
    fn draw(numbers: &mut Numbers, thread: usize, variant: u64) -> Self::Act;
    /// Changes the program, for example to avoid deadlocks.
    fn finish(_: &mut Program<Self>) {}
    fn first(program: &Program<Self>) -> Self;
    /// Performs the next effect of a command. Returns `None` if the thread waits, and `Some(true)` if the command is
    /// over.
    fn step(&mut self, act: Self::Act, local: &mut Local, words: &mut [i64; 2]) -> Option<bool>;
    /// Performs an effect after the last command. Returns `Some(true)` if it is the last.
    fn end(&mut self, _: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        Some(true)
    }
    /// Lets time pass to the next end of a wait, if any.
    fn pass(&mut self) -> Option<()> {
        None
    }
    /// Returns `true` if the thread has begun.
    fn begins(&self, _: usize) -> bool {
        true
    }
    /// Returns the values after the end of all threads.
    fn last(&self, words: [i64; 2]) -> Vec<i64> {
        words.to_vec()
    }
    /// Executes the program in a run.
    fn execute(program: &Program<Self>) -> Outcome;
}

/// A command.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Command<A> {
    Load(usize),
    Store(usize, i64),
    Add(usize, i64),
    Own(A),
}

#[derive(Clone, Debug)]
pub(super) struct Program<S: Subject> {
    /// A number that chooses the kind of the objects.
    pub(super) variant: u64,
    pub(super) threads: Vec<Vec<Command<S::Act>>>,
}

/// The state of a thread.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Local {
    pub(super) me: usize,
    at: usize,
    /// The number of completed effects of the command, or a number that the command has set.
    pub(super) stage: u32,
    /// A value between two effects.
    pub(super) kept: i64,
    pub(super) seen: Vec<i64>,
    /// True if the command has set the next stage.
    jumps: bool,
    is_done: bool,
}

impl Local {
    pub(super) fn see(&mut self, value: i64) -> bool {
        self.seen.push(value);
        true
    }

    /// Sets the next stage of a command that is not over.
    pub(super) fn go_to(&mut self, stage: u32) -> Option<bool> {
        (self.stage, self.jumps) = (stage, true);
        Some(false)
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<S> {
    objects: S,
    words: [i64; 2],
    threads: Vec<Local>,
}

impl<S: Subject> Program<S> {
    pub(super) fn generate(number: u64) -> Program<S> {
        let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 815);
        let variant = numbers.below(1 << 20);
        let (count, most) = if numbers.below(3) == 0 { (3, 2) } else { (2, 4) };
        let threads = (0..count).map(|thread| {
            let commands = (0..1 + numbers.below(most)).map(|_| {
                let word = usize::from(numbers.below(3) == 0);
                let by = numbers.one_of(&[1, 2, 3]);
                match numbers.below(10) {
                    0 => Command::Load(word),
                    1 => Command::Store(word, by),
                    2 => Command::Add(word, by),
                    _ => Command::Own(S::draw(&mut numbers, thread, variant)),
                }
            });
            commands.collect()
        });
        let mut program = Program { variant, threads: threads.collect() };
        S::finish(&mut program);
        program
    }

    /// Returns the outcomes of all interleavings. With `is_early`, time may pass at any moment.
    pub(super) fn outcomes(&self, is_early: bool) -> Outcomes {
        let threads = (0..self.threads.len()).map(|me| Local { me, ..Local::default() });
        let first = State { objects: S::first(self), words: [0, 0], threads: threads.collect() };
        let outcome = |state: &State<S>| {
            let is_over = state.threads.iter().all(|thread| thread.is_done);
            is_over.then(|| state.outcome())
        };
        let step = |state: &mut State<S>, thread: usize| match thread < self.threads.len() {
            true => state.step(self, thread),
            // The clock.
            false => (is_early || state.is_stuck(self)).then(|| state.objects.pass())?,
        };
        explore(first, self.threads.len() + 1, step, outcome)
    }
}

impl<S: Subject> State<S> {
    fn outcome(&self) -> Outcome {
        let seen = self.threads.iter().map(|thread| thread.seen.clone()).collect();
        Outcome { seen, last: self.objects.last(self.words) }
    }

    /// Returns `true` if all threads wait or have ended.
    fn is_stuck(&self, program: &Program<S>) -> bool {
        (0..self.threads.len()).all(|thread| self.clone().step(program, thread).is_none())
    }

    fn step(&mut self, program: &Program<S>, me: usize) -> Option<()> {
        let State { objects, words, threads } = self;
        let local = &mut threads[me];
        if local.is_done || !objects.begins(me) {
            return None;
        }
        let stage = local.stage;
        local.stage += 1;
        let is_over = match program.threads[me].get(local.at) {
            None => {
                local.is_done = objects.end(local, words)?;
                local.jumps = false;
                return Some(());
            }
            Some(Command::Load(word)) => local.see(words[*word]),
            Some(Command::Store(word, by)) => {
                words[*word] = *by;
                true
            }
            Some(Command::Add(word, by)) => {
                words[*word] += by;
                local.see(words[*word])
            }
            Some(Command::Own(act)) => {
                local.stage = stage;
                let is_over = objects.step(*act, local, words)?;
                if !std::mem::take(&mut local.jumps) && local.stage == stage {
                    local.stage += 1;
                }
                is_over
            }
        };
        if is_over {
            (local.at, local.stage, local.kept) = (local.at + 1, 0, 0);
        }
        Some(())
    }
}

/// The words of a run.
#[derive(Default)]
pub(super) struct Words(pub(super) [AtomicI64; 2]);

impl Words {
    pub(super) fn add(&self, word: usize, by: i64) -> i64 {
        self.0[word].fetch_add(by, SeqCst)
    }

    pub(super) fn last(&self) -> Vec<i64> {
        self.0.iter().map(|word| word.load(SeqCst)).collect()
    }

    /// Performs the commands of a thread, where `act` performs those on its objects. Returns the values that the thread
    /// has seen.
    pub(super) fn run<A: Copy>(
        &self,
        commands: &[Command<A>],
        act: impl FnMut(A) -> Option<i64>,
    ) -> Vec<i64> {
        self.run_all(commands, act)
    }

    /// The same, where a command can return several values.
    pub(super) fn run_all<A: Copy, V: IntoIterator<Item = i64>>(
        &self,
        commands: &[Command<A>],
        mut act: impl FnMut(A) -> V,
    ) -> Vec<i64> {
        let mut seen = Vec::new();
        for command in commands {
            match *command {
                Command::Load(word) => seen.push(self.0[word].load(SeqCst)),
                Command::Store(word, by) => self.0[word].store(by, SeqCst),
                Command::Add(word, by) => seen.push(self.add(word, by) + by),
                Command::Own(own) => seen.extend(act(own)),
            }
        }
        seen
    }
}

/// Executes the threads of a program, where `act` performs the commands on its objects. The first thread waits for the
/// others.
pub(super) fn execute<S: Subject, O: Send + Sync + 'static>(
    program: &Program<S>,
    (words, objects): (Arc<Words>, O),
    act: fn(&O, S::Act, &Words) -> Option<i64>,
) -> Outcome {
    let objects = Arc::new(objects);
    execute_threads(program, (words, |_| objects.clone()), move |objects, commands, words| {
        words.run(commands, |own| act(&objects, own, words))
    })
}

/// Executes the threads of a program by `run`. `own` returns the objects of the thread with a number. The first thread
/// waits for the others.
pub(super) fn execute_threads<S: Subject, O: Send + 'static>(
    program: &Program<S>,
    (words, mut own): (Arc<Words>, impl FnMut(usize) -> O),
    run: impl Fn(O, &[Command<S::Act>], &Words) -> Vec<i64> + Copy + Send + 'static,
) -> Outcome {
    let of_first = own(0);
    let others: Vec<_> = program.threads[1..]
        .iter()
        .zip(1..)
        .map(|(commands, thread)| {
            let (words, own, commands) = (words.clone(), own(thread), commands.clone());
            thread::spawn(move || run(own, &commands, &words))
        })
        .collect();
    drop(own);
    let mut seen = vec![run(of_first, &program.threads[0], &words)];
    seen.extend(others.into_iter().map(|other| other.join().unwrap()));
    Outcome { seen, last: words.last() }
}
