//! Tests an engine on histories of a few operations, and compares it with a brute-force decision.
//!
//! The tests also check the proof of a verdict: an order must be correct, and the core of a contradiction must be a
//! contradiction by itself. This file uses neither intervals nor the code of an engine. The environment variable
//! `UNPAUSE_LONG` increases the length and the number of histories.

use super::{Action, Core, Plain, PlainObject, Ruling, Span, Values, decide};
use crate::long;

/// The number of verdicts of each kind.
#[derive(Default, Debug)]
pub(super) struct TrialTally {
    linearizable: u32,
    violated: u32,
    not_mine: u32,
    longest_core: usize,
}

impl TrialTally {
    /// Asserts that the engine decided at least this share of the histories, and that each verdict occurred more than
    /// 100 times.
    #[track_caller]
    pub(super) fn assert_decided(&self, share: f64) {
        println!("{self:?}");
        let decided = f64::from(self.linearizable + self.violated);
        assert!(decided >= share * (decided + f64::from(self.not_mine)), "{self:?}");
        assert!(self.linearizable > 100 && self.violated > 100, "{self:?}");
    }

    /// Runs the engine on one history and checks its ruling.
    fn judge(&mut self, plain: &Plain, spans: &[Span]) {
        let plain = &numbered(plain);
        let all: Vec<u32> = (0..spans.len() as u32).collect();
        let ruling = decide(plain, spans);
        let expected = explicable(plain, spans, &all);
        let fault = match &ruling {
            Ruling::NotMine => {
                self.not_mine += 1;
                None
            }
            Ruling::Linearizable(order) => {
                self.linearizable += 1;
                let order = order.as_ref().map(|order| order_fault(plain, spans, order));
                if expected { order.flatten() } else { Some("it is not".to_owned()) }
            }
            Ruling::Violated(core) => {
                self.violated += 1;
                self.longest_core = self.longest_core.max(core.operations.len());
                if expected { Some("it is not".to_owned()) } else { core_fault(plain, spans, core) }
            }
        };
        assert!(fault.is_none(), "{}\n{ruling:?}\n{plain:?}\n{spans:?}", fault.unwrap());
    }
}

/// Tests every history of fewer than `count` operations by 3 clients, over these actions for operations with and
/// without a return. For histories of `count` operations, tests every third shape, or every shape in long tests. No
/// value is added or taken twice.
pub(super) fn every(
    object: PlainObject,
    initial: &[u32],
    count: usize,
    letters: &[Action],
    pending: &[Action],
) -> TrialTally {
    let mut tally = TrialTally::default();
    let longest = count + usize::from(long());
    for count in 0..=longest {
        let every = if count < longest || long() { 1 } else { 3 };
        for spans in shapes(count, 3).into_iter().step_by(every) {
            let actions = Vec::with_capacity(count);
            let mut plain = Plain { object, initial: initial.to_vec(), actions };
            label(&mut plain, &spans, [letters, pending], &mut |plain| tally.judge(plain, &spans));
        }
    }
    tally
}

fn label(
    plain: &mut Plain,
    spans: &[Span],
    letters: [&[Action]; 2],
    found: &mut dyn FnMut(&Plain),
) {
    let Some(span) = spans.get(plain.actions.len()) else {
        return found(plain);
    };
    for letter in letters[usize::from(span.returned == u64::MAX)] {
        if !repeats(plain, letter) {
            plain.actions.push(*letter);
            label(plain, spans, letters, found);
            plain.actions.pop();
        }
    }
}

/// Returns `true` if the action adds or takes a value that was already added or taken.
fn repeats(plain: &Plain, action: &Action) -> bool {
    use Action::*;
    plain.actions.iter().any(|known| match (known, action) {
        (Add(a) | Swap(_, a), Add(b) | Swap(_, b)) | (Take(a), Take(b)) => a == b,
        _ => false,
    })
}

/// Returns the same history with values numbered from 0, in the numbering of a model.
fn numbered(plain: &Plain) -> Plain {
    use Action::*;
    let mut values = Values::default();
    let initial = plain.initial.iter().map(|value| values.number(value)).collect();
    let action = |action: &Action| match action {
        Add(value) => Add(values.number(value)),
        Take(value) => Take(values.number(value)),
        Peek(value) => Peek(values.number(value)),
        Absent(value) => Absent(values.number(value)),
        Swap(old, new) => Swap(values.number(old), values.number(new)),
        other => *other,
    };
    Plain { object: plain.object, initial, actions: plain.actions.iter().map(action).collect() }
}

/// Tests random histories of up to 7 operations over such actions. In most histories, operations that add tend to come
/// first, so many histories are linearizable.
pub(super) fn random(
    object: PlainObject,
    initial: &[u32],
    letters: &[Action],
    pending: &[Action],
) -> TrialTally {
    let mut tally = TrialTally::default();
    let mut state = 1u64;
    let mut below = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % bound as u64) as usize
    };
    for _ in 0..if long() { 1_000_000 } else { 10_000 } {
        let count = 2 + below(6);
        let mut times: Vec<u64> = (0..2 * count as u64).collect();
        // Shuffled slightly or completely, so operations are short or long.
        let reach = [2, 4, 2 * count][below(3)];
        for place in 0..times.len() {
            let other = (place + below(reach)).min(times.len() - 1);
            times.swap(place, other);
        }
        let mut spans: Vec<Span> = (0..count)
            .map(|op| (times[2 * op], times[2 * op + 1]))
            .map(|(a, b)| Span { invoked: a.min(b), returned: a.max(b) })
            .collect();
        let mut plain = Plain { object, initial: initial.to_vec(), actions: Vec::new() };
        for span in &mut spans {
            let never_returns = below(6) == 0;
            let from = if never_returns { pending } else { letters };
            let near = (plain.actions.len() * letters.len() / count, below(letters.len()));
            let fits = |letter: &Action| !repeats(&plain, letter);
            let place = if below(2) == 0 { near.0 } else { near.1 };
            let mut picks = (0..from.len()).map(|step| from[(place + step) % from.len()]);
            let Some(letter) = picks.find(fits) else {
                break;
            };
            if never_returns {
                span.returned = u64::MAX;
            }
            plain.actions.push(letter);
        }
        spans.truncate(plain.actions.len());
        tally.judge(&plain, &spans);
    }
    tally
}

/// Returns all spans of histories of `count` operations, in the order of their invocations.
fn shapes(count: usize, clients: usize) -> Vec<Vec<Span>> {
    fn extend(
        spans: &mut Vec<Span>,
        time: u64,
        count: usize,
        clients: usize,
        out: &mut Vec<Vec<Span>>,
    ) {
        let open: Vec<usize> =
            (0..spans.len()).filter(|i| spans[*i].returned == u64::MAX).collect();
        if spans.len() == count {
            out.push(spans.clone());
        } else if open.len() < clients {
            spans.push(Span { invoked: time, returned: u64::MAX });
            extend(spans, time + 1, count, clients, out);
            spans.pop();
        }
        for i in open {
            spans[i].returned = time;
            extend(spans, time + 1, count, clients, out);
            spans[i].returned = u64::MAX;
        }
    }
    let mut out = Vec::new();
    extend(&mut Vec::new(), 0, count, clients, &mut out);
    out
}

/// Returns `true` if some order explains all operations that returned, together with some of the other operations.
fn explicable(plain: &Plain, spans: &[Span], operations: &[u32]) -> bool {
    fn place(plain: &Plain, spans: &[Span], state: &[u32], left: &[u32]) -> bool {
        if left.iter().all(|op| spans[*op as usize].returned == u64::MAX) {
            return true;
        }
        left.iter().any(|&op| {
            let invoked = spans[op as usize].invoked;
            !left.iter().any(|other| spans[*other as usize].returned < invoked)
                && step(plain, spans, state, op).is_some_and(|state| {
                    let left: Vec<u32> = left.iter().copied().filter(|it| *it != op).collect();
                    place(plain, spans, &state, &left)
                })
        })
    }
    place(plain, spans, &plain.initial, operations)
}

/// Returns the state after an operation; `None` if the operation cannot have happened in this state. An operation
/// without a return has any effect that is possible.
fn step(plain: &Plain, spans: &[Span], state: &[u32], op: u32) -> Option<Vec<u32>> {
    use {Action::*, PlainObject::*};
    let pending = spans[op as usize].returned == u64::MAX;
    let unchanged = |fits: bool| fits.then(|| state.to_vec());
    let has = |value: u32| state.contains(&value);
    let with = |value: u32| [state, &[value]].concat();
    let without = |value: u32| state.iter().copied().filter(|it| *it != value).collect();
    match (plain.object, plain.actions[op as usize]) {
        (_, Nothing) => unchanged(pending),
        (Register, Add(value)) => Some(vec![value]),
        (Register, Swap(old, new)) if has(old) => Some(vec![new]),
        (Register, Swap(..)) => unchanged(pending),
        (Register | Set, Peek(value)) => unchanged(has(value)),
        (Register | Set, Absent(value)) => unchanged(!has(value)),
        (Set, Add(value)) if !has(value) => Some(with(value)),
        (Set, Take(value)) if has(value) => Some(without(value)),
        (Set, Add(_) | Take(_)) => unchanged(pending),
        (Queue, Add(value)) => Some(with(value)),
        (Queue, Take(value)) if state.first() == Some(&value) => Some(without(value)),
        (Queue, TakeUnknown) => Some(state.iter().copied().skip(1).collect()),
        (Queue, Empty) => unchanged(state.is_empty()),
        (Queue, Take(_)) => None,
        other => unreachable!("no trial has {other:?}"),
    }
}

fn order_fault(plain: &Plain, spans: &[Span], order: &[u32]) -> Option<String> {
    let mut state = plain.initial.clone();
    let mut left: Vec<u32> = (0..spans.len() as u32).collect();
    for &op in order {
        let Some(place) = left.iter().position(|it| *it == op) else {
            return Some(format!("{op} stands twice"));
        };
        left.remove(place);
        let early = |other: &u32| spans[*other as usize].returned < spans[op as usize].invoked;
        if left.iter().any(early) {
            return Some(format!("something returned before {op} was invoked, and comes later"));
        }
        let Some(next) = step(plain, spans, &state, op) else {
            return Some(format!("{op} cannot be after {state:?}"));
        };
        state = next;
    }
    let missing = left.iter().find(|op| spans[**op as usize].returned != u64::MAX);
    missing.map(|op| format!("{op} is missing"))
}

fn core_fault(plain: &Plain, spans: &[Span], core: &Core) -> Option<String> {
    let Core { operations, anomaly } = core;
    let mut distinct = operations.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < operations.len() {
        return Some("an operation stands twice in the core".to_owned());
    }
    if explicable(plain, spans, operations) {
        return Some("the core is linearizable".to_owned());
    }
    let named = |text: &str| text.split_once('}')?.0.parse::<usize>().ok();
    let mut places = anomaly.text.split('{').skip(1).map(named);
    if anomaly.name.is_empty() || !anomaly.text.ends_with('.') || !anomaly.text.contains("{0}") {
        return Some("the text says nothing".to_owned());
    }
    if !places.all(|place| place.is_some_and(|place| place < operations.len())) {
        return Some("the text names what is not in the core".to_owned());
    }
    anomaly.edges.iter().find_map(|edge| {
        let inside = [edge.from, edge.to].iter().all(|op| operations.contains(&(*op as u32)));
        let real = edge.why == super::values::RETURNED;
        let early = spans[edge.from].returned < spans[edge.to].invoked;
        (!inside || real && !early).then(|| format!("{edge:?} is not so"))
    })
}
