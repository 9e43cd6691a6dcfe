//! `is_finished` of threads, and loops that wait for it. The counts of `Arc` are points, because a thread has finished
//! when it drops its reference to its result.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::super::model::{NONE, Outcome};
use super::super::program::Numbers;
use super::subject::{Command, Local, Program, Subject, Words};

/// A command of the first thread. The others only use the words.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    IsFinished(usize),
    /// Waits until the thread has finished.
    Until(usize),
    Join(usize),
    /// Adds 1 to the first word.
    Add,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Finished {
    has_finished: Vec<bool>,
    is_joined: Vec<bool>,
}

impl Subject for Finished {
    type Act = Act;
    const NAME: &'static str = "Finished";
    const IS_SAME_WITH_C11: bool = false;
    const COUNTS: bool = true;

    fn draw(numbers: &mut Numbers, thread: usize, variant: u64) -> Act {
        if thread > 0 {
            return Act::Add;
        }
        let other = numbers.below(2) as usize;
        let until =
            if variant.is_multiple_of(3) { Act::Until(other) } else { Act::IsFinished(other) };
        numbers.one_of(&[Act::IsFinished(other), Act::IsFinished(other), until, Act::Join(other)])
    }

    /// The numbers of threads are below their count.
    fn finish(program: &mut Program<Self>) {
        let others = program.threads.len() - 1;
        for command in &mut program.threads[0] {
            if let Command::Own(Act::IsFinished(thread) | Act::Until(thread) | Act::Join(thread)) =
                command
            {
                *thread = 1 + *thread % others;
            }
        }
    }

    fn first(program: &Program<Self>) -> Self {
        let none = vec![false; program.threads.len()];
        Finished { has_finished: none.clone(), is_joined: none }
    }

    fn step(&mut self, act: Act, local: &mut Local, words: &mut [i64; 2]) -> Option<bool> {
        match act {
            Act::IsFinished(thread) | Act::Until(thread) | Act::Join(thread)
                if self.is_joined[thread] =>
            {
                Some(local.see(NONE))
            }
            Act::IsFinished(thread) => Some(local.see(self.has_finished[thread].into())),
            Act::Until(thread) => self.has_finished[thread].then_some(true),
            Act::Join(thread) => {
                self.has_finished[thread].then_some(())?;
                self.is_joined[thread] = true;
                Some(true)
            }
            Act::Add => {
                words[0] += 1;
                Some(local.see(words[0]))
            }
        }
    }

    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        self.has_finished[local.me] = true;
        Some(true)
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let words = Arc::new(Words::default());
        let mut seen = vec![Vec::new(); program.threads.len()];
        let mut others: Vec<Option<JoinHandle<Vec<i64>>>> = vec![None];
        others.extend(program.threads[1..].iter().map(|commands| {
            let (words, commands) = (words.clone(), commands.clone());
            Some(thread::spawn(move || words.run(&commands, |_| Some(words.add(0, 1) + 1))))
        }));
        let of_first = words.run(&program.threads[0], |act| {
            let (Act::IsFinished(at) | Act::Until(at) | Act::Join(at)) = act else {
                return Some(words.add(0, 1) + 1);
            };
            let Some(other) = &others[at] else { return Some(NONE) };
            match act {
                Act::IsFinished(_) => return Some(other.is_finished().into()),
                Act::Until(_) => {
                    while !other.is_finished() {
                        thread::yield_now();
                    }
                }
                _ => seen[at] = others[at].take()?.join().unwrap(),
            }
            None
        });
        seen[0] = of_first;
        for (seen, other) in seen.iter_mut().zip(others) {
            if let Some(other) = other {
                *seen = other.join().unwrap();
            }
        }
        Outcome { seen, last: words.last() }
    }
}
