//! The screens in the README and in the examples must be up to date, and also the lists in the guide.
//!
//! `UPDATE_EXPECT=1 cargo test -p sim-tests --test readme` rewrites the README's screen, the guide's list of strategies, the
//! table of the strategies and the report at the end of each example. In the real build the examples only have to
//! succeed, because the output of real threads varies.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The line above the report in an example.
const REPORT: &str = "\n// ---- Output ----\n//\n";

/// A test for each example, and their names. Cargo builds the programs beside this test: `sim-tests/Cargo.toml` has them.
macro_rules! examples {
    ($($name:ident,)*) => {
        mod an_example_ends_with_what_it_prints {
            $(#[test]
            fn $name() {
                let program = env!(concat!("CARGO_BIN_EXE_", stringify!($name)));
                super::example(stringify!($name), program);
            })*
        }

        const EXAMPLES: &[&str] = &[$(stringify!($name)),*];
    };
}

// In alphabetical order.
examples! {
    cas_chain,
    cas_register,
    deadlock,
    disruptor,
    kv,
    log_buffer,
    log_buffer_mapped,
    lossy_link,
    lost_update,
    online,
    parallel_bank,
    parallel_counter,
    parallel_link,
    parallel_queue,
    parallel_store,
    parallel_tickets,
    queue,
    raft,
    wal,
}

#[test]
fn every_example_is_tested_here() {
    let entries = fs::read_dir(root().join("examples")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let sources = paths.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let names = sources.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, EXAMPLES);
}

#[cfg_attr(feature = "sim", test)]
fn an_example_that_is_asked_for_one_run_does_no_other() {
    let program = Path::new(env!("CARGO_BIN_EXE_deadlock"));
    let replay = run_example(program, &[("SIM_REPLAY", "sim2:0,0.0x2,0.1x2")]);
    assert!(replay.status.success(), "{}", stdout(&replay));
    let text = stdout(&replay);
    assert!(text.starts_with("FAILED  deadlock  replay of a given trace: deadlock"), "{text}");
    assert_eq!((text.matches("FAILED").count(), text.matches("passed").count()), (1, 0), "{text}");

    let stale = run_example(program, &[("SIM_REPLAY", "sim2:0x9")]);
    assert!(!stale.status.success(), "{}", stdout(&stale));
}

/// A run with an object of the library, its clock, in a failure of the library's own: a misuse.
const SLEEPS: &str = r#"
#[sim::test(seeds = 1)]
async fn sleeps() {
    sim::time::sleep(std::time::Duration::from_secs(1)).await;
    sim::block_on(async {});
}
"#;

/// The crate of the README, with the manifest of the README, prints the screen of the README, and
/// its binary is real.
#[cfg_attr(feature = "sim", test)]
fn the_readme_shows_what_its_test_prints() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = |language| blocks(&readme, language);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counter");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let here = root().display().to_string();
    let manifest = format!(
        "[package]\nname = \"counter\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}\n\
         [workspace]\n\n[patch.crates-io]\nunpause = {{ path = {here:?} }}\n\
         unpause-macros = {{ path = {:?} }}\n",
        blocks("toml")[0],
        format!("{here}/unpause-macros"),
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), blocks("rust")[0]).unwrap();
    fs::write(folder.join("src/main.rs"), blocks("rust")[1]).unwrap();

    // The tests of `downstream.rs` need the same build of the library. No test waits for the output of these commands.
    let cargo = |arguments: &[&str]| {
        let mut cargo = cargo(&folder);
        cargo.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("downstream"));
        cargo.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
        for package in ["unpause", "unpause-run"] {
            cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
        }
        output(cargo.args(arguments))
    };
    let test = cargo(&["test", "--lib"]);
    let printed = stdout(&test);
    let screen = printed.find("FAILED  counter").and_then(|start| {
        let end = start + printed[start..].find("replay: ")?;
        Some(&printed[start..end + printed[end..].find('\n')? + 1])
    });
    let screen = screen.unwrap_or_else(|| panic!("no screen:\n{printed}\n{}", stderr(&test)));
    expect(&root().join("README.md"), &readme, blocks("text")[0], screen);

    // The files of the library have another path on each machine, but a trace may be committed.
    fs::create_dir_all(folder.join("tests")).unwrap();
    fs::write(folder.join("tests/sleeps.rs"), SLEEPS).unwrap();
    let test = cargo(&["test", "--test", "sleeps"]);
    let printed = stdout(&test) + &stderr(&test);
    let file = printed.lines().find_map(|line| line.strip_prefix("trace:"));
    let file = file.unwrap_or_else(|| panic!("no trace:\n{printed}"));
    // The target folder of the crate is within the target folder of the workspace.
    let path = root().join(file.trim());
    let trace = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}:\n{printed}", path.display()));
    assert!(trace.contains("<sim>/rt/parts/timers.rs:"), "{trace}");
    for part in trace.split_whitespace() {
        let part = part.trim_matches('"');
        assert!(!Path::new(part).is_absolute() && !part.contains(&here), "{part} in:\n{trace}");
    }

    let run = cargo(&["run"]);
    assert_eq!(stdout(&run), "simulates: false\n", "{}", stderr(&run));
    let tree = cargo(&["tree", "-e", "no-dev,features", "-i", "unpause"]);
    assert!(tree.status.success(), "{}", stderr(&tree));
    assert!(!stdout(&tree).contains("feature \"sim\""), "{}", stdout(&tree));
}

/// The last line of the picture in ARCHITECTURE.md names the renderers: the screen, the other formats, and the trace
/// file.
#[test]
fn the_architecture_names_the_renderers_that_there_are() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let line = text.lines().find_map(|line| line.split_once("report ──> ")).unwrap().1;
    let named = sim::report::RENDERERS.iter().map(|renderer| match renderer.name {
        "text" => "the screen",
        "rust" => "Rust source",
        "json" => "JSON",
        other => panic!("how does ARCHITECTURE.md name the renderer {other}?"),
    });
    let named: Vec<&str> = named.chain(["trace file"]).collect();
    assert_eq!(line.split(" │ ").collect::<Vec<_>>(), named);
}

#[test]
fn the_guide_lists_the_variables_of_the_configuration() {
    let variables = |path: &str| -> Vec<String> {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let rows =
            text.lines().filter_map(|line| line.trim_start_matches("//! ").split_once("| `"));
        let names = rows.filter(|(before, _)| before.is_empty()).map(|(_, after)| after);
        let names = names.filter(|name| name.starts_with("SIM_"));
        names.map(|name| name.split('`').next().unwrap().to_owned()).collect()
    };
    let known = variables("src/engine/runner/mod.rs");
    assert!(known.len() > 10, "{known:?}");
    assert_eq!(variables("docs/guide.md"), known);
}

/// Each variable in a command on a page must exist. Otherwise, the command would not do what the page says.
#[test]
fn pages_name_variables_that_exist() {
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let manual = read(&root().join("src/engine/runner/mod.rs"));
    let mut pages: Vec<PathBuf> =
        fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let packages = ["", "cargo-unpause", "unpause-tokio"];
    pages.extend(packages.map(|folder| root().join(folder).join("README.md")));
    assert!(pages.len() > 10, "{pages:?}");
    let mut named = 0;
    for path in pages {
        let text = read(&path);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("SIM_") && word.len() > 4) {
            let is_known = manual.contains(&format!("//! | `{word}` |"));
            assert!(is_known, "{}: there is no variable {word}", path.display());
            named += 1;
        }
    }
    assert!(named > 50, "{named} variables in all pages");
}

#[test]
fn the_front_page_shows_the_screen_of_the_readme() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let (readme, manual) = (read("README.md"), read("src/lib.rs"));
    let screen =
        readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let manual: String = manual
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n")
        .collect();
    assert!(manual.contains(screen), "paste the first screen of README.md into src/lib.rs");
}

#[test]
fn the_table_of_the_strategies_has_the_texts_of_their_rows() {
    let path = root().join("unpause-run/src/strategy/mod.rs");
    let source = fs::read_to_string(&path).unwrap();
    let (_, table) = source.split_once("//! |---|---|---|---|\n").expect("the head of the table");
    let (old, _) = table.split_once("//!\n").unwrap();
    let rows = sim::strategy::STRATEGIES.iter().map(|row| {
        let default =
            if row.name == sim::strategy::STRATEGIES[0].name { ", the default" } else { "" };
        let numbered = match row.numbered {
            [first, .., last] => format!(", `{}` to `{}`", first.name, last.name),
            _ => String::new(),
        };
        let texts = [row.good_at, row.promise, row.weak].join(" | ");
        format!("//! | `{}`{default}{numbered} | {texts} |\n", row.name)
    });
    expect(&path, &source, old, &rows.collect::<String>());
}

#[test]
fn the_guide_names_every_strategy() {
    let path = root().join("docs/guide.md");
    let guide = fs::read_to_string(&path).unwrap();
    let (_, list) =
        guide.split_once("strategies only sample:\n").expect("the list of the strategies");
    let (old, _) = list.split_once('\n').unwrap();
    let [_, others @ ..] = sim::strategy::STRATEGIES else { panic!("no strategy") };
    let names: Vec<String> = others.iter().map(|row| format!("`{}`", row.name)).collect();
    expect(&path, &guide, old, &format!("  {},", names.join(", ")));
    for row in sim::strategy::SEARCHES {
        let name = format!("`{}`", row.name);
        assert!(guide.contains(&name), "name {name} under \"Limits\" in docs/guide.md");
    }
}

/// An example has the expected result, and its file ends with its output.
#[track_caller]
fn example(name: &str, program: &str) {
    // The other examples need the feature `sim` in the manifest: Cargo names their programs and does not build them.
    let is_built = sim::SIMULATED || ["kv", "lost_update", "parallel_queue"].contains(&name);
    let is_long = sim_tests::histories::long();
    let program = match is_built {
        true => PathBuf::from(program),
        false if is_long => build_example(name),
        false => {
            println!("NOT RUN without UNPAUSE_LONG: the example {name} on real threads");
            return;
        }
    };
    let output = run_example(&program, &[]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    assert_eq!(stderr(&output), "");
    // The example `cas_chain` runs no task, so it prints the same in both builds.
    if !sim::SIMULATED && name != "cas_chain" {
        assert!(stdout(&output).contains("real threads m"), "{}", stdout(&output));
        return;
    }
    let path = root().join("examples").join(format!("{name}.rs"));
    let source = fs::read_to_string(&path).unwrap();
    let program = source.split(REPORT).next().unwrap().trim_end();
    let comment = |line: &str| format!("// {}", line).trim_end().to_owned() + "\n";
    let report: String = stdout(&output).trim_end().lines().map(comment).collect();
    expect(&path, &source, &source[program.len()..], &format!("\n{REPORT}{report}"));
}

/// Checks that `old`, a part of the text of the file at `path`, equals `new`; replaces it if
/// `UPDATE_EXPECT` is set.
#[track_caller]
fn expect(path: &Path, text: &str, old: &str, new: &str) {
    if old == new {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let at = old.as_ptr() as usize - text.as_ptr() as usize;
        fs::write(path, [&text[..at], new, &text[at + old.len()..]].concat()).unwrap();
        return;
    }
    panic!(
        "{} differs from what is printed or registered: `UPDATE_EXPECT=1 cargo test -p sim-tests --test readme` \
         writes it anew. New:\n{new}\nthere:\n{old}",
        path.display()
    );
}

/// The fenced code of a language in a text, without the fences.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("```{language}\n");
    let starts = text.match_indices(&opening).map(|(at, _)| at + opening.len());
    // The closing fence is at the beginning of a line, which may be the first.
    starts.map(|start| &text[start..start + text[start - 1..].find("\n```").unwrap()]).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Builds an example for real threads and returns its program.
fn build_example(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut build = cargo(&root());
    build.args(["build", "--quiet", "--workspace", "--no-default-features", "--example", name]);
    build.arg("--target-dir").arg(target);
    // A setting and the compiler that this test was built with.
    if let Ok(config) = std::env::var("UNPAUSE_CONFIG") {
        build.args(["--config", &config]);
    }
    if let Some(wrapper) = std::env::var_os("UNPAUSE_WRAPPER") {
        build.env("RUSTC_WORKSPACE_WRAPPER", wrapper);
    }
    let built = output(&mut build);
    assert!(built.status.success(), "{}", stderr(&built));
    target.join("debug/examples").join(name)
}

/// Runs an example as `cargo run --example` does: its replay command depends on the folders of its program.
fn run_example(program: &Path, environment: &[(&str, &str)]) -> Output {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    // Each run has its own folder, because tests run concurrently, in one process or in several.
    let run = format!("example-{}-{}", std::process::id(), RUNS.fetch_add(1, Relaxed));
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join(run);
    let examples = own.join("debug/examples");
    fs::create_dir_all(&examples).unwrap();
    let copy = examples.join(program.file_name().unwrap());
    fs::hard_link(program, &copy).unwrap();

    let mut run = Command::new(copy);
    run.current_dir(root()).env("CARGO_PKG_NAME", "unpause").env("RUST_BACKTRACE", "1");
    clean(&mut run);
    let output = output(run.envs(environment.iter().copied()));
    fs::remove_dir_all(own).unwrap();
    output
}

/// Cargo in a folder, off the net: all it needs is in the lock file of the project.
fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder).env("CARGO_NET_OFFLINE", "true").env("CARGO_TERM_COLOR", "never");
    clean(&mut cargo);
    cargo
}

/// Removes variables that the caller has set for other tests. Also removes the variable of CI, where failures are
/// written as pages, too.
fn clean(command: &mut Command) {
    command.env_remove("CI");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SIM_") {
            command.env_remove(name);
        }
    }
}

fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns the standard output of a program. Cargo's output folder is replaced by `target`.
fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let shorten = |line: &str| match (line.split_once(": "), line.find("/sim/")) {
        (Some((label @ ("trace" | "source" | "history"), _)), Some(at)) => {
            format!("{:9}target{}\n", format!("{label}:"), &line[at..])
        }
        // If a trace is too long for a line, the command names the trace file.
        (Some(("replay", rest)), Some(at)) if rest.trim_start().starts_with("SIM_REPLAY=/") => {
            format!("replay:  SIM_REPLAY=target{}\n", &line[at..])
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(shorten).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
