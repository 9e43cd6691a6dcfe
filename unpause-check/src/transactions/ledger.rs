//! A transaction history with dense numbers for keys and writes. Each write is identified by its value, and unusable
//! histories are rejected here.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;
use std::error::Error;
use std::fmt::{self, Debug};
use std::hash::Hash;

use super::TransactionOutcome;
use super::anomalies::OperationNames;
use super::graph::{EdgeKind, GraphDraft, NONE};
use crate::hash::Table;
use crate::history::Operation;

/// One read or write in a transaction.
pub(super) enum TransactionItem<'h, S> {
    /// A write, with its number.
    Write(u32),
    /// A read of a key, with its result.
    Read(u32, &'h S),
}

/// A write. No two writes to one key have the same value, so key and value identify the write.
pub(super) struct Write<'h, V> {
    pub(super) key: u32,
    pub(super) transaction: u32,
    pub(super) value: &'h V,
}

/// The outcome of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransactionFate {
    Committed,
    Aborted,
    /// The transaction never returned, and none of its writes was read, so it is ignored.
    Lost,
    /// The transaction never returned, but one of its writes was read.
    Seen,
}

impl TransactionFate {
    /// Returns `true` if the transaction took effect.
    pub(super) fn counts(self) -> bool {
        matches!(self, TransactionFate::Committed | TransactionFate::Seen)
    }
}

/// The history. Transactions keep their indices as numbers.
pub(super) struct Ledger<'h, K, V, S> {
    pub(super) keys: Vec<&'h K>,
    pub(super) writes: Vec<Write<'h, V>>,
    pub(super) fate: Vec<TransactionFate>,
    // The items of transaction `t` are `items[start[t]..start[t + 1]]`. If the transaction did not commit, they contain
    // only its writes.
    items: Vec<TransactionItem<'h, S>>,
    start: Vec<u32>,
    by_value: Table<(u32, &'h V), u32>,
    spans: Vec<(u32, u64, u64)>,
    // The events, sorted by time: the time, the transaction, and `true` for a return.
    events: Vec<(u64, u32, bool)>,
}

impl<'h, K, V, S> Ledger<'h, K, V, S>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    /// Reads a history. `split` returns the key of a call, and the value if the call is a write.
    pub(super) fn new<C>(
        history: &'h [Operation<Vec<C>, TransactionOutcome<S>>],
        split: impl Fn(&'h C) -> (&'h K, Option<&'h V>),
    ) -> Result<Self, Unusable> {
        let mut ledger = Ledger {
            keys: Vec::new(),
            writes: Vec::new(),
            fate: Vec::with_capacity(history.len()),
            items: Vec::new(),
            start: vec![0],
            by_value: Table::default(),
            spans: Vec::with_capacity(history.len()),
            events: events(history)?,
        };
        let mut keys: Table<&K, u32> = Table::default();
        for (index, call) in history.iter().enumerate() {
            let transaction = index as u32;
            let outcome = call.returned.as_ref().map(|(outcome, _)| outcome);
            let (fate, mut results) = match outcome {
                Some(TransactionOutcome::Committed(results)) => {
                    (TransactionFate::Committed, Some(results.iter()))
                }
                Some(TransactionOutcome::Aborted) => (TransactionFate::Aborted, None),
                None => (TransactionFate::Lost, None),
            };
            let mut reads = 0;
            for (key, value) in call.op.iter().map(&split) {
                let number = match keys.entry(key) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => {
                        ledger.keys.push(key);
                        *entry.insert(ledger.keys.len() as u32 - 1)
                    }
                };
                // Results belong to reads in order. Reads of a transaction that did not commit are dropped.
                let Some(value) = value else {
                    reads += 1;
                    if let Some(saw) = results.as_mut().and_then(Iterator::next) {
                        ledger.items.push(TransactionItem::Read(number, saw));
                    }
                    continue;
                };
                let write = ledger.writes.len() as u32;
                if let Some(other) = ledger.by_value.insert((number, value), write) {
                    let other = ledger.writes[other as usize].transaction as usize;
                    let (key, value) = (format!("{key:?}"), format!("{value:?}"));
                    let kind = UnusableKind::WrittenTwice { other, key, value };
                    return Err(Unusable { transaction: index, kind });
                }
                ledger.writes.push(Write { key: number, transaction, value });
                ledger.items.push(TransactionItem::Write(write));
            }
            if let Some(TransactionOutcome::Committed(results)) = outcome {
                if results.len() != reads {
                    let kind = UnusableKind::Results { reads, results: results.len() };
                    return Err(Unusable { transaction: index, kind });
                }
            }
            ledger.fate.push(fate);
            ledger.start.push(ledger.items.len() as u32);
            ledger.spans.push((call.client, call.invoked, call.end()));
        }
        Ok(ledger)
    }

    pub(super) fn len(&self) -> usize {
        self.fate.len()
    }

    pub(super) fn items(&self, transaction: u32) -> &[TransactionItem<'h, S>] {
        let transaction = transaction as usize;
        &self.items[self.start[transaction] as usize..self.start[transaction + 1] as usize]
    }

    /// Returns the committed transactions. The results of their reads are known.
    pub(super) fn committed(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|t| self.fate[*t as usize] == TransactionFate::Committed)
    }

    /// Returns the write of this value, if any.
    pub(super) fn write(&self, key: u32, value: &V) -> Option<u32> {
        self.by_value.get(&(key, value)).copied()
    }

    /// Returns the transaction of this write; [`NONE`] for no write.
    pub(super) fn writer(&self, write: u32) -> u32 {
        if write == NONE { NONE } else { self.writes[write as usize].transaction }
    }

    /// Records that this write was read: its transaction took effect, unless it aborted.
    pub(super) fn mark_read(&mut self, write: u32) {
        let fate = &mut self.fate[self.writes[write as usize].transaction as usize];
        if *fate == TransactionFate::Lost {
            *fate = TransactionFate::Seen;
        }
    }

    pub(super) fn client(&self, transaction: u32) -> u32 {
        self.spans[transaction as usize].0
    }

    pub(super) fn invoked(&self, transaction: u32) -> u64 {
        self.spans[transaction as usize].1
    }

    pub(super) fn end(&self, transaction: u32) -> u64 {
        self.spans[transaction as usize].2
    }

    /// Returns the invocations and returns of the transactions that took effect, sorted by time. Each item has the
    /// transaction, and `true` for a return.
    pub(super) fn moments(&self) -> impl Iterator<Item = (u32, bool)> + '_ {
        let counts = |t: &u32| self.fate[*t as usize].counts();
        self.events.iter().map(|(_, t, back)| (*t, *back)).filter(move |(t, _)| counts(t))
    }

    /// Orders transactions in time, separately for each `lane`: a transaction that returned comes before transactions
    /// invoked later. The order takes O(n) links, because each return is a helper that leads to the next helper of its
    /// lane.
    pub(super) fn link_time(
        &self,
        draft: &mut GraphDraft,
        kind: EdgeKind,
        lane: impl Fn(u32) -> u32,
    ) {
        let mut last: Table<u32, u32> = Table::default();
        for (transaction, back) in self.moments() {
            let lane = lane(transaction);
            let before = last.get(&lane).copied();
            if !back {
                if let Some(before) = before {
                    draft.link(before, transaction, EdgeKind::On, NONE, NONE);
                }
                continue;
            }
            let moment = draft.helper();
            draft.link(transaction, moment, kind, NONE, NONE);
            if let Some(before) = before {
                draft.link(before, moment, EdgeKind::On, NONE, NONE);
            }
            last.insert(lane, moment);
        }
    }

    pub(super) fn key_text(&self, key: u32) -> String {
        format!("{:?}", self.keys[key as usize])
    }

    pub(super) fn value_text(&self, write: u32) -> String {
        format!("{:?}", self.writes[write as usize].value)
    }
}

impl<K, V, S> OperationNames for Ledger<'_, K, V, S>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    fn key_of(&self, write: u32) -> String {
        self.key_text(self.writes[write as usize].key)
    }

    fn value_of(&self, write: u32) -> String {
        self.value_text(write)
    }

    fn client_of(&self, transaction: u32) -> u32 {
        self.client(transaction)
    }
}

fn events<O, R>(history: &[Operation<O, R>]) -> Result<Vec<(u64, u32, bool)>, Unusable> {
    assert!(history.len() < 1 << 30, "fewer than 2^30 transactions");
    let mut events = Vec::with_capacity(2 * history.len());
    for (transaction, call) in history.iter().enumerate() {
        events.push((call.invoked, transaction as u32, false));
        if let Some((_, returned)) = &call.returned {
            events.push((*returned, transaction as u32, true));
            let (invoked, returned) = (call.invoked, *returned);
            if returned <= invoked {
                let kind = UnusableKind::ReturnNotAfterInvocation { invoked, returned };
                return Err(Unusable { transaction, kind });
            }
        }
    }
    events.sort_unstable();
    for pair in events.windows(2) {
        let ((time, other, _), (next, transaction, _)) = (pair[0], pair[1]);
        if time == next {
            let (transaction, other) = (transaction as usize, other as usize);
            return Err(Unusable { transaction, kind: UnusableKind::SameTime { other, time } });
        }
    }
    Ok(events)
}

/// The error of a transaction history that cannot be checked.
///
/// ```
/// use unpause_check::{transactions::{list_append, Level, ListCall::*, TransactionOutcome}, Budget};
/// use unpause_check::history::Operation;
/// let append = |client, invoked| Operation {
///     client,
///     op: vec![Append("x", 1)],
///     invoked,
///     returned: Some((TransactionOutcome::Committed(vec![]), invoked + 1)),
/// };
/// let twice = [append(0, 1), append(1, 3)];
/// let error = list_append(&twice, Level::Serializable, &Budget::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "transactions 0 and 1 both write 1 to \"x\": each value must be written to a key once"
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable {
    /// The index of the transaction at fault.
    pub transaction: usize,
    /// The reason.
    pub kind: UnusableKind,
}

/// The reason why a transaction history is rejected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnusableKind {
    /// The return of the transaction is not later than its invocation.
    ReturnNotAfterInvocation {
        /// The time of the invocation.
        invoked: u64,
        /// The time of the return.
        returned: u64,
    },
    /// The transaction has an event at the same time as another transaction, so their order is unknown.
    SameTime {
        /// The index of the other transaction.
        other: usize,
        /// The time of both events.
        time: u64,
    },
    /// The transaction writes a value to a key again, so a read of this value could come from either write.
    WrittenTwice {
        /// The index of the transaction that wrote the value before; it may be the same transaction.
        other: usize,
        /// The key.
        key: String,
        /// The value.
        value: String,
    },
    /// The transaction committed, but the number of its results differs from the number of its reads.
    Results {
        /// The number of the transaction's reads.
        reads: usize,
        /// The number of results.
        results: usize,
    },
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transaction = self.transaction;
        match &self.kind {
            UnusableKind::ReturnNotAfterInvocation { invoked, returned } => write!(
                f,
                "transaction {transaction} returned at {returned}, not after its invocation at \
                 {invoked}"
            ),
            UnusableKind::SameTime { other, time } => {
                write!(
                    f,
                    "transactions {other} and {transaction} both have an event at time {time}"
                )
            }
            UnusableKind::WrittenTwice { other, key, value } => write!(
                f,
                "transactions {other} and {transaction} both write {value} to {key}: each value \
                 must be written to a key once"
            ),
            UnusableKind::Results { reads, results } => write!(
                f,
                "transaction {transaction} has {reads} reads and {results} results: give one result \
                 for each read, in their order"
            ),
        }
    }
}

impl Error for Unusable {}
