//! `cargo unpause check` of several files and folders, and of files that try to use up time and memory.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Exit code, standard output, standard error.
fn check(arguments: &[&str]) -> (u8, String, String) {
    let mut terminal = cargo_unpause::Terminal::silent();
    let arguments = ["check"].iter().chain(arguments).map(|a| (*a).into()).collect();
    let code = cargo_unpause::run(arguments, &mut terminal);
    (code, terminal.output().to_owned(), terminal.errors().to_owned())
}

/// A new folder for a test, with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    for (name, text) in files {
        let file = path.join(name);
        std::fs::create_dir_all(file.parent().expect("in a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }
    path
}

fn event(process: usize, kind: &str, f: &str, value: &str) -> String {
    format!(
        "{{\"process\": {process}, \"type\": \"{kind}\", \"f\": \"{f}\", \"value\": {value}}}\n"
    )
}

fn call(process: usize, f: &str, asked: &str, told: &str) -> String {
    event(process, "invoke", f, asked) + &event(process, "ok", f, told)
}

fn fine() -> String {
    call(0, "write", "1", "1") + &call(1, "read", "null", "1")
}

fn stale() -> String {
    call(0, "write", "1", "1") + &call(1, "read", "null", "null")
}

/// Thirty additions at once, of powers of two so that all sums differ, and a read with an
/// impossible result.
fn hard() -> String {
    let add = |n: usize| event(n, "invoke", "fetch-add", &(1u64 << n).to_string());
    (0..30).map(add).collect::<String>() + &event(29, "ok", "fetch-add", "-1")
}

#[test]
fn each_file_has_a_line_and_the_worst_decides() {
    let (fine, stale) = (fine(), stale());
    let path = folder(
        "several",
        &[
            ("fine.json", &fine),
            ("deeper/stale.jsonl", &stale),
            ("README.md", "Not a history.\n"),
            (".hidden.json", "{"),
        ],
    );
    let at = |name: &str| path.join(name).to_str().expect("text").to_owned();
    let (all, fine_at, stale_at) = (at(""), at("fine.json"), at("deeper/stale.jsonl"));
    let all = all.trim_end_matches('/');
    let (code, out, err) = check(&["-m", "register", all]);
    assert_eq!((code, err.as_str()), (1, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    let readme = at("README.md");
    assert_eq!(
        lines,
        [
            &format!("no history  {readme}"),
            &format!("VIOLATED  {stale_at}: not linearizable, as a register (unique register)"),
            &format!("consistent  {fine_at}: linearizable, as a register (unique register)"),
            "",
            "2 histories: 1 consistent, 1 violated, 0 undecided, 0 with an error; 1 other file left out",
            "check a file alone to see why it is violated",
        ],
    );
    // Named files come in the order of the command line, once for each name.
    let (code, out, _) = check(&["-m", "register", &fine_at, &fine_at]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.ends_with("\n2 histories: 2 consistent, 0 violated, 0 undecided, 0 with an error\n")
    );

    let hard = folder("several-hard", &[("hard.json", &hard()), ("fine.json", &fine)]);
    let hard_at = hard.join("hard.json").to_str().expect("text").to_owned();
    let none = at("none.json");
    let nemesis = folder(
        "several-nemesis",
        &[("n.edn", "{:process :nemesis :type :info :f :kill}\n"), ("fine.json", &fine)],
    );
    let nemesis = nemesis.to_str().expect("text").to_owned();
    for (files, exit, words) in [
        (vec![&*fine_at, &*hard_at], 3, "1 undecided, 0 with an error"),
        (vec![&*hard_at, &*stale_at, &*fine_at], 1, "1 consistent, 1 violated, 1 undecided"),
        (vec![&*stale_at, &*none, &*hard_at], 2, "1 violated, 1 undecided, 1 with an error"),
        (vec![&*nemesis], 2, "2 histories: 1 consistent, 0 violated, 0 undecided, 1 with an error"),
        (vec![all, &*nemesis], 2, "4 histories: 2 consistent, 1 violated"),
    ] {
        let (code, out, _) = check(&[&["--nodes", "200"], &files[..]].concat());
        assert_eq!(code, exit, "{out}");
        assert!(out.contains(words), "{out}");
    }
    let (_, out, _) = check(&[&none, &fine_at]);
    assert!(out.starts_with(&format!("ERROR  {none}: cannot read it")), "{out}");
}

#[test]
fn reads_that_were_not_checked_are_summed_up() {
    let text = "{:process 0 :type :invoke :f :read}{:process 0 :type :ok :f :read :value nil}";
    let path = folder("several-nil", &[("a.edn", text), ("b.edn", text)]);
    let (code, out, _) = check(&["-m", "register", path.to_str().expect("text")]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains(
        "2 consistent, 0 violated, 0 undecided, 0 with an error; 2 reads of nil not checked"
    ));
}

/// The command as a process with this memory limit.
#[cfg(target_os = "linux")]
fn confined(kibibytes: usize, arguments: &[&str]) -> (Option<i32>, String, std::time::Duration) {
    let began = std::time::Instant::now();
    let ended = Command::new("sh")
        .args(["-c", &format!("ulimit -v {kibibytes}; exec \"$0\" sim check \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_cargo-unpause"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    (ended.status.code(), text + &String::from_utf8_lossy(&ended.stderr), began.elapsed())
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_made_to_take_all_memory_is_answered_within_the_limits() {
    let in_turn: String =
        (0..1000).map(|n| call(n, "enqueue", &n.to_string(), &n.to_string())).collect();
    // The removed item was never inside, and no engine for unique values applies: values occur
    // twice.
    let at_once = |count: usize, twice: usize| {
        let each = |kind: &str| {
            let one = |n: usize| event(n, kind, "enqueue", &(n % twice).to_string());
            (0..count).map(one).collect::<String>()
        };
        each("invoke") + &each("ok") + &call(count, "dequeue", "null", "-7")
    };
    let (unique, double) = (at_once(10_000, 10_000), at_once(3_000, 1_500));
    let path = folder(
        "several-large",
        &[("in-turn.json", &in_turn), ("unique.json", &unique), ("double.json", &double)],
    );
    let limits =
        ["--memory", "64MB", "--timeout", "3s", "--nodes", "1_000_000_000", "--threads", "2"];
    for condition in ["linearizable", "sequential", "quiescent"] {
        let check = |file: &str| {
            let file = path.join(file);
            let asked = ["-m", "queue", "-c", condition, file.to_str().expect("text")];
            // The threads of a process reserve some hundred megabytes of addresses.
            let (code, text, took) = confined(600_000, &[&limits[..], &asked].concat());
            // If a thread of the machine is late, the search must still end.
            assert!(took.as_secs() < 60, "{condition}: {took:?}");
            (code, text)
        };
        let (code, text) = check("in-turn.json");
        assert_eq!(code, Some(0), "{condition}: {text}");
        let (code, text) = check("double.json");
        assert_eq!(code, Some(3), "{condition}: {text}");
        let (code, text) = check("unique.json");
        let expected = if condition == "linearizable" { [1, 1] } else { [3, 1] };
        assert!(code.is_some_and(|code| expected.contains(&code)), "{condition}: {code:?} {text}");
    }
}
