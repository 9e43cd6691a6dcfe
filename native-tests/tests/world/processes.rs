//! Other processes, which are real.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::thread;

use planted::process::{own_group, raise_signal};

/// Set in the processes that the tests below start.
const STARTED: &str = "STARTED_BY_A_TEST";

/// This program again, with the test `is_started`.
fn itself() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::is_started", "--nocapture"]).env(STARTED, "1");
    command
}

#[test]
fn is_started() {
    if std::env::var(STARTED).is_ok() {
        println!("started");
    }
}

#[sim::test(native, seeds = 3)]
fn the_output_of_a_process_comes() {
    let output = itself().output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("started"));
}

#[sim::test(native, seeds = 3)]
fn a_process_reads_what_a_thread_writes() {
    let pipes = |command: &mut Command| {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut child = pipes(&mut Command::new("cat"));
    let mut input = child.stdin.take().unwrap();
    let writer = thread::spawn(move || input.write_all(b"through a process").unwrap());
    writer.join().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), child.wait().unwrap().success()), ("through a process", true));
}

#[sim::test(native, seeds = 3)]
fn a_process_ends_with_its_code() {
    let status = Command::new("false").stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(Command::new("/no/such/program").status().is_err());
}

#[sim::test(native, seeds = 3)]
fn a_process_that_is_forked_ends_alone() {
    // A group makes std fork.
    let output = Command::new("pwd").current_dir("/").gid(own_group()).output().unwrap();
    assert_eq!(output.stdout, b"/\n");
    let missing = Command::new("/no/such/program").gid(own_group()).output();
    assert_eq!(missing.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

/// A pipe that the test creates beside a process belongs to the run.
#[sim::test(native, seeds = 20)]
fn pipes_after_a_process_are_those_of_the_run() {
    Command::new("true").status().unwrap();
    let (mut from, mut to) = std::io::pipe().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).unwrap();
        text
    });
    to.write_all(b"within").unwrap();
    drop(to);
    assert_eq!(reader.join().unwrap(), "within");
}

/// Set in the processes that end in a way.
const ENDS: &str = "ENDS_IN_A_WAY";

/// The ways in which a program that starts itself may end, and the signal or the code of each.
const WAYS: [(&str, fn(), (Option<i32>, Option<i32>)); 6] = [
    ("abort", || std::process::abort(), (Some(6), None)),
    ("raise", || _ = raise_signal(15), (Some(15), None)),
    ("access", || _ = planted::load_atomic_at(16), (Some(11), None)),
    ("exit", || std::process::exit(7), (None, Some(7))),
    ("panic", || panic!("it fails"), (None, Some(101))),
    ("return", || (), (None, Some(0))),
];

#[sim::test(native, seeds = 2)]
fn ends_in_a_way() {
    let way = std::env::var(ENDS);
    if let Some((_, end, _)) = WAYS.iter().find(|(name, _, _)| Ok(*name) == way.as_deref()) {
        end();
    }
}

/// The end of this program with the test above.
fn end_of(way: &str, is_of_run: bool) -> (Option<i32>, Option<i32>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::ends_in_a_way", "--nocapture"]).env(ENDS, way);
    if !is_of_run {
        command.env_remove("UNPAUSE_STARTED_BY_RUN");
    }
    let ended = command.output().unwrap().status;
    (ended.signal(), ended.code())
}

#[sim::test(native, seeds = 1)]
fn a_program_that_starts_itself_sees_how_it_ends() {
    for (way, _, expected) in WAYS {
        assert_eq!(end_of(way, true), expected, "{way}");
    }
}

/// A process that no run has started has other tests to run.
#[test]
fn a_test_program_does_not_end_by_its_test() {
    for (way, _, _) in &WAYS[..5] {
        assert_eq!(end_of(way, false), (None, Some(101)), "{way}");
    }
}
