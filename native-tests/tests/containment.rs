//! Code that ends its process, or blocks it for ever, is a failure of a seed: planted deaths, which must be found, and
//! the same programs without them. All deaths occur in one process, in which the next tests continue.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use planted::Published;
use sim::run::{Failure, Outcome};
use sim::{Runner, report::Report};

/// The limit of a step for programs that hang. Too short for other programs on a loaded machine.
const HANG: Duration = Duration::from_millis(300);

/// Runs `body` under 200 seeds. Returns the report of its failure.
fn found(body: fn()) -> Report {
    runner(Duration::from_secs(60)).run_native(body)
}

/// 200 seeds, with this time limit for a step.
fn runner(hang: Duration) -> Runner {
    let runner = Runner::new().hermetic().seeds(0..200).hang(hang).prove(0).why(0);
    let out = std::env::temp_dir().join(format!("unpause-containment-{}", std::process::id()));
    runner.out(out)
}

/// The cause, the message and the line of the crash that `body` must have.
fn crash(body: fn()) -> (String, String, String) {
    let report = found(body);
    let finding = report.finding.as_ref().expect("the crash is found");
    let Outcome::Failed(Failure::Crash { cause, message, place, .. }) = &finding.run.outcome else {
        panic!("{:?}", finding.run.outcome)
    };
    assert!(finding.shrunk.is_some(), "it is shrunk");
    (cause.clone(), message.clone(), place.clone())
}

/// Runs `first` on one thread and `second` on another thread, with the same state.
fn both<T: Send + Sync + 'static>(state: T, first: fn(&T), second: fn(&T)) {
    let state = Arc::new(state);
    let threads = [first, second].map(|work| {
        let state = state.clone();
        thread::spawn(move || work(&state))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Runs `death` on the second of two threads, if that reads the value of the first: under some seeds.
fn racing(death: fn()) {
    static DEATH: std::sync::OnceLock<fn()> = std::sync::OnceLock::new();
    DEATH.get_or_init(|| death);
    both(
        AtomicU32::new(0),
        |flag| flag.store(1, SeqCst),
        |flag| {
            if flag.load(SeqCst) == 1 {
                DEATH.get().unwrap()();
            }
        },
    );
}

#[test]
fn a_pointer_that_is_withdrawn_is_a_segmentation_fault() {
    let (cause, message, place) = crash(|| {
        both(Published::new(7), |value| value.withdraw(), |value| _ = value.read());
    });
    assert_eq!(cause, "segmentation fault");
    assert_eq!(message, "The thread accessed address 0x0, next to a null pointer.");
    // The first read of the file is the planted one.
    let source = include_str!("../../unpause-native/planted/src/lib.rs");
    let line = 1 + source.lines().position(|line| line.contains(".read_volatile()")).unwrap();
    assert!(place.contains(&format!("planted/src/lib.rs:{line}:")), "{place}");
    let passes = found(|| {
        both(Published::new(7), |value| value.withdraw(), |value| _ = value.read_once());
    });
    assert!(passes.passed());
}

#[test]
fn faults_of_the_processor_are_told_apart() {
    let (cause, message, place) = crash(|| racing(|| _ = planted::load_atomic_at(16)));
    assert_eq!(
        (&*cause, &*message),
        ("segmentation fault", "The thread accessed address 0x10, next to a null pointer.")
    );
    assert!(place.contains("planted/src/lib.rs"), "{place}");
    let (cause, message, _) =
        crash(|| racing(|| _ = planted::load_atomic_at(0x5a5a_5a5a_5a5a_5a58)));
    assert_eq!(
        (&*cause, &*message),
        ("segmentation fault", "The thread accessed an address that no pointer can have.")
    );
    let (cause, message, _) = crash(|| racing(planted::write_to_constant));
    assert!(cause == "segmentation fault" && message.contains("in the program"), "{message}");
    let (cause, _, place) = crash(|| racing(planted::illegal_instruction));
    assert_eq!(cause, "illegal instruction");
    assert!(place.contains("planted/src/lib.rs"), "{place}");
}

#[test]
fn an_end_of_the_process_is_a_failure() {
    // The first end of the process of all: std cleans up once.
    let (cause, ..) = crash(|| std::process::exit(3));
    assert_eq!(cause, "exit of the process");
    let (cause, message, place) = crash(|| racing(|| std::process::abort()));
    assert_eq!(
        (&*cause, &*message),
        ("abort", "The thread called `abort`, which ends the process.")
    );
    assert!(place.starts_with("tests/containment.rs:"), "{place}");
    let (cause, message, place) = crash(|| racing(|| std::process::exit(3)));
    assert_eq!(cause, "exit of the process");
    assert_eq!(message, "The thread called `exit(3)`, which ends the process.");
    assert!(place.starts_with("tests/containment.rs:"), "{place}");
}

#[test]
fn a_signal_that_ends_a_process_is_a_failure() {
    // `SIGUSR1` has no handler.
    let (cause, message, _) = crash(|| racing(|| _ = planted::process::raise_signal(10)));
    assert_eq!(cause, "user signal 1");
    assert_eq!(message, "The thread raised the signal of this: number 10.");
    // `SIGWINCH` has no effect, and std ignores `SIGPIPE`.
    assert!(found(|| racing(|| _ = planted::process::raise_signal(28))).passed());
    assert!(found(|| racing(|| _ = planted::process::raise_signal(13))).passed());
}

/// Panics when it is dropped.
struct PanicsAtDrop;

impl Drop for PanicsAtDrop {
    fn drop(&mut self) {
        panic!("the second panic");
    }
}

extern "C" fn does_not_unwind() {
    panic!("in a function of C");
}

#[test]
fn panics_that_abort_are_shown() {
    let (cause, message, place) = crash(|| {
        racing(|| {
            let _panics = PanicsAtDrop;
            panic!("the first panic");
        });
    });
    assert_eq!(cause, "abort");
    assert!(message.contains(":\nthe first panic\npanic at "), "{message}");
    assert!(message.contains(":\nthe second panic"), "{message}");
    assert!(place.starts_with("tests/containment.rs:"), "{place}");
    let (cause, message, _) = crash(|| racing(|| does_not_unwind()));
    assert!(cause == "abort" && message.contains(":\nin a function of C"), "{message}");
}

/// Recurs `depth` times, with a frame of 1 KiB.
fn recur(depth: u32) -> u32 {
    let frame = std::hint::black_box([depth; 256]);
    if depth == 0 { 0 } else { recur(depth - 1) + frame[7] }
}

#[test]
fn a_recursion_without_end_is_a_stack_overflow() {
    let (cause, message, place) = crash(|| racing(|| _ = std::hint::black_box(recur(u32::MAX))));
    assert_eq!(cause, "stack overflow");
    assert_eq!(message, "The stack of 2 MiB is full. `recur` is on it again and again.");
    assert!(place.starts_with("tests/containment.rs:"), "{place}");
    let main = crash(|| _ = std::hint::black_box(recur(u32::MAX)));
    assert_eq!((main.0, main.2), (cause, place));
    assert!(found(|| racing(|| _ = std::hint::black_box(recur(100)))).passed());
}

/// The program must hang, in a line of the file `expected`. On a loaded machine a step may exceed the limit elsewhere: then
/// the program is run again.
#[track_caller]
fn hangs_in(expected: &str, shrink: bool, body: fn()) {
    let mut places = Vec::new();
    while places.len() < 5 {
        let report = runner(HANG).shrink(shrink).run_native(body);
        let finding = report.finding.as_ref().expect("the hang is found");
        let Outcome::Failed(Failure::Hang { place, .. }) = &finding.run.outcome else {
            panic!("{:?}", finding.run.outcome)
        };
        if place.contains(expected) {
            return;
        }
        places.push(place.clone());
    }
    panic!("{expected} is in none of {places:?}");
}

#[test]
fn a_loop_without_end_is_a_hang_of_its_thread() {
    // Each replay would use the processor until the limit.
    hangs_in("tests/containment.rs:", false, || {
        racing(|| {
            let mut sum = 0u64;
            while std::hint::black_box(sum) != u64::MAX {
                sum = std::hint::black_box(sum & 7) + 1;
            }
        });
    });
    assert!(found(|| racing(|| _ = std::hint::black_box((0..9).sum::<u64>()))).passed());
}

#[test]
fn a_wait_in_the_kernel_is_a_hang_of_its_thread() {
    hangs_in("planted/src/lib.rs:", true, planted::wait_for_a_signal);
}

#[test]
fn a_read_of_an_empty_pipe_is_a_deadlock() {
    let report = found(|| {
        let (mut reader, _writer) = std::io::pipe().unwrap();
        let _ = reader.read(&mut [0]);
    });
    let outcome = report.finding.map(|finding| finding.run.outcome);
    assert!(matches!(outcome, Some(Outcome::Failed(Failure::Deadlock { .. }))), "{outcome:?}");
}

#[test]
fn a_lock_of_the_output_that_a_dead_thread_held_is_free_again() {
    for _ in 0..3 {
        let (cause, ..) = crash(|| {
            racing(|| {
                let _held = std::io::stdout().lock();
                std::process::abort();
            });
        });
        assert_eq!(cause, "abort");
        let printed = thread::spawn(|| println!("the lock is free"));
        printed.join().unwrap();
    }
}

#[test]
fn a_hook_that_is_installed_once_leaves_nothing() {
    /// As error reporters do it.
    fn install() {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            let (before, text) = (std::panic::take_hook(), "noted".to_owned());
            std::panic::set_hook(Box::new(move |info| {
                assert_eq!(text, "noted");
                before(info);
            }));
        });
    }
    let report = found(|| {
        install();
        both(
            AtomicU32::new(0),
            |count| count.store(1, SeqCst),
            |count| assert_ne!(count.load(SeqCst), 1, "the real failure"),
        );
    });
    let outcome = &report.finding.as_ref().expect("the panic is found").run.outcome;
    let Outcome::Failed(Failure::Panic { message, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(message.contains("the real failure") || message.contains("Any"), "{message}");
    let right = found(|| {
        install();
        assert!(thread::spawn(|| panic!("caught by the join")).join().is_err());
    });
    assert!(right.passed());
}

#[test]
fn a_backtrace_in_a_run_leaves_nothing() {
    // For the next backtrace, std keeps the data that it has read about the program, in memory of the run.
    let report = runner(Duration::from_secs(60)).seeds(0..10).run_native(|| {
        let text = std::backtrace::Backtrace::force_capture().to_string();
        assert!(text.contains("containment"), "{text}");
    });
    assert!(report.passed(), "{:?}", report.finding.map(|finding| finding.run.outcome));
    let outside = std::backtrace::Backtrace::force_capture().to_string();
    assert!(outside.contains("containment"), "{outside}");
}

#[test]
fn a_thread_that_the_system_refuses_is_an_error_of_its_spawn() {
    let spawn = |size: usize| thread::Builder::new().stack_size(size).spawn(|| 7);
    let report = found(|| {
        let refused = thread::Builder::new().stack_size(1 << 60).spawn(|| 7);
        assert!(refused.is_err());
        assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
    });
    assert!(report.passed());
    assert!(spawn(1 << 60).is_err(), "as without a run");
}

#[test]
fn the_output_of_the_failing_run_is_kept() {
    let report = found(|| {
        println!("on one thread");
        both(0, |_| eprintln!("on another thread"), |_| print!("no line feed"));
        panic!("fails");
    });
    let output = &report.finding.as_ref().unwrap().run.output;
    for text in ["on one thread\n", "on another thread\n", "no line feed"] {
        assert!(output.contains(text), "{output:?}");
    }
    let screen = sim::report::text(&report, &Default::default());
    assert!(screen.contains("on another thread"), "{screen}");
}

#[test]
fn the_same_seed_shows_the_same_screen() {
    let screen = |body: fn()| {
        let report = found(body);
        assert!(!report.passed());
        let text = sim::report::text(&report, &Default::default());
        let is_of_time = |line: &&str| !line.contains(" s)") && !line.contains("ms");
        text.lines().filter(is_of_time).map(|line| format!("{line}\n")).collect::<String>()
    };
    let bodies: [fn(); 3] = [
        || both(Published::new(7), |value| value.withdraw(), |value| _ = value.read()),
        || racing(|| _ = std::hint::black_box(recur(u32::MAX))),
        || racing(|| std::process::exit(3)),
    ];
    for body in bodies {
        assert_eq!(screen(body), screen(body));
    }
}

/// The number of open files of the process, and of its threads.
fn resources() -> [usize; 2] {
    ["/proc/self/fd", "/proc/self/task"].map(|folder| std::fs::read_dir(folder).unwrap().count())
}

#[test]
fn a_thousand_deaths_leave_nothing() {
    /// The processor time of `count` deaths.
    fn deaths(count: u64) -> Duration {
        let begun = planted::process::processor_time();
        for seed in 0..count {
            let runner = Runner::new().hermetic().seeds(seed..seed + 1).shrink(false);
            let report = runner.run_native(|| {
                let thread = thread::spawn(|| match thread::current().name() {
                    None => _ = planted::load_atomic_at(8),
                    Some(_) => {}
                });
                thread.join().unwrap();
            });
            assert!(!report.passed());
        }
        planted::process::processor_time() - begun
    }
    deaths(20);
    let before = resources();
    let first = deaths(250);
    let last = (deaths(250), deaths(250), deaths(250)).2;
    let after = resources();
    assert!(
        after.iter().zip(before).all(|(after, before)| *after <= before + 8),
        "{before:?} {after:?}"
    );
    assert!(last < first * 3, "{first:?}, then {last:?}");
}
