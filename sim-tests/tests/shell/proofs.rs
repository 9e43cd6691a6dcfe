//! Tests that must have a proof. Some of these tests get a proof, and the other tests fail because they get no proof.

use crate::child::{captured, child};

/// This line is printed although the harness captures the output of a passing test.
const SHORT: &str = "NOT A PROOF  shell::fixture::attempts: ";

#[test]
fn a_test_that_must_prove_fails_unless_it_does() {
    if !sim::SIMULATED {
        let ended = captured("proves").env("SIM_STRATEGY", "exhaustive").passes();
        ended
            .says(&["note: shell::fixture::proves: ", "must_prove have no effect on real threads"]);
        return;
    }
    let proves = || child("proves").env("SIM_STRATEGY", "exhaustive");
    let ended = proves().passes();
    ended.says(&["explored all 6 interleavings"]);
    ended.says_not("NOT A PROOF");
    let ended = proves().env("SIM_SEEDS", "2").fails();
    ended.says(&[
        "FAILED  shell::fixture::proves  the search proved nothing\n",
        "tested      2 runs",
        "NOT A PROOF: not all interleavings were run (",
        "allow more with seeds = N",
        "The test requires a proof (must_prove)",
    ]);
    // There is no run to replay.
    ended.says_not("replay:");
    proves().env("SIM_SEEDS", "2").env("SIM_MUST_PROVE", "0").passes();
    // A replay is not a search, under any strategy.
    let inline = child("lost_update").fails().after("replay:");
    let inline = inline.strip_prefix("SIM_REPLAY=").unwrap().split(' ').next().unwrap().to_owned();
    child("proves").env("SIM_REPLAY", inline).fails().says(&["the run diverged from its trace"]);
}

#[test]
fn a_strategy_that_proves_nothing_cannot_be_that_of_a_test_that_must() {
    for strategy in ["random", "portfolio"] {
        let ended = child("proves").env("SIM_STRATEGY", strategy).fails();
        ended.says(&[&format!(
            "FAILED  shell::fixture::proves: strategy is {strategy:?}, but should be a search, because \
             nothing else can prove what the test must (must_prove, Runner::must_prove or \
             SIM_MUST_PROVE=1): exhaustive, preemptions, delays"
        )]);
    }
    child("does_nothing").env("SIM_MUST_PROVE", "1").fails().says(&["SIM_MUST_PROVE=1"]);
}

#[cfg_attr(feature = "sim", test)]
fn an_attempt_that_fell_short_says_so_to_who_sees_nothing_of_a_passing_test() {
    let attempts = |strategy| captured("attempts").env("SIM_STRATEGY", strategy);
    let lines = |text: &str| text.lines().filter(|line| line.starts_with(SHORT)).count();
    for strategy in ["exhaustive", "preemptions", "delays", "preemptions:1"] {
        let ended = attempts(strategy).env("SIM_SEEDS", "2").passes();
        assert_eq!((lines(&ended.stderr), ended.stderr.lines().count()), (1, 1), "{ended}");
        assert!(ended.stderr.contains(": part of the "), "{ended}");
        assert!(!ended.stdout.contains("NOT A PROOF"), "{ended}");
        let must = attempts(strategy).env("SIM_SEEDS", "2").env("SIM_MUST_PROVE", "1").run();
        assert_eq!(must.code, Some(101), "{must}");
    }
    // These strategies reached their intended bound.
    for strategy in ["exhaustive", "preemptions", "delays", "preemptions:0", "random"] {
        let told = attempts(strategy).passes().stderr;
        let one = told.starts_with("passed  shell::fixture::attempts: explored all ");
        assert!(told.is_empty() == (strategy == "random") && (told.is_empty() || one), "{told}");
        assert!(told.lines().count() <= 1, "{told}");
    }
    // A bound is not a proof, so a test that must prove fails.
    let bounded = child("attempts").env("SIM_STRATEGY", "preemptions:0").env("SIM_MUST_PROVE", "1");
    bounded
        .fails()
        .says(&["the search proved nothing", "runs with more preemptions were not tried"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_search_without_time_makes_a_run() {
    for strategy in ["exhaustive", "preemptions", "delays", "preemptions:2", "random"] {
        let at_once = |name| child(name).env("SIM_STRATEGY", strategy).env("SIM_TIME", "0s");
        at_once("awaits_nothing").fails().says(&["nothing was awaited", "tested      1 run"]);
        let ended = at_once("attempts").passes();
        ended.says_not("100.00 %");
        if strategy != "random" {
            ended.says(&["passed  shell::fixture::attempts: 1 run", SHORT]);
        }
    }
}

#[test]
fn a_shard_without_seeds_runs_one_of_another() {
    let shard = captured("does_nothing").env("SIM_SHARD", "3/3").env("SIM_SEEDS", "2").passes();
    let line = "note: shell::fixture::does_nothing has no seed of its own in this shard, because there are 2 in all: \
                it ran a seed of another shard instead of passing without a run\n";
    assert!(shard.stderr.ends_with(line), "{shard}");
    if !sim::SIMULATED {
        return;
    }
    let fails = child("awaits_nothing").env("SIM_SHARD", "6/6").env("SIM_SEEDS", "5");
    fails.fails().says(&["seed 0: ", "nothing was awaited"]);
}
