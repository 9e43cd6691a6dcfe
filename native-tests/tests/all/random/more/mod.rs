//! Further families of random programs. The file of each family contains its commands, a model of its objects, and the
//! execution of its commands.
//!
//! `PROGRAMS=1000` names the number of programs, and `FIRST` the first one. With `FAMILY=Channels`, only the programs of
//! this family run.

mod cells;
mod ends;
mod notified;
mod poisoned;
mod rendezvous;
mod subject;

use std::collections::BTreeMap;

use self::cells::Cells;
use self::ends::Ends;
use self::notified::Notified;
use self::poisoned::Poisoned;
use self::rendezvous::Rendezvous;
use self::subject::{Program, Subject};
use super::model::{Outcome, Outcomes};
use super::{difference, number, record, run_by, setting};

/// A family, as functions of the number of a program.
struct Row {
    name: &'static str,
    outcomes: fn(u64) -> Outcomes,
    execute: fn(u64) -> Outcome,
    shown: fn(u64) -> String,
    is_same_with_c11: bool,
}

const fn row<S: Subject>() -> Row {
    Row {
        name: S::NAME,
        outcomes: |number| Program::<S>::generate(number).outcomes(),
        execute: |number| S::execute(&Program::generate(number)),
        shown: |number| format!("{:?}", Program::<S>::generate(number)),
        is_same_with_c11: S::IS_SAME_WITH_C11,
    }
}

const ROWS: [Row; 5] =
    [row::<Rendezvous>(), row::<Cells>(), row::<Poisoned>(), row::<Notified>(), row::<Ends>()];

/// The runs of a search.
const RUNS: u64 = 3_000;

/// The programs of this file, among the programs of these tests.
const MORE: &str = "more";

/// The body of all programs.
fn body() {
    let number = number(MORE);
    record(MORE, &(ROWS[number as usize % ROWS.len()].execute)(number));
}

/// Compares the program with this number with the model, with one memory. Returns the difference, if any, and the
/// number of runs and if the search has decided the program.
fn compared(number: u64, memory: &str) -> (Option<String>, u64, bool) {
    let row = &ROWS[number as usize % ROWS.len()];
    let expected = (row.outcomes)(number);
    let mut differences = Vec::new();
    let (mut runs, mut is_decided) = (0, false);
    for (strategy, most) in [("exhaustive", RUNS), ("portfolio", 60)] {
        if (memory, strategy) == ("c11", "portfolio") {
            continue;
        }
        let may_be_old = memory == "c11" && !row.is_same_with_c11;
        let run = |runner: sim::Runner| runner.memory(memory).run_native(body);
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
        || format!("{number}, {} {memory}: {differences:?}\n{}", row.name, (row.shown)(number));
    ((!differences.is_empty()).then(shown), runs, is_decided)
}

#[test]
fn searches_of_further_families_have_the_outcomes_of_a_model() {
    let is_long = std::env::var("UNPAUSE_LONG").is_ok_and(|long| long == "1");
    let (first, count) = (setting("FIRST", 0), setting("PROGRAMS", if is_long { 400 } else { 15 }));
    let family = std::env::var("FAMILY");
    let memories = std::env::var("MEMORY").unwrap_or_else(|_| "sc,c11".into());
    let (mut differences, mut proofs) = (Vec::new(), BTreeMap::new());
    for number in first..first + count {
        let row = &ROWS[number as usize % ROWS.len()];
        if family.as_ref().is_ok_and(|family| family != row.name) {
            continue;
        }
        for memory in memories.split(',') {
            // A search with `c11` has many more runs.
            if memory == "c11" && memories == "sc,c11" && number / 5 % 4 != 0 {
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
