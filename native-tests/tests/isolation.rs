//! Runs in a process of their own. An action that no process can undo is a failure of a seed. The next run begins
//! with the process in its state before the first run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use planted::{Published, process};
use sim::check::models::{Queue, QueueOp, QueueRet};
use sim::check::{Budget, Model};
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{Gen, History, Program, Runner, Shape};

fn runner(isolation: &str) -> Runner {
    // Each test has a trace file of its own.
    let name = thread::current().name().unwrap_or("isolation").to_owned();
    let runner = Runner::new().name(name).hermetic().seeds(0..200);
    let out = std::env::temp_dir().join(format!("unpause-isolation-{}", std::process::id()));
    runner.hang(Duration::from_secs(60)).out(out).isolate(isolation)
}

/// The limit of a step for programs that hang. Too short for other programs on a loaded machine.
const HANG: Duration = Duration::from_millis(400);

/// Runs `body` under 200 seeds, each run in a process of its own.
fn found(body: fn()) -> Report {
    runner("process").run_native(body)
}

/// Replays the failure of a report. It must be the same again.
fn replays(report: &Report, body: fn()) {
    let finding = report.finding.as_ref().expect("the failure is found");
    let file = finding.trace_file.as_ref().expect("the trace is written");
    let again = runner("process").replay(file).run_native(body);
    let again = again.finding.expect("the replay fails");
    let (one, other) = (&finding.run.outcome, &again.run.outcome);
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

/// The cause, the message and the line of the crash that `body` must have.
fn crash(body: fn()) -> (String, String, String) {
    let report = found(body);
    let finding = report.finding.as_ref().expect("the crash is found");
    let Outcome::Failed(Failure::Crash { cause, message, place, .. }) = &finding.run.outcome else {
        panic!("{:?}", finding.run.outcome)
    };
    assert!(finding.shrunk.is_some(), "it is shrunk");
    assert!(!finding.run.steps.is_empty(), "the steps up to the crash are there");
    let screen = text(&report, &Style::default());
    assert!(screen.contains(&**cause) && screen.contains("replay"), "{screen}");
    replays(&report, body);
    (cause.clone(), message.clone(), place.clone())
}

/// Calls `act` on the second of two threads, if that reads the value of the first: under some seeds.
fn racing(act: fn()) {
    let flag = Arc::new(AtomicU32::new(0));
    let other = flag.clone();
    let first = thread::spawn(move || other.store(1, SeqCst));
    let second = thread::spawn(move || {
        if flag.load(SeqCst) == 1 {
            act();
        }
    });
    [first, second].into_iter().for_each(|thread| thread.join().unwrap());
}

/// A program without a bug passes: the process and its tests continue.
fn goes_on() {
    let report = found(|| racing(|| _ = std::hint::black_box(1)));
    assert!(report.passed() && report.runs == 200);
}

#[test]
fn a_process_that_ends_is_a_failure_of_its_seed() {
    let (cause, message, place) = crash(|| racing(|| process::exit_without_libc(3)));
    assert_eq!(cause, "process ended with exit code 3");
    assert!(message.starts_with("The process of the run has ended itself."), "{message}");
    assert!(place.starts_with("tests/isolation.rs:"), "{place}");
    let (cause, ..) = crash(|| racing(|| process::exit_without_libc(0)));
    assert_eq!(cause, "process ended with exit code 0");
    let (cause, ..) = crash(|| racing(process::kill_without_libc));
    assert_eq!(cause, "process ended by SIGKILL");
    goes_on();
}

#[test]
fn what_is_contained_in_a_process_is_so_in_its_own() {
    let (cause, message, place) = crash(|| racing(|| _ = planted::load_atomic_at(16)));
    assert_eq!(
        (&*cause, &*message),
        ("segmentation fault", "The thread accessed address 0x10, next to a null pointer.")
    );
    assert!(place.contains("planted/src/lib.rs"), "{place}");
    let (cause, message, _) = crash(|| racing(|| std::process::exit(3)));
    assert_eq!(cause, "exit of the process");
    assert_eq!(message, "The thread called `exit(3)`, which ends the process.");
    let (cause, ..) = crash(|| racing(|| std::process::abort()));
    assert_eq!(cause, "abort");
    let (cause, message, _) = crash(|| racing(|| _ = std::hint::black_box(recur(u32::MAX))));
    assert_eq!(cause, "stack overflow");
    assert!(message.contains("`recur` is on it again and again"), "{message}");
    goes_on();
}

#[test]
fn a_stray_write_over_all_statics_is_a_failure_of_its_seed() {
    // It may hang.
    let report = runner("process").hang(HANG).run_native(|| racing(process::destroy_statics));
    let finding = report.finding.as_ref().expect("the failure is found");
    let outcome = &finding.run.outcome;
    let ended = |cause: &str| cause.contains("process") || cause.contains("fault");
    let crashed = matches!(outcome, Outcome::Failed(Failure::Crash { cause, .. }) if ended(cause));
    assert!(crashed || matches!(outcome, Outcome::Failed(Failure::Hang { .. })), "{outcome:?}");
    goes_on();
}

#[test]
fn a_lock_of_libc_that_a_dead_thread_held_is_free_in_the_next_run() {
    let body = || {
        process::use_file_of_c();
        racing(|| {
            process::lock_file_of_c();
            std::process::abort();
        });
    };
    // In one process, the first thread of each later run waits for the lock.
    assert_eq!(crash(body).0, "abort");
    goes_on();
}

#[test]
fn a_loop_without_end_is_a_hang_of_its_thread() {
    let body = || {
        racing(|| {
            let mut sum = 0u64;
            while std::hint::black_box(sum) != u64::MAX {
                sum = std::hint::black_box(sum & 7) + 1;
            }
        });
    };
    // On a loaded machine a step may exceed the limit elsewhere.
    let hangs_here = |_| {
        let report = runner("process").hang(HANG).run_native(body);
        let outcome = &report.finding.as_ref().expect("the hang is found").run.outcome;
        let Outcome::Failed(Failure::Hang { place, .. }) = outcome else { panic!("{outcome:?}") };
        place.starts_with("tests/isolation.rs:")
    };
    assert!((0..5).any(hangs_here), "the loop is in no hang");
    goes_on();
}

#[test]
fn a_thread_that_cannot_be_interrupted_is_killed_with_its_process() {
    let report = runner("process")
        .hang(HANG)
        .shrink(false)
        .run_native(|| racing(process::wait_without_signals));
    let outcome = &report.finding.as_ref().expect("the hang is found").run.outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::Hang { .. })), "{outcome:?}");
    goes_on();
}

#[test]
fn a_panic_hook_of_a_run_ends_with_it() {
    let report = found(|| {
        std::panic::set_hook(Box::new(|_| {}));
        racing(|| panic!("with a hook of its own"));
    });
    let outcome = format!("{:?}", report.finding.expect("the panic is found").run.outcome);
    assert!(outcome.contains("Err"), "the first thread unwraps the result: {outcome}");
    let report = found(|| racing(|| panic!("the next one")));
    let outcome = format!("{:?}", report.finding.expect("the panic is found").run.outcome);
    assert!(
        outcome.contains("the next one") && outcome.contains("tests/isolation.rs"),
        "{outcome}"
    );
}

#[test]
fn each_run_begins_with_the_process_as_it_was() {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let report = found(|| {
        assert_eq!(process::number_of_c(), 1_804_289_383, "the first number of libc");
        assert!(std::env::current_dir().unwrap() != std::path::Path::new("/"));
        std::env::set_current_dir("/").unwrap();
        assert_eq!(COUNT.fetch_add(1, SeqCst), 0);
        // Memory of libc that outlives any run.
        std::mem::forget(std::fs::File::open("/dev/null").unwrap());
    });
    assert!(report.passed(), "{}", text(&report, &Style::default()));
    let body = || assert_eq!(process::other_number_of_c(), 0, "the first number of libc");
    assert!(runner("process").run_native(body).passed());
    assert!(!runner("run").run_native(body).passed());
}

/// Programs that a process contains: their runs must be the same.
const PROGRAMS: [fn(); 9] = [
    || {
        let count = Arc::new(AtomicU32::new(0));
        let threads = [(); 3].map(|()| {
            let count = count.clone();
            thread::spawn(move || {
                let value = count.load(SeqCst);
                count.store(value + 1, SeqCst);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(count.load(SeqCst), 3);
    },
    || {
        let locks = Arc::new([Mutex::new(1), Mutex::new(2)]);
        let other = locks.clone();
        let thread = thread::spawn(move || *other[0].lock().unwrap() + *other[1].lock().unwrap());
        let sum = *locks[1].lock().unwrap() + *locks[0].lock().unwrap();
        assert_eq!(thread.join().unwrap(), sum);
    },
    || {
        let published = Arc::new(Published::new(7));
        let other = published.clone();
        let thread = thread::spawn(move || other.withdraw());
        published.read();
        thread.join().unwrap();
    },
    || {
        let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            let (queue, ready) = &*other;
            queue.lock().unwrap().push(sim::rand::below(4));
            ready.notify_one();
        });
        let (queue, ready) = &*shared;
        let mut guard = queue.lock().unwrap();
        while guard.is_empty() {
            guard = ready.wait_timeout(guard, Duration::from_secs(3600)).unwrap().0;
        }
        println!("drew {}", guard[0]);
        assert!(guard[0] != 3, "drew {}", guard[0]);
        drop(guard);
        thread.join().unwrap();
    },
    || {
        let (send, receive) = mpsc::channel();
        let threads = [1, 2].map(|n| {
            let send = send.clone();
            thread::spawn(move || send.send(n).unwrap())
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let map: std::collections::HashMap<_, _> = (0..8).map(|n| (n, n)).collect();
        let first = *map.keys().next().unwrap();
        assert!(receive.recv().unwrap() == 1 || first < 4, "{first}");
    },
    || {
        sim::sometimes!(false, "never");
        let memory = Box::new(AtomicU32::new(1));
        let address = &raw const *memory as usize;
        drop(memory);
        planted::load_atomic_at(address & !7);
    },
    || racing(|| panic!("a message")),
    recorded_calls,
    generated_calls,
];

/// A queue behind a lock, from which two threads may pop the same value.
fn recorded_calls() {
    let (queue, history) = (Arc::new(Mutex::new(VecDeque::new())), History::new(Queue::new()));
    let threads = [0, 1, 2].map(|thread| {
        let (queue, history) = (queue.clone(), history.clone());
        thread::spawn(move || match thread {
            0 => (1..=2).for_each(|value| {
                history.call_blocking(QueueOp::Enqueue(value), || {
                    queue.lock().unwrap().push_back(value);
                    QueueRet::Done
                });
            }),
            _ => {
                history.call_blocking(QueueOp::Dequeue, || {
                    let first = queue.lock().unwrap().front().copied();
                    queue.lock().unwrap().pop_front();
                    QueueRet::Item(first)
                });
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    history.assert_linearizable();
}

/// A number that is counted up.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Tickets(u64);

impl Model for Tickets {
    type Op = ();
    type Ret = u64;

    fn step(&mut self, (): &()) -> u64 {
        self.0 += 1;
        self.0
    }

    fn op_text((): &()) -> String {
        if TEXT_RECURS.load(SeqCst) {
            return format!("{}{}", recur(u32::MAX), Self::op_text(&()));
        }
        "ticket".to_owned()
    }
}

impl Program for Tickets {
    fn generate(&self, _: &mut Gen<'_, Self>) {}
}

/// True if the text of a ticket has no end.
static TEXT_RECURS: AtomicBool = AtomicBool::new(false);

fn recur(depth: u32) -> u32 {
    let frame = std::hint::black_box([depth; 256]);
    if depth == 0 { 0 } else { recur(depth - 1) + frame[7] }
}

/// A generated program whose tickets are handed out twice.
fn generated_calls() {
    let last = AtomicU64::new(0);
    let ticket = |()| {
        let ticket = last.load(SeqCst) + 1;
        last.store(ticket, SeqCst);
        ticket
    };
    sim::parallel::blocking(Shape::chunks(), Tickets(0), ticket).run();
}

#[test]
fn a_stack_overflow_of_the_carrier_is_a_failure_of_its_seed() {
    // The texts of calls are made at the end of the run, and not by a thread of it.
    let report = runner("process").shrink(false).run_native(|| {
        let history = History::new(Tickets(0));
        history.call_blocking((), || 1);
        TEXT_RECURS.store(true, SeqCst);
    });
    let outcome = &report.finding.as_ref().expect("the failure is found").run.outcome;
    let Outcome::Failed(Failure::Crash { cause, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(cause.starts_with("process ended by SIG"), "{cause}");
    goes_on();
}

/// Calls that may take effect in any order, and that are slow in the model.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Slow(Vec<u32>);

impl Model for Slow {
    type Op = u32;
    type Ret = u32;

    fn step(&mut self, op: &u32) -> u32 {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(5) {}
        self.0.push(*op);
        *op
    }
}

#[test]
fn a_check_that_takes_longer_than_the_limit_is_no_hang() {
    let begun = Instant::now();
    let report = runner("process").hang(HANG).seeds(0..1).strategy("random").run_native(|| {
        let history = History::new(Slow(Vec::new()));
        // No order has the last result.
        let calls: Vec<_> = (1..=9).map(|op| (history.invoke(op % 9), op)).collect();
        // All of them are open at this access.
        std::hint::black_box(&AtomicU32::new(0)).load(SeqCst);
        calls.into_iter().for_each(|(call, op)| call.ok(if op == 9 { 100 } else { op }));
        assert!(history.check_within(&Budget::nodes(1_000_000)).is_violated());
    });
    assert!(report.passed(), "{}", screen(&report));
    assert!(begun.elapsed() > 2 * HANG, "{:?}", begun.elapsed());
}

#[test]
fn a_search_with_recorded_calls_is_no_proof() {
    let runner = runner("process").seeds(0..10_000).strategy("exhaustive");
    let report = runner.run_native(|| {
        let history = History::new(Tickets(0));
        history.call_blocking((), || 1);
        history.assert_linearizable();
    });
    assert!(report.passed() && !report.searched.as_ref().unwrap().is_proof());
    assert!(screen(&report).contains("other orders of recorded calls"), "{}", screen(&report));
}

/// The screen of a report without times and settings.
fn screen(report: &Report) -> String {
    let counts = |line: &&str| !line.contains(" s)") && !line.starts_with("  settings");
    text(report, &Style::default()).lines().filter(counts).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_same_seeds_are_the_same_runs_in_one_process_and_in_many() {
    for (number, body) in PROGRAMS.into_iter().enumerate() {
        // Shrinking takes most of the processes, and is the same for all programs.
        let [one, many] = ["run", "process"]
            .map(|isolation| runner(isolation).shrink(number < 2).run_native(body));
        assert_eq!(screen(&one), screen(&many), "program {number}");
        let runs = [&one, &many].map(|report| {
            let finding = report.finding.as_ref().expect("each program has a bug");
            let run = &finding.run;
            (
                report.runs,
                run.seed,
                format!("{:?}", (&run.outcome, &run.steps, &run.draws, &run.output)),
            )
        });
        assert_eq!(runs[0], runs[1], "program {number}");
    }
}

#[test]
fn a_search_is_the_same_in_one_process_and_in_many() {
    let body = || {
        let count = Arc::new(AtomicU32::new(0));
        let threads = [(); 3].map(|()| {
            let count = count.clone();
            thread::spawn(move || _ = (count.fetch_add(1, SeqCst), count.load(SeqCst)))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let [one, many] = ["run", "process"].map(|isolation| {
        let runner = runner(isolation).seeds(0..100_000).strategy("exhaustive");
        runner.run_native(body)
    });
    assert!(many.searched.as_ref().unwrap().is_proof(), "{}", screen(&many));
    assert_eq!(one.runs, many.runs);
    assert_eq!(one.steps, many.steps);
}

#[test]
fn an_error_of_the_body_and_its_output_come_over() {
    let body: fn() -> Result<(), String> = || {
        println!("from the run");
        Err("the reason".to_owned())
    };
    let report = runner("process").run_native(body);
    let run = &report.finding.as_ref().unwrap().run;
    assert!(
        matches!(&run.outcome, Outcome::Failed(Failure::Error { message }) if message.contains("the reason"))
    );
    assert_eq!(run.output, "from the run\n");
}

#[test]
fn conditions_hold_in_processes_of_their_own() {
    let report = found(|| sim::sometimes!(sim::rand::below(3) == 2, "a draw of two"));
    assert!(report.passed(), "{}", screen(&report));
    let report = found(|| sim::sometimes!(sim::rand::below(3) == 3, "a draw of three"));
    let outcome = report.finding.unwrap().run.outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::TooSeldom { .. })), "{outcome:?}");
}

/// The number of open files, of threads and of children.
fn resources() -> [usize; 2] {
    ["/proc/self/fd", "/proc/self/task"].map(|folder| std::fs::read_dir(folder).unwrap().count())
}

#[test]
fn many_processes_leave_nothing() {
    goes_on();
    let before = resources();
    let begun = process::processor_time();
    let report = runner("process").seeds(0..250).run_native(|| racing(|| ()));
    assert!(report.passed());
    let after = resources();
    assert!(after.iter().zip(before).all(|(after, before)| *after <= before + 8), "{after:?}");
    let taken = process::processor_time() - begun;
    assert!(taken < Duration::from_secs(60), "{taken:?}");
}

#[sim::test(native, isolate = "process", seeds = 50)]
fn the_argument_has_each_run_in_a_process() {
    assert_eq!(process::number_of_c(), 1_804_289_383, "the first number of libc");
}

#[sim::test(native, isolate = "process", must_fail)]
fn a_killed_process_fails_a_test() {
    racing(process::kill_without_libc);
}
