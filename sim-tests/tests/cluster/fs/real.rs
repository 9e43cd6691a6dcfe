//! The files of a run and the files of the operating system: random programs of calls have the same results.

use std::path::{Path, PathBuf};
use std::sync::Mutex as StdMutex;

use super::*;

const SLOTS: u64 = 3;
const PATHS: [&str; 12] =
    ["a", "b", "d", "d/a", "d/e", "d/e/f", "g/a", "g", "a/x", "a/", "d/", "d/../a"];

/// One call of a real or simulated file.
#[derive(Clone, Debug)]
enum Step {
    Open(usize, PathBuf, OpenOptions),
    Close(usize),
    Clone(usize, usize),
    Read(usize, usize),
    ReadAt(usize, u64, usize),
    Write(usize, Vec<u8>),
    WriteAt(usize, u64, Vec<u8>),
    Seek(usize, SeekFrom),
    SetLen(usize, u64),
    Sync(usize),
    Len(usize),
    TryLock(usize, bool),
    Unlock(usize),
    CreateDir(PathBuf),
    CreateDirs(PathBuf),
    Remove(PathBuf),
    RemoveDir(PathBuf),
    RemoveDirs(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Entries(PathBuf),
    Look(PathBuf),
    Exists(PathBuf),
    ReadAll(PathBuf),
    ReadText(PathBuf),
    WriteAll(PathBuf, Vec<u8>),
    Copy(PathBuf, PathBuf),
}

/// The generator of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn slot(&mut self) -> usize {
        self.below(SLOTS) as usize
    }

    fn path(&mut self) -> PathBuf {
        match self.below(3) {
            0 => "a".into(),
            _ => PATHS[self.below(PATHS.len() as u64) as usize].into(),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = [0, 1, 7, 700, 1200][self.below(5) as usize];
        (0..len).map(|_| b'a' + self.below(26) as u8).collect()
    }

    fn at(&mut self) -> u64 {
        [0, 3, 511, 512, 1500][self.below(5) as usize]
    }

    fn options(&mut self) -> OpenOptions {
        let mut options = OpenOptions::new();
        if self.below(2) == 0 {
            return options.read(true).write(true).create(true).clone();
        }
        let bits = self.below(64);
        options.read(bits & 1 != 0).write(bits & 2 != 0).create(bits & 4 != 0);
        options.append(bits & 24 == 24).truncate(bits & 40 == 40).create_new(bits & 56 == 8);
        options
    }

    fn step(&mut self) -> Step {
        match self.below(28) {
            0..4 => Step::Open(self.slot(), self.path(), self.options()),
            4 => Step::Close(self.slot()),
            5 => Step::Read(self.slot(), self.below(1000) as usize),
            6 => Step::ReadAt(self.slot(), self.at(), self.below(1000) as usize),
            7 => Step::Write(self.slot(), self.bytes()),
            8 => Step::WriteAt(self.slot(), self.at(), self.bytes()),
            9 => Step::Seek(
                self.slot(),
                match self.below(3) {
                    0 => SeekFrom::Start(self.at()),
                    1 => SeekFrom::Current(self.below(1000) as i64 - 500),
                    _ => SeekFrom::End(self.below(1000) as i64 - 500),
                },
            ),
            10 => Step::SetLen(self.slot(), self.at()),
            11 => Step::Sync(self.slot()),
            12 => Step::Len(self.slot()),
            13 | 27 => Step::TryLock(self.slot(), self.below(2) == 0),
            14 => Step::Unlock(self.slot()),
            15 => Step::CreateDir(self.path()),
            16 => Step::CreateDirs(self.path()),
            17 => Step::Remove(self.path()),
            18 => Step::RemoveDir(self.path()),
            19 => Step::RemoveDirs(self.path()),
            20 => Step::Rename(self.path(), self.path()),
            21 => Step::Link(self.path(), self.path()),
            22 => Step::Entries(self.path()),
            23 if self.below(2) == 0 => Step::Look(self.path()),
            23 => Step::Exists(self.path()),
            24 if self.below(2) == 0 => Step::ReadAll(self.path()),
            24 => Step::ReadText(self.path()),
            25 if self.below(2) == 0 => Step::WriteAll(self.path(), self.bytes()),
            25 => Step::Clone(self.slot(), self.slot()),
            _ => Step::Copy(self.path(), self.path()),
        }
    }
}

/// The text of a result: the value, or the kind of the error.
fn shown<T: std::fmt::Debug>(result: std::io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("{:?}", error.kind()),
    }
}

/// Executes the program under `root`, which is an empty directory.
async fn results_of(root: &Path, program: &[Step]) -> Vec<String> {
    let mut slots: [Option<File>; SLOTS as usize] = [const { None }; SLOTS as usize];
    let mut results = Vec::new();
    for step in program {
        let result = match step {
            Step::Open(slot, path, options) => match options.open(root.join(path)).await {
                Ok(file) => {
                    slots[*slot] = Some(file);
                    "open".to_owned()
                }
                Err(error) => format!("{:?}", error.kind()),
            },
            Step::CreateDir(path) => shown(fs::create_dir(root.join(path)).await),
            Step::CreateDirs(path) => shown(fs::create_dir_all(root.join(path)).await),
            Step::Remove(path) => shown(fs::remove_file(root.join(path)).await),
            Step::RemoveDir(path) => shown(fs::remove_dir(root.join(path)).await),
            Step::RemoveDirs(path) => shown(fs::remove_dir_all(root.join(path)).await),
            Step::Rename(from, to) => shown(fs::rename(root.join(from), root.join(to)).await),
            Step::Link(from, to) => shown(fs::hard_link(root.join(from), root.join(to)).await),
            Step::Entries(path) => match fs::read_dir(root.join(path)).await {
                Ok(mut entries) => {
                    let mut names = Vec::new();
                    while let Some(entry) = entries.next_entry().await.unwrap() {
                        let kind = entry.file_type().await.unwrap();
                        names.push((entry.file_name(), kind.is_dir()));
                    }
                    names.sort();
                    format!("{names:?}")
                }
                Err(error) => format!("{:?}", error.kind()),
            },
            Step::Look(path) => shown(fs::metadata(root.join(path)).await.map(|metadata| {
                (metadata.is_dir(), if metadata.is_file() { metadata.len() } else { 0 })
            })),
            Step::Exists(path) => shown(fs::try_exists(root.join(path)).await),
            Step::ReadAll(path) => shown(fs::read(root.join(path)).await),
            Step::ReadText(path) => shown(fs::read_to_string(root.join(path)).await),
            Step::WriteAll(path, bytes) => shown(fs::write(root.join(path), bytes).await),
            Step::Copy(from, to) => shown(fs::copy(root.join(from), root.join(to)).await),
            Step::Close(slot) => {
                slots[*slot] = None;
                String::new()
            }
            Step::Clone(from, to) => match &slots[*from] {
                Some(file) => {
                    slots[*to] = Some(file.try_clone().await.unwrap());
                    String::new()
                }
                None => String::new(),
            },
            Step::Read(slot, ..)
            | Step::ReadAt(slot, ..)
            | Step::Write(slot, ..)
            | Step::WriteAt(slot, ..)
            | Step::Seek(slot, ..)
            | Step::SetLen(slot, ..)
            | Step::Sync(slot)
            | Step::Len(slot)
            | Step::TryLock(slot, ..)
            | Step::Unlock(slot) => match &mut slots[*slot] {
                Some(file) => on_file(file, step).await,
                None => String::new(),
            },
        };
        results.push(result);
    }
    results
}

async fn on_file(file: &mut File, step: &Step) -> String {
    match step {
        Step::Read(_, count) => {
            let mut into = vec![0; *count];
            let read = file.read(&mut into).await;
            shown(read.map(|read| into[..read].to_vec()))
        }
        Step::ReadAt(_, at, count) => {
            let mut into = vec![0; *count];
            let read = file.read_at(&mut into, *at).await;
            shown(read.map(|read| into[..read].to_vec()))
        }
        Step::Write(_, bytes) => shown(file.write(bytes).await),
        Step::WriteAt(_, at, bytes) => shown(file.write_at(bytes, *at).await),
        // The positions of a directory are the file system's own.
        Step::Seek(..) if file.metadata().await.unwrap().is_dir() => String::new(),
        Step::Seek(_, to) => shown(file.seek(*to).await),
        Step::SetLen(_, len) => shown(file.set_len(*len).await),
        Step::Sync(_) => shown(file.sync_all().await),
        Step::Len(_) => {
            let metadata = file.metadata().await;
            shown(metadata.map(|metadata| if metadata.is_file() { metadata.len() } else { 0 }))
        }
        Step::TryLock(_, true) => shown(file.try_lock()),
        Step::TryLock(_, false) => shown(file.try_lock_shared()),
        Step::Unlock(_) => shown(file.unlock()),
        other => unreachable!("{other:?}"),
    }
}

#[cfg_attr(feature = "sim", test)]
fn programs_have_the_results_of_the_operating_system() {
    let count = if sim_tests::histories::long() { 3000 } else { 25 };
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..count {
        let mut random = Random(seed);
        let program: Vec<Step> = (0..60).map(|_| random.step()).collect();
        let root = std::env::temp_dir().join(format!("sim-fs-{}-{seed}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let real = sim::block_on(results_of(&root, &program));
        std::fs::remove_dir_all(&root).unwrap();
        let run = StdMutex::new(Vec::new());
        let report = sampled(0..1, async || {
            fs::create_dir("/root").await.unwrap();
            let results = results_of(Path::new("/root"), &program).await;
            *run.lock().unwrap() = results;
        });
        passes(&report);
        for ((step, run), real) in program.iter().zip(&*run.lock().unwrap()).zip(&real) {
            assert_eq!(run, real, "seed {seed}, {step:?} in {program:#?}");
            kinds.insert(real.split(['[', '(', '"']).next().unwrap().to_owned());
        }
    }
    for kind in ["NotFound", "AlreadyExists", "DirectoryNotEmpty", "NotADirectory", "WouldBlock"] {
        assert!(kinds.contains(kind), "no call gave {kind}: {kinds:?}");
    }
}

/// Compares files outside of runs and in the real build with files of the operating system: the calls, a wait for a
/// lock, and the traits of streams.
#[test]
fn files_are_those_of_the_operating_system() {
    use futures::io::AsyncReadExt as _;

    let root = std::env::temp_dir().join(format!("sim-fs-{}", std::process::id()));
    std::fs::create_dir_all(&root).unwrap();
    let path = root.join("a");
    sim::block_on(async {
        // The rules of a run's disks mean nothing here.
        fs::faults(fs::Faults::none().full(9).rules(fs::Rules::EXT4));
        fs::write(&path, "some").await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"some");
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).open(&path).await.unwrap();
        file.lock().await.unwrap();
        let other = File::open(&path).await.unwrap();
        assert_eq!(other.try_lock_shared().unwrap_err().kind(), ErrorKind::WouldBlock);
        let waits = spawn(async move {
            other.lock().await.unwrap();
            let mut stream = futures::io::BufReader::new(other);
            let mut text = String::new();
            stream.read_to_string(&mut text).await.unwrap();
            text
        });
        std::thread::sleep(std::time::Duration::from_millis(20));
        let mut clone = file.try_clone().await.unwrap();
        drop(file);
        clone.write_all(b" bytes").await.unwrap();
        clone.sync_data().await.unwrap();
        drop(clone);
        assert_eq!(waits.await.unwrap(), "some bytes");
    });
    std::fs::remove_dir_all(&root).unwrap();
}

/// std removes the link and keeps the directory behind it.
#[cfg(unix)]
#[test]
fn a_link_to_a_directory_is_removed_and_not_the_directory() {
    let root = std::env::temp_dir().join(format!("sim-fs-link-{}", std::process::id()));
    let (behind, link) = (root.join("behind"), root.join("link"));
    std::fs::create_dir_all(&behind).unwrap();
    std::fs::write(behind.join("precious"), "x").unwrap();
    std::os::unix::fs::symlink(&behind, &link).unwrap();
    sim::block_on(fs::remove_dir_all(&link)).unwrap();
    assert!(behind.join("precious").exists() && !link.exists());
    sim::block_on(fs::remove_dir_all(&root)).unwrap();
    assert!(!root.exists());
}
