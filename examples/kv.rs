//! A key-value store that locks the keys but not the values; a delete loses a put.
//!
//! A put finds or creates the entry of its key, and writes to the entry without the lock. If a delete removes the entry
//! from the store in between, the put writes to an entry that is no longer in the store. `cargo run --example kv`
//! prints the output at the end of this file.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use sim::check::models::{Map, MapOp, MapRet};
use sim::{Cell, History, Mutex};

use shared::Example;
use shared::Version::{self, Buggy, Fixed};

mod shared;

/// A value that may be absent.
type Entry = Arc<Cell<Option<u64>>>;

struct Store {
    entries: Mutex<BTreeMap<char, Entry>>,
    version: Version,
}

impl Store {
    fn new(version: Version) -> Store {
        Store { entries: Mutex::new(BTreeMap::new()), version }
    }

    async fn put(&self, key: char, value: u64) -> Option<u64> {
        let mut entries = self.entries.lock().await;
        let entry = entries.entry(key).or_insert_with(|| Arc::new(Cell::new(None))).clone();
        drop(entries);
        entry.replace(Some(value)).await
    }

    async fn get(&self, key: char) -> Option<u64> {
        let entry = self.entries.lock().await.get(&key)?.clone();
        entry.get().await
    }

    async fn delete(&self, key: char) -> Option<u64> {
        let mut entries = self.entries.lock().await;
        let entry = match self.version {
            // Removes the entry, although a put may hold it and be about to write.
            Buggy => entries.remove(&key)?,
            // Leaves the entry in the store, and only empties it.
            Fixed => entries.get(&key)?.clone(),
        };
        drop(entries);
        entry.take().await
    }
}

/// One client of the store. It records its calls and their results.
#[derive(Clone)]
struct Client {
    store: Arc<Store>,
    history: History<Map<char, u64>>,
}

impl Client {
    async fn put(&self, key: char, value: u64) {
        let work = async { MapRet::Value(self.store.put(key, value).await) };
        self.history.call(MapOp::Put(key, value), work).await;
    }

    async fn get(&self, key: char) {
        let work = async { MapRet::Value(self.store.get(key).await) };
        self.history.call(MapOp::Get(key), work).await;
    }

    async fn delete(&self, key: char) {
        let work = async { MapRet::Value(self.store.delete(key).await) };
        self.history.call(MapOp::Delete(key), work).await;
    }
}

/// Runs a put and a delete of one key at the same time, then a get.
async fn program(version: Version) {
    let store = Arc::new(Store::new(version));
    let client = Client { store, history: History::new(Map::new()) };

    let (putting, deleting) = (client.clone(), client.clone());
    let putting = sim::spawn(async move { putting.put('x', 1).await });
    let deleting = sim::spawn(async move { deleting.delete('x').await });
    putting.await.unwrap();
    deleting.await.unwrap();
    client.get('x').await;

    client.history.assert_linearizable();
}

fn main() -> ExitCode {
    let mut example = Example::new("kv: a delete takes away the entry that a put is writing to");
    example.check("kv", program);
    example.end()
}

// ---- Output ----
//
// kv: a delete takes away the entry that a put is writing to
//
// FAILED  kv  seed 8: history is not linearizable (map)
//
//   checked at  examples/kv.rs:95:20
//   tested      9 runs of seeds 0 to 999 after 4 rehearsals, portfolio
//   shrunk      from 10 steps, 3 preemptions to 10 steps, 1 preemption (528 replays)
//   why         between `lock` (kv.rs:35) and `replace` (:38) of 0.0 came `lock mutex` (:47) and
//               `take cell` (:55) of 0.1
//               0.0  kv.rs:35 | let mut entries = self.entries.lock().await;
//               0.1       :47 | let mut entries = self.entries.lock().await;
//               0.1       :55 | entry.take().await
//               0.0       :38 | entry.replace(Some(value)).await
//   remedy      as one step, kv.rs:35 to :38: all 2 interleavings pass (proved; it keeps 2 of the 3
//               that pass now)
//   chances     5 % of all schedules fail, 77 % after step 3, all after step 5 (proved)
//
// ── history ── map, 3 operations, 3 clients ─────────────────────────────────────────────────────────
//
//   0.0   ├─ Put('x', 1) → None ─────┤
//   0.1      ├ Delete('x') → None ┤
//   main                                ├ Get('x') → None ┤
//                                       ^^^^^^^^^^^^^^^^^^^ fits nowhere
//
//   `Get('x') → None` by main fits nowhere: after `Delete('x') → None` by 0.1 and `Put('x', 1) → None`
//   by 0.0 it should have returned `Some(1)`. The state is then `{'x': 1}`.
//
// ── schedule ── 10 steps, 4 switches, 1 preemption ──────────────────────────────────────────────────
//
//   step  main          0.0           0.1                                  P                     place
//      0  spawn 0.0                                                      .05      examples/kv.rs:89:19
//         spawn 0.1                                                               examples/kv.rs:90:20
//      1  │             start
//      2  │             lock mutex                                                examples/kv.rs:35:40
//         │             unlock mutex                                              examples/kv.rs:35:40
//         │             ├─ preempted ─┐
//      3  │             │             start                              .77 ◂
//      4  │             │             lock mutex                         .88      examples/kv.rs:47:40
//         │             │             unlock mutex                                examples/kv.rs:47:40
//      5  │             │             take cell                            1      examples/kv.rs:55:15
//   no way back: every schedule fails from here on (proved)
//      6  │             replace cell                                              examples/kv.rs:38:15
//      7  join 0.0                                                                examples/kv.rs:89:19
//      8  join 0.1                                                                examples/kv.rs:90:20
//      9  lock mutex                                                              examples/kv.rs:42:34
//         unlock mutex                                                            examples/kv.rs:42:34
//
//   mutex  created at examples/kv.rs:31:26
//   cell   created at examples/kv.rs:36:67
//
// trace:   target/sim/unpause/example-kv.kv/8.simtrace
// replay:  SIM_REPLAY=sim2:0,0.0x2,0.1x3,0.0,0x3 cargo run -p unpause --example kv
//
// the trace file, replayed, ends with the same failure
//
// passed  kv_fixed: 1000 runs, 10493 steps
