//! Where a test stands: what its traces are called, where they are kept and how it is run alone.

use std::panic::Location;
use std::path::{Path, PathBuf};

/// Where a test stands.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// `module::path::name`.
    pub(crate) test: String,
    /// The name of its package.
    pub(crate) package: String,
    /// The version of its package.
    pub(crate) version: String,
    /// The folder of its package's `Cargo.toml`.
    pub(crate) manifest_dir: Option<PathBuf>,
    /// Where the body was written.
    pub(crate) place: &'static Location<'static>,
    /// What the test harness knows the test by; none if there is no harness or no knowing.
    pub(crate) filter: Option<String>,
}

impl Site {
    /// The site of a program that uses a runner itself.
    pub(crate) fn of_program(place: &'static Location<'static>) -> Site {
        let file = Path::new(place.file()).file_stem();
        let file = file.map_or_else(|| "test".into(), |stem| stem.to_string_lossy());
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "program".to_owned());
        // The harness calls the thread of a test as the test, unless it runs it on its own thread.
        let thread = std::thread::current().name().map(str::to_owned);
        Site {
            test: format!("{file}_{}", place.line()),
            package,
            version: std::env::var("CARGO_PKG_VERSION").unwrap_or_default(),
            manifest_dir: std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from),
            place,
            filter: thread.filter(|name| name != "main"),
        }
    }

    /// The command that replays `source`, on one line.
    pub(crate) fn replay_command(&self, source: &str) -> String {
        format!("SIM_REPLAY={} {}", quoted(source), self.command())
    }

    /// The command that runs this test and no other, on one line.
    pub(crate) fn command(&self) -> String {
        let program = std::env::current_exe().unwrap_or_default();
        self.command_of(&program)
    }

    fn command_of(&self, program: &Path) -> String {
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        let folder = program.parent().unwrap_or(Path::new(""));
        let profile = folder.parent().and_then(Path::file_name).unwrap_or_default();
        let profile = match &*profile.to_string_lossy() {
            "debug" => String::new(),
            "release" => " --release".to_owned(),
            other => format!(" --profile {}", quoted(other)),
        };
        match folder.file_name().unwrap_or_default().to_str() {
            Some("deps") => {
                // The file of an integration test is called as its target, with a hash.
                let name = stem.rsplit_once('-').map_or(&*stem, |(name, _)| name);
                let target = match integration_test(self.place.file(), name) {
                    Some(target) => format!(" --test {}", quoted(target)),
                    None => String::new(),
                };
                // Without `--exact` a test whose name begins like this one would replay too.
                let filter = self.filter.as_ref();
                let filter =
                    filter.map_or(String::new(), |name| format!(" {} -- --exact", quoted(name)));
                format!("cargo test{profile} -p {}{target}{filter}", self.package)
            }
            Some("examples") => format!("cargo run{profile} --example {}", quoted(&stem)),
            _ => quoted(&program.display().to_string()),
        }
    }

    /// `name version`.
    pub(crate) fn package_and_version(&self) -> String {
        format!("{} {}", self.package, self.version).trim_end().to_owned()
    }
}

/// The integration test that `file` belongs to, if it is the one that was compiled as `crate_name`.
/// Cargo wants the name of the target, which may have `-` where the crate has `_`.
fn integration_test<'a>(file: &'a str, crate_name: &str) -> Option<&'a str> {
    let mut parts = file.split(['/', '\\']).skip_while(|part| *part != "tests").skip(1);
    let target = parts.next()?;
    let target = target.strip_suffix(".rs").unwrap_or(target);
    (target.replace('-', "_") == crate_name.replace('-', "_")).then_some(target)
}

/// A word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(program: &str, filter: Option<&str>) -> String {
        let site = Site {
            test: "crate_name::module::name".to_owned(),
            package: "demo".to_owned(),
            version: "1.0.0".to_owned(),
            manifest_dir: None,
            place: Location::caller(),
            filter: filter.map(str::to_owned),
        };
        site.command_of(Path::new(program))
    }

    #[test]
    fn the_command_runs_one_test_as_it_was_built() {
        for (program, filter, expected) in [
            ("t/debug/deps/demo-1f", Some("a::b"), "cargo test -p demo a::b -- --exact"),
            ("t/release/deps/demo-1f", Some("b"), "cargo test --release -p demo b -- --exact"),
            ("t/ci/deps/demo-1f", None, "cargo test --profile ci -p demo"),
            ("t/debug/examples/queue", None, "cargo run --example queue"),
            ("/opt/my tool", None, "'/opt/my tool'"),
        ] {
            assert_eq!(command(program, filter), expected);
        }
    }

    #[test]
    fn an_integration_test_is_called_as_its_target() {
        assert_eq!(integration_test("a/tests/my-test.rs", "my_test"), Some("my-test"));
        assert_eq!(integration_test("tests/all/part.rs", "all"), Some("all"));
        assert_eq!(integration_test("tests/shared/mod.rs", "all"), None);
        assert_eq!(integration_test("src/tests.rs", "tests"), None);
    }

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(quoted("sim2:0x2,0.1=3/10"), "sim2:0x2,0.1=3/10");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
