//! Two append-only logs on a disk whose power fails; compaction renames a new log, and shares syncs of the directory.
//! Planted bug: a sync also counts for a log that was renamed, and requested a sync, after this sync had begun.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io::Result;
use std::sync::{Arc, Mutex as StdMutex};

use sim::fs::{self, File, OpenOptions};
use sim::task::yield_now;
use sim::time::{Duration, sleep};
use sim::{Condvar, Mutex};

const LOGS: usize = 2;
const KEYS_OF_LOG: u64 = 3;
/// The number of old records in a log at which it is compacted.
const GARBAGE: usize = 22;
/// The number of lives of the node, and the most steps of the test in a life.
const LIVES: usize = 7;
const LIFE: u64 = 70;
/// The size of a record: its key, its version and a checksum.
const RECORD: usize = 8;
const TICK: Duration = Duration::from_millis(1);

fn encode(key: u8, version: u32) -> [u8; RECORD] {
    let [a, b, c, d] = version.to_le_bytes();
    let sum =
        [key, a, b, c, d].iter().fold(0x1234_u16, |sum, byte| 31 * (sum % 999) + *byte as u16);
    let [low, high] = sum.to_le_bytes();
    [key, 0, a, b, c, d, low, high]
}

/// Returns the key and the version of a whole record.
fn decode(bytes: &[u8]) -> Option<(u8, u32)> {
    let [key, _, a, b, c, d, _, _] = *bytes else { return None };
    let version = u32::from_le_bytes([a, b, c, d]);
    (encode(key, version) == *bytes).then_some((key, version))
}

/// The requests for a sync of the directory.
#[derive(Default)]
struct Requests {
    asked: u64,
    done: u64,
    is_running: bool,
}

struct Directory {
    fixed: bool,
    requests: Mutex<Requests>,
    synced: Condvar,
}

impl Directory {
    /// Makes all names durable that were changed before this call. Requests share a sync.
    async fn sync(&self) -> Result<()> {
        let mut requests = self.requests.lock().await;
        requests.asked += 1;
        let ticket = requests.asked;
        crate::sometimes!(requests.is_running, "a request during a sync");
        while requests.done < ticket {
            if requests.is_running {
                requests = self.synced.wait(requests).await;
                continue;
            }
            requests.is_running = true;
            let asked = requests.asked;
            drop(requests);
            File::open("/").await?.sync_all().await?;
            requests = self.requests.lock().await;
            requests.is_running = false;
            crate::sometimes_each!(requests.asked - asked, "requests that came during a sync");
            requests.done = if self.fixed { asked } else { requests.asked };
            self.synced.notify_all();
        }
        Ok(())
    }
}

/// The model: for each log and key, the last version that is durable.
type Model = Arc<StdMutex<BTreeMap<(usize, u8), u32>>>;

struct Log {
    number: usize,
    file: File,
    records: usize,
    versions: BTreeMap<u8, u32>,
}

impl Log {
    /// Opens a log, and cuts off a record that is not whole.
    async fn open(number: usize) -> Result<Log> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let mut file = options.open(format!("/log-{number}")).await?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).await?;
        let whole: Vec<_> = bytes.chunks(RECORD).map_while(decode).collect();
        let (records, is_torn) = (whole.len(), whole.len() * RECORD < bytes.len());
        crate::sometimes_each!((records / 4, is_torn), "records found, divided by 4");
        if is_torn {
            file.set_len((records * RECORD) as u64).await?;
            file.sync_all().await?;
        }
        Ok(Log { number, file, records, versions: whole.into_iter().collect() })
    }

    async fn put(&mut self, key: u8, version: u32) -> Result<()> {
        self.file.write_all(&encode(key, version)).await?;
        self.file.sync_data().await?;
        self.versions.insert(key, version);
        self.records += 1;
        Ok(())
    }

    /// Replaces the log by a new log without old records.
    async fn compact(&mut self, directory: &Directory) -> Result<()> {
        let [new, path] = ["new", "log"].map(|name| format!("/{name}-{}", self.number));
        let mut file = File::create(&new).await?;
        let records = self.versions.iter().map(|(key, version)| encode(*key, *version));
        let bytes: Vec<u8> = records.flatten().collect();
        file.write_all(&bytes).await?;
        file.sync_all().await?;
        fs::rename(&new, &path).await?;
        let length = fs::metadata(&path).await?.len();
        assert_eq!(length, bytes.len() as u64, "the new log has another length");
        directory.sync().await?;
        (self.file, self.records) = (file, self.versions.len());
        Ok(())
    }

    /// Puts values until the power fails.
    async fn run(mut self, directory: Arc<Directory>, model: Model) {
        let mut version = self.versions.values().max().copied().unwrap_or_default();
        let mut compactions = 0_u64;
        loop {
            if sim::rand::below(4) == 0 {
                sleep(TICK * sim::rand::below(3) as u32).await;
            }
            let key = sim::rand::below(KEYS_OF_LOG) as u8;
            version += 1;
            self.put(key, version).await.unwrap();
            model.lock().unwrap().insert((self.number, key), version);
            if self.records - self.versions.len() >= GARBAGE {
                self.compact(&directory).await.unwrap();
                compactions += 1;
                crate::watermark!(compactions, "compactions of a log in a life");
            }
        }
    }
}

/// Opens all logs. They must contain all durable data.
async fn recover(model: Model) -> Vec<Log> {
    let mut logs = Vec::new();
    for number in 0..LOGS {
        logs.push(Log::open(number).await.unwrap());
    }
    for ((number, key), version) in &*model.lock().unwrap() {
        let found = logs[*number].versions.get(key).copied().unwrap_or_default();
        assert!(found >= *version, "log {number} has lost version {version}, and has {found}");
    }
    logs
}

async fn live(fixed: bool, model: Model) {
    let logs = recover(model.clone()).await;
    let (requests, synced) = (Mutex::default(), Condvar::new());
    let directory = Arc::new(Directory { fixed, requests, synced });
    directory.sync().await.unwrap();
    for log in logs {
        sim::spawn(log.run(directory.clone(), model.clone())).detach();
    }
}

pub(crate) async fn body(fixed: bool) {
    let db = sim::node("db");
    let model = Model::default();
    for _ in 0..LIVES {
        db.spawn(live(fixed, model.clone())).detach();
        for _ in 0..sim::rand::below(LIFE) {
            yield_now().await;
            if sim::rand::below(4) == 0 {
                sleep(TICK).await;
            }
        }
        db.power_off();
        db.restart();
    }
    db.spawn(async { drop(recover(model).await) }).await.unwrap();
    db.kill();
}
