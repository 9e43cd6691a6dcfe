//! `cargo unpause check` as a process: exit codes, streams, texts.

#![forbid(unsafe_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a process: exit code, standard output, standard error.
struct Ended {
    code: i32,
    out: String,
    err: String,
}

fn run(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-unpause"))
        .arg("sim")
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that refuses its arguments does not read on.
    let _ = child.stdin.take().expect("piped").write_all(input);
    let ended = child.wait_with_output().expect("the program ends");
    Ended {
        code: ended.status.code().expect("no signal"),
        out: String::from_utf8(ended.stdout).expect("text"),
        err: String::from_utf8(ended.stderr).expect("text"),
    }
}

/// A file in the folder of this test binary, with this text.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("written");
    path
}

#[track_caller]
fn refused(arguments: &[&str], input: &str, words: &str) {
    let ended = run(arguments, input.as_bytes());
    assert_eq!(ended.code, 2, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains(words), "{}", ended.err);
    assert_eq!(ended.out, "", "nothing that could be taken for a verdict");
}

const STALE: &str = "examples/histories/stale.edn";
const FRESH: &str = "examples/histories/fresh.edn";

#[test]
fn a_consistent_history_exits_with_0() {
    let ended = run(&["check", FRESH], b"");
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
    assert!(
        ended.out.starts_with(
            "consistent  examples/histories/fresh.edn: linearizable, as a cas-register"
        ),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains(
            "7 operations by 4 processes, 1 failed, 1 without an answer, 1 note left out"
        ),
        "{}",
        ended.out
    );
}

#[test]
fn a_violated_history_exits_with_1_and_shows_why_and_where() {
    let ended = run(&["check", "--model", "cas-register", STALE], b"");
    assert_eq!((ended.code, ended.err.as_str()), (1, ""));
    for words in [
        "VIOLATED  examples/histories/stale.edn: not linearizable, as a cas-register (",
        "├ Read → 1 ┤",
        "fits nowhere",
        "examples/histories/stale.edn, line 13 to 14: Read → 1 by process 2  <- fits nowhere",
    ] {
        assert!(ended.out.contains(words), "{words}\n{}", ended.out);
    }
}

#[test]
fn the_standard_input_is_read_and_json_is_recognized() {
    let lines = "{\"process\":0,\"type\":\"invoke\",\"f\":\"enqueue\",\"value\":1}\n\
                 {\"process\":0,\"type\":\"ok\",\"f\":\"enqueue\"}\n\
                 {\"process\":1,\"type\":\"invoke\",\"f\":\"dequeue\"}\n";
    let right = format!("{lines}{{\"process\":1,\"type\":\"ok\",\"f\":\"dequeue\",\"value\":1}}\n");
    assert_eq!(run(&["check", "-"], right.as_bytes()).code, 0);
    let wrong = right.replace("\"value\":1}\n{\"process\":0", "\"value\":2}\n{\"process\":0");
    let ended = run(&["check", "--format", "json", "-"], wrong.as_bytes());
    assert_eq!(ended.code, 1);
    assert!(ended.out.contains("the standard input, line 3 to 4"), "{}", ended.out);
}

#[test]
fn what_cannot_be_decided_in_time_exits_with_3() {
    let path = file("hard.jsonl", hard().as_bytes());
    let path = path.to_str().expect("text");
    for limit in [["--timeout", "300ms"], ["--nodes", "100"], ["--memory", "4MB"]] {
        let most = ["check", "--model", "counter", "--nodes", "1_000_000_000"];
        let ended = run(&[&most[..], &limit, &[path]].concat(), b"");
        assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
        assert!(ended.out.starts_with("UNDECIDED"), "{}", ended.out);
        let words = format!("undecided is not a pass: search longer with {}", limit[0]);
        let words = words.replace("search longer with --memory", "let it take more with --memory");
        assert!(ended.err.contains(&words), "{}", ended.err);
    }
}

/// Returns a history with thirty concurrent additions of powers of two, so that all sums differ. A read sees none of
/// the additions.
fn hard() -> String {
    let mut text = String::new();
    let mut event = |process: u32, kind: &str, f: &str, value: i64| {
        text += &format!(
            "{{\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"value\":{value}}}\n"
        );
    };
    (0..30).for_each(|n| event(n, "invoke", "fetch-add", 1 << n));
    (0..30).for_each(|n| event(n, "ok", "fetch-add", if n == 29 { -1 } else { 0 }));
    text.replace(
        "\"ok\",\"f\":\"fetch-add\",\"value\":0",
        "\"info\",\"f\":\"fetch-add\",\"value\":0",
    )
}

#[test]
fn what_makes_no_sense_exits_with_2_and_says_what_would() {
    refused(&[], "", "no command given");
    refused(&["chek"], "", "did you mean `check`?");
    refused(&["check"], "", "which file?");
    refused(&["check", "-", STALE, "-"], "", "say - once");
    refused(&["check", "--tree", STALE, FRESH], "", "--tree is for one file");
    refused(&["check", "--memory", "much", STALE], "", "500MB or 4GB");
    refused(&["check", "cargo-unpause/src"], "", "no history in this folder");
    refused(&["check", "--modle", "x", STALE], "", "did you mean `--model`?");
    refused(&["check", "--model", "casregister", STALE], "", "did you mean cas-register?");
    refused(&["check", "--condition", "linearisable", STALE], "", "did you mean \"linearizable\"?");
    refused(&["check", "--format", "yson", STALE], "", "did you mean \"json\"?");
    refused(&["check", "--timeout", "fast", STALE], "", "should be a time like 500ms");
    refused(&["check", "--nodes", "-", STALE], "", "a whole number");
    refused(&["check", "--keys", "ye", STALE], "", "did you mean yes?");
    refused(&["check", "--init", "(", STALE], "", "--init is a value in EDN");
    refused(&["check", "--model", "queue", "--init", "7", FRESH], "", "a list of the items");
    refused(&["check", "examples/histories/none.edn"], "", "none.edn: cannot read it");
    refused(&["check", "-"], "hello", "cannot tell the format");
    refused(&["check", "-f", "json", "-"], "", "no event");
}

#[test]
fn each_option_with_a_time_takes_the_durations_of_the_grammar() {
    use unpause_words::duration::{GRAMMAR, RIGHT, WRONG};
    let help = run(&["check", "--help"], b"").out;
    let options: Vec<&str> = help
        .lines()
        .filter_map(|line| line.split_once(" TIME ")?.0.split_whitespace().last())
        .collect();
    assert_eq!(options, ["--timeout"]);
    for option in options {
        for (text, _) in RIGHT {
            let ended = run(&["check", option, text, FRESH], b"");
            assert_ne!(ended.code, 2, "{option} {text}: {}", ended.err);
        }
        for text in WRONG {
            let words = format!("{option} is {text:?}, but should be {GRAMMAR}");
            refused(&["check", option, text, FRESH], "", &words);
        }
    }
}

#[test]
fn a_malformed_file_is_refused_with_line_and_column() {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(STALE));
    let text = text.expect("the example");
    let path = file("cut.edn", &text.as_bytes()[..text.len() - 20]);
    let name = path.to_str().expect("text");
    refused(&["check", name], "", "cut.edn:17:30: expected a value for the key");
    refused(&["check", "-"], &text.replace(":cas", ":csa"), "no model has all operations");
    let csa = text.replace(":cas", ":csa");
    refused(&["check", "-m", "cas-register", "-"], &csa, "the standard input:5:1: the model");
    refused(&["check", "-m", "cas-register", "-"], &csa, "did you mean \"cas\"?");
    refused(&["check", "-"], &text.replace("read", "get"), "no model has all operations");
}

#[test]
fn help_lists_what_there_is() {
    let ended = run(&["check", "--help"], b"");
    assert_eq!(ended.code, 0);
    for words in ["cas-register", "linearizable", "edn", "--timeout", "3  undecided"] {
        assert!(ended.out.contains(words), "{words}\n{}", ended.out);
    }
    assert!(run(&["--help"], b"").out.contains("check"));
}

#[test]
fn the_word_sim_may_be_left_out() {
    let mut terminal = cargo_unpause::Terminal::silent();
    assert_eq!(cargo_unpause::run(vec!["check".into(), "-h".into()], &mut terminal), 0);
    assert!(terminal.output().contains("usage: cargo unpause check"));
}

#[test]
fn the_text_of_a_verdict_moves_no_cursor() {
    let text = "{:process 0 :type :invoke :f :write :value \"\u{1b}[2J\u{202e}\"}\n\
                {:process 0 :type :ok :f :write :value nil}\n\
                {:process 0 :type :invoke :f :read}{:process 0 :type :ok :f :read :value \"\u{1b}]0;x\"}";
    let ended = run(&["check", "-m", "register", "-"], text.as_bytes());
    assert_eq!(ended.code, 1);
    assert!(!ended.out.contains('\u{1b}') && !ended.out.contains('\u{202e}'), "{:?}", ended.out);
}

#[test]
fn a_finding_is_json_on_request() {
    let check = |arguments: &[&str]| {
        let arguments = ["check", "--json"].iter().chain(arguments).map(Into::into).collect();
        let mut terminal = cargo_unpause::Terminal::silent();
        let code = cargo_unpause::run(arguments, &mut terminal);
        let lines = terminal.output().lines().map(|line| serde_json::from_str(line).unwrap());
        (code, lines.collect::<Vec<serde_json::Value>>(), terminal.errors().to_owned())
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/histories");
    let (stale, fresh) = (format!("{root}/stale.edn"), format!("{root}/fresh.edn"));
    let (code, found, _) = check(&[&stale]);
    assert_eq!((code, found.len()), (1, 1));
    let found = &found[0];
    assert_eq!(found["format"], "unpause check");
    assert_eq!(found["verdict"]["kind"], "violated");
    let operations = found["operations"].as_array().unwrap();
    assert!(!operations.is_empty() && operations[0]["lines"][0].is_u64(), "{found}");
    let misfit = found["verdict"]["misfit"].as_u64().unwrap() as usize;
    assert!(operations[misfit]["result"].is_string(), "{found}");
    assert!(found["screen"].to_string().contains("not linearizable"), "{found}");
    let nothing = format!("{root}/nothing.edn");
    let (code, found, _) = check(&[&fresh, &stale]);
    assert_eq!(code, 1);
    let kinds: Vec<_> = found.iter().map(|found| &found["verdict"]["kind"]).collect();
    assert_eq!(kinds, ["consistent", "violated"]);
    let (code, _, errors) = check(&[&nothing]);
    assert!(code == 2 && errors.contains("nothing.edn"), "{errors}");
    let (code, _, errors) = check(&["--tree", &fresh]);
    assert!(code == 2 && errors.contains("choose one"), "{errors}");
}

/// A history must be read in the same way, no matter how its bytes arrive and without a named model.
#[test]
fn a_history_is_read_however_its_bytes_arrive() {
    let read = |answer: &str| {
        format!(
            "{{\"process\":0,\"type\":\"invoke\",\"f\":\"add\",\"value\":1}}\n\
             {{\"process\":0,\"type\":\"ok\",\"f\":\"add\",\"value\":{answer}}}\n\
             {{\"process\":1,\"type\":\"invoke\",\"f\":\"read\",\"value\":null}}\n"
        )
    };
    // A read of nil may have seen anything, so it excludes no model.
    let nil = read("1") + "{\"process\":1,\"type\":\"ok\",\"f\":\"read\",\"value\":null}\n";
    let ended = run(&["check", "--nil", "anything", "-"], nil.as_bytes());
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    // The answer `ok` means that the value was added, under each condition.
    let done = read("\"ok\"")
        + "{\"process\":1,\"type\":\"ok\",\"f\":\"read\",\"value\":[1]}\n\
           {\"process\":0,\"type\":\"invoke\",\"f\":\"final-read\",\"value\":null}\n\
           {\"process\":0,\"type\":\"ok\",\"f\":\"final-read\",\"value\":[1]}\n";
    let ended = run(&["check", "-c", "eventual", "-"], done.as_bytes());
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    // The input begins with a byte order mark, in a format that is neither JSON nor EDN.
    let ended = run(&["check", "-"], "\u{feff}# stack\npush 1 1 2\n".as_bytes());
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
}

/// A writer of a pipe may be slow: its first bytes do not show the format.
#[test]
fn the_format_does_not_depend_on_the_first_read_of_a_pipe() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-unpause"))
        .args(["check", "--model", "register", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    for part in ["[", "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\",\"value\":null}", "]"] {
        input.write_all(part.as_bytes()).expect("it reads");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    drop(input);
    let ended = child.wait_with_output().expect("the program ends");
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}
