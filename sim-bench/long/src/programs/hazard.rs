//! Readers pin an epoch while they use items of an arena, and writers retire the items that they replace. Planted bug:
//! a guard inside another guard announces the epoch again, so the epoch can advance twice under the outer guard.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::{Atomic, Mutex};

const READERS: usize = 3;
const WRITERS: u64 = 2;
/// The number of reads of each reader.
const READS: usize = 34;
/// The number of writes of each writer.
const WRITES: u64 = 50;
const SLOTS: u64 = 4;
const ITEMS: usize = 20;
/// The number of times that a reader looks at its item again.
const LOOKS: usize = 2;
/// One of this many reads also reads a second slot, under a guard of its own.
const NESTED: u64 = 12;
/// One of this many writes tries to advance the epoch.
const COLLECT: u64 = 3;

/// Epochs are counted modulo this number.
const EPOCHS: u64 = 3;
/// The value of an item that is free.
const FREE: u64 = 0;
/// The announcement of a reader without a guard. Other announcements are an epoch plus 1.
const NONE: u64 = 0;

/// The state that only the holder of the lock may change.
struct Limbo {
    free: Vec<usize>,
    /// The items that were retired in each epoch.
    retired: [Vec<usize>; EPOCHS as usize],
    /// The number of times that the epoch has advanced.
    advances: u64,
}

struct Domain {
    fixed: bool,
    epoch: Atomic<u64>,
    announced: Vec<Atomic<u64>>,
    /// The item of each slot.
    slots: Vec<Atomic<usize>>,
    /// The values of the items. The remainder modulo `SLOTS` is the slot.
    arena: Vec<Atomic<u64>>,
    limbo: Mutex<Limbo>,
}

/// The guards of a reader.
#[derive(Default)]
struct Guards {
    reader: usize,
    depth: usize,
    /// The epoch in which the outer guard began.
    epoch: u64,
}

impl Domain {
    fn new(fixed: bool) -> Domain {
        let value = |item: u64| if item < SLOTS { SLOTS + item } else { FREE };
        let free = (SLOTS as usize..ITEMS).collect();
        Domain {
            fixed,
            epoch: Atomic::new(0).named("epoch"),
            announced: (0..READERS).map(|_| Atomic::new(NONE).named("announced")).collect(),
            slots: (0..SLOTS as usize).map(|item| Atomic::new(item).named("slot")).collect(),
            arena: (0..ITEMS as u64).map(|item| Atomic::new(value(item)).named("item")).collect(),
            limbo: Mutex::new(Limbo { free, retired: Default::default(), advances: 0 }),
        }
    }

    async fn pin(&self, guards: &mut Guards) {
        guards.depth += 1;
        // Fixed: the announcement of the outer guard remains.
        if self.fixed && guards.depth > 1 {
            return;
        }
        loop {
            let epoch = self.epoch.load(SeqCst).await;
            self.announced[guards.reader].store(epoch + 1, SeqCst).await;
            // The epoch may have advanced before the announcement.
            if self.epoch.load(SeqCst).await == epoch {
                if guards.depth == 1 {
                    guards.epoch = epoch;
                }
                return;
            }
        }
    }

    async fn unpin(&self, guards: &mut Guards) {
        guards.depth -= 1;
        if guards.depth == 0 {
            self.announced[guards.reader].store(NONE, SeqCst).await;
        }
    }

    /// Returns the item of a slot and its value. Needs a guard.
    async fn item(&self, slot: u64) -> (usize, u64) {
        let item = self.slots[slot as usize].load(SeqCst).await;
        let value = self.arena[item].load(SeqCst).await;
        assert_ne!(value, FREE, "item {item} of slot {slot} is free");
        assert_eq!(value % SLOTS, slot, "item {item} belongs to another slot");
        (item, value)
    }

    async fn read(&self, reader: usize) {
        let mut guards = Guards { reader, ..Guards::default() };
        for _ in 0..READS {
            self.pin(&mut guards).await;
            let slot = sim::rand::below(SLOTS);
            let (item, value) = self.item(slot).await;
            let is_nested = sim::rand::below(NESTED) == 0;
            if is_nested {
                self.pin(&mut guards).await;
                self.item((slot + 1) % SLOTS).await;
                self.unpin(&mut guards).await;
            }
            for _ in 0..LOOKS {
                let now = self.arena[item].load(SeqCst).await;
                assert_eq!(now, value, "item {item} was used again during a read");
            }
            let passed = (self.epoch.peek() + EPOCHS - guards.epoch) % EPOCHS;
            crate::sometimes_each!((is_nested, passed), "epochs that begin during a read");
            self.unpin(&mut guards).await;
        }
    }

    async fn write(&self, writer: u64) {
        for write in 0..WRITES {
            let item = self.limbo.lock().await.free.pop();
            crate::sometimes!(item.is_none(), "the arena is exhausted");
            let old = match item {
                Some(item) => {
                    let slot = sim::rand::below(SLOTS);
                    let value = (writer * WRITES + write + 2) * SLOTS + slot;
                    self.arena[item].store(value, SeqCst).await;
                    Some(self.slots[slot as usize].swap(item, SeqCst).await)
                }
                None => None,
            };
            let mut limbo = self.limbo.lock().await;
            if let Some(old) = old {
                let epoch = self.epoch.load(SeqCst).await;
                limbo.retired[epoch as usize].push(old);
            }
            if sim::rand::below(COLLECT) == 0 {
                self.collect(&mut limbo).await;
            }
        }
    }

    /// Advances the epoch unless a guard is behind, and frees the items that were retired two epochs ago.
    async fn collect(&self, limbo: &mut Limbo) {
        let epoch = self.epoch.load(SeqCst).await;
        for announced in &self.announced {
            let seen = announced.load(SeqCst).await;
            let is_behind = seen != NONE && seen != epoch + 1;
            crate::sometimes!(is_behind, "a guard holds up the epoch");
            if is_behind {
                return;
            }
        }
        self.epoch.store((epoch + 1) % EPOCHS, SeqCst).await;
        limbo.advances += 1;
        crate::watermark!(limbo.advances, "epochs");
        // The epoch before this one.
        let old = (epoch + EPOCHS - 1) % EPOCHS;
        let retired = std::mem::take(&mut limbo.retired[old as usize]);
        crate::watermark!(retired.len() as u64, "items freed at once");
        for item in retired {
            self.arena[item].store(FREE, SeqCst).await;
            limbo.free.push(item);
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let domain = Arc::new(Domain::new(fixed));
    let mut tasks = Vec::new();
    for reader in 0..READERS {
        let domain = domain.clone();
        tasks.push(sim::spawn(async move { domain.read(reader).await }));
    }
    for writer in 0..WRITERS {
        let domain = domain.clone();
        tasks.push(sim::spawn(async move { domain.write(writer).await }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}
