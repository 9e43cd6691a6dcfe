//! Searches of plain threads in several processes: continued, divided into shares.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{self, SeqCst};
use std::sync::{Arc, Mutex, RwLock};
use std::thread;
use std::time::Duration;

use sim::__private::results::{Ledger, ResultsFile, one_search};
use sim::Runner;
use sim::report::Searched;

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

/// `try_read` is not a whole call of a lock, so the search begins again, with its instructions as steps.
#[sim::test(native, strategy = "exhaustive", seeds = 100_000)]
fn a_lock_in_detail() {
    a_lock_in_detail_body();
}

/// Runs a test above. Returns `true` if it passed, and its output.
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

/// The shares of a search, according to their files.
fn ledgers(results: &Path, of: u64) -> Vec<Ledger> {
    let tests = fs::read_dir(results.join("native-tests")).unwrap();
    let files = tests.flat_map(|test| fs::read_dir(test.unwrap().path()).unwrap());
    let ledger = |path: PathBuf| {
        let file = ResultsFile::read(&fs::read(path).unwrap()).unwrap();
        Ledger::follow(file.search, (file.header.shard, of), None, false).unwrap()
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
        // The result is the same when all shares are present.
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

/// With weak memory, the outcomes of the sampled runs of each share are outcomes of runs of some share.
#[test]
fn shares_of_a_search_with_weak_memory_are_checked() {
    let results = folder("weak shares");
    let name = results.display().to_string();
    for share in ["1/2", "2/2", "1/2", "2/2"] {
        let variables = [("SIM_RESULTS", &*name), ("SIM_SHARD", share), ("SIM_MEMORY", "c11")];
        let (passed, said) = search("beside::plain_threads", &variables);
        assert!(passed, "{said}");
    }
    let ledgers = ledgers(&results, 2);
    for ledger in &ledgers {
        let (outcomes, agrees) = ledger.sampled().expect("sampled runs");
        let has =
            |outcome: &u64| ledgers.iter().any(|share| share.has_class(*outcome) != Some(false));
        assert!(agrees && !outcomes.is_empty() && outcomes.iter().all(has));
    }
}

/// Two threads add to a word.
fn adds(order: Ordering) {
    let word = Arc::new(AtomicU32::new(0));
    let other = word.clone();
    let thread = thread::spawn(move || other.fetch_add(1, order));
    word.fetch_add(1, order);
    thread.join().unwrap();
}

/// Programs whose searches have different assumptions and reasons.
const STATED: [(&str, fn()); 5] = [
    ("strong", || adds(SeqCst)),
    ("weak", || adds(Ordering::Relaxed)),
    ("time", || {
        let thread = thread::spawn(|| thread::sleep(Duration::from_millis(1)));
        adds(Ordering::Relaxed);
        thread.join().unwrap();
    }),
    ("detail", a_lock_in_detail_body),
    ("unseen", || {
        let thread = thread::spawn(|| std::env::var_os("HOME").is_some());
        adds(SeqCst);
        thread.join().unwrap();
    }),
];

fn a_lock_in_detail_body() {
    let lock = Arc::new(RwLock::new(0));
    let other = lock.clone();
    let thread = thread::spawn(move || other.try_read().map_or(0, |value| *value));
    *lock.write().unwrap() += 1;
    assert!(thread.join().unwrap() < 2);
}

/// `cargo unpause merge` prints these statements of the merged search.
#[test]
fn a_merged_search_states_what_the_search_in_one_process_states() {
    let mut all = BTreeSet::new();
    for (name, body) in STATED {
        for strategy in ["exhaustive", "preemptions:2", "delays:1"] {
            for memory in ["sc", "c11"] {
                let about = format!("stated {name} {strategy} {memory}");
                let results = folder(&about.replace(':', " "));
                let runner = Runner::new().hermetic().name("stated").strategy(strategy);
                let runner = runner.memory(memory).seeds(0..20_000).results(&results);
                let report = runner.run_native(body);
                assert!(report.passed(), "{about}: {:?}", report.finding);
                let searched = report.searched.as_ref().unwrap();
                let file = only_file(&results);
                let file = ResultsFile::read(&fs::read(file).unwrap()).unwrap();
                let (header, bound) = (file.header, strategy.split_once(':'));
                let bound = bound.map(|(name, most)| {
                    let what = if name == "delays" { "delay" } else { "preemption" };
                    (what, most.parse().unwrap())
                });
                let ledger = Ledger::follow(file.search, (1, 1), bound, false).unwrap();
                let is_native = header.plain_threads;
                let merged =
                    one_search(&header.subject, &[&ledger], is_native, ledger.is_through());
                let statements = |searched: &Searched, is_sampled| {
                    (searched.remarks(is_sampled), searched.untried())
                };
                let is_sampled = ledger.sampled().is_some();
                let own = statements(searched, searched.audit.is_some());
                assert_eq!(statements(&merged, is_sampled), own, "{about}");
                let messages: BTreeSet<String> = ledger.messages().iter().cloned().collect();
                let own = report.warnings.iter().chain(&report.notes).cloned();
                assert!(messages.is_subset(&own.collect()), "{about}: {messages:?}");
                all.extend(merged.remarks(is_sampled).into_iter().flatten());
                all.extend(merged.untried());
            }
        }
    }
    let sim = "share memory through sim";
    assert!(!all.iter().any(|text| text.contains(sim)), "{all:#?}");
    for wanted in ["orders weaker than SeqCst act as SeqCst", "act as in C11", "not instrumented"] {
        assert!(all.iter().any(|text| text.contains(wanted)), "{wanted}: {all:#?}");
    }
}

/// The only file of results below a folder.
fn only_file(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let entries: Vec<PathBuf> = entries.collect();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    if entry.is_dir() { only_file(entry) } else { entry.clone() }
}

/// Two tests that run at the same time.
mod beside {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[sim::test(native, strategy = "exhaustive", seeds = 100_000)]
    fn plain_threads() {
        let word = Arc::new(AtomicU32::new(0));
        let threads = [(); 3].map(|()| {
            let word = word.clone();
            thread::spawn(move || (0..2).for_each(|_| _ = word.fetch_add(1, Relaxed)))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(word.load(Relaxed), 6);
    }

    #[test]
    fn tasks() {
        for _ in 0..300 {
            let search = sim::Runner::new().hermetic().strategy("exhaustive");
            let report = search.run(async || {
                let word = Arc::new(sim::Atomic::new(0));
                let other = word.clone();
                let task = sim::spawn(async move { other.fetch_add(1, SeqCst).await });
                word.fetch_add(1, SeqCst).await;
                task.await.unwrap();
            });
            let assumption = report.searched.unwrap().assumption();
            assert_eq!(assumption, Some("tasks share memory through sim only"));
        }
    }
}

#[test]
fn a_search_of_tasks_and_a_search_of_plain_threads_do_not_affect_each_other() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["searches::beside", "--nocapture", "--test-threads", "2"]);
    let ended = child.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stdout));
    assert!(said.contains("SeqCst"), "{said}");
}

/// The order of the two drops decides which thread executes the destructor, so the search counts references.
fn a_destructor_with_a_point() {
    struct Ends(Arc<AtomicU32>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let ended = Arc::new(AtomicU32::new(0));
    let value = Arc::new(Ends(ended.clone()));
    let other = value.clone();
    let thread = thread::spawn(move || drop(other));
    ended.fetch_add(1, SeqCst);
    drop(value);
    thread.join().unwrap();
}

#[test]
fn a_visitor_receives_each_run_of_a_search_that_counts_references_once() {
    let runner = Runner::new().hermetic().strategy("exhaustive");
    let mut visited = Vec::new();
    let report = runner.each_native_run(a_destructor_with_a_point, |run| {
        visited.push(run.steps.iter().map(|step| format!("{step:?}")).collect::<Vec<_>>());
    });
    assert!(report.searched.as_ref().unwrap().is_proof(), "{report:?}");
    let runs = visited.len();
    visited.sort();
    visited.dedup();
    let searched = runner.run_native(a_destructor_with_a_point);
    assert_eq!((visited.len(), runs as u64), (runs, searched.runs));
}

/// The audit of a search samples fewer runs if they have few choices.
#[test]
fn an_audit_of_a_program_with_few_choices_is_short() {
    let audit = |body: fn()| {
        let report = Runner::new().hermetic().strategy("exhaustive").run_native(body);
        let searched = report.searched.as_ref().filter(|searched| searched.is_proof());
        searched.expect("a proof").audit.as_ref().expect("an audit").runs
    };
    let alone = || assert_eq!(AtomicU32::new(1).fetch_add(1, SeqCst), 1);
    let joined = || {
        let number = Arc::new(AtomicU32::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
        number.fetch_add(1, SeqCst);
        thread.join().unwrap();
    };
    let three = || {
        let number = Arc::new(AtomicU32::new(0));
        let threads = [0, 1, 2].map(|_| {
            let number = number.clone();
            thread::spawn(move || number.fetch_add(1, SeqCst))
        });
        threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
    };
    let runs = [audit(alone), audit(joined), audit(three)];
    assert!(runs[0] == 10 && runs[0] < runs[1] && runs[1] < 100 && runs[2] == 100, "{runs:?}");
}
