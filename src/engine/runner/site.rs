//! The site of a test: its names, its trace folder, and the command that runs it alone.

mod features;

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::engine::config::{Config, InvalidSetting, Settings};
use crate::native::test_command;

use super::target::{TestTarget, without_hash};

/// The site of a test: its names and source location.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The path of the test, `module::path::name`.
    pub(crate) test: String,
    /// The Cargo target into which the test is compiled.
    pub(crate) target: TestTarget,
    /// The name of the test's package.
    pub(crate) package: String,
    /// The version of the test's package.
    pub(crate) version: String,
    /// The folder of the package's `Cargo.toml`.
    pub(crate) manifest_dir: Option<PathBuf>,
    /// The source location of the body.
    pub(crate) place: &'static Location<'static>,
    /// The name of the test in its harness; `None` if there is no harness or the name is unknown.
    pub(crate) filter: Option<String>,
    /// True if the runner ignores the environment. If this is true, no variable can start a replay.
    pub(crate) hermetic: bool,
    /// The environment variables that change the meaning of the runs, with their values. Without them, the settings of
    /// the test apply.
    pub(crate) variables: Vec<SetVariable>,
}

/// An environment variable and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SetVariable {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    /// True if traces contain the setting, so that their replays do not need the variable.
    pub(crate) is_in_traces: bool,
}

impl Site {
    /// Returns the settings in the file of the package, unless the runner is hermetic.
    pub(crate) fn defaults(&self) -> Result<Settings, InvalidSetting> {
        match &self.manifest_dir {
            Some(folder) if !self.hermetic => Settings::of_package(folder),
            _ => Ok(Settings::default()),
        }
    }

    /// Returns the path of a source file. The compiler names a file of the workspace relative to the workspace root,
    /// which contains the lock file. The places of plain threads (`of_threads`) are relative to the package.
    pub(crate) fn source(&self, file: &str, of_threads: bool) -> Option<PathBuf> {
        let above = || self.manifest_dir.as_deref().into_iter().flat_map(Path::ancestors);
        let root = above().find(|folder| folder.join("Cargo.lock").exists());
        let root = root.filter(|_| !of_threads);
        let mut found = root.into_iter().chain(above()).map(|folder| folder.join(file));
        match Path::new(file).is_absolute() {
            true => Some(PathBuf::from(file)),
            false => found.find(|path| path.exists()),
        }
    }

    /// Creates the site of a program that uses a runner directly.
    pub(crate) fn of_program(place: &'static Location<'static>) -> Site {
        let file = Path::new(place.file()).file_stem();
        let file = file.map_or_else(|| "test".into(), |stem| stem.to_string_lossy());
        let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| UNKNOWN.to_owned());
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        // A test harness gives the thread of a test the name of the test. A thread with another kind of name does not
        // belong to a test.
        let thread = std::thread::current().name().map(str::to_owned);
        let is_path = |name: &String| name.split("::").all(is_identifier);
        let target = TestTarget::running(program(), place.file(), manifest_dir.as_deref());
        // A copied test program looks like a program without a harness, and such a program may give its threads any
        // name. So the name must look like a test path, or be a test name in the arguments of the program.
        let asked = |name: &String| std::env::args().skip(1).any(|argument| argument == *name);
        let is_test = |name: &String| !target.is_program() || name.contains("::") || asked(name);
        let thread = thread.filter(is_test);
        Site {
            test: format!("{file}_{}", place.line()),
            target,
            package,
            version: std::env::var("CARGO_PKG_VERSION").unwrap_or_default(),
            manifest_dir,
            place,
            filter: thread.filter(|name| name != "main" && is_path(name)),
            hermetic: false,
            variables: Vec::new(),
        }
    }

    /// Returns this site with the environment variables that gave the test this configuration.
    pub(crate) fn with_variables_of(self, config: &Config) -> Site {
        Site { variables: config.variables(), ..self }
    }

    /// Returns a name that is unique among all tests of the package. The files of the test use this name.
    pub(crate) fn key(&self) -> String {
        self.target.key(&self.test)
    }

    /// Returns the test and its target, for example `queue::tests::is_empty (lib)`.
    pub(crate) fn title(&self) -> String {
        format!("{} ({})", self.test, self.target.label())
    }

    /// Returns the command that replays `source`, on one line. If the runner is hermetic, returns the call to add in
    /// the source code instead. If `has_settings` is true, the source contains its settings and needs no further
    /// variable.
    pub(crate) fn replay_command(&self, source: &str, has_settings: bool) -> String {
        let needed = |variable: &SetVariable| variable.is_in_traces && !has_settings;
        match self.hermetic {
            true => self.in_code(&format!(".replay({source:?})")),
            false => {
                let variables = self.variables_where(needed);
                format!("SIM_REPLAY={} {variables}{}", quoted(source), self.command())
            }
        }
    }

    /// Returns the command that runs a seed, or the call to add if the runner is hermetic.
    pub(crate) fn seed_command(&self, seed: u64) -> String {
        match self.hermetic {
            true => self.in_code(&format!(".seed({seed})")),
            false => {
                format!("SIM_SEED={seed} {}{}", self.variables_where(|_| true), self.command())
            }
        }
    }

    /// Returns the command that removes a kept trace.
    pub(crate) fn removal(kept: &str) -> String {
        format!("rm {}", quoted(kept))
    }

    /// Returns the command that replaces a kept trace by a new one.
    pub(crate) fn replacement(kept: &str, new: &str) -> String {
        format!("cp {} {}", quoted(new), quoted(kept))
    }

    /// Returns the command that repeats the runs of this test, on one line.
    pub(crate) fn search_command(&self) -> String {
        self.variables_where(|_| true) + &self.command()
    }

    /// Returns the wanted variables with their values, each followed by a blank.
    fn variables_where(&self, wanted: impl Fn(&SetVariable) -> bool) -> String {
        let wanted = self.variables.iter().filter(|variable| wanted(variable));
        wanted.map(|SetVariable { name, value, .. }| format!("{name}={} ", quoted(value))).collect()
    }

    fn in_code(&self, call: &str) -> String {
        let Site { place, .. } = self;
        format!(
            "{call} on the Runner of {}:{}, which is hermetic: no variable reaches it",
            place.file(),
            place.line()
        )
    }

    /// Returns the command that runs only this test, on one line, with the features of the test.
    fn command(&self) -> String {
        let words = self.words(program(), &arguments(), &self.features());
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the arguments of cargo for the features of this program.
    fn features(&self) -> Vec<String> {
        features::arguments(program(), &self.package, self.manifest_dir.as_deref())
    }

    /// Returns the arguments with which cargo runs only this test, also with the features of the test. Empty if no
    /// variable reaches the test, or if the program was not built by cargo.
    #[allow(dead_code, reason = "runs on real threads have no traces")]
    pub(crate) fn cargo_arguments(&self) -> Vec<String> {
        let mut words = self.words(program(), &arguments(), &self.features());
        match self.hermetic || self.target.is_program() {
            true => Vec::new(),
            false => words.split_off(1),
        }
    }

    /// Returns the words of the command for this program. `arguments` are the program's arguments, and `features` the
    /// arguments of cargo for the features of the package.
    fn words(&self, program: &Path, arguments: &[String], features: &[String]) -> Vec<String> {
        let behind = |dashes: &[&str]| match arguments {
            [] => Vec::new(),
            _ => [owned(dashes), arguments.to_vec()].concat(),
        };
        if self.target.is_program() {
            let rest = match &self.filter {
                Some(name) => owned(&[name, "--exact"]),
                None => behind(&[]),
            };
            return [vec![program.display().to_string()], rest].concat();
        }
        let package = match &*self.package {
            UNKNOWN => Vec::new(),
            name => owned(&["-p", name]),
        };
        let test: Vec<String> = test_command().split(' ').map(str::to_owned).collect();
        if self.target.is_doc() {
            return [test, package, owned(&["--doc"])].concat();
        }
        let profile = profile(program);
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        if let (Some(name), None) = (self.target.example(), without_hash(&stem)) {
            let run = owned(&["cargo", "run"]);
            let example = owned(&["--example", name]);
            return [run, profile, package, features.to_vec(), example, behind(&["--"])].concat();
        }
        let rest = match &self.filter {
            // Without `--exact`, other tests would run the replay too if their names contain this name.
            Some(name) => {
                let mut rest = owned(&[name, "--", "--exact"]);
                // The test may be marked as ignored.
                let is_ignored = runs_ignored(arguments.iter().cloned());
                rest.extend(is_ignored.then(|| "--include-ignored".to_owned()));
                rest
            }
            None => behind(&["--"]),
        };
        [test, profile, package, features.to_vec(), self.target.arguments(), rest].concat()
    }

    /// Returns `name version`.
    pub(crate) fn package_and_version(&self) -> String {
        format!("{} {}", self.package, self.version).trim_end().to_owned()
    }
}

/// The package name that is used if Cargo did not start the program and the name is unknown.
pub(super) const UNKNOWN: &str = "program";

/// Returns `true` if these arguments of a test program select tests that are marked as ignored.
pub(super) fn runs_ignored(mut arguments: impl Iterator<Item = String>) -> bool {
    arguments.any(|word| ["--ignored", "--include-ignored"].contains(&&*word))
}

/// Returns the path of this program; empty if the system does not provide it.
pub(super) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| std::env::current_exe().unwrap_or_default())
}

/// Returns the name that a harness gives the test with this path, without the crate name. The harness keeps `r#` if the
/// word is not a keyword in the edition. The harness gives the thread of a test the name of the test, so the thread
/// name decides.
pub(super) fn filter(path: &str) -> String {
    let plain = |name: &str| name.replace("r#", "");
    let thread = std::thread::current().name().map(str::to_owned);
    thread.filter(|name| plain(name) == plain(path)).unwrap_or_else(|| path.to_owned())
}

fn is_identifier(word: &str) -> bool {
    let word = word.strip_prefix("r#").unwrap_or(word);
    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the arguments of this program.
fn arguments() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the Cargo arguments for the profile with which the program was built.
fn profile(program: &Path) -> Vec<String> {
    let folder = program.parent().unwrap_or(Path::new(""));
    let profile = folder.parent().and_then(Path::file_name).unwrap_or_default();
    match &*profile.to_string_lossy() {
        "debug" => Vec::new(),
        "release" => vec!["--release".to_owned()],
        other => vec!["--profile".to_owned(), other.to_owned()],
    }
}

/// Quotes a word for a POSIX shell.
pub(super) fn quoted(word: &str) -> String {
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

    fn site(program: &str, filter: Option<&str>) -> Site {
        Site {
            test: "crate_name::module::name".to_owned(),
            target: TestTarget::running(Path::new(program), "src/lib.rs", None),
            package: "demo".to_owned(),
            version: "1.0.0".to_owned(),
            manifest_dir: None,
            place: Location::caller(),
            filter: filter.map(str::to_owned),
            hermetic: false,
            variables: Vec::new(),
        }
    }

    #[test]
    fn the_command_runs_one_test_as_it_was_built() {
        let hash = "0123456789abcdef";
        for (program, filter, arguments, expected) in [
            (
                "t/debug/deps/demo-HASH",
                Some("a::b"),
                "x",
                "cargo test -p demo --lib a::b -- --exact",
            ),
            (
                "t/release/deps/demo-HASH",
                Some("r#type"),
                "",
                "cargo test --release -p demo --lib 'r#type' -- --exact",
            ),
            ("t/ci/deps/demo-HASH", None, "", "cargo test --profile ci -p demo --lib"),
            ("t/debug/deps/demo-HASH", None, "a;b c", "cargo test -p demo --lib -- a 'b c'"),
            (
                "t/debug/deps/demo-HASH",
                Some("a::b"),
                "--ignored",
                "cargo test -p demo --lib a::b -- --exact --include-ignored",
            ),
            ("t/debug/examples/queue", None, "", "cargo run -p demo --example queue"),
            ("t/debug/examples/queue", None, "7;--x", "cargo run -p demo --example queue -- 7 --x"),
            (
                "t/debug/examples/queue-HASH",
                Some("in_example"),
                "",
                "cargo test -p demo --example queue in_example -- --exact",
            ),
            ("/tmp/rustdoctestX/rust_out", None, "", "cargo test -p demo --doc"),
            ("/queue-tests", Some("a::b"), "--nocapture", "/queue-tests a::b --exact"),
            ("/opt/my tool", None, "", "'/opt/my tool'"),
            ("/opt/my tool", None, "--size;3", "'/opt/my tool' --size 3"),
        ] {
            let program = program.replace("HASH", hash);
            let arguments = arguments.split(';').filter(|word| !word.is_empty());
            let arguments: Vec<String> = arguments.map(str::to_owned).collect();
            let words = site(&program, filter).words(Path::new(&program), &arguments, &[]);
            let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
            assert_eq!(command, expected);
        }
    }

    #[test]
    fn a_file_of_plain_threads_is_in_the_package_and_not_in_the_root() {
        let root = std::env::temp_dir().join(format!("sim-sources-{}", std::process::id()));
        let member = root.join("member");
        for file in ["Cargo.lock", "src/lib.rs", "member/src/lib.rs", "member/src/own.rs"] {
            let file = root.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let site = Site { manifest_dir: Some(member.clone()), ..site("/opt/tool", None) };
        for (file, of_threads, expected) in [
            ("src/lib.rs", false, Some(root.join("src/lib.rs"))),
            ("src/lib.rs", true, Some(member.join("src/lib.rs"))),
            ("member/src/lib.rs", false, Some(member.join("src/lib.rs"))),
            // A panic has the place that the compiler gives, also in a plain thread.
            ("member/src/lib.rs", true, Some(member.join("src/lib.rs"))),
            ("src/own.rs", true, Some(member.join("src/own.rs"))),
            ("src/none.rs", true, None),
        ] {
            assert_eq!(site.source(file, of_threads), expected, "{file} {of_threads}");
        }
        std::fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_hermetic_runner_is_told_in_its_source() {
        let hermetic = Site { hermetic: true, ..site("/opt/tool", None) };
        let told = hermetic.replay_command("sim2:0x2", false);
        assert!(
            told.starts_with(".replay(\"sim2:0x2\") on the Runner of src/engine/runner/site.rs:"),
            "{told}"
        );
        assert!(hermetic.seed_command(7).starts_with(".seed(7) on the Runner of "));
    }

    #[test]
    fn commands_have_the_variables_that_the_runs_need() {
        let variable = |name, value: &str, is_in_traces| SetVariable {
            name,
            value: value.to_owned(),
            is_in_traces,
        };
        let variables =
            vec![variable("SIM_STRATEGY", "pct", false), variable("SIM_CANCEL", "a *", true)];
        let site = Site { variables, ..site("/opt/tool", Some("a::b")) };
        let begins = |command: String, begin: &str| {
            assert!(command.starts_with(begin), "{command} does not begin with {begin}");
        };
        begins(site.seed_command(7), "SIM_SEED=7 SIM_STRATEGY=pct SIM_CANCEL='a *' /");
        begins(site.search_command(), "SIM_STRATEGY=pct SIM_CANCEL='a *' /");
        begins(site.replay_command("sim2:0", false), "SIM_REPLAY=sim2:0 SIM_CANCEL='a *' /");
        begins(site.replay_command("a.simtrace", true), "SIM_REPLAY=a.simtrace /");
    }

    /// Cargo has built this test, so its features are known.
    #[test]
    fn commands_have_the_features_that_traces_have() {
        let (program, manifest_dir) = (program(), std::env::var_os("CARGO_MANIFEST_DIR"));
        let package = "unpause".to_owned();
        let target = TestTarget::running(program, "src/lib.rs", None);
        let manifest_dir = manifest_dir.map(PathBuf::from);
        let of_program = site("t/debug/deps/demo-0123456789abcdef", Some("a::b"));
        let site = Site { package, manifest_dir, target, ..of_program };
        let words = site.cargo_arguments();
        let quoted = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        for command in [site.replay_command("a", true), site.seed_command(7), site.search_command()]
        {
            assert!(command.ends_with(&format!("cargo {quoted}")), "{command}: {quoted}");
        }
    }

    #[test]
    fn a_thread_is_a_test_if_its_name_can_be_one() {
        for (name, is) in
            [("a::b", true), ("r#type", true), ("worker-1", false), ("a b", false), ("a::", false)]
        {
            assert_eq!(name.split("::").all(is_identifier), is, "{name}");
        }
    }

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(quoted("sim2:0x2,0.1=3/10"), "sim2:0x2,0.1=3/10");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
