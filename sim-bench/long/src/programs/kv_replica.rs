//! A primary sends a snapshot, the tail of its log and new entries to each life of a backup. Planted bug: the end of a
//! transfer to a dead backup unpins the log during the next transfer, so entries behind its snapshot may be cut.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use sim::net::{self, Receiver, Sender};
use sim::task::yield_now;
use sim::{JoinHandle, Mutex, Node};

const WRITERS: u64 = 3;
/// The number of writes of each writer.
const WRITES: u64 = 80;
/// The index of the last entry.
const LAST: u64 = WRITERS * WRITES;
const KEYS: u64 = 4;
/// The number of entries after which a new snapshot replaces the log.
const CUT: u64 = 60;
/// The number of lives of the backup.
const LIVES: u64 = 6;
/// The most steps of the test in a life of the backup, and in the time until the next life.
const LIFE: u64 = 200;
const DOWN: u64 = 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u64,
    key: u64,
    value: u64,
}

enum Message {
    /// A value of the snapshot.
    Part(u64, u64),
    /// The end of the snapshot, with the index of its last entry.
    Base(u64),
    Entry(Entry),
}

#[derive(Clone, Default)]
struct Snapshot {
    index: u64,
    map: BTreeMap<u64, u64>,
}

#[derive(Default)]
struct State {
    /// The index of the last entry.
    index: u64,
    map: BTreeMap<u64, u64>,
    snapshot: Snapshot,
    /// The entries behind the snapshot.
    log: Vec<Entry>,
    /// True if the log must not be cut, because a transfer needs it.
    is_pinned: bool,
    /// The number of transfers that have not ended.
    transfers: u64,
    /// The life of the backup that receives new entries, and the stream to it.
    live: Option<(u64, Sender<Message>)>,
    /// The number of snapshots.
    cuts: u64,
}

impl State {
    fn cut(&mut self) {
        crate::sometimes_each!((self.transfers, self.is_pinned), "transfers when the log is cut");
        if self.is_pinned {
            return;
        }
        self.snapshot = Snapshot { index: self.index, map: self.map.clone() };
        self.log.clear();
        self.cuts += 1;
        crate::watermark!(self.cuts, "snapshots");
    }
}

struct Primary {
    fixed: bool,
    state: Mutex<State>,
}

impl Primary {
    async fn write(self: Arc<Self>) {
        for _ in 0..WRITES {
            let key = sim::rand::below(KEYS);
            let mut state = self.state.lock().await;
            state.index += 1;
            let entry = Entry { index: state.index, key, value: state.index };
            state.map.insert(key, entry.value);
            state.log.push(entry);
            if let Some((life, stream)) = state.live.take() {
                if stream.send(Message::Entry(entry)).await.is_ok() {
                    state.live = Some((life, stream));
                }
            }
            if state.index % CUT == 0 {
                state.cut();
            }
            drop(state);
            yield_now().await;
        }
    }

    /// Brings a new life of the backup up to date.
    async fn transfer(self: Arc<Self>, life: u64, stream: Sender<Message>) {
        let mut state = self.state.lock().await;
        state.transfers += 1;
        state.is_pinned = true;
        crate::watermark!(state.transfers, "transfers at once");
        let snapshot = state.snapshot.clone();
        drop(state);
        let sent = send_snapshot(&stream, &snapshot).await;

        let mut state = self.state.lock().await;
        if sent {
            let tail = state.log.iter().filter(|entry| entry.index > snapshot.index);
            let tail: Vec<Entry> = tail.copied().collect();
            crate::sometimes_each!(tail.len() / 8, "length of a tail, divided by 8");
            // New entries wait for the lock, so they follow the tail.
            for entry in tail {
                let _ = stream.send(Message::Entry(entry)).await;
            }
            if state.live.as_ref().is_none_or(|(other, _)| *other < life) {
                state.live = Some((life, stream));
            }
        }
        state.transfers -= 1;
        state.is_pinned = self.fixed && state.transfers > 0;
    }
}

/// Sends a snapshot. Returns `false` if the backup is dead.
async fn send_snapshot(stream: &Sender<Message>, snapshot: &Snapshot) -> bool {
    for (key, value) in &snapshot.map {
        if stream.send(Message::Part(*key, *value)).await.is_err() {
            return false;
        }
    }
    stream.send(Message::Base(snapshot.index)).await.is_ok()
}

/// A life of the backup. Returns its map when it has all entries.
async fn follow(mut stream: Receiver<Message>) -> BTreeMap<u64, u64> {
    let mut map = BTreeMap::new();
    let mut index = 0;
    while index < LAST {
        match stream.recv().await.expect("the primary keeps the stream") {
            Message::Part(key, value) => drop(map.insert(key, value)),
            Message::Base(base) => index = base,
            Message::Entry(entry) => {
                assert_eq!(entry.index, index + 1, "an entry is missing before {entry:?}");
                index = entry.index;
                map.insert(entry.key, entry.value);
            }
        }
    }
    map
}

/// Starts the backup and a transfer to it.
fn connect(
    primary: &Arc<Primary>,
    [node, backup]: &[Node; 2],
    life: u64,
) -> (JoinHandle<()>, JoinHandle<BTreeMap<u64, u64>>) {
    let (sender, receiver) = net::link(node, backup);
    let following = backup.spawn(follow(receiver));
    (node.spawn(primary.clone().transfer(life, sender)), following)
}

pub(crate) async fn body(fixed: bool) {
    let nodes = ["primary", "backup"].map(sim::node);
    let primary = Arc::new(Primary { fixed, state: Mutex::default() });
    let mut tasks: Vec<_> = (0..WRITERS).map(|_| nodes[0].spawn(primary.clone().write())).collect();
    for life in 1..LIVES {
        let (transfer, following) = connect(&primary, &nodes, life);
        tasks.push(transfer);
        following.detach();
        for _ in 0..sim::rand::below(LIFE) {
            yield_now().await;
        }
        nodes[1].kill();
        for _ in 0..=sim::rand::below(DOWN) {
            yield_now().await;
        }
        nodes[1].restart();
    }
    let (transfer, following) = connect(&primary, &nodes, LIVES);
    tasks.push(transfer);
    for task in tasks {
        task.await.unwrap();
    }
    let map = following.await.unwrap();
    assert_eq!(map, primary.state.lock().await.map, "the backup has another map");
}
