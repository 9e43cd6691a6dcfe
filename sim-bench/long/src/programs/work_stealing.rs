//! The deque of Chase and Lev: the owner pushes and pops at the bottom, thieves steal at the top, and a full buffer is
//! replaced by a larger one. Planted bug: a thief that saw one element does not check that the buffer is still in use.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Atomic;
use sim::Ordering::SeqCst;
use sim::time::{Duration, sleep};

const THIEVES: usize = 3;
/// The number of steals that each thief tries.
const STEALS: usize = 40;
/// A thief waits for at most this many milliseconds before a steal.
const PAUSE: u64 = 4;
/// The number of rounds of the owner. In a round, the owner only pushes, or only pops.
const ROUNDS: usize = 80;
/// The largest number of pushes or pops in a round.
const BURST: u64 = 3;

/// The logarithms of the smallest and the largest capacity.
const SMALLEST: u64 = 1;
const LARGEST: u64 = 5;

/// The value of a place in a buffer that is no longer in use. Elements are greater.
const FREED: u64 = 0;

struct Deque {
    fixed: bool,
    /// The index of the oldest element.
    top: Atomic<i64>,
    /// The index after the newest element.
    bottom: Atomic<i64>,
    /// The buffer in use.
    buffer: Atomic<u64>,
    /// The memory of the buffers. Each buffer uses the half that the previous buffer did not use.
    memory: [Vec<Atomic<u64>>; 2],
}

/// A buffer is a number in one word: its generation, and the logarithm of its capacity.
const fn buffer(generation: u64, log: u64) -> u64 {
    (generation << 8) | log
}

const fn capacity(buffer: u64) -> i64 {
    1 << (buffer & 0xff)
}

impl Deque {
    fn new(fixed: bool) -> Deque {
        let half = |_| (0..1 << LARGEST).map(|_| Atomic::new(FREED).named("element")).collect();
        Deque {
            fixed,
            top: Atomic::new(0).named("top"),
            bottom: Atomic::new(0).named("bottom"),
            buffer: Atomic::new(buffer(0, SMALLEST)).named("buffer"),
            memory: [0, 1].map(half),
        }
    }

    /// Returns the place of an element in a buffer.
    fn place(&self, buffer: u64, index: i64) -> &Atomic<u64> {
        &self.memory[((buffer >> 8) % 2) as usize][(index % capacity(buffer)) as usize]
    }

    /// Steals the oldest element, unless another task is faster.
    async fn steal(&self) -> Option<u64> {
        let top = self.top.load(SeqCst).await;
        let length = self.bottom.load(SeqCst).await - top;
        if length <= 0 {
            return None;
        }
        let buffer = self.buffer.load(SeqCst).await;
        let element = self.place(buffer, top).load(SeqCst).await;
        crate::sometimes_each!((length.min(8), capacity(buffer)), "length and capacity at a steal");
        // Fixed: always checked. Otherwise a deque of one element is assumed not to grow.
        let is_checked = self.fixed || length > 1;
        if is_checked && self.buffer.load(SeqCst).await != buffer {
            crate::sometimes!(true, "a steal overlaps a new buffer");
            return None;
        }
        self.top.compare_exchange(top, top + 1, SeqCst, SeqCst).await.ok()?;
        assert_ne!(element, FREED, "element {top} is stolen from a buffer that is not in use");
        Some(element)
    }

    async fn steal_often(&self) -> Vec<u64> {
        let mut stolen = Vec::new();
        for _ in 0..STEALS {
            sleep(Duration::from_millis(1 + sim::rand::below(PAUSE))).await;
            stolen.extend(self.steal().await);
        }
        stolen
    }
}

/// The owner of a deque, with its own copies of the bottom and the buffer.
struct Owner {
    deque: Arc<Deque>,
    bottom: i64,
    buffer: u64,
    /// The previous buffer, until it is freed.
    old: Option<u64>,
}

impl Owner {
    /// Moves the elements from `top` on to a new buffer.
    async fn replace_buffer(&mut self, top: i64, log: u64) {
        let new = buffer((self.buffer >> 8) + 1, log);
        for index in top..self.bottom {
            let element = self.deque.place(self.buffer, index).load(SeqCst).await;
            self.deque.place(new, index).store(element, SeqCst).await;
        }
        self.deque.buffer.store(new, SeqCst).await;
        self.old = Some(self.buffer);
        self.buffer = new;
        crate::watermark!(new >> 8, "buffers");
    }

    /// Frees the previous buffer, unless it is already free.
    async fn free(&mut self) {
        let Some(old) = self.old.take() else { return };
        for index in 0..capacity(old) {
            self.deque.place(old, index).store(FREED, SeqCst).await;
        }
    }

    /// Pushes an element. Returns false if the deque is full.
    async fn push(&mut self, element: u64) -> bool {
        self.free().await;
        let top = self.deque.top.load(SeqCst).await;
        if self.bottom - top >= capacity(self.buffer) {
            let log = self.buffer & 0xff;
            if log == LARGEST {
                return false;
            }
            self.replace_buffer(top, log + 1).await;
        }
        self.deque.place(self.buffer, self.bottom).store(element, SeqCst).await;
        self.bottom += 1;
        self.deque.bottom.store(self.bottom, SeqCst).await;
        true
    }

    async fn pop(&mut self) -> Option<u64> {
        self.free().await;
        let last = self.bottom - 1;
        self.deque.bottom.store(last, SeqCst).await;
        let top = self.deque.top.load(SeqCst).await;
        if top > last {
            self.deque.bottom.store(self.bottom, SeqCst).await;
            if self.buffer & 0xff > SMALLEST {
                // An empty deque gives its large buffer back.
                self.replace_buffer(self.bottom, SMALLEST).await;
            }
            return None;
        }
        let element = self.deque.place(self.buffer, last).load(SeqCst).await;
        if top < last {
            self.bottom = last;
            return Some(element);
        }
        // The last element: a thief may be faster.
        let taken = self.deque.top.compare_exchange(top, top + 1, SeqCst, SeqCst).await;
        self.deque.bottom.store(self.bottom, SeqCst).await;
        crate::sometimes!(taken.is_err(), "a thief takes the last element first");
        taken.ok().map(|_| element)
    }
}

pub(crate) async fn body(fixed: bool) {
    let deque = Arc::new(Deque::new(fixed));
    let mut owner =
        Owner { deque: deque.clone(), bottom: 0, buffer: buffer(0, SMALLEST), old: None };
    let thieves = [(); THIEVES].map(|()| {
        let deque = deque.clone();
        sim::spawn(async move { deque.steal_often().await })
    });
    let (mut pushed, mut taken) = (0, Vec::new());
    for _ in 0..ROUNDS {
        sleep(Duration::from_millis(1)).await;
        let is_push = sim::rand::bool();
        for _ in 0..1 + sim::rand::below(BURST) {
            if !is_push {
                taken.extend(owner.pop().await);
            } else if owner.push(pushed + 1).await {
                pushed += 1;
            }
        }
    }
    for thief in thieves {
        taken.extend(thief.await.unwrap());
    }
    while let Some(element) = owner.pop().await {
        taken.push(element);
    }
    taken.sort_unstable();
    assert!(taken.iter().copied().eq(1..=pushed), "each element is taken once: {taken:?}");
}
