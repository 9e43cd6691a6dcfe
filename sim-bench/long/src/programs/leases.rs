//! A lock service with leases and fencing tokens: clients acquire, read, write, renew and release, and sometimes sleep
//! for longer than their lease. The storage refuses a token that is older than the newest token so far.
//! Planted bug: a token has room for one renewal too few. After two renewals it equals the first token of the next
//! holder, so the storage accepts a late write of the old holder.

#![forbid(unsafe_code)]

use std::sync::Arc;

use sim::Mutex;
use sim::time::{Duration, Instant, sleep};
use sim::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use sim::tokio::sync::oneshot;

const CLIENTS: usize = 3;
/// The attempts of a client to acquire the lock.
const ROUNDS: usize = 55;
/// The most writes under one lease.
const WRITES: u64 = 4;
/// The most renewals of a lease. Then the client must release it.
const RENEWALS: u64 = 2;
/// A client renews its lease after one in this many writes.
const RENEW: u64 = 7;
/// Before one in this many writes, a client sleeps for longer than its lease.
const SLEEP: u64 = 120;
const TICK: Duration = Duration::from_millis(1);
/// The length of a lease in ticks.
const LEASE: u64 = 8;

type Answer = oneshot::Sender<Option<u64>>;

enum Request {
    Acquire(Answer),
    Renew(u64, Answer),
    Release(u64),
}

/// The state of the lock service.
struct Lock {
    /// The number of tokens of a holder.
    stride: u64,
    /// The number of holders so far, and of renewals by the last holder.
    holders: u64,
    renewals: u64,
    is_held: bool,
    expires: Instant,
}

impl Lock {
    fn token(&self) -> u64 {
        self.holders * self.stride + self.renewals
    }

    fn acquire(&mut self) -> Option<u64> {
        let is_expired = Instant::now() >= self.expires;
        if self.is_held && !is_expired {
            return None;
        }
        crate::sometimes_each!((self.is_held, self.renewals), "the state in which a lock is taken");
        (self.holders, self.renewals, self.is_held) = (self.holders + 1, 0, true);
        self.extend()
    }

    fn renew(&mut self, token: u64) -> Option<u64> {
        let is_valid = self.is_held && token == self.token() && Instant::now() < self.expires;
        if !is_valid || self.renewals == RENEWALS {
            return None;
        }
        self.renewals += 1;
        self.extend()
    }

    fn extend(&mut self) -> Option<u64> {
        self.expires = Instant::now() + TICK * LEASE as u32;
        Some(self.token())
    }

    async fn serve(mut self, mut requests: UnboundedReceiver<Request>) {
        while let Some(request) = requests.recv().await {
            // A client waits for its answer.
            match request {
                Request::Acquire(answer) => drop(answer.send(self.acquire())),
                Request::Renew(token, answer) => drop(answer.send(self.renew(token))),
                Request::Release(token) => self.is_held &= token != self.token(),
            }
            crate::watermark!(self.holders, "holders");
        }
    }
}

/// A counter behind a fence.
#[derive(Default)]
struct Storage {
    /// The highest token so far.
    fence: u64,
    value: u64,
    refused: u64,
}

impl Storage {
    /// Returns true unless a newer token was seen.
    fn admit(&mut self, token: u64) -> bool {
        self.refused += u64::from(token < self.fence);
        crate::watermark!(self.refused, "refused accesses");
        let is_admitted = token >= self.fence;
        self.fence = self.fence.max(token);
        is_admitted
    }
}

struct Client {
    service: UnboundedSender<Request>,
    storage: Arc<Mutex<Storage>>,
}

impl Client {
    async fn ask(&self, request: impl FnOnce(Answer) -> Request) -> Option<u64> {
        let (sender, answer) = oneshot::channel();
        let _ = self.service.send(request(sender));
        answer.await.unwrap_or(None)
    }

    async fn read(&self, token: u64) -> Option<u64> {
        let mut storage = self.storage.lock().await;
        storage.admit(token).then_some(storage.value)
    }

    async fn write(&self, token: u64, value: u64) -> bool {
        let mut storage = self.storage.lock().await;
        let is_admitted = storage.admit(token);
        if is_admitted {
            assert_eq!(value, storage.value + 1, "a write is lost");
            storage.value = value;
        }
        is_admitted
    }

    /// Increments the counter a few times, as long as the lease lasts.
    async fn work(&self, token: &mut u64) {
        let mut renewals: u64 = 0;
        for _ in 0..1 + sim::rand::below(WRITES) {
            let Some(value) = self.read(*token).await else { return };
            if sim::rand::below(SLEEP) == 0 {
                crate::watermark!(renewals, "renewals before a long sleep");
                sleep(TICK * (LEASE + sim::rand::below(LEASE)) as u32).await;
            } else if sim::rand::below(2) == 0 {
                sleep(TICK * (1 + sim::rand::below(3) as u32)).await;
            }
            if !self.write(*token, value + 1).await {
                return;
            }
            if sim::rand::below(RENEW) == 0 {
                let old = *token;
                match self.ask(|answer| Request::Renew(old, answer)).await {
                    Some(new) => *token = new,
                    None => return,
                }
                renewals += 1;
            }
        }
    }

    async fn run(self) {
        for _ in 0..ROUNDS {
            match self.ask(Request::Acquire).await {
                Some(mut token) => {
                    self.work(&mut token).await;
                    let _ = self.service.send(Request::Release(token));
                }
                None => sleep(TICK * (1 + sim::rand::below(4) as u32)).await,
            }
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let stride = if fixed { RENEWALS + 1 } else { RENEWALS };
    let expires = Instant::now();
    let lock = Lock { stride, holders: 0, renewals: 0, is_held: false, expires };
    let (service, requests) = unbounded_channel();
    let storage = Arc::new(Mutex::new(Storage::default()));
    let mut tasks = vec![sim::spawn(lock.serve(requests))];
    for _ in 0..CLIENTS {
        let client = Client { service: service.clone(), storage: storage.clone() };
        tasks.push(sim::spawn(client.run()));
    }
    drop(service);
    for task in tasks {
        task.await.unwrap();
    }
}
