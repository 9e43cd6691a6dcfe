//! Values that are initialized once: `OnceLock`, `Once` and `LazyLock` of std, `Once` of parking_lot, `OnceCell` of
//! once_cell. Some initializers fail.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock, Once, OnceLock};

use super::super::model::{NONE, Outcome, REFUSED};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, Words, execute};

/// The value of a call that panics or fails.
const FAILED: i64 = -106;

/// A command on the object with the number in the first field: a `OnceLock`, a `Once`, a `Once` of parking_lot, a
/// `OnceCell` of once_cell, a `LazyLock`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Initializes the object. The initializer adds to the first word. With `true`, it fails if the word was odd.
    Init(usize, i64, bool),
    /// Initializes a `Once` that may be poisoned.
    Force(usize, i64),
    Set(usize, i64),
    Get(usize),
    /// Waits for the value.
    Wait(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum Cell {
    #[default]
    New,
    Running(bool),
    Poisoned,
    Done(i64),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cells {
    cells: [Cell; 5],
    lazy_fails: bool,
}

const LOCK: usize = 0;
const ONCE: usize = 1;
const LOT: usize = 2;
const CELL: usize = 3;
const LAZY: usize = 4;

impl Cells {
    fn init(
        &mut self,
        cell: usize,
        (by, fails, forces): (i64, bool, bool),
        local: &mut Local,
        words: &mut [i64; 2],
    ) -> Option<bool> {
        let has_value = matches!(cell, LOCK | CELL | LAZY);
        match local.stage {
            0 => match self.cells[cell] {
                Cell::Done(value) => Some(local.see(if has_value { value } else { 1 })),
                Cell::Running(_) => None,
                Cell::Poisoned if !forces => Some(local.see(FAILED)),
                state => {
                    self.cells[cell] = Cell::Running(state == Cell::Poisoned);
                    Some(false)
                }
            },
            1 => {
                local.kept = words[0];
                words[0] += by;
                Some(false)
            }
            _ => {
                let value = local.kept;
                if fails && value % 2 == 1 {
                    self.cells[cell] = if cell == CELL { Cell::New } else { Cell::Poisoned };
                    return Some(local.see(FAILED));
                }
                self.cells[cell] = Cell::Done(value);
                Some(local.see(if has_value { value } else { 1 }))
            }
        }
    }
}

impl Subject for Cells {
    type Act = Act;
    const NAME: &'static str = "Cells";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        let cell = match numbers.below(5) {
            0 => numbers.below(5),
            _ => variant % 5,
        } as usize;
        let (by, fails) = (numbers.one_of(&[1, 2, 3]), numbers.below(2) == 0);
        let init = Act::Init(cell, by, fails);
        match cell {
            LOCK => {
                numbers.one_of(&[init, init, Act::Set(cell, by), Act::Get(cell), Act::Wait(cell)])
            }
            ONCE => {
                numbers.one_of(&[init, init, Act::Force(cell, by), Act::Get(cell), Act::Wait(cell)])
            }
            LOT => numbers.one_of(&[init, init, Act::Force(cell, by), Act::Get(cell)]),
            CELL => numbers.one_of(&[init, init, Act::Set(cell, by), Act::Get(cell)]),
            _ => init,
        }
    }

    fn first(program: &Program<Self>) -> Self {
        Cells { cells: Default::default(), lazy_fails: (program.variant / 5).is_multiple_of(2) }
    }

    fn step(&mut self, act: Act, local: &mut Local, words: &mut [i64; 2]) -> Option<bool> {
        match act {
            Act::Init(LAZY, ..) => self.init(LAZY, (1, self.lazy_fails, false), local, words),
            Act::Init(cell, by, fails) => {
                self.init(cell, (by, fails, matches!(cell, LOCK | CELL)), local, words)
            }
            Act::Force(cell, by) => self.init(cell, (by, false, true), local, words),
            Act::Set(cell, by) => match (local.stage, self.cells[cell]) {
                (0, Cell::Done(_)) => Some(local.see(REFUSED)),
                (0, Cell::Running(_)) => None,
                (0, _) => {
                    self.cells[cell] = Cell::Running(false);
                    Some(false)
                }
                _ => {
                    self.cells[cell] = Cell::Done(by);
                    Some(local.see(0))
                }
            },
            Act::Get(cell) => Some(local.see(match (cell, self.cells[cell]) {
                (LOT, Cell::New) => 0,
                (LOT, Cell::Poisoned) => 1,
                (LOT, Cell::Running(_)) => 2,
                (LOT, Cell::Done(_)) => 3,
                (ONCE, Cell::Done(_)) => 1,
                (_, Cell::Done(value)) => value,
                _ => NONE,
            })),
            Act::Wait(cell) => match self.cells[cell] {
                Cell::Done(value) => Some(local.see(if cell == LOCK { value } else { 1 })),
                Cell::Poisoned if cell == ONCE => Some(local.see(FAILED)),
                _ => None,
            },
        }
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let words = Arc::new(Words::default());
        let (own, lazy_fails) = (words.clone(), Self::first(program).lazy_fails);
        let lazy: Box<dyn Fn() -> i64 + Send> = Box::new(move || initial(&own, 1, lazy_fails));
        let objects = Objects {
            lock: OnceLock::new(),
            once: Once::new(),
            lot: parking_lot::Once::new(),
            cell: once_cell::sync::OnceCell::new(),
            lazy: LazyLock::new(lazy),
        };
        execute(program, (words, objects), |objects, act, words| Some(objects.act(act, words)))
    }
}

struct Objects {
    lock: OnceLock<i64>,
    once: Once,
    lot: parking_lot::Once,
    cell: once_cell::sync::OnceCell<i64>,
    lazy: LazyLock<i64, Box<dyn Fn() -> i64 + Send>>,
}

/// Adds to the first word. Panics without a message if it `fails` and the word was odd.
fn initial(words: &Words, by: i64, fails: bool) -> i64 {
    let value = words.add(0, by);
    if fails && value % 2 == 1 {
        resume_unwind(Box::new(()));
    }
    value
}

impl Objects {
    fn act(&self, act: Act, words: &Words) -> i64 {
        let or_failed =
            |act: &dyn Fn() -> i64| catch_unwind(AssertUnwindSafe(act)).unwrap_or(FAILED);
        match act {
            Act::Init(LOCK, by, fails) => {
                or_failed(&|| *self.lock.get_or_init(|| initial(words, by, fails)))
            }
            Act::Init(ONCE, by, fails) => or_failed(&|| {
                self.once.call_once(|| {
                    initial(words, by, fails);
                });
                1
            }),
            Act::Init(LOT, by, fails) => or_failed(&|| {
                self.lot.call_once(|| {
                    initial(words, by, fails);
                });
                1
            }),
            Act::Init(CELL, by, fails) => {
                let init = || {
                    let value = words.add(0, by);
                    if fails && value % 2 == 1 { Err(()) } else { Ok(value) }
                };
                self.cell.get_or_try_init(init).map_or(FAILED, |value| *value)
            }
            Act::Init(..) => or_failed(&|| *LazyLock::force(&self.lazy)),
            Act::Force(ONCE, by) => {
                self.once.call_once_force(|_| {
                    words.add(0, by);
                });
                1
            }
            Act::Force(_, by) => {
                self.lot.call_once_force(|_| {
                    words.add(0, by);
                });
                1
            }
            Act::Set(LOCK, by) => self.lock.set(by).map_or(REFUSED, |()| 0),
            Act::Set(_, by) => self.cell.set(by).map_or(REFUSED, |()| 0),
            Act::Get(LOCK) => self.lock.get().copied().unwrap_or(NONE),
            Act::Get(ONCE) => {
                if self.once.is_completed() {
                    1
                } else {
                    NONE
                }
            }
            Act::Get(LOT) => match self.lot.state() {
                parking_lot::OnceState::New => 0,
                parking_lot::OnceState::Poisoned => 1,
                parking_lot::OnceState::InProgress => 2,
                parking_lot::OnceState::Done => 3,
            },
            Act::Get(_) => self.cell.get().copied().unwrap_or(NONE),
            Act::Wait(LOCK) => *self.lock.wait(),
            Act::Wait(_) => or_failed(&|| {
                self.once.wait();
                1
            }),
        }
    }
}
