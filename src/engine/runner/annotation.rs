//! The GitHub Actions annotation of a failure: a line that GitHub shows beside the source line in a pull request.
//!
//! The annotation is a workflow command, `::error file=…,line=…,title=…::…`, which the runner detects in the output of
//! any program. The runner sets `GITHUB_ACTIONS=true`, and `GITHUB_WORKSPACE` to the folder of the repository.

use std::path::{Path, PathBuf};

use super::site::Site;
use crate::report::{Finding, one_line};
use crate::run::place::portable;
use crate::run::{Failure, Outcome};

/// Returns the annotation of a failing test as a line. Empty outside of GitHub Actions. `is_native` is true for a test
/// with plain threads.
pub(super) fn annotation(finding: &Finding, site: &Site, is_native: bool) -> String {
    of(finding, (site, is_native), &|name| std::env::var(name).ok())
}

fn of(
    finding: &Finding,
    (site, is_native): (&Site, bool),
    variable: &dyn Fn(&str) -> Option<String>,
) -> String {
    if variable("GITHUB_ACTIONS").as_deref() != Some("true") {
        return String::new();
    }
    let Outcome::Failed(failure) = &finding.run.outcome else { return String::new() };
    let repository = variable("GITHUB_WORKSPACE").map(PathBuf::from);
    let inside = |place: &str, of_threads: bool| {
        let source = |file: &str| site.source(file, of_threads);
        in_repository(place, &source, repository.as_deref()?)
    };
    // The compiler gives the places of panics, also in plain threads.
    let of_threads = is_native && !matches!(failure, Failure::Panic { .. });
    // A panic in a dependency has no line in the repository, so the location of the test is used instead.
    let (file, line) = inside(failure.place(), of_threads)
        .or_else(|| inside(&site.place.to_string(), false))
        .unwrap_or_else(|| (portable(site.place.file()), site.place.line().to_string()));
    let mut message = one_line(failure, &finding.run);
    if let Some(replay) = &finding.replay {
        message += &format!("\nreplay: {replay}");
    }
    format!(
        "::error file={},line={line},title={}::{}\n",
        property(&file),
        property(&site.test),
        data(&message)
    )
}

/// Returns the file, relative to the folder of the repository, and the line. `None` if the location is not in the
/// repository. `source` returns the path of a source file.
fn in_repository(
    place: &str,
    source: &dyn Fn(&str) -> Option<PathBuf>,
    repository: &Path,
) -> Option<(String, String)> {
    let mut words = place.rsplitn(3, ':').skip(1);
    let (line, file) = (words.next()?, words.next()?);
    line.parse::<u32>().ok()?;
    let file = source(file)?.canonicalize().ok()?;
    let file = file.strip_prefix(repository.canonicalize().ok()?).ok()?;
    Some((portable(file.to_str()?), line.to_owned()))
}

/// Escapes the message of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_the_parts_of_a_command_is_escaped() {
        assert_eq!(data("100 %\r\n::x, y"), "100 %25%0D%0A::x, y");
        assert_eq!(property("a::b, 5 %\n"), "a%3A%3Ab%2C 5 %25%0A");
    }

    #[test]
    fn a_place_outside_of_the_repository_has_no_line_in_it() {
        let site = Site::of_program(std::panic::Location::caller());
        let source = |file: &str| site.source(file, false);
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let found = in_repository(&format!("{}:7:1", file!()), &source, package);
        assert_eq!(found, Some(("src/engine/runner/annotation.rs".to_owned(), "7".to_owned())));
        let outside = package.join("docs");
        assert_eq!(in_repository(&format!("{}:7:1", file!()), &source, &outside), None);
        for place in ["", "src/lib.rs", "src/lib.rs:x:1", "src/no_such_file.rs:1:1"] {
            assert_eq!(in_repository(place, &source, package), None, "{place:?}");
        }
    }
}
