//! Further families of random programs. The file of each family contains its commands, a model of its objects, and the
//! execution of its commands. The models of parking_lot's `RwLock` and of
//! conditions have files of their own.
//!
//! `PROGRAMS=1000` names the number of programs, and `FIRST` the first one. With `FAMILY=Channels`, only the programs of
//! this family run.

mod cells;
mod condition;
mod ends;
mod finished;
mod guarded;
mod lot_lock;
mod meetings;
mod notified;
mod owners;
mod poisoned;
mod rendezvous;
mod selects;
mod std_guards;
mod subject;
mod time_limits;
mod upgrades;

use std::collections::BTreeMap;

use self::cells::Cells;
use self::ends::Ends;
use self::finished::Finished;
use self::guarded::Guarded;
use self::lot_lock::Upgrades;
use self::meetings::Meetings;
use self::notified::Notified;
use self::owners::Owners;
use self::poisoned::Poisoned;
use self::rendezvous::Rendezvous;
use self::selects::Selects;
use self::std_guards::Held;
use self::subject::{Program, Subject};
use self::time_limits::Timed;
use super::model::{Outcome, Outcomes};
use super::{difference, number, record, run_by, setting};

/// A family, as functions of the number of a program.
struct Row {
    name: &'static str,
    outcomes: fn(u64, bool) -> Outcomes,
    execute: fn(u64) -> Outcome,
    shown: fn(u64) -> String,
    is_same_with_c11: bool,
    counts: bool,
    has_limits: bool,
}

const fn row<S: Subject>() -> Row {
    Row {
        name: S::NAME,
        outcomes: |number, is_early| Program::<S>::generate(number).outcomes(is_early),
        execute: |number| S::execute(&Program::generate(number)),
        shown: |number| format!("{:?}", Program::<S>::generate(number)),
        is_same_with_c11: S::IS_SAME_WITH_C11,
        counts: S::COUNTS,
        has_limits: S::HAS_LIMITS,
    }
}

const ROWS: [Row; 13] = [
    row::<Rendezvous>(),
    row::<Cells>(),
    row::<Poisoned>(),
    row::<Notified>(),
    row::<Ends>(),
    row::<Held>(),
    row::<Upgrades>(),
    row::<Timed>(),
    row::<Owners>(),
    row::<Selects>(),
    row::<Meetings>(),
    row::<Guarded>(),
    row::<Finished>(),
];

/// The runs of a search.
const RUNS: u64 = 3_000;

/// The programs of this file, among the programs of these tests.
const MORE: &str = "more";

/// Programs whose searches once were no proofs although they claimed to be: the family, and the number in the family.
const ONCE_WRONG: [(&str, u64); 5] =
    [("Poisoned", 593), ("Poisoned", 1_676), ("Selects", 153), ("Selects", 381), ("Selects", 849)];

/// Returns the family of a program, and its number in the family.
fn family(number: u64) -> (&'static Row, u64) {
    let count = ROWS.len() as u64;
    (&ROWS[(number % count) as usize], number / count)
}

/// Returns the numbers of the programs in [`ONCE_WRONG`].
fn once_wrong() -> impl Iterator<Item = u64> {
    ONCE_WRONG.iter().map(|(name, number)| {
        let row = ROWS.iter().position(|row| row.name == *name).expect("a family");
        number * ROWS.len() as u64 + row as u64
    })
}

/// The body of all programs.
fn body() {
    let (row, number) = family(number(MORE));
    record(MORE, &(row.execute)(number));
}

/// The name for runs in which a wait may reach its limit at any moment, in place of the name of a memory.
const EARLY: &str = "timers";

/// Compares the program with this number with the model, with one memory. Returns the difference, if any, and the
/// number of runs and if the search has decided the program.
fn compared(number: u64, memory: &str) -> (Option<String>, u64, bool) {
    let (row, of_family) = family(number);
    let is_early = memory == EARLY;
    let expected = (row.outcomes)(of_family, is_early);
    let mut differences = Vec::new();
    let (mut runs, mut is_decided) = (0, false);
    for (strategy, most) in [("exhaustive", RUNS), ("portfolio", 60)] {
        if (memory, strategy) == ("c11", "portfolio") {
            continue;
        }
        let may_be_old = memory == "c11" && !row.is_same_with_c11;
        let run = |runner: sim::Runner| {
            let runner = if row.counts { runner.arc(true) } else { runner };
            let runner = if is_early { runner.chances("timers") } else { runner.memory(memory) };
            runner.run_native(body)
        };
        let tried = run_by((MORE, number), strategy, most, run);
        if strategy == "exhaustive" {
            (runs, is_decided) = (tried.runs, tried.is_proof || tried.has_deadlock);
        }
        if let Some(difference) = difference(&expected, &tried, may_be_old) {
            let text: String = tried.text.chars().take(2_000).collect();
            differences.push(format!("{strategy}: {difference}: {text}"));
        }
    }
    let shown =
        || format!("{number}, {} {memory}: {differences:?}\n{}", row.name, (row.shown)(of_family));
    ((!differences.is_empty()).then(shown), runs, is_decided)
}

#[test]
fn searches_of_further_families_have_the_outcomes_of_a_model() {
    let is_long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (first, count) = (setting("FIRST", 0), setting("PROGRAMS", if is_long { 520 } else { 13 }));
    let wanted = std::env::var("FAMILY");
    let memories = std::env::var("MEMORY").unwrap_or_else(|_| "sc,c11".into());
    let (mut differences, mut proofs) = (Vec::new(), BTreeMap::new());
    // A count in the environment is the number of all programs.
    let known = once_wrong().filter(|_| std::env::var_os("PROGRAMS").is_none());
    for number in (first..first + count).chain(known) {
        let (row, _) = family(number);
        if wanted.as_ref().is_ok_and(|name| name != row.name) {
            continue;
        }
        let limits = row.has_limits.then_some(EARLY);
        for memory in memories.split(',').chain(limits) {
            // A search with `c11` has many more runs.
            if memory == "c11" && memories == "sc,c11" && !number.is_multiple_of(4) {
                continue;
            }
            let (difference, runs, is_decided) = compared(number, memory);
            if let Some(difference) = &difference {
                eprintln!("{difference}");
            }
            differences.extend(difference);
            let (all, decided, total) =
                proofs.entry(format!("{} {memory}", row.name)).or_insert((0, 0, 0));
            *all += 1;
            *decided += u32::from(is_decided);
            *total += runs;
        }
    }
    eprintln!("family: programs, decided, runs: {proofs:?}");
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n\n")
    );
}
