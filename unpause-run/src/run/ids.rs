//! The identifiers of a run: seeds, tasks, objects, places.
//!
//! Numbers with a meaning are newtypes, so that no signature has two bare integers in a row. [`TaskId`] and
//! [`ObjectId`] are dense and have a meaning only within one run. Across runs, a structural name identifies a task
//! ([`TaskPath`]) or an object (creation place and ordinal).

use std::fmt;
use std::num::NonZeroU32;
use std::panic::Location;
use std::str::FromStr;

/// The number from which all random decisions of one run derive. The same seed gives the same run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A task of one run, as its index in spawn order. The body of the test has index 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The body of the test.
    pub const MAIN: TaskId = TaskId(0);

    /// Returns the position of this task in the tables of its run.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A shared object of one run, as its index in the order in which the run first used the objects.
//
// The stored number is one higher than the index, so that an `Option<ObjectId>` is one 32-bit word. The processor
// stalls if a value that was written in two halves is soon read as a whole, and every point announces and records an
// object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(NonZeroU32);

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectId").field(&self.index()).finish()
    }
}

impl ObjectId {
    /// Creates the identifier of the object at this position, which must be less than `u32::MAX`.
    #[inline]
    pub fn new(index: u32) -> ObjectId {
        ObjectId(NonZeroU32::MIN.saturating_add(index))
    }

    /// Returns the position of this object in the tables of its run.
    #[inline]
    pub fn index(self) -> usize {
        (self.0.get() - 1) as usize
    }
}

/// The structural name of a task: the child numbers on the path from the body of the test to the task.
///
/// The body is `0`, the second task that it spawns is `0.1`, and the first child of `0.1` is `0.1.0`. The path does not
/// depend on the interleaving, so it identifies the same task in all runs of a test.
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
    /// Returns the path of the body of the test, `0`.
    pub fn main() -> TaskPath {
        TaskPath(vec![0])
    }

    /// Returns the path of this task's `nth` child, counted from 0.
    pub fn child(&self, nth: u32) -> TaskPath {
        let mut path = self.0.clone();
        path.push(nth);
        TaskPath(path)
    }

    /// Returns the path of the descendant of this task with these child numbers.
    #[doc(hidden)]
    pub fn descendant(mut self, nths: &[u32]) -> TaskPath {
        self.0.extend_from_slice(nths);
        self
    }

    /// Returns the child numbers, starting at the body of the test.
    pub fn segments(&self) -> &[u32] {
        &self.0
    }

    /// Returns the path of the task that spawned this task; `None` for the body of the test.
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
    /// Returns [`InvalidTaskPath`] unless `s` consists of decimal numbers separated by dots, with 0 as the first
    /// number.
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

/// A place in the user's source, stored by value, so that it can be read from a file. Displayed as `file:line:column`.
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
    /// Creates the place in this file at a line and a column, both counted from 1.
    pub fn new(file: &'static str, line: u32, column: u32) -> Spot {
        Spot { file, line, column }
    }

    /// Returns the file, in the compiler's spelling.
    pub fn file(self) -> &'static str {
        self.file
    }

    /// Returns the line, from 1.
    pub fn line(self) -> u32 {
        self.line
    }

    /// Returns the column, from 1.
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

/// A place in the user's source: file, line and column. Displayed as `file:line:column`.
pub type Place = &'static Location<'static>;
