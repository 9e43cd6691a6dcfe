//! porcupine-rs with our models, through an adapter. It searches depth first, with a memo, and by
//! key.

use std::collections::HashMap;
use std::time::Duration;

use porcupine_rs::{CheckResult, Model, Operation, check_operations, check_operations_timeout};

use super::child::SECONDS_MAX;
use super::contestant::{Answer, Check, Contestant, Turns, with_histories};
use super::history::{History, Subject};

pub(super) const PEER: Contestant = Contestant {
    name: "porcupine-rs",
    title: "porcupine-rs 0.3",
    takes: |_| true,
    check: |case, turns| with_histories(case, &mut Peer { turns }),
};

struct Peer<'a> {
    turns: &'a mut Turns,
}

impl Check for Peer<'_> {
    fn check<M: Subject>(&mut self, histories: &[History<M>]) {
        let prepare = |it: &History<M>| (convert(it), it.expected);
        let prepared: Vec<_> = histories.iter().map(prepare).collect();
        self.turns.measure(&prepared, false, |history| {
            // Without a time limit, the peer is faster for histories of one part. The process has
            // its own time limit.
            let parts = M::partition(&histories[0].operations[0].op).is_some();
            let result = if parts {
                check_operations_timeout::<Adapter<M>>(
                    history,
                    Duration::from_secs(2 * SECONDS_MAX),
                )
            } else if check_operations::<Adapter<M>>(history) {
                CheckResult::Ok
            } else {
                CheckResult::Illegal
            };
            let answer = match result {
                CheckResult::Unknown => Answer::Unknown,
                known => Answer::Decided(known == CheckResult::Ok, String::new()),
            };
            (answer, 0)
        });
    }
}

/// Implements the peer's model trait for our model.
struct Adapter<M>(std::marker::PhantomData<M>);

impl<M> Clone for Adapter<M> {
    fn clone(&self) -> Self {
        Adapter(std::marker::PhantomData)
    }
}

/// An operation and its result, if it returned.
type Call<M> = (<M as sim::check::Model>::Op, Option<<M as sim::check::Model>::Ret>);

impl<M: Subject> Model for Adapter<M> {
    type State = M;
    type Op = Call<M>;
    type Metadata = ();

    fn partition_operations(history: &[Operation<Self>]) -> Vec<Vec<Operation<Self>>> {
        let mut parts: Vec<Vec<Operation<Self>>> = Vec::new();
        let mut part_of = HashMap::new();
        for operation in history {
            let Some(key) = M::partition(&operation.op.0) else {
                return vec![history.to_vec()];
            };
            let part = *part_of.entry(key).or_insert(parts.len());
            if part == parts.len() {
                parts.push(Vec::new());
            }
            parts[part].push(operation.clone());
        }
        parts
    }

    fn init() -> M {
        M::start()
    }

    fn step(state: &M, (op, ret): &Call<M>) -> (bool, M) {
        let mut next = state.clone();
        let expected = next.step(op);
        let fits = ret.as_ref().is_none_or(|actual| M::accepts(op, &expected, actual));
        (fits, next)
    }
}

/// Converts a history. An operation that never returned gets a return after all others, with any
/// result.
fn convert<M: Subject>(history: &History<M>) -> Vec<Operation<Adapter<M>>> {
    let call = |it: &sim::check::history::Operation<M::Op, M::Ret>| Operation {
        client_id: Some(it.client),
        call_time: it.invoked as i64,
        return_time: it.returned.as_ref().map_or(i64::MAX, |(_, time)| *time as i64),
        op: (it.op.clone(), it.returned.as_ref().map(|(ret, _)| ret.clone())),
        metadata: None,
    };
    history.operations.iter().map(call).collect()
}
