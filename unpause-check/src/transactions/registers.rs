//! The versions of each register, their readers, and the known part of the version order.
//!
//! A version has the number of its write. The numbers after all writes are the initial states, one for each key.

use std::fmt::Debug;
use std::hash::Hash;

use super::anomalies::{DirectAnomalies, IsolationAnomaly, Level, direct};
use super::graph::NONE;
use super::ledger::{Ledger, TransactionFate, TransactionItem, Unusable};
use super::order::OrderProblem;
use super::{RegisterCall, RegisterTransaction};
use crate::hash::Table;
use crate::limits::Meter;

/// A history of transactions on registers.
pub(super) struct Registers<'h, K, V> {
    pub(super) ledger: Ledger<'h, K, V, Option<V>>,
    pub(super) direct: DirectAnomalies,
    /// The reads of versions of other transactions, as transaction and version, sorted by transaction.
    pub(super) reads: Vec<(u32, u32)>,
    /// For each write, true if it is the last write of its transaction to its key.
    is_final: Vec<bool>,
    /// For each version, its direct successors.
    heirs: Vec<Vec<u32>>,
}

/// The effects of a transaction on a key up to the current call.
#[derive(Clone, Copy)]
struct RegisterEffects {
    /// The version that the transaction read or wrote last.
    now: u32,
    /// The version that the transaction read before it wrote.
    read: u32,
    /// The last write of the transaction.
    write: u32,
}

impl<'h, K, V> Registers<'h, K, V>
where
    K: Hash + Eq + Debug,
    V: Hash + Eq + Debug,
{
    pub(super) fn new(history: &'h [RegisterTransaction<K, V>]) -> Result<Self, Unusable> {
        let ledger = Ledger::new(history, |call| match call {
            RegisterCall::Write(key, value) => (key, Some(value)),
            RegisterCall::Read(key) => (key, None),
        })?;
        let mut registers = Registers {
            is_final: vec![false; ledger.writes.len()],
            heirs: vec![Vec::new(); ledger.writes.len() + ledger.keys.len()],
            ledger,
            direct: DirectAnomalies::default(),
            reads: Vec::new(),
        };
        registers.mark();
        registers.judge();
        registers.find_heirs();
        Ok(registers)
    }

    pub(super) fn versions(&self) -> usize {
        self.heirs.len()
    }

    pub(super) fn heirs(&self, version: u32) -> &[u32] {
        &self.heirs[version as usize]
    }

    /// Returns the write that created a version; [`NONE`] for an initial version.
    pub(super) fn write_of(&self, version: u32) -> u32 {
        if (version as usize) < self.ledger.writes.len() { version } else { NONE }
    }

    fn initial(&self, key: u32) -> u32 {
        self.ledger.writes.len() as u32 + key
    }

    /// Marks the last writes, and the transactions whose writes were read.
    fn mark(&mut self) {
        let mut last: Table<u32, u32> = Table::default();
        let mut seen = Vec::new();
        for transaction in 0..self.ledger.len() as u32 {
            last.clear();
            for item in self.ledger.items(transaction) {
                match item {
                    TransactionItem::Write(write) => {
                        let key = self.ledger.writes[*write as usize].key;
                        if let Some(before) = last.insert(key, *write) {
                            self.is_final[before as usize] = false;
                        }
                        self.is_final[*write as usize] = true;
                    }
                    TransactionItem::Read(key, value) => {
                        seen.extend(
                            value.as_ref().and_then(|value| self.ledger.write(*key, value)),
                        );
                    }
                }
            }
        }
        seen.into_iter().for_each(|write| self.ledger.mark_read(write));
    }

    /// Checks each transaction separately, and collects the reads that add edges.
    fn judge(&mut self) {
        let mut own: Table<u32, RegisterEffects> = Table::default();
        let mut updates: Table<u32, u32> = Table::default();
        let mut found: Vec<IsolationAnomaly> = Vec::new();
        for transaction in self.ledger.committed() {
            own.clear();
            for item in self.ledger.items(transaction) {
                match item {
                    TransactionItem::Write(write) => {
                        let key = self.ledger.writes[*write as usize].key;
                        let fresh = RegisterEffects { now: NONE, read: NONE, write: NONE };
                        let own = own.entry(key).or_insert(fresh);
                        let first = own.write == NONE;
                        (own.now, own.write) = (*write, *write);
                        let read = own.read;
                        // Only the first write of a transaction after its read replaces the version read.
                        if !first || read == NONE {
                            continue;
                        }
                        if let Some(other) = updates.insert(read, transaction) {
                            let text = format!(
                                "T{other} and T{transaction} both read {} of {} and wrote it: \
                                 neither saw the write of the other",
                                self.version_text(read),
                                self.ledger.key_text(key)
                            );
                            let (name, level) = ("lost update", Level::SnapshotIsolation);
                            found.push(direct(name, level, &[other, transaction], text));
                        }
                    }
                    TransactionItem::Read(key, value) => {
                        let Ok(version) = self.read(transaction, *key, value.as_ref(), &mut found)
                        else {
                            continue;
                        };
                        let mine = self.ledger.writer(self.write_of(version)) == transaction;
                        let known = own.get(key).map(|own| own.now);
                        if known.is_some_and(|known| known != version) || (mine && known.is_none())
                        {
                            let known = known.map_or_else(
                                || "not written it yet".to_owned(),
                                |known| {
                                    format!("read or written {} before", self.version_text(known))
                                },
                            );
                            let text = format!(
                                "T{transaction} read {} of {}, but it had {known}",
                                self.version_text(version),
                                self.ledger.key_text(*key),
                            );
                            let (name, level) = ("internal", Level::SnapshotIsolation);
                            found.push(direct(name, level, &[transaction], text));
                        }
                        if !mine {
                            self.reads.push((transaction, version));
                            let fresh =
                                RegisterEffects { now: version, read: version, write: NONE };
                            own.entry(*key).or_insert(fresh);
                        }
                    }
                }
            }
        }
        found.into_iter().for_each(|anomaly| self.direct.note(anomaly));
    }

    /// Returns the version read, or an error if it cannot order transactions.
    fn read(
        &self,
        transaction: u32,
        key: u32,
        value: Option<&'h V>,
        found: &mut Vec<IsolationAnomaly>,
    ) -> Result<u32, ()> {
        let Some(value) = value else { return Ok(self.initial(key)) };
        let text = || self.ledger.key_text(key);
        let Some(write) = self.ledger.write(key, value) else {
            let text = format!("T{transaction} read {value:?} of {}, and nobody wrote it", text());
            found.push(direct("garbage", Level::ReadUncommitted, &[transaction], text));
            return Err(());
        };
        let writer = self.ledger.writer(write);
        let part = [writer, transaction];
        if self.ledger.fate[writer as usize] == TransactionFate::Aborted {
            let text = format!(
                "T{transaction} read {value:?} of {}, which T{writer} wrote, and aborted",
                text()
            );
            found.push(direct("G1a", Level::ReadCommitted, &part, text));
            return Err(());
        }
        if writer != transaction && !self.is_final[write as usize] {
            let text = format!(
                "T{transaction} read {value:?} of {}, but T{writer} wrote it again before it \
                 committed",
                text()
            );
            found.push(direct("G1b", Level::ReadCommitted, &part, text));
        }
        Ok(write)
    }

    fn version_text(&self, version: u32) -> String {
        match self.write_of(version) {
            NONE => "nothing".to_owned(),
            write => self.ledger.value_text(write),
        }
    }

    /// Finds the direct successors of each version. Every write is a successor of the initial state. A transaction that
    /// reads a version and writes the key creates the next version; this holds from snapshot isolation on, and for
    /// weaker levels `rw` edges do not count.
    fn find_heirs(&mut self) {
        for write in 0..self.ledger.writes.len() as u32 {
            let (key, writer) = (self.ledger.writes[write as usize].key, self.ledger.writer(write));
            if self.is_final[write as usize] && self.ledger.fate[writer as usize].counts() {
                let initial = self.initial(key) as usize;
                self.heirs[initial].push(write);
            }
        }
        let mut finals: Table<(u32, u32), u32> = Table::default();
        for (number, write) in self.ledger.writes.iter().enumerate() {
            if self.is_final[number] {
                finals.insert((write.transaction, write.key), number as u32);
            }
        }
        for at in 0..self.reads.len() {
            let (transaction, version) = self.reads[at];
            let write = self.write_of(version);
            if write == NONE {
                continue;
            }
            let key = self.ledger.writes[write as usize].key;
            let heirs = &mut self.heirs[version as usize];
            if let Some(own) = finals.get(&(transaction, key)).filter(|own| !heirs.contains(own)) {
                heirs.push(*own);
            }
        }
    }

    /// Returns pairs of a version and a later write, inferred from time. If a transaction reads or writes a key after a
    /// version was read or written, in the order of the level, it has this version or a later version. The result is
    /// incomplete if the meter is over: with much overlap, it may be quadratic in the number of transactions.
    pub(super) fn inferred(&self, level: Level, meter: &mut Meter<'_>) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        if level < Level::StrongSessionSerializable {
            return pairs;
        }
        let touches = self.touches();
        // For each key, and for each client if time counts per client: the returns that no later return makes
        // redundant, each with the version at the end of its transaction.
        let mut lanes: Table<(u32, u32), Vec<(u64, u32)>> = Table::default();
        let strict = level == Level::StrictSerializable;
        for (transaction, back) in self.ledger.moments() {
            let client = if strict { 0 } else { self.ledger.client(transaction) };
            for touch in &touches[transaction as usize] {
                let lane = lanes.entry((touch.key, client)).or_default();
                if back {
                    let invoked = self.ledger.invoked(transaction);
                    lane.retain(|(end, _)| *end >= invoked);
                    lane.push((self.ledger.end(transaction), touch.left));
                    continue;
                }
                // Each pair becomes a link of about twenty bytes in two graphs, and is sorted once for each graph.
                const BYTES_EACH: usize = 128;
                if !meter.work(1 + lane.len() as u32 / 8) || !meter.hold(BYTES_EACH * pairs.len()) {
                    return pairs;
                }
                for &(_, left) in lane.iter() {
                    let later = if touch.found == NONE { touch.left } else { touch.found };
                    let write = self.write_of(later);
                    if write != NONE && left != later && pairs.last() != Some(&(left, write)) {
                        pairs.push((left, write));
                    }
                }
            }
        }
        pairs
    }

    /// For each transaction and key: the version that the transaction found, if it read before it wrote, and the
    /// version that it left.
    fn touches(&self) -> Vec<Vec<Touch>> {
        let mut touches: Vec<Vec<Touch>> = vec![Vec::new(); self.ledger.len()];
        for &(transaction, version) in &self.reads {
            let key = match self.write_of(version) {
                NONE => version - self.ledger.writes.len() as u32,
                write => self.ledger.writes[write as usize].key,
            };
            let list = &mut touches[transaction as usize];
            if !list.iter().any(|touch| touch.key == key) {
                list.push(Touch { key, found: version, left: version });
            }
        }
        for (number, write) in self.ledger.writes.iter().enumerate() {
            let counts = self.ledger.fate[write.transaction as usize].counts();
            if !counts || !self.is_final[number] {
                continue;
            }
            let (list, left) = (&mut touches[write.transaction as usize], number as u32);
            match list.iter_mut().find(|touch| touch.key == write.key) {
                Some(touch) => touch.left = left,
                None => list.push(Touch { key: write.key, found: NONE, left }),
            }
        }
        touches
    }

    /// Returns the input of the search for an order.
    pub(super) fn problem(&self) -> OrderProblem {
        let (ledger, count) = (&self.ledger, self.ledger.len());
        let mut key: Vec<u32> = ledger.writes.iter().map(|write| write.key).collect();
        key.extend(0..ledger.keys.len() as u32);
        let mut problem = OrderProblem {
            key,
            initial: (0..ledger.keys.len() as u32).map(|key| self.initial(key)).collect(),
            reads: vec![Vec::new(); count],
            writes: vec![Vec::new(); count],
            counts: ledger.fate.iter().map(|fate| fate.counts()).collect(),
            rank: (0..count as u32).map(|t| ledger.end(t)).collect(),
        };
        for &(transaction, version) in &self.reads {
            let reads = &mut problem.reads[transaction as usize];
            if !reads.contains(&version) {
                reads.push(version);
            }
        }
        for (number, write) in ledger.writes.iter().enumerate() {
            if self.is_final[number] && ledger.fate[write.transaction as usize].counts() {
                problem.writes[write.transaction as usize].push(number as u32);
            }
        }
        problem
    }
}

/// The versions of a key before and after a transaction.
#[derive(Clone, Copy)]
struct Touch {
    key: u32,
    found: u32,
    left: u32,
}
