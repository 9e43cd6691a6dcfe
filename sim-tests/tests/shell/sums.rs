//! Results that add up: the verdict on all parts is the verdict on one run.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::{Child, child};
use crate::shards::{files, folder, merge};

const NEVER: &str = "test-shell.fixture.never_sees_it";

fn never(folder: &Path) -> Child {
    child("never_sees_it").env("SIM_RESULTS", folder)
}

#[test]
fn a_condition_is_judged_by_whoever_has_the_whole() {
    let shards = folder("conditions");
    for shard in ["1/2", "2/2"] {
        let ended = never(&shards).env("SIM_SHARD", shard).passes();
        ended.says(&["(in this part of the seeds; cargo unpause merge judges all of them)"]);
    }
    let (code, said) = merge(&[], &shards);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("failed   too seldom  the impossible"), "{said}");
    assert!(said.contains("the impossible never held") && said.contains("20 of 20"), "{said}");
}

#[test]
fn a_condition_that_never_held_fails_again_when_the_run_is_gone_on_with() {
    let folder = folder("conditions again");
    for _ in 0..2 {
        never(&folder).fails().says(&["\"the impossible\" never held"]);
        assert_eq!(merge(&[], &folder).0, 1);
    }
    // The result is the same if the last line was lost.
    let file = &files(&folder, NEVER)[0];
    let text = fs::read_to_string(file).unwrap();
    fs::write(file, text.lines().next().unwrap()).unwrap();
    assert_eq!(merge(&[], &folder).0, 3);
    never(&folder).fails();
    assert_eq!(merge(&[], &folder).0, 1);
}

#[cfg_attr(feature = "sim", test)]
fn a_part_that_is_out_of_time_does_not_judge_the_whole() {
    let folder = folder("conditions and time");
    let part = || child("adds_up").env("SIM_RESULTS", &folder).env("SIM_SEEDS", "300");
    // The first seeds have no rare value in them.
    let ended = part().env("SIM_TIME", "0ms").env("SIM_JOBS", "1").passes();
    ended.says(&["in this part of the seeds", "seeds are left to run"]);
    assert_eq!(merge(&[], &folder).0, 3);
    part().passes();
    assert_eq!(merge(&[], &folder).0, 0);
}

#[cfg_attr(feature = "sim", test)]
fn a_test_that_must_fail_is_judged_by_whoever_has_the_whole() {
    let failing = folder("must fail");
    child("must_fail").env("SIM_RESULTS", &failing).passes();
    let (code, said) = merge(&[], &failing);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("as it must (must_fail)") && !said.contains("not run"), "{said}");

    // A failure that is not the expected failure must be reported.
    let other = folder("must fail in another way");
    child("musts::must_lose").env("SIM_RESULTS", &other).env("UNPAUSE_VARIANT", "at once").fails();
    let (code, said) = merge(&[], &other);
    assert!(code == 1 && !said.contains("as it must"), "{said}");

    // A shard without a failing seed is not a failure, and all shards without one are.
    let passing = folder("must fail and does not");
    for shard in ["1/2", "2/2"] {
        let child = child("must_fail").env("SIM_RESULTS", &passing).env("UNPAUSE_VARIANT", "fixed");
        let ended = child.env("SIM_SHARD", shard).env("SIM_SEEDS", "30").passes();
        ended.says(&["the test must fail (must_fail), and did not (in this part of the seeds"]);
    }
    let (code, said) = merge(&[], &passing);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("must fail (must_fail), but none of 30 runs did"), "{said}");
}

#[test]
fn results_of_another_program_do_not_count() {
    let folder = folder("program");
    never(&folder).fails();
    let file = &files(&folder, NEVER)[0];
    let text = fs::read_to_string(file).unwrap();
    let at = text.find("\"binary\":\"").unwrap() + 10;
    let other = format!("{}{}{}", &text[..at], "0123456789abcdef", &text[at + 16..]);
    fs::write(file, &other).unwrap();
    let said = &[
        "it is of another run (program: 0123456789abcdef there,",
        "results of another program do not apply",
    ];
    never(&folder).fails().says(said);
    assert_eq!(fs::read_to_string(file).unwrap(), other, "it was changed");

    // The shares of two different programs are not one exploration.
    let halves = crate::shards::folder("programs");
    never(&halves).env("SIM_SHARD", "1/2").passes();
    never(&halves).env("SIM_SHARD", "2/2").passes();
    let half = &files(&halves, NEVER)[1];
    let text = fs::read_to_string(half).unwrap();
    fs::write(half, format!("{}{}{}", &text[..at], "0123456789abcdef", &text[at + 16..])).unwrap();
    let (code, said) = merge(&[], &halves);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("program 0123456789abcdef") && said.contains("build once"), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn shards_under_several_settings_do_not_add_up() {
    let folder = folder("settings");
    let shard = |shard| {
        let child = child("lost_update_of_another_test").env("SIM_RESULTS", &folder);
        child.env("SIM_SHARD", shard)
    };
    shard("1/2").passes();
    shard("2/2").env("SIM_CLOCK", "any").passes();
    let (code, said) = merge(&[], &folder);
    assert_eq!(code, 3, "{said}");
    for part in [
        "another_test: results under several settings do not add up (clock: ",
        "last and any): run all shards under one of them",
        "random, clock = any)",
    ] {
        let orders = [part.to_owned(), part.replace("last and any", "any and last")];
        assert!(orders.iter().any(|part| said.contains(part)), "{part}: {said}");
    }
}

#[test]
fn one_seed_to_look_at_leaves_results_alone() {
    let folder = folder("one seed");
    child("lost_update_of_another_test").env("SIM_RESULTS", &folder).passes();
    let file = &files(&folder, "test-shell.fixture.lost_update_of_another_test")[0];
    let before = fs::read(file).unwrap();
    child("lost_update_of_another_test").env("SIM_RESULTS", &folder).env("SIM_SEED", "5").passes();
    assert_eq!(fs::read(file).unwrap(), before);
}

#[test]
fn a_passing_test_says_under_its_harness_what_it_left_out() {
    let folder = folder("captured");
    let run = || {
        let child = crate::child::captured("lost_update_of_another_test");
        child.env("SIM_RESULTS", &folder).passes()
    };
    run().says_not("seeds were not run");
    run().says(&["note: shell::fixture::lost_update_of_another_test: 20 seeds were not run"]);
}

#[test]
fn results_that_are_removed_meanwhile_are_missed() {
    let folder = folder("removed");
    let remove = {
        let folder = folder.clone();
        std::thread::spawn(move || {
            while fs::read_dir(folder.join("sim-tests")).is_err() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(50));
            fs::remove_dir_all(folder).unwrap();
        })
    };
    let ended =
        child("takes_its_time").env("SIM_RESULTS", &folder).env("SIM_SEEDS", "900").passes();
    remove.join().unwrap();
    ended.says(&["was removed while the test ran, and its results are lost"]);
}

#[cfg_attr(feature = "sim", test)]
fn overlapping_numbers_of_shards_are_never_counted_twice() {
    let folder = folder("overlapping");
    let run = |shard: &str| {
        child("adds_up")
            .env("SIM_RESULTS", &folder)
            .env("SIM_SEEDS", "240")
            .env("SIM_SHARD", shard)
            .passes();
    };
    run("1/1");
    run("1/3");
    run("2/5");
    let (code, said) = merge(&["--json"], &folder);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\"runs\":240"), "{said}");
    // Without the whole search, a complete set of shards counts; otherwise, disjoint shards count.
    let remove = |shard: &str| {
        fs::remove_file(folder.join(format!("sim-tests/test-shell.fixture.adds_up/{shard}.jsonl")))
            .unwrap();
    };
    remove("1-of-1");
    ["1/5", "3/5", "4/5", "5/5", "3/3"].into_iter().for_each(run);
    assert_eq!(merge(&["--json"], &folder), (code, said.clone()));
    remove("3-of-5");
    run("2/3");
    assert_eq!(merge(&["--json"], &folder), (code, said));
    // Two of these have a sixth of the seeds in common: only certain conclusions are drawn.
    ["1-of-5", "2-of-5", "4-of-5", "5-of-5", "1-of-3", "3-of-3"].into_iter().for_each(remove);
    ["1/2", "4/6", "6/6"].into_iter().for_each(run);
    let (code, said) = merge(&[], &folder);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("240 of 240 seeds, in 4 files"), "{said}");
    assert!(
        said.contains("unknown  in how many runs \"an even value, and not a small one\" held"),
        "{said}"
    );
    assert!(!said.contains("rare"), "{said}");
    // The message has the remedy, and the remedy works.
    let (_, remedy) = said.split_once("numbers of shards. Run ").expect(&said);
    let (remedy, _) = remedy.split_once(": the shards of one number are enough").expect(&said);
    assert!(!said.contains("run those shards again"), "{said}");
    let remedy: Vec<&str> = remedy.split(", ").collect();
    assert_eq!(remedy, ["2/2"]);
    remedy.into_iter().for_each(run);
    assert_eq!(merge(&[], &folder).0, 0);
}

#[test]
fn statistics_of_a_part_are_marked_on_real_threads() {
    if sim::SIMULATED {
        return; // There they are of all runs, or are not shown.
    }
    let folder = folder("partly counted");
    let run = |seeds: &str, wanted: &str, time: &str| {
        let child = child("counted").env("SIM_RESULTS", &folder).env("SIM_SEEDS", seeds);
        child.env("SIM_STATISTICS", wanted).env("SIM_TIME", time).passes()
    };
    let mark = "statistics are of ";
    run("40", "0", "0s").says_not(mark);
    let ended = run("40", "1", "60s");
    ended.says(&[
        "── programs ── 39 of 40 runs, ",
        "statistics are of 39 of 40 runs",
        "Name another folder",
    ]);
    // If all runs are counted, the statistics have no mark.
    fs::remove_dir_all(&folder).unwrap();
    run("40", "1", "0s").says(&["── programs ── 1 run, "]);
    let ended = run("40", "1", "60s");
    ended.says(&["── programs ── 40 runs, "]);
    ended.says_not(mark);
}

#[cfg_attr(feature = "sim", test)]
fn coverage_and_statistics_are_those_of_all_seeds_or_none() {
    let folder = folder("coverage");
    let run = |shard: &str, wanted: &str| {
        let child = child("adds_up").env("SIM_RESULTS", &folder).env("SIM_SEEDS", "240");
        let child = child.env("SIM_COVERAGE", wanted).env("SIM_STATISTICS", wanted);
        child.env("SIM_SHARD", shard).passes()
    };
    let shown = |code: u8| {
        let (found, said) = merge(&[], &folder);
        assert_eq!(found, code, "{said}");
        said.contains("\nseen ") && said.contains("── programs ── 240 runs")
    };
    run("1/2", "1");
    run("2/2", "0");
    assert!(!shown(0), "it was counted in one half alone");
    let second = folder.join("sim-tests/test-shell.fixture.adds_up/2-of-2.jsonl");
    fs::remove_file(&second).unwrap();
    run("2/2", "1");
    assert!(shown(0));

    // A run that continues where they were not counted names the problem.
    let text = fs::read_to_string(&second).unwrap();
    fs::remove_file(&second).unwrap();
    run("2/2", "0");
    run("2/2", "1")
        .says(&["coverage and statistics are not shown: some of the seeds were run before"]);

    // This warning does not replace the warnings about the runs.
    let of_tasks = folder.join("of tasks");
    let leaves_tasks = |wanted: &str, time: &str| {
        let child = child("many_runs::leaves_tasks").env("SIM_RESULTS", &of_tasks);
        let child = child.env("SIM_SEEDS", "40").env("SIM_COVERAGE", wanted);
        child.env("SIM_TIME", time).passes()
    };
    leaves_tasks("0", "0s");
    let ended = leaves_tasks("1", "60s");
    ended.says(&["had not ended when the test body did", "coverage and statistics are not shown"]);

    // The last line states whether coverage is complete. Without this line, the merge cannot know that.
    for shard in ["1-of-2", "2-of-2"] {
        let file = second.with_file_name(format!("{shard}.jsonl"));
        let text =
            if shard == "2-of-2" { text.clone() } else { fs::read_to_string(&file).unwrap() };
        let lines = text.lines().filter(|line| !line.contains("ended"));
        fs::write(&file, lines.collect::<Vec<_>>().join("\n")).unwrap();
    }
    assert!(!shown(3));
    run("1/2", "1").says(&["seen", "programs"]);
    assert!(shown(0));
}

// ---- random splits

/// A generator of numbers that are the same in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Returns a number from `0..bound` (SplitMix64).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound
    }
}

/// The test and the settings of a round.
struct Round<'a> {
    test: &'a str,
    seeds: String,
    variant: &'a str,
    strategy: &'a str,
    shown: bool,
    closure: bool,
}

impl Round<'_> {
    fn child(&self, folder: &Path, numbers: &mut Numbers) -> Child {
        let child = child(self.test).env("SIM_RESULTS", folder).env("SIM_SEEDS", &self.seeds);
        let child = child.env("UNPAUSE_VARIANT", self.variant).env("SIM_OUT", folder.join("out"));
        let child = child.env("SIM_JOBS", (1 + numbers.below(3)).to_string());
        let child = child.env("SIM_STRATEGY", self.strategy);
        let child = if self.closure { child.env("SIM_CLOSURE", "1") } else { child };
        match self.shown {
            true => child.env("SIM_COVERAGE", "1").env("SIM_STATISTICS", "1"),
            false => child,
        }
    }

    /// Begins a shard and ends it in some way.
    fn interrupted(&self, folder: &Path, shard: &str, numbers: &mut Numbers) {
        let way = numbers.below(3);
        let nap = Duration::from_millis(numbers.below(60));
        let mut child = || self.child(folder, numbers).env("SIM_SHARD", shard);
        match way {
            0 => drop(child().env("SIM_TIME", "1ms").run()),
            1 => {
                let (mut one, mut other) = (child().start(), child().start());
                std::thread::sleep(nap);
                one.kill().unwrap();
                one.wait().unwrap();
                other.wait().unwrap();
            }
            _ => drop(child().run()),
        }
        // The file is cut at a random position, as if the process had been killed while it wrote.
        let file = shard.replace('/', "-of-");
        let file = folder.join(format!("sim-tests/test-shell.fixture.{}/{file}.jsonl", self.test));
        let length = fs::metadata(&file).unwrap().len();
        if numbers.below(2) == 0 {
            let left = numbers.below(length + 1);
            OpenOptions::new().write(true).open(&file).unwrap().set_len(left).unwrap();
        }
    }
}

/// The lowest failing seed, kind and place, if any.
fn failure(said: &str) -> Option<(String, String)> {
    let (_, failed) = said.split_once("  failed   ")?;
    let seed = failed.split_once("seed ").map_or("", |(_, seed)| seed);
    let seed = seed.chars().take_while(char::is_ascii_digit).collect();
    Some((failed.lines().next()?.to_owned(), seed))
}

fn round(number: u64) {
    let mut numbers = Numbers(number);
    let first = numbers.below(1000);
    let seeds = format!("{first}..{}", first + 1 + numbers.below(150));
    let (test, variant) = match numbers.below(6) {
        0 => ("draws", ""),
        1 => ("must_fail", ["fixed", ""][numbers.below(2) as usize]),
        2 => ("adds_up", "wants too much"),
        _ => ("adds_up", ""),
    };
    let strategy = ["random", "portfolio", "pos", "pct:2"][numbers.below(4) as usize];
    let (shown, closure) = (numbers.below(3) > 0, numbers.below(4) == 0);
    let round = Round { test, seeds, variant, strategy, shown, closure };
    let (parts, whole) = (folder(&format!("split {number}")), folder(&format!("unsplit {number}")));
    let one = round.child(&whole, &mut numbers).run();
    let of = 1 + numbers.below(5);
    for shard in 1..=of {
        let shard = format!("{shard}/{of}");
        for _ in 0..numbers.below(3) {
            round.interrupted(&parts, &shard, &mut numbers);
        }
        round.child(&parts, &mut numbers).env("SIM_SHARD", &shard).run();
    }
    let (wanted, single) = merge(&["--json"], &whole);
    let (code, together) = merge(&["--json"], &parts);
    let about =
        format!("round {number}, {of} shards of {test} {variant:?} {} {strategy}", round.seeds);
    // An execution of all seeds must give the same verdict as the merge of its shards.
    assert_eq!(one.code, Some(if wanted == 0 { 0 } else { 101 }), "{about}: {one}\n{single}");
    assert_eq!(code, wanted, "{about}: {together}\n{single}");
    let (text, single_text) = (merge(&[], &parts).1, merge(&[], &whole).1);
    assert_eq!(failure(&text), failure(&single_text), "{about}");
    if failure(&text).is_none_or(|(_, seed)| seed.is_empty()) {
        // A run that was sampled in addition may have failed. Such a run has no seed, and its trace is in another
        // folder.
        let single = single.replace("/unsplit ", "/split ");
        assert_eq!(together.lines().next(), single.lines().next(), "{about}");
    }
    // The merge shows the report of the run, byte for byte.
    if let Some((_, shown)) = text.split_once("\npassed  ") {
        let shown = shown.split("\nnote: ").next().unwrap();
        let shown = format!("passed  {}", shown.trim_end());
        assert!(one.stderr.contains(&shown), "{about}: {shown}\nis not in {one}");
    } else {
        assert!(code != 0 || !round.shown || test == "must_fail", "{about}: {text}");
    }
    fs::remove_dir_all(parts).unwrap();
    fs::remove_dir_all(whole).unwrap();
}

/// `UNPAUSE_LONG=1` makes 1,000 rounds.
#[cfg_attr(feature = "sim", test)]
fn any_split_killed_and_gone_on_with_is_the_single_run() {
    let rounds = if sim_tests::histories::long() { 1000 } else { 8 };
    let began = Instant::now();
    (0..rounds).for_each(round);
    println!("{rounds} rounds in {} s", began.elapsed().as_secs());
}
