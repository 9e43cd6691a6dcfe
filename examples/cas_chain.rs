//! An online check of half a million events of a versioned store, in which one read is stale.
//!
//! The store returns its current version, and accepts updates that name the version they replace. So it is a register
//! with compare-and-swap, like a lease or an etag. A cache in front of it serves one stale read. The history is
//! checked while it is created, and never kept. The checker remembers the versions on which an open call may depend,
//! and a thousand more to explain a violation. `cargo run --release --example cas_chain` prints the output at the
//! end.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use sim::check::chain::{Chain, ChainEvent};
use sim::check::models::{VersionedRegisterOp as Op, VersionedRegisterRet as Ret};
use sim::check::online::{ClientEvent, OnlineStatus};
use sim::check::verdict::Verdict;

const EVENTS: u64 = 500_000;
const CLIENTS: usize = 8;

/// Clients of a versioned store, and their results. They form an endless stream of events, which depends only on the
/// seed.
struct Store {
    random: u64,
    version: u64,
    /// The id of the next update.
    next: u64,
    /// The open call of each client, with its result after the store has executed it.
    calls: [Option<(Op, Option<Ret>)>; CLIENTS],
    made: u64,
    /// The time at which one read is served from a cache.
    stale_at: Option<u64>,
    /// The version in the cache.
    cached: Option<u64>,
}

impl Store {
    fn new(seed: u64, stale_at: Option<u64>) -> Store {
        let calls = [const { None }; CLIENTS];
        Store { random: seed, version: 0, next: 1, calls, made: 0, stale_at, cached: None }
    }

    /// Returns a number below `bound` (SplitMix64).
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.random;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    /// Draws the next call of a client.
    fn ask(&mut self) -> Op {
        if self.below(3) > 0 {
            return Op::Read;
        }
        self.next += 1;
        Op::Update { from: self.version, to: self.next - 1 }
    }

    /// Returns the result of a call that the store executes now.
    fn answer(&mut self, op: &Op) -> Ret {
        match op {
            Op::Read => Ret::Version(self.version),
            Op::Update { from, to } => {
                let done = *from == self.version;
                if done {
                    self.version = *to;
                }
                Ret::Updated(done)
            }
        }
    }
}

impl Iterator for Store {
    type Item = ChainEvent;

    fn next(&mut self) -> Option<ChainEvent> {
        loop {
            let slot = self.below(CLIENTS);
            let client = slot as u32;
            let event = match self.calls[slot].take() {
                None => {
                    let op = self.ask();
                    let is_stale =
                        op == Op::Read && self.stale_at.is_some_and(|at| self.made >= at);
                    let ret = if is_stale { self.cached.take().map(Ret::Version) } else { None };
                    self.calls[slot] = Some((op.clone(), ret));
                    ClientEvent::Invoke { client, op }
                }
                Some((op, None)) => {
                    let ret = self.answer(&op);
                    self.calls[slot] = Some((op, Some(ret)));
                    continue;
                }
                Some((_, Some(ret))) => ClientEvent::Return { client, ret },
            };
            self.made += 1;
            // The cache was filled 50 events earlier.
            if self.stale_at == Some(self.made + 50) {
                self.cached = Some(self.version);
            }
            return Some(event);
        }
    }
}

/// Feeds the checker until the first violation or the last event. Returns `true` for a violation.
fn show(about: &str, stale_at: Option<u64>) -> bool {
    let mut chain = Chain::new(0);
    let mut kept = 0;
    for event in Store::new(1, stale_at).take(EVENTS as usize) {
        let status = chain.feed(event).expect("clients of a store have one call open at a time");
        kept = kept.max(chain.kept());
        if status != OnlineStatus::Possible {
            break;
        }
    }
    println!("{about}: {} events, {} open calls", chain.events(), chain.open());
    println!("  last version  {}", chain.last());
    println!("  remembered    at most {kept} versions");
    if let Some(event) = chain.decided_at() {
        println!("  decided       at event {event}");
    }
    match chain.finish() {
        Verdict::Consistent(witness) => println!("  consistent    ({})\n", witness.engine),
        Verdict::Violated(evidence) => {
            let anomaly = evidence.anomaly.expect("the chain knows the name of what it finds");
            println!("  VIOLATED      {}", anomaly.name);
            println!("    {}", anomaly.text);
            for edge in anomaly.edges {
                println!("    {} before {}: {}", edge.from, edge.to, edge.why);
            }
            println!("    should have returned {}\n", evidence.expected.join(" or "));
            return true;
        }
        Verdict::Unknown(exhausted) => println!("  UNDECIDED     {exhausted}\n"),
    }
    false
}

fn main() -> ExitCode {
    println!("cas_chain: a store with versions, checked while it runs\n");
    let found = show("a cache serves one stale read", Some(EVENTS * 9 / 10));
    let clean = !show("the same store without the cache", None);
    if found && clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

// ---- Output ----
//
// cas_chain: a store with versions, checked while it runs
//
// a cache serves one stale read: 450003 events, 7 open calls
//   last version  75020
//   remembered    at most 1032 versions
//   decided       at event 450002
//   VIOLATED      stale read
//     Operation 225003 read version 75015. When it was invoked, the chain 75015 → 75016 → 75017 → 75018 → 75019 → 75020 was known already by operation 224997, 5 versions newer.
//     225003 before 224978: read the version that it replaced
//     224978 before 225003: returned before it was invoked
//     should have returned 75020
//
// the same store without the cache: 500000 events, 6 open calls
//   last version  83333
//   remembered    at most 1032 versions
//   consistent    (chain)
