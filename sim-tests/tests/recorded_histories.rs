//! Histories that others recorded from real systems, with verdicts that others gave.
//!
//! They are not part of this repository. `UNPAUSE_HISTORIES` names a folder with `etcd-register/*.log`
//! (Jepsen against etcd, as published with porcupine), `knossos-cas-register/*.edn` (as published
//! with knossos) and a `verdicts.tsv` in each: tab separated, the file name first, the verdict fifth.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use sim::check::{Budget, Model, linearizable_counted};
use sim::history::Operation;
use sim_tests::judge;

#[test]
fn recorded_histories_get_the_published_verdicts() {
    let Some(folder) = std::env::var_os("UNPAUSE_HISTORIES") else {
        // Straight to the stream: the harness keeps what `eprintln!` prints in a test that passes.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: recorded histories (UNPAUSE_HISTORIES is not set)"
        );
        return;
    };
    family(&Path::new(&folder).join("etcd-register"), Dialect::Etcd);
    family(&Path::new(&folder).join("knossos-cas-register"), Dialect::Knossos);
}

fn family(folder: &Path, dialect: Dialect) {
    let verdicts = std::fs::read_to_string(folder.join("verdicts.tsv")).expect("verdicts.tsv");
    let (mut total, mut nodes) = (Duration::ZERO, 0);
    let mut slowest = (Duration::ZERO, String::new());
    for row in verdicts.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let (file, expected) = (columns[0], columns[4] == "ok");
        let text = std::fs::read_to_string(folder.join(file)).expect(file);
        let history = history(dialect, &text);
        let initial = Cell { value: None, dialect };
        let mut fastest = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            let (verdict, visited) =
                linearizable_counted(&initial, &history, &Budget::default()).expect(file);
            if fastest == Duration::MAX {
                println!("{file}: {} configurations", visited);
                judge::check(&initial, &history, &verdict, expected);
                nodes += visited;
            }
            fastest = fastest.min(start.elapsed());
        }
        total += fastest;
        slowest = slowest.max((fastest, file.to_owned()));
    }
    let count = verdicts.lines().count() - 1;
    assert!(count > 0, "no history in {}", folder.display());
    let rate = nodes as f64 / total.as_secs_f64();
    println!(
        "{}: {count} histories, {nodes} configurations, {total:?}, {rate:.0} per second, {slowest:?}",
        folder.display()
    );
}

/// How a family reads its own logs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Dialect {
    /// A failed cas saw another value; a read of nil saw nil.
    Etcd,
    /// What failed did not happen; a read of nil saw anything.
    Knossos,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Cell {
    value: Option<u64>,
    dialect: Dialect,
}

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Read(Dialect),
    Write(Option<u64>),
    Cas(Option<u64>, Option<u64>),
}

#[derive(Clone, PartialEq, Debug)]
enum Ret {
    Value(Option<u64>),
    Done(bool),
}

impl Model for Cell {
    type Op = Op;
    type Ret = Ret;

    fn step(&mut self, op: &Op) -> Ret {
        match *op {
            Op::Read(_) => Ret::Value(self.value),
            Op::Write(value) => {
                self.value = value;
                Ret::Done(true)
            }
            Op::Cas(expected, value) => {
                let swapped = self.value == expected;
                if swapped {
                    self.value = value;
                }
                Ret::Done(swapped)
            }
        }
    }

    fn accepts(op: &Op, expected: &Ret, actual: &Ret) -> bool {
        expected == actual || (*op == Op::Read(Dialect::Knossos) && *actual == Ret::Value(None))
    }

    fn observes(op: &Op, ret: &Ret) -> bool {
        matches!(op, Op::Read(_)) || *ret == Ret::Done(false)
    }
}

struct Line {
    process: u32,
    kind: String,
    f: String,
    value: Vec<Option<u64>>,
}

fn history(dialect: Dialect, text: &str) -> Vec<Operation<Op, Ret>> {
    let lines = match dialect {
        Dialect::Etcd => text.lines().filter_map(etcd_line).collect(),
        Dialect::Knossos => edn_lines(text),
    };
    let mut history: Vec<Operation<Op, Ret>> = Vec::new();
    let mut dropped = Vec::new();
    let mut open = std::collections::HashMap::new();
    for (time, Line { process, kind, f, value }) in lines.into_iter().enumerate() {
        if kind == "invoke" {
            let op = match &*f {
                "read" => Op::Read(dialect),
                "write" => Op::Write(value[0]),
                "cas" => Op::Cas(value[0], value[1]),
                other => panic!("{other}"),
            };
            assert_eq!(open.insert(process, history.len()), None, "{process} overlaps itself");
            history.push(Operation { client: process, op, invoked: time as u64, returned: None });
            continue;
        }
        let Some(index) = open.remove(&process) else {
            continue;
        };
        let call = &mut history[index];
        let ret = match (&*kind, &*f) {
            ("ok", "read") => Ret::Value(value[0]),
            ("ok", _) => Ret::Done(true),
            ("fail", "cas") if dialect == Dialect::Etcd => Ret::Done(false),
            ("fail", _) => {
                dropped.push(index);
                continue;
            }
            ("info", _) => continue,
            other => panic!("{other:?}"),
        };
        call.returned = Some((ret, time as u64));
    }
    let mut index = 0..;
    history.retain(|_| !dropped.contains(&index.next().expect("endless")));
    history
}

/// `INFO  jepsen.util - 2  :invoke  :cas  [3 0]`
fn etcd_line(line: &str) -> Option<Line> {
    let mut words = line.split_once(" - ")?.1.split_whitespace();
    let process = words.next()?.parse().ok()?;
    let mut keyword = || Some(words.next()?.strip_prefix(':')?.to_owned());
    let (kind, f) = (keyword()?, keyword()?);
    Some(Line { process, kind, f, value: words.map(number).collect() })
}

fn number(word: &str) -> Option<u64> {
    word.trim_matches(['[', ']']).parse().ok()
}

/// Maps `{:process 1, :type :ok, :f :read, :value 3, ..}` in any order, with comments and nested
/// values that nobody needs.
fn edn_lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut depth = 0;
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            ';' => while rest.next_if(|letter| *letter != '\n').is_some() {},
            '"' => {
                while let Some(letter) = rest.next().filter(|letter| *letter != '"') {
                    if letter == '\\' {
                        rest.next();
                    }
                }
                words.push("text".to_owned());
            }
            '{' => {
                depth += 1;
                if depth == 1 {
                    words.clear();
                }
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    lines.extend(edn_line(&words));
                }
            }
            letter if letter.is_alphanumeric() || ":-_.".contains(letter) => {
                let mut word = String::from(letter);
                let more = |letter: &char| letter.is_alphanumeric() || "-_.".contains(*letter);
                while let Some(letter) = rest.next_if(more) {
                    word.push(letter);
                }
                words.push(word);
            }
            _ => {}
        }
    }
    lines
}

fn edn_line(words: &[String]) -> Option<Line> {
    let after = |key: &str| {
        let place = words.iter().position(|word| word == key).expect(key);
        words[place + 1..].iter().map(|word| &**word)
    };
    let keyword = |key: &str| after(key).next().unwrap().trim_start_matches(':').to_owned();
    let process = after(":process").next()?.parse().ok()?;
    let value = after(":value").take_while(|word| !word.starts_with(':')).map(number).collect();
    Some(Line { process, kind: keyword(":type"), f: keyword(":f"), value })
}
