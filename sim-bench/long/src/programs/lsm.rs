//! A log-structured merge tree: a memtable, two flushers, two levels, a compaction, and concurrent readers. Two flushes
//! may end in the other order, so each version has a number, and a read takes the newest.
//! Planted bug: a compaction chooses its tables first, and then asks which flushes are pending. If a flush of older
//! data ends in between, the compaction drops a tombstone, and a deleted value comes back.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::task::yield_now;
use sim::{Condvar, Mutex};

const WRITERS: usize = 2;
const WRITES: usize = 100;
const FLUSHERS: usize = 2;
const READERS: usize = 2;
const READS: usize = 60;
const KEYS: u64 = 16;
/// One of this number of writes is a deletion.
const DELETIONS: u64 = 12;
/// A writer reads after one of this number of writes.
const PAUSES: u64 = 2;
/// The number of writes to a memtable.
const MEMTABLE: usize = 8;
/// The most memtables that wait for their flush.
const SEALED: usize = 4;
/// The number of tables in the first level that starts a compaction.
const LEVEL0: usize = 2;

/// The number of a version, and whether it is a value or a tombstone. The number is the value.
type Version = (u64, bool);
type Table = BTreeMap<u64, Version>;

#[derive(Default)]
struct Tree {
    /// The number of the last version.
    last: u64,
    memtable: Table,
    /// The number of writes to the memtable.
    writes: usize,
    /// The full memtables, oldest first, and whether a flusher has taken them.
    sealed: Vec<(Arc<Table>, bool)>,
    level0: Vec<Arc<Table>>,
    level1: Arc<Table>,
    /// The number of writers that have not ended.
    writers: usize,
    /// For the check: the newest version of each key.
    newest: Table,
    /// For the marks: tables flushed so far.
    flushes: u64,
}

impl Tree {
    fn write(&mut self, key: u64, is_value: bool) {
        self.last += 1;
        self.memtable.insert(key, (self.last, is_value));
        self.newest.insert(key, (self.last, is_value));
        self.writes += 1;
        if self.writes == MEMTABLE {
            self.sealed.push((Arc::new(std::mem::take(&mut self.memtable)), false));
            self.writes = 0;
        }
    }

    /// The number of the oldest version that still waits for its flush.
    fn oldest_pending(&self) -> u64 {
        let versions = self.sealed.iter().flat_map(|(table, _)| table.values());
        versions.map(|(number, _)| *number).min().unwrap_or(u64::MAX)
    }
}

struct Store {
    tree: Mutex<Tree>,
    changed: Condvar,
    fixed: bool,
}

impl Store {
    async fn write(self: Arc<Self>) {
        for _ in 0..WRITES {
            let (key, is_value) = (sim::rand::below(KEYS), sim::rand::below(DELETIONS) > 0);
            let tree = self.tree.lock().await;
            let mut tree = self.changed.wait_while(tree, |tree| tree.sealed.len() == SEALED).await;
            tree.write(key, is_value);
            if tree.writes == 0 {
                self.changed.notify_all();
            }
            drop(tree);
            if sim::rand::below(PAUSES) == 0 {
                self.read(sim::rand::below(KEYS)).await;
            }
        }
        self.tree.lock().await.writers -= 1;
        self.changed.notify_all();
    }

    /// Writes sealed memtables to the first level.
    async fn flush(self: Arc<Self>) {
        loop {
            let is_idle = |tree: &mut Tree| {
                tree.sealed.iter().all(|(_, is_taken)| *is_taken) && tree.writers > 0
            };
            let mut tree = self.changed.wait_while(self.tree.lock().await, is_idle).await;
            let Some((table, is_taken)) = tree.sealed.iter_mut().find(|(_, is_taken)| !is_taken)
            else {
                return;
            };
            *is_taken = true;
            let table = table.clone();
            drop(tree);
            for _ in table.keys() {
                yield_now().await;
            }
            let mut tree = self.tree.lock().await;
            let is_oldest = Arc::ptr_eq(&tree.sealed[0].0, &table);
            crate::sometimes!(!is_oldest, "a flush overtakes an older one");
            tree.sealed.retain(|(other, _)| !Arc::ptr_eq(other, &table));
            tree.level0.push(table);
            tree.flushes += 1;
            crate::watermark!(tree.flushes, "flushes");
            self.changed.notify_all();
        }
    }

    /// Merges the first level into the second.
    async fn compact(self: Arc<Self>) {
        loop {
            let is_idle = |tree: &mut Tree| {
                let may_grow = tree.writers > 0 || !tree.sealed.is_empty();
                tree.level0.len() < LEVEL0 && may_grow
            };
            let tree = self.changed.wait_while(self.tree.lock().await, is_idle).await;
            if tree.level0.len() < LEVEL0 {
                return;
            }
            let (inputs, below) = (tree.level0.clone(), tree.level1.clone());
            let mut oldest = tree.oldest_pending();
            drop(tree);
            if !self.fixed {
                oldest = self.tree.lock().await.oldest_pending();
            }
            let mut merged = Table::clone(&below);
            for table in &inputs {
                yield_now().await;
                for (key, version) in table.iter() {
                    let newest = merged.entry(*key).or_default();
                    *newest = (*newest).max(*version);
                }
            }
            let all = merged.len();
            // A tombstone is necessary while an older version may still come.
            merged.retain(|_, (number, is_value)| *is_value || *number > oldest);
            let kept = merged.values().filter(|(_, is_value)| !is_value).count();
            crate::sometimes_each!((inputs.len(), kept > 0, all > merged.len()), "compactions");
            let mut tree = self.tree.lock().await;
            tree.level0.retain(|table| !inputs.iter().any(|input| Arc::ptr_eq(input, table)));
            tree.level1 = Arc::new(merged);
            self.changed.notify_all();
        }
    }

    async fn read(&self, key: u64) {
        let tree = self.tree.lock().await;
        crate::sometimes_each!((tree.sealed.len(), tree.level0.len()), "tables seen by a reader");
        let mut found = tree.memtable.get(&key).copied();
        let sealed = tree.sealed.iter().map(|(table, _)| table);
        let tables = sealed.chain(&tree.level0).chain([&tree.level1]).cloned().collect::<Vec<_>>();
        let newest = tree.newest.get(&key).copied();
        drop(tree);
        for table in tables {
            yield_now().await;
            found = found.max(table.get(&key).copied());
        }
        let value = |version: Option<Version>| version.filter(|(_, is_value)| *is_value);
        assert_eq!(value(found), value(newest), "a read of {key} returns another value");
    }
}

pub(crate) async fn body(fixed: bool) {
    let tree = Mutex::new(Tree { writers: WRITERS, ..Tree::default() });
    let store = Arc::new(Store { tree, changed: Condvar::new(), fixed });
    let mut tasks = vec![sim::spawn(store.clone().compact())];
    tasks.extend((0..FLUSHERS).map(|_| sim::spawn(store.clone().flush())));
    tasks.extend((0..WRITERS).map(|_| sim::spawn(store.clone().write())));
    for _ in 0..READERS {
        let store = store.clone();
        tasks.push(sim::spawn(async move {
            for _ in 0..READS {
                store.read(sim::rand::below(KEYS)).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for key in 0..KEYS {
        store.read(key).await;
    }
}
