//! stateright's tester of linearizability, which tries every order without a memo.

use stateright::semantics::{ConsistencyTester, LinearizabilityTester, SequentialSpec};

use super::contestant::{Answer, Check, Contestant, Turns, with_histories};
use super::history::{History, Subject};

/// The tester copies the rest of the history at every step. This takes memory quadratic in the
/// length, so it is not measured on longer histories.
pub(super) const PEER: Contestant = Contestant {
    name: "stateright",
    title: "stateright 0.31",
    takes: |case| case.operations <= 1_000,
    check: |case, turns| with_histories(case, &mut Peer { turns }),
};

struct Peer<'a> {
    turns: &'a mut Turns,
}

impl Check for Peer<'_> {
    fn check<M: Subject>(&mut self, histories: &[History<M>]) {
        let prepare = |it: &History<M>| (tester(it), it.expected);
        let prepared: Vec<_> = histories.iter().map(prepare).collect();
        self.turns.measure(&prepared, false, |tester| {
            (Answer::Decided(tester.serialized_history().is_some(), String::new()), 0)
        });
    }
}

/// Implements the peer's reference object for our model.
#[derive(Clone)]
struct Adapter<M>(M);

impl<M: Subject> SequentialSpec for Adapter<M> {
    type Op = M::Op;
    type Ret = M::Ret;

    fn invoke(&mut self, op: &M::Op) -> M::Ret {
        self.0.step(op)
    }

    fn is_valid_step(&mut self, op: &M::Op, ret: &M::Ret) -> bool {
        M::accepts(op, &self.0.step(op), ret)
    }
}

fn tester<M: Subject>(history: &History<M>) -> LinearizabilityTester<u32, Adapter<M>> {
    let mut events = Vec::new();
    for (index, call) in history.operations.iter().enumerate() {
        events.push((call.invoked, index, false));
        events.extend(call.returned.as_ref().map(|(_, time)| (*time, index, true)));
    }
    events.sort_unstable();
    let mut tester = LinearizabilityTester::new(Adapter(M::start()));
    for (_, index, is_return) in events {
        let call = &history.operations[index];
        let taken = match &call.returned {
            Some((ret, _)) if is_return => tester.on_return(call.client, ret.clone()),
            _ => tester.on_invoke(call.client, call.op.clone()),
        };
        taken.expect("well-formed");
    }
    tester
}
