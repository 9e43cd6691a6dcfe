//! The marks of a program: conditions, keys and highest values that a run has reached, each with its position in the
//! run.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A mark of a run: its key, and the decisions of the run before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) key: u64,
    pub(crate) steps: usize,
    pub(crate) draws: usize,
}

/// The decisions of the current run so far, and its marks.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) steps: usize,
    pub(crate) draws: usize,
    pub(crate) marks: Vec<Mark>,
}

thread_local! {
    pub(crate) static SEEN: RefCell<Seen> = RefCell::default();
}

/// Records that a run has reached `key` of the mark `name`.
pub(crate) fn reach(name: &str, key: impl Hash) {
    let mut hasher = DefaultHasher::new();
    (name, key).hash(&mut hasher);
    let key = hasher.finish();
    SEEN.with_borrow_mut(|seen| {
        if !seen.marks.iter().any(|mark| mark.key == key) {
            let mark = Mark { key, steps: seen.steps, draws: seen.draws };
            seen.marks.push(mark);
        }
    });
}

#[macro_export]
macro_rules! sometimes {
    ($condition:expr, $name:expr $(,)?) => {
        if $condition {
            $crate::marks::reach($name, ());
        }
    };
}

#[macro_export]
macro_rules! sometimes_each {
    ($key:expr, $name:expr $(,)?) => {
        $crate::marks::reach($name, $key)
    };
}

#[macro_export]
macro_rules! watermark {
    ($value:expr, $name:expr $(,)?) => {
        $crate::marks::reach($name, $value as u64)
    };
}
