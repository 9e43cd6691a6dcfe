//! The programs that are explored completely. They are small, and known in the literature or from a contestant.
//!
//! This file is compiled once for each contestant, over the module `tools` next to it. So all contestants explore the
//! same text.

use std::sync::Arc;

use super::tools::{Body, Mutex, Task, Word, boxed, join, spawn};

/// A program and its known properties.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The number of Mazurkiewicz traces under sequential consistency. Accesses to one word conflict if one of them
    /// changes the word; so a failed exchange counts as a load. Critical sections of one lock always conflict. The
    /// number comes from a formula, if one is known, or from counting all interleavings outside of this library. If
    /// exchanges fail, it is the number of runs of the search, confirmed by the search's audit.
    pub(crate) classes: u64,
    /// True if words are shared. loom then models weak memory and has more to explore.
    pub(crate) weak: bool,
    pub(crate) body: fn() -> Body,
}

macro_rules! programs {
    ($($name:literal, $classes:literal, $weak:literal, $body:expr;)*) => {
        /// All programs, in the order of the table.
        pub(crate) const PROGRAMS: &[Program] = &[$(Program {
            name: $name,
            classes: $classes,
            weak: $weak,
            body: || boxed($body),
        }),*];
    };
}

programs! {
    "counter(2)", 4, true, counter(2);
    "counter(3)", 36, true, counter(3);
    // n!
    "fetch_add(3)", 6, true, fetch_add(3);
    "fetch_add(4)", 24, true, fetch_add(4);
    // Each word is read before or after it is written: 4 or 16 cases. One case is a cycle.
    "SB", 3, true, store_buffering();
    "IRIW", 15, true, independent_reads();
    // (n k)! / k!^n
    "sections(2,2)", 6, false, sections(2, 2);
    "sections(2,3)", 20, false, sections(2, 3);
    "sections(3,2)", 90, false, sections(3, 2);
    "sections(3,3)", 1680, false, sections(3, 3);
    "peterson", 34, true, peterson();
    "treiber", 46, true, treiber();
    "michael_scott", 384, true, michael_scott();
    // 2^n
    "readers(2)", 4, true, readers(2);
    "readers(3)", 8, true, readers(3);
    // (n + 3) 2^(n-2)
    "lastzero(2)", 5, true, last_zero(2);
    "lastzero(3)", 12, true, last_zero(3);
    "fib_bench(1)", 3, true, fib_bench(1);
    "fib_bench(2)", 19, true, fib_bench(2);
    "fib_bench(3)", 141, true, fib_bench(3);
    "fib_bench(4)", 1107, true, fib_bench(4);
    "indexer(3,8,2)", 1, true, indexer(3, 8, 2);
    "indexer(2,7,2)", 6, true, indexer(2, 7, 2);
    "indexer(3,6,2)", 8, true, indexer(3, 6, 2);
    // 2^n for n blocks that two files compete for.
    "filesystem(3,4)", 2, false, file_system(3, 4);
    "filesystem(4,4)", 4, false, file_system(4, 4);
}

fn words<const N: usize>() -> Arc<[Word; N]> {
    Arc::new(std::array::from_fn(|_| Word::new(0)))
}

/// Tasks that each increment a counter by a load and a store.
async fn counter(tasks: i64) {
    let count = Arc::new(Word::new(0));
    let task = |_| {
        let count = count.clone();
        spawn(move || async move {
            let seen = count.load().await;
            count.store(seen + 1).await;
        })
    };
    join((0..tasks).map(task).collect()).await;
    assert!((1..=tasks).contains(&count.load().await));
}

/// Tasks that each increment a counter by one access.
async fn fetch_add(tasks: i64) {
    let count = Arc::new(Word::new(0));
    let task = |_| {
        let count = count.clone();
        spawn(move || async move { count.add(1).await })
    };
    join((0..tasks).map(task).collect()).await;
    assert_eq!(count.load().await, tasks);
}

/// Two tasks that each write their own word and read the other word.
async fn store_buffering() {
    let words = words::<2>();
    let task = |me: usize| {
        let words = words.clone();
        spawn(move || async move {
            words[me].store(1).await;
            words[1 - me].load().await;
        })
    };
    join((0..2).map(task).collect()).await;
}

/// Two writers with one word each, and two readers that read both words in opposite orders.
async fn independent_reads() {
    let words = words::<2>();
    let write = |me: usize| {
        let words = words.clone();
        spawn(move || async move { words[me].store(1).await })
    };
    let mut tasks: Vec<Task> = (0..2).map(write).collect();
    let read = |first: usize| {
        let words = words.clone();
        spawn(move || async move {
            words[first].load().await;
            words[1 - first].load().await;
        })
    };
    tasks.extend((0..2).map(read));
    join(tasks).await;
}

/// Tasks that each enter the critical section of one lock several times.
async fn sections(tasks: i64, times: i64) {
    let lock = Arc::new(Mutex::new(0));
    let task = |_| {
        let lock = lock.clone();
        spawn(move || async move {
            for _ in 0..times {
                *lock.lock().await += 1;
            }
        })
    };
    join((0..tasks).map(task).collect()).await;
    assert_eq!(*lock.lock().await, tasks * times);
}

/// Peterson's lock for two tasks. Each task tries three times before it gives up.
async fn peterson() {
    const PATIENCE: usize = 3;
    let (wants, turn, owner) = (words::<2>(), Arc::new(Word::new(0)), Arc::new(Word::new(0)));
    let task = |me: usize| {
        let (wants, turn, owner) = (wants.clone(), turn.clone(), owner.clone());
        spawn(move || async move {
            let (me_too, other) = (me as i64, 1 - me);
            wants[me].store(1).await;
            turn.store(other as i64).await;
            for _ in 0..PATIENCE {
                if wants[other].load().await == 0 || turn.load().await == me_too {
                    // There is no assertion that the values are equal, because loom only guarantees acquire and
                    // release.
                    owner.store(me_too).await;
                    owner.load().await;
                    wants[me].store(0).await;
                    return;
                }
            }
        })
    };
    join((0..2).map(task).collect()).await;
}

/// Treiber's stack: each of two tasks pushes a node and pops one.
async fn treiber() {
    // Nodes by number; 0 means no node.
    let (head, next) = (Arc::new(Word::new(0)), words::<3>());
    let task = |mine: i64| {
        let (head, next) = (head.clone(), next.clone());
        spawn(move || async move {
            loop {
                let top = head.load().await;
                next[mine as usize].store(top).await;
                if head.exchange(top, mine).await {
                    break;
                }
            }
            loop {
                let top = head.load().await;
                assert_ne!(top, 0, "there are as many nodes as pops");
                let below = next[top as usize].load().await;
                if head.exchange(top, below).await {
                    break;
                }
            }
        })
    };
    join((1..3).map(task).collect()).await;
    assert_eq!(head.load().await, 0);
}

/// The queue of Michael and Scott: two producers with one node each, and a consumer that tries twice.
async fn michael_scott() {
    /// Nodes by number; 0 means no node, and the first node is the dummy.
    struct Queue {
        head: Word,
        tail: Word,
        next: [Word; 4],
    }
    let next = std::array::from_fn(|_| Word::new(0));
    let queue = Arc::new(Queue { head: Word::new(1), tail: Word::new(1), next });
    let produce = |node: i64| {
        let queue = queue.clone();
        spawn(move || async move {
            let Queue { tail, next, .. } = &*queue;
            loop {
                let last = tail.load().await;
                let behind = next[last as usize].load().await;
                if behind != 0 {
                    tail.exchange(last, behind).await;
                } else if next[last as usize].exchange(0, node).await {
                    tail.exchange(last, node).await;
                    return;
                }
            }
        })
    };
    let mut tasks: Vec<Task> = (2..4).map(produce).collect();
    let taken = queue.clone();
    tasks.push(spawn(move || async move {
        let Queue { head, tail, next } = &*taken;
        let mut tries = 2;
        while tries > 0 {
            let (first, last) = (head.load().await, tail.load().await);
            let second = next[first as usize].load().await;
            if second == 0 || first != last && head.exchange(first, second).await {
                tries -= 1;
            } else if first == last {
                tail.exchange(last, second).await;
            }
        }
    }));
    join(tasks).await;
}

/// One task writes a word that the others read.
async fn readers(readers: usize) {
    let word = Arc::new(Word::new(0));
    let written = word.clone();
    let mut tasks = vec![spawn(move || async move { written.store(1).await })];
    let read = |_| {
        let word = word.clone();
        spawn(move || async move {
            word.load().await;
        })
    };
    tasks.extend((0..readers).map(read));
    join(tasks).await;
}

/// One task searches for the last word that is zero. The n-th other task sets its word to the previous word plus one
/// (Abdulla, Aronsson, Jonsson, Sagonas, POPL 2014).
async fn last_zero(others: usize) {
    const WORDS: usize = 4;
    let words = words::<WORDS>();
    let looked = words.clone();
    let mut tasks = vec![spawn(move || async move {
        let mut at = others;
        while looked[at].load().await != 0 {
            at -= 1;
        }
    })];
    let write = |at: usize| {
        let words = words.clone();
        spawn(move || async move {
            let before = words[at - 1].load().await;
            words[at].store(before + 1).await;
        })
    };
    tasks.extend((1..=others).map(write));
    join(tasks).await;
}

/// Two tasks that each add the other's number to their own. The order determines how far the numbers get in the
/// Fibonacci sequence (SV-COMP, `fib_bench`).
async fn fib_bench(rounds: usize) {
    let numbers = Arc::new([Word::new(1), Word::new(1)]);
    let task = |me: usize| {
        let numbers = numbers.clone();
        spawn(move || async move {
            for _ in 0..rounds {
                let own = numbers[me].load().await;
                let other = numbers[1 - me].load().await;
                numbers[me].store(own + other).await;
            }
        })
    };
    join((0..2).map(task).collect()).await;
    let highest = (0..2 * rounds + 1).fold((0, 1), |(a, b), _| (b, a + b)).1;
    assert!(numbers[0].load().await <= highest && numbers[1].load().await <= highest);
}

/// Tasks that insert messages into a hash table with open addressing (Flanagan and Godefroid, POPL 2005, reduced in
/// size).
async fn indexer(tasks: usize, size: usize, messages: usize) {
    const WORDS: usize = 8;
    let table = words::<WORDS>();
    let task = |me: usize| {
        let table = table.clone();
        spawn(move || async move {
            for message in 1..=messages {
                let word = message * 11 + me;
                let mut at = word * 7 % size;
                while !table[at].exchange(0, word as i64).await {
                    at = (at + 1) % size;
                }
            }
        })
    };
    join((0..tasks).map(task).collect()).await;
}

/// Tasks that each search for a free block for a file (Flanagan and Godefroid, POPL 2005, reduced in size).
async fn file_system(files: usize, blocks: usize) {
    struct Disk {
        files: Vec<Mutex<usize>>,
        busy: Vec<Mutex<bool>>,
    }
    let disk = Arc::new(Disk {
        files: (0..files).map(|_| Mutex::new(0)).collect(),
        busy: (0..blocks).map(|_| Mutex::new(false)).collect(),
    });
    let task = |me: usize| {
        let disk = disk.clone();
        spawn(move || async move {
            let mut file = disk.files[me].lock().await;
            let mut block = me * 2 % blocks;
            loop {
                let mut busy = disk.busy[block].lock().await;
                if !*busy {
                    *busy = true;
                    *file = block + 1;
                    return;
                }
                drop(busy);
                block = (block + 1) % blocks;
            }
        })
    };
    join((0..files).map(task).collect()).await;
}
