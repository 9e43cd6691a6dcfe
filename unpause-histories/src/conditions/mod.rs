//! The conditions for histories: one row of [`CONDITIONS`] per condition, one file per family.

mod eventual;
mod models;
mod session;
mod transactions;

use unpause_check::Budget;
use unpause_check::datum::Datum;
use unpause_check::models::NilRead;
use unpause_check::session::Guarantee;
use unpause_check::transactions::Level;

use self::models::Judge;
pub use self::models::tree;
use crate::finding::HistoryFinding;
use crate::history::{self, Keys};
use crate::problem::{Problem, ProblemKind, not_among};
use crate::recording::{Callers, Recording};

/// The parameters of a check.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    /// The name of the model, contained in [`Condition::models`]; if `None`, the only model whose operations match.
    pub model: Option<&'a str>,
    /// The state before the first operation; if `None`, the state given by
    /// [`RegisteredModel::recorded`](unpause_check::models::RegisteredModel::recorded).
    pub initial: Option<Datum>,
    /// One object for all calls, or one object for each key.
    pub keys: Keys,
    /// The meaning of a read of nil; if `None`, the meaning defined by the file format.
    pub nil: Option<NilRead>,
    /// The budget of the search.
    pub budget: Budget<'a>,
    /// The number of threads for the search; 0 counts as 1. The verdict and the evidence do not depend on the number of
    /// threads. Used only if a history is split by key.
    pub threads: usize,
    /// `true` if the finding must contain the texts of all operations. If it is `false`, the finding contains only the
    /// texts of the operations that the evidence shows, because all texts of a long history need much memory.
    pub all_texts: bool,
}

/// A condition for which a history can be checked.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The name of the condition.
    pub name: &'static str,
    /// The meaning of the condition, in one line.
    pub summary: &'static str,
    /// The property of a history that satisfies the condition, for use in a sentence: an adjective, or `with` and a
    /// noun.
    pub(crate) phrase: &'static str,
    family: Family,
}

/// The kinds of histories, each with its check.
#[derive(Clone, Copy, Debug)]
enum Family {
    /// Calls on an object of any model.
    Models(Judge),
    /// Transactions.
    Transactions(Level),
    /// Reads and writes of registers.
    Sessions(&'static [Guarantee]),
    /// Additions to a replicated set, and reads of its replicas.
    Replicas,
}

const fn row(
    name: &'static str,
    phrase: &'static str,
    summary: &'static str,
    family: Family,
) -> Condition {
    Condition { name, summary, phrase, family }
}

/// All conditions, the usual one first. To add a condition for models, write its variant of `Judge` and its row.
///
/// ```
/// use unpause_histories::CONDITIONS;
/// assert_eq!(CONDITIONS[0].name, "linearizable");
/// assert!(CONDITIONS.iter().any(|condition| condition.name == "strict-serializable"));
/// ```
// A static, because the code behind a constant with function pointers would be compiled again in each crate that uses
// the constant.
pub static CONDITIONS: &[Condition] = &[
    row(
        "linearizable",
        "linearizable",
        "each operation takes effect at one moment from call to return",
        Family::Models(Judge::Linearizable),
    ),
    row(
        "sequential",
        "sequentially consistent",
        "one order of all operations that keeps the order of each process",
        Family::Models(Judge::Sequential),
    ),
    row(
        "quiescent",
        "quiescently consistent",
        "one order of all operations that keeps that across moments of rest",
        Family::Models(Judge::Quiescent),
    ),
    row(
        "strict-serializable",
        "strict serializable",
        "transactions: a serial order that keeps real time",
        Family::Transactions(Level::StrictSerializable),
    ),
    row(
        "strong-session-serializable",
        "strong session serializable",
        "transactions: a serial order that keeps the order of each process",
        Family::Transactions(Level::StrongSessionSerializable),
    ),
    row(
        "serializable",
        "serializable",
        "transactions: a serial order",
        Family::Transactions(Level::Serializable),
    ),
    row(
        "snapshot-isolation",
        "with snapshot isolation",
        "transactions: reads from one snapshot; one of two writers of a key",
        Family::Transactions(Level::SnapshotIsolation),
    ),
    row(
        "read-committed",
        "read committed",
        "transactions: reads see final writes of what committed, no others",
        Family::Transactions(Level::ReadCommitted),
    ),
    row(
        "read-uncommitted",
        "read uncommitted",
        "transactions: writes of two are not mixed",
        Family::Transactions(Level::ReadUncommitted),
    ),
    row(
        "session",
        "with session guarantees",
        "registers: the guarantees below and monotonic writes, all at once",
        Family::Sessions(&Guarantee::ALL),
    ),
    row(
        "read-your-writes",
        "with read your writes",
        "registers: who wrote a version then reads that or a later one",
        Family::Sessions(&[Guarantee::ReadYourWrites]),
    ),
    row(
        "monotonic-reads",
        "with monotonic reads",
        "registers: who read a version then reads that or a later one",
        Family::Sessions(&[Guarantee::MonotonicReads]),
    ),
    row(
        "writes-follow-reads",
        "with writes follow reads",
        "registers: who read a version then writes a later one",
        Family::Sessions(&[Guarantee::WritesFollowReads]),
    ),
    row(
        "eventual",
        "eventually consistent",
        "a replicated set: in the end all replicas hold all that was added",
        Family::Replicas,
    ),
];

/// Returns the condition with this name.
///
/// # Errors
/// If there is no such condition; the problem lists the existing conditions.
pub fn condition_named(name: &str) -> Result<&'static Condition, Problem> {
    CONDITIONS.iter().find(|condition| condition.name == name).ok_or_else(|| {
        let names: Vec<&str> = CONDITIONS.iter().map(|condition| condition.name).collect();
        let message = format!("there is no condition {}", not_among(name, "there are", &names));
        Problem::whole(ProblemKind::Question, message)
    })
}

impl Condition {
    /// Checks a recording.
    ///
    /// # Errors
    /// If the model is neither given nor clear, if the recording does not fit the model, or if the question has a
    /// parameter that this condition does not support.
    ///
    /// ```
    /// use unpause_histories::{CONDITIONS, Question, format_named, read};
    /// let text = "{:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value 3}";
    /// let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
    /// let question = Question { model: Some("register"), ..Question::default() };
    /// let finding = CONDITIONS[0].check(&recording, &question).unwrap();
    /// assert!(finding.verdict.is_violated());
    /// ```
    ///
    /// A transaction needs no model:
    ///
    /// ```
    /// use unpause_histories::{Question, condition_named, format_named, read};
    /// // Each reads before the other appends.
    /// let text = r#"
    ///     {"process": 0, "type": "invoke", "f": "txn", "value": [["r", "x", null], ["append", "y", 1]]}
    ///     {"process": 1, "type": "invoke", "f": "txn", "value": [["r", "y", null], ["append", "x", 2]]}
    ///     {"process": 0, "type": "ok", "f": "txn", "value": [["r", "x", []], ["append", "y", 1]]}
    ///     {"process": 1, "type": "ok", "f": "txn", "value": [["r", "y", []], ["append", "x", 2]]}
    /// "#;
    /// let recording = read(text.as_bytes(), format_named("json").unwrap()).unwrap();
    /// let verdict = |condition| {
    ///     let condition = condition_named(condition).unwrap();
    ///     condition.check(&recording, &Question::default()).unwrap().verdict
    /// };
    /// assert!(verdict("snapshot-isolation").is_consistent());
    /// assert!(verdict("serializable").is_violated());
    /// ```
    pub fn check(
        &self,
        recording: &Recording,
        question: &Question<'_>,
    ) -> Result<HistoryFinding, Problem> {
        if let Some(model) = question.model {
            self.model_named(model)?;
        }
        self.check_callers(recording)?;
        let finding = match self.family {
            Family::Models(judge) => models::check(recording, question, judge),
            Family::Transactions(level) => transactions::check(recording, question, level),
            Family::Sessions(guarantees) => session::check(recording, question, guarantees),
            Family::Replicas => eventual::check(recording, question),
        };
        finding.map(|mut finding| {
            finding.condition = self.name;
            finding.naming.phrase = self.phrase;
            finding
        })
    }

    /// Refuses a recording without client names, if this condition depends on clients.
    fn check_callers(&self, recording: &Recording) -> Result<(), Problem> {
        let Callers::Unnamed { ambiguous } = recording.callers else {
            return Ok(());
        };
        let (about_processes, about_time) = match self.family {
            Family::Models(_) => (self.name == "sequential", true),
            Family::Transactions(Level::StrongSessionSerializable) => (true, true),
            Family::Transactions(level) => (false, level == Level::StrictSerializable),
            Family::Sessions(_) | Family::Replicas => (true, true),
        };
        let without = "this history does not say which process made a call (the field process)";
        if about_processes {
            let message =
                format!("{without}, and {} is about the order of each process", self.name);
            return Err(Problem::whole(ProblemKind::Event, message));
        }
        match ambiguous.filter(|_| about_time) {
            Some(place) => {
                let message = format!(
                    "{without}, and two open calls could have got this answer, so times are not known; \
                     {} is about real time, and serializable is not",
                    self.name
                );
                Err(Problem::at(place, ProblemKind::Order, message))
            }
            None => Ok(()),
        }
    }

    /// Returns the models for this condition, for [`Question::model`]: each with its name and a one-line summary.
    ///
    /// ```
    /// let serializable = unpause_histories::condition_named("serializable").unwrap();
    /// let names: Vec<&str> = serializable.models().iter().map(|(name, _)| *name).collect();
    /// assert_eq!(names, ["list-append", "rw-register"]);
    /// ```
    pub fn models(&self) -> Vec<(&'static str, &'static str)> {
        match self.family {
            Family::Models(_) => history::models(),
            Family::Transactions(_) => transactions::WORKLOADS.to_vec(),
            Family::Sessions(_) => vec![("register", "read, write; with or without keys")],
            Family::Replicas => vec![("grow-set", "add, and read or final-read of each replica")],
        }
    }

    /// Checks that `model` is contained in [`models`](Condition::models).
    ///
    /// # Errors
    /// If the model is not contained; the problem names the condition of the model, or lists the models.
    pub fn model_named(&self, model: &str) -> Result<(), Problem> {
        let has = |condition: &Condition| condition.models().iter().any(|(name, _)| *name == model);
        if has(self) {
            return Ok(());
        }
        let names: Vec<&str> = self.models().iter().map(|(name, _)| *name).collect();
        let message = match CONDITIONS.iter().find(|condition| has(condition)) {
            None => {
                let given = not_among(model, "there are", &names);
                format!("there is no model {given} (for the condition {})", self.name)
            }
            Some(other) => format!(
                "the condition {} is not for {model}: it is for {}. {model} goes with {}",
                self.name,
                names.join(", "),
                match other.family {
                    Family::Transactions(_) =>
                        "the levels from read-uncommitted to \
                                                strict-serializable",
                    _ => other.name,
                }
            ),
        };
        Err(Problem::whole(ProblemKind::Question, message))
    }
}

/// Refuses parameters of a question that a condition does not support.
fn refuse(asked: bool, option: &str, why: &str) -> Result<(), Problem> {
    if !asked {
        return Ok(());
    }
    Err(Problem::whole(ProblemKind::Question, format!("{option} makes no sense here: {why}")))
}
