//! Equal seeds give equal runs in the profiles `dev` and `release`, for programs whose operations are the same in
//! both. `UNPAUSE_LONG=1` builds the other profile and compares. Otherwise, it compares the runs of two processes.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use sim::Runner;

const SEEDS: u64 = 100;
const CHILD: &str = "PROFILES_CHILD";
static WORD: AtomicU64 = AtomicU64::new(0);

fn add(word: &AtomicU64) {
    let seen = word.load(SeqCst);
    word.store(seen + 1, SeqCst);
}

/// Two threads that each call `body` with a number. Returns what they return.
fn two<T: Send + 'static>(body: impl Fn(u32) -> T + Clone + Send + 'static) -> [T; 2] {
    let threads = [0, 1].map(|number| {
        let body = body.clone();
        thread::spawn(move || body(number))
    });
    threads.map(|thread| thread.join().unwrap())
}

/// Programs that end with a panic, so that their reports have the whole run.
const PROGRAMS: [(&str, fn()); 5] = [
    ("stack", || {
        let word = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| add(&word));
            scope.spawn(|| add(&word));
        });
        panic!("{}", word.load(SeqCst));
    }),
    ("heap", || {
        let word = Arc::new(AtomicU64::new(0));
        let other = word.clone();
        two(move |_| add(&other));
        panic!("{}", word.load(SeqCst));
    }),
    ("static", || {
        two(|_| add(&WORD));
        panic!("{}", WORD.load(SeqCst));
    }),
    ("lock", || {
        let value = Arc::new(Mutex::new(Vec::new()));
        let other = value.clone();
        two(move |number| (0..2).for_each(|_| other.lock().unwrap().push(number)));
        panic!("{:?}", value.lock().unwrap());
    }),
    ("map", || {
        let first = |value: u32| {
            let map: HashMap<u32, u32> = (0..4).map(|key| (key, value)).collect();
            *map.keys().next().unwrap()
        };
        panic!("{:?}", two(first));
    }),
];

/// The values of an operation. Not an address on a stack, a number above 2^60: it depends on the sizes of frames.
fn value(event: &sim::run::event::Event) -> Option<String> {
    let values = format!("{:?}", event.values);
    let is_address = |number: &str| number.parse().is_ok_and(|number: u64| number >> 60 != 0);
    (!values.split(|c: char| !c.is_ascii_digit()).any(is_address)).then_some(values)
}

/// A line for each seed of each program: a hash of its steps, draws, operations, objects and values, and its message.
fn lines() -> Vec<String> {
    let out = env::temp_dir().join(format!("unpause-profiles-{}", std::process::id()));
    let mut lines = Vec::new();
    for (name, program) in PROGRAMS {
        for seed in 0..SEEDS {
            let runner = Runner::new().name(name).hermetic().shrink(false).out(&out);
            let report = runner.seeds(seed..seed + 1).run_native(program);
            let run = &report.finding.as_ref().expect("each run fails").run;
            // Without places: the columns of merged operations differ.
            let operations: Vec<_> = (run.events.iter())
                .map(|event| (event.step, event.task, event.object, event.op.name, value(event)))
                .collect();
            let outcome = format!("{:?}", run.outcome);
            let message = outcome.split("place:").next();
            let mut hasher = DefaultHasher::new();
            format!("{:?}", (&run.steps, &run.draws, operations, message)).hash(&mut hasher);
            lines.push(format!("{name}, seed {seed}: {:016x}", hasher.finish()));
        }
    }
    _ = std::fs::remove_dir_all(out);
    lines
}

#[test]
fn equal_seeds_are_equal_runs_in_each_profile() {
    let mut other = match env::var("UNPAUSE_LONG") {
        Ok(long) if long == "1" => {
            let mut command = Command::new("cargo");
            command.args(["unpause", "test", "--test", "profiles"]);
            command.args(cfg!(debug_assertions).then_some("--release")).arg("--");
            // A failure to build is shown. The other build must not use the folder of the build of this test.
            command.stderr(std::process::Stdio::inherit());
            command.env_remove("CARGO_TARGET_DIR");
            command
        }
        _ => Command::new(env::current_exe().unwrap()),
    };
    let output = other.args(["--exact", "prints_its_runs", "--nocapture"]).env(CHILD, "1").output();
    let printed = String::from_utf8(output.unwrap().stdout).unwrap();
    let printed: BTreeSet<&str> = printed.lines().collect();
    let lines = lines();
    let differ: Vec<_> = lines.iter().filter(|line| !printed.contains(line.as_str())).collect();
    assert!(differ.is_empty(), "{} of {}: {differ:#?}", differ.len(), lines.len());
    let different: BTreeSet<_> = lines.iter().map(|line| line.split(": ").nth(1)).collect();
    assert!(different.len() > 4 * PROGRAMS.len(), "{} different runs", different.len());
}

#[test]
fn prints_its_runs() {
    if env::var_os(CHILD).is_some() {
        lines().iter().for_each(|line| println!("\n{line}"));
    }
}
