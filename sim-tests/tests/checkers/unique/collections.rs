//! Histories of a stack or a priority queue in which no item is added twice. Also the shared tests of these
//! collections.

use std::collections::BTreeMap;

use sim::check::history::Operation;
use sim::check::verdict::Verdict;
use sim::check::{Budget, Model, linearizable, linearizable_counted};
use sim_tests::histories::{Draw, Recorded, long};
use sim_tests::judge;
use sim_tests::odd_models::Searched;

/// A collection: an object to which items are added and from which they are removed.
pub(crate) trait Collection: Model {
    /// The name of its engine in verdicts.
    const ENGINE: &'static str;
    /// True if the collection has an operation that reads an item without removing it.
    const LOOKS: bool;
    /// True if two items differ in more than the times of their insertion.
    const RANKS: bool;
    /// Returns an object that holds these items.
    fn holding(items: &[u64]) -> Self;
    fn put(item: u64) -> Self::Op;
    fn done() -> Self::Ret;
    fn take() -> Self::Op;
    fn look() -> Self::Op;
    fn item(item: Option<u64>) -> Self::Ret;
    /// The item that an operation inserts.
    fn puts(op: &Self::Op) -> Option<u64>;
    /// The item that a result is.
    fn got(ret: &Self::Ret) -> Option<u64>;
}

/// The number of histories of each kind.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    /// Decided by the engine: violated, consistent.
    pub(crate) decided: [u64; 2],
    /// The number of histories that the engine left to the search.
    pub(crate) searched: u64,
    /// The operations that evidence spoke of, at most and in all.
    pub(crate) core_max: usize,
    pub(crate) core_sum: usize,
}

impl Tally {
    /// Compares the verdict with the expected verdict, and checks the witness or the evidence.
    pub(crate) fn check<M: Collection>(
        &mut self,
        initial: &M,
        history: &judge::History<M>,
        expected: bool,
    ) {
        let (verdict, nodes) =
            linearizable_counted(initial, history, &Budget::default()).expect("well-formed");
        judge::check(initial, history, &verdict, expected);
        match verdict {
            Verdict::Consistent(witness) if witness.engine == M::ENGINE => {
                assert_eq!(nodes, 0, "nothing was left to search");
                self.decided[1] += 1;
            }
            Verdict::Violated(evidence) if evidence.engine == M::ENGINE => {
                let anomaly = evidence.anomaly.expect("the engine names it");
                assert!(!anomaly.name.is_empty() && !anomaly.text.is_empty());
                for edge in &anomaly.edges {
                    assert!(evidence.part.contains(&edge.from) && evidence.part.contains(&edge.to));
                    let precedes = history[edge.from].precedes(&history[edge.to]);
                    assert!(precedes || edge.why != "returned before it was invoked", "{edge:?}");
                }
                self.decided[0] += 1;
                self.core_max = self.core_max.max(evidence.part.len());
                self.core_sum += evidence.part.len();
                // These anomalies involve only one item, so the other operations of the history do not matter.
                let alone = ["before", "after", "never", "twice"];
                if !alone.iter().any(|word| anomaly.name.contains(word)) {
                    whole_items::<M>(history, &evidence.part);
                }
                if anomaly.text.starts_with("none of the ") && *initial == M::holding(&[]) {
                    each_item_needed(initial, history, &evidence.part);
                }
            }
            _ => self.searched += 1,
        }
    }

    /// Like [`check`](Tally::check), but expects the verdict of the general search.
    pub(crate) fn compare<M: Collection>(&mut self, initial: &M, history: &judge::History<M>) {
        let budget = Budget::nodes(10_000);
        let verdict = linearizable(&Searched(initial.clone()), history, &budget);
        match verdict.expect("well-formed") {
            Verdict::Unknown(_) => {}
            verdict => self.check(initial, history, verdict.is_consistent()),
        }
    }

    /// The share of the histories that the engine decided, in percent.
    pub(crate) fn share(&self) -> u64 {
        let decided = self.decided[0] + self.decided[1];
        100 * decided / (decided + self.searched).max(1)
    }
}

/// If evidence contains the operation that adds an item, it must also contain the operation that removed the item.
/// Otherwise the contradiction might come from this omission.
fn whole_items<M: Collection>(history: &judge::History<M>, part: &[usize]) {
    let took = |call: &Operation<M::Op, M::Ret>| match &call.returned {
        Some((ret, _)) if call.op == M::take() => M::got(ret),
        _ => None,
    };
    for item in part.iter().filter_map(|index| M::puts(&history[*index].op)) {
        let take = history.iter().position(|call| took(call) == Some(item));
        assert!(take.is_none_or(|take| part.contains(&take)), "{item} leaves {take:?}: {part:?}");
    }
}

/// Each item of the evidence must be needed: without its operations, the remaining operations must be explicable.
fn each_item_needed<M: Collection>(empty: &M, history: &judge::History<M>, part: &[usize]) {
    let ret = |call: &Operation<M::Op, M::Ret>| call.returned.as_ref().map(|(ret, _)| ret.clone());
    for item in part.iter().filter_map(|index| M::puts(&history[*index].op)) {
        let other = |call: &&Operation<M::Op, M::Ret>| {
            let got = ret(call).and_then(|ret| M::got(&ret));
            M::puts(&call.op) != Some(item) && got != Some(item)
        };
        let rest = part.iter().map(|index| &history[*index]).filter(other).cloned();
        let rest: Recorded<M> = rest.collect();
        assert!(judge::explicable(empty, &rest), "{item} can be left out of {part:?}: {history:?}");
    }
}

/// The client of an operation, its invocation and its return.
type Times = (u32, u64, Option<u64>);

/// Returns all ways in which `count` operations of up to three clients can overlap; some operations do not return.
fn shapes(count: usize) -> Vec<Vec<Times>> {
    fn extend(shape: &mut Vec<Times>, time: u64, count: usize, out: &mut Vec<Vec<Times>>) {
        if shape.len() == count {
            out.push(shape.clone());
        } else if let Some(client) =
            (0..3).find(|client| shape.iter().all(|call| call.0 != *client || call.2.is_some()))
        {
            shape.push((client, time, None));
            extend(shape, time + 1, count, out);
            shape.pop();
        }
        for call in 0..shape.len() {
            if shape[call].2.is_none() {
                shape[call].2 = Some(time);
                extend(shape, time + 1, count, out);
                shape[call].2 = None;
            }
        }
    }
    let mut out = Vec::new();
    extend(&mut Vec::new(), 0, count, &mut out);
    out
}

/// Calls `found` with all histories of `count` operations by up to three clients. Some operations are pending. The
/// histories have up to `items` items, and no item is added twice.
pub(crate) fn every<M: Collection>(count: usize, items: u64, mut found: impl FnMut(&Recorded<M>)) {
    fn fill<M: Collection>(
        shape: &[Times],
        items: u64,
        history: &mut Recorded<M>,
        found: &mut impl FnMut(&Recorded<M>),
    ) {
        let Some(&(client, invoked, end)) = shape.get(history.len()) else {
            return found(history);
        };
        let mut next = |op: M::Op, ret: M::Ret, history: &mut Recorded<M>| {
            let returned = end.map(|end| (ret, end));
            history.push(Operation { client, op, invoked, returned });
            fill::<M>(shape, items, history, found);
            history.pop();
        };
        let inside = |item: u64, history: &Recorded<M>| {
            history.iter().any(|call| M::puts(&call.op) == Some(item))
        };
        for item in (1..=items).filter(|item| !inside(*item, history)).collect::<Vec<_>>() {
            next(M::put(item), M::done(), history);
            if !M::RANKS {
                // Other new items would give the same histories, because items are numbered as they go in.
                break;
            }
        }
        let results = (1..=items).map(Some).chain([None]);
        for result in results.take(if end.is_some() { usize::MAX } else { 1 }) {
            next(M::take(), M::item(result), history);
            if M::LOOKS {
                next(M::look(), M::item(result), history);
            }
        }
    }
    for shape in shapes(count) {
        fill::<M>(&shape, items, &mut Recorded::<M>::new(), &mut found);
    }
}

/// The parameters of a random history.
#[derive(Clone, Copy)]
pub(crate) struct Sort {
    pub(crate) operations: usize,
    pub(crate) clients: usize,
    /// The approximate number of items inside once additions are no more frequent than removals.
    pub(crate) backlog: usize,
    /// About one of this number of operations that do not put is a look, if the object can look.
    pub(crate) looks_one_in: usize,
    /// About one of this number of operations never returns.
    pub(crate) pending_one_in: usize,
    /// The number of results that are replaced by others.
    pub(crate) lies: usize,
}

/// Returns a random history of a correct object that holds `initial` at the start, with some results replaced.
pub(crate) fn random<M: Collection>(draw: &mut Draw, initial: &[u64], sort: Sort) -> Recorded<M> {
    let mut state = M::holding(initial);
    let mut history = Recorded::<M>::with_capacity(sort.operations);
    let mut open: Vec<Option<(usize, Option<M::Ret>)>> = vec![None; sort.clients];
    let (mut time, mut items, mut inside) = (0, 0, initial.len());
    // Times are positions, with or without gaps, or are as large as clock readings.
    let tick = [1, 1, 1_000][draw.below(3)];
    while history.len() < sort.operations || open.iter().any(Option::is_some) {
        let client = draw.below(sort.clients);
        time += tick;
        open[client] = match open[client].take() {
            None if history.len() == sort.operations => None,
            None => {
                let puts = draw.below(100) < if inside > sort.backlog { 40 } else { 60 };
                let op = match draw.below(sort.looks_one_in.max(2)) {
                    _ if puts => {
                        items += 1;
                        inside += 1;
                        // The items are distinct, because the multiplier is odd. The items of the start are below 1000.
                        M::put(1000 + ((items * 0x2545_f491) & 0xffff_ffff))
                    }
                    0 if M::LOOKS => M::look(),
                    _ if M::LOOKS && sort.looks_one_in == 1 && draw.below(6) > 0 => M::look(),
                    _ => {
                        inside = inside.saturating_sub(1);
                        M::take()
                    }
                };
                let client = client as u32;
                history.push(Operation { client, op, invoked: time, returned: None });
                Some((history.len() - 1, None))
            }
            Some((index, None)) => {
                let lost = draw.below(sort.pending_one_in) == 0;
                // Half of the operations that do not return take effect.
                let ret = (!lost || draw.below(2) == 0).then(|| state.step(&history[index].op));
                if lost { None } else { Some((index, ret)) }
            }
            Some((index, Some(ret))) => {
                history[index].returned = Some((ret, time));
                None
            }
        };
    }
    for _ in 0..sort.lies {
        let takes: Vec<usize> = (0..history.len())
            .filter(|i| M::puts(&history[*i].op).is_none() && history[*i].returned.is_some())
            .collect();
        if takes.is_empty() {
            break;
        }
        let [one, other] = [(); 2].map(|()| takes[draw.below(takes.len())]);
        let results = [one, other].map(|i| history[i].returned.clone().expect("filtered").0);
        let [first, second] = results;
        if draw.below(4) == 0 {
            history[one].returned.as_mut().expect("filtered").0 = M::item(None);
        } else {
            history[one].returned.as_mut().expect("filtered").0 = second;
            history[other].returned.as_mut().expect("filtered").0 = first;
        }
    }
    history
}

/// All short histories against brute force.
pub(crate) fn all_short_histories<M: Collection>() {
    for count in 1..=if long() { 5 } else { 3 } {
        let mut tally = Tally::default();
        every::<M>(count, 3, |history| {
            let initial = M::holding(&[]);
            tally.check(&initial, history, judge::explicable(&initial, history));
        });
        println!("{}: {count} operations, {tally:?}", M::ENGINE);
        assert!(tally.share() >= 90, "{tally:?}");
        assert!(tally.decided.iter().all(|decided| *decided > 0));
    }
}

/// Random histories that brute force can judge, and longer ones against the search.
pub(crate) fn random_histories<M: Collection>(pending: bool) {
    let mut draw = Draw(7);
    let (mut short, mut longer) = (Tally::default(), Tally::default());
    for case in 0..if long() { 1_000_000 } else { 2_000 } {
        let initial: Vec<u64> = (1..=[0, 0, 0, 1, 3][draw.below(5)]).collect();
        let sort = Sort {
            operations: 1 + draw.below(if case % 4 == 0 { 24 } else { 7 }),
            clients: 1 + draw.below(4),
            backlog: draw.below(6),
            // Now and then nearly all do, so that many read one item.
            looks_one_in: [1, 4, 6][draw.below(3)],
            pending_one_in: if pending { 2 + draw.below(10) } else { usize::MAX },
            lies: draw.below(3),
        };
        let history = random::<M>(&mut draw, &initial, sort);
        let initial = M::holding(&initial);
        if history.len() <= 7 {
            short.check(&initial, &history, judge::explicable(&initial, &history));
        } else {
            longer.compare(&initial, &history);
        }
    }
    println!("{}: short {short:?}, longer {longer:?}", M::ENGINE);
    for tally in [short, longer] {
        let enough = if pending { 80 } else { 100 };
        assert!(tally.share() >= enough, "{}% decided: {tally:?}", tally.share());
        assert!(tally.decided.iter().all(|decided| *decided > 80), "{tally:?}");
    }
}

/// Long histories are decided without a search, and the evidence is a few operations.
pub(crate) fn long_histories<M: Collection>() {
    for clients in [4, 16, 64] {
        let sort = Sort {
            operations: if long() { 100_000 } else { 30_000 },
            clients,
            backlog: 32,
            looks_one_in: 6,
            pending_one_in: usize::MAX,
            lies: 0,
        };
        let mut history = random::<M>(&mut Draw(clients as u64), &[], sort);
        let check = |history: &Recorded<M>| {
            linearizable_counted(&M::holding(&[]), history, &Budget::default()).unwrap()
        };
        let (verdict, nodes) = check(&history);
        assert!(verdict.is_consistent() && nodes == 0, "{clients} clients: {nodes} {verdict:?}");
        swap_two_results::<M>(&mut history);
        let (verdict, nodes) = check(&history);
        let Verdict::Violated(evidence) = verdict else { panic!("{clients}: {verdict:?}") };
        assert!(nodes < 100 && evidence.part.len() <= 8, "{nodes} {evidence:?}");
    }
}

/// Exchanges two results near the end of the history. The two results come from successive removals whose items were
/// both in the collection.
fn swap_two_results<M: Collection>(history: &mut Recorded<M>) {
    let removal = |call: &Operation<M::Op, M::Ret>| match &call.returned {
        Some((ret, _)) if call.op == M::take() => M::got(ret),
        _ => None,
    };
    let puts = (0..).zip(&*history).filter_map(|(i, call)| Some((M::puts(&call.op)?, i)));
    let puts: BTreeMap<u64, usize> = puts.collect();
    for first in history.len() * 9 / 10..history.len() {
        let Some(one) = removal(&history[first]) else { continue };
        let put_one = puts[&one];
        for second in first + 1..history.len().min(first + 500) {
            let Some(other) = removal(&history[second]) else { continue };
            let put_other = puts[&other];
            let before = |a: usize, b: usize| history[a].precedes(&history[b]);
            let apart = before(put_one, first) && before(put_other, first) && before(first, second);
            // The item that comes out first is on top, or is smaller.
            let fits = if M::RANKS { one < other } else { before(put_other, put_one) };
            if apart && fits {
                history[first].returned.as_mut().expect("it returned").0 = M::item(Some(other));
                history[second].returned.as_mut().expect("it returned").0 = M::item(Some(one));
                return;
            }
        }
    }
    panic!("no two results to exchange");
}
