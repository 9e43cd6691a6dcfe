//! The programs that Cargo would call: the compiler, the user's compiler wrapper, rustdoc.
//!
//! Cargo calls this command in place of these programs, so the command must find the programs itself. Environment
//! variables or Cargo's configuration name them. `cargo config get` prints the configuration, including all files and
//! `--config` arguments.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{output, wrapper};
use crate::usage::Usage;

/// The programs of a build.
pub(super) struct Tools {
    /// Cargo.
    pub(super) cargo: OsString,
    /// The compiler.
    pub(super) rustc: OsString,
    /// The program for documentation tests.
    pub(super) rustdoc: OsString,
    /// The user's compiler wrapper, such as sccache.
    pub(super) wrapper: Option<OsString>,
    /// A warning, if the configuration cannot be read.
    pub(super) warning: Option<String>,
}

/// The places that can name one program.
struct Names {
    /// The environment variables, in order of precedence. An empty variable names no program.
    variables: &'static [&'static str],
    /// The key in the configuration table `build`.
    key: &'static str,
}

const RUSTC: Names = Names { variables: &["RUSTC", "CARGO_BUILD_RUSTC"], key: "rustc" };
const RUSTDOC: Names =
    Names { variables: &["RUSTDOC", "CARGO_BUILD_RUSTDOC", wrapper::RUSTDOC], key: "rustdoc" };
const WRAPPER: Names = Names {
    variables: &["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER", wrapper::CHAINED],
    key: "rustc-wrapper",
};

impl Tools {
    /// Finds the programs for a Cargo command with these `arguments`.
    pub(super) fn find(arguments: &[OsString]) -> Tools {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let configuration = Configuration { cargo: &cargo, options: configs(arguments) };
        let (read, warning) = match configuration.read() {
            Ok(read) => (read, None),
            Err(Usage(error)) => (
                Value::Null,
                Some(format!(
                    "warning: the configuration of Cargo cannot be read, and `rustc`, `rustdoc` and `rustc-wrapper` in it are \
                 not used. Set RUSTC, RUSTDOC and RUSTC_WRAPPER if they are there. {error}"
                )),
            ),
        };
        // In a test of this command, the environment variables of the surrounding build may name this command itself.
        let own = std::env::current_exe().unwrap_or_default();
        let set = |name: &&str| std::env::var_os(name).filter(|set| Path::new(set) != own);
        let find = |names: &Names| -> Option<OsString> {
            let set = names.variables.iter().find_map(set);
            if let Some(set) = set {
                return Some(set).filter(|set| !set.is_empty()).map(|set| absolute(&set, here()));
            }
            let named = read["build"][names.key].as_str().filter(|named| !named.is_empty())?;
            Some(absolute(named.as_ref(), configuration.base(names.key)))
        };
        let [rustc, rustdoc, wrapper] = [RUSTC, RUSTDOC, WRAPPER].map(|names| find(&names));
        Tools {
            rustc: rustc.unwrap_or_else(|| "rustc".into()),
            rustdoc: rustdoc.unwrap_or_else(|| "rustdoc".into()),
            wrapper,
            warning,
            cargo,
        }
    }
}

/// Cargo's configuration in the current folder.
struct Configuration<'a> {
    cargo: &'a OsStr,
    /// The `--config` arguments of the command.
    options: Vec<OsString>,
}

impl Configuration<'_> {
    fn read(&self) -> Result<Value, Usage> {
        let text = self.get(&["--format", "json"])?;
        serde_json::from_str(&text).map_err(|error| Usage(format!("`cargo config get`: {error}")))
    }

    /// Returns the base folder of a relative path at this key of `build`.
    fn base(&self, key: &str) -> PathBuf {
        let line = self.get(&["--show-origin", &format!("build.{key}")]).unwrap_or_default();
        let file = line.rsplit_once(" # ").map_or("", |(_, file)| file.trim());
        // Paths in `folder/.cargo/config.toml` are relative to `folder`. An argument of the command has no file.
        let folder = Path::new(file).is_absolute().then(|| Path::new(file).parent()?.parent());
        folder.flatten().map_or_else(here, Path::to_path_buf)
    }

    /// Calls `cargo config get`, which is unstable.
    fn get(&self, arguments: &[&str]) -> Result<String, Usage> {
        let mut command = Command::new(self.cargo);
        command.env("RUSTC_BOOTSTRAP", "1").arg("-Zunstable-options").args(&self.options);
        output(command.args(["config", "get"]).args(arguments))
    }
}

/// Returns the arguments of Cargo that choose the project and its dependencies, for `cargo metadata`. Without the
/// argument `--locked`, that command would change the lock file.
pub(super) fn of_project(arguments: &[OsString]) -> Vec<OsString> {
    let flags = ["--frozen", "--locked", "--offline"];
    options(arguments, &["--config", "--manifest-path"], &flags)
}

/// Returns the `--config` options among the arguments of Cargo.
fn configs(arguments: &[OsString]) -> Vec<OsString> {
    options(arguments, &["--config"], &[])
}

/// Returns some options among the arguments of Cargo: the options in `valued`, which have a value, and the `flags`.
fn options(arguments: &[OsString], valued: &[&str], flags: &[&str]) -> Vec<OsString> {
    let of_cargo = arguments.iter().take_while(|word| *word != "--");
    let mut found = Vec::new();
    let mut is_value = false;
    for word in of_cargo {
        let is = |names: &[&str]| names.iter().any(|name| word == name);
        let text = word.to_string_lossy();
        let has_value = text.split_once('=').is_some_and(|(name, _)| valued.contains(&name));
        let is_option = is(valued);
        if is_value || is_option || has_value || is(flags) {
            found.push(word.clone());
        }
        is_value = is_option && !is_value;
    }
    found
}

/// Returns the program `named`: a plain name stays unchanged, for a search in `PATH`, but a path may be relative to
/// `base`.
fn absolute(named: &OsStr, base: PathBuf) -> OsString {
    match Path::new(named).components().count() {
        0 | 1 => named.to_owned(),
        _ => base.join(named).into_os_string(),
    }
}

fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_cargo_are_told_from_those_of_the_test_program() {
        let words = "--config a=1 --lib --config=b.toml -- --config c";
        let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        assert_eq!(configs(&words), ["--config", "a=1", "--config=b.toml"]);
    }

    #[test]
    fn options_that_choose_the_project_are_found() {
        let words = "--config a=1 --any --manifest-path b/Cargo.toml -p c --locked \
            --manifest-path=d --features=e -- --offline";
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let expected =
            ["--config", "a=1", "--manifest-path", "b/Cargo.toml", "--locked", "--manifest-path=d"];
        assert_eq!(of_project(&words), expected);
    }

    #[test]
    fn names_stay_and_relative_paths_begin_in_the_folder() {
        let of = |named: &str| absolute(named.as_ref(), PathBuf::from("/project"));
        assert_eq!(of("sccache"), "sccache");
        assert_eq!(of("tools/wrap"), "/project/tools/wrap");
        assert_eq!(of("/usr/bin/sccache"), "/usr/bin/sccache");
    }
}
