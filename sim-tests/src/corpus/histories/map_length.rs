//! A map that counts a new entry only after the entry is visible.

use std::sync::Arc;

use sim::History;
use sim::check::models::{Map, MapOp, MapRet};

use super::{Program, Spawning, together};
use crate::tools::{Atomic, Mutex, SeqCst, boxed};

/// The programs.
pub(super) const PROGRAMS: &[Program] = &[Program {
    name: "map_length",
    seeds: 200,
    buggy: |spawning| boxed(map_length(spawning, false)),
    fixed: |spawning| boxed(map_length(spawning, true)),
}];

/// A map with room for one key. The value 0 means "no value".
#[derive(Default)]
struct Small {
    value: Atomic<u64>,
    length: Atomic<usize>,
    lock: Mutex<()>,
}

/// Fixed: every call holds a lock.
async fn map_length(spawning: Spawning, fixed: bool) {
    let history = History::new(Map::<u64, u64>::new());
    let map = Arc::new(Small::default());
    let (other, calls, reads) = (map.clone(), history.clone(), history.clone());
    let tasks = vec![
        boxed(async move {
            let put = async {
                let _lock = if fixed { Some(other.lock.lock().await) } else { None };
                if other.value.swap(7, SeqCst).await == 0 {
                    other.length.fetch_add(1, SeqCst).await;
                }
                MapRet::Done
            };
            calls.call(MapOp::Put(1, 7), put).await;
        }),
        boxed(async move {
            let get = async {
                let _lock = if fixed { Some(map.lock.lock().await) } else { None };
                let value = map.value.load(SeqCst).await;
                MapRet::Value(Some(value).filter(|value| *value != 0))
            };
            reads.call(MapOp::Get(1), get).await;
            let length = async {
                let _lock = if fixed { Some(map.lock.lock().await) } else { None };
                MapRet::Len(map.length.load(SeqCst).await)
            };
            reads.call(MapOp::Len, length).await;
        }),
    ];
    together(spawning, tasks).await;
    history.assert_linearizable();
}
