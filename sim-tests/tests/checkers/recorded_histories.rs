//! Histories that other projects recorded from real systems, with the verdicts of these projects.
//!
//! The histories are not part of this repository. `UNPAUSE_HISTORIES` names a folder with a subfolder for each family.
//! Each subfolder contains a file `verdicts.tsv` with these columns, separated by tabs: file, format, model, initial
//! state, verdict, and more columns. The test reads the files with the same readers as users. The format is detected
//! and must be the format in the table.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use sim::check::datum::Datum;
use sim::check::models::{NilRead, RegisteredModel, Visitor, registry};
use sim::check::verdict::Verdict;
use sim::check::{Budget, linearizable_counted};
use sim_tests::judge;
use unpause_histories::{Keys, Question, Recording, format_of, models, operations, read};

/// Every family, with the verdicts that must be reached: all verdicts, or only some of them. In the second case values
/// are unique, but some histories need a search, which may give up.
const FAMILIES: &[(&str, Decided)] = &[
    ("etcd-register", Decided::All),
    ("knossos-cas-register", Decided::All),
    ("knossos-multi-register", Decided::All),
    ("knossos-mutex", Decided::All),
    ("kv-append", Decided::All),
    ("limo-queue", Decided::All),
    ("limo-stack", Decided::All),
    ("fastlin-cases", Decided::All),
    ("scal-queue", Decided::All),
    ("scal-stack", Decided::All),
    ("elle-jepsen-other", Decided::All),
    ("scal-msq-10k", Decided::All),
    ("stack-1k", Decided::All),
];

#[derive(Clone, Copy, PartialEq)]
enum Decided {
    All,
    OrUndecided,
}

#[test]
fn recorded_histories_get_the_published_verdicts() {
    let Some(folder) = std::env::var_os("UNPAUSE_HISTORIES") else {
        say("SKIPPED: recorded histories (UNPAUSE_HISTORIES is not set)");
        return;
    };
    for (family, decided) in FAMILIES {
        check_family(&Path::new(&folder).join(family), *decided);
    }
}

/// Straight to the stream: the harness captures the output of `eprintln!` in a passing test.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn check_family(folder: &Path, decided: Decided) {
    let table = std::fs::read_to_string(folder.join("verdicts.tsv")).expect("verdicts.tsv");
    let began = Instant::now();
    let (mut right, mut undecided, mut left_out, mut nodes) = (0, 0, 0, 0);
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let [file, format, model, initial, verdict, calls, ..] = columns[..] else {
            panic!("{row}");
        };
        if let Some((workload, condition)) = transactions_of(model) {
            check_transactions(&folder.join(file), workload, condition, verdict == "ok");
            right += 1;
            continue;
        }
        let shipped = |name: &&str| models().iter().any(|(model, _)| model == name);
        let Some(model) = model_of(model).filter(shipped) else {
            say(&format!("LEFT OUT: {}: {file}: not for {model} as yet", folder.display()));
            left_out += 1;
            continue;
        };
        let bytes = std::fs::read(folder.join(file)).expect(file);
        let found = format_of(file, &bytes).unwrap_or_else(|problem| panic!("{file}: {problem}"));
        assert_eq!(found.name, if format == "kv" { "edn" } else { format }, "{file}");
        let recording = match read(&bytes[..], found) {
            // Published as linearizable, since nothing was done that could not be: here it is refused.
            Err(problem) if calls == "0" => {
                assert!(problem.message.contains("nothing was tested"), "{file}: {problem}");
                right += 1;
                continue;
            }
            recording => recording.unwrap_or_else(|e| panic!("{file}: {e}")),
        };
        assert_ne!(calls, "0", "{file}");
        let expected = verdict == "ok";
        let mut one =
            One { model, initial: initial_of(initial), recording, expected, outcome: None };
        registry(&mut one);
        let (verdict, visited) = one.outcome.unwrap_or_else(|| panic!("{file}: no model {model}"));
        nodes += visited;
        match verdict {
            Verdict::Unknown(_) if decided == Decided::OrUndecided => undecided += 1,
            Verdict::Unknown(exhausted) => panic!("{file}: {exhausted}"),
            _ => right += 1,
        }
    }
    assert!(right + undecided > 0, "no history in {}", folder.display());
    say(&format!(
        "{}: {right} right, {undecided} undecided, {left_out} left out; {nodes} configurations, {:.1?}",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        began.elapsed()
    ));
}

/// The workload and the condition, where a table is about transactions.
fn transactions_of(model: &str) -> Option<(&'static str, &'static str)> {
    Some(match model {
        "elle-list-append serializable" => ("list-append", "serializable"),
        "elle-list-append strict-serializable" => ("list-append", "strict-serializable"),
        _ => return None,
    })
}

/// Checks a history of transactions at the level of the table. Also checks that the other levels agree: a history that
/// violates one level violates all higher levels.
fn check_transactions(file: &Path, workload: &str, condition: &str, expected: bool) {
    let name = file.display();
    let verdict = |condition: &str| {
        let checked = unpause_histories::check_condition(file, workload, condition);
        checked.unwrap_or_else(|problem| panic!("{problem}")).finding.verdict
    };
    let found = verdict(condition);
    assert!(!matches!(found, Verdict::Unknown(_)), "{name}: undecided");
    assert_eq!(found.is_consistent(), expected, "{name}: {found:?}");
    if let Verdict::Violated(evidence) = &found {
        let anomaly = evidence.anomaly.as_ref().expect("an anomaly");
        assert!(!anomaly.edges.is_empty(), "{name}: {anomaly:?}");
        let next = anomaly.edges.iter().cycle().skip(1);
        assert!(anomaly.edges.iter().zip(next).all(|(edge, next)| edge.to == next.from), "{name}");
    }
    let broken = LEVELS.iter().map(|level| verdict(level).is_violated());
    assert!(broken.is_sorted(), "{name}: a level is kept above one that is broken");
}

/// The levels of isolation, the weakest first.
const LEVELS: [&str; 6] = [
    "read-uncommitted",
    "read-committed",
    "snapshot-isolation",
    "serializable",
    "strong-session-serializable",
    "strict-serializable",
];

/// The name in the registry of a model of the tables.
fn model_of(model: &str) -> Option<&'static str> {
    Some(match model {
        "casreg" => "cas-register",
        "mutex" => "lock",
        "multi-register" => "multi-register",
        "kv-append" => "text-map",
        "queue" => "queue",
        "stack" => "stack",
        "pq" => "priority-queue",
        "jepsen-bank" => "bank",
        "jepsen-counter" => "counter",
        "jepsen-set-full" => "grow-set",
        _ => return None,
    })
}

/// The initial state that a table names; `None` if the state is empty.
fn initial_of(initial: &str) -> Option<Datum> {
    match initial {
        "0" => Some(0.into()),
        "x=0,y=0" => Some(Datum::map(["x", "y"].map(|key| (Datum::keyword(key), 0.into())))),
        "null" | "empty" | "free" | "\"\"" | "-" => None,
        other => panic!("the initial state {other:?}"),
    }
}

/// Checks one recording as the model of this name.
struct One {
    model: &'static str,
    initial: Option<Datum>,
    recording: Recording,
    expected: bool,
    outcome: Option<(Verdict, u64)>,
}

impl Visitor for One {
    fn visit<M: RegisteredModel>(&mut self) {
        if M::NAME != self.model {
            return;
        }
        let initial = M::recorded(self.initial.as_ref()).expect("an initial state");
        let nil: NilRead = self.recording.nil;
        let history = operations::<M>(&self.recording, nil).expect("operations of the model");
        let limit = Duration::from_secs(10);
        let began = Instant::now();
        let stop = || began.elapsed() > limit;
        let budget = Budget { stop: Some(&stop), ..Budget::default() };
        let (verdict, nodes) =
            linearizable_counted(&initial, &history.operations, &budget).expect("well-formed");
        if !matches!(verdict, Verdict::Unknown(_)) {
            judge::check(&initial, &history.operations, &verdict, self.expected);
        }
        // The finding of the command must equal the finding of the library.
        let question = Question {
            model: Some(self.model),
            initial: self.initial.clone(),
            keys: Keys::Auto,
            nil: None,
            budget,
            threads: 2,
            all_texts: false,
        };
        let found =
            unpause_histories::CONDITIONS[0].check(&self.recording, &question).expect("checked");
        if let (Verdict::Consistent(_) | Verdict::Violated(_), false) =
            (&verdict, matches!(found.verdict, Verdict::Unknown(_)))
        {
            assert_eq!(found.verdict.is_consistent(), verdict.is_consistent());
        }
        self.outcome = Some((verdict, nodes));
    }
}
