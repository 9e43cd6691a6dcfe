//! Runs one test of the fixture in a separate process, in the same way as Cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A way to run one test of the fixture.
pub(crate) struct Child {
    name: String,
    command: Command,
    variables: Vec<(String, String)>,
}

/// The end of a child.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Will run the fixture's test `name`, with its output not captured by the harness. Cargo was started in the root of
/// the workspace.
pub(crate) fn child(name: &str) -> Child {
    captured(name).arg("--nocapture")
}

/// Like [`child`], but the harness captures the output, and shows it on stdout if the test fails.
pub(crate) fn captured(name: &str) -> Child {
    let name = format!("fixture::{name}");
    let mut command = Command::new(std::env::current_exe().unwrap());
    clean(&mut command);
    command.args([&*name, "--exact"]);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("PWD", root());
    Child { name, command, variables: Vec::new() }
}

/// Sets the variables of the fixture and removes the variables of the caller of these tests.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let of_the_fixture = name.starts_with("UNPAUSE_");
        if name.starts_with("SIM_") || of_the_fixture {
            command.env_remove(&*name);
        }
    }
    let of_the_caller =
        ["RUST_BACKTRACE", "CI", "CARGO_TERM_COLOR", "NO_COLOR", "RUST_TEST_THREADS", "COLUMNS"];
    for name in of_the_caller.into_iter().chain(["GITHUB_ACTIONS"]) {
        command.env_remove(name);
    }
    // The seeds named in these tests are seeds of the random walk.
    command.env("UNPAUSE_FIXTURE", "1").env("SIM_STRATEGY", "random");
}

/// For a command that builds this workspace: selects the compiler that built this program, if it is not the usual
/// compiler.
pub(crate) fn with_its_compiler(command: &mut Command) {
    if let Some(wrapper) = std::env::var_os("UNPAUSE_WRAPPER") {
        command.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    }
}

impl Child {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Child {
        let value = value.as_ref();
        self.variables.push((name.to_owned(), value.to_string_lossy().into_owned()));
        self.command.env(name, value);
        self
    }

    pub(crate) fn arg(mut self, argument: &str) -> Child {
        self.command.arg(argument);
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path, shell: &Path) -> Child {
        self.command.current_dir(folder).env("PWD", shell);
        self
    }

    /// Runs it on a terminal, which Python creates, and returns the output on the terminal.
    pub(crate) fn on_a_terminal(self) -> String {
        const SPAWN: &str = "import pty, sys; pty.spawn(sys.argv[1:])";
        let mut command = Command::new("python3");
        command.args(["-c", SPAWN]).arg(self.command.get_program()).args(self.command.get_args());
        clean(&mut command);
        command.envs(self.variables).env("TERM", "xterm");
        let folder = self.command.get_current_dir().unwrap_or(Path::new("."));
        let output = command.current_dir(folder).stdin(Stdio::null()).output();
        let output = output.expect("python3 starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Returns the command, for a caller that communicates with the process.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }

    /// Starts the process and does not wait for its end. The output is discarded.
    pub(crate) fn start(mut self) -> std::process::Child {
        let silent = self.command.stdout(Stdio::null()).stderr(Stdio::null());
        silent.spawn().unwrap()
    }

    pub(crate) fn run(mut self) -> Ended {
        let ended = Ended::of(self.command.output().unwrap());
        // If no test has this name, the process would pass without running any test.
        let ran = ended.stdout.contains("running 1 test") || ended.stdout.is_empty();
        assert!(ran, "{} {:?}: {ended}", self.name, self.variables);
        ended
    }

    /// Runs the tests that the further arguments name, and checks that `count` tests pass.
    pub(crate) fn run_several(mut self, count: u32) -> Ended {
        let ended = Ended::of(self.command.output().unwrap());
        assert!(
            ended.stdout.contains(&format!("{count} passed; 0 failed")),
            "{}: {ended}",
            self.name
        );
        ended
    }

    /// Runs the test, and asserts that it passes.
    pub(crate) fn passes(self) -> Ended {
        let about = format!("{} {:?}", self.name, self.variables);
        let ended = self.run();
        assert_eq!(ended.code, Some(0), "{about} should pass: {ended}");
        ended
    }

    /// Runs the test, and asserts that it fails without a panic message, as a failed test does.
    pub(crate) fn fails(self) -> Ended {
        let about = format!("{} {:?}", self.name, self.variables);
        let ended = self.run();
        assert_eq!(ended.code, Some(101), "{about} should fail: {ended}");
        for noise in ["panicked at", "stack backtrace", "RUST_BACKTRACE", "\u{1b}["] {
            assert!(!ended.stderr.contains(noise), "{about}: {noise:?} in {ended}");
        }
        ended
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Ended {
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ended {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Asserts that stderr contains these texts.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.has(part), "{part:?} is not said: {self}");
        }
    }

    #[track_caller]
    pub(crate) fn says_not(&self, part: &str) {
        assert!(!self.has(part), "{part:?} is said: {self}");
    }

    /// Returns `true` if stderr contains this text, possibly wrapped. The positions of line breaks depend on the length
    /// of paths in the text.
    fn has(&self, part: &str) -> bool {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        self.stderr.contains(part) || words(&self.stderr).contains(&words(part))
    }

    /// The text after a label such as `replay:` at the beginning of a line.
    #[track_caller]
    pub(crate) fn after(&self, label: &str) -> String {
        let line = self.stderr.lines().find_map(|line| line.strip_prefix(label));
        line.unwrap_or_else(|| panic!("no {label} {self}")).trim().to_owned()
    }

    /// The picture of the schedule, and the text below it up to the commands.
    #[track_caller]
    pub(crate) fn schedule(&self) -> String {
        let from = self.stderr.find("── schedule").unwrap_or_else(|| panic!("no schedule {self}"));
        let rest = &self.stderr[from..];
        let to = ["\ntrace:", "\nreplay:"].iter().filter_map(|end| rest.find(end)).min();
        rest[..to.unwrap_or(rest.len())].trim_end().to_owned()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { code, stdout, stderr } = self;
        write!(f, "\n==== exit code {code:?}\n==== stdout\n{stdout}\n==== stderr\n{stderr}\n====\n")
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// An empty folder of this name for one test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shell").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Tests run at the same time, and a folder is emptied when a test begins to use it.
#[test]
fn each_folder_belongs_to_one_test() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell");
    let mut names = Vec::new();
    for source in fs::read_dir(sources).unwrap() {
        let text = fs::read_to_string(source.unwrap().path()).unwrap();
        let calls = text.split("folder(\"").skip(1).filter_map(|rest| rest.split_once("\")"));
        names.extend(calls.map(|(name, _)| name.to_owned()));
    }
    names.sort();
    let shared: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(names.len() > 30 && shared.is_empty(), "{} names, {shared:?}", names.len());
}

/// Returns the names of the JSON reports below a folder, as relative paths.
pub(crate) fn names_of_reports(folder: &Path) -> Vec<String> {
    all_files(folder).into_iter().filter(|file| file.ends_with(".json")).collect()
}

/// All files below a folder except reports, by relative path.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    all_files(folder).into_iter().filter(|file| !file.ends_with(".json")).collect()
}

fn all_files(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, root: &Path, files: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, root, files),
                false => files.push(path.strip_prefix(root).unwrap().display().to_string()),
            }
        }
    }
    let mut files = Vec::new();
    walk(folder, folder, &mut files);
    files.sort();
    files
}
