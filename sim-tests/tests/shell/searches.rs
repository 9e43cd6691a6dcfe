//! Searches in several processes: killed, resumed, divided into shares, merged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sim::Ordering::SeqCst;
use sim::strategy::SEARCHES;
use sim::{Atomic, Runner};

use crate::child::{Child, Ended, child, root};
use crate::failures::{fake_cargo, shell};
use crate::shards::{files, folder, merge};

/// Will search the fixture's test `name`, with its results in this folder.
fn search(name: &str, results: &Path) -> Child {
    child(&format!("many_runs::{name}"))
        .env("SIM_STRATEGY", "exhaustive")
        .env("SIM_RESULTS", results)
}

/// The lines about the search in the output of a test.
fn verdict(ended: &Ended) -> Vec<String> {
    let is_verdict =
        |line: &&str| ["explored", "abandoned", "FAILED"].iter().any(|word| line.contains(word));
    let said = format!("{}{}", ended.stdout, ended.stderr);
    said.lines().filter(is_verdict).map(str::to_owned).collect()
}

/// Returns the files of a test that is searched.
fn files_of(results: &Path, name: &str) -> Vec<PathBuf> {
    files(results, &format!("test-shell.fixture.many_runs.{name}"))
}

/// Starts a process, and kills it when its file has at least `bytes` bytes. Returns `false` if the process ended
/// before.
fn kill_at(results: &Path, share: &str, bytes: u64) -> bool {
    let name = format!("{}.jsonl", share.replace('/', "-of-"));
    let file =
        results.join("sim-tests").join("test-shell.fixture.many_runs.takes_many_runs").join(name);
    let child = search("takes_many_runs", results).env("SIM_SHARD", share);
    let (mut running, began) = (child.start(), Instant::now());
    while fs::metadata(&file).map_or(0, |file| file.len()) < bytes {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing was written down");
        if running.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    true
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_was_killed_goes_on_and_ends_as_if_it_had_not_been() {
    let (results, whole) = (folder("search killed"), folder("search whole"));
    let mut killed = 0;
    for bytes in [1_000, 8_000, 16_000] {
        killed += u32::from(kill_at(&results, "1/1", bytes));
        // The last line may not be whole.
        for file in files_of(&results, "takes_many_runs") {
            let text = fs::read(&file).unwrap();
            fs::write(&file, &text[..text.len().saturating_sub(7).max(600)]).unwrap();
        }
    }
    assert!(killed > 1, "{killed}");
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("left     round ") && said.contains("SIM_RESULTS="), "{said}");
    // A process that ends because its time is up writes an estimate.
    for file in files_of(&results, "takes_many_runs") {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}\n{{\"estimate\":4000}}\n")).unwrap();
    }
    let (_, said) = merge(&[], &results);
    let estimated = ["slice, about ", "slices, about "].iter().any(|words| said.contains(words));
    assert!(estimated && said.contains(" % done"), "{said}");

    let resumed = search("takes_many_runs", &results).env("SIM_JOBS", "2").passes();
    resumed.says(&["runs were not made", "1-of-1.jsonl"]);
    let alone = search("takes_many_runs", &whole).env("SIM_JOBS", "1").passes();
    let plain = child("many_runs::takes_many_runs").env("SIM_STRATEGY", "exhaustive").passes();
    assert_eq!(verdict(&resumed), verdict(&plain));
    assert_eq!(verdict(&alone), verdict(&plain));
    let (code, said) = merge(&["--json"], &results);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("\"is_proof\":true"), "{said}");
    // Truncated lines have a note.
    let first = |said: &str| said.lines().next().map(str::to_owned);
    assert_eq!(first(&merge(&["--json"], &whole).1), first(&said));
}

/// Returns the number of lines of slices in the files of a test, and the number of different slices.
fn slices(results: &Path, name: &str) -> (usize, usize) {
    let texts = files_of(results, name).into_iter().map(|file| fs::read_to_string(file).unwrap());
    let lines: Vec<String> =
        texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let keys = lines.iter().filter_map(|line| {
        let key = line.strip_prefix("{\"slice\":")?;
        key.split(']').next()
    });
    let all = keys.clone().count();
    (all, keys.collect::<BTreeSet<_>>().len())
}

#[cfg_attr(feature = "sim", test)]
fn processes_with_one_folder_share_the_rounds_of_one_search() {
    let (results, whole) = (folder("search shared"), folder("search alone"));
    let process = || search("takes_long_runs", &results).env("SIM_JOBS", "1");
    let ended: Vec<Ended> = std::thread::scope(|scope| {
        let running = [(); 3].map(|()| scope.spawn(|| process().passes()));
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let alone = search("takes_many_runs", &whole).env("SIM_JOBS", "1").passes();
    for own in &ended {
        let names =
            |lines: Vec<String>| lines.join("\n").replace("takes_long_runs", "takes_many_runs");
        assert_eq!(names(verdict(own)), names(verdict(&alone)));
    }
    let (code, said) = merge(&[], &results);
    assert!(code == 0 && said.contains("  proved   all 1,106 interleavings"), "{code}: {said}");
    // If the processes did not read each other's lines, each process would execute all slices.
    let (made, different) = slices(&results, "takes_long_runs");
    assert!(made < 2 * different, "{made} lines of {different} slices");
}

#[cfg_attr(feature = "sim", test)]
fn the_printed_command_continues_the_search() {
    let (results, cargo) = (folder("search continued"), fake_cargo("search continued"));
    let begun = search("takes_many_runs", &results).env("SIM_STEPS", "5000");
    begun.env("SIM_SEEDS", "40").passes().says(&["the search is not through"]);
    // The command names the folder of all results, for any merged folder.
    let merged = || merge(&[], &results.join("sim-tests"));
    let mut commands = 0;
    loop {
        let (code, said) = merged();
        if code == 0 {
            break;
        }
        assert!(code == 3 && commands < 4, "{code}: {said}");
        commands += 1;
        let command = said.lines().find(|line| line.contains(" cargo test ")).unwrap().trim();
        for part in ["search continued' ", "SIM_STRATEGY=exhaustive ", "SIM_STEPS=5000 "] {
            assert!(command.contains(part), "{part}: {command}");
        }
        // The printed limit must be higher than the number of runs so far.
        assert!(!command.contains("SIM_SEEDS=40 "), "{command}");
        let continued = shell(command, &root(), Some(&cargo));
        assert_eq!(continued.code, Some(0), "{command} {continued}");
        continued.says(&["runs were not made"]);
    }
    assert!(commands > 0);

    // A share that has not begun is started with the settings of the other shares.
    let shares = folder("share continued");
    let first = search("takes_many_runs", &shares).env("SIM_STEPS", "5000");
    first.env("SIM_SHARD", "1/2").passes();
    let (code, said) = merge(&[], &shares);
    assert!(code == 3 && said.contains("share 2 of 2: not begun"), "{code}: {said}");
    let command = said.lines().find(|line| line.contains("SIM_SHARD=2/2 ")).unwrap().trim();
    assert!(command.contains(" SIM_SEEDS=1000000 "), "{command}");
    let second = shell(command, &root(), Some(&cargo));
    assert_eq!(second.code, Some(0), "{command} {second}");
    let (code, said) = merge(&[], &shares);
    assert!(code == 0 && said.contains("interleavings pass in 2 shares"), "{code}: {said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_search_within_a_bound_on_early_moves_is_complete() {
    let bounded = "with at most 2 early time moves";
    for (strategy, clock) in
        [("exhaustive", "late:2"), ("preemptions", "late:2"), ("exhaustive", "late:4")]
    {
        let results = |what: &str| folder(&format!("{what} of {strategy} with {clock}"));
        let (whole, shares) = (results("whole"), results("shares"));
        let run = |results: &Path| {
            let search = search("waits_with_time_limits", results).env("SIM_CLOCK", clock);
            // The line must not be cut.
            search.env("SIM_STRATEGY", strategy).env("COLUMNS", "200")
        };
        let alone = run(&whole).passes();
        assert_eq!(alone.stderr.contains(bounded), clock == "late:2", "{alone}");
        let runs = alone.stderr.split_once("explored all ").unwrap().1.split_once(' ').unwrap().0;
        let expected = |of: &str| match clock {
            "late:2" => format!("  passed   all {runs} runs {bounded}{of}\n"),
            _ => format!("  proved   all {runs} interleavings pass{of}"),
        };
        let (code, said) = merge(&[], &whole);
        assert!(code == 0 && said.contains(&expected("")), "{code}: {said}");
        let is_stated = alone.stderr.contains("(assumes that ");
        assert_eq!(said.contains("  assumes  that "), is_stated, "{said}\n{alone}");
        run(&shares).env("SIM_SHARD", "1/2").passes();
        let (code, said) = merge(&[], &shares);
        assert!(code == 3 && !said.contains("passed   all"), "{code}: {said}");
        run(&shares).env("SIM_SHARD", "2/2").passes();
        let (code, said) = merge(&[], &shares);
        assert!(code == 0 && said.contains(&expected(" in 2 shares")), "{code}: {said}");
    }
    // With two bounds.
    for strategy in ["preemptions:0", "preemptions:4"] {
        let results = folder(&format!("late {strategy}"));
        let search = search("waits_with_time_limits", &results).env("SIM_CLOCK", "late:2");
        let alone = search.env("SIM_STRATEGY", strategy).passes();
        alone.says_not("than the early time moves that `clock` allows");
        let (code, said) = merge(&["--json"], &results);
        assert!(code == 0 && said.contains("\"unproved\":[]"), "{code}: {said}");
        let is_stated = said.contains("at most 2 early time moves\"");
        assert!(is_stated || strategy == "preemptions:0", "{said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_thread_that_waits_for_a_slice_of_another_is_not_hung() {
    let results = folder("search of long runs");
    let search = search("takes_long_runs", &results).env("SIM_JOBS", "2").env("SIM_TIME", "5s");
    search.passes().says(&["the search is not through"]);
}

#[cfg_attr(feature = "sim", test)]
fn shares_that_do_not_see_each_other_are_a_proof_together() {
    let results = folder("search shares");
    for share in ["1/3", "3/3"] {
        let ended = search("takes_many_runs", &results).env("SIM_SHARD", share).passes();
        ended.says(&["explored share", "NOT A PROOF"]);
    }
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 3, "{said}");
    let left = "share 2 of 3: not begun";
    assert!(
        said.contains(left) && said.contains("SIM_SHARD=2/3") && !said.contains("proved"),
        "{said}"
    );
    kill_at(&results, "2/3", 3_000);
    search("takes_many_runs", &results).env("SIM_SHARD", "2/3").passes();
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("proved   all 1,106 interleavings pass in 3 shares"), "{said}");

    // A slice without a line counts as not explored.
    let file = &files_of(&results, "takes_many_runs")[1];
    let text = fs::read_to_string(file).unwrap();
    let without: Vec<&str> =
        text.lines().filter(|line| !line.contains("\"slice\":[0,1,3]")).collect();
    assert!(without.len() < text.lines().count());
    fs::write(file, without.join("\n")).unwrap();
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("share 2 of 3: round 1, 15 of 16 slices"), "{said}");

    // Two different lines of one slice are an error, because a slice has only one possible content.
    let line = text.lines().rfind(|line| line.contains("\"slice\":[0,1,3]")).unwrap();
    let other = line.replace("\"runs\":[", "\"runs\":[1");
    fs::write(file, format!("{text}{other}\n")).unwrap();
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("is not a function of its decisions"), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn shares_of_each_search_are_the_whole_search() {
    for row in SEARCHES {
        let strategy = row.numbered.get(2).unwrap_or(&row.name);
        let results = |what: &str| folder(&format!("{what} of {}", row.name));
        let (shares, whole) = (results("shares"), results("whole"));
        let run = |results: &Path| search("takes_many_runs", results).env("SIM_STRATEGY", strategy);
        run(&whole).passes();
        let (code, alone) = merge(&[], &whole);
        assert_eq!(code, 0, "{alone}");
        for share in ["1/3", "2/3"] {
            run(&shares).env("SIM_SHARD", share).passes().says(&["explored share", "NOT A PROOF"]);
        }
        let (code, said) = merge(&[], &shares);
        assert!(code == 3 && said.contains("share 3 of 3: not begun"), "{said}");
        run(&shares).env("SIM_SHARD", "3/3").passes();
        let (code, together) = merge(&[], &shares);
        assert_eq!(code, 0, "{together}");
        // The label, and the number of runs.
        let verdict = |said: &str| {
            let words = said.lines().nth(1).unwrap().split_whitespace().take(3);
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(verdict(&alone)[1] == "all" && together.contains(" in 3 shares"), "{together}");
        assert_eq!(verdict(&alone), verdict(&together), "{strategy}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn statistics_of_each_search_are_read_back() {
    for row in SEARCHES {
        let strategy = row.numbered.get(2).unwrap_or(&row.name);
        let results = folder(&format!("statistics of {}", row.name));
        let run = || {
            let search = search("takes_many_runs", &results).env("SIM_STRATEGY", strategy);
            search.env("SIM_STATISTICS", "1").passes()
        };
        run();
        run().says(&["runs were not made"]);
        let (code, said) = merge(&[], &results);
        assert_eq!(code, 0, "{strategy}: {said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_with_weak_memory_is_a_proof_in_any_number_of_shares() {
    let runs = |said: &str| said.lines().nth(1).map(|line| line.replace(" in 3 shares", ""));
    for strategy in ["preemptions", "delays", "preemptions:0"] {
        let whole = [1, 3].map(|shares| {
            let results = folder(&format!("weak {strategy} in {shares}"));
            for number in 1..=shares {
                let search = || {
                    let search = search("publishes", &results).env("SIM_STRATEGY", strategy);
                    search.env("SIM_MEMORY", "c11").env("SIM_SHARD", format!("{number}/{shares}"))
                };
                // The search continues after its first runs.
                search().env("SIM_SEEDS", "4").passes();
                search().env("SIM_JOBS", "2").passes();
            }
            let (code, said) = merge(&[], &results);
            assert_eq!(code, 0, "{said}");
            let proved =
                if strategy == "preemptions:0" { "  passed   all " } else { "  proved   all " };
            assert!(said.contains(proved) && said.contains("act as in C11"), "{said}");
            runs(&said)
        });
        assert_eq!(whole[0], whole[1], "{strategy}");
        assert!(whole[0].is_some());
    }
}

#[cfg_attr(feature = "sim", test)]
fn shares_of_a_search_of_tasks_with_weak_memory_are_a_proof() {
    let share = |test: &str, results: &PathBuf, share: &str| {
        let search = search(test, results).env("SIM_STRATEGY", "exhaustive");
        search.env("SIM_MEMORY", "c11").env("SIM_SHARD", share).passes();
    };
    // The operations of the second test have weaker orders.
    for (test, shares) in [("takes_many_runs", 2), ("publishes", 1), ("publishes", 3)] {
        let results = folder(&format!("weak shares of {test} {shares}"));
        // A share without runs learns from the files of the others that operations choose stores.
        for number in (1..=shares).chain(1..=shares) {
            share(test, &results, &format!("{number}/{shares}"));
        }
        let (code, said) = merge(&[], &results);
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("  proved   all "), "{said}");
        assert_eq!(said.contains("act as in C11"), test == "publishes", "{said}");
        assert!(!said.contains("No sampled runs"), "{said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_that_leaves_nothing_out_is_a_proof() {
    let results = folder("bounded proof");
    search("shares_unseen", &results).env("SIM_STRATEGY", "preemptions").passes();
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("  proved   all ") && !said.contains("assumes"), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_share_that_fails_is_a_failure_of_the_search() {
    let results = folder("search failing");
    let mut failed = 0;
    for number in 1..=3 {
        let share = format!("{number}/3");
        let ended = search("takes_many_runs_and_fails", &results).env("SIM_SHARD", share).run();
        failed += u32::from(ended.code != Some(0));
    }
    assert!(failed > 0);
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("failed   panic") && said.contains("SIM_REPLAY="), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_continues() {
    let results = folder("search bounded");
    let bounded =
        |strategy: &str| search("takes_many_runs", &results).env("SIM_STRATEGY", strategy);
    bounded("preemptions:2").passes().says(&["explored all 2867 runs"]);
    let again = bounded("preemptions:2").passes();
    again.says(&["runs were not made", "explored all 2867 runs"]);
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 0, "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_begins_again_after_its_audit_goes_on_from_there() {
    let results = folder("search unseen");
    let first = search("shares_unseen", &results).passes();
    first.says(&["each order of steps was a run of its own"]);
    let again = search("shares_unseen", &results).passes();
    again.says(&["runs were not made"]);
    assert_eq!(verdict(&again), verdict(&first));
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 0, "{said}");
    let runs = first.stderr.split_once("explored all ").unwrap().1.split_once(' ').unwrap().0;
    assert!(said.contains(&format!("proved   all {runs} interleavings pass")), "{said}");
    assert!(!said.contains("assumes"), "{said}");

    // If the runs after the audit are missing, the search is not complete.
    let file = &files_of(&results, "shares_unseen")[0];
    let text = fs::read_to_string(file).unwrap();
    let (before, _) = text.split_once("\"begins_again\":true}\n").unwrap();
    fs::write(file, format!("{before}\"begins_again\":true}}\n")).unwrap();
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("left     round 0") && !said.contains("proved"), "{said}");

    let shares = folder("search unseen shares");
    for share in ["1/2", "2/2"] {
        search("shares_unseen", &shares).env("SIM_SHARD", share).passes();
    }
    let (code, said) = merge(&[], &shares);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains(&format!("proved   all {runs} interleavings pass in 2 shares")),
        "{said}"
    );
}

#[cfg_attr(feature = "sim", test)]
fn what_is_about_all_runs_is_judged_for_all_shares_together() {
    let results = folder("search conditions");
    for share in ["1/2", "2/2"] {
        let child = child("never_sees_it").env("SIM_STRATEGY", "exhaustive");
        let ended = child.env("SIM_RESULTS", &results).env("SIM_SHARD", share).passes();
        // The second share has no run, because the test has one interleaving.
        if share == "1/2" {
            ended.says(&["the impossible never held", "cargo unpause merge judges all of them"]);
        }
    }
    let (code, said) = merge(&[], &results);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("failed   too seldom"), "{said}");
    // A single share cannot complete the required proof, and its message says only this.
    let share = child("proves").env("SIM_STRATEGY", "exhaustive").env("SIM_SHARD", "1/2");
    share.passes().says(&["explored share 1 of 2", "NOT A PROOF"]);
}

#[cfg_attr(feature = "sim", test)]
fn a_condition_that_holds_without_a_delay_holds_in_all_runs_with_one() {
    let results = folder("search levels");
    let search = Runner::new().hermetic().name("levels").strategy("delays:1").results(&results);
    let report = search.run(async || {
        // The number of the task of each step.
        let steps = Arc::new(Mutex::new(vec![0_u8]));
        let task = |number: u8| {
            let steps = steps.clone();
            sim::spawn(async move {
                steps.lock().unwrap().push(number);
                Atomic::new(0_u8).fetch_add(1, SeqCst).await;
                steps.lock().unwrap().push(number);
            })
        };
        for joined in [task(1), task(2)] {
            joined.await.unwrap();
            steps.lock().unwrap().push(0);
        }
        let steps = steps.lock().unwrap().clone();
        sim::sometimes!(steps == [0, 1, 1, 2, 2, 0, 0], "a run without a delay");
    });
    assert!(report.passed() && report.runs > 1, "{report:?}");
    let (code, said) = merge(&[], &results);
    assert!(code == 0 && said.contains("with at most 1 delay"), "{code}: {said}");
}

#[cfg_attr(feature = "sim", test)]
fn lines_that_no_search_writes_are_refused_or_left_out() {
    let results = folder("search hostile");
    search("takes_many_runs", &results).passes();
    let file = &files_of(&results, "takes_many_runs")[0];
    let text = fs::read_to_string(file).unwrap();
    let large = u64::MAX.to_string();
    for (what, with, code, message) in [
        ("\"of\":1,", format!("\"of\":{large},"), 3, "left     and "),
        ("\"runs\":[207,", format!("\"runs\":[{large},"), 2, "`runs` is too large"),
        ("\"slice\":[0,0,0]", format!("\"slice\":[{large},0,0]"), 2, "`slice` is too large"),
        ("\"rest\":[", "\"rest\":[[],".to_owned(), 2, "`rest` is not what a slice has"),
        ("\"wishes\":[[", "\"wishes\":[[999,[0],0],[".to_owned(), 2, "of another part"),
        ("\"audit\":0", "\"audit\":7".to_owned(), 3, "explored, and not audited"),
    ] {
        let changed = text.replacen(what, &with, 1);
        assert_ne!(changed, text, "{what}");
        fs::write(file, changed).unwrap();
        let (got, said) = merge(&[], &results);
        assert!(got == code && said.contains(message), "{what}: {got} {said}");
    }
}
