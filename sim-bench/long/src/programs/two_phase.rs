//! Two-phase commit: clients, a coordinator with several workers and a durable log, and participants with locks. The
//! coordinator crashes, recovers while it serves again, and aborts undecided transactions. Clients try again. Planted
//! bug: a participant does not compare attempts. If the abort of an old attempt by the recovery meets a retry that is
//! already prepared, the participant forgets the transaction, and then takes its commit for a repeated one.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as StdMutex};

use sim::Mutex;
use sim::task::{JoinSet, yield_now};
use sim::time::{Duration, sleep};
use sim::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use sim::tokio::sync::oneshot;

const PARTICIPANTS: usize = 3;
/// The number of clients, and of workers of the coordinator.
const CLIENTS: u64 = 3;
/// The transactions of a client, the most tries for each, and the number of keys, of which each locks one.
const TRANSACTIONS: u64 = 10;
const TRIES: usize = 10;
const KEYS: u64 = 4;
/// The number of lives of the coordinator, and the most yields of the test before a crash.
const LIVES: usize = 6;
const YIELDS: u64 = 60;
/// After a crash, a client tries again at once in one of this number of cases.
const HASTE: u64 = 40;

type Reply = UnboundedSender<bool>;
/// A transaction, its key, and the channel for its outcome.
type Request = (u64, u64, oneshot::Sender<bool>);
/// The last attempt of each transaction, and its state. It is finished when all participants have committed it.
type Log = BTreeMap<u64, (u64, State)>;

/// An order to a participant: a transaction, its attempt, its key, and the channel for the reply.
enum Order {
    Prepare(u64, u64, u64, Reply),
    Abort(u64, u64),
    Commit(u64, Reply),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Started,
    Committed,
    Finished,
}

/// `front` leads to the living coordinator. `applied` counts the participants of a transaction, for the check.
struct World {
    fixed: bool,
    participants: Vec<UnboundedSender<Order>>,
    log: Mutex<Log>,
    front: StdMutex<Option<UnboundedSender<Request>>>,
    applied: StdMutex<BTreeMap<u64, usize>>,
}

impl World {
    async fn participate(self: Arc<Self>, mut orders: UnboundedReceiver<Order>) {
        let mut prepared = BTreeMap::<u64, (u64, u64)>::new(); // Attempts and keys.
        while let Some(order) = orders.recv().await {
            match order {
                Order::Prepare(number, attempt, key, reply) => {
                    let is_free = prepared.iter().all(|(n, own)| *n == number || own.1 != key);
                    crate::sometimes!(!is_free, "a key is locked");
                    if is_free {
                        prepared.insert(number, (attempt, key));
                    }
                    let _ = reply.send(is_free);
                }
                Order::Abort(number, attempt) => {
                    let is_old = |own: u64| self.fixed && own > attempt;
                    prepared.retain(|other, own| *other != number || is_old(own.0));
                }
                Order::Commit(number, reply) => {
                    let is_first = prepared.remove(&number).is_some();
                    crate::sometimes!(!is_first, "a commit is repeated");
                    let mut applied = self.applied.lock().unwrap();
                    *applied.entry(number).or_default() += usize::from(is_first);
                    let _ = reply.send(true);
                }
            }
        }
    }

    /// Sends an order to all participants. Returns true if all of them agree.
    async fn ask(&self, order: impl Fn(Reply) -> Order) -> bool {
        let (reply, mut replies) = unbounded_channel();
        for participant in &self.participants {
            yield_now().await;
            let _ = participant.send(order(reply.clone()));
        }
        drop(reply);
        let mut agreed = 0;
        while let Some(agrees) = replies.recv().await {
            agreed += usize::from(agrees);
        }
        agreed == PARTICIPANTS
    }

    async fn commit(&self, number: u64, attempt: u64) {
        self.ask(|reply| Order::Commit(number, reply)).await;
        self.log.lock().await.insert(number, (attempt, State::Finished));
    }

    fn abort(&self, number: u64, attempt: u64) {
        let abort = || Order::Abort(number, attempt);
        self.participants.iter().for_each(|participant| drop(participant.send(abort())));
    }

    async fn coordinate(&self, number: u64, key: u64) -> bool {
        let mut log = self.log.lock().await;
        let entry = log.entry(number).or_insert((0, State::Started));
        entry.0 += u64::from(entry.1 == State::Started);
        let (attempt, state) = *entry;
        drop(log);
        crate::watermark!(attempt, "attempts of a transaction");
        if state == State::Started {
            if !self.ask(|reply| Order::Prepare(number, attempt, key, reply)).await {
                self.abort(number, attempt);
                return false;
            }
            self.log.lock().await.insert(number, (attempt, State::Committed));
        }
        self.commit(number, attempt).await;
        true
    }

    async fn work(self: Arc<Self>, requests: Arc<Mutex<UnboundedReceiver<Request>>>) {
        loop {
            let request = requests.lock().await.recv().await;
            let Some((number, key, answer)) = request else { return };
            let _ = answer.send(self.coordinate(number, key).await);
        }
    }

    async fn recover(self: Arc<Self>, found: Log) {
        for (number, (attempt, state)) in found {
            yield_now().await;
            match state {
                State::Started => self.abort(number, attempt),
                _ => self.commit(number, attempt).await,
            }
        }
    }

    async fn call(self: Arc<Self>, client: u64) {
        for number in 0..TRANSACTIONS {
            let (number, key) = (number * CLIENTS + client, sim::rand::below(KEYS));
            for _ in 0..TRIES {
                let (sender, answer) = oneshot::channel();
                let front = self.front.lock().unwrap().clone();
                drop(front.map(|front| front.send((number, key, sender))));
                match answer.await {
                    Ok(true) => break,
                    Err(_) if sim::rand::below(HASTE) == 0 => {}
                    _ => sleep(Duration::from_millis(1 + sim::rand::below(4))).await,
                }
            }
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let channels = (0..PARTICIPANTS).map(|_| unbounded_channel());
    let (participants, inboxes): (Vec<_>, Vec<_>) = channels.unzip();
    let (log, front, applied) = (Mutex::default(), StdMutex::default(), StdMutex::default());
    let world = Arc::new(World { fixed, participants, log, front, applied });
    inboxes.into_iter().for_each(|inbox| sim::spawn(world.clone().participate(inbox)).detach());
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        clients.spawn(world.clone().call(client));
    }
    for life in 1..=LIVES {
        let mut found = world.log.lock().await.clone();
        found.retain(|_, (_, state)| *state != State::Finished);
        let undecided = found.values().filter(|(_, state)| *state == State::Started).count();
        crate::sometimes_each!((undecided, found.len()), "undecided and unfinished transactions");
        let (front, requests) = unbounded_channel();
        let (requests, mut tasks) = (Arc::new(Mutex::new(requests)), JoinSet::new());
        tasks.spawn(world.clone().recover(found));
        for _ in 0..CLIENTS {
            tasks.spawn(world.clone().work(requests.clone()));
        }
        *world.front.lock().unwrap() = Some(front);
        if life < LIVES {
            for _ in 0..sim::rand::below(YIELDS) {
                yield_now().await;
            }
            tasks.abort_all();
        } else {
            while clients.join_next().await.is_some() {}
        }
        *world.front.lock().unwrap() = None;
        while tasks.join_next().await.is_some() {}
    }
    let applied = world.applied.lock().unwrap();
    assert!(applied.values().all(|count| *count == PARTICIPANTS), "a transaction is not atomic");
}
