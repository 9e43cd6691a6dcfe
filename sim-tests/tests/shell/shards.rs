//! Long explorations: shards, their files, resuming, merging.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::child::child;

/// Creates an empty folder for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shards").join(name);
    // The folder may not exist.
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// The exit code of `cargo unpause merge` and its output.
pub(crate) fn merge(arguments: &[&str], folder: &Path) -> (u8, String) {
    let mut all = vec!["merge".into()];
    all.extend(arguments.iter().map(Into::into));
    all.push(folder.into());
    let mut terminal = cargo_unpause::Terminal::silent();
    let code = cargo_unpause::run(all, &mut terminal);
    (code, format!("{}{}", terminal.output(), terminal.errors()))
}

/// The files of a test in a folder of results, by name.
pub(crate) fn files(folder: &Path, test: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder.join("sim-tests").join(test))
        .unwrap_or_else(|_| panic!("no results in {}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}

#[test]
fn a_shard_that_was_killed_goes_on_and_all_are_the_whole() {
    let (shards, whole) = (folder("killed"), folder("whole"));
    let shard = |number: u32| {
        let shard = format!("{number}/4");
        let child = child("takes_its_time").env("SIM_RESULTS", &shards).env("SIM_JOBS", "1");
        child.env("SIM_SHARD", shard)
    };
    let mut running: Vec<_> = (1..=4).map(|number| shard(number).start()).collect();
    let second = shards.join("sim-tests/test-shell.fixture.takes_its_time/2-of-4.jsonl");
    let began = Instant::now();
    while !fs::read_to_string(&second).is_ok_and(|text| text.contains("done")) {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing was written down");
        std::thread::sleep(Duration::from_millis(5));
    }
    running[1].kill().unwrap();
    for child in &mut running {
        child.wait().unwrap();
    }
    let (code, said) = merge(&[], &shards);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("of 9,000 seeds, in 4 files") && said.contains("not run"), "{said}");

    let ended = shard(2).passes();
    ended.says(&["seeds were not run", "2-of-4.jsonl"]);
    let (code, said) = merge(&["--json"], &shards);
    assert_eq!(code, 0, "{said}");
    child("takes_its_time").env("SIM_RESULTS", &whole).passes();
    assert_eq!(merge(&["--json"], &whole), (0, said));
}

#[cfg_attr(feature = "sim", test)]
fn the_lowest_failing_seed_of_all_shards_is_that_of_the_whole() {
    let (shards, whole) = (folder("failing"), folder("failing whole"));
    for number in 1..=4 {
        let shard = child("draws").env("SIM_RESULTS", &shards).env("SIM_SEEDS", "400");
        // A shard may contain no failing seed.
        shard.env("SIM_SHARD", format!("{number}/4")).run();
    }
    child("draws").env("SIM_RESULTS", &whole).env("SIM_SEEDS", "400").fails();
    let (code, alone) = merge(&[], &whole);
    assert_eq!(code, 1, "{alone}");
    let of = |said: &str| {
        let seed = said.split_once("seed ").unwrap_or_else(|| panic!("no seed: {said}")).1;
        seed.chars().take_while(char::is_ascii_digit).collect::<String>()
    };
    let (code, together) = merge(&[], &shards);
    assert_eq!((code, of(&together)), (1, of(&alone)), "{together}");
    // One bug must form one group, for every shard and value.
    assert_eq!(together.matches("failed ").count(), 1, "{together}");
    assert!(together.contains("panic  sim-tests/tests/shell/fixture.rs:"), "{together}");
    assert!(together.contains("SIM_REPLAY="), "{together}");
}

#[test]
fn results_of_another_run_are_not_gone_on_from() {
    let folder = folder("other");
    let with = |seeds: &str| {
        child("lost_update_of_another_test").env("SIM_RESULTS", &folder).env("SIM_SEEDS", seeds)
    };
    with("10").passes();
    let file = &files(&folder, "test-shell.fixture.lost_update_of_another_test")[0];
    let before = fs::read(file).unwrap();
    with("20").fails().says(&["1-of-1.jsonl cannot: it is of another run", "Delete it"]);
    assert_eq!(fs::read(file).unwrap(), before);
    with("10").passes().says(&["10 seeds were not run"]);
}

#[test]
fn each_case_of_a_function_has_results_of_its_own() {
    let folder = folder("cases");
    for case in ["with_cases::case_1", "with_cases::case_2", "with_test_cases::test_case_1_one"] {
        child(case).env("SIM_RESULTS", &folder).run();
    }
    let tests: Vec<_> = fs::read_dir(folder.join("sim-tests")).unwrap().collect();
    assert_eq!(tests.len(), 3, "{tests:?}");
}

#[test]
fn a_file_that_makes_no_sense_is_told_with_its_place_and_hides_no_other() {
    let folder = folder("malformed");
    let whole = child("lost_update_of_another_test").env("SIM_RESULTS", &folder);
    whole.passes();
    let header =
        fs::read_to_string(&files(&folder, "test-shell.fixture.lost_update_of_another_test")[0]);
    let header = header.unwrap().lines().next().unwrap().replace("_of_another_test", "");
    let header =
        header.replace("\"count\":20,\"shard\":1,\"of\":1", "\"count\":8,\"shard\":1,\"of\":4");
    assert!(header.contains("\"of\":4"), "{header}");
    for (text, words) in [
        ("{\"sim\":7}\n".to_owned(), "1-of-4.jsonl:1: it was written by another version"),
        (header.replace("\"of\":4", "\"of\":0") + "\n", ":1: there is no shard 1 of 0"),
        (
            header.replace("\"count\":8", "\"count\":18446744073709551616") + "\n",
            ":1: `count` is not a whole number",
        ),
        (format!("{header}\n{{\"from\":0,\"done\":3,\"steps\":1}}\n"), ":2: seeds 0 to 3 cannot"),
        (format!("{header}\n{{\"from\":0,\"done\":1,\"steps\":1}}\n{{}}\n"), ":3: neither `done`"),
        (format!("{header}\n{{\"failed\":4}}\n"), ":2: `kind` is not text"),
        ("{\"type\":\"invoke\"}\n".to_owned(), "1-of-4.jsonl: no results of unpause"),
    ] {
        fs::write(folder.join("1-of-4.jsonl"), &text).unwrap();
        let (code, said) = merge(&[], &folder);
        let other = said.contains("passed   20 of 20 seeds, in 1 file");
        assert!(code == 2 && said.contains(words) && other, "{text}{code}: {said}");
    }
    let text = format!("{header}\n{{\"from\":0,\"done\":1,\"steps\":1}}\n{{\"do");
    fs::write(folder.join("1-of-4.jsonl"), text).unwrap();
    let (code, said) = merge(&[], &folder);
    assert!(code == 3 && said.contains("1 line is not whole"), "{code}: {said}");
    assert!(said.contains("not run  7 seeds: 1, 2, 3, …, 7"), "{said}");
    assert_eq!(merge(&[], &folder.join("nowhere")).0, 2);
}

#[test]
fn a_file_that_was_only_begun_is_a_part_that_is_missing() {
    let folder = folder("begun");
    child("lost_update_of_another_test").env("SIM_RESULTS", &folder).passes();
    assert_eq!(merge(&[], &folder).0, 0);
    for begun in ["", "\n", "{", "{\"sim\":2,\"pack"] {
        fs::write(folder.join("2-of-2.jsonl"), begun).unwrap();
        let (code, said) = merge(&[], &folder);
        assert_eq!(code, 3, "{begun:?}: {said}");
        assert!(said.contains("2-of-2.jsonl: nothing was written to it yet"), "{said}");
    }
    // The file is also refused if it is the only file.
    fs::remove_dir_all(folder.join("sim-tests")).unwrap();
    assert_eq!(merge(&[], &folder).0, 3);
}

#[test]
fn other_files_are_listed_and_hide_nothing() {
    let folder = folder("foreign");
    child("lost_update_of_another_test").env("SIM_RESULTS", &folder).passes();
    fs::create_dir_all(folder.join("traces/t")).unwrap();
    let history = "{\"type\":\"invoke\",\"f\":\"read\",\"value\":-1.5}\n";
    fs::write(folder.join("traces/t/17.jsonl"), history).unwrap();
    let (code, said) = merge(&[], &folder);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("no results  ") && said.contains("17.jsonl"), "{said}");
    assert!(said.contains("passed   20 of 20"), "{said}");
    // If the folder contains only this file, or the user named the file itself, the user meant the file.
    assert_eq!(merge(&[], &folder.join("traces")).0, 2);
    assert_eq!(merge(&[], &folder.join("traces/t/17.jsonl")).0, 2);
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_what_is_no_file_is_left_alone() {
    let folder = folder("links");
    child("lost_update_of_another_test").env("SIM_RESULTS", folder.join("own")).passes();
    fs::create_dir_all(folder.join("all")).unwrap();
    std::os::unix::fs::symlink(folder.join("own"), folder.join("all/link")).unwrap();
    std::os::unix::fs::symlink(folder.join("all"), folder.join("all/up")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(folder.join("all/pipe.jsonl")).status();
    assert!(pipe.is_ok_and(|status| status.success()));
    let (code, said) = merge(&[], &folder.join("all"));
    assert!(code == 0 && said.contains("20 of 20 seeds, in 1 file"), "{code}: {said}");
}

#[test]
fn what_never_held_in_a_shard_may_hold_in_another() {
    child("never_sees_it").fails().says(&["\"the impossible\" never held"]);
    let shard = child("never_sees_it").env("SIM_SHARD", "1/2");
    shard.passes().says(&["in this part of the seeds; to judge all of them, set SIM_RESULTS"]);
}
