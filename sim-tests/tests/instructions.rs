//! Instructions of a run and of a step, beside a table: no change raises them without a changed line in this file.
//!
//! Time measurements on a shared machine have errors of tens of per cent. So a second process of this test stops at the
//! start of a run, and the first process steps it from instruction to instruction until the next run. Tables grow in
//! the first runs, which are not counted.
//!
//! Only instructions of the program itself count, so the table holds on each processor. The C library has several
//! versions of `memcpy`, and chooses the version for the processor.
//!
//! The table holds for one compiler and for the build of the gate. In any other build, the test only prints that it
//! compares nothing. To write the table again, set the variables that `.ci/run` exports, and run this command:
//! `UPDATE_EXPECT=1 cargo test --workspace --test instructions`.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures::StreamExt;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, gettid};
use sim::Ordering::SeqCst;
use sim::task::yield_now;
use sim::{Atomic, Mutex, Runner};

/// The variable that names the program of the second process.
const PROGRAM: &str = "UNPAUSE_COUNTED_PROGRAM";

/// The first counted run.
const WARM: u64 = 300;

/// The tolerance: a program may take one instruction in this number more or less than the table says.
const TOLERANCE: u64 = 100;

/// The programs of `sim-bench`, with smaller sizes.
const PROGRAMS: [(&str, fn()); 8] = [
    ("an empty body", || counted(async || {})),
    ("2 tasks x 20 yields", || counted(async || yields(2, 20).await)),
    ("2 tasks x 10 x (load; store)", || counted(async || load_store(10).await)),
    ("2 tasks x (load; store)", || counted(async || load_store(1).await)),
    ("2 tasks x 5 lock/unlock", || counted(lock)),
    ("10 messages", || counted(messages)),
    ("10 tasks x 4 yields", || counted(async || yields(10, 4).await)),
    ("8 tasks x 4 fetch_add over 4 atomics", || counted(rotation)),
];

async fn yields(tasks: u64, rounds: u64) {
    let task = |_| {
        sim::spawn(async move {
            for _ in 0..rounds {
                yield_now().await;
            }
        })
    };
    for task in (0..tasks).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

async fn load_store(rounds: u64) {
    let counter = Arc::new(Atomic::new(0_u64));
    let tasks = [(); 2].map(|()| {
        let counter = counter.clone();
        sim::spawn(async move {
            for _ in 0..rounds {
                let value = counter.load(SeqCst).await;
                counter.store(value + 1, SeqCst).await;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

async fn lock() {
    let counter = Arc::new(Mutex::new(0_u64));
    let tasks = [(); 2].map(|()| {
        let counter = counter.clone();
        sim::spawn(async move {
            for _ in 0..5 {
                *counter.lock().await += 1;
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
}

async fn messages() {
    let (sender, mut receiver) = futures::channel::mpsc::unbounded();
    let producer = sim::spawn(async move {
        for n in 0..10_u64 {
            sender.unbounded_send(n).unwrap();
            yield_now().await;
        }
    });
    while receiver.next().await.is_some() {}
    producer.await.unwrap();
}

async fn rotation() {
    let atomics = Arc::new([(); 4].map(|()| Atomic::new(0_u64)));
    let task = |first: usize| {
        let atomics = atomics.clone();
        sim::spawn(async move {
            for round in 0..4 {
                atomics[(first + round) % 4].fetch_add(1, SeqCst).await;
            }
        })
    };
    for task in (0..8).map(task).collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// Runs a program; stops at the start of two consecutive runs.
fn counted(body: impl AsyncFn() + Sync) {
    let runs = AtomicU64::new(0);
    // The watchdog is a separate thread, but only one thread is stepped.
    let runner = Runner::new().hermetic().jobs(1).hang(Duration::ZERO).strategy("random");
    let report = runner.seeds(0..WARM + 2).run(async || {
        let run = runs.fetch_add(1, Relaxed);
        if run == WARM || run == WARM + 1 {
            raise(Signal::SIGTRAP).unwrap();
        }
        body().await;
    });
    assert!(report.passed(), "{report:?}");
}

/// Returns the addresses of the code of a process that comes from its program file.
fn code_of(child: &Child) -> Range<u64> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    let program = env::current_exe().unwrap();
    let is_code =
        |line: &&str| line.contains(" r-xp ") && line.ends_with(program.to_str().unwrap());
    let line = maps.lines().find(is_code).unwrap_or_else(|| panic!("no code in:\n{maps}"));
    let (range, _) = line.split_once(' ').unwrap();
    let (start, end) = range.split_once('-').unwrap();
    let address = |digits| u64::from_str_radix(digits, 16).unwrap();
    address(start)..address(end)
}

/// Returns the number of instructions of the program file in a run of a program.
fn instructions(number: usize) -> u64 {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "runs_and_steps_take_the_instructions_of_the_table", "--nocapture"])
        .env(PROGRAM, number.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Only the thread of the test requests to be traced.
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let thread = Pid::from_raw(line.trim().parse().unwrap_or_else(|_| panic!("no thread: {line}")));
    let wait = || waitpid(thread, Some(WaitPidFlag::__WALL)).unwrap();
    let trapped = WaitStatus::Stopped(thread, Signal::SIGTRAP);
    assert_eq!(wait(), trapped, "it stops at the counted run");
    let code = code_of(&child);
    let (mut steps, mut outside) = (0, 0);
    loop {
        let is_own = code.contains(&ptrace::getregs(thread).unwrap().rip);
        ptrace::step(thread, None).unwrap();
        assert_eq!(wait(), trapped, "after {steps} and {outside} instructions");
        // A step ends with the same signal, but the signal is then sent by the kernel.
        if ptrace::getsiginfo(thread).unwrap().si_code <= 0 {
            break;
        }
        if is_own {
            steps += 1;
        } else {
            outside += 1;
        }
    }
    child.kill().unwrap();
    // The process ends when its tracer has seen the end of the thread.
    wait();
    child.wait().unwrap();
    steps
}

fn table() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions.txt")
}

/// Returns the name and version of the compiler. The number of instructions depends on both.
fn compiler() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Keeps this thread and the processes that it starts on one processor: each step is a switch between two processes.
fn stay_on_one_processor() {
    let own = Pid::from_raw(0);
    let permitted = sched_getaffinity(own).unwrap();
    let mut one = CpuSet::new();
    let is_permitted = |number: &usize| permitted.is_set(*number).unwrap_or(false);
    one.set((0..CpuSet::count()).find(is_permitted).unwrap()).unwrap();
    sched_setaffinity(own, &one).unwrap();
}

#[test]
fn runs_and_steps_take_the_instructions_of_the_table() {
    if let Ok(number) = env::var(PROGRAM) {
        ptrace::traceme().unwrap();
        eprintln!("{}", gettid());
        let (_, program) = PROGRAMS[number.parse::<usize>().unwrap()];
        program();
        return;
    }
    let of_gate = [("CODEGEN_UNITS", "1"), ("DEBUG", "0"), ("LTO", "off")];
    let is_set = |(name, value): &(&str, &str)| {
        env::var(format!("CARGO_PROFILE_DEV_{name}")).is_ok_and(|set| set == *value)
    };
    if !sim::SIMULATED || !of_gate.iter().all(is_set) {
        println!("SKIPPED: the table of instructions is of the build of the gate");
        return;
    }
    let updates = env::var_os("UPDATE_EXPECT").is_some();
    let text = fs::read_to_string(table()).unwrap_or_default();
    let compiler = compiler();
    if !updates && text.lines().next() != Some(&*compiler) {
        println!("SKIPPED: the table of instructions is not for {compiler}");
        return;
    }
    stay_on_one_processor();
    let counts: Vec<u64> = (0..PROGRAMS.len()).map(instructions).collect();
    if updates {
        let rows =
            PROGRAMS.iter().zip(&counts).map(|((name, _), count)| format!("{count:>9}  {name}\n"));
        fs::write(table(), format!("{compiler}\n{}", rows.collect::<String>())).unwrap();
        return;
    }
    let mut far = Vec::new();
    for ((name, _), count) in PROGRAMS.iter().zip(counts) {
        let row = text
            .lines()
            .find_map(|line| line.trim_start().split_once("  ").filter(|row| row.1 == *name));
        let (known, _) = row.unwrap_or_else(|| panic!("no row of {}: {name}", table().display()));
        let known: u64 = known.parse().unwrap();
        println!("{count:>9}  {name} (table: {known})");
        if count.abs_diff(known) * TOLERANCE > known {
            far.push(format!("{name}: {count} instructions, the table says {known}"));
        }
    }
    assert!(
        far.is_empty(),
        "{far:#?}\nIf the change is worth it, write the table anew as the head of this file says, and say why in the \
         commit."
    );
}
