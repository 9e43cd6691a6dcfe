//! Programs that a test gives to the compiler, with the libraries of this workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of this package.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Builds the library with the same settings as the tests of the workspace, so that nothing is built twice. Returns the
/// folder of the library. `test` is the name of the calling test.
pub(crate) fn build_the_library(test: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let profile = program.parent().and_then(Path::parent).unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(package()).env("CARGO_NET_OFFLINE", "true");
    // A test among the targets has the features of all tests taken together.
    cargo.args(["build", "--quiet", "--workspace", "--lib", "--test", test]);
    cargo.arg("--target-dir").arg(profile.parent().unwrap());
    match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => &mut cargo,
        profile => cargo.args(["--profile", profile]),
    };
    if !sim::SIMULATED {
        cargo.arg("--no-default-features");
    }
    // This variable may contain a setting; the compiler is the compiler that built this test.
    if let Ok(config) = std::env::var("UNPAUSE_CONFIG") {
        cargo.args(["--config", &config]);
    }
    if let Some(wrapper) = std::env::var_os("UNPAUSE_WRAPPER") {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    }
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    profile.to_owned()
}

/// The output of the compiler, called with these arguments, for a program that has the libraries in this folder.
pub(crate) fn compile(program: &Path, libraries: &Path, arguments: &[&str]) -> Output {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--crate-name", "case"]).args(arguments);
    rustc.arg("--emit=metadata").arg("--out-dir").arg(env!("CARGO_TARGET_TMPDIR"));
    rustc.arg("-L").arg(format!("dependency={}", libraries.join("deps").display()));
    for library in ["sim", "tokio"] {
        let file = libraries.join(format!("lib{library}.rlib"));
        rustc.arg("--extern").arg(format!("{library}={}", file.display()));
    }
    // The path is relative if possible, because messages quote it.
    rustc.current_dir(package()).arg(program.strip_prefix(package()).unwrap_or(program));
    rustc.output().expect("rustc starts")
}
