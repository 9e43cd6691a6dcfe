//! The file `unpause.toml` beside a `Cargo.toml`: defaults for all tests of the package, and separate defaults for CI.
//! On CI, failures are also written as pages, unless a setting disables the pages.
//!
//! The file uses a small part of TOML. It consists of lines `name = value`, comments, and the table `[ci]`. The names
//! are the names in the list of settings; a value is a number, a flag or a quoted text. The table applies if the
//! variable `CI` is set. Everything else is an error that names the line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use unpause_ordered::Map;
use unpause_words::closest;

use super::unknown::expected;
use super::{InvalidSetting, JsonFiles, SETTINGS, Settings};

/// The file name.
pub(crate) const NAME: &str = "unpause.toml";

/// The settings that choose one run or a part of the runs. These settings cannot be defaults for all tests.
const NO_DEFAULTS: &[&str] = &["seed", "replay", "shard"];

impl Settings {
    /// Returns the settings in the file of the package in `folder`, or empty settings if the package has no such file.
    /// The file is read once per process.
    pub(crate) fn of_package(folder: &Path) -> Result<Settings, InvalidSetting> {
        type Read = Result<Settings, InvalidSetting>;
        static READ: Mutex<Map<PathBuf, Read>> = Mutex::new(Map::new());
        let mut known = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = known.get(folder) {
            return read.clone();
        }
        let file = folder.join(NAME);
        let ci = std::env::var("CI").is_ok_and(|ci| !["", "0", "false"].contains(&&*ci));
        let read = match fs::read_to_string(&file) {
            Ok(text) => settings(&text, ci, &file.display().to_string())
                .map(|settings| settings.with_paths_in(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Settings::default()),
            Err(error) => Err(InvalidSetting {
                name: file.display().to_string(),
                value: error.to_string(),
                grammar: "a file that can be read".to_owned(),
            }),
        };
        // A user who examines a failure on CI usually has the artifacts, but no access to the machine.
        let read = read
            .map(|settings| Settings { html: settings.html.or(ci.then_some(true)), ..settings });
        known.insert(folder.to_owned(), read.clone());
        read
    }

    /// Returns the settings with relative paths resolved against `folder`, so that they do not depend on the working
    /// directory.
    fn with_paths_in(self, folder: &Path) -> Settings {
        Settings {
            out: self.out.map(|path| folder.join(path)),
            results: self.results.map(|path| folder.join(path)),
            certify: self.certify.map(|path| folder.join(path)),
            observe: self.observe.map(|path| folder.join(path)),
            json: self.json.map(|json| match json {
                JsonFiles::At(path) => JsonFiles::At(folder.join(path)),
                json => json,
            }),
            ..self
        }
    }
}

/// Parses the settings in `text`. If `ci` is true, the table `[ci]` overrides the other lines. Errors name `file` and
/// the line.
fn settings(text: &str, ci: bool, file: &str) -> Result<Settings, InvalidSetting> {
    let (mut always, mut in_ci) = (Settings::default(), Settings::default());
    let mut is_table = false;
    let mut seen: Vec<(bool, &str)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let invalid = |value: &str, grammar: String| InvalidSetting {
            name: format!("the line {file}:{number}"),
            value: value.to_owned(),
            grammar,
        };
        let line = without_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if line == "[ci]" && !is_table {
            is_table = true;
            continue;
        }
        let pair = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = pair.filter(|_| !line.starts_with('[')) else {
            let form = "a setting like `seeds = 1000`, or, once, the table `[ci]`";
            return Err(invalid(line, form.to_owned()));
        };
        let Some(row) = SETTINGS.iter().find(|row| row.name == name) else {
            return Err(invalid(name, meant(name)));
        };
        if NO_DEFAULTS.contains(&name) {
            let variable = row.variable;
            let text = format!("another setting: this one is for a single call, as {variable}");
            return Err(invalid(name, text));
        }
        if seen.contains(&(is_table, name)) {
            return Err(invalid(name, "set once".to_owned()));
        }
        seen.push((is_table, name));
        let of_setting = |grammar| InvalidSetting {
            name: format!("{name} ({file}:{number})"),
            ..invalid(value, grammar)
        };
        let Some(plain) = plain(value) else {
            let form = "a number, true, false, or a text in quotes without a backslash";
            return Err(of_setting(form.to_owned()));
        };
        let settings = if is_table { &mut in_ci } else { &mut always };
        if !(row.read)(settings, &plain) {
            return Err(of_setting(expected(row, &plain)));
        }
    }
    Ok(if ci { always.overridden_by(in_ci) } else { always })
}

/// Returns the grammar of a setting name, with a suggestion for the unknown name.
fn meant(name: &str) -> String {
    let names = SETTINGS.iter().map(|row| row.name).filter(|name| !NO_DEFAULTS.contains(name));
    let names: Vec<&str> = names.collect();
    match closest(name, names.iter().copied()) {
        Some(near) => format!("the name of a setting: did you mean `{near}`?"),
        None => format!("the name of a setting: {}", names.join(", ")),
    }
}

/// Returns the line without its comment, which begins at the first `#` outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    line
}

/// Converts a value of the file to the form that it has in an environment variable.
fn plain(value: &str) -> Option<String> {
    match value {
        "true" => return Some("1".to_owned()),
        "false" => return Some("0".to_owned()),
        _ => {}
    }
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return Some(inner.to_owned()).filter(|text| !text.contains([quote, '\\']));
        }
    }
    let is_number = value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_digit() || c == '_');
    is_number.then(|| value.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::config::LogMode;

    fn read(text: &str, ci: bool) -> Result<Settings, InvalidSetting> {
        settings(text, ci, "unpause.toml")
    }

    #[test]
    fn settings_are_read_and_those_for_ci_count_there() {
        let text = "# defaults\nseeds = 1_000 # as many\nstrategy = \"pct:3\"\nlog = 'all'\ncoverage = true\n\n\
            [ci]\nseeds = \"500..20000\"\ntime = \"10m\"\n";
        let here = read(text, false).unwrap();
        assert_eq!(here.seeds, Some(0..1000));
        assert_eq!(here.strategy.as_deref(), Some("pct:3"));
        assert_eq!((here.log, here.coverage, here.time), (Some(LogMode::All), Some(true), None));
        let there = read(text, true).unwrap();
        assert_eq!((there.seeds, there.time), (Some(500..20000), Some(Duration::from_secs(600))));
        assert_eq!(there.strategy.as_deref(), Some("pct:3"));
        assert_eq!(read("out = \"a # b\"", false).unwrap().out, Some(PathBuf::from("a # b")));
        let out = read("out = \"traces\"", false).unwrap().with_paths_in(Path::new("/package")).out;
        assert_eq!(out, Some(PathBuf::from("/package/traces")));
    }

    #[test]
    fn a_bad_line_is_named_with_a_remedy() {
        const LINE: &str = "a setting like `seeds = 1000`, or, once, the table `[ci]`";
        const VALUE: &str = "a number, true, false, or a text in quotes without a backslash";
        const SEEDS: &str =
            "a number of seeds from 1, like 1000, or a range like 500..1000 that is not empty";
        for (text, about, value, grammar) in [
            (
                "seeds = 5\nseed_s = 3",
                "the line u:2",
                "seed_s",
                "the name of a setting: did you mean `seeds`?",
            ),
            ("seeds", "the line u:1", "seeds", LINE),
            ("[ci]\n[ci]", "the line u:2", "[ci]", LINE),
            ("[tests]", "the line u:1", "[tests]", LINE),
            ("time = \"1m\"\ntime = \"2m\"", "the line u:2", "time", "set once"),
            (
                "replay = \"a.simtrace\"",
                "the line u:1",
                "replay",
                "another setting: this one is for a single call, as SIM_REPLAY",
            ),
            ("seeds = many", "seeds (u:1)", "many", VALUE),
            ("out = \"a\\b\"", "out (u:1)", "\"a\\b\"", VALUE),
            ("seeds = 0", "seeds (u:1)", "0", SEEDS),
        ] {
            let InvalidSetting { name, value: found, grammar: form } =
                settings(text, false, "u").unwrap_err();
            assert_eq!((&*name, &*found, &*form), (about, value, grammar), "{text}");
        }
        // An error in the table for CI is also reported if the test does not run on CI.
        assert!(read("[ci]\nseeds = 0", false).is_err());
    }

    #[test]
    fn each_path_is_relative_to_the_package() {
        let is_path = |grammar: &str| grammar.contains("file") || grammar.contains("folder");
        let rows = SETTINGS.iter().filter(|row| !NO_DEFAULTS.contains(&row.name));
        let paths: Vec<&str> =
            rows.filter(|row| is_path(&(row.grammar)())).map(|row| row.name).collect();
        assert!(paths.contains(&"out") && paths.contains(&"certify"), "{paths:?}");
        for name in paths {
            let settings = read(&format!("{name} = \"x.certificate\""), false).unwrap();
            let settings = settings.with_paths_in(Path::new("/package"));
            let text = format!("{settings:?}");
            assert!(text.contains("\"/package/x.certificate\""), "{name}: {text}");
        }
    }

    #[test]
    fn each_setting_can_stand_in_the_file_or_says_why_not() {
        for row in SETTINGS {
            let error = read(&format!("{} = \"\u{7f}\"", row.name), false).err();
            let told = error.map(|error| error.grammar).unwrap_or_default();
            let is_for_one_call = told.contains("for a single call");
            assert_eq!(is_for_one_call, NO_DEFAULTS.contains(&row.name), "{}", row.name);
            assert!(!told.contains("name of a setting"), "{}: {told}", row.name);
        }
    }
}
