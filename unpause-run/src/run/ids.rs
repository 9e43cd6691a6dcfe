//! The names of things in a run: seeds, tasks, objects, places.
//!
//! Numbers with a meaning are newtypes, so that no signature has two bare integers in a row.
//! [`TaskId`] and [`ObjectId`] are dense and mean something in one run only; what two runs have in
//! common is the structural name: [`TaskPath`] for a task, creation place and ordinal for an object.

use std::fmt;
use std::num::NonZeroU32;
use std::panic::Location;
use std::str::FromStr;

/// The number all random decisions of one run are drawn from. The same seed is the same run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A task of one run: the n-th to be spawned, the body of the test being number 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The body of the test.
    pub const MAIN: TaskId = TaskId(0);

    /// The position of this task in the tables of its run.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A shared object of one run: the n-th the run got to know.
//
// Kept one higher, so that an `Option` of it is one word of 32 bits: what is written in two halves and read
// as a whole soon after keeps the processor waiting, and every point announces and records one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(NonZeroU32);

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectId").field(&self.index()).finish()
    }
}

impl ObjectId {
    /// The object at this position, which is less than `u32::MAX`.
    #[inline]
    pub fn new(index: u32) -> ObjectId {
        ObjectId(NonZeroU32::MIN.saturating_add(index))
    }

    /// The position of this object in the tables of its run.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

/// The structural name of a task: the child numbers from the body of the test down to it.
///
/// The body is `0`, the second task it spawns `0.1`, that one's first child `0.1.0`. The path
/// does not depend on the interleaving, so it identifies the same task in all runs of a test.
///
/// ```
/// use sim::run::ids::TaskPath;
///
/// let path = TaskPath::main().child(1).child(0);
/// assert_eq!(path.to_string(), "0.1.0");
/// assert_eq!("0.1".parse::<TaskPath>().ok(), path.parent());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskPath(Vec<u32>);

impl TaskPath {
    /// The path of the body of the test, `0`.
    pub fn main() -> TaskPath {
        TaskPath(vec![0])
    }

    /// The path of this task's `nth` child, counted from 0.
    pub fn child(&self, nth: u32) -> TaskPath {
        let mut path = self.0.clone();
        path.push(nth);
        TaskPath(path)
    }

    /// The path of the task reached from this one by these child numbers.
    #[doc(hidden)]
    pub fn descendant(mut self, nths: &[u32]) -> TaskPath {
        self.0.extend_from_slice(nths);
        self
    }

    /// The child numbers, from the body of the test down.
    pub fn segments(&self) -> &[u32] {
        &self.0
    }

    /// The path of the task that spawned this one, none for the body of the test.
    pub fn parent(&self) -> Option<TaskPath> {
        (self.0.len() > 1).then(|| TaskPath(self.0[..self.0.len() - 1].to_vec()))
    }
}

impl fmt::Display for TaskPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(".")?;
            }
            write!(f, "{n}")?;
        }
        Ok(())
    }
}

impl FromStr for TaskPath {
    type Err = InvalidTaskPath;

    /// # Errors
    /// [`InvalidTaskPath`] unless `s` is dot-separated decimal numbers, the first of them 0.
    fn from_str(s: &str) -> Result<TaskPath, InvalidTaskPath> {
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let path: Option<Vec<u32>> =
            s.split('.').map(|part| digits(part).then(|| part.parse().ok())?).collect();
        match path {
            Some(path) if path[0] == 0 => Ok(TaskPath(path)),
            _ => Err(InvalidTaskPath),
        }
    }
}

/// A text that is not a [`TaskPath`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidTaskPath;

impl fmt::Display for InvalidTaskPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not a task path: expected numbers joined by dots, beginning with 0, like `0.1`",
        )
    }
}

impl std::error::Error for InvalidTaskPath {}

/// A place in the user's source, by value, so that it can be read from a file. Shown as `file:line:column`.
///
/// ```
/// use sim::run::ids::Spot;
/// assert_eq!(Spot::new("src/queue.rs", 41, 9).to_string(), "src/queue.rs:41:9");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Spot {
    file: &'static str,
    line: u32,
    column: u32,
}

impl Spot {
    /// The place in this file at a line and a column, both counted from 1.
    pub fn new(file: &'static str, line: u32, column: u32) -> Spot {
        Spot { file, line, column }
    }

    /// The file, as the compiler calls it.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        self.line
    }

    /// The column, from 1.
    pub fn column(self) -> u32 {
        self.column
    }
}

impl From<Place> for Spot {
    fn from(place: Place) -> Spot {
        Spot::new(place.file(), place.line(), place.column())
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A place in the user's source: file, line and column. Shown as `file:line:column`.
pub type Place = &'static Location<'static>;
