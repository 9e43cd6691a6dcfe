//! The table of questions that a program may ask the system. Each answer is the same when the run is repeated. It is
//! the expected answer under every seed, or depends only on the seed. A program of its own with one test, because
//! libtest starts a thread for each other test, and a thread that begins beside a run takes an id of std's counter.

use std::collections::HashMap;
use std::env;
use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sim::Runner;
use sim::run::{Failure, Outcome};

/// The expected answer.
enum Expected {
    /// This one, in each run.
    Is(&'static str),
    /// An answer that begins like this, and is the same in each run.
    BeginsWith(&'static str),
    /// The answer of the process, as without a run.
    OfProcess,
    /// Another answer for other seeds.
    OfSeed,
}
use Expected::{BeginsWith, Is, OfProcess, OfSeed};

fn text(answer: impl Debug) -> String {
    format!("{answer:?}")
}

/// A thread's answer to a question.
fn elsewhere(question: fn() -> String) -> String {
    thread::spawn(question).join().unwrap()
}

/// The questions, with their answers.
const ASKED: &[(&str, Expected, fn() -> String)] = &[
    ("the name of a named thread", Is("Some(\"worker\")"), || {
        let named = thread::Builder::new().name("worker".to_owned());
        named.spawn(|| text(thread::current().name())).unwrap().join().unwrap()
    }),
    ("the id of the thread", Is("ThreadId(1000001)"), || text(thread::current().id())),
    ("the id of another thread", BeginsWith("ThreadId(10000"), || {
        elsewhere(|| text(thread::current().id()))
    }),
    ("the number of the kernel", Is("4194304"), || text(planted::process::thread_number())),
    ("the date", Is("1767225600.000000001s"), || {
        text(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
    }),
    ("the time of a sleep", Is("3600.000000001s"), || {
        let begun = Instant::now();
        thread::sleep(Duration::from_secs(3600));
        text(begun.elapsed())
    }),
    ("the time of work", Is("1ns"), || {
        let begun = Instant::now();
        std::hint::black_box((0..100_000).sum::<u64>());
        text(begun.elapsed())
    }),
    ("the number of processors", Is("4"), || text(thread::available_parallelism().unwrap())),
    ("a key of a map", OfSeed, || text(RandomState::new().hash_one(1))),
    ("the order of a map", OfSeed, || {
        text((0..50).map(|n| (n, ())).collect::<HashMap<_, _>>().keys().collect::<Vec<_>>())
    }),
    // Its seed is a hash of the clock below and of the id of the thread.
    ("a number of fastrand", OfSeed, || text(fastrand::u64(..))),
    ("the time since the system started", OfSeed, || text(Instant::now())),
    ("a seed from the thread and the time", BeginsWith("1"), || {
        let id = text(thread::current().id());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        text(id.len() as u128 + now.as_nanos())
    }),
    ("a variable", OfProcess, || text(env::var("PATH"))),
    ("a variable that is set", Is("true"), || text(env::var_os("PATH").is_some())),
    ("the working directory", OfProcess, || text(env::current_dir().unwrap())),
    ("the program", OfProcess, || text(env::current_exe().unwrap())),
    ("the arguments", OfProcess, || text(env::args().collect::<Vec<_>>())),
    ("the process", OfProcess, || text(std::process::id())),
    ("the temporary folder", BeginsWith("\"/"), || text(env::temp_dir())),
    ("the files in it", Is("0"), || text(env::temp_dir().read_dir().unwrap().count())),
    ("the output of another process", Is("\"asked\\n\""), || {
        let output = Command::new("echo").arg("asked").output().unwrap();
        text(String::from_utf8(output.stdout).unwrap())
    }),
    ("the code of another process", Is("Some(3)"), || {
        text(Command::new("sh").args(["-c", "exit 3"]).status().unwrap().code())
    }),
    ("a file that is not there", Is("NotFound"), || {
        text(std::fs::read("/not/there").unwrap_err().kind())
    }),
    ("an address in the heap", BeginsWith("0x"), || text(&raw const *Box::new(1))),
];

/// The answer to the question of this number in the run of a seed. A panic takes it out of the run.
fn answer(number: usize, seed: u64) -> String {
    message(Runner::new().hermetic().seed(seed), BODIES[number])
}

/// The message of the panic in the first run.
fn message(runner: Runner, body: fn()) -> String {
    let report = runner.shrink(false).prove(0).run_native(body);
    match &report.finding.as_ref().expect("each run fails").run.outcome {
        Outcome::Failed(Failure::Panic { message, .. }) => message.clone(),
        other => panic!("{other:?}"),
    }
}

fn shows_the_clock() {
    panic!("{}", text(Instant::now()));
}

/// A body for each number below 25, because a body has no captures.
fn body<const N: usize>() {
    panic!("{}", ASKED[N].2());
}

macro_rules! bodies {
    ($($n:literal)*) => { [$(body::<$n>),*] };
}

const BODIES: [fn(); 25] =
    bodies! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 };

#[test]
fn each_question_has_its_answer() {
    assert_eq!(ASKED.len(), BODIES.len());
    let mut wrong = Vec::new();
    for (number, (question, expected, ask)) in ASKED.iter().enumerate() {
        let answers: Vec<_> = (0..4).map(|seed| answer(number, seed)).collect();
        let again: Vec<_> = (0..4).map(|seed| answer(number, seed)).collect();
        let is_one = answers.iter().all(|answer| *answer == answers[0]);
        let is_right = match expected {
            Is(expected) => is_one && answers[0] == *expected,
            BeginsWith(begin) => answers.iter().all(|answer| answer.starts_with(begin)),
            OfProcess => is_one && answers[0] == ask(),
            OfSeed => !is_one,
        };
        if !is_right || answers != again {
            wrong.push(format!("{question}: {answers:?}, again {again:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // In a search, the system always starts at the same time.
    let clock = message(Runner::new().hermetic().strategy("exhaustive"), shows_the_clock);
    assert_eq!(clock, "Instant { tv_sec: 1000, tv_nsec: 0 }");
}
