//! Programs that broke a search, or a rule that a search might use, each with a name. The exhaustive search must have
//! exactly the same results as an independent search over states, and as many results as were counted by hand.

use std::future::Future;

use sim::Runner;
use sim::run::{Failure, Outcome};
use sim_tests::acts::compare::{Comparison, Judge, Verdict};
use sim_tests::acts::interpret::{self, JOIN_IS_A_POINT};
use sim_tests::acts::program::{Act, Act::*, Effect, Program};
use sim_tests::falsely_proven;

/// Checks that the search and the interpreter have the same results, and that their number is `results`.
#[track_caller]
fn has(results: usize, tasks: &[&[Act]]) {
    compared(Judge::Interpreter, Some(results), tasks);
}

#[track_caller]
fn compared(judge: Judge, results: Option<usize>, tasks: &[&[Act]]) {
    let program = Program { tasks: tasks.iter().map(|acts| acts.to_vec()).collect() };
    if let Some(results) = results {
        let expected = interpret::results(&program, 100_000).expect("few states");
        assert_eq!(expected.len(), results, "{program}{expected:#?}");
    }
    match (Comparison { judge, random: 50, plain: true }).of(&program) {
        Verdict::Same { .. } => {}
        Verdict::Differs(difference) => panic!("{program}{difference}"),
        Verdict::LeftOut(why) => panic!("{program}no proof: {why:?}"),
    }
}

/// Like [`has`], for tasks that the body spawns at once and then awaits in this order.
#[track_caller]
fn side_by_side(results: usize, tasks: &[&[Act]]) {
    let spawns = (1..=tasks.len()).map(|task| Spawn(task, vec![]));
    let body: Vec<_> = spawns.chain((1..=tasks.len()).map(Join)).collect();
    has(results, &[&[&body[..]], tasks].concat());
}

// ---- three false proofs of an earlier search

/// Asserts that the search finds the assertion failure that this body has in some interleaving.
#[track_caller]
fn is_found_out<F: Future<Output = ()>>(body: impl Fn() -> F + Sync) {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("acts-named");
    let report =
        Runner::new().hermetic().strategy("exhaustive").out(out).run(async || body().await);
    let searched = report.searched;
    let finding = report.finding.unwrap_or_else(|| panic!("it passes: {searched:?}"));
    let outcome = finding.run.outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::Panic { .. })), "{outcome:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a1_the_holder_of_a_lock_aborts_a_task_that_waits_for_it() {
    is_found_out(falsely_proven::abort_of_a_waiting_task);
    has(2, &[&[Spawn(1, vec![]), Lock(0), Load(0), Abort(1), Join(1)], &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a1_with_a_yield_in_the_place_of_the_load() {
    has(2, &[&[Spawn(1, vec![]), Lock(0), Yield, Abort(1), Join(1)], &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a1_hides_a_deadlock() {
    let body =
        [Spawn(1, vec![]), Lock(0), Load(0), Abort(1), Join(1), SkipIf(0, 2), Lock(1), Lock(1)];
    has(2, &[&body, &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a1_with_two_waiters() {
    let body =
        [Spawn(1, vec![]), Spawn(2, vec![]), Lock(0), Load(0), Abort(1), Unlock, Join(1), Join(2)];
    // The first task is aborted, unless it was before the body; the second comes where it likes.
    has(5, &[&body, &[Lock(0)], &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a2_a_handle_is_polled_once_after_another_is_joined() {
    is_found_out(falsely_proven::handle_polled_once);
    let results = if JOIN_IS_A_POINT { 1 } else { 2 };
    has(results, &[&[Spawn(1, vec![]), Spawn(2, vec![]), Join(2), Poll(1)], &[], &[]]);
}

#[cfg_attr(feature = "sim", test)]
fn a2_a_handle_is_in_a_race_after_another_is_joined() {
    let race = Race(vec![Join(1)], vec![Yield]);
    has(2, &[&[Spawn(1, vec![]), Spawn(2, vec![]), Join(2), race], &[], &[]]);
}

#[cfg_attr(feature = "sim", test)]
fn a2_a_moved_handle_is_polled_in_the_first_step() {
    let results = if JOIN_IS_A_POINT { 1 } else { 2 };
    has(results, &[&[Spawn(1, vec![]), Spawn(2, vec![1]), Join(2)], &[], &[Poll(1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a2_a_moved_handle_races_with_what_is_ready() {
    let results = if JOIN_IS_A_POINT { 1 } else { 2 };
    let race = Race(vec![Join(1)], vec![]);
    has(results, &[&[Spawn(1, vec![]), Spawn(2, vec![1]), Join(2)], &[], &[race]]);
}

#[cfg_attr(feature = "sim", test)]
fn a2_a_handle_is_among_woken_branches_after_another_is_joined() {
    let woken = Woken(vec![Join(1), Add(0)], vec![Yield, Add(0)]);
    let body = [Spawn(1, vec![]), Spawn(2, vec![]), Join(2), woken];
    // The order in which branches are polled depends on the combinator, so the test expects no particular number.
    compared(Judge::Preemptions, None, &[&body, &[], &[]]);
}

#[cfg_attr(feature = "sim", test)]
fn a3_a_look_at_a_task_among_joins() {
    is_found_out(falsely_proven::look_at_a_task_among_joins);
    let spawns = [Spawn(1, vec![]), Spawn(2, vec![]), Spawn(3, vec![])];
    let body = [&spawns[..], &[Load(0), Join(1), Look(2), Join(2), Join(3)]].concat();
    has(8, &[&body, &[Store(0, 1)], &[Lock(0)], &[TryLock(0)]]);
}

// ---- tasks that still run when the body returns, and their earlier steps

#[cfg_attr(feature = "sim", test)]
fn a_task_that_nobody_awaits_panics_on_what_it_loads() {
    // The task always loads the 1 that the body has stored, but the moment of the load varies.
    let body = [Spawn(1, vec![]), Add(0), Spawn(2, vec![]), Join(1)];
    has(7, &[&body, &[Load(0), Add(1)], &[Load(0), SkipIf(0, 1), Panic]]);
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_nobody_awaits_loads_before_the_body_returns() {
    let body = [Spawn(1, vec![]), Add(0), Spawn(2, vec![]), Join(1)];
    has(4, &[&body, &[Load(0), Add(1)], &[Load(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_nobody_awaits_panics_at_once() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![]), Store(0, 1), Join(1)];
    has(7, &[&body, &[Store(0, 2), Load(1)], &[Panic]]);
}

#[cfg_attr(feature = "sim", test)]
fn a_task_that_nobody_awaits_panics_at_its_end() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Add(1), Spawn(3, vec![]), Join(2)];
    has(13, &[&body, &[Add(1), Yield], &[Look(1)], &[Defer(Effect::Panic)]]);
}

// ---- an attempt that fails, and a deadlock

#[cfg_attr(feature = "sim", test)]
fn an_attempt_fails_in_a_run_that_ends_as_a_deadlock() {
    let spawns = [Spawn(1, vec![]), Spawn(2, vec![]), Spawn(3, vec![])];
    let body = [&spawns[..], &[Lock(1), Join(3)]].concat();
    // There are six results. Lock 1 goes to the body first; or to the attempt, which then waits for itself; or to the
    // first task. The first task is then stuck at lock 0, or frees both locks. In the latter case, the attempt succeeds
    // next, or the body gets the lock, before or after a second task whose attempt failed.
    has(6, &[&body, &[Lock(1), Lock(0)], &[TryLock(1), Lock(1)], &[Lock(0), Lock(0)]]);
}

// ---- programs that a search missed results of when each join was a poll and then a point

#[cfg_attr(feature = "sim", test)]
fn a_condition_that_holds_for_one_moment_is_met_before_the_last_store() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![]), Store(2, 0), Join(1), Join(2)];
    // The condition is never met, or it is met and one of the two stores is the last.
    has(3, &[&body, &[Add(0), Add(0)], &[Spin(0, 1), Store(2, 1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn an_attempt_fails_before_its_task_takes_two_locks() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![]), Lock(1), Join(1)];
    has(6, &[&body, &[Lock(0), Load(0)], &[TryLock(0), Lock(0), Lock(1)]]);
}

// ---- one program for each rule that a search must not weaken

#[cfg_attr(feature = "sim", test)]
fn d_whoever_was_never_done_competes_too() {
    side_by_side(2, &[&[Lock(0), Lock(0)], &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn a1b_whoever_was_dropped_while_it_waited_competes_too() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Join(2), Join(1)];
    has(2, &[&body, &[Lock(0)], &[Lock(0), Abort(1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn l_each_step_that_could_disable_is_reversed_and_not_only_the_last() {
    side_by_side(10, &[&[Add(0)], &[Add(0)], &[Store(0, 2)], &[Spin(0, 1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn l2_a_task_that_waits_for_itself_may_come_after_all_others() {
    side_by_side(5, &[&[Lock(0), Lock(0)], &[Lock(0)], &[Lock(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn l3_a_branch_may_take_the_lock_first() {
    side_by_side(2, &[&[Lock(0), Add(0)], &[Race(vec![Spin(0, 1)], vec![Lock(0)])]]);
}

#[cfg_attr(feature = "sim", test)]
fn n_a_branch_that_was_not_taken_was_asked() {
    side_by_side(2, &[&[Store(0, 2)], &[Race(vec![Spin(0, 2)], vec![Lock(0)])]]);
}

#[cfg_attr(feature = "sim", test)]
fn n2_a_join_may_win_a_race() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Join(2)];
    has(2, &[&body, &[Yield], &[Race(vec![Join(1)], vec![Store(0, 1)])]]);
}

#[cfg_attr(feature = "sim", test)]
fn e0_a_condition_may_come_true_before_its_task_is_aborted() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Spawn(3, vec![]), Join(2), Join(3), Join(1)];
    has(2, &[&body, &[Spin(0, 1)], &[Abort(1)], &[Store(0, 1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn e0b_a_join_may_come_before_its_task_is_aborted() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Spawn(3, vec![2]), Join(3), Join(2), Join(1)];
    has(2, &[&body, &[Yield], &[Join(1)], &[Abort(2)]]);
}

#[cfg_attr(feature = "sim", test)]
fn e1_what_was_dropped_is_let_in_by_a_later_step() {
    let body = [Spawn(1, vec![]), Spawn(2, vec![1]), Yield, Abort(2), Join(2)];
    has(2, &[&body, &[Yield], &[Join(1)]]);
}

#[cfg_attr(feature = "sim", test)]
fn z_a_task_that_sleeps_is_not_yet_tried() {
    side_by_side(4, &[&[Add(0)], &[Yield, Load(0)], &[Load(0)]]);
}

#[cfg_attr(feature = "sim", test)]
fn p_a_branch_waits_for_what_the_holder_of_its_lock_stores() {
    side_by_side(2, &[&[Lock(0), Store(0, 1)], &[Race(vec![Spin(0, 1)], vec![Lock(0)])]]);
}
