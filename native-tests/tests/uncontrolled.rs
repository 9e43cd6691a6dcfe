//! Threads that no run controls: threads of async tests and of plain tests. A note of the test, or the end of the
//! command, names them with their line.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, mpsc};
use std::{fs, thread};

use sim::Runner;

/// Set in the processes whose output is tested, to the name of the variant.
const CHILD: &str = "UNCONTROLLED_CHILD";

fn is_child(variant: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|wanted| wanted == variant)
}

/// Threads that live on, as the threads of a pool do. One of them has a name.
static POOL: LazyLock<mpsc::Sender<()>> = LazyLock::new(|| {
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new().name("pool".into()).spawn(move || receiver.recv()).unwrap(); // here: pool
    sender
});

fn counts_on_a_thread() -> u32 {
    let counter = Arc::new(AtomicU32::new(0));
    let other = counter.clone();
    thread::spawn(move || other.fetch_add(1, SeqCst)).join().unwrap(); // here: joined
    counter.load(SeqCst)
}

#[sim::test(seeds = 20)]
async fn an_async_test() {
    match std::env::var(CHILD).as_deref() {
        Ok("joined") => assert_eq!(counts_on_a_thread(), 1),
        Ok("scoped") => thread::scope(|scope| _ = scope.spawn(|| ())), // here: scoped
        Ok("pool") => drop(POOL.clone()),
        Ok("clone") => assert!(planted::unseen::clone_by_libc()),
        Ok("tasks") => assert_eq!(sim::spawn(async { 1 }).await.unwrap(), 1),
        _ => {}
    }
}

#[sim::test(strategy = "exhaustive")]
async fn an_async_search() {
    let task = sim::spawn(async { 1 });
    if is_child("search") {
        assert_eq!(counts_on_a_thread(), 1);
    }
    task.await.unwrap();
}

#[sim::test(native, seeds = 20)]
fn a_controlled_test() {
    counts_on_a_thread();
}

#[test]
fn a_plain_test_with_threads() {
    if is_child("plain") {
        counts_on_a_thread();
        // Only the first thread is noted.
        thread::spawn(|| thread::spawn(|| ()).join()).join().unwrap().unwrap();
    }
}

#[test]
fn a_plain_test_with_a_clone() {
    if is_child("clone") {
        assert!(planted::unseen::clone_by_libc());
    }
}

#[test]
fn a_plain_test_without_threads() {}

/// The threads of the engine are not threads of the test.
#[test]
fn a_plain_test_with_a_runner() {
    if is_child("runner") {
        let runner = Runner::new().hermetic().seeds(0..2000).jobs(2);
        assert!(runner.run(async || sim::spawn(async {}).await.unwrap()).passed());
        assert!(
            Runner::new().hermetic().seeds(0..20).run_native(|| _ = counts_on_a_thread()).passed()
        );
    }
}

/// Runs a test of this program in a process of its own. Returns its error output, and the lines for the command without
/// the two processes.
fn child(variant: &str, arguments: &[&str]) -> (String, Vec<String>) {
    let name = format!("unpause-threads-{}-{variant}-{}", std::process::id(), arguments.len());
    let file = std::env::temp_dir().join(name);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env(CHILD, variant).env("UNPAUSE_THREADS", &file);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = fs::read_to_string(&file).unwrap_or_default();
    let _ = fs::remove_file(&file);
    let without = |line: &str| line.splitn(3, '\t').last().unwrap().to_owned();
    (String::from_utf8(output.stderr).unwrap(), lines.lines().map(without).collect())
}

/// Returns the line of this file with a mark.
fn line(mark: &str) -> String {
    let mark = format!("// here: {mark}");
    let source = include_str!("uncontrolled.rs");
    let at = source.lines().position(|line| line.ends_with(&mark)).unwrap();
    format!("tests/uncontrolled.rs:{}", at + 1)
}

#[test]
fn an_async_test_that_starts_a_thread_is_noted_once_with_its_line() {
    for variant in ["joined", "scoped", "pool"] {
        let (screen, lines) = child(variant, &["an_async_test", "--exact"]);
        assert_eq!(
            screen,
            format!(
                "note: uncontrolled::an_async_test: a run started a thread ({}), and no decision orders the steps of \
                 that thread. Use sim::spawn, or make the test a plain function with #[sim::test(native)]\n",
                line(variant)
            )
        );
        assert_eq!(lines, ["test\t\t", "controlled\tan_async_test\t"]);
    }
    // The place is in another package.
    let (screen, _) = child("clone", &["an_async_test", "--exact"]);
    let place = "planted/src/unseen.rs:";
    assert!(screen.contains("a run started a thread (") && screen.contains(place), "{screen}");
    let (screen, _) = child("tasks", &["an_async_test", "--exact"]);
    assert_eq!(screen, "");
}

#[test]
fn a_search_of_a_test_that_starts_a_thread_is_no_proof() {
    let (screen, _) = child("search", &["an_async_search", "--exact"]);
    assert!(screen.contains("NOT A PROOF  uncontrolled::an_async_search: "), "{screen}");
    assert!(screen.contains("threads that the test starts"), "{screen}");
    assert!(screen.contains(&line("joined")), "{screen}");
    let (screen, _) = child("none", &["an_async_search", "--exact"]);
    assert!(
        screen.contains("explored the only interleaving") && !screen.contains("note"),
        "{screen}"
    );
}

#[test]
fn plain_tests_with_threads_are_named_and_others_are_counted() {
    let started = format!("started\ta_plain_test_with_threads\t{}", line("joined"));
    let controlled = "controlled\ta_controlled_test\t".to_owned();
    let test = || "test\t\t".to_owned();
    let tests = ["a_controlled_test", "a_plain_test_with_threads", "a_plain_test_without_threads"];
    for more in [&["--exact"][..], &["--exact", "--test-threads=1"]] {
        let (_, mut lines) = child("plain", &[&tests[..], more].concat());
        lines.sort();
        assert_eq!(lines, [controlled.clone(), started.clone(), test(), test(), test()]);
    }
}

#[test]
fn a_thread_by_clone_is_a_thread_of_its_test() {
    let (_, mut lines) = child("clone", &["a_plain_test_with_a_clone", "--exact"]);
    lines.sort();
    let started = "started\ta_plain_test_with_a_clone\t";
    assert!(
        lines[0].starts_with(started) && lines[0].contains("planted/src/unseen.rs:"),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["test\t\t"]);
}

#[test]
fn threads_of_the_engine_are_not_threads_of_a_test() {
    for arguments in [
        &["a_plain_test_with_a_runner", "--exact"][..],
        &["a_plain_test_with_a_runner", "--exact", "--test-threads=1"],
    ] {
        let (_, lines) = child("runner", arguments);
        assert!(lines.iter().all(|line| !line.starts_with("started")), "{lines:?}");
    }
}
