//! Bans: the library does not touch the world outside a run, nor its own feature.
//!
//! Modules in the layers of data (L0) and siblings (L1) are functions of their arguments. Such modules use no clock,
//! environment, file, thread identity or output. Each ban names its replacement. Code under `#[cfg(test)]` may use
//! these.

use proc_macro2::{TokenStream, TokenTree};

use crate::layers::is_below_the_seam;
use crate::source::{Kind, Library, Module, Name, ROOTS};
use crate::tree::{File, Offence};

/// Paths that data and siblings must not name, with their replacements.
const PATHS: &[(&str, &str)] = &[
    ("std::env", "take the value as an argument; `config` reads the environment"),
    ("std::fs", "take and return text; `persistence` reads and writes files"),
    ("std::net", "nothing in a run talks to a network"),
    ("std::process", "return a value; the runner ends the process"),
    ("std::io::stdin", "take a `Read` as an argument"),
    ("std::io::stdout", "return text, or write to a `Write` argument"),
    ("std::io::stderr", "return text, or write to a `Write` argument"),
    ("std::time::Instant", "count steps or nodes; the runner owns clocks"),
    ("std::time::SystemTime", "count steps or nodes; the runner owns clocks"),
    ("std::time::UNIX_EPOCH", "count steps or nodes; the runner owns clocks"),
    ("std::thread::current", "a task is known by its `TaskId`"),
    ("std::thread::ThreadId", "a task is known by its `TaskId`"),
    ("std::thread::spawn", "the runner owns threads"),
    ("std::thread::scope", "the runner owns threads"),
    ("std::thread::Builder", "the runner owns threads"),
    ("std::thread::sleep", "wait for nothing: a run has no wall time"),
    ("std::thread::park", "wait for nothing: a run is one thread"),
    ("std::hash::RandomState", "`unpause_ordered::Map`, or a hasher with fixed keys"),
    (
        "std::collections::hash_map::RandomState",
        "`unpause_ordered::Map`, or a hasher with fixed keys",
    ),
    ("rand::random", "`Strategy::draw`, or a generator made from the seed"),
    ("rand::rng", "`Strategy::draw`, or a generator made from the seed"),
    ("rand::thread_rng", "`Strategy::draw`, or a generator made from the seed"),
    ("fastrand", "`Strategy::draw`, or a generator made from the seed"),
    ("getrandom", "`Strategy::draw`, or a generator made from the seed"),
];

/// Files that may nevertheless name a banned path: the file, the path, and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "unpause-check/src/parallel.rs",
    "std::thread::scope",
    "a caller with a long recorded history may ask for threads; no check in a run does",
)];

/// Macros that print. `tracing` is a view that the user switches on and is not among them.
const MACROS: &[&str] = &["print", "println", "eprint", "eprintln", "dbg"];

/// Collections whose order differs between two processes. Such collections suit lookups, so they are allowed below a
/// line that promises this use.
const HASHED: &[&str] = &[
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::collections::hash_map",
    "std::collections::hash_set",
];

/// The comments above a `use` that permit it; a reason follows.
const PROMISES: &[&str] = &["// tidy: never iterated", "// tidy: fixed hasher"];

/// Names of the world outside a run, in data and siblings.
pub(crate) fn check(library: &Library<'_>) -> Vec<Offence> {
    offences(library.modules.iter().filter(|module| is_below_the_seam(&module.path)))
}

/// Checks a crate that has no other layers.
pub(crate) fn check_all(library: &Library<'_>) -> Vec<Offence> {
    offences(library.modules.iter())
}

fn offences<'l>(modules: impl Iterator<Item = &'l Module<'l>>) -> Vec<Offence> {
    modules
        .flat_map(|module| module.names.iter().filter_map(|name| offence(module, name)))
        .collect()
}

fn offence(module: &Module<'_>, name: &Name) -> Option<Offence> {
    let at = |message| Some(Offence::new(module.file, name.line, message));
    if name.kind == Kind::Macro {
        let called = name.segments.last().filter(|called| MACROS.contains(&called.as_str()))?;
        return at(format!("`{called}!` prints; return data and let the runner show it"));
    }
    let excepted = |path| {
        EXCEPTIONS.iter().any(|(file, other, _)| *file == module.file.path && path == *other)
    };
    let banned = PATHS.iter().filter(|(path, _)| !excepted(*path));
    if let Some((path, instead)) = banned.into_iter().find(|(path, _)| says(name, path)) {
        return at(format!("`{path}` is banned below the seam; instead: {instead}"));
    }
    let path = HASHED.iter().find(|path| says(name, path))?;
    if is_promised(&module.file.text, name.line) || is_promised(&module.file.text, name.item_line) {
        return None;
    }
    at(format!(
        "`{path}` iterates in another order in every process; instead: `unpause_ordered::Map`, or look things \
         up only and say `{}: why` on the line above",
        PROMISES[0]
    ))
}

/// Returns `true` if `name` reaches into `banned` here. A path that an earlier `use` of the file
/// reached is reported there. A glob reaches into everything below it.
fn says(name: &Name, banned: &str) -> bool {
    let banned: Vec<&str> = banned.split("::").collect();
    let said = &name.segments;
    let common = banned.iter().zip(said).take_while(|(a, b)| *a == b).count();
    let reaches = common == banned.len() && name.imported < banned.len();
    let sweeps = name.kind == Kind::Glob && common == said.len() && name.imported < said.len();
    reaches || sweeps
}

/// Returns `true` if the comments and attributes directly above `line`, counted from 1, include a
/// promise.
fn is_promised(text: &str, line: usize) -> bool {
    let above: Vec<&str> = text.lines().take(line.saturating_sub(1)).map(str::trim).collect();
    let block = above.iter().rev().take_while(|l| l.starts_with("//") || l.starts_with("#["));
    block.into_iter().any(|l| PROMISES.iter().any(|promise| l.starts_with(promise)))
}

/// The files that may depend on the build. All other files are written once, over the seam.
const FEATURE_FILES: [&str; 4] =
    ["src/lib.rs", "src/real/mod.rs", "src/seam/mod.rs", "src/engine/mod.rs"];

/// Returns uses of `feature = "sim"` and `sim_real` in sources of the library that must not depend on the build.
pub(crate) fn feature_outside_its_files(file: &File) -> Vec<Offence> {
    let held = ROOTS.iter().any(|root| file.path.starts_with(root)) && file.is_rust();
    let may_ask = ["feature", "sim_real"].iter().any(|word| file.text.contains(word));
    if !held || !may_ask || FEATURE_FILES.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let tokens = file.text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.path));
    let mut lines = Vec::new();
    collect_feature_lines(tokens, &mut lines);
    let message = "the build is asked for in src/lib.rs and the `mod.rs` of real, seam and engine only: let \
                   `seam` offer what differs, and write this file over it";
    lines.into_iter().map(|line| Offence::new(file, line, message)).collect()
}

fn collect_feature_lines(tokens: TokenStream, lines: &mut Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => collect_feature_lines(group.stream(), lines),
            TokenTree::Ident(word) if word == "sim_real" => lines.push(word.span().start().line),
            TokenTree::Ident(word) if word == "feature" => {
                let is_equal =
                    matches!(tokens.get(i + 1), Some(TokenTree::Punct(p)) if p.as_char() == '=');
                let value = tokens.get(i + 2).map(TokenTree::to_string).unwrap_or_default();
                if is_equal && value.trim_matches(['r', '#', '"']) == "sim" {
                    lines.push(word.span().start().line);
                }
            }
            _ => {}
        }
    }
}

mod tests {
    use super::*;
    use crate::source::{CHECKERS, Sources};

    /// The messages against a file of this text.
    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = [File::new(path, text)];
        let sources = Sources::parse(&file);
        let mut found = check(&Library::of(&sources));
        found.extend(check_all(&Library::below(&[CHECKERS], &sources)));
        found.into_iter().map(|offence| offence.message).collect()
    }

    #[track_caller]
    fn assert_banned(text: &str, words: &str) {
        let found = messages("src/shrink/linear.rs", text);
        assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
    }

    #[track_caller]
    fn assert_free(text: &str) {
        assert_eq!(messages("src/shrink/linear.rs", text), [""; 0]);
    }

    #[test]
    fn every_ban_is_found_and_names_a_remedy() {
        for (path, instead) in PATHS {
            assert_banned(&format!("use {path};"), instead);
            assert_banned(&format!("fn f() {{ {path}::x(); }}"), instead);
        }
        for name in MACROS {
            assert_banned(&format!("fn f() {{ {name}!(\"x\"); }}"), "return data");
            assert_banned(&format!("fn f() {{ g(vec![std::{name}!(\"x\")]); }}"), "return data");
        }
    }

    #[test]
    fn a_clock_behind_an_import_is_found_once() {
        assert_banned("use std::time;\nfn f() { time::Instant::now(); }", "the runner owns clocks");
        assert_banned("use std::time::Instant;\nfn f() { Instant::now(); }", "owns clocks");
        assert_banned("use std::{fmt, time::{Duration, SystemTime}};", "owns clocks");
        assert_banned("use std::env::*;", "`config` reads");
        assert_free("use std::time::Duration;\nfn f(now: Duration) {}");
    }

    #[test]
    fn a_glob_over_banned_things_is_found() {
        assert_banned("use std::thread::*;", "is banned");
        assert_free("use std::sync::atomic::*;");
    }

    #[test]
    fn an_exception_holds_for_its_file_and_its_path_only() {
        for (file, path, _) in EXCEPTIONS {
            assert_eq!(messages(file, &format!("fn f() {{ {path}(); }}")), [""; 0]);
            assert_eq!(
                messages("src/shrink/linear.rs", &format!("fn f() {{ {path}(); }}")).len(),
                1
            );
            assert_eq!(messages(file, "fn f() { std::thread::spawn(f); }").len(), 1);
        }
    }

    #[test]
    fn writing_to_an_argument_is_free() {
        assert_free("use std::fmt::Write; fn f(w: &mut String) { writeln!(w, \"x\"); }");
        assert_free("const VERSION: &str = env!(\"CARGO_PKG_VERSION\");");
        assert_free("// println!(\"x\")\n/// `std::env`\nfn f() { g(\"println!\") }");
    }

    #[test]
    fn a_test_module_is_free() {
        assert_free("#[cfg(test)] mod tests { use std::fs; fn f() { println!() } }");
    }

    #[test]
    fn the_layers_above_are_free() {
        for path in ["src/engine/runner/mod.rs", "src/task.rs", "src/seam/real.rs", "src/lib.rs"] {
            assert_eq!(messages(path, "use std::time::Instant;"), [""; 0], "{path}");
        }
    }

    #[test]
    fn a_hashed_collection_needs_a_promise() {
        assert_banned(
            "use std::collections::HashMap;\ntype T = HashMap<u8, u8>;",
            "`unpause_ordered::Map`",
        );
        assert_banned("type T = std::collections::HashSet<u8>;", "`unpause_ordered::Map`");
        assert_banned(
            "use std::collections::{BTreeMap, hash_map::Entry};",
            "`unpause_ordered::Map`",
        );
        assert_banned(
            "// tidy: never iterated\n\nuse std::collections::HashSet;",
            "`unpause_ordered::Map`",
        );
        assert_free("// tidy: never iterated: a memo.\nuse std::collections::HashSet;");
        assert_free("// tidy: fixed hasher\nuse std::collections::{\n BTreeMap,\n HashMap,\n};");
        assert_free("use std::collections::{BTreeMap, BTreeSet, VecDeque};");
    }

    #[track_caller]
    fn assert_asks(path: &str, text: &str, lines: &[usize]) {
        let found = feature_outside_its_files(&File::new(path, text));
        assert_eq!(found.iter().map(|offence| offence.line).collect::<Vec<_>>(), lines, "{text}");
    }

    #[test]
    fn asking_for_the_feature_is_found() {
        assert_asks("src/sync/atomic.rs", "\n#[cfg(feature = \"sim\")]\nfn f() {}", &[2]);
        assert_asks("src/sync/atomic.rs", "#[cfg(all(unix, not(feature = \"sim\")))] use a;", &[1]);
        assert_asks("src/task.rs", "fn f() { if cfg!(feature = r\"sim\") {} }", &[1]);
        assert_asks("src/task.rs", "#[cfg_attr(feature=\"sim\", inline)] fn f() {}", &[1]);
        assert_asks("src/task.rs", "#[cfg(not(sim_real))] fn f() {}", &[1]);
    }

    #[test]
    fn the_two_files_and_comments_may_speak_of_the_feature() {
        assert_asks("src/lib.rs", "#[cfg(feature = \"sim\")] mod rt;", &[]);
        assert_asks("src/seam/mod.rs", "#[cfg(not(feature = \"sim\"))] mod real;", &[]);
        assert_asks("sim-tests/tests/parity.rs", "#![cfg(feature = \"sim\")]", &[]);
        assert_asks("src/task.rs", "//! Not `cfg(feature = \"sim\")`.\nfn f() {}", &[]);
        assert_asks("src/task.rs", "#[cfg(feature = \"other\")] fn f() {}", &[]);
    }
}
