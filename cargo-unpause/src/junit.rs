//! `cargo unpause ls --junit`: failures as JUnit XML, with properties that lead to the files of each failure.
//!
//! A test cannot add properties to the JUnit file of its runner: nextest writes the file, and only from the output of
//! tests. Therefore the command adds the properties afterwards ([`existing`]), or writes a file with the failures only.
//! The layout is the layout of Jenkins, which nextest uses, too.

mod existing;
mod xml;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use self::xml::{content, escaped};
use crate::Usage;
use crate::document::{Document, PlaceIndex, Region};
use crate::failures::{Found, Loaded, PAGE, REPORT};
use crate::invocation::Invocation;
use crate::replace::replace;

/// The name of the root element in a file that this command has written. The command replaces a file with this root
/// element.
const OWN: &str = "unpause";
/// The beginning of the names of properties.
const PREFIX: &str = "unpause.";

/// A failed test.
struct FailedTest {
    /// The package of the test.
    package: String,
    /// The program of the test, as nextest calls it: `demo`, `demo::queues` or `demo::bin/tool`.
    program: String,
    /// `false` if the program is only known by the name of its crate.
    is_certain: bool,
    /// The name of the test in its harness.
    name: String,
    kind: String,
    /// The failure on one line.
    text: String,
    /// The printed screen, if there is a report.
    screen: String,
    /// The properties, each with its name and value.
    properties: Vec<(&'static str, String)>,
}

/// Writes the newest failure of each test to a JUnit file. If another program has written the file, adds properties to
/// its failed tests instead. Returns notes for the user.
///
/// # Errors
/// If the file exists but is not a JUnit file, or cannot be written.
pub(crate) fn write(file: &Path, found: &[Found]) -> Result<Vec<String>, Usage> {
    let mut notes = Vec::new();
    let tests = failed_tests(found, &mut notes);
    let name = file.display();
    let known = match fs::read_to_string(file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Usage(format!("{name} cannot be read: {error}"))),
    };
    let text = match known {
        None => whole(&tests),
        Some(known) => match existing::root(&known) {
            Some(root) if root.as_deref() == Some(OWN) => whole(&tests),
            Some(_) => {
                let invalid = || Usage(format!("{name} is not valid XML, so it is not changed"));
                let changed = existing::with_properties(&known, &tests).ok_or_else(invalid)?;
                notes.extend(changed.others.iter().map(|test| {
                    let FailedTest { name: own, program, .. } = test;
                    format!("{own} of {program} did not fail in {name}: its failure may be older")
                }));
                changed.text
            }
            None => {
                return Err(Usage(format!(
                    "{name} exists and is not a JUnit file: name a new file, or the file that nextest has written"
                )));
            }
        },
    };
    let written = replace(file, &text);
    written.map_err(|error| Usage(format!("{name} cannot be written: {error}")))?;
    Ok(notes)
}

/// Returns the newest failure of each test. Kept traces and passing tests are left out.
fn failed_tests(found: &[Found], notes: &mut Vec<String>) -> Vec<FailedTest> {
    let mut known = BTreeSet::new();
    let mut tests = Vec::new();
    // The newest failure comes first.
    for found in found.iter().filter(|found| !found.is_kept) {
        let loaded = match Loaded::read(&found.path) {
            Ok(loaded) => loaded,
            Err(why) => {
                notes.push(why.0);
                continue;
            }
        };
        if loaded.report.as_ref().is_some_and(|report| report.finding.is_none()) {
            continue;
        }
        let test = failed_test(&loaded);
        if known.insert((test.program.clone(), test.name.clone())) {
            tests.push(test);
        }
    }
    tests.sort_by(|one, other| (&one.program, &one.name).cmp(&(&other.program, &other.name)));
    tests
}

fn failed_test(loaded: &Loaded) -> FailedTest {
    let finding = loaded.report.as_ref().and_then(|report| report.finding.as_ref());
    let replay = finding.and_then(|finding| finding.replay.clone());
    let command = replay.as_ref().and_then(|replay| Invocation::parse(replay).ok());
    let (crate_name, path) = loaded.test().split_once("::").unwrap_or(("", loaded.test()));
    let package = loaded.package().to_owned();
    let name = command.as_ref().and_then(Invocation::test).unwrap_or(path).to_owned();
    let target = command.as_ref().and_then(Invocation::target);
    let program = match target {
        Some(("test", target)) => format!("{package}::{target}"),
        Some((kind, target)) => format!("{package}::{kind}/{target}"),
        None if package.is_empty() => crate_name.to_owned(),
        None if command.is_some() || crate_name == package.replace('-', "_") => package.clone(),
        // Without a command, it is unknown whether the name belongs to a test crate or to a library with another name.
        None => format!("{package}::{crate_name}"),
    };
    let path_of = |path: &Path| path.exists().then(|| path.display().to_string());
    let all = [
        ("seed", loaded.seed().map(|seed| seed.to_string())),
        ("trace", loaded.trace_file().and_then(|path| path_of(&path))),
        ("replay", replay),
        ("cause", loaded.report.as_ref().and_then(cause)),
        ("report", path_of(&loaded.path.with_extension(REPORT))),
        ("page", path_of(&loaded.path.with_extension(PAGE))),
    ];
    let properties = all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    FailedTest {
        package,
        program,
        is_certain: command.is_some(),
        name,
        kind: loaded.kind(),
        text: loaded.text(),
        screen: loaded.report.as_ref().map_or(String::new(), |report| report.screen.text(false)),
        properties,
    }
}

/// Returns the cause of a failure in one sentence, if it is known: its pattern, the interrupted lines, and the decisive
/// operations of other tasks.
fn cause(report: &Document) -> Option<String> {
    let finding = report.finding.as_ref()?;
    let pattern = finding.pattern.0.as_ref();
    let Some(why) = &finding.why else { return pattern.cloned() };
    if why.no_return.as_ref().is_some_and(|no_return| no_return.after == 0) {
        let stores = if why.newest_stores.0 == Some(true) { " with the newest stores" } else { "" };
        return Some(format!("it fails in every run{stores} (proved)"));
    }
    let Some(cause) = &why.cause else { return pattern.cloned() };
    let task = |number: u64| {
        let task = usize::try_from(number).ok().and_then(|number| finding.run.tasks.get(number));
        task.map_or("another task", |task| &task.shown[..])
    };
    let place = |place: PlaceIndex| report.place(place).map_or("?", |place| &place.text[..]);
    let Region { from_op, from, to_op, to } = &cause.region;
    let region = format!("`{from_op}` ({}) and `{to_op}` ({})", place(*from), place(*to));
    let came: Vec<String> = cause
        .decisive_events(&finding.run)
        .map(|event| format!("`{}` ({}) of {}", event.text, place(event.place), task(event.task)))
        .collect();
    let came = match &came[..] {
        [] => "another task continued".to_owned(),
        [one] => format!("came {one}"),
        [first @ .., last] => format!("came {} and {last}", first.join(", ")),
    };
    let pattern = pattern.map_or(String::new(), |pattern| format!("{pattern}: "));
    Some(format!("{pattern}between {region} of {} {came}", task(cause.task)))
}

/// Returns a JUnit file that contains only these tests.
fn whole(tests: &[FailedTest]) -> String {
    let all = tests.len();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"{OWN}\" tests=\"{all}\" failures=\"{all}\" errors=\"0\">\n"
    );
    for suite in tests.chunk_by(|one, other| one.program == other.program) {
        let (name, count) = (escaped(&suite[0].program), suite.len());
        out += &format!(
            "    <testsuite name=\"{name}\" tests=\"{count}\" disabled=\"0\" errors=\"0\" failures=\"{count}\">\n"
        );
        for FailedTest { program, name, kind, text, screen, properties, .. } in suite {
            let [program, name, kind, text] = [program, name, kind, text].map(|text| escaped(text));
            out += &format!("        <testcase name=\"{name}\" classname=\"{program}\">\n");
            out += &format!(
                "            <properties>{}\n            </properties>\n",
                elements(properties)
            );
            out += &format!(
                "            <failure message=\"{text}\" type=\"{kind}\">{}</failure>\n        </testcase>\n",
                content(screen)
            );
        }
        out += "    </testsuite>\n";
    }
    out + "</testsuites>\n"
}

/// Returns the elements of properties, each on a new line.
fn elements(properties: &[(&'static str, String)]) -> String {
    let element = |(name, value): &(&'static str, String)| {
        format!(
            "\n                <property name=\"{PREFIX}{name}\" value=\"{}\"/>",
            escaped(value)
        )
    };
    properties.iter().map(element).collect()
}
