//! Instructions that synchronise threads, but that the instrumentation does not see. Each is named with its function
//! and line. A search that executes such an instruction is not a proof, and a search that enters a shared library is
//! not a proof, either.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use planted::unseen;
use sim::run::{Failure, Outcome};
use sim::{Runner, report::Report};

/// Two threads share a word: one calls `function` if `really`.
fn both(function: fn(&AtomicU32), really: bool) {
    let word = Arc::new(AtomicU32::new(0));
    let other = word.clone();
    let thread = thread::spawn(move || other.load(SeqCst));
    if black_box(really) {
        function(&word);
    }
    word.store(1, SeqCst);
    thread.join().unwrap();
}

/// For each function the text that names it, a body that calls it, and a body that does not.
macro_rules! planted {
    ($($text:literal $function:expr;)*) => {
        &[$(($text, || both($function, true), || both($function, false)),)*]
    };
}

/// The planted functions.
const PLANTED: &[(&str, fn(), fn())] = planted! {
    "planted::unseen::add_in_assembly (FILE.rs:LINE, `lock xadd`)" |word| _ = unseen::add_in_assembly(word);
    "swap_in_assembly (FILE.rs:LINE, `xchg`)" |word| _ = unseen::swap_in_assembly(word);
    "planted::unseen::fence_in_assembly (FILE.rs:LINE, `mfence`)" |_| unseen::fence_in_assembly();
    "planted::unseen::yield_without_libc (FILE.rs:LINE, `syscall`)" |_| unseen::yield_without_libc();
    "planted_add (FILE.c:LINE, `lock xadd`)" |word| _ = unseen::add_in_c(word);
    "inner (FILE.c:LINE, `xchg`)" |word| _ = unseen::swap_in_c(word, true);
    "planted_assembly (`lock inc`)" unseen::add_in_a_file_of_assembly;
    "planted_with_data (`lock dec`)" unseen::subtract_beside_data;
    "planted_shared_add (libplanted_shared.so, a shared library)" |word| _ = unseen::add_in_a_shared_library(word);
    "planted_shared_seven (libplanted_shared.so, a shared library)" |_| _ = unseen::seven_in_a_shared_library();
    "planted::unseen::clone_without_libc (FILE.rs:LINE, `syscall`)" |_| assert!(!unseen::clone_without_libc());
    "clone, of a thread" |_| assert!(!unseen::clone_by_libc());
    "dlopen, of a library whose code is not searched" |_| assert!(unseen::load_a_shared_library());
};

/// The text with the file and the line of the function's mark.
fn expected(text: &str) -> String {
    let sources = [
        (".rs", include_str!("../../unpause-native/planted/src/unseen.rs")),
        (".c", include_str!("../../unpause-native/planted/src/unseen.c")),
    ];
    let path = text.split(' ').next().unwrap();
    let mark = format!("here: {}", path.rsplit("::").next().unwrap());
    let mut text = text.to_owned();
    for (end, source) in sources {
        let line = source.lines().position(|line| line.contains(&mark)).map_or(0, |at| at + 1);
        text = text.replace(&format!("FILE{end}:LINE"), &format!("planted/src/unseen{end}:{line}"));
    }
    text
}

/// Searches a body that does not fail.
fn search(body: fn(), isolate: &str) -> Report {
    let report = Runner::new().hermetic().strategy("exhaustive").isolate(isolate).run_native(body);
    assert!(report.passed());
    report
}

/// The functions that a search names, without the folders of their files.
fn named(report: &Report) -> Vec<String> {
    let short = |name: &String| match (name.find('('), name.find("planted/src/")) {
        (Some(from), Some(to)) => format!("{}{}", &name[..=from], &name[to..]),
        _ => name.clone(),
    };
    report.searched.as_ref().unwrap().unseen.iter().map(short).collect()
}

#[test]
fn a_search_that_executes_one_is_no_proof_and_names_it() {
    let is_long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    for (isolate, step) in [("run", 1), ("process", if is_long { 1 } else { 4 })] {
        // Each search that names a function reads the debug information of the program.
        for (text, enters, does_not) in PLANTED.iter().step_by(step) {
            let report = search(*enters, isolate);
            assert_eq!(named(&report), [expected(text)], "{isolate}");
            assert!(!report.searched.as_ref().unwrap().is_proof());
            let screen = sim::report::text(&report, &Default::default());
            assert!(!screen.contains("explored all"), "{screen}");

            let twin = search(*does_not, isolate);
            assert_eq!(named(&twin), [""; 0], "{text}");
            assert!(twin.searched.as_ref().unwrap().is_proof(), "{text}");
        }
    }
}

/// Such a thread would use the thread-locals of its creator, which are those of a simulated thread.
#[test]
fn a_thread_without_pthread_create_is_refused_in_each_run() {
    let body = || {
        for _ in 0..2 {
            assert!(!unseen::clone_without_libc() && !unseen::clone_by_libc());
        }
    };
    for isolate in ["run", "process"] {
        let runner = Runner::new().hermetic().seeds(0..20).isolate(isolate);
        let report = runner.run_native(body);
        assert!(report.passed(), "{report:?}");
    }
    // A plain program creates the threads.
    assert!(unseen::clone_without_libc() && unseen::clone_by_libc());
}

#[test]
fn the_branch_counts_and_not_the_function() {
    let report = search(|| both(|word| _ = unseen::swap_in_c(word, false), true), "run");
    assert!(report.searched.unwrap().is_proof());
}

#[test]
fn each_is_named_once_for_all_runs() {
    fn twice(word: &AtomicU32) {
        unseen::add_in_assembly(word);
        unseen::add_in_assembly(word);
        unseen::add_in_c(word);
    }
    let report = search(|| both(twice, true), "run");
    assert_eq!(named(&report), [PLANTED[0].0, PLANTED[4].0].map(expected));
}

#[test]
fn operations_that_the_compiler_instruments_are_not_named() {
    let report = search(
        || {
            both(
                |word| {
                    word.fetch_max(3, SeqCst);
                    word.fetch_min(1, SeqCst);
                    word.fetch_nand(1, SeqCst);
                    word.swap(2, SeqCst);
                    _ = word.compare_exchange(2, 3, SeqCst, SeqCst);
                    black_box(word.fetch_or(4, SeqCst) & 4 == 0);
                    std::sync::atomic::fence(SeqCst);
                },
                true,
            );
        },
        "run",
    );
    assert!(report.searched.unwrap().is_proof());
}

#[test]
fn a_hang_in_a_call_of_the_system_names_it() {
    for isolate in ["run", "process"] {
        let runner = Runner::new().hermetic().seeds(0..2).hang(Duration::from_millis(300));
        let body = || unseen::wait_without_libc(&AtomicU32::new(0));
        let report = runner.isolate(isolate).run_native(body);
        let finding = report.finding.as_ref().expect("the hang is found");
        let Outcome::Failed(Failure::Hang { unseen, .. }) = &finding.run.outcome else {
            panic!("{:?}", finding.run.outcome)
        };
        assert!(
            unseen.len() == 1
                && unseen[0].contains("wait_without_libc")
                && unseen[0].contains("`syscall`"),
            "{unseen:?}"
        );
        let screen = sim::report::text(&report, &Default::default());
        assert!(screen.contains("planted::unseen::wait_without_libc"), "{screen}");
    }
}
