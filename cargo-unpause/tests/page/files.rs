//! The files of pages, and the errors of the command that writes them. Needs no browser.

use std::fs;

use super::reports::{self, Report};
use super::{command, folder};

/// Checks that a command fails, and that its error contains these parts.
fn assert_refused(arguments: &[&str], parts: &[&str]) {
    let (code, output, errors) = command(arguments);
    assert_eq!((code, output.as_str()), (2, ""), "{arguments:?} {errors}");
    for part in parts {
        assert!(errors.contains(part), "{arguments:?}: {part:?} is not in {errors}");
    }
}

#[test]
fn errors_name_the_file_and_a_remedy() {
    let folder = folder("errors");
    let report = folder.join("7.json").display().to_string();
    let text = Report::json_of(reports::deadlock());
    fs::write(&report, &text).unwrap();
    let missing = folder.join("none/7.html").display().to_string();
    assert_refused(&["show", &report, "--html", &missing], &[&missing, "there is no folder"]);
    // A report or a trace is not overwritten.
    assert_refused(&["show", &report, "--html", &report], &["7.json", "should end in .html"]);
    assert_eq!(fs::read_to_string(&report).unwrap(), text);
    assert_refused(
        &["show", "nowhere.json", "--html"],
        &["there is no file nowhere.json", "cargo unpause ls"],
    );
    assert_refused(&["show", folder.to_str().unwrap(), "--html"], &["is a folder"]);
    assert_refused(&["show", &report, "--html", "--step", "1"], &["leave out", "--step"]);
    assert_refused(&["show", &report, "--html", "--json"], &["leave out --json"]);
    assert_refused(&["show", &report, "--htm"], &["did you mean `--html`?"]);
    let cut = folder.join("cut.json").display().to_string();
    fs::write(&cut, &text[..text.len() / 2]).unwrap();
    assert_refused(&["show", &cut, "--html"], &["cut.json", "is not JSON", "run the test again"]);
    assert!(!folder.join("cut.html").exists());
}

#[test]
fn the_page_has_the_name_that_was_asked_for() {
    let folder = folder("names");
    let report = folder.join("7.json").display().to_string();
    fs::write(&report, Report::json_of(reports::deadlock())).unwrap();
    let [other, third] =
        ["other.html", "third.htm"].map(|name| folder.join(name).display().to_string());
    let (code, output, _) = command(&["show", &report, "--html", &other]);
    assert_eq!((code, output), (0, format!("{other}\n")));
    let (code, output, _) = command(&["show", &format!("--html={third}"), &report]);
    assert_eq!((code, output), (0, format!("{third}\n")));
    assert_eq!(fs::read(&other).unwrap(), fs::read(&third).unwrap());
    // Dropping a failure drops the page beside it.
    command(&["show", &report, "--html"]);
    assert!(folder.join("7.html").exists());
    assert_eq!(command(&["drop", &report]).0, 0);
    assert!(!folder.join("7.html").exists() && folder.join("other.html").exists());
}

#[test]
fn a_failure_that_is_named_twice_is_dropped_once() {
    let folder = folder("dropped-twice");
    let report = folder.join("7.json");
    fs::write(&report, Report::json_of(reports::deadlock())).unwrap();
    let same = folder.join("../dropped-twice/7.json");
    let [report, same] = [report, same].map(|path| path.display().to_string());
    let (code, output, errors) = command(&["drop", &report, &same]);
    assert_eq!((code, output), (0, format!("dropped {report}\ndropped {same}\n")), "{errors}");
    assert!(!folder.join("7.json").exists());
}
