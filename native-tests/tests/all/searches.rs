//! Searches of plain threads in several processes: continued, divided into shares, with helpers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use sim::__private::results::{Ledger, ResultsFile};

#[sim::test(native, strategy = "exhaustive", seeds = 100_000)]
fn three_threads() {
    let shared = Arc::new((Mutex::new(0), AtomicU32::new(0)));
    let threads = [0, 1, 2].map(|_| {
        let shared = shared.clone();
        thread::spawn(move || {
            shared.1.fetch_add(1, SeqCst);
            shared.1.fetch_add(1, SeqCst);
            *shared.0.lock().unwrap() += 1;
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!((*shared.0.lock().unwrap(), shared.1.load(SeqCst)), (3, 6));
}

/// `try_read` is no whole call of a lock, so the search begins again, with its instructions as steps.
#[sim::test(native, strategy = "exhaustive", seeds = 100_000)]
fn a_lock_in_detail() {
    let lock = Arc::new(RwLock::new(0));
    let other = lock.clone();
    let thread = thread::spawn(move || other.try_read().map_or(0, |value| *value));
    *lock.write().unwrap() += 1;
    assert!(thread.join().unwrap() < 2);
}

/// Runs a test above. Returns whether it passed, and what it wrote.
fn search(test: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("searches::{test}"), "--nocapture"]);
    let ended = child.envs(variables.iter().copied()).output().unwrap();
    let [out, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    (ended.status.success(), out + &error)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("searches").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The number of interleavings that a search explored.
fn explored(said: &str) -> u64 {
    let number = said.split("explored all ").nth(1).and_then(|rest| rest.split(' ').next());
    number.unwrap_or_else(|| panic!("no proof: {said}")).parse().unwrap()
}

/// The shares of a search, as their files say.
fn ledgers(results: &Path, of: u64) -> Vec<Ledger> {
    let tests = fs::read_dir(results.join("native-tests")).unwrap();
    let files = tests.flat_map(|test| fs::read_dir(test.unwrap().path()).unwrap());
    let ledger = |path: PathBuf| {
        let file = ResultsFile::read(&fs::read(path).unwrap()).unwrap();
        Ledger::follow(file.search, (file.header.shard, of), None).unwrap()
    };
    files.map(|file| ledger(file.unwrap().path())).collect()
}

#[test]
fn a_search_of_plain_threads_continues_and_is_divided() {
    for test in ["three_threads", "a_lock_in_detail"] {
        let (passed, said) = search(test, &[]);
        assert!(passed, "{said}");
        let all = explored(&said);
        // The first process may make few runs: it ends with its round.
        let results = folder(&format!("{test}-continued"));
        let name = results.display().to_string();
        let (passed, said) = search(test, &[("SIM_RESULTS", &name), ("SIM_SEEDS", "12")]);
        let is_left = said.contains("the search is not through");
        assert!(passed && (is_left || test == "a_lock_in_detail"), "{said}");
        let (passed, said) = search(test, &[("SIM_RESULTS", &name)]);
        assert!(passed && said.contains(" runs were not made"), "{said}");
        assert_eq!(explored(&said), all, "{said}");
        // And so with all of it there.
        let (passed, said) = search(test, &[("SIM_RESULTS", &name)]);
        assert!(passed && explored(&said) == all, "{said}");

        let results = folder(&format!("{test}-shares"));
        let name = results.display().to_string();
        for share in ["1/3", "2/3", "3/3", "1/3", "2/3", "3/3"] {
            let (passed, said) = search(test, &[("SIM_RESULTS", &name), ("SIM_SHARD", share)]);
            assert!(passed, "{said}");
        }
        let ledgers = ledgers(&results, 3);
        assert!(ledgers.len() == 3 && ledgers.iter().all(Ledger::is_through), "{test}");
        let runs: u64 = ledgers.iter().map(|ledger| ledger.progress().runs).sum();
        assert_eq!(runs, all, "{test}");
    }
}

/// A search that is long enough for helpers. A run with a rare order of the threads does what the variable says.
#[sim::test(native, strategy = "exhaustive", seeds = 15_000)]
fn many_orders() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let lock = Arc::new(RwLock::new(()));
    let threads = [(0, 3), (1, 4), (2, 4)].map(|(thread, times)| {
        let order = order.clone();
        thread::spawn(move || {
            for _ in 0..times {
                order.lock().unwrap().push(thread);
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    if *order.lock().unwrap() == [1, 2, 2, 1, 2, 0, 1, 0, 2, 1, 0] {
        match std::env::var("RARE").as_deref() {
            Ok("panic") => panic!("rare"),
            Ok("abort") => std::process::abort(),
            Ok("hang") => loop {
                std::hint::spin_loop();
            },
            Ok("learn") => drop(lock.try_read()),
            _ => {}
        }
    }
}

/// The processes that this one has started.
fn children(process: u32) -> Vec<u32> {
    let parent = |process: u32| {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|child| parent(*child) == Some(process)).collect()
}

/// Searches with so many jobs, and looks at the process meanwhile. Returns what it wrote, without its time.
fn many_orders_search(rare: &str, jobs: &str, look: &mut dyn FnMut(&Child)) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "searches::many_orders", "--nocapture"]);
    child.envs([("RARE", rare), ("SIM_JOBS", jobs), ("SIM_HANG", "1s")]);
    child.envs([("SIM_WHY", "0"), ("SIM_SHRINK", "0")]);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = child.spawn().unwrap();
    while running.try_wait().unwrap().is_none() {
        look(&running);
        thread::sleep(Duration::from_millis(2));
    }
    let ended = running.wait_with_output().unwrap();
    let [out, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    let said = out + &error;
    let lines = said.lines().filter(|line| !line.contains("finished in"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_search_with_helpers_says_the_same() {
    for rare in ["", "panic", "abort", "hang", "learn"] {
        // A failure that other runs may have caused is replayed in another process.
        let alone = many_orders_search(rare, "1", &mut |child| {
            assert!(children(child.id()).len() < 2, "{rare}");
        });
        let mut most = 0;
        let helped = many_orders_search(rare, "3", &mut |child| {
            most = most.max(children(child.id()).len());
        });
        assert_eq!(helped, alone, "{rare}");
        assert_eq!(most, 2, "{rare}: {helped}");
        let is_as_expected = match rare {
            "" => alone.contains("11550 runs"),
            "learn" => alone.contains("steps the instructions of locks"),
            _ => alone.contains("FAILED") && alone.contains(rare),
        };
        assert!(is_as_expected, "{rare}: {alone}");
    }
}

#[test]
fn a_search_goes_on_without_helpers_that_are_killed() {
    let alone = many_orders_search("", "1", &mut |_| {});
    let mut killed = Vec::new();
    let helped = many_orders_search("", "3", &mut |child| {
        for helper in children(child.id()) {
            let is_new = !killed.contains(&helper);
            if is_new && Command::new("kill").args(["-9", &helper.to_string()]).status().is_ok() {
                killed.push(helper);
            }
        }
    });
    assert_eq!((helped, killed.len()), (alone, 2));
}
