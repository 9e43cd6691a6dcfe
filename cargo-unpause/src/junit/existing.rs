//! Adds properties to the failed tests in a JUnit file that another program has written, such as nextest. All other
//! text of the file stays as it is.

use super::xml::{Markup, markup};
use super::{FailedTest, PREFIX, elements};

/// A changed file.
pub(super) struct Changed<'t> {
    pub(super) text: String,
    /// The tests that did not fail in the file.
    pub(super) others: Vec<&'t FailedTest>,
}

/// Returns the name of the root element's report, if the text is a JUnit file.
pub(super) fn root(text: &str) -> Option<Option<String>> {
    let all = markup(text)?;
    let root = all.iter().find(|tag| tag.begins().is_some())?;
    let is_junit = ["testsuites", "testsuite"].contains(&root.begins()?);
    is_junit.then(|| root.attribute("name"))
}

/// Adds the properties of these tests to their elements in the file; `None` if the file is not XML.
pub(super) fn with_properties<'t>(text: &str, tests: &'t [FailedTest]) -> Option<Changed<'t>> {
    let all = markup(text)?;
    let (mut out, mut copied) = (String::new(), 0);
    let mut found = vec![false; tests.len()];
    for (at, tag) in all.iter().enumerate() {
        if tag.begins() != Some("testcase") || tag.is_empty() {
            continue;
        }
        let length = all[at..].iter().position(|tag| tag.ends("testcase"))?;
        let inside = &all[at + 1..at + length];
        let begins = |tag: &Markup<'_>, names: &[&str]| {
            tag.begins().is_some_and(|name| names.contains(&name))
        };
        let has_failed = inside.iter().any(|tag| begins(tag, &["failure", "error"]));
        let Some(own) = test_of(tag, tests).filter(|_| has_failed) else { continue };
        found[own] = true;
        let before = blanks_after(text, tag.end());
        out += &format!("{}{before}<properties>", &text[copied..tag.end()]);
        copied = tag.end();
        match block(inside) {
            [] => {}
            [empty] => copied = empty.end(),
            // The properties of other programs stay.
            [begin, properties @ .., end] => {
                copied = begin.end();
                for property in properties.iter().filter(|property| is_own(property)) {
                    out += text[copied..property.at].trim_end();
                    copied = property.end();
                }
                out += text[copied..end.at].trim_end();
                copied = end.end();
            }
        }
        out += &format!("{}{before}</properties>", elements(&tests[own].properties));
    }
    out += &text[copied..];
    let others = tests.iter().zip(found).filter(|(_, found)| !found).map(|(test, _)| test);
    Some(Changed { text: out, others: others.collect() })
}

/// Returns `true` for a property that this command has written.
fn is_own(property: &Markup<'_>) -> bool {
    let name = property.attribute("name").filter(|_| property.is_empty());
    name.is_some_and(|name| name.starts_with(PREFIX))
}

/// Returns the position of the test that an element describes. The program of the test is the best sign, but another
/// runner may only know the package. An element of another program of the package does not describe the test.
fn test_of(tag: &Markup<'_>, tests: &[FailedTest]) -> Option<usize> {
    let (name, class) = (tag.attribute("name")?, tag.attribute("classname")?);
    let package = class.split("::").next().unwrap_or_default();
    let exact = tests.iter().position(|test| test.name == name && test.program == class);
    let is_close = |test: &FailedTest| {
        let is_crate = || !test.is_certain && crate_of(&class) == crate_of(&test.program);
        test.package == package && (class == package || is_crate())
    };
    exact.or_else(|| tests.iter().position(|test| test.name == name && is_close(test)))
}

/// Returns the crate name of a program: `a_tool` for `demo::bin/a-tool`.
fn crate_of(program: &str) -> String {
    program.rsplit(['/', ':']).next().unwrap_or_default().replace('-', "_")
}

/// Returns the markup of the properties at the beginning of an element, from their first tag to their last tag.
fn block<'m, 'a>(inside: &'m [Markup<'a>]) -> &'m [Markup<'a>] {
    match inside.first() {
        Some(first) if first.begins() == Some("properties") => {
            let last = inside.iter().position(|tag| tag.ends("properties"));
            &inside[..=last.filter(|_| !first.is_empty()).unwrap_or(0)]
        }
        _ => &[],
    }
}

/// Returns the blanks at a position, which contain the indentation of the next line.
fn blanks_after(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.len() - rest.trim_start().len()]
}
