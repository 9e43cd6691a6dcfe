//! Our online checker, which receives event by event.

use sim::check::Model;
use sim::check::online::{ClientEvent, Online};
use sim::check::verdict::Verdict;

use super::case::Case;
use super::contestant::{Answer, Check, Contestant, Turns, with_histories};
use super::history::{History, Subject};

/// The online checker with its default limit on possibilities.
pub(super) const ONLINE: Contestant = Contestant {
    name: "ours-online",
    title: "online",
    takes: |_| true,
    check: |case, turns| with_histories(case, &mut Feed { turns, by_key: by_key(case) }),
};

fn by_key(case: &Case) -> bool {
    matches!(case.workload.name(), "kv" | "set")
}

struct Feed<'a> {
    turns: &'a mut Turns,
    by_key: bool,
}

impl Check for Feed<'_> {
    fn check<M: Subject>(&mut self, histories: &[History<M>]) {
        let prepare = |it: &History<M>| (events(it), it.expected);
        let prepared: Vec<_> = histories.iter().map(prepare).collect();
        self.turns.measure(&prepared, false, |events| {
            let start = M::start();
            let mut online = if self.by_key { Online::by_key(start) } else { Online::new(start) };
            for event in events {
                let _ = online.feed(event.clone()).expect("well-formed");
                if online.decided_at().is_some() {
                    break;
                }
            }
            let answer = match online.finish() {
                Verdict::Consistent(witness) => Answer::Decided(true, witness.engine),
                Verdict::Violated(evidence) => Answer::Decided(false, evidence.engine),
                Verdict::Unknown(_) => Answer::Unknown,
            };
            (answer, 0)
        });
    }
}

/// Returns the events by time. An operation that never returned is reported as lost at once.
fn events<M: Model>(history: &History<M>) -> Vec<ClientEvent<M::Op, M::Ret>> {
    let mut events = Vec::new();
    for call in &history.operations {
        let client = call.client;
        events.push((call.invoked, ClientEvent::Invoke { client, op: call.op.clone() }));
        match &call.returned {
            Some((ret, time)) => {
                events.push((*time, ClientEvent::Return { client, ret: ret.clone() }));
            }
            None => events.push((call.invoked, ClientEvent::Lost { client })),
        }
    }
    events.sort_by_key(|(time, _)| *time);
    events.into_iter().map(|(_, event)| event).collect()
}
