//! Advice in messages is valid: each path that a text of the library, the macro or `cargo unpause`
//! names is a path of the public API.
//!
//! The paths are listed below as code, so that a removed path does not compile; the test searches
//! the texts of the sources for others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// For each path, generates an import that must compile, and the text of the path.
macro_rules! paths {
    ($($name:ident: $path:path),* $(,)?) => {
        $(#[allow(unused_imports)] mod $name { use $path as _; })*
        const PATHS: &[&str] = &[$(stringify!($path)),*];
    };
}

paths! {
    blocking_script: sim::parallel::blocking_scripted,
    command_id: sim::CommandId,
    fault: sim::nemesis::Fault,
    nemesis: sim::nemesis::Nemesis,
    faults_of_files: sim::fs::faults,
    faults_of_the_net: sim::net::faults,
    link: sim::net::link,
    listener: sim::net::TcpListener,
    alias_of_a_node: sim::net::alias,
    lookup_host: sim::net::lookup_host,
    files: sim::fs::File,
    module_of_files: sim::fs,
    module_of_sockets: sim::net,
    module_of_tasks: sim::task,
    join_set: sim::task::JoinSet,
    spawn_blocking: sim::task::spawn_blocking,
    open_options: sim::fs::OpenOptions,
    node: sim::node,
    outside: sim::node::outside,
    share_memory: sim::node::share_memory,
    udp: sim::net::UdpSocket,
    mutex: sim::Mutex,
    reference: sim::Reference,
    parallel: sim::parallel,
    rand: sim::rand,
    script: sim::Script,
    script_of_parallel: sim::parallel::scripted,
    set_spawner: sim::task::set_spawner,
    sleep: sim::time::sleep,
    spawn: sim::spawn,
    spin_until: sim::spin_until,
    test: sim::test,
    time: sim::time,
    truth: sim::time::truth,
    yield_now: sim::task::yield_now,
}

/// Methods of the runner that messages name.
#[test]
fn methods_that_messages_name_exist() {
    let _ = (sim::Runner::seeds, sim::Runner::prove, sim::Runner::must_prove);
    let _ = |name: &str| sim::Runner::new().name(name);
    let _ = |body: fn()| sim::Runner::new().run_native(body);
    // The last two are code and no text.
    let methods = ["seeds", "prove", "must_prove", "name", "run_native", "new", "of_site"];
    for (file, name) in named("Runner::") {
        assert!(
            methods.contains(&&name[..]),
            "{} names Runner::{name}: add it here",
            file.display()
        );
    }
}

#[test]
fn paths_that_messages_name_exist() {
    let paths: BTreeSet<String> = PATHS.iter().map(|path| path.replace(' ', "")).collect();
    let mut seen = BTreeSet::new();
    for (file, path) in named("sim::") {
        let path = format!("sim::{path}");
        // `sim::Script::new`: the part of a path after a type is not checked.
        let known = paths.contains(&path)
            || path.rsplit_once("::").is_some_and(|(owner, _)| {
                paths.contains(owner) && owner.contains(|c: char| c.is_ascii_uppercase())
            });
        assert!(known, "{} names {path}: add it to the paths of this test", file.display());
        seen.insert(path);
    }
    assert!(seen.contains("sim::task::yield_now") && seen.len() > 5, "{seen:?}");
}

/// The names after this prefix in the texts of the sources, without comments and paths of the code.
fn named(prefix: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut folders = ["src", "unpause-run/src", "unpause-macros/src", "cargo-unpause/src"]
        .map(|name| root.join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let source = fs::read_to_string(&path).unwrap();
                found.extend(in_texts(&source, prefix).map(|name| (path.clone(), name)));
            }
        }
    }
    found
}

/// Returns the paths in the texts of one source file.
fn in_texts<'a>(source: &'a str, prefix: &'a str) -> impl Iterator<Item = String> + 'a {
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    // Tests have no messages for users.
    let end = source.find("#[cfg(test)]\nmod tests").unwrap_or(source.len());
    source[..end].lines().filter(is_code).flat_map(move |line| {
        let at = line.match_indices(prefix).map(|(at, _)| at);
        at.filter_map(move |at| {
            let before = line[..at].chars().next_back();
            // A text is open here if a quote comes before the position, or if an earlier line began a text that this
            // line continues.
            let quoted = line[..at].contains('"') || !line.trim_start().starts_with("use ");
            let outer = before.is_some_and(|c| c == ':' || c == '_' || c.is_alphanumeric());
            let is_path = |c: char| c == ':' || c == '_' || c.is_ascii_alphanumeric();
            let rest = &line[at + prefix.len()..];
            let end = rest.find(|c| !is_path(c)).unwrap_or(rest.len());
            let name = rest[..end].trim_end_matches(':');
            (quoted && !outer && !name.is_empty()).then(|| name.to_owned())
        })
    })
}

#[test]
fn what_is_named_in_texts_is_found() {
    let found = |line| in_texts(line, "sim::").collect::<Vec<_>>();
    assert_eq!(found("    - a clock: use sim::time\\n\\"), ["time"]);
    assert_eq!(
        found("put sim::yield_now().await into it, or await `sim::spin_until`"),
        ["yield_now", "spin_until"]
    );
    assert_eq!(found("/// see sim::time"), [""; 0]);
    assert_eq!(found("use self::sim::word;"), [""; 0]);
    assert_eq!(found("use sim::Runner;"), [""; 0]);
}
