//! JUnit files: `cargo unpause ls --junit`. Needs no browser.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::reports::{self, Report};
use super::{command, folder};

/// Writes two failures and a passing test into a folder. Returns the folder.
fn failures(name: &str) -> PathBuf {
    let folder = folder(name);
    let mut lost_update = reports::lost_update("counter");
    let replay = "SIM_REPLAY='sim2:0 & \"1\"' cargo test -p demo --test queues lost_update \
        -- --exact";
    lost_update.json["finding"]["replay"] = json!(replay);
    lost_update.json["finding"]["failure"]["text"] = json!("panic in <main>:\n\u{1b}[1m1 & 2");
    for (path, text) in [
        ("target/a/7.json", Report::json_of(lost_update)),
        ("target/a/7.html", String::new()),
        ("target/b/3.json", Report::json_of(reports::deadlock())),
        ("target/c/passed.json", reports::passed("demo::fine").to_string()),
        ("target/d/4.json", "{".to_owned()),
    ] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Writes the JUnit file, which succeeds. Returns its text, with `FOLDER` in place of the folder, and the notes.
fn written(folder: &Path, file: &Path) -> (String, String) {
    let target = folder.join("target");
    let [target, file] = [target.as_path(), file].map(|path| path.to_str().unwrap());
    let (code, output, errors) = command(&["ls", target, "--junit", file]);
    assert_eq!((code, output), (0, format!("{file}\n")), "{errors}");
    let text = fs::read_to_string(file).unwrap();
    (text.replace(folder.to_str().unwrap(), "FOLDER"), errors)
}

/// The properties of the lost update.
const PROPERTIES: &str = "<properties>
                <property name=\"unpause.seed\" value=\"7\"/>
                <property name=\"unpause.replay\" value=\"SIM_REPLAY='sim2:0 &amp; &quot;1&quot;' cargo test -p demo \
    --test queues lost_update -- --exact\"/>
                <property name=\"unpause.cause\" value=\"lost update: between `load` (src/demo.rs:12:5) and `store` \
    (src/demo.rs:13:5) of 0.0 came `store counter := 1` (src/demo.rs:13:5) of 0.1\"/>
                <property name=\"unpause.report\" value=\"FOLDER/target/a/7.json\"/>
                <property name=\"unpause.page\" value=\"FOLDER/target/a/7.html\"/>
            </properties>";

#[test]
fn failures_are_written_with_properties() {
    let folder = failures("junit-new");
    let file = folder.join("junit.xml");
    let (text, notes) = written(&folder, &file);
    let begin = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <testsuites name=\"unpause\" tests=\"2\" failures=\"2\" errors=\"0\">\n    \
        <testsuite name=\"demo\" tests=\"1\" disabled=\"0\" errors=\"0\" failures=\"1\">\n        \
        <testcase name=\"deadlock\" classname=\"demo\">\n";
    assert!(text.starts_with(begin), "{text}");
    let end = format!(
        "        <testcase name=\"lost_update\" classname=\"demo::queues\">\n            {PROPERTIES}\n            \
         <failure message=\"panic in &lt;main&gt;:&#10;\u{fffd}[1m1 &amp; 2\" type=\"panic\">the screen\n\
         of the test\n</failure>\n        </testcase>\n    </testsuite>\n</testsuites>\n"
    );
    assert!(text.ends_with(&end), "{text}");
    assert!(!text.contains("fine"), "{text}");
    assert!(notes.contains("target/d/4.json") && notes.lines().count() == 1, "{notes}");
    // The command writes the file again.
    fs::remove_dir_all(folder.join("target/b")).unwrap();
    assert!(written(&folder, &file).0.contains("tests=\"1\" failures=\"1\" errors=\"0\">\n"));
}

#[test]
fn a_report_of_an_earlier_version_has_a_cause_without_decisive_events() {
    let folder = folder("junit-earlier");
    let mut report = reports::lost_update("counter");
    let finding = report.json["finding"].as_object_mut().unwrap();
    for name in ["pattern", "quoted"] {
        assert!(finding.remove(name).is_some());
    }
    let cause = report.json["finding"]["why"]["cause"].as_object_mut().unwrap();
    assert!(cause.remove("decisive").is_some());
    fs::create_dir_all(folder.join("target/a")).unwrap();
    fs::write(folder.join("target/a/7.json"), Report::json_of(report)).unwrap();
    let (text, notes) = written(&folder, &folder.join("junit.xml"));
    let cause = "\"between `load` (src/demo.rs:12:5) and `store` (src/demo.rs:13:5) of 0.0 came `store counter := 1`";
    assert!(text.contains(cause) && notes.is_empty(), "{text}{notes}");
}

/// The layout of nextest.
fn of_nextest(properties: [&str; 2]) -> String {
    let [one, two] = properties;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"nextest-run\" tests=\"4\" failures=\"3\" errors=\"0\" uuid=\"1\" time=\"0.1\">
    <testsuite name=\"demo::queues\" tests=\"2\" disabled=\"0\" errors=\"0\" failures=\"2\">
        <testcase name=\"lost_update\" classname=\"demo::queues\" time=\"0.021\">{one}
            <failure message=\"it said: &lt;testcase name=&quot;other&quot;&gt;\" type=\"test failure\">a</failure>
            <system-err><![CDATA[</testcase>]]></system-err>
        </testcase>
        <testcase name=\"other\" classname=\"demo::queues\">
            <failure type=\"test failure\">b</failure>
        </testcase>
    </testsuite>
    <testsuite name=\"demo\" tests=\"2\" disabled=\"0\" errors=\"0\" failures=\"1\">
        <testcase name=\"lost_update\" classname=\"demo\">
        </testcase>
        <testcase name=\"deadlock\" classname=\"demo\">{two}
            <error type=\"test failure\"/>
        </testcase>
        <testcase name=\"passes\" classname=\"demo\"/>
    </testsuite>
</testsuites>
"
    )
}

#[test]
fn properties_are_added_to_the_file_of_nextest() {
    let folder = failures("junit-nextest");
    let file = folder.join("junit.xml");
    let foreign = "\n            <properties>
                <property name=\"owner\" value=\"me\"/>
            </properties>";
    fs::write(&file, of_nextest(["", foreign])).unwrap();
    let own = format!("\n            {PROPERTIES}");
    let both = "\n            <properties>
                <property name=\"owner\" value=\"me\"/>
                <property name=\"unpause.seed\" value=\"7\"/>
                <property name=\"unpause.replay\" value=\"SIM_REPLAY=sim2:0 cargo test\"/>
                <property name=\"unpause.report\" value=\"FOLDER/target/b/3.json\"/>
            </properties>";
    let expected = of_nextest([&own, both]);
    // A kill while the file is written leaves the old file.
    let old = folder.join("old.xml");
    fs::hard_link(&file, &old).unwrap();
    let (text, notes) = written(&folder, &file);
    assert_eq!(text, expected);
    assert_eq!(fs::read_to_string(&old).unwrap(), of_nextest(["", foreign]));
    assert!(notes.contains("4.json") && notes.lines().count() == 1, "{notes}");
    // A second time, nothing changes.
    assert_eq!(written(&folder, &file).0, expected);
    // A failure of an earlier run is not a failure of this run.
    let passed = of_nextest(["", ""]).replace("<error type=\"test failure\"/>", "");
    fs::write(&file, &passed).unwrap();
    let (text, notes) = written(&folder, &file);
    assert_eq!(text, passed.replacen("time=\"0.021\">", &format!("time=\"0.021\">{own}"), 1));
    assert!(notes.contains("deadlock of demo did not fail in "), "{notes}");
}

#[test]
fn a_test_of_another_program_with_the_same_name_has_no_properties() {
    let folder = failures("junit-programs");
    let file = folder.join("junit.xml");
    for (program, has_failed) in [("demo::other", false), ("other::queues", false), ("demo", true)]
    {
        fs::write(&file, of_nextest(["", ""]).replace("demo::queues", program)).unwrap();
        let (text, notes) = written(&folder, &file);
        assert_eq!(text.contains("unpause.cause"), has_failed, "{program}: {text}");
        let is_noted = notes.contains("lost_update of demo::queues did not fail in ");
        assert_eq!(is_noted, !has_failed, "{program}: {notes}");
    }
}

#[test]
fn other_files_are_not_overwritten() {
    let folder = failures("junit-errors");
    let target = folder.join("target").display().to_string();
    for (text, error) in [
        ("fn main() {}", "is not a JUnit file"),
        ("<html></html>", "is not a JUnit file"),
        ("<testsuites><testcase name=\"a\" classname=\"b\">", "is not valid XML"),
    ] {
        let file = folder.join("other").display().to_string();
        fs::write(&file, text).unwrap();
        let (code, output, errors) = command(&["ls", &target, "--junit", &file]);
        assert_eq!((code, output.as_str()), (2, ""), "{errors}");
        assert!(errors.contains(error), "{error}: {errors}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let (code, _, errors) = command(&["ls", &target, "--junit", "a.xml", "--json"]);
    assert!(code == 2 && errors.contains("name one of them"), "{errors}");
    let (code, _, errors) = command(&["ls", &target, "--junti", "a.xml"]);
    assert!(code == 2 && errors.contains("did you mean `--junit`?"), "{errors}");
}
