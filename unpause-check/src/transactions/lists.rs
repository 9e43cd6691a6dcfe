//! The version order of each list, and the anomalies of single reads and transactions.

use std::fmt::Debug;
use std::hash::Hash;

use super::anomalies::{DirectAnomalies, IsolationAnomaly, Level, direct};
use super::graph::NONE;
use super::ledger::{Ledger, TransactionFate, TransactionItem, Unusable};
use super::{ListCall, ListTransaction};
use crate::hash::Table;

/// A history, and the version order of each key.
pub(super) struct Lists<'h, K, V> {
    pub(super) ledger: Ledger<'h, K, V, Vec<V>>,
    pub(super) keys: Vec<Versions<'h, V>>,
    /// The position of each write in the longest list of its key, or [`NONE`].
    pub(super) place: Vec<u32>,
    pub(super) direct: DirectAnomalies,
    /// The reads that the graph contains: transaction, key, list length.
    pub(super) reads: Vec<(u32, u32, u32)>,
}

/// The versions of one key.
pub(super) struct Versions<'h, V> {
    pub(super) longest: &'h [V],
    /// The first transaction that read the longest list.
    reader: u32,
    /// For each element, its write. `NONE` unless the transaction took effect and the element occurs exactly once.
    pub(super) writes: Vec<u32>,
    /// `last[n]` is the last write among the first n elements; `next[n]` is the first write among
    /// the remaining elements.
    pub(super) last: Vec<u32>,
    pub(super) next: Vec<u32>,
    /// Writes that were never read, of transactions that took effect.
    pub(super) unseen: Vec<u32>,
}

impl<'h, K, V> Lists<'h, K, V>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    pub(super) fn new(history: &'h [ListTransaction<K, V>]) -> Result<Self, Unusable> {
        let ledger = Ledger::new(history, |call| match call {
            ListCall::Append(key, value) => (key, Some(value)),
            ListCall::Read(key) => (key, None),
        })?;
        let place = vec![NONE; ledger.writes.len()];
        let mut lists = Lists {
            ledger,
            keys: Vec::new(),
            place,
            direct: DirectAnomalies::default(),
            reads: Vec::new(),
        };
        lists.find_longest();
        let unfit = lists.find_incompatible();
        lists.number_versions();
        lists.judge_transactions(&unfit);
        Ok(lists)
    }

    fn find_longest(&mut self) {
        let none: &[V] = &[];
        let mut longest = vec![(none, NONE); self.ledger.keys.len()];
        for transaction in self.ledger.committed() {
            for item in self.ledger.items(transaction) {
                if let TransactionItem::Read(key, list) = item {
                    let (known, reader) = &mut longest[*key as usize];
                    if list.len() > known.len() {
                        (*known, *reader) = (list, transaction);
                    }
                }
            }
        }
        self.keys = longest
            .into_iter()
            .map(|(longest, reader)| Versions {
                longest,
                reader,
                writes: Vec::new(),
                last: Vec::new(),
                next: Vec::new(),
                unseen: Vec::new(),
            })
            .collect();
    }

    /// Returns the reads (by transaction and key) that are not a prefix of the longest list, and
    /// records an anomaly for each.
    fn find_incompatible(&mut self) -> Table<(u32, u32), ()> {
        let mut unfit = Table::default();
        let mut seen: Vec<u32> = Vec::new();
        let mut found = DirectAnomalies::default();
        let level = Level::ReadCommitted;
        for transaction in self.ledger.committed() {
            for item in self.ledger.items(transaction) {
                let TransactionItem::Read(key, list) = item else { continue };
                let Versions { longest, reader, .. } = &self.keys[*key as usize];
                if longest.starts_with(list) {
                    continue;
                }
                seen.extend(list.iter().filter_map(|value| self.ledger.write(*key, value)));
                if unfit.insert((transaction, *key), ()).is_none() && found.has_room(level) {
                    let at = list.iter().zip(*longest).take_while(|(a, b)| a == b).count();
                    let text = format!(
                        "T{reader} and T{transaction} read lists of {key} of which neither is the \
                         beginning of the other: after {at} elements, {:?} and {:?}",
                        longest[at],
                        list[at],
                        key = self.ledger.key_text(*key),
                    );
                    let part = [*reader, transaction];
                    found.note(direct("incompatible order", level, &part, text));
                }
            }
        }
        self.direct = found;
        seen.into_iter().for_each(|write| self.ledger.mark_read(write));
        unfit
    }

    fn number_versions(&mut self) {
        for key in 0..self.keys.len() as u32 {
            let longest = self.keys[key as usize].longest;
            for (at, value) in longest.iter().enumerate() {
                let write = self.ledger.write(key, value);
                if let Some(write) = write {
                    self.ledger.mark_read(write);
                }
                let fault = match write {
                    None => Some(("garbage", Level::ReadUncommitted)),
                    Some(write) if self.place[write as usize] != NONE => {
                        Some(("duplicate", Level::ReadUncommitted))
                    }
                    Some(write) => {
                        self.place[write as usize] = at as u32;
                        let writer = self.ledger.writer(write);
                        let aborted = self.ledger.fate[writer as usize] == TransactionFate::Aborted;
                        aborted.then_some(("G1a", Level::ReadCommitted))
                    }
                };
                // An element with a fault gets no write, so the version order skips it.
                let counted = fault.is_none().then_some(write).flatten().unwrap_or(NONE);
                self.keys[key as usize].writes.push(counted);
                if let Some((name, level)) = fault {
                    self.note_element(key, at, write.unwrap_or(NONE), name, level);
                }
            }
        }
        for write in 0..self.ledger.writes.len() as u32 {
            let (key, writer) = (self.ledger.writes[write as usize].key, self.ledger.writer(write));
            if self.place[write as usize] == NONE && self.ledger.fate[writer as usize].counts() {
                self.keys[key as usize].unseen.push(write);
            }
        }
        for versions in &mut self.keys {
            let count = versions.writes.len();
            (versions.last, versions.next) = (vec![NONE; count + 1], vec![NONE; count + 1]);
            for (at, write) in versions.writes.iter().enumerate() {
                let before = versions.last[at];
                versions.last[at + 1] = if *write == NONE { before } else { *write };
            }
            for (at, write) in versions.writes.iter().enumerate().rev() {
                let after = versions.next[at + 1];
                versions.next[at] = if *write == NONE { after } else { *write };
            }
        }
    }

    /// Records an anomaly at an element of the longest list.
    fn note_element(&mut self, key: u32, at: usize, write: u32, name: &str, level: Level) {
        let Versions { longest, reader, .. } = self.keys[key as usize];
        let (value, text) = (&longest[at], self.ledger.key_text(key));
        let writer = self.ledger.writer(write);
        let (text, part) = match name {
            "garbage" => (
                format!("T{reader} read {value:?} in {text}, and nobody appended it"),
                vec![reader],
            ),
            "duplicate" => (
                format!("T{reader} read {value:?} twice in {text}, and T{writer} appended it once"),
                vec![writer, reader],
            ),
            _ => (
                format!(
                    "T{reader} read {value:?} of {text}, which T{writer} appended, and aborted"
                ),
                vec![writer, reader],
            ),
        };
        self.note(direct(name, level, &part, text));
        let (name, level) = ("dirty update", Level::ReadCommitted);
        let later = longest.get(at + 1).and_then(|value| self.ledger.write(key, value));
        let Some(later) = later.filter(|_| level == Level::ReadCommitted) else { return };
        let heir = self.ledger.writer(later);
        if write == NONE
            || self.ledger.fate[writer as usize] != TransactionFate::Aborted
            || !self.ledger.fate[heir as usize].counts()
        {
            return;
        }
        let text = format!(
            "T{heir} appended {} to {} right after {value:?} of T{writer}, which aborted",
            self.ledger.value_text(later),
            self.ledger.key_text(key),
        );
        self.note(direct(name, level, &[writer, heir], text));
    }

    fn note(&mut self, finding: IsolationAnomaly) {
        self.direct.note(finding);
    }

    /// Checks each transaction separately, and collects the reads that add edges.
    fn judge_transactions(&mut self, unfit: &Table<(u32, u32), ()>) {
        let mut updates: Table<(u32, u32), u32> = Table::default();
        // For the current transaction and each key: the last list read, its own appends, and the
        // number of appends before that read.
        let mut own: Table<u32, ListEffects<'h, V>> = Table::default();
        for transaction in 0..self.ledger.len() as u32 {
            if !self.ledger.fate[transaction as usize].counts() {
                continue;
            }
            own.clear();
            let mut found: Vec<(u32, Vec<u32>, &str, Level, String)> = Vec::new();
            let mut touched: Vec<u32> = Vec::new();
            for item in self.ledger.items(transaction) {
                match item {
                    TransactionItem::Write(write) => {
                        let key = self.ledger.writes[*write as usize].key;
                        let own = own.entry(key).or_insert_with(|| {
                            touched.push(key);
                            ListEffects::default()
                        });
                        own.appends.push(*write);
                    }
                    TransactionItem::Read(key, list) => {
                        let own = own.entry(*key).or_insert_with(|| {
                            touched.push(*key);
                            ListEffects::default()
                        });
                        let list: &'h [V] = list;
                        if let Some(text) = self.internal(transaction, *key, list, own) {
                            let name = "internal";
                            let part = vec![transaction];
                            found.push((*key, part, name, Level::SnapshotIsolation, text));
                        }
                        let appends = own.appends.len();
                        own.read = Some((list, appends));
                        if unfit.contains_key(&(transaction, *key)) {
                            continue;
                        }
                        self.reads.push((transaction, *key, list.len() as u32));
                        let versions = &self.keys[*key as usize];
                        own.first.get_or_insert((list.len(), appends));
                        own.base = Some(self.base(transaction, *key, list.len()));
                        let last = list.len().checked_sub(1).map_or(NONE, |at| versions.writes[at]);
                        let writer = self.ledger.writer(last);
                        if writer == NONE || writer == transaction {
                            continue;
                        }
                        if let Some(later) = self.later_append(last) {
                            let text = format!(
                                "T{transaction} read {} of {} last, but T{writer} appended {} to it \
                                 too before it committed",
                                self.ledger.value_text(last),
                                self.ledger.key_text(*key),
                                self.ledger.value_text(later),
                            );
                            let part = vec![writer, transaction];
                            found.push((*key, part, "G1b", Level::ReadCommitted, text));
                        }
                    }
                }
            }
            for key in touched {
                let ListEffects { base, appends, first, .. } = &own[&key];
                let (length, made) = first.unwrap_or((0, 0));
                let early = |write: &&u32| (self.place[**write as usize] as usize) < length;
                if let Some(early) = appends[made..].iter().find(early) {
                    let text = format!(
                        "T{transaction} read {} of {} before it appended it",
                        self.ledger.value_text(*early),
                        self.ledger.key_text(key),
                    );
                    let part = vec![transaction];
                    found.push((key, part, "internal", Level::SnapshotIsolation, text));
                }
                if let Some((first, second)) = self.misplaced(appends) {
                    let text = format!(
                        "T{transaction} appended {} to {key} before {}, and T{} read the second \
                         without the first before it",
                        self.ledger.value_text(first),
                        self.ledger.value_text(second),
                        self.keys[key as usize].reader,
                        key = self.ledger.key_text(key),
                    );
                    let part = vec![self.keys[key as usize].reader, transaction];
                    found.push((key, part, "incompatible order", Level::ReadCommitted, text));
                }
                let Some(base) = base.filter(|_| !appends.is_empty()) else { continue };
                let Some(other) = updates.insert((key, base), transaction) else { continue };
                let state = match base {
                    NONE => "when it was empty".to_owned(),
                    base => format!("up to {}", self.ledger.value_text(base)),
                };
                let text = format!(
                    "T{other} and T{transaction} both read {} {state} and appended to it: neither \
                     saw the append of the other",
                    self.ledger.key_text(key)
                );
                let part = vec![other, transaction];
                found.push((key, part, "lost update", Level::SnapshotIsolation, text));
            }
            for (_, part, name, level, text) in found {
                self.note(direct(name, level, &part, text));
            }
        }
    }

    /// Returns the contradiction between a read and the earlier calls of its transaction, if any.
    fn internal(
        &self,
        transaction: u32,
        key: u32,
        list: &[V],
        own: &ListEffects<'_, V>,
    ) -> Option<String> {
        let since = own.read.map_or(0, |(_, appends)| appends);
        let tail = &own.appends[since..];
        let values = || tail.iter().map(|write| self.ledger.writes[*write as usize].value);
        let ends = list.len() >= tail.len() && list[list.len() - tail.len()..].iter().eq(values());
        let begins = own.read.is_none_or(|(read, _)| {
            list.len() == read.len() + tail.len() && list.starts_with(read)
        });
        (!ends || !begins).then(|| {
            let known = match own.read {
                Some((read, _)) => format!("it had read {read:?} before"),
                None => "it had not read it before".to_owned(),
            };
            let appended: Vec<String> = values().map(|value| format!("{value:?}")).collect();
            let key = self.ledger.key_text(key);
            format!(
                "T{transaction} read {list:?} of {key}, although {known} and had since appended \
                 [{}] to it",
                appended.join(", ")
            )
        })
    }

    /// Returns the last version among the first `count` elements that is below the transaction's
    /// own appends.
    pub(super) fn base(&self, transaction: u32, key: u32, count: usize) -> u32 {
        let versions = &self.keys[key as usize];
        let mut at = count;
        loop {
            let last = versions.last[at];
            if last == NONE || self.ledger.writer(last) != transaction {
                return last;
            }
            at = self.place[last as usize] as usize;
        }
    }

    /// Returns a later append of the same transaction to the same key, if any.
    pub(super) fn later_append(&self, write: u32) -> Option<u32> {
        // Writes are numbered by transaction, then by their order in the transaction.
        let Write { key, transaction } = self.write(write);
        (write + 1..self.ledger.writes.len() as u32)
            .map(|later| (later, self.write(later)))
            .take_while(|(_, later)| later.transaction == transaction)
            .find(|(_, later)| later.key == key)
            .map(|(later, _)| later)
    }

    pub(super) fn write(&self, write: u32) -> Write {
        let write = &self.ledger.writes[write as usize];
        Write { key: write.key, transaction: write.transaction }
    }

    /// Returns two appends of a transaction to one key that appear in the wrong order in the list,
    /// if any.
    fn misplaced(&self, appends: &[u32]) -> Option<(u32, u32)> {
        appends.windows(2).map(|pair| (pair[0], pair[1])).find(|(first, second)| {
            let (first, second) = (self.place[*first as usize], self.place[*second as usize]);
            // `NONE` is greater than every position: appends that were never read come last.
            second != NONE && first > second
        })
    }
}

pub(super) struct Write {
    pub(super) key: u32,
    pub(super) transaction: u32,
}

/// The effects of a transaction on a key up to the current call.
struct ListEffects<'h, V> {
    /// The last list read, and the number of appends before that read.
    read: Option<(&'h [V], usize)>,
    /// For the first read that adds edges: the list length, and the number of appends before that
    /// read.
    first: Option<(usize, usize)>,
    base: Option<u32>,
    appends: Vec<u32>,
}

impl<V> Default for ListEffects<'_, V> {
    fn default() -> Self {
        ListEffects { read: None, first: None, base: None, appends: Vec::new() }
    }
}
