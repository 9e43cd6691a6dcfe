//! The user's flags, wrappers and programs of Cargo in `cargo unpause test`: each place that names them still counts.

#![forbid(unsafe_code)]
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = r#"
//! ```
//! assert!(cfg!(of_documentation));
//! ```

#[test]
fn has_the_flag() {
    assert!(cfg!(of_the_user));
}
"#;

/// A program that writes its arguments to the file `noted` beside it, and calls the program that they name.
const NOTES: &str = "#!/bin/sh\nprintf '%s ' \"$@\" >> \"$0.noted\"\necho >> \"$0.noted\"\n";

const FLAGS: &str = "rustflags = ['--cfg', 'of_the_user']";

/// A place that names a flag or a program: its name, a configuration of Cargo, arguments and variables of the command.
type Place<'a> = (&'a str, &'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// A package in a separate folder.
struct Package(PathBuf);

impl Package {
    fn new(name: &str, configuration: &str) -> Package {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chained").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        let package = Package(folder);
        package.write("Cargo.toml", "[workspace]\n[package]\nname = 'a'\nedition = '2024'\n");
        package.write("src/lib.rs", LIBRARY);
        package.write(".cargo/config.toml", configuration);
        package
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a program that records its arguments and then does `rest`.
    fn program(&self, name: &str, rest: &str) {
        self.write(name, &format!("{NOTES}{rest}\n"));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.join(name), executable).unwrap();
    }

    /// Returns the calls that a program has recorded.
    fn noted(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(format!("{name}.noted")));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.0);
        for (name, _) in std::env::vars() {
            let of_cargo = name.starts_with("CARGO_") && name != "CARGO_HOME";
            if of_cargo || name.starts_with("RUSTC") || name.ends_with("FLAGS") {
                command.env_remove(name);
            }
        }
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        command.env("UNPAUSE_CACHE", cache);
        command
    }

    /// Runs `cargo unpause test`. Returns `true` if the command passes, and its output.
    fn test(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (bool, String) {
        let mut command = self.command(env!("CARGO_BIN_EXE_cargo-unpause"));
        command.args(["unpause", "test"]).args(arguments).envs(variables.iter().copied());
        text(&mut command)
    }
}

/// Runs a command. Returns `true` if the command passes, and its output.
fn text(command: &mut Command) -> (bool, String) {
    let ended = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.success(), text(&ended.stdout) + &text(&ended.stderr))
}

#[test]
fn flags_of_each_place_reach_the_compiler() {
    let host = "x86_64-unknown-linux-gnu";
    let table = |name: &str| format!("[{name}]\n{FLAGS}\n");
    let encoded = "--cfg\u{1f}of_the_user";
    let option = format!("build.{FLAGS}");
    let (at_build, of_target) = (table("build"), table(&format!("target.{host}")));
    let of_cfg = table("target.'cfg(unix)'");
    let profile = format!("[profile.test]\n{FLAGS}\n[unstable]\nprofile-rustflags = true\n");
    let places: [Place<'_>; 8] = [
        ("build", &at_build, &[], &[]),
        ("target", &of_target, &[], &[]),
        ("cfg", &of_cfg, &[], &[]),
        ("profile", &profile, &[], &[("RUSTC_BOOTSTRAP", "1")]),
        ("option", "", &["--config", &option], &[]),
        ("variable", "", &[], &[("RUSTFLAGS", "--cfg of_the_user")]),
        ("encoded", "", &[], &[("CARGO_ENCODED_RUSTFLAGS", encoded)]),
        ("configuration", "", &[], &[("CARGO_BUILD_RUSTFLAGS", "--cfg of_the_user")]),
    ];
    for (name, configuration, arguments, variables) in places {
        let package = Package::new(name, configuration);
        let arguments = [arguments, &["--lib"]].concat();
        let (passed, output) = package.test(&arguments, variables);
        assert!(passed && output.contains("1 passed"), "{name}: {output}");
    }
    let package = Package::new("none", "");
    assert!(!package.test(&["--lib"], &[]).0, "the test needs the flag");
}

#[test]
#[ignore = "builds packages: run by .ci/run --long"]
fn flags_of_documentation_tests_reach_rustdoc() {
    let flags = "rustdocflags = ['--cfg', 'of_documentation']";
    let package = Package::new("documentation", &format!("[build]\n{flags}\n"));
    let (passed, output) = package.test(&["--doc"], &[]);
    assert!(passed && output.contains("1 passed"), "{output}");
    let package = Package::new("documentation-none", "");
    assert!(!package.test(&["--doc"], &[]).0, "the test needs the flag");

    let own = "[build]\nrustdoc = './rustdoc'\n";
    let package = Package::new("documentation-own", &format!("{own}{flags}\n"));
    package.program("rustdoc", "exec rustdoc \"$@\"");
    let (passed, output) = package.test(&["--doc"], &[]);
    let called = package.noted("rustdoc");
    assert!(
        passed && called.iter().any(|call| call.contains("-Clink-arg=@")),
        "{output}{called:?}"
    );
}

#[test]
fn wrappers_of_each_place_are_called_with_the_flags_of_the_instrumentation() {
    let wrap = |line: &str| format!("[build]\n{line}\n{FLAGS}\n");
    let of = |key: &str| wrap(&format!("{key} = 'tools/wrap'"));
    let (wrapper, members) = (of("rustc-wrapper"), of("rustc-workspace-wrapper"));
    let plain = wrap("");
    let places: [Place<'_>; 6] = [
        ("wrapper", &wrapper, &[], &[]),
        ("members", &members, &[], &[]),
        ("wrapper-option", &plain, &["--config", "build.rustc-wrapper='tools/wrap'"], &[]),
        ("wrapper-variable", &plain, &[], &[("RUSTC_WRAPPER", "tools/wrap")]),
        ("members-variable", &plain, &[], &[("RUSTC_WORKSPACE_WRAPPER", "tools/wrap")]),
        ("wrapper-build", &plain, &[], &[("CARGO_BUILD_RUSTC_WRAPPER", "tools/wrap")]),
    ];
    for (name, configuration, arguments, variables) in places {
        let package = Package::new(name, configuration);
        package.program("tools/wrap", "exec \"$@\"");
        let (passed, output) = package.test(&[arguments, &["--lib"]].concat(), variables);
        let noted = package.noted("tools/wrap");
        let compiled = noted.iter().find(|call| call.contains("--crate-name a "));
        let compiled = compiled.unwrap_or_else(|| panic!("{name}: {noted:?}{output}"));
        assert!(passed && compiled.contains("-Cpasses=tsan"), "{name}: {compiled}{output}");
    }
    // An empty variable takes precedence over the configuration.
    let package = Package::new("wrapper-empty", &wrapper);
    package.program("tools/wrap", "exec \"$@\"");
    let (passed, output) = package.test(&["--lib"], &[("RUSTC_WRAPPER", "")]);
    assert!(passed && package.noted("tools/wrap").is_empty(), "{output}");
}

#[test]
fn the_compiler_of_the_configuration_compiles_all() {
    let package = Package::new("rustc", &format!("[build]\nrustc = './compiler'\n{FLAGS}\n"));
    package.program("compiler", "exec rustc \"$@\"");
    let (passed, output) = package.test(&["--lib"], &[]);
    let noted = package.noted("compiler");
    assert!(passed && noted.iter().any(|call| call.contains("-Cpasses=tsan")), "{output}{noted:?}");
    assert!(noted.iter().any(|call| call.contains("--print target-libdir")), "{noted:?}");
}

#[test]
#[ignore = "builds packages: run by .ci/run --long"]
fn flags_that_cannot_be_are_named_and_the_program_is_built_without_them() {
    let package = Package::new("conflicts", "");
    package.write(
        "src/lib.rs",
        "#[test]\nfn spawns() {\n    std::thread::spawn(|| ()).join().unwrap();\n}\n",
    );
    for flags in [
        "-Ctarget-feature=+crt-static",
        "-Clto=fat -Cembed-bitcode=yes",
        "-Clto=thin -Cembed-bitcode=yes",
        "-Clinker-plugin-lto",
        "-Cprefer-dynamic",
        "-Cstrip=symbols",
        "-Cstrip=debuginfo",
        "-Clink-arg=-s",
        "-Clink-arg=-Wl,--strip-all",
        "-Clink-arg=-static-pie",
    ] {
        let (passed, output) = package.test(&["--lib"], &[("RUSTFLAGS", flags)]);
        let first = flags.split(' ').next().unwrap();
        let said = format!("note: flags that do not apply to this build:\n  {first}: ");
        assert!(passed && output.contains(&said), "{flags}: {output}");
        assert_eq!(output.matches(&format!("{first}: ")).count(), 1, "{output}");
    }
    let (passed, output) = package.test(&["--lib"], &[("RUSTFLAGS", "-Ctarget-cpu=x86-64-v2")]);
    assert!(passed && !output.contains("do not apply"), "{output}");
}

/// A profile of the user's own has no setting that takes the lines or the symbols away, or joins std with the program.
#[test]
#[ignore = "builds packages: run by .ci/run --long"]
fn a_profile_of_the_user_is_built_with_lines_and_symbols() {
    let package = Package::new("profile", "");
    let profile = "[profile.of-ci]\ninherits = 'release'\nlto = 'fat'\nstrip = true\ndebug = false\n\
        opt-level = 's'\ncodegen-units = 1\npanic = 'abort'\n";
    let manifest = std::fs::read_to_string(package.0.join("Cargo.toml")).unwrap();
    package.write("Cargo.toml", &(manifest + profile));
    package.write(
        "src/lib.rs",
        "#[test]\nfn spawns() {\n    std::thread::spawn(|| ()).join().unwrap();\n}\n",
    );
    package.program("wrap", "exec \"$@\"");
    let wrap = [("RUSTC_WRAPPER", "./wrap")];
    let (passed, output) = package.test(&["--lib", "--profile", "of-ci"], &wrap);
    assert!(passed && output.contains("1 passed"), "{output}");
    assert!(!output.contains("do not apply"), "no flag of the user's is left out: {output}");
    let noted = package.noted("wrap");
    let compiled = noted.iter().find(|call| call.contains("--crate-name a ")).unwrap();
    for flag in ["debuginfo=line-tables-only", "-Copt-level=2", "codegen-units=1", "-Cpasses=tsan"]
    {
        assert!(compiled.contains(flag), "{flag}: {compiled}");
    }
    for flag in ["lto=fat", "strip="] {
        assert!(!compiled.contains(flag), "{flag}: {compiled}");
    }
    // The lines also stay if a profile takes them from one package.
    let of_package = "[profile.of-ci.package.a]\ndebug = false\n";
    let manifest = std::fs::read_to_string(package.0.join("Cargo.toml")).unwrap();
    package.write("Cargo.toml", &(manifest + of_package));
    let (passed, output) = package.test(&["--lib", "--profile=of-ci"], &wrap);
    let noted = package.noted("wrap");
    let compiled = noted.iter().rfind(|call| call.contains("--crate-name a ")).unwrap();
    assert!(passed && compiled.contains("-Cdebuginfo=line-tables-only"), "{compiled}{output}");
}

#[test]
fn errors_of_the_linker_are_explained() {
    let package = Package::new("dynamic", "");
    let of =
        |name: &str, rest: &str| format!("[package]\nname = {name:?}\nedition = '2024'\n{rest}");
    package.write("Cargo.toml", &of("a", "[dependencies]\nb.path = 'b'\n[workspace]\n"));
    package.write("src/lib.rs", "#[test]\nfn calls() {\n    b::b();\n}\n");
    package.write("b/Cargo.toml", &of("b", "[lib]\ncrate-type = ['dylib']\n"));
    package.write("b/src/lib.rs", "pub fn b() {}\n");
    let (passed, output) = package.test(&["--lib"], &[]);
    let said = "note: the program could not be linked with the functions of unpause";
    assert!(!passed && output.contains(said), "{output}");

    // Other compiler errors get no note about the linker.
    package.write("src/lib.rs", "#[test]\nfn calls() {\n    c::b();\n}\n");
    let (passed, output) = package.test(&["--lib"], &[]);
    assert!(!passed && output.contains("error[E0433]") && !output.contains(said), "{output}");
}

#[test]
#[ignore = "builds packages: run by .ci/run --long"]
fn a_test_may_call_the_command() {
    let package = Package::new("nested", &format!("[build]\nrustc-wrapper = './wrap'\n{FLAGS}\n"));
    package.program("wrap", "exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_cargo-unpause");
    let calls = format!(
        "#[test]\nfn calls() {{\n    let mut command = std::process::Command::new({program:?});\n    \
         let ended = command.args([\"unpause\", \"test\", \"--lib\"]).output().unwrap();\n    \
         assert!(ended.status.success(), \"{{ended:?}}\");\n}}\n"
    );
    package.write("tests/calls.rs", &calls);
    let (passed, output) = package.test(&["--test", "calls"], &[]);
    assert!(passed && output.contains("1 passed"), "{output}");
    assert!(package.noted("wrap").iter().any(|call| call.contains("src/lib.rs")));
}

#[test]
fn other_flags_of_the_command_compile_again() {
    let package = Package::new("stamp", "");
    let arguments = package.0.join("arguments");
    std::fs::write(&arguments, "").unwrap();
    let build = |stamp: &str| {
        let mut command = package.command("cargo");
        command.args(["build", "--target", "x86_64-unknown-linux-gnu"]);
        command.env("RUSTC_WRAPPER", env!("CARGO_BIN_EXE_cargo-unpause"));
        command.env("UNPAUSE_NATIVE", &arguments).env("UNPAUSE_STAMP", stamp);
        let (passed, output) = text(command.env("CARGO_CACHE_RUSTC_INFO", "0"));
        assert!(passed, "{output}");
        output.contains("Compiling a ")
    };
    assert_eq!(["1", "1", "2", "2"].map(build), [true, false, true, false]);
}
