//! Eventual consistency: once updates stop, all replicas agree, and no update is lost.
//!
//! The module has two checks. [`eventual`] takes the view of clients: they add elements to a replicated set, and every
//! replica is read after the last update has settled. [`strong_eventual`] takes the view of running replicas: two
//! replicas with the same delivered updates must be in the same state (Shapiro et al. 2011).
//!
//! No finite history can refute that replicas agree "eventually", so the caller decides when updates have settled. The
//! checks do not judge if the agreed state is correct, except for a set that only grows.

use std::fmt::Debug;
use std::hash::Hash;
use unpause_ordered::{Map, Set, sort_by_key};

use super::hash::Table;
use crate::history::Operation;
use crate::verdict::{Anomaly, Edge, Evidence, Verdict, Witness};

/// A call on a replicated set that only grows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventualCall<U> {
    /// Adds an update at some replica.
    Update(U),
    /// Reads all contents of a replica after updates have settled.
    FinalRead {
        /// The name of the replica, such as its number.
        replica: u32,
    },
}

/// The result of an [`EventualCall`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum EventualRet<U> {
    /// The update is acknowledged, so it must not be lost.
    Acknowledged,
    /// The update was refused, so no read may contain it.
    Refused,
    /// The contents of the replica, in any order.
    Contents(Vec<U>),
}

/// A call and its return.
pub type EventualOperation<U> = Operation<EventualCall<U>, EventualRet<U>>;

/// Checks the state after quiescence: all replicas agree, every acknowledged update is present, and every element comes
/// from an update.
///
/// An update that never returned may be present, but then at all replicas. A final read that never returned is ignored.
/// A replica may be read several times. The check treats every final read as later than all updates, regardless of the
/// recorded times.
///
/// Consistent: the witness has no order. Violated: `lost update`, `garbage`, `refused update` or `divergence`; the
/// evidence names the replicas and the missing elements. Unknown: no replica was read, so nothing could be checked;
/// `nodes` is 0.
///
/// # Cost
/// O(r log u) for r elements read and u updates.
///
/// ```
/// use unpause_check::eventual::{EventualCall::*, EventualRet::*, eventual};
/// use unpause_check::history::Operation;
/// let read = |replica, invoked, contents| Operation {
///     client: 1,
///     op: FinalRead { replica },
///     invoked,
///     returned: Some((Contents(contents), invoked + 1)),
/// };
/// let add = Operation { client: 0, op: Update(7), invoked: 1, returned: Some((Acknowledged, 2)) };
/// let history = [add, read(0, 3, vec![7]), read(1, 5, vec![])];
/// let unpause_check::verdict::Verdict::Violated(evidence) = eventual(&history) else { panic!() };
/// let anomaly = evidence.anomaly.unwrap();
/// assert_eq!(anomaly.name, "lost update");
/// assert_eq!(anomaly.text, "replica 1 does not hold 7, which was acknowledged (operation 0)");
/// ```
pub fn eventual<U: Ord + Debug>(history: &[EventualOperation<U>]) -> Verdict {
    let (mut asked, mut acknowledged, mut refused) = (Map::new(), Map::new(), Map::new());
    for (index, call) in history.iter().enumerate() {
        let EventualCall::Update(update) = &call.op else { continue };
        match &call.returned {
            Some((EventualRet::Acknowledged, _)) => {
                acknowledged.entry(update).or_insert(index);
            }
            Some((EventualRet::Refused, _)) => {
                refused.entry(update).or_insert(index);
                continue;
            }
            _ => {}
        }
        asked.insert(update, index);
    }
    let mut reads: Vec<(usize, u32, Set<&U>)> = Vec::new();
    for (index, call) in history.iter().enumerate() {
        if let (EventualCall::FinalRead { replica }, Some((EventualRet::Contents(contents), _))) =
            (&call.op, &call.returned)
        {
            reads.push((index, *replica, contents.iter().collect()));
        }
    }
    for (index, replica, contents) in &reads {
        let missing = acknowledged.iter().filter(|(update, _)| !contents.contains(*update));
        let missing: Vec<(&&U, &usize)> = missing.collect();
        if let Some((_, first)) = missing.first() {
            let text = format!(
                "replica {replica} does not hold {}, which {} acknowledged ({})",
                list(missing.iter().map(|(update, _)| **update)),
                if missing.len() == 1 { "was" } else { "were" },
                operations(missing.iter().map(|(_, index)| **index)),
            );
            let why = "was acknowledged and is missing".to_owned();
            let edges = vec![Edge { from: **first, to: *index, why }];
            let part = missing.iter().map(|(_, index)| **index).chain([*index]).collect();
            return violated("lost update", text, edges, part, *index);
        }
        let strange: Vec<&U> =
            contents.iter().copied().filter(|update| !asked.contains_key(update)).collect();
        if strange.is_empty() {
            continue;
        }
        let of: Vec<usize> =
            strange.iter().filter_map(|update| refused.get(update)).copied().collect();
        let (name, what) = match of.is_empty() {
            true => ("garbage", "which nobody asked for".to_owned()),
            false => {
                let all = operations(of.iter().copied());
                ("refused update", format!("of which some were refused or never asked for ({all})"))
            }
        };
        let text = format!("replica {replica} holds {}, {what}", list(strange.into_iter()));
        let part = of.into_iter().chain([*index]).collect();
        return violated(name, text, Vec::new(), part, *index);
    }
    // At this point each replica holds all acknowledged updates and nothing that was not requested, so replicas can
    // only differ in updates without an answer. Agreement is an equivalence relation, so it is enough to compare every
    // read with the first read.
    let Some((first, one, held)) = reads.first() else {
        return Verdict::Unknown(crate::verdict::Exhausted {
            nodes: 0,
            longest: 0,
            operations: history.len(),
            ..Default::default()
        });
    };
    for (index, other, contents) in &reads[1..] {
        if held == contents {
            continue;
        }
        let mut texts = Vec::new();
        for (replica, has, lacks, with) in
            [(other, held, contents, one), (one, contents, held, other)]
        {
            let missing: Vec<&U> = has.difference(lacks).copied().collect();
            if !missing.is_empty() {
                let missing = list(missing.into_iter());
                texts.push(format!(
                    "replica {replica} does not hold {missing}, replica {with} does"
                ));
            }
        }
        let why = "both were read when all was quiet, and they differ".to_owned();
        let edges = vec![Edge { from: *first, to: *index, why }];
        return violated("divergence", texts.join("; "), edges, vec![*first, *index], *index);
    }
    consistent()
}

/// An operation at a replica, for [`strong_eventual`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ReplicaCall<U> {
    /// The replica applies an update, either its own or from another replica. A second delivery of an update changes
    /// nothing.
    Deliver(U),
    /// A client observes the state of the replica.
    Observe,
}

/// One operation at a replica. [`Operation::client`] is the replica. A delivery returns nothing; an observation returns
/// the state.
pub type ReplicaOperation<U, S> = Operation<ReplicaCall<U>, Option<S>>;

/// Checks that two replicas with the same delivered updates, in any order, are in the same state. The state of a
/// replica is then a function of its delivered updates.
///
/// The operations of each replica are applied in the order of their invocations. An observation without a state is
/// ignored.
///
/// Consistent: the witness has no order. Violated: `divergence`, with two observations after the same updates. Unknown:
/// no state was observed.
///
/// # Cost
/// O(n log n + d) for n operations. d is the sum over all observations of the number of updates that were delivered
/// before the observation.
///
/// ```
/// use unpause_check::eventual::{ReplicaCall::*, strong_eventual};
/// use unpause_check::history::Operation;
/// let at = |client, invoked, op, state| Operation {
///     client,
///     op,
///     invoked,
///     returned: Some((state, invoked + 1)),
/// };
/// // The last writer wins, but "last" is not the same everywhere.
/// let history = [
///     at(0, 1, Deliver('a'), None),
///     at(0, 3, Deliver('b'), None),
///     at(1, 5, Deliver('b'), None),
///     at(1, 7, Deliver('a'), None),
///     at(0, 9, Observe, Some("b")),
///     at(1, 11, Observe, Some("a")),
/// ];
/// assert!(strong_eventual(&history).is_violated());
/// ```
pub fn strong_eventual<U, S>(history: &[ReplicaOperation<U, S>]) -> Verdict
where
    U: Ord + Hash + Debug,
    S: PartialEq + Debug,
{
    let mut by_time: Vec<usize> = (0..history.len()).collect();
    sort_by_key(&mut by_time, |index| history[*index].invoked);
    // Compare each state only with the first state after the same updates, because equality is transitive.
    let mut delivered: Map<u32, Set<&U>> = Map::new();
    let mut states: Table<Vec<&U>, (usize, &S)> = Table::default();
    for index in by_time {
        let call = &history[index];
        let held = delivered.entry(call.client).or_default();
        match (&call.op, &call.returned) {
            (ReplicaCall::Deliver(update), _) => {
                held.insert(update);
            }
            (ReplicaCall::Observe, Some((Some(state), _))) => {
                let set: Vec<&U> = held.iter().copied().collect();
                let updates = list(set.iter().copied());
                let (first, known) = *states.entry(set).or_insert((index, state));
                if known == state {
                    continue;
                }
                let text = format!(
                    "replica {} was in state {known:?} (operation {first}) and replica {} in \
                     {state:?} (operation {index}), both after {updates}",
                    history[first].client, call.client,
                );
                let why = "after the same updates, and they differ".to_owned();
                let edges = vec![Edge { from: first, to: index, why }];
                return violated("divergence", text, edges, vec![first, index], index);
            }
            (ReplicaCall::Observe, _) => {}
        }
    }
    if states.is_empty() {
        // No states were compared, and an unknown verdict never counts as a pass.
        return Verdict::Unknown(crate::verdict::Exhausted {
            nodes: 0,
            longest: 0,
            operations: history.len(),
            ..Default::default()
        });
    }
    consistent()
}

const ENGINE: &str = "replicas";

fn consistent() -> Verdict {
    Verdict::Consistent(Witness { engine: ENGINE.to_owned(), order: None })
}

fn violated(
    name: &str,
    text: String,
    edges: Vec<Edge>,
    mut part: Vec<usize>,
    misfit: usize,
) -> Verdict {
    part.sort_unstable();
    part.dedup();
    let anomaly = Some(Anomaly { name: name.to_owned(), text, edges });
    let engine = ENGINE.to_owned();
    Verdict::Violated(Box::new(Evidence { engine, anomaly, misfit, part, ..Evidence::default() }))
}

/// The maximum number of updates to list; the rest are only counted.
const LISTED_MAX: usize = 8;

fn list<'u, U: Debug + 'u>(updates: impl ExactSizeIterator<Item = &'u U>) -> String {
    let count = updates.len();
    let mut texts: Vec<String> =
        updates.take(LISTED_MAX).map(|update| format!("{update:?}")).collect();
    if count > LISTED_MAX {
        texts.push(format!("{} more", count - LISTED_MAX));
    }
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

fn operations(indices: impl ExactSizeIterator<Item = usize>) -> String {
    let word = if indices.len() == 1 { "operation" } else { "operations" };
    let indices: Vec<usize> = indices.collect();
    format!("{word} {}", list(indices.iter()))
}
