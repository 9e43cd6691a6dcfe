//! Tests written for loom and shuttle, run over these tools and over the facades `unpause-loom` and `unpause-shuttle`.
//!
//! Both sides are separate test programs, because the facades need `cargo unpause test --any`. The tools' own tests are
//! copied from their packages by `native-tests/suites/suites.py`. The planted bugs are in `facades/bugs.rs`. The time
//! of a test is the time between the two parts of its output line, as libtest writes them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The usage text.
pub(crate) const USAGE: &str = "\
usage: sim-bench facades [loom] [shuttle] [bugs]

  loom     loom's own models that both sides explore to the end: runs and time
  shuttle  shuttle's own tests that both sides sample: the time of a run
  bugs     runs to the first failure on planted bugs
";

/// The bars for ours relative to shuttle's, as geometric means: the time of a run, and the number of runs to a bug.
const BARS: (f64, f64) = (1.2, 0.5);
/// The minimum time of a measured shuttle test.
const SHORTEST: Duration = Duration::from_millis(20);

/// Prints the tables. Returns `false` if the words do not fit the grammar.
///
/// # Errors
/// If a program cannot be built or started.
pub(crate) fn table(words: impl Iterator<Item = String>) -> Result<bool, String> {
    let words: Vec<String> = words.collect();
    if words.iter().any(|word| !["loom", "shuttle", "bugs"].contains(&word.as_str())) {
        return Ok(false);
    }
    let has = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    if has("loom") {
        loom()?;
    }
    if has("shuttle") {
        shuttle()?;
    }
    if has("bugs") {
        bugs()?;
    }
    Ok(true)
}

/// A side of the comparison: the tool itself, or the facade.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Tool,
    Facade,
}

/// The result and the time of a test.
#[derive(Clone, Debug)]
struct Test {
    passed: bool,
    time: Duration,
}

/// The output of a test program.
struct Output {
    tests: BTreeMap<String, Test>,
    output: String,
    errors: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the build folder.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/facades")
}

/// Copies a tool's own tests. Returns the folder of the copy.
fn copy(tool: &str, side: Side) -> Result<PathBuf, String> {
    let mut command = Command::new("python3");
    command.arg(root().join("native-tests/suites/suites.py")).args(["copy", tool]);
    command.args((side == Side::Tool).then_some("real")).env("CENSUS_FOLDER", target().join(tool));
    let ended = command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    match String::from_utf8_lossy(&ended.stdout).lines().last() {
        Some(folder) if ended.status.success() => Ok(PathBuf::from(folder)),
        _ => Err(format!("the tests of {tool} cannot be copied")),
    }
}

/// Builds the tests of a folder, and runs them one after another: the tests with these names, or all if there is no
/// name.
fn run(
    folder: &Path,
    side: Side,
    variables: &[(&str, &str)],
    names: &[&str],
) -> Result<Output, String> {
    let command = |arguments: &[&str]| {
        let mut command = match side {
            Side::Tool => Command::new("cargo"),
            Side::Facade => Command::new(root().join("target/debug/cargo-unpause")),
        };
        match side {
            Side::Tool => command.args(["test", "--release"]),
            Side::Facade => command.args(["unpause", "test", "--any", "--release"]),
        };
        // `RUSTFLAGS` is set because the tests deny warnings.
        command.args(["--tests", "--no-fail-fast"]).args(arguments).current_dir(folder);
        command.env("RUSTFLAGS", "--cap-lints=warn").env("SIM_SHRINK", "0").env("SIM_JOBS", "1");
        let builds = target().join(if side == Side::Tool { "tools" } else { "ours" });
        command.env("CARGO_TARGET_DIR", builds).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
        command.env_remove("CARGO_MANIFEST_DIR").envs(variables.iter().copied());
        command
    };
    let built = command(&["--no-run"]).stderr(Stdio::piped()).output();
    let built = built.map_err(|error| format!("cargo does not start: {error}"))?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let exact: &[&str] = if names.is_empty() { &[] } else { &["--exact"] };
    let harness = ["--", "--test-threads=1", "--show-output"];
    let mut command = command(&[&harness, exact, names].concat());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut errors = child.stderr.take().ok_or("no standard error")?;
    let of_errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = errors.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut output = child.stdout.take().ok_or("no standard output")?;
    let (mut bytes, mut tests) = (Vec::new(), BTreeMap::new());
    let (mut line, mut begun) = (0, Instant::now());
    let mut buffer = [0; 1 << 16];
    loop {
        let read = output.read(&mut buffer).map_err(|error| error.to_string())?;
        let now = Instant::now();
        if read == 0 {
            break;
        }
        bytes.extend_from_slice(&buffer[..read]);
        while let Some(end) = bytes[line..].iter().position(|byte| *byte == b'\n') {
            let text = String::from_utf8_lossy(&bytes[line..line + end]).into_owned();
            if let Some((name, passed)) = ended(&text) {
                tests.insert(name, Test { passed, time: now - begun });
            }
            (line, begun) = (line + end + 1, now);
        }
        if bytes[line..].ends_with(b" ... ") {
            begun = now;
        }
    }
    let _ = child.wait();
    let output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Output { tests, output, errors: of_errors.join().unwrap_or_default() })
}

/// Returns the name and the result of the test if this libtest line ends a test. Tests that must panic are left out.
fn ended(line: &str) -> Option<(String, bool)> {
    let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    match result {
        "ok" => Some((name.to_owned(), true)),
        "FAILED" => Some((name.to_owned(), false)),
        _ => None,
    }
}

/// Compares loom's models: the number of runs of each test that both sides explored completely.
fn loom() -> Result<(), String> {
    let log = [("LOOM_LOG", "loom::model=info"), ("LOOM_MAX_DURATION", "30")];
    let theirs = run(&copy("loom", Side::Tool)?, Side::Tool, &log, &[])?;
    let search = [("SIM_STRATEGY", "exhaustive"), ("SIM_TIME", "30s")];
    let ours = run(&copy("loom", Side::Facade)?, Side::Facade, &search, &[])?;
    let (runs_theirs, runs_ours) = (iterations(&theirs), interleavings(&ours));
    println!("{:<44} {:>17} {:>19}", "loom's own models", "runs", "ms");
    println!("{:<44} {:>8} {:>8} {:>9} {:>9}", "", "loom", "ours", "loom", "ours");
    let (mut rows, mut fewer, mut faster, mut sums) = (0, 0, 0, [0.0; 4]);
    for (name, theirs, ours) in both(&theirs, &ours) {
        let (Some(a), Some(b)) = (runs_theirs.get(name), runs_ours.get(name)) else { continue };
        let (of_loom, of_ours) = (theirs.time.as_secs_f64() * 1e3, ours.time.as_secs_f64() * 1e3);
        println!("{name:<44} {a:>8} {b:>8} {of_loom:>9.2} {of_ours:>9.2}");
        rows += 1;
        fewer += usize::from(b <= a);
        faster += usize::from(of_ours <= of_loom);
        for (sum, value) in sums.iter_mut().zip([*a as f64, *b as f64, of_loom, of_ours]) {
            *sum += value;
        }
    }
    println!("{:<44} {:>8} {:>8} {:>9.2} {:>9.2}", "sum", sums[0], sums[1], sums[2], sums[3]);
    println!("not more runs: {fewer} of {rows}; not more time: {faster} of {rows}\n");
    Ok(())
}

/// Returns the tests that pass on both sides.
fn both<'a>(theirs: &'a Output, ours: &'a Output) -> Vec<(&'a str, &'a Test, &'a Test)> {
    let pairs = theirs.tests.iter().filter_map(|(name, theirs)| {
        let ours = ours.tests.get(name)?;
        (theirs.passed && ours.passed).then_some((name.as_str(), theirs, ours))
    });
    pairs.collect()
}

/// Returns loom's number of runs for each test, from its log.
fn iterations(output: &Output) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut name = None;
    for line in output.output.lines() {
        if let Some(title) = line.strip_prefix("---- ") {
            name = title.strip_suffix(" stdout ----");
        }
        let count = line.split_once("Completed in ").and_then(|(_, rest)| rest.split(' ').next());
        if let (Some(name), Some(count)) = (name, count.and_then(|count| count.parse::<u64>().ok()))
        {
            *found.entry(name.to_owned()).or_default() += count;
        }
    }
    found
}

/// Returns our number of runs for each test whose models were all explored, from the notes.
fn interleavings(output: &Output) -> BTreeMap<String, u64> {
    let mut found: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for line in output.errors.lines() {
        let Some((path, note)) = line.strip_prefix("note: ").and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        let Some((_, name)) = path.split_once("::") else { continue };
        // Names of further models of a test end with a number.
        let name = match name.rsplit_once('_') {
            Some((first, number))
                if number.parse::<u32>().is_ok() && output.tests.contains_key(first) =>
            {
                first
            }
            _ => name,
        };
        let runs = match note.strip_prefix("explored all ").and_then(|rest| rest.split(' ').next())
        {
            Some(count) => count.parse().ok(),
            None if note.starts_with("explored the one") => Some(1),
            None if note.starts_with("searched") => None,
            None => continue,
        };
        let sum = found.entry(name.to_owned()).or_insert(Some(0));
        *sum = sum.zip(runs).map(|(sum, runs)| sum + runs);
    }
    found.into_iter().filter_map(|(name, runs)| Some((name, runs?))).collect()
}

/// Compares shuttle's tests that both sides sample: the time of the same number of runs.
fn shuttle() -> Result<(), String> {
    let theirs = run(&copy("shuttle", Side::Tool)?, Side::Tool, &[], &[])?;
    let measured = theirs.tests.iter().filter(|(_, test)| test.passed && test.time >= SHORTEST);
    let names: Vec<&str> = measured.map(|(name, _)| name.as_str()).collect();
    let limit = [("SIM_TIME", "60s")];
    let ours = run(&copy("shuttle", Side::Facade)?, Side::Facade, &limit, &names)?;
    println!("{:<60} {:>9} {:>9} {:>6}", "shuttle's own tests, ms", "shuttle", "ours", "");
    let (mut logarithms, mut within) = (Vec::new(), 0);
    for (name, theirs, ours_) in both(&theirs, &ours) {
        let searched = ours.errors.contains(&format!("::{name}: explored"))
            || ours.errors.contains(&format!("::{name}: searched"));
        let failed = ours.output.contains(&format!("::{name}  seed"));
        if searched || failed {
            continue;
        }
        let (a, b) = (theirs.time.as_secs_f64() * 1e3, ours_.time.as_secs_f64() * 1e3);
        println!("{name:<60} {a:>9.1} {b:>9.1} {:>5.2}x", b / a);
        logarithms.push((b / a).ln());
        within += usize::from(b / a <= BARS.0);
    }
    let mean = mean(&logarithms);
    println!("within {}x: {within} of {}; geometric mean {mean:.2}x\n", BARS.0, logarithms.len());
    Ok(())
}

/// Returns the geometric mean of values given as logarithms.
fn mean(logarithms: &[f64]) -> f64 {
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// Compares the planted bugs: the number of runs to the first failure, over ranges of seeds.
fn bugs() -> Result<(), String> {
    let theirs = firsts(&run(&package(Side::Tool)?, Side::Tool, &[], &[])?, Side::Tool);
    let ours = firsts(&run(&package(Side::Facade)?, Side::Facade, &[], &[])?, Side::Facade);
    println!("{:<24} {:>9} {:>9} {:>6}", "runs to the first failure", "shuttle", "ours", "");
    let mut logarithms = Vec::new();
    for (name, theirs) in &theirs {
        let Some(ours) = ours.get(name) else { continue };
        let (a, b) = (median(theirs), median(ours));
        println!("{name:<24} {a:>9.1} {b:>9.1} {:>5.2}x", b / a);
        logarithms.push((b / a).ln());
    }
    let mean = mean(&logarithms);
    let says = if mean <= BARS.1 { "yes" } else { "NO" };
    println!("geometric mean {mean:.2}x, the bar is {}: {says}", BARS.1);
    Ok(())
}

/// Writes the package of the bugs for one side. Returns its folder.
fn package(side: Side) -> Result<PathBuf, String> {
    let (name, dependency) = match side {
        Side::Tool => ("bugs-tool", "shuttle = \"0.9\"".to_owned()),
        Side::Facade => {
            let path = root().join("unpause-shuttle");
            (
                "bugs-facade",
                format!("shuttle = {{ package = \"unpause-shuttle\", path = {path:?} }}"),
            )
        }
    };
    let folder = target().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("facades/bugs.rs");
    let head = format!("[workspace]\n[package]\nname = {name:?}\nedition = \"2024\"\n");
    let manifest = format!("{head}[dev-dependencies]\n{dependency}\n");
    let write = || {
        std::fs::create_dir_all(folder.join("src"))?;
        std::fs::create_dir_all(folder.join("tests"))?;
        std::fs::write(folder.join("src/lib.rs"), "")?;
        std::fs::write(folder.join("Cargo.toml"), manifest)?;
        std::fs::copy(source, folder.join("tests/bugs.rs"))
    };
    write().map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Returns the first failing run in each range, by bug. A range without a failure counts as twice its runs.
fn firsts(output: &Output, side: Side) -> BTreeMap<String, Vec<f64>> {
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in output.output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, runs) = match (side, &words[..]) {
            (Side::Tool, ["found", name, _, runs]) => (*name, runs.parse::<u64>().ok()),
            // The ranges begin at multiples of a million.
            (Side::Facade, ["FAILED", path, "seed", seed, ..]) => {
                let name = path.rsplit("::").next().unwrap_or(path);
                let seed = seed.trim_end_matches(':').parse::<u64>().ok();
                (name, seed.map(|seed| seed % 1_000_000 + 1))
            }
            (_, ["passed", name, _]) => (*name, Some(4_000)),
            _ => continue,
        };
        // Names of further ranges of a test end with a number.
        let name = match name.rsplit_once('_') {
            Some((first, number)) if number.parse::<u32>().is_ok() => first,
            _ => name,
        };
        found.entry(name.to_owned()).or_default().extend(runs.map(|runs| runs as f64));
    }
    found
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => (values[(count - 1) / 2] + values[count / 2]) / 2.0,
    }
}
