//! Conditions for histories of any model: a history satisfies them if an order of its operations explains it.

use unpause_check::history::Operation;
use unpause_check::models::{NilRead, RegisteredModel, Visitor, registry};
use unpause_check::verdict::Verdict;
use unpause_check::{
    Forest, Malformed, MalformedKind, Model, explained_by_failed, forest, linearizable_parallel,
    quiescent, sequential,
};

use super::Question;
use crate::by_key::ByKey;
use crate::finding::{HistoryFinding, Naming};
use crate::history::{
    Keys, Operations, fitting, is_by_key, model_named, operations, operations_by_key,
};
use crate::one_or_many::{ObjectOp, OneOrMany};
use crate::problem::{Problem, ProblemKind};
use crate::recording::Recording;

/// A condition for histories of any model. An enum instead of a trait, because with a trait the code below would be
/// compiled again for each model and each condition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Judge {
    Linearizable,
    Sequential,
    Quiescent,
}

impl Judge {
    /// Returns `true` if the condition may be checked key by key. A condition that is not local (Herlihy and Wing 1990)
    /// must not be checked this way.
    fn is_local(self) -> bool {
        match self {
            Judge::Linearizable => true,
            Judge::Sequential | Judge::Quiescent => false,
        }
    }

    /// Returns the verdict, and the number of configurations if known.
    fn judge<M: Model<Op: Sync, Ret: Sync> + Sync>(
        self,
        initial: &M,
        operations: &[Operation<M::Op, M::Ret>],
        question: &Question<'_>,
    ) -> Result<(Verdict, Option<u64>), Malformed> {
        let Question { budget, threads, .. } = question;
        match self {
            Judge::Linearizable => {
                let found = linearizable_parallel(initial, operations, budget, *threads);
                found.map(|(verdict, nodes)| (verdict, Some(nodes)))
            }
            Judge::Sequential => {
                sequential(initial, operations, budget).map(|verdict| (verdict, None))
            }
            Judge::Quiescent => {
                quiescent(initial, operations, budget).map(|verdict| (verdict, None))
            }
        }
    }
}

/// Finds the model, and checks the recording.
pub(super) fn check(
    recording: &Recording,
    question: &Question<'_>,
    judge: Judge,
) -> Result<HistoryFinding, Problem> {
    struct Judged(Judge);
    impl OperationsUse for Judged {
        type Out = HistoryFinding;
        fn apply<M: Model<Op: Sync, Ret: Sync> + Sync>(
            &self,
            as_a: Interpretation<'_>,
            initial: &M,
            operations: Operations<M::Op, M::Ret>,
            question: &Question<'_>,
        ) -> Result<HistoryFinding, Problem> {
            let recording = as_a.recording;
            let (verdict, configurations) = self
                .0
                .judge(initial, &operations.operations, question)
                .map_err(|malformed| misplaced(malformed, &operations.calls, recording))?;
            let keys = match (as_a.by_key, self.0.is_local()) {
                (false, _) => "",
                (true, true) => ", by key",
                (true, false) => " for each key, taken together",
            };
            let what = format!("{}{keys}", as_a.model);
            let all_texts = question.all_texts;
            let naming = Naming { model: as_a.model, what, all_texts, ..Naming::default() };
            let texts = |_: usize, operation: &Operation<M::Op, M::Ret>| {
                let told = operation.returned.as_ref().map(|(ret, _)| M::ret_text(ret));
                (M::op_text(&operation.op), told)
            };
            let Operations { operations, calls, failed, failed_calls, unchecked } = operations;
            let explains = match &verdict {
                Verdict::Violated(evidence) => {
                    explained_by_failed(initial, &operations, &failed, evidence)
                }
                Verdict::Consistent(_) | Verdict::Unknown(_) => None,
            };
            let mut finding =
                HistoryFinding::new(recording, &operations, &calls, verdict, naming, texts);
            if let Some(index) = explains {
                let (call, op) = (failed_calls[index] as usize, M::op_text(&failed[index].op));
                finding = finding.explained_by(recording, call, &op);
            }
            Ok(HistoryFinding { configurations, unchecked, by_key: as_a.by_key, ..finding })
        }
    }
    with_model(recording, question, &Judged(judge))
}

/// Returns all sequential executions of a small recording, as a tree.
///
/// # Errors
/// The errors of [`Condition::check`](super::Condition::check) for linearizability. Also an error if the tree has more
/// than `limit` branches.
///
/// ```
/// use unpause_histories::{Question, format_named, read, tree};
/// let text = "{:process 4 :type :invoke :f :read} {:process 4 :type :ok :f :read :value 3}";
/// let recording = read(text.as_bytes(), format_named("edn").unwrap()).unwrap();
/// let question = Question { model: Some("register"), ..Question::default() };
/// assert_eq!(tree(&recording, &question, 100).unwrap().to_string(), "\
/// nil
/// └─ client 4: Read ✗ returned 3, should have been nil
/// no order explains the history
/// ");
/// ```
pub fn tree(
    recording: &Recording,
    question: &Question<'_>,
    limit: usize,
) -> Result<Forest, Problem> {
    struct Grown(usize);
    impl OperationsUse for Grown {
        type Out = Forest;
        fn apply<M: Model<Op: Sync, Ret: Sync> + Sync>(
            &self,
            as_a: Interpretation<'_>,
            initial: &M,
            mut operations: Operations<M::Op, M::Ret>,
            _question: &Question<'_>,
        ) -> Result<Forest, Problem> {
            let count = operations.operations.len();
            let too_large = |what: String| {
                let message = format!(
                    "this history is too large for a tree: {what}. A tree is for about eight \
                     operations; keep those on the lines that the verdict names in a file of their own"
                );
                Err(Problem::whole(ProblemKind::Question, message))
            };
            // A longer history is refused, because a single order already exceeds the limit.
            if count > self.0 {
                return too_large(format!("it has {count} operations"));
            }
            // The tree names clients by their client numbers.
            let clients = as_a.recording.client_numbers();
            for operation in &mut operations.operations {
                operation.client = clients[operation.client as usize];
            }
            let grown = forest(initial, &operations.operations, self.0)
                .map_err(|malformed| misplaced(malformed, &operations.calls, as_a.recording))?;
            if grown.is_cut {
                return too_large(format!(
                    "its {count} operations have more than {} branches",
                    self.0
                ));
            }
            Ok(grown)
        }
    }
    with_model(recording, question, &Grown(limit))
}

/// A use of a recording as the operations of a model.
trait OperationsUse {
    type Out;

    fn apply<M: Model<Op: Sync, Ret: Sync> + Sync>(
        &self,
        as_a: Interpretation<'_>,
        initial: &M,
        operations: Operations<M::Op, M::Ret>,
        question: &Question<'_>,
    ) -> Result<Self::Out, Problem>;
}

/// A recording interpreted as operations of a model.
struct Interpretation<'a> {
    recording: &'a Recording,
    model: &'static str,
    by_key: bool,
}

fn with_model<U: OperationsUse>(
    recording: &Recording,
    question: &Question<'_>,
    used: &U,
) -> Result<U::Out, Problem> {
    let model = match question.model.or(recording.model) {
        Some(model) => model,
        None => guess(recording, question.keys, question.nil.unwrap_or(recording.nil))?,
    };
    model_named(model)?;
    struct Named<'a, 'b, U: OperationsUse> {
        model: &'a str,
        recording: &'a Recording,
        question: &'a Question<'b>,
        used: &'a U,
        out: Option<Result<U::Out, Problem>>,
    }
    impl<U: OperationsUse> Visitor for Named<'_, '_, U> {
        fn visit<M: RegisteredModel>(&mut self) {
            if M::NAME == self.model {
                self.out = Some(of_model::<M, U>(self.recording, self.question, self.used));
            }
        }
    }
    let mut named = Named { model, recording, question, used, out: None };
    registry(&mut named);
    named.out.expect("a model of this name is shipped")
}

fn of_model<M: RegisteredModel, U: OperationsUse>(
    recording: &Recording,
    question: &Question<'_>,
    used: &U,
) -> Result<U::Out, Problem> {
    let about_start = |message: String| {
        let message = format!("the initial state of {}: {message}", M::NAME);
        Problem::whole(ProblemKind::Question, message)
    };
    let initial = M::recorded(question.initial.as_ref()).map_err(about_start)?;
    let nil = question.nil.unwrap_or(recording.nil);
    let by_key = is_by_key::<M>(recording, question.keys);
    let as_a = Interpretation { recording, model: M::NAME, by_key };
    let (object, operations) = if by_key {
        let operations = operations_by_key::<M>(recording, nil)?.map(ObjectOp::OfKey);
        (OneOrMany::Many(ByKey::new(initial)), operations)
    } else {
        (OneOrMany::One(initial), operations::<M>(recording, nil)?.map(ObjectOp::Of))
    };
    used.apply(as_a, &object, operations, question)
}

/// Returns the error in the order of events, with its place in the file.
fn misplaced(malformed: Malformed, calls: &[u32], recording: &Recording) -> Problem {
    let call = |operation: usize| &recording.calls[calls[operation] as usize];
    let place = call(malformed.operation).place;
    let message = match malformed.kind {
        MalformedKind::ClientOverlaps { other, .. } => {
            let other = call(other);
            format!(
                "process {} goes on, and its {} of line {} has no answer: what comes after what in a \
                 process counts here, so give it another number from here on",
                recording.processes[other.client as usize], other.f, other.place.line
            )
        }
        // The readers give each event a distinct time, so no other kind occurs.
        _ => malformed.to_string(),
    };
    Problem::at(place, ProblemKind::Order, message)
}

/// Returns the only model that the operations fit.
fn guess(recording: &Recording, keys: Keys, nil: NilRead) -> Result<&'static str, Problem> {
    if recording.calls.is_empty() {
        let message =
            "there is no call in this history, so any model would do and nothing is shown";
        return Err(Problem::whole(ProblemKind::Event, message));
    }
    let fitting = fitting(recording, keys, nil);
    let is_transactions = super::transactions::looks_like(recording);
    let mut names: Vec<&str> = recording.calls.iter().map(|call| &*call.f).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(12);
    let names: Vec<String> = names.iter().map(|name| name.chars().take(30).collect()).collect();
    let names = names.join(", ");
    let message = match &fitting[..] {
        // A register that holds such lists also has these operations.
        [one] if *one == "multi-register" || !is_transactions => return Ok(one),
        _ if is_transactions => {
            "these are transactions, and no model of a single object: ask for one of the conditions \
             of transactions, such as strict-serializable, serializable or snapshot-isolation \
             (--condition)"
                .to_owned()
        }
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
