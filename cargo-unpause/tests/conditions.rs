//! `cargo unpause check --condition`: each condition ends with each of its exit codes, and shows its
//! evidence.

#![forbid(unsafe_code)]

use cargo_unpause::Terminal;
use unpause_histories::CONDITIONS;

/// The exit code, the output and the errors.
fn run(arguments: &[&str]) -> (u8, String, String) {
    let mut terminal = Terminal::silent();
    let arguments = ["check"].iter().chain(arguments).map(|argument| (*argument).into()).collect();
    let code = cargo_unpause::run(arguments, &mut terminal);
    (code, terminal.output().to_owned(), terminal.errors().to_owned())
}

/// A file in the folder of this test binary, with these calls.
fn file(name: &str, events: &[&str]) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text(events)).expect("written");
    path.to_str().expect("text").to_owned()
}

/// `0 invoke write 1`: process, type, f, value. In EDN.
fn text(events: &[&str]) -> String {
    let event = |event: &&str| {
        let [process, kind, f, value] = event.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("{event}");
        };
        format!("{{:process {process}, :type :{kind}, :f :{f}, :value {value}}}\n")
    };
    events.iter().map(event).collect()
}

/// A condition with options and histories that end with 0, 1, 2 and 3.
struct Case {
    conditions: &'static [&'static str],
    options: &'static [&'static str],
    consistent: &'static [&'static str],
    violated: &'static [&'static str],
    malformed: &'static [&'static str],
    /// None if it is always decided.
    undecided: Option<&'static [&'static str]>,
}

const WRITE_THEN: &[&str] = &["0 invoke write 1", "0 ok write 1"];

const CASES: &[Case] = &[
    Case {
        conditions: &["linearizable", "sequential", "quiescent"],
        options: &["-m", "register", "--init", "0"],
        consistent: &[
            "0 invoke write 1",
            "1 invoke read nil",
            "0 ok write 1",
            "1 ok read 0",
            "1 invoke read nil",
            "1 ok read 1",
        ],
        violated: &["0 invoke write 1", "0 ok write 1", "0 invoke read nil", "0 ok read 0"],
        malformed: &["0 invoke write 1", "0 ok write 1", "0 invoke wirte 1"],
        undecided: Some(&[
            "0 invoke write 1",
            "1 invoke write 1",
            "2 invoke read nil",
            "3 invoke read nil",
            "2 ok read 1",
            "3 ok read 0",
        ]),
    },
    Case {
        conditions: &["read-uncommitted"],
        options: &["-m", "list-append"],
        consistent: &["0 invoke txn [[:append 1 1]]", "0 ok txn [[:append 1 1]]"],
        violated: &["0 invoke txn [[:r 1 nil]]", "0 ok txn [[:r 1 [7]]]"],
        malformed: &["0 invoke txn [[:append 1 1]]", "0 ok txn [[:append 1 2]]"],
        undecided: None,
    },
    Case {
        conditions: &["read-committed"],
        options: &[],
        consistent: &["0 invoke txn [[:append 1 1]]", "0 ok txn [[:append 1 1]]"],
        violated: &[
            "0 invoke txn [[:append 1 1]]",
            "0 fail txn [[:append 1 1]]",
            "0 invoke txn [[:r 1 nil]]",
            "0 ok txn [[:r 1 [1]]]",
        ],
        malformed: &["0 invoke txn [[:append 1 1] [:append 1 1]]"],
        undecided: None,
    },
    Case {
        conditions: &[
            "snapshot-isolation",
            "serializable",
            "strong-session-serializable",
            "strict-serializable",
        ],
        options: &[],
        consistent: &[
            "0 invoke txn [[:w :x 1] [:w :y 1]]",
            "1 invoke txn [[:r :x nil] [:r :y nil]]",
            "0 ok txn [[:w :x 1] [:w :y 1]]",
            "1 ok txn [[:r :x nil] [:r :y nil]]",
        ],
        violated: &[
            "0 invoke txn [[:w :x 1] [:w :y 1]]",
            "1 invoke txn [[:r :x nil] [:r :y nil]]",
            "0 ok txn [[:w :x 1] [:w :y 1]]",
            "1 ok txn [[:r :x nil] [:r :y 1]]",
        ],
        malformed: &["0 invoke txn [[:w :x 1]]", "1 invoke txn [[:append :x 1]]"],
        // No order of the two writers explains the reads, but no cycle shows this.
        undecided: Some(&[
            "0 invoke txn [[:w :x 1] [:w :y 1]]",
            "1 invoke txn [[:w :x 2] [:w :y 2]]",
            "2 invoke txn [[:r :x nil] [:r :y nil]]",
            "0 ok txn [[:w :x 1] [:w :y 1]]",
            "1 ok txn [[:w :x 2] [:w :y 2]]",
            "2 ok txn [[:r :x 1] [:r :y 2]]",
        ]),
    },
    Case {
        conditions: &["session", "read-your-writes"],
        options: &["--nil", "nothing"],
        consistent: &["0 invoke write 1", "0 ok write 1", "1 invoke read nil", "1 ok read nil"],
        violated: &["0 invoke write 1", "0 ok write 1", "0 invoke read nil", "0 ok read nil"],
        malformed: &["0 invoke write 1", "1 invoke write 1"],
        undecided: None,
    },
    Case {
        conditions: &["monotonic-reads"],
        options: &["--nil", "nothing", "-m", "register"],
        consistent: WRITE_THEN,
        violated: &[
            "0 invoke write 1",
            "0 ok write 1",
            "1 invoke read nil",
            "1 ok read 1",
            "1 invoke read nil",
            "1 ok read nil",
        ],
        malformed: &["0 invoke cas [1 2]"],
        undecided: None,
    },
    Case {
        conditions: &["writes-follow-reads"],
        options: &[],
        consistent: WRITE_THEN,
        violated: &[
            "0 invoke read nil",
            "0 ok read 1",
            "0 invoke write 2",
            "1 invoke read nil",
            "1 ok read 2",
            "1 invoke write 1",
            "0 ok write 2",
            "1 ok write 1",
        ],
        malformed: &["0 invoke write 1", "0 fail write 1", "0 ok write 1"],
        undecided: None,
    },
    Case {
        conditions: &["eventual"],
        options: &[],
        consistent: &["0 invoke add 1", "0 ok add 1", "1 invoke read nil", "1 ok read #{1}"],
        violated: &["0 invoke add 1", "0 ok add 1", "1 invoke read nil", "1 ok read []"],
        malformed: &["0 invoke add 1", "0 ok add 1", "1 invoke read nil", "1 ok read 1"],
        undecided: Some(&["0 invoke add 1", "0 ok add 1", "1 invoke read nil", "1 info read nil"]),
    },
];

#[test]
fn every_condition_ends_with_every_exit_code_that_it_can_end_with() {
    let tested: Vec<&str> = CASES.iter().flat_map(|case| case.conditions).copied().collect();
    for condition in CONDITIONS {
        assert!(tested.contains(&condition.name), "{} is not tested", condition.name);
    }
    for case in CASES {
        for condition in case.conditions {
            let end = |name: &str, events: &[&str], more: &[&str]| {
                let path = file(&format!("{condition}-{name}.edn"), events);
                let mut arguments = vec!["-c", condition, &path];
                arguments.extend(case.options.iter().chain(more));
                run(&arguments)
            };
            let (code, out, errors) = end("consistent", case.consistent, &[]);
            assert_eq!((code, &*errors), (0, ""), "{condition}: {out}");
            assert!(out.starts_with("consistent  "), "{out}");
            let (code, out, errors) = end("violated", case.violated, &[]);
            assert_eq!((code, &*errors), (1, ""), "{condition}: {out}");
            assert!(out.starts_with("VIOLATED  ") && out.contains("line "), "{out}");
            let (code, out, errors) = end("malformed", case.malformed, &[]);
            assert_eq!((code, &*out), (2, ""), "{condition}: {errors}");
            let line = format!("{condition}-malformed.edn:{}:1: ", case.malformed.len());
            assert!(errors.contains(&line), "{condition}: {errors}");
            if let Some(undecided) = case.undecided {
                let (code, out, errors) = end("undecided", undecided, &["--nodes", "0"]);
                assert_eq!(code, 3, "{condition}: {out}{errors}");
                assert!(out.starts_with("UNDECIDED  "), "{out}");
                assert!(errors.contains("undecided is not a pass"), "{errors}");
                let (code, ..) = end("undecided", undecided, &[]);
                assert_eq!(code == 3, *condition == "eventual", "{condition} with more nodes");
            }
        }
    }
}

#[test]
fn a_cycle_is_told_edge_by_edge_with_the_lines_of_both_transactions() {
    let file = "examples/histories/write-skew.edn";
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let (code, out, _) = run(&["-c", "serializable", &path]);
    assert_eq!(code, 1);
    for line in [
        "T1 (line 6 to 9) before T2 (line 7 to 8): T1 read key :bob-off before T2 appended 2 to it",
        "T2 (line 7 to 8) before T1 (line 6 to 9): T2 read key :alice-off before T1 appended 1 to it",
        "T1  line 6 to 9, process 1: r :bob-off [], append :alice-off 1",
        "G2-item: write skew",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    let lines = out.lines().filter(|line| !line.contains(file));
    assert!(lines.clone().all(|line| line.chars().count() <= 100), "{out}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut events: Vec<String> = Vec::new();
    for key in 0..30 {
        for (process, value) in [(0, 1), (1, 2)] {
            events.push(format!("{process} invoke write [{key} {value}]"));
        }
        events.extend([format!("0 ok write [{key} 1]"), format!("1 ok write [{key} 2]")]);
        // Two of the keys have a stale read; the first in the file is shown.
        let read = if key == 11 || key == 23 { 7 } else { 2 };
        events.extend([format!("2 invoke read [{key} nil]"), format!("2 ok read [{key} {read}]")]);
    }
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let path = file("keys.edn", &events);
    let one = run(&["-m", "register", "--threads", "1", &path]);
    assert_eq!(one.0, 1, "{}{}", one.1, one.2);
    assert!(
        one.1.contains("as a register, by key") && one.1.contains("line 71 to 72"),
        "{}",
        one.1
    );
    for threads in ["2", "3", "16"] {
        assert_eq!(run(&["-m", "register", "--threads", threads, &path]), one);
    }
    assert_eq!(run(&["-m", "register", &path]), one);
}

#[test]
fn a_tree_shows_all_orders_of_a_small_history() {
    let events = ["4 invoke write 1", "7 invoke read nil", "4 ok write 1", "7 ok read 0"];
    let path = file("tree.edn", &events);
    let arguments = ["-m", "register", "--init", "0", "--tree", &path];
    let (code, out, _) = run(&arguments);
    assert_eq!(code, 0);
    let tree = "\
0
├─ client 4: Write(1) → ok · now 1
│  └─ client 7: Read ✗ returned 0, should have been 1
└─ client 7: Read → 0 · now 0
   └─ client 4: Write(1) → ok · now 1 ✓
1 order explains the history
";
    assert!(out.ends_with(tree), "{out}");
}

#[test]
fn a_tree_that_is_too_large_is_refused() {
    let mut events: Vec<String> = (0..9).map(|n| format!("{n} invoke write {n}")).collect();
    events.extend((0..9).map(|n| format!("{n} ok write {n}")));
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let path = file("forest.edn", &events);
    let (code, out, errors) = run(&["-m", "register", "--tree", &path]);
    assert_eq!((code, &*out), (2, ""));
    assert!(errors.contains("too large for a tree: its 9 operations have more than"), "{errors}");
}

#[test]
fn what_does_not_go_together_is_refused_with_what_would() {
    let skew = format!("{}/../examples/histories/write-skew.edn", env!("CARGO_MANIFEST_DIR"));
    let cases: &[(&[&str], &str)] = &[
        (&["-c", "serializable", "-m", "queue"], "it is for list-append, rw-register"),
        (&["-m", "list-append"], "list-append goes with the levels from read-uncommitted"),
        (&["-c", "serializable", "-m", "rw-register"], "append :rota :alice: rw-register has [:w"),
        (&["-c", "serializable", "--keys", "yes"], "a transaction is about several keys at once"),
        (&["-c", "serializable", "--init", "0"], "every key of a transaction starts with nothing"),
        (&["-c", "serializable", "--nil", "anything"], "nil is nothing in a transaction"),
        (&["-c", "serializable", "--tree"], "leave one of the two away"),
        (&["-c", "serialisable"], "did you mean \"serializable\"?"),
        (&["-m", "list-apend"], "did you mean list-append?"),
        (&["--threads", "0"], "a number from 1 to 1024"),
        (&["-c", "eventual", "--keys", "yes"], "a key names a replica"),
        (&["-c", "eventual"], "a replicated set has no \"txn\"; there are add, read, final-read"),
        (&["-c", "session"], "the model register has no \"txn\""),
        (&[], "these are transactions, and no model of a single object"),
    ];
    for (arguments, words) in cases {
        let arguments: Vec<&str> = arguments.iter().copied().chain([&*skew]).collect();
        let (code, out, errors) = run(&arguments);
        assert_eq!((code, &*out), (2, ""), "{arguments:?}: {errors}");
        assert!(errors.contains(words), "{arguments:?}: {errors}");
    }
}

#[test]
fn help_lists_all_conditions_and_all_that_they_are_for() {
    let (code, out, _) = run(&["--help"]);
    assert_eq!(code, 0);
    for condition in CONDITIONS {
        assert!(out.contains(&format!("\n  {} ", condition.name)), "{}", condition.name);
        for (model, _) in condition.models() {
            assert!(out.contains(&format!("\n  {model} ")), "{model}");
        }
    }
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
}
