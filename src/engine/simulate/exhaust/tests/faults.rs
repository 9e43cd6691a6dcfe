//! Faults planted in the search: one part of a search rule is left out. With each fault, the search misses a class or
//! result of some generated programs, and sampled runs reveal it.

use super::act::Act;
use super::by_search;
use super::program::{Program, body};
use crate::Runner;
use crate::report::{Report, Style, text};
use crate::run::rng::Rng;
use crate::strategy::exhaustive::{Rule, without};
use crate::strategy::search::Apart;

type Kind = &'static [fn(&mut Rng) -> Act];

/// The maximum number of programs for each fault.
const PROGRAMS: u64 = 400;
/// The number of affected programs to check for each fault: by default, and in long tests.
const LOOKED_AT: [usize; 2] = [6, 12];

/// The report of a test of the program.
fn report(program: &Program) -> Report {
    Runner::new()
        .hermetic()
        .strategy("exhaustive")
        .seeds(0..3_000)
        .run(async || body(program).await)
}

/// Returns `Some` if the fault matters to the program: `true` if sampled runs reveal it.
fn matters_and_is_told(rule: Rule, program: &Program) -> Option<bool> {
    let whole = by_search(program, Apart::ORDERS);
    let passes = whole.results.iter().all(|(outcome, ..)| outcome == "passed");
    if whole.runs > 200 || !passes {
        return None;
    }
    let less = without(rule, || by_search(program, Apart::ORDERS));
    if less.classes.len() == whole.classes.len() {
        return None;
    }
    let report = without(rule, || report(program));
    let searched = report.searched.as_ref().expect("it was a search");
    let audit = searched.audit.as_ref().expect("it was through");
    let Some(trace) = &audit.missed else { return Some(false) };
    assert!(report.passed() && !searched.is_proof());
    assert!(searched.fallback.is_some(), "it goes on within a bound");
    let screen = text(&report, &Style { color: false, width: 1000 });
    assert!(screen.contains("a bug of unpause") && screen.contains(trace), "{screen}");
    assert!(!screen.contains("explored all"), "{screen}");
    Some(true)
}

fn is_told(rule: Rule, kind: Kind, shape: (u64, u64)) {
    crate::engine::simulate::hook::install();
    let programs = (0..PROGRAMS).map(|seed| Program::generate(&mut Rng::new(seed), kind, shape));
    let told = programs.filter_map(|program| matters_and_is_told(rule, &program));
    let told: Vec<bool> = told.take(LOOKED_AT[usize::from(crate::long())]).collect();
    let count = told.iter().filter(|told| **told).count();
    println!("{rule:?}: told of {count} of {}", told.len());
    assert!(!told.is_empty(), "{rule:?} is not needed");
    assert!(4 * count >= 3 * told.len(), "{rule:?}: told of {count} of {}", told.len());
}

#[test]
fn dropped_operations_that_do_not_compete_are_told() {
    crate::engine::simulate::hook::install();
    // The body aborts a task that waits for a lock, while the body holds this lock.
    let body = vec![Act::Lock(0), Act::Load(1), Act::Abort];
    let program = Program::new(vec![body, vec![Act::Lock(0)]], 1, 1);
    assert_eq!(matters_and_is_told(Rule::Dropped, &program), Some(true));
}

#[test]
fn pending_operations_that_do_not_compete_are_told() {
    let kind: Kind = &[Act::lock, Act::add, Act::load, Act::spawn, Act::unlock];
    is_told(Rule::Pending, kind, (3, 3));
}

#[test]
fn enablers_that_are_not_tried_are_told() {
    let kind: Kind = &[Act::store, Act::add, Act::wait, Act::wait, Act::lock, Act::unlock];
    is_told(Rule::Enablers, kind, (3, 3));
}

#[test]
fn late_enablers_that_are_not_tried_are_told() {
    crate::engine::simulate::hook::install();
    // The first task waits for its child, and is aborted: it may have joined the child before.
    let child = vec![Act::Pause];
    let parent = vec![Act::Spawn, Act::Join];
    let program = Program::new(vec![vec![Act::Pause, Act::Abort], parent, vec![], child], 1, 1);
    assert_eq!(matters_and_is_told(Rule::LateEnablers, &program), Some(true));
}

#[test]
fn sleepers_that_count_as_planned_are_told() {
    is_told(Rule::Sleepers, &[Act::load, Act::add, Act::pause, Act::store], (3, 3));
}
