//! Searches that add up: any division, killed and continued, has the verdict of the search in one piece.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::child::{Child, Ended, child, root};
use crate::shards::{files, folder, merge};
use crate::sums::Numbers;

/// The strategies of the rounds, by number.
const STRATEGIES: [&str; 7] = [
    "exhaustive",
    "preemptions:2",
    "exhaustive",
    "delays:2",
    "exhaustive",
    "preemptions:1",
    "delays:1",
];

/// The search of a round.
struct Round {
    test: &'static str,
    strategy: &'static str,
    /// The number of shares.
    of: u64,
}

impl Round {
    fn child(&self, results: &Path, numbers: &mut Numbers) -> Child {
        child(&format!("many_runs::{}", self.test))
            .env("SIM_STRATEGY", self.strategy)
            .env("SIM_RESULTS", results)
            .env("SIM_OUT", results.join("out"))
            .env("SIM_JOBS", (1 + numbers.below(3)).to_string())
    }

    fn share(&self, results: &Path, number: u64, numbers: &mut Numbers) -> Child {
        self.child(results, numbers).env("SIM_SHARD", format!("{number}/{}", self.of))
    }

    /// Begins a share and ends it in some way.
    fn interrupted(&self, results: &Path, number: u64, numbers: &mut Numbers) {
        let way = numbers.below(4);
        let (limit, runs) = (1 + numbers.below(40), 1 + numbers.below(1500));
        let nap = Duration::from_millis(numbers.below(120));
        let mut share = || self.share(results, number, numbers);
        match way {
            0 => drop(share().env("SIM_TIME", format!("{limit}ms")).run()),
            1 => drop(share().env("SIM_SEEDS", runs.to_string()).run()),
            _ => {
                let mut others: Vec<_> = (2..way).map(|_| share().start()).collect();
                let mut killed = share().start();
                std::thread::sleep(nap);
                killed.kill().unwrap();
                killed.wait().unwrap();
                for other in &mut others {
                    other.wait().unwrap();
                }
            }
        }
        // The file is cut at a random position, as if the process had been killed while it wrote. A process that was
        // killed early has no file.
        let folder = results.join(format!("sim-tests/test-shell.fixture.many_runs.{}", self.test));
        let file = folder.join(format!("{number}-of-{}.jsonl", self.of));
        if let (Ok(file), 0) = (OpenOptions::new().write(true).open(file), numbers.below(2)) {
            let left = numbers.below(file.metadata().unwrap().len() + 1);
            file.set_len(left).unwrap();
        }
    }

    /// The classes of the runs, according to the files.
    fn classes(&self, results: &Path) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for file in files(results, &format!("test-shell.fixture.many_runs.{}", self.test)) {
            // Slices of an earlier generation do not count.
            let mut generations: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
            for line in fs::read_to_string(file).unwrap().lines() {
                // A line may be cut off.
                let line: Json = serde_json::from_str(line).unwrap_or_default();
                let Some(generation) = line["slice"][0].as_u64() else { continue };
                let digits = line["classes"].as_str().unwrap().as_bytes().chunks(16);
                let classes = digits.map(|digits| String::from_utf8(digits.to_vec()).unwrap());
                generations.entry(generation).or_default().extend(classes);
            }
            all.extend(generations.into_values().next_back().unwrap_or_default());
        }
        all
    }
}

/// The facts of a verdict that do not depend on the division. The shares of a failing search end after different runs.
fn facts(verdict: &Json, is_divided: bool) -> Json {
    let failures = verdict["failures"].as_array().unwrap().iter();
    let failures: Vec<Json> =
        failures.map(|failure| json!([failure["kind"], failure["place"]])).collect();
    let mut names = vec!["is_proof", "bound", "unproved"];
    if failures.is_empty() {
        names.extend(["runs", "left", "shares_left"]);
    }
    if !is_divided {
        names.extend(["runs", "blocked", "shares", "shares_left"]);
    }
    let facts: Vec<&Json> = names.iter().map(|name| &verdict[*name]).collect();
    json!([failures, facts])
}

/// The exit code and the verdict of the command.
fn merged(results: &Path) -> (u8, Json) {
    let (code, said) = merge(&["--json"], results);
    let verdict = said.lines().next().and_then(|line| serde_json::from_str(line).ok());
    (code, verdict.unwrap_or_else(|| panic!("{code}: {said}")))
}

/// Returns the lines on the screen about the search or its failure. The lines of the harness are on the other output.
fn verdict(ended: &Ended) -> Vec<&str> {
    let is_verdict =
        |line: &&str| ["explored", "abandoned", "FAILED"].iter().any(|word| line.contains(word));
    ended.stderr.lines().filter(is_verdict).collect()
}

/// The content of the trace of a failing run, which has each of its decisions.
fn trace(ended: &Ended) -> String {
    fs::read_to_string(root().join(ended.after("trace:"))).unwrap()
}

/// Returns `true` if the search fails.
fn round(number: u64) -> bool {
    let mut numbers = Numbers(number);
    // Every combination occurs in 84 rounds, and each test with one share in the first five.
    let strategy = STRATEGIES[number as usize % STRATEGIES.len()];
    let test = if number % 3 == 0 { "takes_many_runs_and_fails" } else { "takes_many_runs" };
    let round = Round { test, strategy, of: 1 + number % 4 };
    let parts = folder(&format!("search split {number}"));
    let whole = folder(&format!("search unsplit {number}"));
    let one = round.child(&whole, &mut numbers).run();
    let mut last = None;
    for share in 1..=round.of {
        for _ in 0..numbers.below(3) {
            round.interrupted(&parts, share, &mut numbers);
        }
        last = Some(round.share(&parts, share, &mut numbers).run());
    }
    let about = format!("round {number}, {} shares of {test}, {strategy}", round.of);
    let (wanted, single) = merged(&whole);
    let (code, together) = merged(&parts);
    let failed = one.code != Some(0);
    assert_eq!(wanted, u8::from(failed), "{about}: {single}\n{one}");
    assert_eq!(code, wanted, "{about}: {together}\n{single}");
    let is_divided = round.of > 1;
    assert_eq!(facts(&together, is_divided), facts(&single, is_divided), "{about}");
    if let (1, Some(last)) = (round.of, last) {
        assert_eq!(verdict(&last), verdict(&one), "{about}: {last}\n{one}");
        if failed {
            assert_eq!(trace(&last), trace(&one), "{about}");
        }
    }
    if !failed {
        let [classes, others] = [&parts, &whole].map(|results| round.classes(results));
        assert_eq!(classes, others, "{about}");
        let runs = single["runs"].as_u64().unwrap();
        let count = if strategy == "exhaustive" { runs } else { 0 };
        assert_eq!(classes.len() as u64, count, "{about}");
    }
    fs::remove_dir_all(parts).unwrap();
    fs::remove_dir_all(whole).unwrap();
    failed
}

/// `UNPAUSE_LONG=1` makes 1,000 rounds.
#[cfg_attr(feature = "sim", test)]
fn any_division_of_a_search_killed_and_continued_is_the_single_search() {
    let rounds = if sim_tests::histories::long() { 1000 } else { 10 };
    let began = Instant::now();
    let failed = (0..rounds).filter(|number| round(*number)).count();
    assert!(failed > 0 && failed < rounds as usize, "{failed} of {rounds}");
    println!("{rounds} rounds in {} s, {failed} of failing searches", began.elapsed().as_secs());
}

#[cfg_attr(feature = "sim", test)]
fn a_required_proof_is_judged_for_all_parts_together() {
    let search = |results: &Path, strategy: &str| {
        let child = child("many_runs::takes_many_runs").env("SIM_STRATEGY", strategy);
        child.env("SIM_RESULTS", results).env("SIM_MUST_PROVE", "1")
    };
    // If a process ends before the search is complete, only this process fails; the merge shows no failure.
    let results = folder("required proof");
    let unfinished = search(&results, "exhaustive").env("SIM_SEEDS", "40").fails();
    unfinished.says(&["the search proved nothing", "the search is not through"]);
    let (code, said) = merge(&[], &results);
    assert!(code == 3 && !said.contains("failed"), "{code}: {said}");
    search(&results, "exhaustive").passes().says(&["runs were not made"]);
    let (code, said) = merge(&[], &results);
    assert!(code == 0 && said.contains("  proved   all 1,106 interleavings"), "{code}: {said}");

    // A share passes without a proof, but all shares together fail if they have no proof.
    let bounded = folder("required proof within a bound");
    let proved = folder("required proof of shares");
    for (share, is_last) in [("1/2", false), ("2/2", true)] {
        search(&bounded, "preemptions:0").env("SIM_SHARD", share).passes();
        search(&proved, "exhaustive").env("SIM_SHARD", share).passes();
        let [bounded, proved] = [&bounded, &proved].map(|results| merge(&[], results));
        let codes = if is_last { (1, 0) } else { (3, 3) };
        assert_eq!((bounded.0, proved.0), codes, "{bounded:?} {proved:?}");
        let failed =
            "failed   the test requires a proof (must_prove), and the search explored only ";
        assert_eq!(bounded.1.contains(failed), is_last, "{bounded:?}");
    }
}
