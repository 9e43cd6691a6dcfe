//! Calls on real files by several threads: seeds and searches try their orders.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use planted::process::{close, duplicate, make_fifo, read_byte};
use sim::Runner;

/// The folder with the files of the searched programs, and with the outcomes of their runs.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/files");

/// An empty folder for a run of a program, of this process alone. The first thread creates it before it starts others.
/// A search with `remove_dir_all` would be no proof, because this function has locks of its own.
fn folder(program: &str) -> PathBuf {
    let folder = Path::new(FOLDER).join(program).join(format!("{:010}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for name in ["file", "other", "link", "from/file", "from/one", "from/two", "to/file"] {
        let _ = fs::remove_file(folder.join(name));
    }
    for name in ["from", "to"] {
        let _ = fs::remove_dir(folder.join(name));
    }
    folder
}

fn record(program: &str, outcome: impl Debug) {
    let path = format!("{FOLDER}/{program}.outcomes");
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{outcome:?}\n").as_bytes()).unwrap();
}

/// The outcomes of the runs under a strategy.
fn outcomes(program: &str, strategy: &str, body: fn()) -> (BTreeSet<String>, u64) {
    fs::create_dir_all(FOLDER).unwrap();
    let path = format!("{FOLDER}/{program}.outcomes");
    let _ = fs::remove_file(&path);
    let report = Runner::new().hermetic().strategy(strategy).seeds(0..MOST).run_native(body);
    assert!(report.finding.is_none(), "{program}: {:?}", report.finding);
    let searched = report.searched.unwrap();
    let is_proof = searched.is_proof();
    assert!(is_proof || strategy != "exhaustive", "{program}: {searched:?}");
    let text = fs::read_to_string(&path).unwrap();
    (text.lines().map(str::to_owned).collect(), report.runs)
}

/// The runs by which a search is checked, with the fewest preemptions first.
const MOST: u64 = 2_000;

/// A test that compares the outcomes of a program, and checks that their number is this number.
macro_rules! programs {
    ($($name:ident $count:literal |$folder:ident| $body:block)*) => {$(
        #[test]
        fn $name() {
            fn body() {
                let $folder = folder(stringify!($name));
                record(stringify!($name), $body);
            }
            let (by_search, classes) = outcomes(stringify!($name), "exhaustive", body);
            let (by_force, runs) = outcomes(stringify!($name), "preemptions", body);
            eprintln!("{}: {classes} classes, {runs} runs, {by_search:?}", stringify!($name));
            assert_eq!(by_search, by_force);
            assert_eq!(by_search.len(), $count);
        }
    )*};
}

/// Adds 1 to the number in a file, which has one digit.
fn add_to(file: &File) {
    let mut digit = [0];
    file.read_exact_at(&mut digit, 0).unwrap();
    file.write_all_at(&[digit[0] + 1], 0).unwrap();
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

programs! {
    a_file_exists_before_or_after_it_is_written 2 |folder| {
        let path = folder.join("file");
        let writer = thread::spawn({
            let path = path.clone();
            move || fs::write(path, "text").unwrap()
        });
        let exists = path.exists();
        writer.join().unwrap();
        exists
    }
    a_check_does_not_prevent_a_second_creation 2 |folder| {
        let path = folder.join("file");
        let create = |path: PathBuf| {
            let is_free = !path.exists();
            if is_free {
                File::create(path).unwrap();
            }
            is_free
        };
        let other = thread::spawn({
            let path = path.clone();
            move || create(path)
        });
        u32::from(create(path)) + u32::from(other.join().unwrap())
    }
    only_one_of_two_creates_a_new_file 1 |folder| {
        let path = folder.join("file");
        let create = |path: PathBuf| File::create_new(path).is_ok();
        let other = thread::spawn({
            let path = path.clone();
            move || create(path)
        });
        u32::from(create(path)) + u32::from(other.join().unwrap())
    }
    a_file_in_a_renamed_folder_has_another_path 2 |folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir(&from).unwrap();
        fs::write(from.join("file"), "text").unwrap();
        let other = thread::spawn({
            let from = from.clone();
            move || fs::rename(from, to).unwrap()
        });
        let found = fs::metadata(from.join("file")).is_ok();
        other.join().unwrap();
        found
    }
    a_size_is_read_before_or_after_a_write_through_a_descriptor 2 |folder| {
        let path = folder.join("file");
        let mut file = File::create(&path).unwrap();
        let writer = thread::spawn(move || file.write_all(b"text").unwrap());
        let size = fs::metadata(path).unwrap().len();
        writer.join().unwrap();
        size
    }
    a_descriptor_is_read_before_or_after_another_thread_closes_it 2 |folder| {
        let path = folder.join("file");
        fs::write(&path, "text").unwrap();
        let file = File::open(path).unwrap().into_raw_fd();
        let other = thread::spawn(move || assert!(close(file)));
        let is_read = read_byte(file);
        other.join().unwrap();
        is_read
    }
    a_descriptor_is_duplicated_before_or_after_another_thread_closes_it 2 |folder| {
        let path = folder.join("file");
        fs::write(&path, "text").unwrap();
        let file = File::open(path).unwrap().into_raw_fd();
        let other = thread::spawn(move || assert!(close(file)));
        let duplicate = duplicate(file);
        other.join().unwrap();
        duplicate.is_some_and(close)
    }
    a_descriptor_that_is_closed_twice_may_be_of_another_thread 3 |folder| {
        let [one, two] = ["file", "other"].map(|name| folder.join(name));
        fs::write(&one, "text").unwrap();
        fs::write(&two, "text").unwrap();
        let file = File::open(one).unwrap().into_raw_fd();
        let other = thread::spawn(move || {
            let file = File::open(two).unwrap().into_raw_fd();
            (read_byte(file), close(file))
        });
        let closed = (close(file), close(file));
        (closed, other.join().unwrap())
    }
    two_threads_share_the_position_of_a_file 2 |folder| {
        let path = folder.join("file");
        fs::write(&path, "ab").unwrap();
        let file = Arc::new(File::open(path).unwrap());
        let read = |mut file: &File| {
            let mut letter = [0];
            file.read_exact(&mut letter).unwrap();
            letter[0]
        };
        let other = thread::spawn({
            let file = file.clone();
            move || read(&file)
        });
        (read(&file), other.join().unwrap())
    }
    an_addition_is_lost 2 |folder| {
        let path = folder.join("file");
        fs::write(&path, "0").unwrap();
        let other = thread::spawn({
            let path = path.clone();
            move || add_to(&open(&path))
        });
        add_to(&open(&path));
        other.join().unwrap();
        fs::read_to_string(path).unwrap()
    }
    a_lock_keeps_additions 1 |folder| {
        let path = folder.join("file");
        fs::write(&path, "0").unwrap();
        let add = |path: &Path| {
            let file = open(path);
            file.lock().unwrap();
            add_to(&file);
        };
        let other = thread::spawn({
            let path = path.clone();
            move || add(&path)
        });
        add(&path);
        other.join().unwrap();
        fs::read_to_string(path).unwrap()
    }
    a_lock_is_free_or_held 2 |folder| {
        let path = folder.join("file");
        fs::write(&path, "").unwrap();
        let other = thread::spawn({
            let file = open(&path);
            move || file.lock().unwrap()
        });
        let is_free = open(&path).try_lock().is_ok();
        other.join().unwrap();
        is_free
    }
}

programs! {
    a_file_is_renamed_before_after_or_between_two_checks 3 |folder| {
        let (old, new) = (folder.join("file"), folder.join("other"));
        fs::write(&old, "text").unwrap();
        let other = thread::spawn({
            let (old, new) = (old.clone(), new.clone());
            move || fs::rename(old, new).unwrap()
        });
        let found = (old.exists(), new.exists());
        other.join().unwrap();
        found
    }
    a_file_replaces_another_one_with_its_content 2 |folder| {
        let (old, new) = (folder.join("file"), folder.join("other"));
        fs::write(&old, "new").unwrap();
        fs::write(&new, "old").unwrap();
        let other = thread::spawn({
            let (old, new) = (old.clone(), new.clone());
            move || fs::rename(old, new).unwrap()
        });
        let found = fs::read_to_string(new).unwrap();
        other.join().unwrap();
        found
    }
    a_file_that_was_renamed_is_written_through_its_descriptor 2 |folder| {
        let (old, new) = (folder.join("file"), folder.join("other"));
        let mut file = File::create(&old).unwrap();
        let other = thread::spawn({
            let new = new.clone();
            move || fs::rename(old, new).unwrap()
        });
        other.join().unwrap();
        let writer = thread::spawn(move || file.write_all(b"text").unwrap());
        let size = fs::metadata(new).unwrap().len();
        writer.join().unwrap();
        size
    }
    a_file_with_two_names_is_one_file 2 |folder| {
        let (one, two) = (folder.join("file"), folder.join("other"));
        fs::write(&one, "").unwrap();
        fs::hard_link(&one, &two).unwrap();
        let writer = thread::spawn(move || open(&one).write_all(b"text").unwrap());
        let size = fs::metadata(two).unwrap().len();
        writer.join().unwrap();
        size
    }
    a_symbolic_link_leads_to_its_file 2 |folder| {
        let (path, link) = (folder.join("file"), folder.join("link"));
        std::os::unix::fs::symlink("file", &link).unwrap();
        let writer = thread::spawn(move || drop(File::create(link).unwrap()));
        let exists = path.exists();
        writer.join().unwrap();
        exists
    }
    a_folder_is_removed_or_gets_a_file 2 |folder| {
        let path = folder.join("from");
        fs::create_dir(&path).unwrap();
        let creator = thread::spawn({
            let path = path.join("file");
            move || File::create(path).is_ok()
        });
        let is_removed = fs::remove_dir(path).is_ok();
        (is_removed, creator.join().unwrap())
    }
    a_path_in_a_folder_that_is_created_meanwhile 2 |folder| {
        let path = folder.join("from");
        let creator = thread::spawn({
            let path = path.clone();
            move || fs::create_dir(path).unwrap()
        });
        let is_created = File::create(path.join("file")).is_ok();
        creator.join().unwrap();
        is_created
    }
    a_fifo_connects_two_threads 1 |folder| {
        let path = folder.join("file");
        assert!(make_fifo(&path));
        let writer = thread::spawn({
            let path = path.clone();
            move || fs::write(path, "text").unwrap()
        });
        let text = fs::read_to_string(path).unwrap();
        writer.join().unwrap();
        text
    }
}

#[test]
fn a_fifo_without_another_end_is_a_deadlock() {
    let report = Runner::new().hermetic().seeds(0..20).run_native(|| {
        let path = folder("fifo").join("file");
        assert!(make_fifo(&path));
        let other = thread::spawn({
            let path = path.clone();
            move || drop(File::open(path))
        });
        drop(File::open(path));
        other.join().unwrap();
    });
    let outcome = format!("{:?}", report.finding.expect("a deadlock").run.outcome);
    assert!(outcome.contains("Deadlock"), "{outcome}");
}

/// The number of runs of a search over two threads that each write a file.
fn runs_of_writers(names: [&'static str; 2], body: fn()) -> u64 {
    let report = Runner::new().hermetic().strategy("exhaustive").seeds(0..MOST).run_native(body);
    assert!(report.finding.is_none(), "{names:?}: {:?}", report.finding);
    let searched = report.searched.unwrap();
    assert!(searched.is_proof(), "{names:?}: {searched:?}");
    report.runs
}

/// Two threads each create a file, write it in three parts, and rename it.
fn write_and_rename(names: [&'static str; 2]) {
    let folder = folder("writers");
    let write = |path: PathBuf| {
        let mut file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
        (0..3).for_each(|_| file.write_all(b"part").unwrap());
        // The other thread may have renamed the same file.
        let _ = fs::rename(&path, path.with_extension("new"));
    };
    for name in names {
        let _ = fs::remove_file(folder.join(name).with_extension("new"));
        let _ = fs::remove_file(folder.join(name));
    }
    let [one, two] = names.map(|name| folder.join(name));
    let other = thread::spawn(move || write(two));
    write(one);
    other.join().unwrap();
}

#[test]
fn calls_on_different_files_commute() {
    let different = ["one", "two"];
    let runs = runs_of_writers(different, || write_and_rename(["one", "two"]));
    assert_eq!(runs, 1);
    let same = ["one", "one"];
    let runs = runs_of_writers(same, || write_and_rename(["one", "one"]));
    assert!(runs > 10, "{runs}");
}

/// Searches a program that lists a folder while another thread creates files. Returns the numbers of names that were
/// found. std's functions for lists have a lock of their own, so the search is not a proof.
#[test]
fn a_list_has_the_names_so_far() {
    let path = format!("{FOLDER}/lists.outcomes");
    fs::create_dir_all(FOLDER).unwrap();
    let _ = fs::remove_file(&path);
    let search = Runner::new().hermetic().strategy("exhaustive").seeds(0..MOST);
    let report = search.run_native(|| {
        let folder = folder("lists").join("from");
        fs::create_dir(&folder).unwrap();
        let creator = thread::spawn({
            let folder = folder.clone();
            move || ["one", "two"].map(|name| drop(File::create(folder.join(name)).unwrap()))
        });
        let count = fs::read_dir(&folder).unwrap().count();
        creator.join().unwrap();
        for name in ["one", "two"] {
            fs::remove_file(folder.join(name)).unwrap();
        }
        record("lists", count);
    });
    assert!(report.finding.is_none(), "{:?}", report.finding);
    let found: BTreeSet<_> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(found, ["0", "1", "2"].map(str::to_owned).into());
}

/// A search claims a proof for these programs. It needs one run if all calls only read.
#[test]
fn reads_of_files_commute() {
    fn body() {
        let path = folder("reads").join("file");
        fs::write(&path, "text").unwrap();
        let read = |path: &Path| {
            assert_eq!(fs::read_to_string(path).unwrap(), "text");
            assert!(path.exists() && !path.with_extension("other").exists());
        };
        let other = thread::spawn({
            let path = path.clone();
            move || read(&path)
        });
        read(&path);
        other.join().unwrap();
    }
    let report = Runner::new().hermetic().strategy("exhaustive").seeds(0..100).run_native(body);
    assert!(report.searched.is_some_and(|searched| searched.is_proof()));
    assert_eq!(report.runs, 1);
}

#[test]
fn locks_in_another_order_are_a_deadlock() {
    let report = Runner::new().hermetic().seeds(0..500).run_native(|| {
        let folder = folder("locks");
        let files = ["one", "two"].map(|name| folder.join(name));
        files.iter().for_each(|file| fs::write(file, "").unwrap());
        let lock = |paths: [&PathBuf; 2]| {
            let files = paths.map(|path| open(path));
            files.iter().for_each(|file| file.lock().unwrap());
        };
        let other = thread::spawn({
            let files = files.clone();
            move || lock([&files[1], &files[0]])
        });
        lock([&files[0], &files[1]]);
        other.join().unwrap();
    });
    let outcome = format!("{:?}", report.finding.expect("a deadlock").run.outcome);
    assert!(outcome.contains("Deadlock"), "{outcome}");
}

/// Two threads that each create a file if there is none, and expect that only one of them has created it.
fn created_once(create: fn(&Path) -> bool) {
    let path = std::env::temp_dir().join("file");
    let other = thread::spawn({
        let path = path.clone();
        move || create(&path)
    });
    let both = [create(&path), other.join().unwrap()];
    assert_eq!(both.iter().filter(|created| **created).count(), 1);
}

fn after_a_check(path: &Path) -> bool {
    let is_free = !path.exists();
    if is_free {
        fs::write(path, "mine").unwrap();
    }
    is_free
}

fn with_one_call(path: &Path) -> bool {
    match File::create_new(path) {
        Ok(mut file) => file.write_all(b"mine").is_ok(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
            false
        }
    }
}

#[sim::test(native, seeds = 200, must_fail)]
fn seeds_find_a_check_before_a_creation() {
    created_once(after_a_check);
}

/// Each run is a process, so the failure is not explained.
#[sim::test(native, seeds = 50, must_fail, isolate = "process", prove = 0, why = 0)]
fn seeds_find_a_check_before_a_creation_in_a_process_of_their_own() {
    created_once(after_a_check);
}

#[sim::test(native, seeds = 200)]
fn seeds_pass_a_creation_with_one_call() {
    created_once(with_one_call);
}
