//! Ends of threads: scopes, values of threads whose destructors run after a scope has ended, and `park` beside scopes.
//! The first thread begins the scopes, in which the other threads run.

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::{self, Thread};

use super::super::model::Outcome;
use super::super::program::Numbers;
use super::subject::{Command, Local, Program, Subject, Words};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Runs the thread with this number in a scope. With `true`, the scope joins it.
    Scope(usize, bool),
    /// Runs the threads 1 and 2 in a scope.
    Both,
    /// Spawns a thread, and joins it.
    Spawn(usize),
    Park,
    /// Unparks the first thread.
    Unpark,
    /// Sets the thread's value, whose destructor adds to the second word.
    Local(i64),
    /// Unparks the thread itself.
    Own,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ends {
    is_scoped: Vec<bool>,
    has_begun: Vec<bool>,
    has_ended: Vec<bool>,
    /// The numbers that the destructors add.
    locals: Vec<i64>,
    tokens: Vec<bool>,
    running: u32,
}

impl Ends {
    fn begin(&mut self, thread: usize, is_scoped: bool) {
        (self.has_begun[thread], self.is_scoped[thread]) = (true, is_scoped);
        self.running += u32::from(is_scoped);
    }
}

impl Subject for Ends {
    type Act = Act;
    const NAME: &'static str = "Ends";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, thread: usize, _: u64) -> Act {
        if thread == 0 {
            return numbers.one_of(&[Act::Park, Act::Own]);
        }
        let by = numbers.one_of(&[1, 2, 3]);
        numbers.one_of(&[Act::Unpark, Act::Unpark, Act::Local(by), Act::Own])
    }

    fn finish(program: &mut Program<Self>) {
        let count = program.threads.len();
        let (own, variant) = (&mut program.threads[0], program.variant);
        let at = variant as usize / 8 % (own.len() + 1);
        let is_joined = variant % 4 == 1;
        match (count, variant / 4 % 2) {
            (3, 0) => own.insert(at, Command::Own(Act::Both)),
            (3, _) => {
                own.insert(at, Command::Own(Act::Scope(2, is_joined)));
                own.insert(0, Command::Own(Act::Scope(1, false)));
            }
            _ if variant % 4 == 0 => own.insert(at, Command::Own(Act::Spawn(1))),
            _ => own.insert(at, Command::Own(Act::Scope(1, is_joined))),
        }
        own.extend([Command::Load(0), Command::Load(1)]);
        for others in &mut program.threads[1..] {
            // The first thread seldom waits for ever.
            if variant / 64 % 4 > 0 {
                others.push(Command::Own(Act::Unpark));
            }
        }
    }

    fn first(program: &Program<Self>) -> Self {
        let count = program.threads.len();
        Ends {
            is_scoped: vec![false; count],
            has_begun: vec![false; count],
            has_ended: vec![false; count],
            locals: vec![0; count],
            tokens: vec![false; count],
            running: 0,
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        match (act, local.stage) {
            (Act::Scope(thread, _), 0) => {
                self.begin(thread, true);
                Some(false)
            }
            (Act::Both, 0) => {
                self.begin(1, true);
                local.go_to(4)
            }
            (Act::Both, 4) => {
                self.begin(2, true);
                local.go_to(2)
            }
            (Act::Scope(thread, true), 1) => {
                self.has_ended[thread].then_some(())?;
                local.go_to(2)
            }
            (Act::Scope(..) | Act::Both, 1 | 2) if self.running == 0 => Some(true),
            (Act::Scope(..) | Act::Both, 1 | 2) => local.go_to(3),
            (Act::Scope(..) | Act::Both, _) => {
                std::mem::take(&mut self.tokens[me]).then_some(())?;
                local.go_to(2)
            }
            (Act::Spawn(thread), 0) => {
                self.begin(thread, false);
                Some(false)
            }
            (Act::Spawn(thread), _) => self.has_ended[thread].then_some(true),
            (Act::Park, _) => std::mem::take(&mut self.tokens[me]).then_some(true),
            (Act::Unpark, _) => {
                self.tokens[0] = true;
                Some(true)
            }
            (Act::Own, _) => {
                self.tokens[me] = true;
                Some(true)
            }
            (Act::Local(by), _) => {
                self.locals[me] = by;
                Some(true)
            }
        }
    }

    fn end(&mut self, local: &mut Local, words: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        if me == 0 {
            return Some(true);
        }
        if std::mem::take(&mut self.is_scoped[me]) {
            self.running -= 1;
            local.kept = i64::from(self.running == 0);
            return Some(false);
        }
        // The last thread of a scope unparks its owner.
        if std::mem::take(&mut local.kept) == 1 {
            self.tokens[0] = true;
            return Some(false);
        }
        words[1] += std::mem::take(&mut self.locals[me]);
        self.has_ended[me] = true;
        Some(true)
    }

    fn begins(&self, me: usize) -> bool {
        self.has_begun[me] || me == 0
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        Vec::new()
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let words = Arc::new(Words::default());
        let first = thread::current();
        let mut seen = vec![Vec::new(); program.threads.len()];
        let of_first = words.run(&program.threads[0], |act| {
            let run = |thread: usize| {
                let (words, commands) = (words.clone(), program.threads[thread].clone());
                let first = first.clone();
                move || words.run(&commands, |act| run_other(act, &first, &words))
            };
            match act {
                Act::Scope(thread, is_joined) => {
                    let (run, seen) = (run(thread), &mut seen[thread]);
                    thread::scope(|scope| {
                        let other = scope.spawn(|| *seen = run());
                        if is_joined {
                            other.join().unwrap();
                        }
                    });
                }
                Act::Both => {
                    let [_, one, two] = &mut *seen else { unreachable!("three threads") };
                    thread::scope(|scope| {
                        let (run_one, run_two) = (run(1), run(2));
                        scope.spawn(move || *one = run_one());
                        scope.spawn(move || *two = run_two());
                    });
                }
                Act::Spawn(other) => seen[other] = thread::spawn(run(other)).join().unwrap(),
                Act::Park => thread::park(),
                _ => first.unpark(),
            }
            None
        });
        seen[0] = of_first;
        Outcome { seen, last: Vec::new() }
    }
}

thread_local! {
    static OWN: RefCell<Option<Adds>> = const { RefCell::new(None) };
}

/// Adds to the second word when it is dropped.
struct Adds(Arc<Words>, i64);

impl Drop for Adds {
    fn drop(&mut self) {
        self.0.add(1, self.1);
    }
}

fn run_other(act: Act, first: &Thread, words: &Arc<Words>) -> Option<i64> {
    match act {
        Act::Local(by) => {
            // Replaces the earlier value without its effect.
            OWN.with_borrow_mut(|own| match own {
                Some(adds) => adds.1 = by,
                None => *own = Some(Adds(words.clone(), by)),
            });
        }
        Act::Own => thread::current().unpark(),
        _ => first.unpark(),
    }
    None
}
