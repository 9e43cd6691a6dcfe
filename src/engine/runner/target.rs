//! The Cargo target into which a test is compiled. The target is a part of every name of the test.
//!
//! A library, a binary, an integration test and an example of one package can have the same crate name and tests with
//! the same path. The results, traces and commands of such targets must not be confused.
//!
//! An attribute reads its target from variables that Cargo sets for the compiler. A [`Runner`](super::Runner) is a
//! function, so it must derive the target from the file name of the program and its own source location. The runner
//! cannot distinguish a library from a binary with the same name if both contain the module of this location.

use std::path::Path;

/// A Cargo target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TestTarget {
    kind: TargetKind,
    /// The name of the target; empty if the package has only one target of this kind.
    name: String,
    /// True if `name` is the name in the manifest. If this is false, `name` is the crate name, which has `_` in place
    /// of `-`.
    exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TargetKind {
    Lib,
    Bin,
    Example,
    Test,
    Bench,
    /// The documentation tests.
    Doc,
    /// A program without a test harness.
    Program,
    /// A test program of an unknown kind, named after its file.
    Crate,
}

impl TestTarget {
    /// Returns the target of an attribute. `binary` is `CARGO_BIN_NAME`, which is set for binaries and examples.
    /// `integration` is true if `CARGO_TARGET_TMPDIR` is set, which is the case for integration tests and benchmarks.
    pub(crate) fn compiled(
        binary: Option<&str>,
        integration: bool,
        file: &str,
        crate_name: &str,
        program: &Path,
    ) -> TestTarget {
        match binary {
            // The root file and the program of an example may be anywhere, but at least one of the two is usually in a
            // folder `examples`.
            Some(name)
                if folder_of(program) == "examples"
                    || TestTarget::below(
                        &[("examples", TargetKind::Example)],
                        file,
                        crate_name,
                    )
                    .is_some() =>
            {
                TestTarget::exact(TargetKind::Example, name)
            }
            Some(name) => TestTarget::exact(TargetKind::Bin, name),
            None if !integration => TestTarget::exact(TargetKind::Lib, ""),
            None => {
                let found = TestTarget::below(&FOLDERS, file, crate_name);
                found.unwrap_or_else(|| TestTarget::guessed(TargetKind::Test, crate_name))
            }
        }
    }

    /// Returns the target of a running program. The file name of the program, the source location of a runner and the
    /// folder of the package determine the target, but not always exactly.
    pub(crate) fn running(program: &Path, file: &str, package: Option<&Path>) -> TestTarget {
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        match (folder_of(program), without_hash(&stem)) {
            ("examples", name) => TestTarget::exact(TargetKind::Example, name.unwrap_or(&stem)),
            ("deps", Some(name)) => TestTarget::of_harness(name, &stem, file, package),
            _ if stem == "rust_out" => TestTarget::exact(TargetKind::Doc, ""),
            _ => TestTarget::exact(TargetKind::Program, &stem),
        }
    }

    /// Returns the target of a test program with this crate name and file name.
    fn of_harness(crate_name: &str, stem: &str, file: &str, package: Option<&Path>) -> TestTarget {
        let folders = [FOLDERS[0], FOLDERS[1], ("bin", TargetKind::Bin)];
        if let Some(target) = TestTarget::below(&folders, file, crate_name) {
            return target;
        }
        let has = |path: &str| package.is_some_and(|package| package.join(path).exists());
        // The file is a module that targets share, such as `tests/common/mod.rs`.
        for (folder, kind) in FOLDERS {
            let names = [crate_name.to_owned(), crate_name.replace('_', "-")];
            let root = |name: &String| {
                has(&format!("{folder}/{name}.rs")) || has(&format!("{folder}/{name}/main.rs"))
            };
            if let Some(name) =
                names.iter().filter(|_| parts(file).any(|p| p == folder)).find(|n| root(n))
            {
                return TestTarget::exact(kind, name);
            }
        }
        let alone = has("src/lib.rs") && !has("src/main.rs") && !has("src/bin");
        match file {
            file if file.ends_with("src/main.rs") => {
                TestTarget::guessed(TargetKind::Bin, crate_name)
            }
            file if file.ends_with("src/lib.rs") => TestTarget::exact(TargetKind::Lib, ""),
            // The library is the only target of the package with modules in this folder.
            file if alone && parts(file).any(|part| part == "src") => {
                TestTarget::exact(TargetKind::Lib, "")
            }
            // The hash differs between targets, but also between builds with different flags.
            _ => TestTarget::exact(TargetKind::Crate, stem),
        }
    }

    /// Returns the target of `file` if its root is in one of these folders, where Cargo searches it, and `file` was
    /// compiled below that root as `crate_name`.
    fn below(folders: &[(&str, TargetKind)], file: &str, crate_name: &str) -> Option<TestTarget> {
        folders.iter().find_map(|(folder, kind)| {
            let target = parts(file).skip_while(|part| part != folder).nth(1)?;
            let target = target.strip_suffix(".rs").unwrap_or(target);
            let same = target.replace('-', "_") == crate_name.replace('-', "_");
            same.then(|| TestTarget::exact(*kind, target))
        })
    }

    fn exact(kind: TargetKind, name: &str) -> TestTarget {
        TestTarget { kind, name: name.to_owned(), exact: true }
    }

    fn guessed(kind: TargetKind, name: &str) -> TestTarget {
        TestTarget { kind, name: name.to_owned(), exact: false }
    }

    /// Returns the kind and the name in words, such as `lib` or `bin tool`.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.kind.word(), self.name).trim_end().to_owned()
    }

    /// Returns a name of the test that is unique in its package, for folders. `test` begins with the crate name, or is
    /// the name of a runner. The name of a library test stays unchanged. All other names begin with a word that
    /// contains a `-`, which no crate name contains.
    pub(crate) fn key(&self, test: &str) -> String {
        let (word, name) = (self.kind.word(), &self.name);
        let label = match self.kind {
            TargetKind::Lib => return test.to_owned(),
            TargetKind::Doc => "doc-tests".to_owned(),
            _ => format!("{word}-{name}"),
        };
        let own = test.split_once("::").filter(|(first, _)| *first == name.replace('-', "_"));
        format!("{label}::{}", own.map_or(test, |(_, rest)| rest))
    }

    /// Returns the `cargo test` arguments for this target; empty if it is unknown.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let name = match self.exact {
            true => self.name.clone(),
            // Cargo accepts patterns here.
            false => self.name.replace('_', "[-_]"),
        };
        match self.kind {
            TargetKind::Lib | TargetKind::Doc => vec![format!("--{}", self.kind.word())],
            TargetKind::Program | TargetKind::Crate => Vec::new(),
            _ => vec![format!("--{}", self.kind.word()), name],
        }
    }

    pub(super) fn is_program(&self) -> bool {
        self.kind == TargetKind::Program
    }

    pub(super) fn is_doc(&self) -> bool {
        self.kind == TargetKind::Doc
    }

    pub(super) fn example(&self) -> Option<&str> {
        (self.kind == TargetKind::Example).then_some(&self.name)
    }
}

impl TargetKind {
    /// Returns the word of Cargo's option for this kind. Kinds without an option have a word, too.
    fn word(self) -> &'static str {
        match self {
            TargetKind::Lib => "lib",
            TargetKind::Bin => "bin",
            TargetKind::Example => "example",
            TargetKind::Test => "test",
            TargetKind::Bench => "bench",
            TargetKind::Doc => "doc",
            TargetKind::Program => "program",
            TargetKind::Crate => "crate",
        }
    }
}

/// The folders that contain the roots of targets whose tests can share modules.
const FOLDERS: [(&str, TargetKind); 2] =
    [("tests", TargetKind::Test), ("benches", TargetKind::Bench)];

fn parts(file: &str) -> impl Iterator<Item = &str> {
    file.split(['/', '\\'])
}

/// Returns the name of the folder that contains the program.
fn folder_of(program: &Path) -> &str {
    let folder = program.parent().and_then(Path::file_name);
    folder.and_then(|folder| folder.to_str()).unwrap_or_default()
}

/// Returns a file name that Cargo created, without the hash at its end; `None` if it has no hash.
pub(super) fn without_hash(stem: &str) -> Option<&str> {
    let (name, hash) = stem.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(binary: Option<&str>, integration: bool, file: &str, name: &str) -> TestTarget {
        let program = format!("t/debug/deps/{name}-0123456789abcdef");
        TestTarget::compiled(binary, integration, file, name, Path::new(&program))
    }

    #[test]
    fn targets_with_one_crate_name_have_different_names_and_arguments() {
        let file = "both/tests/both.rs";
        let example = Path::new("t/debug/examples/both-0123456789abcdef");
        for (target, label, key, argument) in [
            (compiled(None, false, "src/lib.rs", "both"), "lib", "both::a::b", "--lib"),
            (
                compiled(Some("both"), false, "src/main.rs", "both"),
                "bin both",
                "bin-both::a::b",
                "--bin both",
            ),
            (compiled(None, true, file, "both"), "test both", "test-both::a::b", "--test both"),
            (
                compiled(None, true, "benches/both.rs", "both"),
                "bench both",
                "bench-both::a::b",
                "--bench both",
            ),
            (
                TestTarget::compiled(Some("both"), false, "examples/both.rs", "both", example),
                "example both",
                "example-both::a::b",
                "--example both",
            ),
        ] {
            assert_eq!(target.label(), label);
            assert_eq!(target.key("both::a::b"), key);
            assert_eq!(target.arguments().join(" "), argument);
        }
    }

    #[test]
    fn a_name_with_a_dash_is_known_as_the_manifest_has_it_or_asked_for_by_a_pattern() {
        let argument = |target: TestTarget| target.arguments().join(" ");
        assert_eq!(
            argument(compiled(Some("my-tool"), false, "src/main.rs", "my_tool")),
            "--bin my-tool"
        );
        assert_eq!(
            argument(compiled(None, true, "a/tests/my-test.rs", "my_test")),
            "--test my-test"
        );
        assert_eq!(
            argument(compiled(None, true, "tests/my_test/part.rs", "my_test")),
            "--test my_test"
        );
        // The manifest names this target explicitly, or the test is in a module that targets share.
        assert_eq!(argument(compiled(None, true, "tests/x.rs", "my_test")), "--test my[-_]test");
        assert_eq!(argument(compiled(None, true, "tests/common/mod.rs", "all")), "--test all");
        assert_eq!(
            compiled(None, true, "tests/my-test.rs", "my_test").key("my_test::a"),
            "test-my-test::a"
        );
    }

    #[test]
    fn a_running_program_tells_its_target_as_far_as_it_can() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let deps = |name: &str| format!("t/debug/deps/{name}-0123456789abcdef");
        for (program, file, label) in [
            ("t/debug/examples/kv".to_owned(), "examples/kv.rs", "example kv"),
            ("t/debug/examples/kv-0123456789abcdef".to_owned(), "examples/kv.rs", "example kv"),
            ("/opt/my-tool".to_owned(), "src/main.rs", "program my-tool"),
            ("/tmp/rustdoctestX/rust_out".to_owned(), "src/lib.rs", "doc"),
            (deps("queue"), "tests/queue.rs", "test queue"),
            (deps("tool"), "src/bin/tool.rs", "bin tool"),
            (deps("tool"), "src/main.rs", "bin tool"),
            (deps("sim"), "src/lib.rs", "lib"),
            // The package `sim` has a library, but no binary.
            (deps("sim"), "src/sync/mutex.rs", "lib"),
            (deps("other"), "tests/common/mod.rs", "crate other-0123456789abcdef"),
        ] {
            let target = TestTarget::running(Path::new(&program), file, Some(package));
            assert_eq!(target.label(), label, "{program} {file}");
        }
        let unknown = TestTarget::running(Path::new(&deps("both")), "src/part.rs", None);
        assert_eq!(unknown.arguments(), [""; 0]);
        assert_eq!(unknown.key("main_7"), "crate-both-0123456789abcdef::main_7");
    }
}
