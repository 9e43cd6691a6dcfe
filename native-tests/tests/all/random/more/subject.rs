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
    is_done: bool,
}

impl Local {
    pub(super) fn see(&mut self, value: i64) -> bool {
        self.seen.push(value);
        true
    }

    /// Sets the next stage of a command that is not over.
    pub(super) fn go_to(&mut self, stage: u32) -> Option<bool> {
        self.stage = stage;
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

    /// Returns the outcomes of all interleavings.
    pub(super) fn outcomes(&self) -> Outcomes {
        let threads = (0..self.threads.len()).map(|me| Local { me, ..Local::default() });
        let first = State { objects: S::first(self), words: [0, 0], threads: threads.collect() };
        let outcome = |state: &State<S>| {
            let is_over = state.threads.iter().all(|thread| thread.is_done);
            is_over.then(|| state.outcome())
        };
        explore(first, self.threads.len(), |state, thread| state.step(self, thread), outcome)
    }
}

impl<S: Subject> State<S> {
    fn outcome(&self) -> Outcome {
        let seen = self.threads.iter().map(|thread| thread.seen.clone()).collect();
        Outcome { seen, last: self.objects.last(self.words) }
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
                if local.stage == stage {
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
        mut act: impl FnMut(A) -> Option<i64>,
    ) -> Vec<i64> {
        let mut seen = Vec::new();
        for command in commands {
            seen.extend(match *command {
                Command::Load(word) => Some(self.0[word].load(SeqCst)),
                Command::Store(word, by) => {
                    self.0[word].store(by, SeqCst);
                    None
                }
                Command::Add(word, by) => Some(self.add(word, by) + by),
                Command::Own(own) => act(own),
            });
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
    let others: Vec<_> = program.threads[1..]
        .iter()
        .map(|commands| {
            let (words, objects, commands) = (words.clone(), objects.clone(), commands.clone());
            thread::spawn(move || words.run(&commands, |own| act(&objects, own, &words)))
        })
        .collect();
    let mut seen = vec![words.run(&program.threads[0], |own| act(&objects, own, &words))];
    seen.extend(others.into_iter().map(|other| other.join().unwrap()));
    Outcome { seen, last: words.last() }
}
