//! Checks recorded histories: reads files and computes verdicts.
//!
//! Suppose that a system was tested elsewhere, by Jepsen or by your own harness, and the test wrote a file with the
//! calls of its processes and their answers. This crate reads such files and checks them with unpause. A file that once
//! showed a bug becomes a regression test in one line:
//!
//! ```
//! unpause_histories::assert_violated!("../examples/histories/stale.edn", "cas-register");
//! unpause_histories::assert_consistent!("../examples/histories/fresh.edn", "cas-register");
//! ```
//!
//! A third argument names a condition other than linearizability:
//!
//! ```
//! unpause_histories::assert_violated!(
//!     "../examples/histories/write-skew.edn", "list-append", "serializable");
//! unpause_histories::assert_consistent!(
//!     "../examples/histories/write-skew.edn", "list-append", "snapshot-isolation");
//! ```
//!
//! From the shell, `cargo unpause check FILE` does the same.
//!
//! # Formats
//!
//! [`FORMATS`] lists the formats. The simplest format is JSON, with one event per line:
//!
//! ```text
//! {"process": 0, "type": "invoke", "f": "write", "value": 1}
//! {"process": 1, "type": "invoke", "f": "read", "value": null}
//! {"process": 0, "type": "ok", "f": "write", "value": 1}
//! {"process": 1, "type": "ok", "f": "read", "value": 1}
//! ```
//!
//! - The order of the lines is the order in time. A field `time` is ignored.
//! - `type` is `invoke`, then `ok` (took effect, with this result), `fail` (no effect: left out) or `info` (unknown: it
//!   may take effect at any later time, or never). A call without an end counts as `info`.
//! - `f` and `value` must fit the model: see [`models`] and the operations of each model. A field `key` or values
//!   `[key value]` select one of many objects, which are checked separately: see [`Keys`].
//! - A process is an integer. Other events (of Jepsen's nemesis) are notes, which are counted and left out. If no event
//!   of a file has a process, as in the tests of Jepsen's checkers, an answer belongs to the earliest open call that it
//!   fits. Conditions that such a file cannot decide are refused.
//! - The answer `ok` to a call that returns nothing, such as `write`, `enqueue` or `add`, repeats the value of the
//!   call, or is `null`, `true` or `"ok"`. Any other value is an error, because answers were mixed up.
//! - Values are equal if they have the same kind and the same content, and numbers are compared exactly.
//!   [`Datum`](unpause_check::datum::Datum#equality) defines equality. So `1` is not `1.0`, `0.1` is not
//!   `0.10000000000000000001`, and in EDN `"a"` is neither `\a` nor `:a`.
//!
//! EDN has the same fields, with keywords. In EDN, a completed read of `nil` means that the value was not recorded and
//! may be any value, as in Jepsen's checkers. [`Question::nil`] changes that, and [`HistoryFinding::unchecked`] counts
//! such reads.
//!
//! # Conditions
//!
//! [`CONDITIONS`] lists the conditions, and [`Condition::models`] lists the models of a condition:
//!
//! - `linearizable`, `sequential` and `quiescent` are for calls of a model, see [`models`]. Only linearizability holds
//!   for all keys together if it holds for each key alone, so only linearizability is checked key by key. For the other
//!   two conditions, the objects of all keys form one object.
//! - The isolation levels, from `read-uncommitted` to `strict-serializable`, are for transactions. The value of a call
//!   is the list of its micro-operations, for any `f`; the answer has the reads filled in:
//!
//!   ```text
//!   {:process 0, :type :invoke, :f :txn, :value [[:r :x nil] [:append :y 1]]}
//!   {:process 0, :type :ok,     :f :txn, :value [[:r :x [3 4]] [:append :y 1]]}
//!   ```
//!
//!   With `:append`, keys hold lists, and a read returns the whole list (`list-append`). With `:w`, keys hold one value
//!   (`rw-register`). In JSON, a micro-operation is `["append", "y", 1]`. `fail` means aborted, `info` means that the
//!   transaction may have committed, and a read without a value is `nil`. Each value must be written to a key only
//!   once.
//! - `session`, and each of its four guarantees, is for `read` and `write` of registers with or without keys. A process
//!   is a session. Each value must be written to a key only once.
//! - `eventual` is for a replicated set: `add` with an element, and at the end a `final-read` of each replica, which
//!   returns the list or set of all its elements. A `read` after the end of all calls of `add` is accepted instead. The
//!   replica is the number in the field `key`, or else the process. Other reads are not checked.
//!
//! # Refused files
//!
//! A file with an error is refused with line, column and a remedy: see [`Problem`]. A file without client calls is also
//! an error, and not a pass. The depth and size of an event are limited. Memory use is a small multiple of the file
//! size, for any content.
//!
//! # Limits
//!
//! The whole history is in memory while it is checked, in addition to the
//! [`Budget::memory`](unpause_check::Budget::memory) of the search. Engines that take linear time, up to a logarithm,
//! do not call [`Budget::stop`](unpause_check::Budget::stop). Two processes with the same number count as one process.

#![forbid(unsafe_code)]

mod problem;

mod source;

mod event;

mod recording;

mod formats;

mod by_key;

mod one_or_many;

mod history;

mod conditions;

mod finding;

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use unpause_check::picture::Style;
use unpause_check::verdict::Verdict;

pub use by_key::{ByKey, Keyed};
pub use conditions::{CONDITIONS, Condition, Question, condition_named, tree};
pub use finding::HistoryFinding;
pub use formats::{FORMATS, Format, beginning, edn_value, format_named, format_of, read};
pub use history::{Keys, Operations, models, operations, operations_by_key};
pub use problem::{FilePlace, Problem, ProblemKind};
pub use recording::{Answer, Call, Callers, End, Recording};
#[doc(inline)]
pub use unpause_words::closest;

/// Checks that the history in a file is linearizable, for an object of this model.
///
/// For other parameters, such as another initial state, [`read`] the file and use a [`Condition`].
///
/// # Errors
/// If the file cannot be read or is not a history of this model. The error contains the place and the reason.
///
/// ```
/// # std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
/// let checked = unpause_histories::check("../examples/histories/stale.edn", "cas-register")?;
/// assert!(checked.finding.verdict.is_violated());
/// println!("{checked}");
/// # Ok::<(), unpause_histories::FileProblem>(())
/// ```
pub fn check(path: impl AsRef<Path>, model: &str) -> Result<Checked, FileProblem> {
    check_condition(path, model, CONDITIONS[0].name)
}

/// Checks that the history in a file satisfies one of the [`CONDITIONS`], for an object of this model.
///
/// # Errors
/// The same as for [`check`]. Also if there is no such condition, or the condition does not support this model.
///
/// ```
/// # std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
/// use unpause_histories::check_condition;
/// let file = "../examples/histories/stale.edn";
/// // A stale read is not linearizable, but it is sequentially consistent.
/// assert!(check_condition(file, "cas-register", "linearizable")?.finding.verdict.is_violated());
/// assert!(check_condition(file, "cas-register", "sequential")?.finding.verdict.is_consistent());
/// let problem = check_condition(file, "cas-register", "serializable").unwrap_err();
/// assert!(problem.to_string().contains("it is for list-append, rw-register"));
/// # Ok::<(), unpause_histories::FileProblem>(())
/// ```
pub fn check_condition(
    path: impl AsRef<Path>,
    model: &str,
    condition: &str,
) -> Result<Checked, FileProblem> {
    let path = path.as_ref();
    let wrong = |problem| FileProblem { path: path.to_owned(), problem };
    let input_output =
        |error: std::io::Error| Problem::whole(ProblemKind::Io, format!("cannot read it: {error}"));
    let file = File::open(path).map_err(|error| wrong(input_output(error)))?;
    let mut input = BufReader::new(file);
    let beginning = beginning(&mut input).map_err(|error| wrong(input_output(error)))?;
    let format = format_of(&path.to_string_lossy(), &beginning).map_err(wrong)?;
    let recording = read(beginning.chain(input), format).map_err(wrong)?;
    let question = Question { model: Some(model), ..Question::default() };
    let condition = condition_named(condition).map_err(wrong)?;
    let finding = condition.check(&recording, &question).map_err(wrong)?;
    Ok(Checked { path: path.to_owned(), finding })
}

/// A checked file. The `Display` text of a checked file is the verdict with its evidence.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// The result.
    pub finding: HistoryFinding,
}

impl Checked {
    /// # Panics
    /// Panics unless the history is consistent. The message contains the evidence. An undecided history does not count
    /// as consistent.
    #[track_caller]
    pub fn assert_consistent(&self) {
        assert!(self.finding.verdict.is_consistent(), "{self}");
    }

    /// Asserts a violation, for histories of bugs kept as examples.
    ///
    /// # Panics
    /// Panics unless the history is violated. An undecided history does not count as violated.
    #[track_caller]
    pub fn assert_violated(&self) {
        assert!(matches!(self.finding.verdict, Verdict::Violated(_)), "{self}");
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.finding.text(&self.path.to_string_lossy(), &Style::default()))
    }
}

/// A [`Problem`] together with its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileProblem {
    /// The file.
    pub path: PathBuf,
    /// The error in the file.
    pub problem: Problem,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem.place {
            Some(FilePlace { line, column }) => {
                let (path, message) = (self.path.display(), &self.problem.message);
                write!(f, "{path}:{line}:{column}: {message}")
            }
            None => write!(f, "{}: {}", self.path.display(), self.problem),
        }
    }
}

impl std::error::Error for FileProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.problem)
    }
}

/// A regression test of a history file: panics unless the history is linearizable for an object of this model, or
/// satisfies the condition in the third argument. The path is relative to the `Cargo.toml` of the calling crate.
///
/// ```
/// // The whole body of a test:
/// unpause_histories::assert_consistent!("../examples/histories/fresh.edn", "cas-register");
/// // Of another:
/// unpause_histories::assert_consistent!(
///     "../examples/histories/write-skew.edn", "list-append", "snapshot-isolation");
/// ```
#[macro_export]
macro_rules! assert_consistent {
    ($path:expr, $model:expr $(,)?) => {
        $crate::assert_consistent!($path, $model, "linearizable")
    };
    ($path:expr, $model:expr, $condition:expr $(,)?) => {
        $crate::__checked(::core::env!("CARGO_MANIFEST_DIR"), $path, $model, $condition)
            .assert_consistent()
    };
}

/// The counterpart of [`assert_consistent!`] for the history of a bug: panics unless the history violates the
/// condition.
///
/// ```
/// unpause_histories::assert_violated!("../examples/histories/stale.edn", "cas-register");
/// ```
#[macro_export]
macro_rules! assert_violated {
    ($path:expr, $model:expr $(,)?) => {
        $crate::assert_violated!($path, $model, "linearizable")
    };
    ($path:expr, $model:expr, $condition:expr $(,)?) => {
        $crate::__checked(::core::env!("CARGO_MANIFEST_DIR"), $path, $model, $condition)
            .assert_violated()
    };
}

/// For the expansion of the macros: checks a file of a package.
#[doc(hidden)]
#[track_caller]
pub fn __checked(package: &str, path: &str, model: &str, condition: &str) -> Checked {
    match check_condition(Path::new(package).join(path), model, condition) {
        Ok(checked) => checked,
        Err(problem) => panic!("{problem}"),
    }
}
