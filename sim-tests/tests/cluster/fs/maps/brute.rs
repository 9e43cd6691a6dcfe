//! The search against brute force: two tasks of a node on a map, and a power failure at any moment.
//!
//! The reference shares no code with the library: it takes all orders of the steps, and of each sector any version
//! since its last sync.

use super::*;

/// One call on a file with two sectors and two words in the first sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Load(usize),
    Store(usize, u64),
    Add(usize, u64),
    /// The words of the first sector, as a slice.
    ReadBoth,
    WriteBoth(u64),
    Flush(usize),
    FileRead(usize),
    FileWrite(usize, u64),
    FileSync,
}

const PLACES: [u64; 3] = [0, 8, 512];
const SECTORS: [usize; 3] = [0, 0, 1];

/// The results of a run: the results of each task's calls as the test knows them, and the final words.
type Outcome = ([Vec<u64>; 2], Vec<u64>);

#[derive(Clone)]
struct State {
    words: [u64; 3],
    /// By sector: its versions since the last sync, the durable one first.
    versions: [Vec<[u64; 3]>; 2],
}

impl State {
    fn act(&mut self, act: Act) -> u64 {
        match act {
            Act::Load(word) | Act::FileRead(word) => self.words[word],
            Act::Store(word, value) | Act::FileWrite(word, value) => {
                self.set(word, value);
                0
            }
            Act::Add(word, value) => {
                let old = self.words[word];
                self.set(word, old + value);
                old
            }
            Act::ReadBoth => self.words[0] << 32 | self.words[1],
            Act::WriteBoth(value) => {
                self.set(0, value);
                self.set(1, value);
                0
            }
            Act::Flush(sector) => {
                self.sync(sector);
                0
            }
            Act::FileSync => {
                self.sync(0);
                self.sync(1);
                0
            }
        }
    }

    fn set(&mut self, word: usize, value: u64) {
        self.words[word] = value;
        self.versions[SECTORS[word]].push(self.words);
    }

    fn sync(&mut self, sector: usize) {
        let versions = &mut self.versions[sector];
        *versions = versions.split_off(versions.len() - 1);
    }

    fn left(&self) -> impl Iterator<Item = Vec<u64>> {
        let [first, second] = &self.versions;
        first.iter().flat_map(move |one| second.iter().map(move |two| vec![one[0], one[1], two[2]]))
    }
}

/// All outcomes: a step of a task is a call, or reports its result.
fn all_orders(
    state: &State,
    tasks: [&[Act]; 2],
    done: &[Vec<u64>; 2],
    told: [usize; 2],
    outcomes: &mut BTreeSet<Outcome>,
) {
    let shown = [0, 1].map(|task| done[task][..told[task]].to_vec());
    outcomes.extend(state.left().map(|left| (shown.clone(), left)));
    for task in 0..2 {
        if told[task] < done[task].len() {
            let mut told = told;
            told[task] += 1;
            all_orders(state, tasks, done, told, outcomes);
        } else if let Some(act) = tasks[task].get(done[task].len()) {
            let (mut state, mut done) = (state.clone(), done.clone());
            let result = state.act(*act);
            done[task].push(result);
            all_orders(&state, tasks, &done, told, outcomes);
        }
    }
}

async fn do_on(act: Act, map: &Map, file: &File) -> u64 {
    let word = |word: usize| map.word::<u64>(PLACES[word]);
    match act {
        Act::Load(at) => return word(at).load(SeqCst).await,
        Act::Store(at, value) => word(at).store(value, SeqCst).await,
        Act::Add(at, value) => return word(at).fetch_add(value, SeqCst).await,
        Act::ReadBoth => {
            let mut bytes = [0; 16];
            map.read_at(&mut bytes, 0).await;
            let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
            return word(0) << 32 | word(8);
        }
        Act::WriteBoth(value) => {
            map.write_at(&[value, value].map(u64::to_ne_bytes).concat(), 0).await;
        }
        Act::Flush(sector) => {
            let start = 512 * sector as u64;
            map.flush(start..start + 8).await.unwrap();
        }
        Act::FileRead(at) => {
            let mut bytes = [0; 8];
            file.read_at(&mut bytes, PLACES[at]).await.unwrap();
            return u64::from_ne_bytes(bytes);
        }
        Act::FileWrite(at, value) => {
            file.write_at(&value.to_ne_bytes(), PLACES[at]).await.unwrap();
        }
        Act::FileSync => file.sync_data().await.unwrap(),
    }
    0
}

/// The outcomes of a search, and its runs.
fn found(tasks: [&'static [Act]; 2]) -> (BTreeSet<Outcome>, u64) {
    let found = Arc::new(StdMutex::new(BTreeSet::new()));
    let report = search().run(async || {
        let db = node("db");
        let opened = db.spawn(async { mapped_at(Path::new("/"), 2048).await });
        let (file, map) = opened.await.unwrap();
        let file = Arc::new(file);
        // Words of the test, with the results: u64::MAX means no result.
        let told = tasks.map(|acts| {
            Arc::new(acts.iter().map(|_| sim::Atomic::new(u64::MAX)).collect::<Vec<_>>())
        });
        for (acts, told) in tasks.into_iter().zip(&told) {
            let (map, file, told) = (map.clone(), file.clone(), told.clone());
            db.spawn(async move {
                for (act, told) in acts.iter().zip(&*told) {
                    let result = do_on(*act, &map, &file).await;
                    told.store(result, SeqCst).await;
                }
            })
            .detach();
        }
        drop((file, map));
        let crash = spawn({
            let db = db.clone();
            async move {
                db.power_off();
                db.restart();
            }
        });
        crash.await.unwrap();
        let left = db.spawn(recovered(&PLACES)).await.unwrap();
        let mut shown = [Vec::new(), Vec::new()];
        for (shown, told) in shown.iter_mut().zip(&told) {
            for result in &**told {
                match result.load(SeqCst).await {
                    u64::MAX => break,
                    result => shown.push(result),
                }
            }
        }
        found.lock().unwrap().insert((shown, left));
    });
    proves(&report);
    (std::mem::take(&mut found.lock().unwrap()), report.runs)
}

fn compare(tasks: [&'static [Act]; 2]) -> u64 {
    let state = State { words: [0; 3], versions: [vec![[0; 3]], vec![[0; 3]]] };
    let mut all = BTreeSet::new();
    all_orders(&state, tasks, &[Vec::new(), Vec::new()], [0, 0], &mut all);
    let (found, runs) = found(tasks);
    assert_eq!(found, all, "{tasks:?}");
    runs
}

#[cfg_attr(feature = "sim", test)]
fn a_search_finds_what_brute_force_does() {
    use Act::*;
    let pairs: [[&[Act]; 2]; 10] = [
        [&[Store(0, 1)], &[Store(1, 2)]],
        [&[Store(0, 1), Flush(0)], &[Store(1, 2)]],
        [&[Store(2, 1), Flush(1)], &[Store(1, 2), Load(2)]],
        [&[Add(0, 1)], &[Add(0, 2), Flush(0)]],
        [&[Store(0, 1)], &[FileRead(0), FileSync]],
        [&[Load(0), Store(1, 1)], &[FileWrite(0, 2)]],
        [&[Flush(0), Store(0, 1)], &[Add(0, 2)]],
        [&[Store(0, 1), Store(0, 1)], &[FileSync]],
        [&[WriteBoth(1), ReadBoth], &[FileWrite(1, 2)]],
        [&[ReadBoth], &[Add(1, 1), FileRead(1)]],
    ];
    pairs.into_iter().for_each(|pair| assert!(compare(pair) > 1));
}

/// Random programs.
#[cfg_attr(feature = "sim", test)]
fn a_search_of_random_programs_finds_what_brute_force_does() {
    let count = if sim_tests::histories::long() { 150 } else { 5 };
    let mut state = 1_u64;
    let mut below = move |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    for _ in 0..count {
        let tasks = [(); 2].map(|()| {
            let acts = (0..2).map(|_| {
                let (word, value) = (below(3) as usize, 1 + below(2));
                match below(12) {
                    0 | 1 => Act::Load(word),
                    2..5 => Act::Store(word, value),
                    5 => Act::Add(word, value),
                    6 => Act::Flush(SECTORS[word]),
                    7 => Act::FileRead(word),
                    8 => Act::FileWrite(word, value),
                    9 => Act::WriteBoth(value),
                    10 => Act::ReadBoth,
                    _ => Act::FileSync,
                }
            });
            // A run names its tasks' acts for as long as the test lives.
            &*Box::leak(acts.collect::<Vec<_>>().into_boxed_slice())
        });
        compare(tasks);
    }
}
