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

    // Without one of its runs.
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
        ("other step", "is no run of the program", "1", |lines| {
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
fn a_test_without_a_proof_has_no_certificate_and_says_why() {
    let file = folder("no certificate").join("none.certificate");
    for (name, variable, says) in [
        ("attempts", ("SIM_STRATEGY", "random"), "this test samples runs"),
        ("attempts", ("SIM_STRATEGY", "preemptions:0"), "the search is no proof"),
        ("many_runs::takes_many_runs", ("SIM_SEEDS", "40"), "the search is no proof"),
    ] {
        let ended = searched(name, &file).env(variable.0, variable.1).passes();
        ended.says(&["no certificate was written, because ", says]);
    }
    assert!(!file.exists());
    let certificates = folder("certificates");
    searched("attempts", &certificates).passes();
    searched("proves", &certificates).passes();
    let names = crate::child::files(&certificates);
    let expected =
        ["attempts", "proves"].map(|name| format!("test-shell.fixture.{name}.certificate"));
    assert_eq!(names, expected);
}
