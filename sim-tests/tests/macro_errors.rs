//! Errors of `#[sim::test]` for wrong uses, by text and place.
//!
//! The files are built as programs, in which tests are left out, so these are only rejected tests;
//! accepted tests are in `macro_contract` and `macro_beside_others`. After a change of a message or
//! a compiler, `UPDATE_EXPECT=1 cargo test --test macro_errors` rewrites the `.stderr` files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn errors_stand_where_they_are_made() {
    let libraries = build_the_library();
    let mut cases: Vec<PathBuf> = fs::read_dir(package().join("tests/ui"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no file in tests/ui");
    for case in cases {
        let output = compile(&case, &libraries);
        assert!(!output.status.success(), "{} compiles", case.display());
        let errors = without_summary(&String::from_utf8(output.stderr).unwrap());
        expect_test::expect_file![case.with_extension("stderr")].assert_eq(&errors);
    }
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the library as the tests of the workspace are built, so that nothing is built twice, and
/// gives the folder it is put into.
fn build_the_library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let profile = program.parent().and_then(Path::parent).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(package()).env("CARGO_NET_OFFLINE", "true");
    // A test among the targets has the features of all tests taken together.
    cargo.args(["build", "--quiet", "--workspace", "--lib", "--test", "macro_errors"]);
    cargo.arg("--target-dir").arg(profile.parent().unwrap());
    match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => &mut cargo,
        profile => cargo.args(["--profile", profile]),
    };
    if !sim::SIMULATED {
        cargo.arg("--no-default-features");
    }
    // A setting that this test was built with.
    if let Ok(config) = std::env::var("UNPAUSE_CONFIG") {
        cargo.args(["--config", &config]);
    }
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    profile.to_owned()
}

/// The output of the compiler for a program that has the library in this folder.
fn compile(program: &Path, libraries: &Path) -> Output {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-name", "case", "--diagnostic-width", "140"]);
    rustc.arg("--emit=metadata").arg("--out-dir").arg(env!("CARGO_TARGET_TMPDIR"));
    rustc.arg("-L").arg(format!("dependency={}", libraries.join("deps").display()));
    rustc.arg("--extern").arg(format!("sim={}", libraries.join("libsim.rlib").display()));
    // Relative, as it is quoted.
    rustc.current_dir(package()).arg(program.strip_prefix(package()).unwrap());
    rustc.output().expect("rustc starts")
}

/// The errors without the lines at the end that count them and refer to explanations.
fn without_summary(errors: &str) -> String {
    let end = errors.find("\nerror: aborting due to ").expect("errors end with how many they are");
    errors[..end].to_owned()
}
