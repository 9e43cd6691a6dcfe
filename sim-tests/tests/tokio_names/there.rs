//! Uses the compiler to check if a library has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::compiled::compile;

/// A name of the list: its kind and its path.
pub(super) type Name<'l> = (&'l str, &'l str);

/// Returns the paths of `names` that are not below `root` in the libraries of the folder.
pub(super) fn missing<'l>(root: &str, names: &[Name<'l>], libraries: &Path) -> BTreeSet<&'l str> {
    // After errors in imports, the compiler does not check types, so methods are in a second program.
    let (members, items): (Vec<_>, Vec<_>) =
        names.iter().copied().partition(|name| is_member(*name));
    let imports = items.iter().map(|(_, path)| (*path, format!("use {root}::{path} as _;")));
    let mut missing = without(imports.collect(), libraries);
    let has_type = |path: &&str| !missing.contains(path.rsplit_once("::").unwrap().0);
    let members = members.iter().map(|(_, path)| *path).filter(has_type);
    let calls = members
        .enumerate()
        .map(|(number, path)| (path, format!("fn f{number}() {{ let _ = {root}::{path}; }}")));
    missing.extend(without(calls.collect(), libraries));
    missing
}

/// Returns `true` for names that a type has: `sync::Mutex::lock`.
fn is_member((_, path): Name<'_>) -> bool {
    let above = path.rsplit("::").nth(1).unwrap_or_default();
    above.starts_with(char::is_uppercase)
}

/// Returns the paths of the lines that name a missing item.
fn without<'l>(lines: Vec<(&'l str, String)>, libraries: &Path) -> BTreeSet<&'l str> {
    let mut program = String::from("#![allow(warnings)]\n");
    lines.iter().for_each(|(_, line)| writeln!(program, "{line}").unwrap());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokio_names.rs");
    fs::write(&file, program + "fn main() {}\n").unwrap();
    let output = compile(&file, libraries, &["--error-format=short"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    let mut found: BTreeMap<usize, &str> = BTreeMap::new();
    for error in errors.lines() {
        let Some((_, at)) = error.split_once("tokio_names.rs:") else { continue };
        let line: usize = at.split(':').next().unwrap().parse().unwrap();
        let code = at.split_once("error[").and_then(|(_, code)| code.split(']').next());
        // The other errors say that the type arguments of a generic function are unknown, so the function exists.
        if code.is_some_and(|code| NOT_THERE.contains(&code)) {
            found.insert(line, error);
        } else {
            assert!(code.is_some_and(|code| UNKNOWN_TYPES.contains(&code)), "{error}");
        }
    }
    found.keys().map(|line| lines[line - 2].0).collect()
}

/// Errors for a missing name: imports, modules, items of types, and macros.
const NOT_THERE: &[&str] = &["E0432", "E0433", "E0599", "E0576", "E0603", "E0624"];

/// Errors for types that cannot be inferred.
const UNKNOWN_TYPES: &[&str] = &["E0282", "E0283", "E0284", "E0790"];
