//! The table of causes and remedies in `docs/why-threads.md`: the explanation of each program of the bug corpus.
//!
//! `UPDATE_EXPECT=1` writes the table anew.

use std::path::Path;

use native_tests::corpus::{Program, all};
use sim::Runner;
use sim::report::{Change, Finding, Order, Pattern, Region, Tested};
use sim::run::ids::Place;

/// The programs of the corpus whose cause is a region: the code in the line of each end.
const REGIONS: &[(&str, &str, &str)] = &[
    ("bluetooth", "stopping.load", "pending.fetch_add"),
    ("reorder_3", "a.store(1", "b.store(-1"),
    ("seqlock", "a.store(value", "count.fetch_add"),
    ("snapshot", "cells[0].load", "cells[1].load"),
    ("map_length", "value.swap(7", "length.fetch_add"),
    ("set_compaction", "first.store(0", "first.store(5"),
    ("message_lost", "queue.lock().unwrap().pop()", "disconnected.load"),
    ("disconnect_missed", "disconnected.load", "hook.store(true"),
    ("missed_signal", "let mut guard = ready.lock()", "guard = ready.lock()"),
    ("flag_without_lock", "flag.load", "changed.wait"),
    ("weak_upgrade", "handles.fetch_add", "handles.store(0"),
    ("intern_drop", "references.fetch_sub", "table.lock()"),
    ("timer_lost", "let first = shards[0].lock()", "next_wake.store"),
    ("hazard_pointer", "pointer.load", "hazard.store"),
    ("deadlock01", "_first = locks[first].lock()", "_second = locks[1 - first].lock()"),
    ("dining_3", "_first = forks[first].lock()", "_second = forks[second].lock()"),
    ("double_checked_init", "early.store(7", "late.store(7"),
    ("lazy_monitor", "current.load", "current.store(mine"),
    ("once_cell", "there.load", "there.store(true"),
    ("once_claimed", "claimed.swap", "once.call_once"),
    ("cache_stampede", "let mut locked = entry.lock()", "entry.lock().unwrap().0 = Some(7)"),
    ("bank_transfer", "source = accounts[from].lock()", "accounts[from + 1].lock()"),
    ("wronglock_3", "let before = data.load", "data.load(SeqCst), before + 1"),
    ("stringbuffer", "let mut guard = length.lock()", "guard = length.lock()"),
    ("notify_drop", "let mut state = notify.lock()", "let mut state = notify.lock()"),
    ("unpark_first", "unpark()", "flag.store(true"),
    ("treiber_aba", "let next = self.next", "self.head.compare_exchange(head, new"),
    ("peterson", "turn.store", "wants[me].store(true"),
    ("bakery", "let mine = numbers[other].load", "numbers[me].store(mine"),
    ("spin_lock", "taken.load", "taken.store(true"),
];

/// The code at a place.
fn code(place: Place) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(place.file());
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    text.lines().nth(place.line() as usize - 1).unwrap_or_default().to_owned()
}

/// Returns `true` if the cause of a program's failure is the region in [`REGIONS`] and its remedy is proved, or if the
/// list has no region of the program.
fn has_its_region(program: &Program, finding: &Finding) -> bool {
    let Some((_, from, to)) = REGIONS.iter().find(|(name, ..)| *name == program.name) else {
        return true;
    };
    let Some(why) = &finding.why else { return false };
    let region = why.cause.as_ref().map(|cause| cause.region);
    let ends = region.map(|region| [region.from, region.to].map(|site| code(site.place)));
    let is_right = ends.is_some_and(|[one, other]| one.contains(from) && other.contains(to));
    let tested = why.remedy.as_ref().map(|remedy| remedy.tested);
    is_right && matches!(tested, Some(Tested::All { .. }))
}

/// Returns the finding of a program with the default budget of an explanation.
fn finding(program: &Program) -> Box<Finding> {
    let runner = Runner::new().hermetic().prove(0).seeds(0..program.seeds);
    runner.run_native(program.buggy).finding.expect(program.name)
}

/// Returns a region as text: `locks.rs:7..9`.
fn region(region: &Region) -> String {
    let (from, to) = (region.from.place, region.to.place);
    let file = |path: &'static str| path.rsplit('/').next().unwrap_or_default();
    match from.file() == to.file() {
        true => format!("{}:{}..{}", file(from.file()), from.line(), to.line()),
        false => {
            format!("{}:{}..{}:{}", file(from.file()), from.line(), file(to.file()), to.line())
        }
    }
}

/// Returns a row of the table.
fn row(program: &Program, finding: &Finding) -> String {
    let name = Pattern::of_finding(finding).map_or("-", Pattern::name);
    let Some(why) = &finding.why else {
        return format!("| {} | {name} | no explanation |  |  | - |\n", program.name);
    };
    let remedy = why.remedy.as_ref().map_or("-".to_owned(), |remedy| match &remedy.change {
        Change::Regions { regions, .. } => {
            regions.iter().map(region).collect::<Vec<_>>().join(" and ")
        }
        Change::Order(Order { early, late, times }) => {
            let span = region(&Region { from: *early, to: *late }).replace("..", " < ");
            if *times == 1 { span } else { format!("{span} ({times} times)") }
        }
    });
    let tested = match why.remedy.as_ref().map(|remedy| remedy.tested) {
        Some(Tested::All { interleavings, of: Some(of), .. }) => format!("{interleavings} of {of}"),
        Some(Tested::All { interleavings, of: None, .. }) => format!("all {interleavings}"),
        Some(Tested::Within { preemptions, runs }) => {
            format!("{runs} runs, {preemptions} preemptions")
        }
        Some(Tested::Counted { runs, failed, of }) => format!("0 of {runs}, now {failed} of {of}"),
        None => String::new(),
    };
    let chance = |steps: u32| why.chance_after(steps).map_or(f64::NAN, |chance| chance.share);
    let marks = why.marks.iter();
    let marks = marks.map(|mark| format!("{mark} {:.2}→{:.2}", chance(*mark), chance(mark + 1)));
    let marks = marks.collect::<Vec<_>>().join(", ");
    let back = why.no_return.map_or("-".to_owned(), |proved| match proved.after {
        0 => "every run".to_owned(),
        after => (after - 1).to_string(),
    });
    format!("| {} | {name} | {remedy} | {tested} | {marks} | {back} |\n", program.name)
}

#[test]
fn the_table_of_the_corpus_is_that_of_the_manual() {
    let (mut rows, mut remedies, mut proved) = (String::new(), 0, 0);
    let mut wrong = Vec::new();
    for program in all() {
        let finding = finding(program);
        let tested = finding.why.as_ref().and_then(|why| Some(why.remedy.as_ref()?.tested));
        remedies += u32::from(tested.is_some());
        proved += u32::from(matches!(tested, Some(Tested::All { .. })));
        if !has_its_region(program, &finding) {
            wrong.push((program.name, finding.why.clone()));
        }
        rows += &row(program, &finding);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/why-threads.md");
    let text = std::fs::read_to_string(&file).expect("the page");
    let end = text.find("|---|").map_or(text.len(), |at| at + text[at..].find('\n').unwrap() + 1);
    let expected = format!("{}{rows}", &text[..end]);
    if std::env::var("UPDATE_EXPECT").is_ok_and(|wanted| wanted == "1") {
        std::fs::write(&file, &expected).expect("the page can be written");
    }
    let differs = text.lines().zip(expected.lines()).find(|(old, new)| old != new);
    assert!(text == expected, "{remedies} remedies, {proved} proved: {differs:#?}");
}
