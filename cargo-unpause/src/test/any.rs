//! `--any`: the runtime for test programs that do not depend on it, and the shim that passes their tests to the
//! runtime.
//!
//! The runtime is one relocatable object. The symbols of its copies of std and other crates are local, so that they do
//! not clash with the program's copies. The shim is compiled with the user's compiler and calls the runtime through C
//! functions, because shim and runtime have different copies of std.

mod engine;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSymbol, SymbolKind};

pub(crate) use self::engine::checkout;
use self::engine::{CRATE, Engine};
use super::cache::Cache;
use super::tools::{self, Tools};
use super::{host, output, stdlib};
use crate::Terminal;
use crate::usage::Usage;

const SHIM: &str = include_str!("any/shim.rs.txt");

/// The function that the `main` of a test program calls with its tests, and the function that runs them.
const MAIN: &str = "test::test_main_static";
const WORK: &str = "test::test_main";

/// A shim for test programs.
struct Shim {
    /// The name of the object file.
    object: &'static str,
    /// The name of the file with the linker's arguments.
    arguments: &'static str,
    /// Compiler flags.
    flags: &'static [&'static str],
}

/// The shim for programs, and the shim for programs with instrumented plain accesses.
const SHIMS: [Shim; 2] = [
    Shim { object: "shim.o", arguments: "tests", flags: &[] },
    Shim {
        object: "shim-for-races.o",
        arguments: "tests-for-races",
        flags: &["--cfg", "unpause_races"],
    },
];

/// The environment variable with the path of the file that lists undecided tests, one per line.
pub(super) const UNDECIDED: &str = "UNPAUSE_UNDECIDED";

/// The runtime, ready for linking.
pub(super) struct Linked {
    /// A file with linker arguments for programs.
    pub(super) programs: PathBuf,
    /// A file with linker arguments for programs with the libtest harness.
    pub(super) tests: PathBuf,
    /// A hash of all inputs.
    pub(super) hash: String,
}

/// Builds the runtime and the shim, once per version and toolchain. `replaced` contains the linker arguments that
/// replace std functions. With `races`, the programs signal to the runtime that their plain accesses are instrumented.
///
/// # Errors
/// If a build tool fails.
pub(super) fn build(
    tools: &Tools,
    cache: &Cache,
    replaced: &stdlib::Replacements,
    races: bool,
    terminal: &mut Terminal,
) -> Result<Linked, Usage> {
    let engine = Engine::of_this_command(tools)?;
    let mut hasher = DefaultHasher::new();
    (&engine, SHIM, &replaced.hash).hash(&mut hasher);
    let hash = format!("{:016x}", hasher.finish());
    let linked = |folder: &Path| Linked {
        programs: folder.join("programs"),
        tests: folder.join(SHIMS[usize::from(races)].arguments),
        hash: hash.clone(),
    };
    let entry = cache.entry(&engine.entry(&hash), |draft, entry| {
        terminal.error(&format!(
            "note: the engine is compiled, once for this version and toolchain, which takes a minute or two. It is kept in {}",
            cache.folder().display()
        ));
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).map_err(|error| unwritable(path, &error))
        };
        let library = engine.compile(tools, cache)?;
        let bytes = std::fs::read(&library).map_err(|error| unreadable(&library, &error))?;
        join(&library, &bytes, draft)?;
        let mut arguments = replaced.common.clone();
        let _ = writeln!(arguments, "\"{}\"", entry.join("runtime.o").display());
        write(&linked(draft).programs, &arguments)?;

        let names = stdlib::functions(&stdlib::library(&tools.rustc, "libtest-")?).map_err(Usage)?;
        let [main, work] = [MAIN, WORK].map(|path| symbol(&names, path));
        let (main, work) = (main?, work?);
        let _ =
            writeln!(arguments, "-Wl,--wrap={main}\n-Wl,--defsym=__wrap_{main}=unpause_any_main");
        let _ = writeln!(arguments, "-Wl,--undefined={work}");
        SHIMS.iter().try_for_each(|kind| {
            shim(&tools.rustc, draft, kind)?;
            let object = entry.join(kind.object).display().to_string();
            write(&draft.join(kind.arguments), &format!("{arguments}\"{object}\"\n"))
        })
    });
    Ok(linked(&entry?))
}

/// Joins the members of the static library into one object. All symbols except the runtime's own names become local.
fn join(library: &Path, bytes: &[u8], folder: &Path) -> Result<(), Usage> {
    let (exported, weak) = names(bytes).map_err(|error| unreadable(library, &error))?;
    let joined = folder.join("joined.o");
    let mut command = Command::new("ld");
    command.args(["-r", "--gc-sections", "--force-group-allocation", "--strip-debug"]);
    // The first name takes the place of a program's entry point.
    command.args(exported.iter().flat_map(|name| ["-u", name]));
    command.arg("-o").arg(&joined).arg("--whole-archive").arg(library);
    tool(&mut command)?;

    let object = std::fs::read(&joined).map_err(|error| unreadable(&joined, &error))?;
    let file = File::parse(&*object).map_err(|error| unreadable(&joined, &error))?;
    let is_static = |symbol: &object::Symbol<'_, '_>| {
        symbol.is_definition() && matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls)
    };
    let statics: BTreeSet<&str> = file
        .symbols()
        .filter(is_static)
        .filter_map(|symbol| symbol.name().ok())
        .filter(|name| !name.is_empty() && !exported.contains(*name) && !name.starts_with('.'))
        .collect();
    // The new names do not contain crate names, so the statics of the runtime differ from the statics of a tested
    // crate.
    let mut renamed = String::new();
    for (number, name) in statics.iter().enumerate() {
        let _ = writeln!(renamed, "{name} unpause_runtime_static_{number}");
    }
    // If `ld` drops sections, it makes weak names of other objects local.
    let of_others = file.symbols().filter(|symbol| symbol.is_undefined());
    let of_others = of_others.filter_map(|symbol| symbol.name().ok());
    let kept = exported.iter().map(String::as_str).chain(of_others);
    let kept: String = kept.map(|name| format!("{name}\n")).collect();
    let weak: String = weak.iter().map(|name| format!("{name}\n")).collect();
    let mut command = Command::new("objcopy");
    for (option, text) in
        [("keep-global-symbols", kept), ("weaken-symbols", weak), ("redefine-syms", renamed)]
    {
        let path = folder.join(option);
        std::fs::write(&path, text).map_err(|error| unwritable(&path, &error))?;
        command.arg(format!("--{option}={}", path.display()));
    }
    command.arg(&joined).arg(folder.join("runtime.o"));
    tool(&mut command)?;
    std::fs::remove_file(&joined).map_err(|error| unwritable(&joined, &error))
}

/// Returns the names that the runtime exports to the program (C functions in its own crates), and the weak names.
fn names(library: &[u8]) -> object::Result<(BTreeSet<String>, BTreeSet<String>)> {
    let (mut exported, mut weak) = (BTreeSet::new(), BTreeSet::new());
    for member in ArchiveFile::parse(library)?.members() {
        let member = member?;
        let name = String::from_utf8_lossy(member.name());
        let is_own = name.starts_with("unpause_native") || name.starts_with(CRATE);
        let Ok(file) = File::parse(member.data(library)?) else { continue };
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            let is_rust =
                name.starts_with("_R") || name.starts_with("_ZN") || name == "rust_eh_personality";
            let is_function = symbol.is_definition() && symbol.kind() == SymbolKind::Text;
            if is_own && is_function && symbol.is_global() && !is_rust {
                exported.insert(name.to_owned());
            } else if symbol.is_undefined() && symbol.is_weak() {
                weak.insert(name.to_owned());
            }
        }
    }
    Ok((exported, weak))
}

/// Compiles one kind of shim.
fn shim(rustc: &OsString, folder: &Path, kind: &Shim) -> Result<(), Usage> {
    let source = folder.join("shim.rs");
    std::fs::write(&source, SHIM).map_err(|error| unwritable(&source, &error))?;
    let mut command = Command::new(rustc);
    command.current_dir(folder).env("RUSTC_BOOTSTRAP", "1");
    command.args(["--edition=2021", "--crate-name=unpause_any", "--crate-type=lib"]);
    command.args([
        "-Copt-level=2",
        "-Ccodegen-units=1",
        "-Cforce-frame-pointers=yes",
        "--cap-lints=allow",
    ]);
    command.args(kind.flags).arg(format!("--emit=obj={}", kind.object)).arg(&source);
    output(&mut command).map(drop).map_err(|Usage(text)| {
        Usage(format!("the test harness of this toolchain is not one that this version of unpause knows: {text}"))
    })
}

/// Returns the symbol of a function.
fn symbol(names: &[String], path: &str) -> Result<String, Usage> {
    let is_it = |name: &&String| format!("{:#}", rustc_demangle::demangle(name)) == path;
    let missing = || Usage(format!("the test harness of this toolchain has no `{path}`"));
    names.iter().find(is_it).cloned().ok_or_else(missing)
}

/// Runs a binutils tool.
fn tool(command: &mut Command) -> Result<(), Usage> {
    output(command).map(drop).map_err(|Usage(text)| {
        Usage(format!("the runtime for --any cannot be joined, which takes `ld` and `objcopy` of GNU binutils: {text}"))
    })
}

/// Refuses packages that depend on unpause, because their tests would contain two runtimes.
///
/// # Errors
/// If there are such packages; the error contains their names.
pub(super) fn refuse_dependants(tools: &Tools, arguments: &[OsString]) -> Result<(), Usage> {
    let mut command = Command::new(&tools.cargo);
    command.args(["metadata", "--format-version=1", "--filter-platform"]);
    command.arg(host(&tools.rustc)?).args(tools::of_project(arguments));
    let text = output(&mut command)?;
    let metadata: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Usage(format!("`cargo metadata` cannot be read: {error}")))?;
    let found = dependants(&metadata, arguments);
    if found.is_empty() {
        return Ok(());
    }
    Err(Usage(format!(
        "{} depends on unpause: run `cargo unpause test` without --any there. It controls the tests with \
         `#[sim::test(native)]`; --any would add a second runtime to the program. Select other packages with -p",
        found.join(", ")
    )))
}

/// Returns the selected packages that depend on unpause.
fn dependants(metadata: &serde_json::Value, arguments: &[OsString]) -> Vec<String> {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let texts = |value: &serde_json::Value| -> Vec<String> {
        list(value).iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
    };
    let packages = list(&metadata["packages"]);
    let name_of = |id: &str| {
        let package = packages.iter().find(|package| package["id"] == id);
        package.and_then(|package| package["name"].as_str()).unwrap_or_default().to_owned()
    };
    let of_cargo = arguments.iter().take_while(|word| *word != "--");
    let words: Vec<&str> = of_cargo.filter_map(|word| word.to_str()).collect();
    let named = values(&words, "--package", Some("-p"));
    let excluded = values(&words, "--exclude", None);
    let is_in = |id: &String, list: &[&str]| {
        let name = name_of(id);
        list.iter().any(|specification| is_meant(specification, &name))
    };
    let members = texts(&metadata["workspace_members"]);
    // Cargo ignores `-p` with `--workspace`.
    let all = words.contains(&"--workspace") || words.contains(&"--all");
    let mut selected: Vec<String> = match (all, named.is_empty()) {
        (true, _) => members,
        (false, false) => members.into_iter().filter(|id| is_in(id, &named)).collect(),
        (false, true) => texts(&metadata["workspace_default_members"]),
    };
    selected.retain(|id| !is_in(id, &excluded));
    let nodes = list(&metadata["resolve"]["nodes"]);
    let depends = |id: &String| {
        let (mut seen, mut left) = (BTreeSet::new(), vec![id.clone()]);
        while let Some(id) = left.pop() {
            if name_of(&id) == "unpause" {
                return true;
            }
            if seen.insert(id.clone()) {
                let node = nodes.iter().find(|node| node["id"] == *id);
                left.extend(node.map(|node| texts(&node["dependencies"])).unwrap_or_default());
            }
        }
        false
    };
    selected.iter().filter(|id| depends(id)).map(|id| name_of(id)).collect()
}

/// Returns the values of an option among the words of a command.
fn values<'a>(words: &[&'a str], long: &str, short: Option<&str>) -> Vec<&'a str> {
    let value = |(at, word): (usize, &'a str)| -> Option<&'a str> {
        if word == long || short == Some(word) {
            return words.get(at + 1).copied();
        }
        let of_long = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        of_long.or_else(|| {
            let rest = word.strip_prefix(short?)?;
            Some(rest.strip_prefix('=').unwrap_or(rest))
        })
    };
    words.iter().copied().enumerate().filter_map(value).collect()
}

/// Returns `true` if a package specification of Cargo means the package with this name: `queue`, `queue@1.0`,
/// `path+file:///queue#1.0` or `qu*`.
fn is_meant(specification: &str, name: &str) -> bool {
    let (url, rest) = specification.split_once('#').unwrap_or((specification, ""));
    let is_url = url.contains("://");
    // A fragment is a name with a version, or only a version. If the fragment is only a version, the last part of the
    // path is the name.
    let is_name = is_url && rest.starts_with(|c: char| !c.is_ascii_digit());
    let path = url.split('?').next().unwrap_or_default().trim_end_matches('/');
    let own = match (is_url, is_name) {
        (true, true) => rest,
        (true, false) => path.rsplit('/').next().unwrap_or_default(),
        (false, _) => specification,
    };
    is_like(own.split(['@', ':']).next().unwrap_or_default(), name)
}

/// Returns `true` if a pattern with `*` and `?` matches the name.
fn is_like(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut rest) = (pattern.chars(), name.chars());
    match pattern.next() {
        None => name.is_empty(),
        Some('*') => {
            let mut ends = (0..=name.len()).filter(|at| name.is_char_boundary(*at));
            ends.any(|at| is_like(pattern.as_str(), &name[at..]))
        }
        Some(wanted) => {
            let is_same = rest.next().is_some_and(|own| wanted == '?' || wanted == own);
            is_same && is_like(pattern.as_str(), rest.as_str())
        }
    }
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Usage {
    Usage(format!("{} cannot be read: {error}", path.display()))
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Usage {
    Usage(format!("{} cannot be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &str) -> Vec<String> {
        let metadata = serde_json::json!({
            "packages": [
                { "id": "a 1", "name": "a" }, { "id": "b 1", "name": "b" },
                { "id": "u 1", "name": "unpause" }, { "id": "c 1", "name": "c" },
            ],
            "workspace_members": ["a 1", "b 1"],
            "workspace_default_members": ["a 1"],
            "resolve": { "nodes": [
                { "id": "a 1", "dependencies": [] },
                { "id": "b 1", "dependencies": ["c 1"] },
                { "id": "c 1", "dependencies": ["b 1", "u 1"] },
            ] },
        });
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        dependants(&metadata, &arguments)
    }

    #[test]
    fn selected_packages_that_reach_unpause_are_named() {
        assert!(found("").is_empty());
        assert!(found("-p a --lib").is_empty());
        for arguments in ["-p b", "-pb", "--package b", "--package=b", "--workspace", "--all"] {
            assert_eq!(found(arguments), ["b"], "{arguments}");
        }
    }

    #[test]
    fn packages_are_selected_as_cargo_does() {
        for arguments in [
            "-p b@1.0.0",
            "-p=b",
            "-p path+file:///w/b",
            "-p path+file:///w/b#1.0.0",
            "-p path+file:///w/x#b@1.0.0",
            "-p *b*",
            "-p ?",
            "--workspace -p a",
            "--workspace --exclude a",
        ] {
            assert_eq!(found(arguments), ["b"], "{arguments}");
        }
        for arguments in
            ["--workspace --exclude b", "--all --exclude=b", "-- -p b", "-p a* -- --all", "-p bb"]
        {
            assert!(found(arguments).is_empty(), "{arguments}");
        }
    }

    #[test]
    fn the_harness_of_the_toolchain_has_the_functions() {
        let rustc = OsString::from("rustc");
        let library = stdlib::library(&rustc, "libtest-");
        let library = library.unwrap_or_else(|Usage(text)| panic!("{text}"));
        let names = stdlib::functions(&library).unwrap();
        assert!(symbol(&names, MAIN).is_ok() && symbol(&names, WORK).is_ok());
        let Err(Usage(missing)) = symbol(&names, "test::none") else { panic!("found") };
        assert_eq!(missing, "the test harness of this toolchain has no `test::none`");
    }
}
