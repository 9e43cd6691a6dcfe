//! Tasks and wakers: `Shared` of futures, and a join handle of shuttle.

use std::collections::VecDeque;
use std::sync::Arc;

use sim::{Mutex, spawn};

use crate::Shows::Deadlock;
use crate::parts::Sleeper;

crate::bugs! {
    the_task_that_polled_last_is_dropped:
        "futures #339", "a task enters the list of a `Shared` after its poll, so one that leaves does not wake it",
        Deadlock, 100, polled_last;
    a_join_handle_wakes_the_task_and_not_its_waker:
        "shuttle #105", "the end of a task wakes the task that waits, not the waker that polled the handle",
        Deadlock, 100, unordered;
}

/// A future that several tasks poll. The future keeps the waker of the latest poll.
#[derive(Default)]
struct Shared {
    future: Mutex<Inner>,
    waiters: Mutex<Vec<Arc<Sleeper>>>,
}

#[derive(Default)]
struct Inner {
    is_ready: bool,
    waker: Option<Arc<Sleeper>>,
}

impl Shared {
    /// Returns `true` if the future is ready. If not, the task is in the list, and must call `sleep`.
    async fn poll(&self, me: &Arc<Sleeper>, registers_first: bool) -> bool {
        if registers_first {
            self.waiters.lock().await.push(me.clone());
        }
        let mut future = self.future.lock().await;
        if future.is_ready {
            return true;
        }
        future.waker = Some(me.clone());
        drop(future);
        if !registers_first {
            self.waiters.lock().await.push(me.clone());
        }
        false
    }

    /// Drops a handle. Another task then polls the future.
    async fn leave(&self, me: &Arc<Sleeper>) {
        let mut waiters = self.waiters.lock().await;
        waiters.retain(|other| !Arc::ptr_eq(other, me));
        let next = waiters.pop();
        drop(waiters);
        if let Some(next) = next {
            next.wake().await;
        }
    }

    /// The future is ready. The future wakes the task that polled it last, or, with `wakes_all`, each task in the list.
    async fn complete(&self, wakes_all: bool) {
        let mut future = self.future.lock().await;
        future.is_ready = true;
        let last = future.waker.take();
        drop(future);
        let woken: Vec<_> = match wakes_all {
            true => std::mem::take(&mut *self.waiters.lock().await),
            false => last.into_iter().collect(),
        };
        for task in woken {
            task.wake().await;
        }
    }
}

async fn polled_last(is_fixed: bool) {
    let shared = Arc::new(Shared::default());
    let (dropped, completed) = (shared.clone(), shared.clone());
    let dropped = spawn(async move {
        let me = Sleeper::new();
        if !dropped.poll(&me, is_fixed).await {
            dropped.leave(&me).await;
        }
    });
    let me = Sleeper::new();
    let completing = spawn(async move {
        dropped.await.unwrap();
        completed.complete(is_fixed).await;
    });
    while !shared.poll(&me, is_fixed).await {
        me.sleep().await;
    }
    completing.await.unwrap();
}

/// A set of handles like `FuturesUnordered`: it polls only handles whose waker was woken.
#[derive(Default)]
struct Unordered {
    woken: Mutex<VecDeque<usize>>,
    /// The task that polls the set.
    task: Sleeper,
}

impl Unordered {
    /// Waits until a handle may be ready.
    async fn next(&self) -> usize {
        loop {
            let next = self.woken.lock().await.pop_front();
            match next {
                Some(handle) => return handle,
                None => self.task.sleep().await,
            }
        }
    }

    /// The waker of a handle in the set.
    async fn wake(&self, handle: usize) {
        self.woken.lock().await.push_back(handle);
        self.task.wake().await;
    }
}

/// The end of a task, from the view of its handle.
#[derive(Default)]
struct Handle {
    is_finished: bool,
    is_polled: bool,
}

async fn unordered(is_fixed: bool) {
    let set = Arc::new(Unordered::default());
    let handles = [(); 2].map(|()| Arc::new(Mutex::new(Handle::default())));
    let mut tasks = Vec::new();
    for (number, handle) in handles.iter().enumerate() {
        set.woken.lock().await.push_back(number);
        let (set, handle) = (set.clone(), handle.clone());
        tasks.push(spawn(async move {
            let mut handle = handle.lock().await;
            handle.is_finished = true;
            let is_polled = handle.is_polled;
            drop(handle);
            match is_polled {
                true if is_fixed => set.wake(number).await,
                true => set.task.wake().await,
                false => {}
            }
        }));
    }
    let mut finished = 0;
    while finished < handles.len() {
        let next = set.next().await;
        let mut handle = handles[next].lock().await;
        handle.is_polled = true;
        finished += usize::from(handle.is_finished);
    }
    for task in tasks {
        task.await.unwrap();
    }
}
