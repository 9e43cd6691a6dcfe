//! The chain of versions: its events per second, and a check that memory does not grow with them.

use cpu_time::ProcessTime;

use sim::check::chain::Chain;
use sim::check::models::{VersionedRegisterOp, VersionedRegisterRet};
use sim::check::online::{ClientEvent, OnlineStatus};

use super::case::Extent;
use super::history::Draw;

/// Prints a row for each concurrency. Returns `false` if a planted stale read was not found, or if
/// a violation was reported in a correct history.
pub(super) fn table(extent: Extent) -> bool {
    let events: u64 = if extent == Extent::Quick { 1_000_000 } else { 4_000_000 };
    println!(
        "\n{:<10} {:>9} {:>3} {:<4} {:>14} {:>14}",
        "chain", "events", "c", "", "10^6 events/s", "versions kept"
    );
    let mut right = true;
    for clients in [4, 16, 64] {
        for bad in [false, true] {
            let (mut least, mut kept, mut decided) = (f64::INFINITY, 0, None);
            for _ in 0..extent.turns() {
                let turn = turn(clients, events, bad);
                least = least.min(turn.seconds);
                (kept, decided) = (turn.kept, turn.decided);
            }
            let verdict = if bad { "bad" } else { "ok" };
            let rate = events as f64 / least / 1e6;
            println!(
                "{:<10} {events:>9} {clients:>3} {verdict:<4} {rate:>14.1} {kept:>14}",
                "chain"
            );
            if decided.is_some() != bad {
                println!("ERROR: the chain decided at {decided:?}");
                right = false;
            }
        }
    }
    right
}

struct Turn {
    seconds: f64,
    /// The maximum number of remembered versions.
    kept: usize,
    decided: Option<u64>,
}

/// Runs clients that read, and that update with the version of their last read. Their events are
/// generated during the check, in chunks that are not measured. If `bad`, the last read that
/// returns gets the first version.
fn turn(clients: u32, events: u64, bad: bool) -> Turn {
    const CHUNK: usize = 1 << 14;
    let mut store = Store::new(clients);
    let mut chain = Chain::new(0u64);
    let mut turn = Turn { seconds: 0.0, kept: 0, decided: None };
    let mut fed = 0;
    while fed < events {
        let mut chunk: Vec<_> = (0..CHUNK).map(|_| store.event()).collect();
        fed += CHUNK as u64;
        if bad && fed >= events {
            let read = chunk.iter_mut().rev().find_map(|event| match event {
                ClientEvent::Return { ret: VersionedRegisterRet::Version(id), .. } => Some(id),
                _ => None,
            });
            *read.expect("one of so many events") = 0;
        }
        let began = ProcessTime::now();
        for event in chunk {
            let status = chain.feed(event).expect("well-formed");
            debug_assert!(bad || status == OnlineStatus::Possible);
        }
        turn.seconds += began.elapsed().as_secs_f64();
        turn.kept = turn.kept.max(chain.kept());
    }
    turn.seconds *= events as f64 / fed as f64;
    turn.decided = chain.decided_at();
    turn
}

type Event = ClientEvent<VersionedRegisterOp, VersionedRegisterRet>;

/// A store with versions and its clients, like in [`drive`](super::history): a call is invoked,
/// takes effect, and returns.
struct Store {
    draw: Draw,
    version: u64,
    last: u64,
    clients: Vec<Client>,
}

#[derive(Clone)]
struct Client {
    known: u64,
    open: Option<VersionedRegisterOp>,
    told: Option<VersionedRegisterRet>,
}

impl Store {
    fn new(clients: u32) -> Store {
        let client = Client { known: 0, open: None, told: None };
        Store { draw: Draw::new(7), version: 0, last: 0, clients: vec![client; clients as usize] }
    }

    /// Returns the next event of a random client.
    fn event(&mut self) -> Event {
        loop {
            let number = self.draw.below(self.clients.len() as u64) as u32;
            let client = &mut self.clients[number as usize];
            if let Some(ret) = client.told.take() {
                client.open = None;
                return ClientEvent::Return { client: number, ret };
            }
            match &client.open {
                None => {
                    let op = if self.draw.below(2) == 0 {
                        VersionedRegisterOp::Read
                    } else {
                        self.last += 1;
                        VersionedRegisterOp::Update { from: client.known, to: self.last }
                    };
                    client.open = Some(op.clone());
                    return ClientEvent::Invoke { client: number, op };
                }
                Some(VersionedRegisterOp::Read) => {
                    client.known = self.version;
                    client.told = Some(VersionedRegisterRet::Version(self.version));
                }
                Some(VersionedRegisterOp::Update { from, to }) => {
                    let done = *from == self.version;
                    if done {
                        (self.version, client.known) = (*to, *to);
                    }
                    client.told = Some(VersionedRegisterRet::Updated(done));
                }
            }
        }
    }
}
