//! Random programs over the primitives of std, parking_lot and crossbeam. A model of the primitives enumerates all
//! interleavings of a program (`model.rs`). A search that is a proof must have found exactly the outcomes of the model,
//! and no run may have another outcome.
//!
//! `PROGRAMS=1000` names the number of programs, and `FIRST` the first one. With `FAMILY=Loops`, only the programs of
//! this family run.

mod any_channel;
mod interleavings;
mod mixed;
mod model;
mod more;
mod program;
mod real;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::Write as _;

use sim::Runner;
use sim::run::{Failure, Outcome as End};

use self::model::Outcomes;
use self::program::{Family, Program};

/// The folder with the number of the current program, and with the outcomes of its runs.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/random");

/// The programs of the families below, among the programs of these tests.
const FIRST: &str = "first";

/// The runs of a search.
const RUNS: u64 = 3_000;

/// Returns the path of a file of these programs.
fn path(programs: &str, name: &str) -> String {
    format!("{FOLDER}/{programs}-{name}")
}

/// The body of all programs: it reads the number of the program, and records the outcome.
fn body() {
    record(FIRST, &real::run(Program::generate(number(FIRST))));
}

/// Returns the number of the current one of these programs.
fn number(programs: &str) -> u64 {
    fs::read_to_string(path(programs, "number")).unwrap().parse().unwrap()
}

/// Records the outcome of a run of these programs.
fn record(programs: &str, outcome: &model::Outcome) {
    let file = path(programs, "outcomes");
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{outcome:?}\n").as_bytes()).unwrap();
}

/// The result of the runs of a program.
struct Tried {
    outcomes: BTreeSet<String>,
    has_deadlock: bool,
    is_proof: bool,
    /// True if the audit of the search found a class that the search missed.
    blames_itself: bool,
    runs: u64,
    text: String,
}

/// Runs a program. The counts of `Arc` are points if the program reads them, as in the model.
fn run(number: u64, program: &Program, strategy: &str, runs: u64) -> Tried {
    run_with(number, program.family == Family::Counts, strategy, runs)
}

fn run_with(number: u64, arc: bool, strategy: &str, runs: u64) -> Tried {
    run_by((FIRST, number), strategy, runs, |runner| runner.arc(arc).run_native(body))
}

/// Runs the program with a number, by `run`.
fn run_by(
    (programs, number): (&str, u64),
    strategy: &str,
    runs: u64,
    run: impl FnOnce(Runner) -> sim::report::Report,
) -> Tried {
    fs::create_dir_all(FOLDER).unwrap();
    fs::write(path(programs, "number"), number.to_string()).unwrap();
    let _ = fs::remove_file(path(programs, "outcomes"));
    let runner = Runner::new().hermetic().strategy(strategy).seeds(0..runs).shrink(false).prove(0);
    let report = run(runner.max_steps(10_000));
    let text = fs::read_to_string(path(programs, "outcomes")).unwrap_or_default();
    let failure = report.finding.as_ref().map(|finding| &finding.run.outcome);
    let searched = report.searched.as_ref();
    Tried {
        outcomes: text.lines().map(str::to_owned).collect(),
        has_deadlock: match failure {
            Some(End::Failed(Failure::Deadlock { .. })) => true,
            // A run of a seed does not hold a loop over a lock.
            Some(End::Failed(Failure::StepLimit { .. })) => strategy == "portfolio",
            _ => false,
        },
        is_proof: failure.is_none() && searched.is_some_and(|searched| searched.is_proof()),
        blames_itself: searched
            .and_then(|searched| searched.audit.as_ref())
            .is_some_and(|audit| audit.missed.is_some()),
        runs: report.runs,
        text: format!("{failure:?} {searched:?}"),
    }
}

/// Compares the runs of a program with the model. Returns the difference, if any.
fn difference(expected: &Outcomes, tried: &Tried, may_have_more: bool) -> Option<String> {
    let ends: BTreeSet<String> = expected.ends.iter().map(|end| format!("{end:?}")).collect();
    let more: Vec<_> = tried.outcomes.difference(&ends).collect();
    let missing: Vec<_> = ends.difference(&tried.outcomes).collect();
    let fails = tried.text.starts_with("Some");
    match () {
        () if !more.is_empty() && !may_have_more => {
            Some(format!("outcomes that cannot be: {more:?}"))
        }
        () if fails && !tried.has_deadlock => Some("a failure".into()),
        () if tried.has_deadlock && !expected.has_deadlock && !may_have_more => {
            Some("a false deadlock".into())
        }
        () if tried.is_proof && expected.has_deadlock => Some("a missed deadlock".into()),
        () if tried.is_proof && !missing.is_empty() => Some(format!("missing: {missing:?}")),
        () if tried.blames_itself => Some("a search that blames itself".into()),
        () => None,
    }
}

/// Compares a search without the counts of `Arc` as points with all orders of the same steps. Returns the difference,
/// if any; `None` if one of the searches is not a proof.
fn difference_without_points(number: u64) -> Option<Option<String>> {
    let [searched, all] =
        ["exhaustive", "preemptions"].map(|strategy| run_with(number, false, strategy, RUNS));
    if searched.blames_itself {
        return Some(Some("without points: a search that blames itself".into()));
    }
    let is_comparable = searched.is_proof && all.is_proof;
    let differs = || searched.outcomes != all.outcomes;
    is_comparable.then(|| {
        differs()
            .then(|| format!("without points: {:?}, but {:?}", searched.outcomes, all.outcomes))
    })
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect("a number"))
}

#[test]
fn searches_have_the_outcomes_of_a_model() {
    let is_long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (first, count) =
        (setting("FIRST", 0), setting("PROGRAMS", if is_long { 400 } else { 100 }));
    let family = std::env::var("FAMILY");
    let (mut differences, mut proofs) = (Vec::new(), BTreeMap::new());
    let (mut deadlocks, mut compared) = (0, 0);
    for number in first..first + count {
        let program = Program::generate(number);
        if family.as_ref().is_ok_and(|family| *family != format!("{:?}", program.family)) {
            continue;
        }
        let expected = program.outcomes();
        let searched = run(number, &program, "exhaustive", RUNS);
        let sampled = run(number, &program, "portfolio", 100);
        for (how, tried) in [("search", &searched), ("seeds", &sampled)] {
            if let Some(difference) = difference(&expected, tried, false) {
                differences
                    .push(format!("{number}, {how}: {difference}\n{program:?}\n{}", tried.text));
            }
        }
        if program.family == Family::Counts
            && let Some(difference) = difference_without_points(number)
        {
            compared += 1;
            let shown = |difference| format!("{number}, {difference}\n{program:?}");
            differences.extend(difference.map(shown));
        }
        deadlocks += u32::from(searched.has_deadlock);
        let (all, proven, runs) =
            proofs.entry(format!("{:?}", program.family)).or_insert((0, 0, 0));
        *all += 1;
        *proven += u32::from(searched.is_proof || searched.has_deadlock);
        *runs += searched.runs;
        if std::env::var_os("VERBOSE").is_some() {
            eprintln!(
                "{number}: {:?}, {} states, {} outcomes, {} runs, {}",
                program.family,
                expected.states,
                expected.ends.len(),
                searched.runs,
                searched.is_proof
            );
        }
    }
    eprintln!(
        "family: programs, decided, runs: {proofs:?}; {deadlocks} deadlocks; {compared} compared without points"
    );
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    let decided: u32 = proofs.values().map(|(_, proven, _)| *proven).sum();
    if count >= 50 && family.is_err() {
        assert!(u64::from(decided) * 10 >= count * 8, "only {decided} of {count} are decided");
    }
}
