//! A cache in shards, with counted references and clock eviction, whose removed entries stay while they are referenced
//! and come back if their key is inserted again. Planted bug: such an entry keeps only one of its earlier references.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::{Cell, Mutex};

const SHARDS: usize = 2;
/// The number of entries in a shard.
const ENTRIES: usize = 4;
const KEYS: u64 = 12;
const CLIENTS: usize = 3;
/// The number of operations of each client.
const ROUNDS: usize = 120;
/// One of this many operations removes a key.
const REMOVALS: u64 = 10;
const SNAPSHOTS: usize = 20;

#[derive(Default)]
struct Entry {
    /// `None` if the entry is free.
    key: Option<u64>,
    /// The number of tasks that may read the data.
    references: u64,
    /// True if it was used since the hand of the clock passed.
    is_used: bool,
    /// True if the key was removed while a task held a reference.
    is_removed: bool,
}

/// The state of a shard.
#[derive(Default)]
struct State {
    entries: [Entry; ENTRIES],
    /// The hand of the clock.
    hand: usize,
}

struct Shard {
    state: Mutex<State>,
    /// The data of each entry, read without the lock: here the key.
    data: [Cell<u64>; ENTRIES],
}

impl State {
    /// Returns the entry of a key, which may be removed.
    fn find(&self, key: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.key == Some(key))
    }

    /// Returns an entry without references that was not used lately, and moves the hand after it.
    fn evict(&mut self) -> Option<usize> {
        for _ in 0..=2 * ENTRIES {
            let number = self.hand;
            self.hand = (number + 1) % ENTRIES;
            let Entry { key, references, is_used, is_removed } = &mut self.entries[number];
            crate::sometimes_each!((*references, *is_used, *is_removed), "an entry under the hand");
            if *references > 0 {
                continue;
            }
            if key.is_none() || !std::mem::take(is_used) {
                return Some(number);
            }
        }
        None
    }
}

impl Shard {
    fn new() -> Shard {
        let data = [0; ENTRIES].map(|none| Cell::new(none).named("data"));
        Shard { state: Mutex::new(State::default()).named("shard"), data }
    }

    /// Returns a reference to the entry of a key.
    async fn get(&self, key: u64) -> Option<usize> {
        let mut state = self.state.lock().await;
        let number = state.find(key)?;
        let entry = &mut state.entries[number];
        if entry.is_removed {
            return None;
        }
        entry.references += 1;
        entry.is_used = true;
        crate::watermark!(entry.references, "references");
        Some(number)
    }

    /// Inserts a key, and returns a reference to its entry. Returns `None` if all entries are referenced.
    async fn insert(&self, key: u64, fixed: bool) -> Option<usize> {
        let mut state = self.state.lock().await;
        let found = state.find(key);
        if let Some(number) = found {
            let entry = &mut state.entries[number];
            crate::sometimes!(entry.is_removed, "a removed entry comes back");
            // Without the fix, only one task is expected to hold a removed entry: the snapshot.
            let is_reset = !fixed && entry.is_removed;
            entry.references = if is_reset { 2 } else { entry.references + 1 };
            (entry.is_used, entry.is_removed) = (true, false);
            return found;
        }
        let evicted = state.evict();
        crate::sometimes!(evicted.is_none(), "all entries are referenced");
        let number = evicted?;
        state.entries[number] =
            Entry { key: Some(key), references: 1, is_used: true, is_removed: false };
        self.data[number].set(key).await;
        Some(number)
    }

    async fn remove(&self, key: u64) {
        let mut state = self.state.lock().await;
        if let Some(number) = state.find(key) {
            let entry = &mut state.entries[number];
            entry.is_removed = true;
            crate::sometimes!(entry.references > 0, "a removed entry is still referenced");
            if entry.references == 0 {
                *entry = Entry::default();
            }
        }
    }

    async fn release(&self, number: usize) {
        let mut state = self.state.lock().await;
        let entry = &mut state.entries[number];
        entry.references = entry.references.saturating_sub(1);
        if entry.references == 0 && entry.is_removed {
            *entry = Entry::default();
        }
    }

    /// Reads the data of an entry, which must belong to this key, and gives the reference back.
    async fn read(&self, number: usize, key: u64, reader: &str) {
        let data = self.data[number].get().await;
        assert_eq!(data, key, "{reader} reads an entry that was evicted");
        self.release(number).await;
    }

    /// Reads all entries. A reference to each entry is acquired first.
    async fn snapshot(&self) {
        let mut held = Vec::new();
        let mut state = self.state.lock().await;
        for (number, entry) in state.entries.iter_mut().enumerate() {
            if let (Some(key), false) = (entry.key, entry.is_removed) {
                entry.references += 1;
                crate::watermark!(entry.references, "references");
                held.push((number, key));
            }
        }
        drop(state);
        for (number, key) in held {
            self.read(number, key, "a snapshot").await;
        }
    }
}

async fn run_client(shards: &[Shard], fixed: bool) {
    for _ in 0..ROUNDS {
        let key = sim::rand::below(KEYS);
        let shard = &shards[key as usize % SHARDS];
        if sim::rand::below(REMOVALS) == 0 {
            shard.remove(key).await;
            continue;
        }
        let mut number = shard.get(key).await;
        if number.is_none() {
            number = shard.insert(key, fixed).await;
        }
        if let Some(number) = number {
            shard.read(number, key, "a client").await;
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let shards: Arc<[Shard]> = (0..SHARDS).map(|_| Shard::new()).collect();
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let shards = shards.clone();
        tasks.push(sim::spawn(async move { run_client(&shards, fixed).await }));
    }
    let read = shards.clone();
    tasks.push(sim::spawn(async move {
        for _ in 0..SNAPSHOTS {
            for shard in read.iter() {
                shard.snapshot().await;
            }
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
    for shard in shards.iter() {
        let state = shard.state.lock().await;
        let held = state.entries.iter().filter(|entry| entry.references > 0).count();
        assert_eq!(held, 0, "an entry has a reference that nobody holds");
    }
}
