//! A connection pool with a size that changes, a queue of waiters, and waiters that give up after a while. Planted bug:
//! a larger pool opens a connection for the first waiter, and loses it if this waiter has just given up.

#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::Arc;

use sim::Ordering::SeqCst;
use sim::time::{Duration, sleep, timeout};
use sim::tokio::sync::oneshot;
use sim::{Atomic, Mutex};

const CLIENTS: usize = 5;
/// The number of rounds of each client. In a round it uses a connection once.
const ROUNDS: usize = 45;
/// The number of times that the size changes.
const RESIZES: usize = 10;
const LARGEST: u64 = 3;

/// The times of a client in milliseconds: each is at least 1, and at most this number.
const REST: u64 = 20;
const USE: u64 = 40;
/// A waiter waits for at least `PATIENCE` milliseconds, and for less than `2 * PATIENCE`.
const PATIENCE: u64 = 80;
/// The time between two resizes is at most this number of milliseconds.
const RESIZE: u64 = 200;

/// A connection: true while a client uses it.
type Connection = Arc<Atomic<bool>>;

struct Waiter {
    number: u64,
    sender: oneshot::Sender<Connection>,
}

#[derive(Default)]
struct State {
    size: usize,
    /// The number of open connections, idle or in use.
    open: usize,
    idle: Vec<Connection>,
    waiters: VecDeque<Waiter>,
    /// The number of waiters so far.
    waited: u64,
}

impl State {
    fn open_one(&mut self) -> Connection {
        self.open += 1;
        Arc::new(Atomic::new(false).named("connection"))
    }

    /// Gives a connection to the first waiter that has not given up, or else keeps it.
    fn hand_over(&mut self, mut connection: Connection) {
        while let Some(waiter) = self.waiters.pop_front() {
            let sent = waiter.sender.send(connection);
            crate::sometimes!(sent.is_err(), "a connection is offered to a waiter that gave up");
            match sent {
                Ok(()) => return,
                Err(refused) => connection = refused,
            }
        }
        self.idle.push(connection);
    }

    /// Accepts a connection that a client no longer uses.
    fn give_back(&mut self, connection: Connection) {
        let is_above = self.open > self.size;
        crate::sometimes!(is_above, "a connection is closed because the pool has shrunk");
        if is_above {
            self.open -= 1;
        } else {
            self.hand_over(connection);
        }
    }

    fn resize(&mut self, size: usize, fixed: bool) {
        crate::sometimes_each!((self.size, size, self.waiters.len()), "sizes and waiters");
        self.size = size;
        while self.open > size && self.idle.pop().is_some() {
            self.open -= 1;
        }
        while self.open < size && !self.waiters.is_empty() {
            let connection = self.open_one();
            if fixed {
                self.hand_over(connection);
            } else if let Some(waiter) = self.waiters.pop_front() {
                let _ = waiter.sender.send(connection);
            }
        }
    }
}

/// Draws a time of at least 1 ms and at most this many milliseconds.
fn up_to(millis: u64) -> Duration {
    Duration::from_millis(1 + sim::rand::below(millis))
}

/// Waits for a connection. Returns `None` after the patience of the waiter.
async fn acquire(pool: &Mutex<State>) -> Option<Connection> {
    let mut state = pool.lock().await;
    if let Some(connection) = state.idle.pop() {
        return Some(connection);
    }
    if state.open < state.size {
        return Some(state.open_one());
    }
    let (sender, receiver) = oneshot::channel();
    let number = state.waited;
    state.waited += 1;
    state.waiters.push_back(Waiter { number, sender });
    crate::watermark!(state.waiters.len() as u64, "waiters");
    drop(state);
    let patience = Duration::from_millis(PATIENCE + sim::rand::below(PATIENCE));
    // The receiver is dropped at the deadline, so a connection that is sent later comes back.
    let received = timeout(patience, receiver).await;
    crate::sometimes!(received.is_err(), "a waiter gives up");
    if let Ok(Ok(connection)) = received {
        return Some(connection);
    }
    pool.lock().await.waiters.retain(|waiter| waiter.number != number);
    None
}

async fn run_client(pool: &Mutex<State>) {
    for _ in 0..ROUNDS {
        sleep(up_to(REST)).await;
        let Some(connection) = acquire(pool).await else { continue };
        assert!(!connection.swap(true, SeqCst).await, "two clients use one connection");
        sleep(up_to(USE)).await;
        connection.store(false, SeqCst).await;
        pool.lock().await.give_back(connection);
    }
}

async fn run_resizes(pool: &Mutex<State>, fixed: bool) {
    for _ in 0..RESIZES {
        sleep(up_to(RESIZE)).await;
        let size = 1 + sim::rand::below(LARGEST);
        pool.lock().await.resize(size as usize, fixed);
    }
}

pub(crate) async fn body(fixed: bool) {
    let state = State { size: LARGEST as usize, ..State::default() };
    let pool = Arc::new(Mutex::new(state).named("pool"));
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let pool = pool.clone();
        tasks.push(sim::spawn(async move { run_client(&pool).await }));
    }
    let resized = pool.clone();
    tasks.push(sim::spawn(async move { run_resizes(&resized, fixed).await }));
    for task in tasks {
        task.await.unwrap();
    }
    let state = pool.lock().await;
    assert!(state.open <= state.size, "{} connections in a pool of {}", state.open, state.size);
    assert_eq!(state.idle.len(), state.open, "a connection is counted, but it is lost");
}
