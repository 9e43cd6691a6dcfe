//! Certificates of searches: written by a test, verified by the command, and refused if anything is changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{Child, child, folder};
use crate::failures::{calls_the_fixture, fake_cargo};

/// Will search the fixture's test `name`, and write a certificate.
fn searched(name: &str, certificate: &Path) -> Child {
    child(name).env("SIM_STRATEGY", "exhaustive").env("SIM_CERTIFY", certificate)
}

/// The exit code and the text of the command for a certificate.
fn verify(file: &Path, more: &str) -> (String, String) {
    // Tests verify at the same time, each in its own folder.
    let own = file.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
    let answer = folder(&format!("{own}-verified"));
    let arguments = format!("verify\n{}{more}", file.display());
    let started = child("answers::the_command").env("UNPAUSE_ARGUMENTS", arguments);
    let mut command = started.env("UNPAUSE_ANSWER", &answer).into_command();
    // The command is in the file of another module.
    command.env("SIM_OUT", folder(&format!("{own}-out")));
    calls_the_fixture(&mut command, &fake_cargo(&format!("{own}-cargo")));
    assert!(command.output().unwrap().status.success());
    let [code, output, errors] =
        ["code", "output", "errors"].map(|name| fs::read_to_string(answer.join(name)).unwrap());
    (code, format!("{output}{errors}"))
}

/// Writes a certificate with other lines.
fn with(file: &Path, name: &str, change: impl Fn(&mut Vec<String>)) -> PathBuf {
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let changed = file.with_file_name(format!("{name}.certificate"));
    fs::write(&changed, lines.join("\n") + "\n").unwrap();
    changed
}

#[cfg_attr(feature = "sim", test)]
fn a_proof_is_verified_and_a_changed_certificate_is_refused() {
    let file = folder("certificate").join("proves.certificate");
    let ended = searched("proves", &file).passes();
    ended.says(&["certificate in ", "(cargo unpause verify ", "explored all 6 interleavings"]);
    let (code, said) = verify(&file, "");
    assert_eq!(code, "0", "{said}");
    assert!(said.contains("verified shell::fixture::proves\n  runs     6, of 6 classes"), "{said}");
    let (code, said) = verify(&file, "\n--json");
    assert!(code == "0" && said.contains("\"verified\":true"), "{said}");

    // The certificate is refused without any of its runs.
    for nth in 1..=6 {
        let changed = with(&file, "shorter", |lines| {
            drop(lines.remove(nth));
            lines[0] = lines[0].replace("\"runs\":6", "\"runs\":5");
        });
        let (code, said) = verify(&changed, "");
        assert!(code == "1" && said.contains("because  a run is missing: as run "), "{said}");
        assert!(said.contains("\n  steps    0 0."), "{said}");
    }
    for (name, says, code, change) in [
        (
            "cut",
            "it has 5 runs instead of 6",
            "1",
            (|lines| drop(lines.pop())) as fn(&mut Vec<String>),
        ),
        ("twice", "a run is missing", "1", |lines| lines[3] = lines[2].clone()),
        ("torn", "line 4: not the decisions of a run", "2", |lines| lines[3].truncate(30)),
        ("other step", "it has 0 steps instead of ", "1", |lines| {
            lines[1] = lines[1].replace("\"steps\":[0,", "\"steps\":[1,");
        }),
        ("other program", "the program has changed since the search", "2", |lines| {
            lines[0] = lines[0].replace("\"binary\":\"", "\"binary\":\"0");
        }),
        ("other settings", "its settings are", "2", |lines| {
            lines[0] = lines[0].replace("\"settings\":{", "\"settings\":{\"clock\":\"any\",");
        }),
        ("other version", "has version 9, and this cargo-unpause reads 1", "2", |lines| {
            lines[0] = lines[0].replace("\"certificate\":1", "\"certificate\":9");
        }),
        ("other command", "it does not call cargo", "2", |lines| {
            lines[0] = lines[0].replace("cargo test", "touch test");
        }),
        ("nothing", "is no certificate (SIM_CERTIFY writes one)", "2", Vec::clear),
    ] {
        let changed = with(&file, name, change);
        let (own, said) = verify(&changed, "");
        assert!(own == code && said.contains(says), "{name}: {own} {said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_certificate_contains_each_order_of_branches_that_share_memory() {
    let file = folder("branches").join("branches.certificate");
    let ended = searched("many_runs::notes_its_first_branch", &file).passes();
    ended.says(&["certificate in "]);
    let (code, said) = verify(&file, "");
    assert_eq!(code, "0", "{said}");
    for nth in 1..=3 {
        let changed = with(&file, "fewer", |lines| {
            drop(lines.remove(nth));
            lines[0] = lines[0].replace("\"runs\":3", "\"runs\":2");
        });
        let (code, said) = verify(&changed, "");
        assert!(code == "1" && said.contains("a run is missing"), "{nth}: {code} {said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn certificates_of_all_shares_are_one_proof_and_a_missing_share_is_named() {
    let shares = folder("certificates of shares");
    for number in 1..=3 {
        let share = searched("proves", &shares).env("SIM_SHARD", format!("{number}/3"));
        share.passes().says(&["certificate in ", "explored share"]);
    }
    let name = |number: u32| format!("test-shell.fixture.proves-{number}-of-3.certificate");
    let files = [1, 2, 3].map(|number| shares.join(name(number)));
    assert_eq!(crate::child::files(&shares), [1, 2, 3].map(name));
    let of_all = |files: &[PathBuf]| {
        let others: String =
            files[1..].iter().map(|file| format!("\n{}", file.display())).collect();
        verify(&files[0], &others)
    };
    let (code, said) = of_all(&files);
    assert_eq!(code, "0", "{said}");
    assert!(said.contains("  runs     6 in 3 shares, of 6 classes: each passes again"), "{said}");
    // The order of the files makes no difference, and no share may be missing, even one without runs.
    let [one, two, three] = files.clone();
    assert_eq!(of_all(&[three.clone(), one.clone(), two.clone()]).0, "0");
    for (left, number) in [([&two, &three], 1), ([&one, &three], 2), ([&one, &two], 3)] {
        let (code, said) = of_all(&left.map(PathBuf::clone));
        let missing = format!("because  share {number} of 3 is missing: SIM_SHARD={number}/3 ");
        assert!(code == "1" && said.contains(&missing), "{code}: {said}");
    }
    let (code, said) = of_all(std::slice::from_ref(&two));
    assert!(code == "1" && said.contains("shares 1, 3 of 3 are missing"), "{code}: {said}");

    // A share without one of its runs.
    let with_runs = files.iter().position(|file| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().count() > 1
    });
    let at = with_runs.unwrap();
    let (mut shorter, count) = (files.clone(), fs::read_to_string(&files[at]).unwrap());
    let count = count.lines().count() - 1;
    shorter[at] = with(&files[at], "shorter", |lines| {
        drop(lines.pop());
        lines[0] =
            lines[0].replace(&format!("\"runs\":{count}"), &format!("\"runs\":{}", count - 1));
    });
    let (code, said) = of_all(&shorter);
    assert!(code == "1" && said.contains("because  a run is missing: as run "), "{code}: {said}");

    // These files are not the shares of one search.
    let whole = folder("certificate beside shares").join("proves.certificate");
    searched("proves", &whole).passes();
    let other = with(&two, "other test", |lines| {
        lines[0] = lines[0].replace("fixture::proves", "fixture::attempts");
    });
    let divided = with(&two, "other number", |lines| {
        lines[0] = lines[0].replace("\"share\":[2,3]", "\"share\":[2,4]");
    });
    let apart = with(&two, "other differences", |lines| {
        lines[0] = lines[0].replace("\"apart\":[", "\"apart\":[\"steps\",").replace(",]", "]");
    });
    let beyond = with(&two, "no share", |lines| {
        lines[0] = lines[0].replace("\"share\":[2,3]", "\"share\":[4,3]");
    });
    for (files, says) in [
        ([whole.clone(), one.clone()], "is of a whole search, so verify it alone"),
        ([one.clone(), whole], "is not of the same search as"),
        ([one.clone(), other], "is not of the same search as"),
        ([one.clone(), divided], "is not of the same search as"),
        ([one.clone(), apart], "distinguish runs by different criteria"),
        ([one, beyond], "line 1: `share` is not a number and a larger number"),
    ] {
        let (code, said) = of_all(&files);
        assert!(code == "2" && said.contains(says), "{says:?}, {code}: {said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_continued_search_has_the_certificate_of_the_single_search() {
    let (results, certificates) = (folder("continued results"), folder("continued"));
    let files = ["single.certificate", "continued.certificate"];
    let [single, continued] = files.map(|name| certificates.join(name));
    let search = |file: &Path| searched("many_runs::takes_many_runs", file);
    search(&single).passes();
    let process = |child: Child| child.env("SIM_RESULTS", &results);
    // The first process keeps no decisions, so its slices are executed again.
    let without = child("many_runs::takes_many_runs").env("SIM_STRATEGY", "exhaustive");
    process(without).env("SIM_SEEDS", "40").passes().says(&["the search is not through"]);
    for limit in ["300", "600"] {
        let begun = process(search(&continued)).env("SIM_SEEDS", limit);
        begun.passes().says(&["no certificate was written, because "]);
    }
    process(search(&continued)).passes().says(&["certificate in ", "runs were not made"]);
    let text = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(text(&continued), text(&single));
    // Two processes execute the runs, if there are two cores. A missing run is found in both ranges.
    let (code, said) = verify(&continued, "");
    assert!(code == "0" && said.contains("  runs     1,106, of 1,106 classes"), "{code}: {said}");
    for nth in [3, 1_000] {
        let changed = with(&continued, "fewer runs", |lines| {
            drop(lines.remove(nth));
            lines[0] = lines[0].replace("\"runs\":1106", "\"runs\":1105");
        });
        let (code, said) = verify(&changed, "");
        assert!(code == "1" && said.contains("because  a run is missing: as run "), "{said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_without_runs_beyond_its_bound_has_a_certificate() {
    let file = folder("bounded certificate").join("bounded.certificate");
    searched("proves", &file)
        .env("SIM_STRATEGY", "preemptions:8")
        .passes()
        .says(&["certificate in "]);
    let (code, said) = verify(&file, "");
    assert_eq!(code, "0", "{said}");
    let changed = with(&file, "shorter", |lines| {
        drop(lines.pop());
        let runs = lines.len();
        lines[0] = lines[0].replace(&format!("\"runs\":{runs}"), &format!("\"runs\":{}", runs - 1));
    });
    let (code, said) = verify(&changed, "");
    assert!(code == "1" && said.contains("because  a run is missing: as run "), "{said}");
}

/// The certificate without its run at this position.
fn without(file: &Path, nth: usize) -> PathBuf {
    with(file, "fewer", |lines| {
        let runs = lines.len() - 1;
        drop(lines.remove(nth));
        lines[0] = lines[0].replace(&format!("\"runs\":{runs}"), &format!("\"runs\":{}", runs - 1));
    })
}

#[cfg_attr(feature = "sim", test)]
fn a_bounded_search_has_a_certificate_of_its_bound() {
    // The operations of the second test have weaker orders, and choose stores.
    for (name, memory, strategy, bound) in [
        ("attempts", "sc", "preemptions:0", "with no preemption"),
        ("attempts", "sc", "preemptions:1", "with at most 1 preemption"),
        ("attempts", "sc", "delays:2", "with at most 2 delays"),
        ("many_runs::publishes", "c11", "preemptions:1", "with at most 1 preemption"),
        ("many_runs::publishes", "c11", "delays:1", "with at most 1 delay"),
        ("many_runs::publishes", "c11", "preemptions", "classes"),
    ] {
        let folder = folder(&format!("certificate of {strategy} {memory}"));
        let file = folder.join("bounded.certificate");
        let search = searched(name, &file).env("SIM_STRATEGY", strategy);
        search.env("SIM_MEMORY", memory).passes().says(&["certificate in "]);
        let (code, said) = verify(&file, "");
        assert!(code == "0" && said.contains(bound), "{strategy}: {said}");
        let runs = fs::read_to_string(&file).unwrap().lines().count() - 1;
        for nth in [1, runs.div_ceil(2), runs] {
            let (code, said) = verify(&without(&file, nth), "");
            let is_empty = runs == 1 && said.contains("it has no run");
            assert!(is_empty || said.contains("because  a run is missing: as run "), "{said}");
            assert_eq!(code, "1", "{strategy}: {said}");
        }
        // It is no certificate of a larger bound.
        let Some((_, most)) = strategy.split_once(':') else { continue };
        let larger = strategy.replace(most, "7");
        let larger = with(&file, "larger", |lines| {
            lines[0] = lines[0].replace(&format!("\"{strategy}\""), &format!("\"{larger}\""));
        });
        let (code, said) = verify(&larger, "");
        assert!(code == "1" && said.contains("because  a run is missing: as run "), "{said}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn shares_of_a_bounded_search_have_a_certificate_together() {
    let shares = folder("certificates of bounded shares");
    for number in 1..=2 {
        let share = searched("many_runs::publishes", &shares).env("SIM_STRATEGY", "delays:2");
        let share = share.env("SIM_MEMORY", "c11").env("SIM_SHARD", format!("{number}/2"));
        share.passes().says(&["certificate in "]);
    }
    let files: Vec<PathBuf> =
        crate::child::files(&shares).iter().map(|name| shares.join(name)).collect();
    let (code, said) = verify(&files[0], &format!("\n{}", files[1].display()));
    assert!(code == "0" && said.contains(" in 2 shares with at most 2 delays"), "{said}");
    let (code, said) = verify(&without(&files[0], 1), &format!("\n{}", files[1].display()));
    assert!(code == "1" && said.contains("because  a run is missing: as run "), "{said}");
}

#[cfg_attr(feature = "sim", test)]
fn a_test_without_a_proof_has_no_certificate_and_says_why() {
    let file = folder("no certificate").join("none.certificate");
    let none = "no certificate was written, because ";
    let many = "many_runs::takes_many_runs";
    let unfinished = "part of the search was done";
    for (name, variables, says) in [
        ("attempts", &[("SIM_STRATEGY", "random")][..], "this test samples runs"),
        (
            "many_runs::publishes",
            &[("SIM_MEMORY", "c11")],
            "the certificate of an exhaustive search contains no choices of stores",
        ),
        (many, &[("SIM_SEEDS", "40")], "the search was given up, and another search continued"),
        (many, &[("SIM_SEEDS", "40"), ("SIM_SHARD", "1/2")], unfinished),
    ] {
        let child = variables
            .iter()
            .fold(searched(name, &file), |child, (variable, value)| child.env(variable, value));
        child.passes().says(&[none, says]);
    }
    assert!(!file.exists() && !file.with_file_name("none-1-of-2.certificate").exists());
    let certificates = folder("certificates");
    searched("attempts", &certificates).passes();
    searched("proves", &certificates).passes();
    let names = crate::child::files(&certificates);
    let expected =
        ["attempts", "proves"].map(|name| format!("test-shell.fixture.{name}.certificate"));
    assert_eq!(names, expected);
}
