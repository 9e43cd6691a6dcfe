//! Computes all results of a program, by a search over its states.
//!
//! The code is written from the manual, and uses no item of the library. In a step, a task runs from its point to its
//! next point. From each state, every enabled task takes its step, once for each value that it may draw. A known state
//! is not visited again, because its successors do not depend on the path to the state, and the state contains the log
//! so far. There is no reduction of any kind.

mod history;
mod state;
mod step;

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::program::{End, Program, Sight};

use self::state::State;
use self::step::Step;

/// True if awaiting a handle is a point like any other. The await is then announced at the first poll, even if the
/// target has already ended, and takes effect in a later step. If false, a target that has ended is joined within the
/// step.
pub const JOIN_IS_A_POINT: bool = true;

/// Returns the result of every interleaving of the program; `None` if there are more states than `limit`.
pub fn results(program: &Program, limit: usize) -> Option<BTreeSet<Sight>> {
    let start = State::new(program);
    let mut results = BTreeSet::new();
    let mut known: HashSet<State, BuildHasherDefault<Mix>> = HashSet::default();
    known.insert(start.clone());
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        if let Some(end) = &state.over {
            results.insert(state.sight(end.clone()));
            continue;
        }
        let mut stuck = true;
        for task in 0..program.tasks.len() {
            if !state.can_step(program, task) {
                continue;
            }
            stuck = false;
            let mut draws = Draws::default();
            loop {
                let mut next = state.clone();
                Step::take(program, &mut next, task, &mut draws);
                if known.insert(next.clone()) {
                    open.push(next);
                }
                if known.len() > limit {
                    return None;
                }
                if !draws.next() {
                    break;
                }
            }
        }
        if stuck {
            results.insert(state.sight(End::Deadlock));
        }
    }
    Some(results)
}

/// A hasher for small numbers that is cheap in a debug build.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u8(*byte));
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// The values drawn in one step. `next` advances them like an odometer, whose wheels are discovered during the
/// step.
#[derive(Default)]
struct Draws {
    /// Each value with its bound.
    values: Vec<(u8, u8)>,
    at: usize,
}

impl Draws {
    fn draw(&mut self, bound: u8) -> u8 {
        if self.at == self.values.len() {
            self.values.push((0, bound));
        }
        self.at += 1;
        self.values[self.at - 1].0
    }

    /// Advances to the next combination of values. Returns `true` if there is a next combination.
    fn next(&mut self) -> bool {
        self.at = 0;
        while let Some((value, bound)) = self.values.pop() {
            if value + 1 < bound {
                self.values.push((value + 1, bound));
                return true;
            }
        }
        false
    }
}
