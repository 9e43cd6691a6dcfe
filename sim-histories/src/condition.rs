//! What a history can be checked for, a row of [`CONDITIONS`] each.

use sim::check::models::{NilRead, Shipped, Visitor, registry};
use sim::check::{Budget, Malformed, Model, linearizable_counted};
use sim::datum::Datum;
use sim::history::Operation;
use sim::verdict::Verdict;

use crate::by_key::ByKey;
use crate::finding::Finding;
use crate::history::{
    Keys, Operations, fitting, is_by_key, model_named, operations, operations_by_key,
};
use crate::problem::{Problem, ProblemKind, not_among};
use crate::recording::Recording;

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct Question<'a> {
    /// The name of the model; if none, that of the only one that the operations fit.
    pub model: Option<&'a str>,
    /// The state before the first operation; if none, what
    /// [`Shipped::recorded`](sim::check::models::Shipped::recorded) says.
    pub initial: Option<Datum>,
    /// Whether there are many objects, told apart by keys.
    pub keys: Keys,
    /// What a read of nil means; if none, what it means in the format of the file.
    pub nil: Option<NilRead>,
    /// How long to search.
    pub budget: Budget<'a>,
}

/// Something that a history can be checked for.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The name it is asked for by; also an adjective in a sentence.
    pub name: &'static str,
    /// One line: what it means.
    pub summary: &'static str,
    check: fn(&Recording, &Question<'_>) -> Result<Finding, Problem>,
}

/// All conditions, the usual one first. To add one that models have, write a `Judge` and its row.
///
/// ```
/// assert_eq!(sim_histories::CONDITIONS[0].name, "linearizable");
/// ```
pub const CONDITIONS: &[Condition] = &[Condition {
    name: "linearizable",
    summary: "each operation takes effect at one moment between its call and its return",
    check: |recording, question| of_model(recording, question, Linearizable),
}];

/// The condition of this name.
///
/// # Errors
/// If there is none; the problem lists those that there are.
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
    /// If the model is not said and not clear, or the recording is not one of its.
    ///
    /// ```
    /// use sim_histories::{CONDITIONS, Question, format_named, read};
    /// let text = "{:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value 3}";
    /// let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
    /// let question = Question { model: Some("register"), ..Question::default() };
    /// let finding = CONDITIONS[0].check(&recording, &question).unwrap();
    /// assert!(finding.verdict.is_violated());
    /// ```
    pub fn check(
        &self,
        recording: &Recording,
        question: &Question<'_>,
    ) -> Result<Finding, Problem> {
        (self.check)(recording, question).map(|finding| Finding { condition: self.name, ..finding })
    }
}

/// A condition that is about histories of any model.
trait Judge {
    /// The verdict, and how many configurations it took.
    fn judge<M: Model>(
        &self,
        initial: &M,
        operations: &[Operation<M::Op, M::Ret>],
        budget: &Budget<'_>,
    ) -> Result<(Verdict, u64), Malformed>;
}

struct Linearizable;

impl Judge for Linearizable {
    fn judge<M: Model>(
        &self,
        initial: &M,
        operations: &[Operation<M::Op, M::Ret>],
        budget: &Budget<'_>,
    ) -> Result<(Verdict, u64), Malformed> {
        linearizable_counted(initial, operations, budget)
    }
}

/// Finds the model and has the judge decide.
fn of_model(
    recording: &Recording,
    question: &Question<'_>,
    judge: impl Judge,
) -> Result<Finding, Problem> {
    let model = match question.model.or(recording.model) {
        Some(model) => model,
        None => guess(recording, question.keys)?,
    };
    model_named(model)?;
    struct Named<'a, 'b, J> {
        model: &'a str,
        recording: &'a Recording,
        question: &'a Question<'b>,
        judge: J,
        finding: Option<Result<Finding, Problem>>,
    }
    impl<J: Judge> Visitor for Named<'_, '_, J> {
        fn visit<M: Shipped>(&mut self) {
            if M::NAME == self.model {
                self.finding = Some(decide::<M>(self.recording, self.question, &self.judge));
            }
        }
    }
    let mut named = Named { model, recording, question, judge, finding: None };
    registry(&mut named);
    named.finding.expect("a model of this name is shipped")
}

fn decide<M: Shipped>(
    recording: &Recording,
    question: &Question<'_>,
    judge: &impl Judge,
) -> Result<Finding, Problem> {
    let about_start = |message: String| {
        let message = format!("the initial state of {}: {message}", M::NAME);
        Problem::whole(ProblemKind::Question, message)
    };
    let initial = M::recorded(question.initial.as_ref()).map_err(about_start)?;
    let nil = question.nil.unwrap_or(recording.nil);
    if is_by_key::<M>(recording, question.keys) {
        let operations = operations_by_key::<M>(recording, nil)?;
        let mut finding = finding(recording, &ByKey::new(initial), operations, question, judge)?;
        finding.by_key = true;
        return Ok(Finding { model: M::NAME, ..finding });
    }
    let finding = finding(recording, &initial, operations::<M>(recording, nil)?, question, judge)?;
    Ok(Finding { model: M::NAME, ..finding })
}

fn finding<M: Model>(
    recording: &Recording,
    initial: &M,
    operations: Operations<M::Op, M::Ret>,
    question: &Question<'_>,
    judge: &impl Judge,
) -> Result<Finding, Problem> {
    let judged = judge.judge(initial, &operations.operations, &question.budget);
    // Times are given out by the readers, one for each event.
    let (verdict, configurations) = judged.expect("a recording is well-formed");
    Ok(Finding::new::<M>(recording, operations, verdict, configurations))
}

/// The one model that the operations fit.
fn guess(recording: &Recording, keys: Keys) -> Result<&'static str, Problem> {
    let fitting = fitting(recording, keys);
    let mut names: Vec<&str> = recording.calls.iter().map(|call| &*call.f).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(12);
    let names: Vec<String> = names.iter().map(|name| name.chars().take(30).collect()).collect();
    let names = names.join(", ");
    let message = match &fitting[..] {
        [one] => return Ok(one),
        [] => {
            let all: Vec<&str> = crate::history::models().iter().map(|(name, _)| *name).collect();
            format!(
                "no model has all operations of this history ({names}) with such values; say which \
                 is meant, to be told what does not fit: one of {}",
                all.join(", ")
            )
        }
        several => format!(
            "several models have the operations of this history ({names}); say which is meant: \
             one of {}",
            several.join(", ")
        ),
    };
    Err(Problem::whole(ProblemKind::Question, message))
}
