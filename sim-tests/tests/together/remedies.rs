//! Remedies of failing runs: orders of two lines, compared with sampled runs, and regions in programs with many
//! interleavings.

use sim::Runner;
use sim::report::{Change, Order, Region, Remedy, Tested};
use sim::run::event::Event;
use sim::run::{Outcome, Run, Site};
use sim_tests::corpus::programs::Spawning;
use sim_tests::histories::long;

use crate::why::{finding, named};

/// Returns the remedy for a program of the corpus.
fn remedy(name: &str) -> Remedy {
    let why = finding(named(name)).why.expect("it is explained");
    why.remedy.unwrap_or_else(|| panic!("{name} has no remedy"))
}

/// Returns `true` if a run executes `early` often enough before it executes `late`, or never executes `late`.
fn keeps(run: &Run, order: &Order) -> bool {
    let is = |event: &Event, site: Site| event.op.name == site.op && event.place == site.place;
    let end = run.events.iter().position(|event| is(event, order.late));
    let before = |end: usize| run.events[..end].iter().filter(|event| is(event, order.early));
    end.is_none_or(|end| before(end).count() as u64 >= u64::from(order.times))
}

#[cfg_attr(feature = "sim", test)]
fn an_order_of_two_lines_is_proved_and_no_run_that_keeps_it_fails() {
    for (name, times) in [
        ("account", 1),
        ("lazy01", 1),
        ("token_ring", 1),
        ("barrier", 3),
        ("permit_after_close", 1),
    ] {
        let (program, remedy) = (named(name), remedy(name));
        let Change::Order(order) = &remedy.change else { panic!("{name}: {remedy:?}") };
        assert_eq!(order.times, times, "{name}: {order:?}");
        let Tested::All { interleavings, of: Some(of), .. } = remedy.tested else {
            panic!("{name}: {remedy:?}")
        };
        assert!((1..=of).contains(&interleavings), "{name}: {remedy:?}");
        let runner = Runner::new().hermetic();
        let (mut kept, mut failed) = (0, 0);
        for seed in 0..if long() { 20_000 } else { 500 } {
            let run = runner.run_seed(seed, || (program.buggy)(Spawning::Together));
            let (fails, keeps) = (run.outcome != Outcome::Passed, keeps(&run, order));
            assert!(!fails || !keeps, "{name} {seed}: {order:?}");
            kept += u64::from(keeps);
            failed += u64::from(fails);
        }
        assert!(kept > 0 && failed > 0, "{name}: {kept} {failed}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_region_has_priority_over_an_order() {
    for name in ["bluetooth", "hazard_pointer", "bank_audit"] {
        let Remedy { change, tested } = remedy(name);
        assert!(matches!(change, Change::Regions { .. }), "{name}: {change:?}");
        assert!(matches!(tested, Tested::All { .. }), "{name}: {tested:?}");
    }
}

/// The region of both stores of a setter.
fn is_of_both_stores(change: &Change) -> bool {
    let Change::Regions { regions, .. } = change else { return false };
    let [Region { from, to }] = regions[..] else { return false };
    (from.op, to.op) == ("store", "store") && from.place.line() + 1 == to.place.line()
}

#[cfg_attr(feature = "sim", test)]
fn a_region_is_counted_in_runs_that_begin_like_the_failing_run() {
    // If runs are sampled from the beginning, only a few of them fail without the region.
    for name in ["reorder_10", "reorder_20"] {
        let Remedy { change, tested } = remedy(name);
        assert!(is_of_both_stores(&change), "{name}: {change:?}");
        let Tested::Counted { runs, failed, of } = tested else { panic!("{name}: {tested:?}") };
        assert!(runs >= 150 && of >= 150 && failed * 5 > of, "{name}: {tested:?}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_search_with_the_first_region_is_continued_if_nothing_is_proved() {
    let Remedy { change, tested } = remedy("reorder_5");
    assert!(is_of_both_stores(&change), "{change:?}");
    // The remedy has more interleavings than the first search may run.
    let Tested::All { interleavings, .. } = tested else { panic!("{tested:?}") };
    assert!(interleavings > 500, "{tested:?}");
}
