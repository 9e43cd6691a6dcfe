//! Small programs that together use all of the library. The suites run each program.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use sim::Ordering::SeqCst;
use sim::check::models::{Queue, QueueOp, QueueRet};
use sim::{Atomic, Cell, History, Mutex};

/// A program with its name.
#[derive(Clone, Copy)]
pub struct Program {
    /// The name of the program.
    pub name: &'static str,
    /// The body of the program.
    pub body: fn() -> BoxFuture<'static, ()>,
    /// True if some seeds fail.
    pub fails: bool,
}

/// All programs.
pub const PROGRAMS: &[Program] = &[
    Program { name: "lost_update", body: || lost_update().boxed(), fails: true },
    Program { name: "deadlock", body: || deadlock().boxed(), fails: true },
    Program { name: "queue", body: || queue().boxed(), fails: true },
    Program { name: "store", body: || store().boxed(), fails: false },
    Program { name: "mix", body: || mix().boxed(), fails: false },
];

/// Returns the program with this name.
///
/// # Panics
/// If no program has this name.
pub fn program(name: &str) -> Program {
    *PROGRAMS.iter().find(|program| program.name == name).expect("a program of that name")
}

/// Two tasks increment a counter with a load and a store.
pub async fn lost_update() {
    let counter = Arc::new(Atomic::new(0u64));
    let increment = |counter: Arc<Atomic<u64>>| async move {
        let value = counter.load(SeqCst).await;
        counter.store(value + 1, SeqCst).await;
    };
    let tasks: Vec<_> = (0..2).map(|_| sim::spawn(increment(counter.clone()))).collect();
    for task in tasks {
        task.await.expect("no task is aborted");
    }
    assert_eq!(counter.load(SeqCst).await, 2);
}

/// Two tasks lock two locks in opposite orders.
pub async fn deadlock() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let first = sim::spawn({
        let locks = locks.clone();
        async move {
            let _a = locks.0.lock().await;
            *locks.1.lock().await += 1;
        }
    });
    let second = sim::spawn(async move {
        let _b = locks.1.lock().await;
        *locks.0.lock().await += 1;
    });
    first.await.expect("no task is aborted");
    second.await.expect("no task is aborted");
}

/// A ring whose producers claim a slot with a load and a store. The history of the ring is checked.
pub async fn queue() {
    let ring = Arc::new(Ring::default());
    let history = History::new(Queue::new());
    let mut tasks = Vec::new();
    for item in 1..=2u64 {
        let (ring, history) = (ring.clone(), history.clone());
        tasks.push(sim::spawn(async move {
            let work = ring.push(item).map(|()| QueueRet::Done);
            history.call(QueueOp::Enqueue(item), work).await;
        }));
    }
    for task in tasks {
        task.await.expect("no task is aborted");
    }
    for _ in 0..2 {
        history.call(QueueOp::Dequeue, ring.pop().map(QueueRet::Item)).await;
    }
    history.assert_linearizable();
}

#[derive(Default)]
struct Ring {
    slots: [Cell<u64>; 4],
    head: Atomic<usize>,
    tail: Atomic<usize>,
}

impl Ring {
    async fn push(&self, item: u64) {
        let tail = self.tail.load(SeqCst).await;
        self.slots[tail % 4].set(item).await;
        self.tail.store(tail + 1, SeqCst).await;
    }

    async fn pop(&self) -> Option<u64> {
        let head = self.head.load(SeqCst).await;
        if head == self.tail.load(SeqCst).await {
            return None;
        }
        self.head.store(head + 1, SeqCst).await;
        Some(self.slots[head % 4].get().await)
    }
}

/// A map behind a lock, a cell next to it, and a counter of writes. This program is correct under every schedule.
pub async fn store() {
    let map = Arc::new(Mutex::new(BTreeMap::new()));
    let last = Arc::new(Cell::new(String::new()));
    let writes = Arc::new(Atomic::new(0i32));
    let mut writers = Vec::new();
    for id in 0..3u64 {
        let (map, last, writes) = (map.clone(), last.clone(), writes.clone());
        let task = sim::task::Builder::new().name(format!("writer {id}"));
        writers.push(task.spawn(async move {
            for round in 0..2 {
                let mut map = map.lock().await;
                map.insert((id, round), sim::rand::below(10));
                last.set(format!("{id}.{round}")).await;
                drop(map);
                writes.fetch_add(1, SeqCst).await;
            }
            if let Some(map) = map.try_lock().await {
                assert!(map.len() >= 2);
            }
        }));
    }
    for writer in writers {
        writer.await.expect("no task is aborted");
    }
    assert_eq!(map.lock().await.len(), 6);
    assert_eq!(writes.load(SeqCst).await, 6);
    assert_ne!(last.get().await, "");
}

/// Branches of a `join!`, draws, an abort, yields, and a channel of another crate.
pub async fn mix() {
    let hits = Arc::new(Atomic::new(0u8));
    let (tell, told) = futures::channel::oneshot::channel();
    let shaky = sim::spawn({
        let hits = hits.clone();
        async move {
            for _ in 0..sim::rand::range(1..4) {
                sim::task::yield_now().await;
                hits.fetch_add(1, SeqCst).await;
            }
            let _ = tell.send(sim::rand::bool());
        }
    });
    let listener = sim::spawn(async move { told.await.unwrap_or(false) });
    let stopper = sim::spawn({
        let hits = hits.clone();
        async move {
            if hits.load(SeqCst).await == 1 {
                shaky.abort();
            }
            shaky.await.is_err()
        }
    });
    let (swapped, _) =
        futures::join!(hits.swap(0, SeqCst), hits.compare_exchange(1, 7, SeqCst, SeqCst));
    assert!(swapped <= 7);
    let aborted = stopper.await.expect("no task aborts it");
    let heard = listener.await.expect("no task aborts it");
    assert!(!(aborted && heard), "an aborted task told nobody");
}
