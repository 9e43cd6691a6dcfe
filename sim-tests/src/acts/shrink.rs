//! Finds a minimal part of a program that still has a given property.

use super::program::{Act, Program};

/// The maximum number of tried programs. After that number, the smallest program so far is returned.
const TRIES_MAX: u32 = 3_000;

/// Removes parts of `program` as long as `fails` remains true. `fails` must be true for `program`.
pub fn shrink(program: &Program, fails: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut tries = 0;
    'smaller: loop {
        for smaller in smaller(&best) {
            tries += 1;
            if tries > TRIES_MAX {
                return best;
            }
            if fails(&smaller) {
                best = smaller;
                continue 'smaller;
            }
        }
        return best;
    }
}

/// Returns smaller programs, the smallest first.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for task in 0..program.tasks.len() {
        let with = |acts: Vec<Act>| {
            let mut smaller = program.clone();
            smaller.tasks[task] = acts;
            smaller
        };
        if program.tasks[task].len() > 1 {
            all.push(with(Vec::new()));
        }
        all.extend(less(&program.tasks[task]).into_iter().map(with));
    }
    all
}

/// Returns smaller lists of acts.
fn less(acts: &[Act]) -> Vec<Vec<Act>> {
    let mut all = Vec::new();
    for at in 0..acts.len() {
        let with = |new: Vec<Act>| [&acts[..at], &new[..], &acts[at + 1..]].concat();
        all.push(with(Vec::new()));
        let act = &acts[at];
        if let Some(pieces) = act.pieces() {
            all.extend(pieces.map(|piece| with(piece.clone())));
            for (number, piece) in pieces.into_iter().enumerate() {
                for piece in less(piece) {
                    let mut act = act.clone();
                    *act.pieces_mut().expect("it has pieces")[number] = piece;
                    all.push(with(vec![act]));
                }
            }
        }
        for act in simpler(act) {
            all.push(with(vec![act]));
        }
    }
    all
}

/// Returns acts that do less than `act`.
fn simpler(act: &Act) -> Vec<Act> {
    match act {
        Act::Spawn(child, gives) => (0..gives.len())
            .map(|at| {
                let mut gives = gives.clone();
                gives.remove(at);
                Act::Spawn(*child, gives)
            })
            .collect(),
        Act::PollJoin(target) => vec![Act::Poll(*target), Act::Join(*target)],
        Act::Swap(word, value) => vec![Act::Load(*word), Act::Store(*word, *value)],
        Act::StoreDrawn(word, _) => vec![Act::Store(*word, 1)],
        Act::Max(word, _) | Act::Exchange(word, ..) => vec![Act::Load(*word), Act::Add(*word)],
        Act::SpinBoth(one, two) | Act::SpinEither(one, two) => {
            vec![Act::Spin(0, *one), Act::Spin(1, *two)]
        }
        Act::SpinExchange(word, from, _) => vec![Act::Spin(*word, *from)],
        Act::Addr(name) | Act::Life(name) => vec![Act::Find(*name)],
        Act::TryLock(lock) => vec![Act::Lock(*lock)],
        Act::Call { explicit, write, words } => {
            let mut all = Vec::new();
            if *explicit {
                all.push(Act::Call { explicit: false, write: *write, words: words.clone() });
            }
            if words.len() > 1 {
                for word in words {
                    all.push(Act::Call { explicit: *explicit, write: *write, words: vec![*word] });
                }
            }
            all
        }
        _ => Vec::new(),
    }
}
