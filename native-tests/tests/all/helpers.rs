//! Helpers: copies of the process that make runs of plain threads on the other cores. A test says the same with them.

use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use sim::__private::results::{ResultsFile, chain};

/// A search that is long enough for helpers.
#[sim::test(native, strategy = "exhaustive", seeds = 12_000)]
fn many_orders() {
    threads_in_an_order(&[1, 2, 2, 1, 2, 0, 1, 0, 2, 1, 0]);
}

/// So many seeds.
#[sim::test(native, seeds = 20_000)]
fn many_seeds() {
    threads_in_an_order(&[2, 2, 2, 2, 0, 1, 1, 0, 1, 1, 0]);
}

/// Three threads. A run in which they take the lock in the rare order does what the variable says.
fn threads_in_an_order(rare: &[u8]) {
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
    if std::env::var("PARENT").is_ok_and(|parent| parent != parent_id().to_string()) {
        panic!("in a copy");
    }
    if *order.lock().unwrap() == rare {
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

/// Each run has the same file for itself.
#[sim::test(native, seeds = 400)]
fn many_files() {
    let file = std::env::temp_dir().join("file");
    assert!(!file.exists(), "a file of another run");
    let threads = [1, 2].map(|number| {
        let file = file.clone();
        thread::spawn(move || fs::write(file, [number; 1000]).unwrap())
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let written = fs::read(&file).unwrap();
    assert!(written == [1; 1000] || written == [2; 1000]);
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

/// Runs a test with `jobs` jobs, and passes its process to `look` meanwhile. Returns its output, without its time.
fn made(
    test: &str,
    (variable, value): (&str, &str),
    jobs: &str,
    look: &mut dyn FnMut(u32),
) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", &format!("helpers::{test}"), "--nocapture"]);
    child.envs([(variable, value), ("SIM_JOBS", jobs), ("SIM_HANG", "1s")]);
    child.envs([("SIM_WHY", "0"), ("SIM_SHRINK", "0")]);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = child.spawn().unwrap();
    while running.try_wait().unwrap().is_none() {
        look(running.id());
        // A look at the processes of the machine takes a millisecond.
        thread::sleep(Duration::from_millis(10));
    }
    let ended = running.wait_with_output().unwrap();
    let [out, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    let said = out + &error;
    let lines = said.lines().filter(|line| !line.contains("finished in"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_test_with_helpers_says_the_same() {
    for (test, rare, expected) in [
        ("many_orders", "", "all 11550 interleavings"),
        ("many_orders", "panic", "rare"),
        ("many_orders", "hang", "has not reached a point"),
        ("many_orders", "learn", "steps the instructions of locks"),
        ("many_seeds", "panic", "rare"),
        ("many_seeds", "abort", "abort"),
    ] {
        // A failure that other runs may have caused is replayed in another process.
        let alone = made(test, ("RARE", rare), "1", &mut |process| {
            assert!(children(process).len() < 2, "{test} {rare}");
        });
        assert!(alone.contains(expected), "{test} {rare}: {alone}");
        let mut most = 0;
        let helped = made(test, ("RARE", rare), "3", &mut |process| {
            most = most.max(children(process).len());
        });
        assert_eq!(helped, alone, "{test} {rare}");
        assert_eq!(most, 2, "{test} {rare}: {helped}");
    }
}

#[test]
fn a_test_goes_on_without_helpers_that_are_killed() {
    for test in ["many_orders", "many_seeds"] {
        let alone = made(test, ("RARE", ""), "1", &mut |_| {});
        let mut killed = Vec::new();
        let helped = made(test, ("RARE", ""), "3", &mut |process| {
            for helper in children(process) {
                let mut kill = Command::new("kill");
                if !killed.contains(&helper)
                    && kill.args(["-9", &helper.to_string()]).status().is_ok()
                {
                    killed.push(helper);
                }
            }
        });
        assert_eq!((helped, killed.len()), (alone, 2), "{test}");
    }
}

/// The file of results of the only test in this folder.
fn file_of(results: &Path) -> PathBuf {
    let tests = fs::read_dir(results.join("native-tests")).unwrap();
    let file = tests.flat_map(|test| fs::read_dir(test.unwrap().path()).unwrap()).next().unwrap();
    file.unwrap().path()
}

/// The positions of a file of results, and the steps of their runs.
fn counted(results: &Path) -> (u64, u64) {
    let file = ResultsFile::read(&fs::read(file_of(results)).unwrap()).unwrap();
    let segments = chain(file.segments);
    (segments.last().unwrap().to, segments.iter().map(|segment| segment.tally.steps).sum())
}

#[test]
fn helpers_run_each_seed_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helpers");
    let counts = ["1", "3"].map(|jobs| {
        let results = folder.join(jobs);
        let _ = fs::remove_dir_all(&results);
        made("many_seeds", ("SIM_RESULTS", &results.display().to_string()), jobs, &mut |_| {});
        counted(&results)
    });
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0].0, 20_000);
}

/// The lines of all slices in a file of results. Processes may write them in any order.
fn slices(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("{\"slice\""));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_search_with_helpers_leaves_the_same_results_and_continues_from_them() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helpers of a search");
    let search = |jobs: &str| {
        let results = folder.join(jobs).display().to_string();
        let mut most = 0;
        let said = made("many_orders", ("SIM_RESULTS", &results), jobs, &mut |process| {
            most = most.max(children(process).len());
        });
        assert!(said.contains("11550"), "{said}");
        (said, most, file_of(Path::new(&results)))
    };
    let _ = fs::remove_dir_all(&folder);
    let (_, _, alone) = search("1");
    let (said, most, helped) = search("3");
    assert_eq!(most, 2, "{said}");
    let all = slices(&alone);
    assert!(all.len() > 100, "{}", all.len());
    assert!(slices(&helped) == all, "the slices of helpers differ");

    // The next process has lines of a part of the search, as after a kill.
    let text = fs::read_to_string(&helped).unwrap();
    let kept = text.lines().count() * 2 / 3;
    let part: String = text.lines().take(kept).map(|line| format!("{line}\n")).collect();
    fs::write(&helped, part).unwrap();
    let (said, _, helped) = search("3");
    assert!(said.contains(" runs were not made"), "{said}");
    assert!(slices(&helped) == all, "the slices of a continued search differ");
}

#[test]
fn an_unfinished_search_with_helpers_has_the_same_estimate() {
    let limit = ("SIM_SEEDS", "11000");
    let alone = made("many_orders", limit, "1", &mut |_| {});
    let words = alone.split_whitespace().collect::<Vec<_>>().join(" ");
    // The estimate has an interval.
    assert!(words.contains(" runs in all, "), "{alone}");
    let mut most = 0;
    let helped = made("many_orders", limit, "3", &mut |process| {
        most = most.max(children(process).len());
    });
    assert_eq!(helped, alone);
    // The processes continue after an estimate.
    assert_eq!(most, 2, "{helped}");
}

#[test]
fn each_helper_has_a_folder_for_temporary_files() {
    let mut most = 0;
    let said = made("many_files", ("RARE", ""), "3", &mut |process| {
        most = most.max(children(process).len());
    });
    assert!(said.contains(" ... ok"), "{said}");
    assert_eq!(most, 2, "{said}");
}

#[test]
fn a_failure_that_only_helpers_see_is_no_pass() {
    let own = std::process::id().to_string();
    for test in ["many_orders", "many_seeds"] {
        let passes = made(test, ("PARENT", &own), "1", &mut |_| {});
        assert!(passes.contains(" ... ok"), "{test}: {passes}");
        let fails = made(test, ("PARENT", &own), "2", &mut |_| {});
        assert!(
            fails.contains("FAILED  all::helpers::") && fails.contains("in a copy"),
            "{test}: {fails}"
        );
    }
}
