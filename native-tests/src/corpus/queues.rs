//! Lock-free stacks, rings and deques.

use super::sync::atomic::{AtomicI64, Ordering::SeqCst};
use super::sync::{Arc, Mutex};
use super::{Program, Watched, on, together};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "treiber_aba", seeds: 600, buggy: || treiber(false), fixed: || treiber(true) },
    Program { name: "spsc_ring", seeds: 100, buggy: || spsc(false), fixed: || spsc(true) },
    Program {
        name: "disruptor",
        seeds: 100,
        buggy: || disruptor(false),
        fixed: || disruptor(true),
    },
    Program {
        name: "broadcast_lag",
        seeds: 400,
        buggy: || broadcast(false),
        fixed: || broadcast(true),
    },
    Program {
        name: "steal_last",
        seeds: 200,
        buggy: || steal_last(false),
        fixed: || steal_last(true),
    },
];

const NODES: usize = 3;
const TRIES: usize = 6;
/// The factor of the tag in a word. The remainder is the node; 0 means no node.
const TAG: i64 = 16;

/// Treiber's stack with reused nodes.
struct Stack {
    head: AtomicI64,
    next: [AtomicI64; NODES + 1],
    /// True if each change of the head uses a new tag.
    tagged: bool,
}

impl Stack {
    fn changed(&self, head: i64, node: i64) -> i64 {
        if self.tagged { (head / TAG + 1) * TAG + node } else { node }
    }

    fn pop(&self) -> Option<i64> {
        for _ in 0..TRIES {
            let head = self.head.load(SeqCst);
            let node = head % TAG;
            if node == 0 {
                return None;
            }
            let next = self.next[node as usize].load(SeqCst);
            let new = self.changed(head, next);
            if self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok() {
                return Some(node);
            }
        }
        None
    }

    /// Pushes a node. Returns `true` if this succeeded within the allowed number of attempts.
    fn push(&self, node: i64) -> bool {
        (0..TRIES).any(|_| {
            let head = self.head.load(SeqCst);
            self.next[node as usize].store(head % TAG, SeqCst);
            let new = self.changed(head, node);
            self.head.compare_exchange(head, new, SeqCst, SeqCst).is_ok()
        })
    }
}

/// The compare-exchange of a slow pop succeeds although the head was removed and pushed again (ABA). Fixed: the head
/// has a tag that every change increments.
fn treiber(fixed: bool) {
    let next = [0, 2, 3, 0].map(AtomicI64::new);
    let stack = Stack { head: AtomicI64::new(1), next, tagged: fixed };
    let shared = Arc::new((stack, Mutex::new(Vec::new())));
    let slow = on(&shared, |(stack, held)| {
        let taken = stack.pop();
        held.lock().unwrap().extend(taken);
    });
    let quick = on(&shared, |(stack, held)| {
        let first = stack.pop();
        let mut mine = Vec::from_iter(stack.pop());
        mine.extend(first.filter(|first| !stack.push(*first)));
        held.lock().unwrap().extend(mine);
    });
    together([slow, quick]);
    let (stack, held) = &*shared;
    let mut nodes = held.lock().unwrap().clone();
    while let Some(node) = stack.pop() {
        nodes.push(node);
        assert!(nodes.len() <= NODES, "a node is in two places: {nodes:?}");
    }
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2, 3], "each node is held once or in the stack once");
}

/// A ring for one producer and one consumer that announces an item before it writes the item. Fixed: the slot is
/// written first.
fn spsc(fixed: bool) {
    const ITEMS: i64 = 3;
    #[derive(Default)]
    struct Ring {
        slots: [AtomicI64; 2],
        head: Watched,
        tail: Watched,
    }
    let ring = Arc::new(Ring::default());
    let producer = on(&ring, move |Ring { slots, head, tail }| {
        for item in 1..=ITEMS {
            head.wait(|head| item - 1 - head < 2);
            let slot = &slots[(item - 1) as usize % 2];
            if fixed {
                slot.store(item, SeqCst);
            }
            tail.store(item);
            if !fixed {
                slot.store(item, SeqCst);
            }
        }
    });
    let consumer = on(&ring, |Ring { slots, head, tail }| {
        for item in 1..=ITEMS {
            tail.wait(|tail| tail >= item);
            assert_eq!(slots[(item - 1) as usize % 2].load(SeqCst), item);
            head.store(item);
        }
    });
    together([producer, consumer]);
}

/// A ring whose producers claim slots one by one and publish them in any order, similar to the Disruptor. Fixed: a
/// producer waits until the previous slot is published.
fn disruptor(fixed: bool) {
    const PRODUCERS: usize = 3;
    struct Ring {
        claimed: AtomicI64,
        slots: [AtomicI64; PRODUCERS],
        /// The last published slot.
        cursor: Watched,
    }
    let ring = Arc::new(Ring {
        claimed: AtomicI64::new(0),
        slots: [const { AtomicI64::new(0) }; PRODUCERS],
        cursor: Watched::new(-1),
    });
    let producer = |_| {
        on(&ring, move |Ring { claimed, slots, cursor }| {
            let slot = claimed.fetch_add(1, SeqCst);
            slots[slot as usize].store(1, SeqCst);
            if fixed {
                cursor.wait(|cursor| cursor == slot - 1);
            }
            cursor.store(slot);
        })
    };
    let consumer = on(&ring, |Ring { slots, cursor, .. }| {
        let mut next = 0;
        for _ in 0..2 {
            if next == PRODUCERS as i64 {
                return;
            }
            let last = cursor.wait(|cursor| cursor >= next);
            while next <= last {
                let item = slots[next as usize].load(SeqCst);
                assert_eq!(item, 1, "slot {next} was published before it was filled");
                next += 1;
            }
        }
    });
    together((0..PRODUCERS).map(producer).chain([consumer]));
}

/// A ring that overwrites unread items of slow receivers. An item may be overwritten while a receiver reads it. Fixed:
/// the receiver reads the position again after the value.
fn broadcast(fixed: bool) {
    const CAPACITY: usize = 2;
    #[derive(Default)]
    struct Slot {
        position: AtomicI64,
        value: AtomicI64,
    }
    #[derive(Default)]
    struct Ring {
        slots: [Slot; CAPACITY],
        tail: Watched,
    }
    let ring = Arc::new(Ring::default());
    let sender = on(&ring, |ring| {
        for item in 0..3 {
            let slot = &ring.slots[item as usize % CAPACITY];
            slot.position.store(-1, SeqCst);
            slot.value.store(100 + item, SeqCst);
            slot.position.store(item, SeqCst);
            ring.tail.store(item + 1);
        }
    });
    let receiver = on(&ring, move |ring| {
        let mut next = 0;
        for _ in 0..3 {
            if next == 3 {
                return;
            }
            ring.tail.wait(|tail| tail > next);
            let slot = &ring.slots[next as usize % CAPACITY];
            if slot.position.load(SeqCst) != next {
                // The item was overwritten: continue with the last item.
                next = ring.tail.load() - 1;
                continue;
            }
            let value = slot.value.load(SeqCst);
            if fixed && slot.position.load(SeqCst) != next {
                continue;
            }
            assert_eq!(value, 100 + next, "another item than the one asked for");
            next += 1;
        }
    });
    together([sender, receiver]);
}

/// A deque whose owner takes the last item without coordination with thieves (Chase and Lev, SPAA 2005). Fixed: the
/// owner uses a compare-exchange.
fn steal_last(fixed: bool) {
    struct Deque {
        top: AtomicI64,
        bottom: AtomicI64,
        taken: [AtomicI64; 2],
    }
    let deque = Arc::new(Deque {
        top: AtomicI64::new(0),
        bottom: AtomicI64::new(2),
        taken: [const { AtomicI64::new(0) }; 2],
    });
    let owner = on(&deque, move |Deque { top, bottom, taken }| {
        for _ in 0..2 {
            let last = bottom.load(SeqCst) - 1;
            bottom.store(last, SeqCst);
            let first = top.load(SeqCst);
            if first < last {
                taken[last as usize].fetch_add(1, SeqCst);
                continue;
            }
            bottom.store(last + 1, SeqCst);
            let mine = !fixed || top.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok();
            if first == last && mine {
                taken[last as usize].fetch_add(1, SeqCst);
            }
            return;
        }
    });
    let thief = on(&deque, |Deque { top, bottom, taken }| {
        let first = top.load(SeqCst);
        if first < bottom.load(SeqCst)
            && top.compare_exchange(first, first + 1, SeqCst, SeqCst).is_ok()
        {
            taken[first as usize].fetch_add(1, SeqCst);
        }
    });
    together([owner, thief]);
    for item in &deque.taken {
        assert!(item.load(SeqCst) <= 1, "an item is taken twice");
    }
}
