//! Golden screens, one for each kind of failure: the files in `screens/`. `UPDATE_EXPECT=1 cargo test` rewrites them.

use expect_test::{ExpectFile, expect_file};

use super::kinds::unfinished_search;
use super::sample::*;
use super::*;
use crate::run::choice::Draw;
use crate::run::ids::TaskId;
use crate::run::{DrawRecord, Failure, Site};

fn check(report: &Report, expect: ExpectFile) {
    expect.assert_eq(&text(report, &Style::default()));
}

#[test]
fn a_lost_update() {
    check(&lost_update(), expect_file!["screens/a_lost_update.txt"]);
}

/// A lost update with an explanation.
fn explained() -> Report {
    let mut report = lost_update();
    let finding = report.finding.as_mut().unwrap();
    let own: Vec<usize> =
        (0..finding.run.events.len()).filter(|at| finding.run.events[*at].task.0 == 1).collect();
    let site = |at: usize| Site {
        op: finding.run.events[at].op.name,
        place: finding.run.events[at].place,
    };
    let region = Region { from: site(own[0]), to: site(own[1]) };
    let (task, is_reached) = (TaskId(1), true);
    let (between, decisive) = ((own[0] + 1..own[1]).collect(), vec![own[1] - 1]);
    let cause = Interruption { task, region, is_reached, between, decisive };
    let tested = Tested::All { interleavings: 2, of: Some(2), left_out: 1 };
    let change = Change::Regions { regions: vec![region], waits: false };
    let remedy = Remedy { change, tested };
    let chance = |(after, share, runs)| Chance { after, share, runs };
    let chances = [(0, 0.0, 50), (1, 0.02, 50), (4, 0.54, 400), (5, 0.871, 0), (8, 1.0, 0)];
    finding.why = Some(Why {
        runs: 800,
        cause: Some(cause),
        remedy: Some(remedy),
        chances: chances.map(chance).to_vec(),
        marks: vec![3],
        no_return: Some(NoReturn { after: 6, interleavings: 3 }),
        ..Why::default()
    });
    finding.quote(&mut |_, line| Some(format!("line {line} of the source;")));
    report
}

/// Returns the words about the runs that tested a remedy.
fn tested(tested: Tested) -> String {
    let mut report = explained();
    let finding = report.finding.as_mut().unwrap();
    finding.why.as_mut().unwrap().remedy.as_mut().unwrap().tested = tested;
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    let line = screen.lines().find(|line| line.starts_with("  remedy")).unwrap();
    line.split_once(": ").unwrap().1.to_owned()
}

#[test]
fn each_test_of_a_remedy_has_its_own_words() {
    let all = |interleavings, of, left_out| Tested::All { interleavings, of, left_out };
    assert_eq!(tested(all(1, None, 0)), "the one interleaving passes (proved)");
    assert_eq!(
        tested(all(6, Some(9), 1)),
        "all 6 interleavings pass (proved; it keeps 6 of the 9 that pass now; in 1 more it would have to wait)"
    );
    let within = Tested::Within { preemptions: 2, runs: 40 };
    assert_eq!(tested(within), "all 40 runs with at most 2 preemptions pass");
    let counted = Tested::Counted { runs: 330, failed: 12, of: 60 };
    assert_eq!(tested(counted), "0 of 330 runs like this one fail (now 12 of 60)");
}

#[test]
fn an_order_of_two_lines_has_its_number_and_the_interleavings_that_keep_it() {
    let text = |times: u32, interleavings: u64, of: u64, column: u32| {
        let mut report = explained();
        let why = report.finding.as_mut().unwrap().why.as_mut().unwrap();
        let Change::Regions { regions, .. } = &why.remedy.as_ref().unwrap().change else {
            panic!()
        };
        let Region { from: early, to } = regions[0];
        let late = if column == 0 { to } else { Site { op: "swap", ..early } };
        let tested = Tested::All { interleavings, of: Some(of), left_out: 0 };
        why.remedy = Some(Remedy { change: Change::Order(Order { early, late, times }), tested });
        let (first, last) = (early.place.line().to_string(), late.place.line().to_string());
        let screen = super::text(&report, &Style { width: 200, ..Style::default() });
        let line = screen.lines().find(|line| line.starts_with("  remedy")).unwrap();
        line.replace(&first, "A")
            .replace(&last, "B")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        text(1, 6, 9, 0),
        "remedy sample.rs:A before :B: all 6 interleavings that keep it pass (proved; 9 pass now)"
    );
    assert_eq!(
        text(3, 1, 1, 0),
        "remedy sample.rs:A three times before :B: the one interleaving that keeps it passes (proved; 1 passes now)"
    );
    // Both operations are on the same line.
    assert!(text(2, 6, 9, 1).starts_with("remedy sample.rs:A:"), "{}", text(2, 6, 9, 1));
    assert!(text(2, 6, 9, 1).contains(" twice before :A:"), "{}", text(2, 6, 9, 1));
}

#[test]
fn a_failure_that_is_explained() {
    check(&explained(), expect_file!["screens/a_failure_that_is_explained.txt"]);
}

#[test]
fn a_column_of_chances_gives_way_to_columns_of_tasks() {
    let narrow = text(&explained(), &Style { width: 70, ..Style::default() });
    assert!(!narrow.contains("◂") && narrow.contains("├────────┐"), "{narrow}");
    assert!(narrow.contains("no way back"), "{narrow}");
}

#[test]
fn a_failure_in_every_run_has_no_chances() {
    let mut report = explained();
    let finding = report.finding.as_mut().unwrap();
    let no_return = Some(NoReturn { after: 0, interleavings: 6 });
    finding.why = Some(Why { no_return, ..Why::default() });
    let screen = text(&report, &Style::default());
    assert!(screen.contains("  why         it fails in every run (proved: all 6"), "{screen}");
    assert!(!screen.contains("no way back") && !screen.contains("chances"), "{screen}");
}

#[test]
fn a_share_is_shown_as_all_or_nothing_only_if_it_is() {
    for (share, runs, column, percent) in [
        (0.996, 0, ">.99", "> 99 % of all"),
        (0.996, 250, ">.99", "> 99 % of all"),
        (1.0, 250, "~1", "~100 % of all"),
        (1.0, 0, "1", "100 % of all"),
        (0.0004, 0, "<.01", "< 0.1 % of all"),
        (0.004, 250, "<.01", "~0.4 % of all"),
        (0.0, 50, "~0", "0 of 50"),
        (0.98, 0, ".98", "98 % of all"),
    ] {
        let mut report = explained();
        let why = report.finding.as_mut().unwrap().why.as_mut().unwrap();
        (why.chances, why.no_return) = (vec![Chance { after: 0, share, runs }], None);
        let screen = text(&report, &Style::default());
        let shown = screen.lines().find(|line| line.contains("spawn 0.0")).unwrap();
        assert!(shown.contains(&format!(" {column} ")), "{share} {runs}: {screen}");
        assert!(screen.contains(&format!("  chances     {percent}")), "{share} {runs}: {screen}");
    }
}

#[test]
fn sampled_chances_are_recognizable_beside_a_proof() {
    for (runs, expected) in [
        (
            [50, 400],
            "~2 % of all schedules fail, ~54 % after step 3 (sampled), all after step 5 (proved)",
        ),
        (
            [50, 0],
            "~2 % of all schedules fail, 54 % after step 3 (~ sampled), all after step 5 (proved)",
        ),
        ([0, 0], "2 % of all schedules fail, 54 % after step 3, all after step 5 (proved)"),
    ] {
        let mut report = explained();
        let why = report.finding.as_mut().unwrap().why.as_mut().unwrap();
        let chance = |after, share, runs| Chance { after, share, runs };
        why.chances = vec![chance(0, 0.02, runs[0]), chance(4, 0.54, runs[1])];
        let screen = text(&report, &Style { width: 200, ..Style::default() });
        assert!(screen.contains(&format!("  chances     {expected}\n")), "{screen}");
    }
}

#[test]
fn a_deadlock() {
    check(&deadlock(), expect_file!["screens/a_deadlock.txt"]);
}

#[test]
fn a_loop_without_end() {
    check(&spin(), expect_file!["screens/a_loop_without_end.txt"]);
}

#[test]
fn a_panic() {
    check(&panic(), expect_file!["screens/a_panic.txt"]);
}

#[test]
fn a_long_history() {
    check(&queue(), expect_file!["screens/a_long_history.txt"]);
}

#[test]
fn more_tasks_than_columns() {
    check(&crowd(), expect_file!["screens/more_tasks_than_columns.txt"]);
}

#[test]
fn a_long_schedule_of_many_tasks() {
    check(&long(), expect_file!["screens/a_long_schedule_of_many_tasks.txt"]);
}

#[test]
fn calls_of_many_steps() {
    // The place depends on the compiler's version, so no test compares this screen as a whole.
    let screen = text(&calls(in_core()), &Style::default());
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("9 steps: lock mutex 3 times, load atomic 3 core/src/array/mod.rs"),
        "{screen}"
    );
    // Neither the preemption nor the end is folded, and no row is omitted.
    for kept in ["54 │ lock mutex", "55 store atomic := 99", "80 compare_exchange atomic 7 → 8"]
    {
        assert!(words.contains(kept), "{kept}: {screen}");
    }
    assert!(!words.replace("/…/", "").contains('…'), "{screen}");
}

#[test]
fn a_fault_within_a_call_is_a_line_of_its_own() {
    let screen = text(&fault_within_a_call(), &Style::default());
    assert!(screen.contains("30 steps: load atomic 30 times"), "{screen}");
    assert!(screen.contains("─── isolate nodes ─"), "{screen}");
}

#[test]
fn many_steps_in_one_file() {
    check(&calls(here()), expect_file!["screens/many_steps_in_one_file.txt"]);
}

#[test]
fn a_wait_for_what_never_comes() {
    check(&starved(), expect_file!["screens/a_wait_for_what_never_comes.txt"]);
}

#[test]
fn a_trace_that_is_stale() {
    let mut report = lost_update_that(Failure::Diverged {
        step: 4,
        expected: "0.1 load atomic at src/counter.rs:12:20".to_owned(),
        found: "0.1 lock mutex at src/counter.rs:12:31".to_owned(),
    });
    if let Some(finding) = &mut report.finding {
        finding.from = Origin::File("sim-regressions/lost_update/17.simtrace".to_owned());
        (finding.shrunk, finding.trace_file, finding.replay) = (None, None, None);
        let test = "lost_update::increments_are_not_lost";
        finding.record = Some(format!("cargo test -p demo {test} -- --exact"));
        finding.run.steps.truncate(4);
    }
    check(&report, expect_file!["screens/a_trace_that_is_stale.txt"]);
}

#[test]
fn a_test_that_is_not_deterministic() {
    let report = lost_update_that(Failure::NonDeterminism {
        step: 3,
        first: "0.1 load atomic at src/counter.rs:12:20".to_owned(),
        second: "0.0 store atomic at src/counter.rs:13:17".to_owned(),
    });
    check(&report, expect_file!["screens/a_test_that_is_not_deterministic.txt"]);
}

#[test]
fn a_task_that_hangs() {
    let report = lost_update_that(Failure::Hang {
        task: TaskId(2),
        last: "store atomic at src/counter.rs:13:17".to_owned(),
        place: String::new(),
        seconds: 10,
        unseen: Vec::new(),
    });
    check(&report, expect_file!["screens/a_task_that_hangs.txt"]);
}

#[test]
fn a_plain_thread_that_hangs() {
    let report = lost_update_that(Failure::Hang {
        task: TaskId(2),
        last: "store atomic at src/counter.rs:13:17".to_owned(),
        place: "src/counter.rs:14:9".to_owned(),
        seconds: 10,
        unseen: vec!["ring::wait (src/ring.rs:7, `syscall`)".to_owned()],
    });
    check(&report, expect_file!["screens/a_plain_thread_that_hangs.txt"]);
}

#[test]
fn a_plain_thread_that_crashes() {
    let report = lost_update_that(Failure::Crash {
        task: TaskId(2),
        cause: "segmentation fault".to_owned(),
        message: "The thread accessed address 0x8, next to a null pointer.".to_owned(),
        place: "src/counter.rs:14:9".to_owned(),
    });
    check(&report, expect_file!["screens/a_plain_thread_that_crashes.txt"]);
}

#[test]
fn a_misuse() {
    let mut report = lost_update_that(Failure::Misuse {
        message: "a Mutex made in one run was locked in another: make it inside the test, or use \
                  an Atomic, which may live in a static"
            .to_owned(),
        place: "src/counter.rs:3:1".to_owned(),
    });
    if let Some(finding) = &mut report.finding {
        (finding.shrunk, finding.run.steps) = (None, vec![]);
    }
    check(&report, expect_file!["screens/a_misuse.txt"]);
}

#[test]
fn an_undecided_history_on_real_threads() {
    check(
        &undecided_on_real_threads(),
        expect_file!["screens/an_undecided_history_on_real_threads.txt"],
    );
}

#[test]
fn a_run_without_end_on_real_threads() {
    let report = no_end_on_real_threads();
    check(&report, expect_file!["screens/a_run_without_end_on_real_threads.txt"]);
    let run = &report.finding.as_ref().unwrap().run;
    let Outcome::Failed(failure) = &run.outcome else { panic!("it failed") };
    assert_eq!(
        one_line(failure, run),
        "hang: no task has made progress for 10 s; not ended: main, 0.0 left, 0.1 right"
    );
}

#[test]
fn a_test_that_passes() {
    let report = Report {
        test: "lost_update::increments_are_not_lost".to_owned(),
        runs: 1000,
        steps: 12345,
        warnings: vec!["unknown environment variable SIM_SEDS: did you mean SIM_SEEDS?".into()],
        ..Report::default()
    };
    check(&report, expect_file!["screens/a_test_that_passes.txt"]);
}

#[test]
fn a_narrow_screen() {
    let style = Style { color: false, width: 60 };
    expect_file!["screens/a_narrow_screen.txt"].assert_eq(&text(&lost_update(), &style));
}

#[test]
fn a_screen_in_colour() {
    let style = Style { color: true, width: 100 };
    expect_file!["screens/a_screen_in_colour.txt"].assert_eq(&text(&lost_update(), &style));
}

/// Returns a report with 600 steps of two tasks in turn. Only six of the switches are preemptions.
fn preempted_far_apart() -> Report {
    use crate::run::event::{ValueKind, Values};

    let mut s = Sample::of(&["reader", "writer"]);
    let count = Some(s.object("atomic", ValueKind::Unsigned));
    s.step(0);
    for _ in 0..2 {
        s.did(&SPAWN, None, Values::None);
    }
    for n in 0..600u64 {
        let task = 1 + (n / 3 % 2) as u32;
        // A step of another kind marks where a task is preempted.
        match n % 99 {
            51 => s.preempt(task).did(&STORE, count, Values::Wrote(n)),
            _ => s.step(task).did(&LOAD, count, Values::Read(n)),
        }
    }
    let (message, place) = ("too late".to_owned(), here().to_string());
    s.report("far::it_ends_in_time", Failure::Panic { task: TaskId(2), message, place })
}

#[test]
fn every_preemption_of_a_long_schedule_is_shown() {
    let screen = text(&preempted_far_apart(), &Style::default());
    assert_eq!(screen.matches("─ preempted ─").count(), 6, "{screen}");
    for n in (51..600).step_by(99) {
        for near in [n - 1, n + 1] {
            assert!(screen.contains(&format!("load atomic = {near}")), "{near}: {screen}");
        }
        assert!(screen.contains(&format!("store atomic := {n}")), "{n}: {screen}");
    }
    assert!(screen.lines().count() < 90, "{screen}");
}

#[test]
fn an_order_of_branches_is_shown_but_no_setting() {
    let screen = |value, why| {
        let mut report = panic();
        let draw = DrawRecord { step: 1, value, bound: 3, given: true, why };
        report.finding.as_mut().unwrap().run.draws = vec![draw];
        text(&report, &Style::default())
    };
    let shown = screen(2, Draw::BRANCH);
    assert!(shown.contains("draw 2 below 3") && shown.contains("1 value drawn"), "{shown}");
    for hidden in [screen(0, Draw::BRANCH), screen(2, "the heap")] {
        assert!(!hidden.contains("draw 2") && !hidden.contains("value drawn"), "{hidden}");
    }
}

/// Returns the screen of a passing report with this search, without line breaks.
fn screen_of(searched: Searched) -> String {
    let report = Report { runs: 10, searched: Some(searched), ..Report::default() };
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_search_with_runs_left_has_not_made_all_of_them() {
    for bound in [None, Some(Bound { what: "preemption".to_owned(), through: Some(1) })] {
        let of_part = |part| {
            let bound = bound.clone();
            screen_of(Searched { part: Some(part), bound, ..unfinished_search() })
        };
        let screen = of_part(0.999_999);
        assert!(screen.contains("99.99 % of") && !screen.contains("100.00 %"), "{screen}");
        assert!(of_part(1e-9).contains("< 0.01 % of"), "{}", of_part(1e-9));
    }
}

#[test]
fn without_an_estimate_no_part_and_no_number_of_runs_is_stated() {
    let unknown = Searched { part: None, estimate: None, ..unfinished_search() };
    let screen = screen_of(unknown.clone());
    let expected = "not all interleavings were run (the total number is unknown); allow more";
    assert!(screen.contains(expected) && !screen.contains('%'), "{screen}");
    assert_eq!(unknown.shortfall().as_deref(), Some("part of the search was done"));

    let bound = Bound { what: "preemption".to_owned(), through: Some(1) };
    let bounded = Searched { bound: Some(bound), ..unknown.clone() };
    let screen = screen_of(bounded.clone());
    let expected = "(all with at most 1 preemption were, and part of those with 2 preemptions);";
    assert!(screen.contains(expected) && !screen.contains('%'), "{screen}");
    let shortfall = bounded.shortfall();
    assert_eq!(shortfall.as_deref(), Some("part of the runs with 2 preemptions were made"));

    let fallback = Some(Box::new(Fallback { runs: 4, searched: bounded }));
    let screen = screen_of(Searched { fallback, ..unknown });
    let expected = "not all interleavings were run (only 6 runs, and the total number is unknown);";
    assert!(screen.contains(expected) && !screen.contains('%'), "{screen}");
    let expected = "and part of those with 2 preemptions: the other 4 runs";
    assert!(screen.contains(expected), "{screen}");
}

#[test]
fn a_search_that_needs_more_than_its_limit_names_the_bound_that_fits() {
    let of_fits = |fits, fallback| {
        let excess = Some(Excess { limit: 1_000, fits });
        screen_of(Searched { excess, fallback, ..unfinished_search() })
    };
    let needs = "The search needs more runs than its limit of 1000";
    let screen = of_fits(Some(FittingBound { preemptions: 2, runs: 417 }), None);
    let fits = ". Within this limit, strategy = \"preemptions:2\" would be complete, with an \
                estimated 420 runs";
    assert!(screen.contains(&format!("{needs}{fits}")), "{screen}");
    let screen = of_fits(None, None);
    assert!(screen.contains(needs) && !screen.contains("preemptions:"), "{screen}");
    // The fallback has its own line, and no statement without an estimate.
    let fallback = Some(Box::new(Fallback { runs: 4, searched: unfinished_search() }));
    assert!(!of_fits(None, fallback).contains(needs));
    assert!(!screen_of(unfinished_search()).contains(needs));
}

#[test]
fn each_statement_about_runs_with_the_newest_stores_says_so() {
    let mut report = explained();
    report.finding.as_mut().unwrap().why.as_mut().unwrap().newest_stores = true;
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    for sentence in [
        ", with the newest stores: all 2 interleavings pass (proved",
        "all after step 5 (proved) with the newest stores\n",
        "no way back: every schedule with the newest stores fails from here on (proved)",
    ] {
        assert!(screen.contains(sentence), "{sentence}: {screen}");
    }
    let why = report.finding.as_mut().unwrap().why.as_mut().unwrap();
    why.no_return = Some(NoReturn { after: 0, interleavings: 6 });
    let screen = text(&report, &Style { width: 200, ..Style::default() });
    let always = "it fails in every run with the newest stores (proved: all 6 interleavings fail)";
    assert!(screen.contains(always), "{screen}");
}
