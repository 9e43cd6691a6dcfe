//! Simpler commands that a model lists (`Program::shrink`): the shrunk programs and their texts.

use std::process::Command;

use sim::check::Model;
use sim::report::{Finding, Report, Style, text};
use sim::run::Run;
use sim::{Atomic, Gen, Ordering::SeqCst, Program, Script, Shape};
use sim_tests::seeds::{failure, runner};

/// The simplifications that the model of a sum offers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Knows {
    Nothing,
    /// Smaller numbers.
    Numbers,
    /// Smaller numbers, and one addition in place of two additions.
    Kinds,
    /// Lists only that each of two numbers is simpler than the other number.
    Circle,
    /// Lists numbers that the precondition forbids.
    Forbidden,
}

/// A sum. The parameter `KNOWS` selects the simpler commands that the program lists.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum<const KNOWS: u8>(i64);

const KNOWN: [Knows; 5] =
    [Knows::Nothing, Knows::Numbers, Knows::Kinds, Knows::Circle, Knows::Forbidden];
const NOTHING: u8 = 0;
const NUMBERS: u8 = 1;
const KINDS: u8 = 2;
const CIRCLE: u8 = 3;
const FORBIDDEN: u8 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Add(i64),
    Twice(i64, i64),
    Get,
}
use Op::{Add, Get, Twice};

impl<const KNOWS: u8> Model for Sum<KNOWS> {
    type Op = Op;
    type Ret = i64;

    fn step(&mut self, op: &Op) -> i64 {
        self.0 += added(op);
        self.0
    }
}

fn added(op: &Op) -> i64 {
    match op {
        Add(n) => *n,
        Twice(n, m) => n + m,
        Get => 0,
    }
}

fn smaller(n: i64) -> impl Iterator<Item = i64> {
    [n / 2, n - n / 4, n - 1].into_iter().filter(move |less| *less < n && *less > 0)
}

impl<const KNOWS: u8> Program for Sum<KNOWS> {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        // Draws shrink to 500.
        let mut number = || 500 - g.below(400) as i64;
        let (n, m) = (number(), number());
        match g.below(3) {
            0 => Twice(n, m),
            1 => Add(n),
            _ => Get,
        }
    }

    fn precondition(&self, op: &Op) -> bool {
        // For `Forbidden`, an addition of a small number is allowed only after another addition.
        KNOWN[KNOWS as usize] != Knows::Forbidden || !matches!(op, Add(n) if *n < 300) || self.0 > 0
    }

    fn shrink(op: &Op) -> Vec<Op> {
        let numbers = || match *op {
            Add(n) => smaller(n).map(Add).collect(),
            Twice(n, m) => {
                let first = smaller(n).map(|n| Twice(n, m));
                first.chain(smaller(m).map(|m| Twice(n, m))).collect()
            }
            Get => Vec::new(),
        };
        match (KNOWN[KNOWS as usize], *op) {
            (Knows::Nothing, _) => Vec::new(),
            (Knows::Numbers | Knows::Forbidden, _) => numbers(),
            (Knows::Kinds, Twice(n, m)) => [vec![Add(n), Add(m)], numbers()].concat(),
            (Knows::Kinds, _) => numbers(),
            (Knows::Circle, Add(n)) => vec![Add(n), Add(1000 - n)],
            (Knows::Circle, _) => vec![*op],
        }
    }
}

/// Adds the number of `op`; in two accesses if the number is at least `from`.
async fn add(sum: &Atomic<i64>, op: Op, from: i64) -> i64 {
    let n = added(&op);
    if n < from {
        return sum.fetch_add(n, SeqCst).await + n;
    }
    let before = sum.load(SeqCst).await;
    sum.store(before + n, SeqCst).await;
    before + n
}

async fn sums<const KNOWS: u8>(from: i64) {
    let sum = Atomic::new(0);
    let shape = Shape::chunks();
    sim::parallel(shape, Sum::<KNOWS>(0), async |op| add(&sum, op, from).await).await;
}

fn report<const KNOWS: u8>(name: &str, from: i64) -> Report {
    runner(name).seeds(0..500).run(async || sums::<KNOWS>(from).await)
}

fn found<const KNOWS: u8>(name: &str, from: i64) -> Finding {
    *report::<KNOWS>(name, from).finding.expect("an update is lost")
}

/// The texts of the remaining commands.
fn left(run: &Run) -> Vec<&str> {
    let mut left: Vec<&str> =
        run.programs[0].left().iter().map(|command| command.text.as_str()).collect();
    left.sort_unstable();
    left
}

#[cfg_attr(feature = "sim", test)]
fn arguments_become_the_smallest_that_fail() {
    // The command that loses an update adds 137 or more; the other command may be any command.
    for (name, found) in
        [("numbers", found::<NUMBERS>("numbers", 137)), ("kinds", found::<KINDS>("kinds", 137))]
    {
        assert!(found.shrunk.unwrap().complete, "{name}: {:?}", found.shrunk);
        let left = left(&found.run);
        assert_eq!(left.len(), 2, "{name}: {left:?}");
        let large = ["Add(137)", "Twice(1, 136)", "Twice(136, 1)"];
        assert!(left.iter().any(|text| large.contains(text)), "{name}: {left:?}");
        let small = ["Add(1)", "Get", "Add(137)", "Twice(1, 1)", "Twice(1, 136)", "Twice(136, 1)"];
        assert!(left.iter().all(|text| small.contains(text)), "{name}: {left:?}");
        let twice = left.iter().any(|text| text.starts_with("Twice"));
        assert!(name != "kinds" || !twice, "{left:?}");
    }
    let plain = found::<NOTHING>("plain", 137);
    assert!(left(&plain.run).iter().any(|text| text.contains("500")), "{:?}", left(&plain.run));
}

#[cfg_attr(feature = "sim", test)]
fn a_model_that_goes_round_in_a_circle_comes_to_an_end() {
    let found = found::<CIRCLE>("circle", 0);
    assert!(found.shrunk.unwrap().complete, "{:?}", found.shrunk);
    assert_eq!(left(&found.run).len(), 2, "{:?}", left(&found.run));
}

#[cfg_attr(feature = "sim", test)]
fn simpler_commands_hold_their_preconditions() {
    let found = found::<FORBIDDEN>("forbidden", 137);
    let left = left(&found.run);
    // The first command is always allowed, and 300 is always allowed.
    assert!(left.iter().all(|text| !matches!(*text, "Add(1)" | "Add(137)")), "{left:?}");
    assert!(left.iter().any(|text| text.contains("300") || text.contains("Twice")), "{left:?}");
}

#[cfg_attr(feature = "sim", test)]
fn a_script_is_made_simpler_too() {
    let script = || Script::new().branch(0, 0, Add(800)).branch(0, 1, Twice(400, 9)).suffix(Get);
    let report = runner("simpler_script").seeds(0..500).run(async || {
        let sum = Atomic::new(0);
        let run = async |op| add(&sum, op, 20).await;
        sim::parallel::scripted(script(), Sum::<KINDS>(0), run).await;
    });
    let found = report.finding.expect("an update is lost");
    assert!(left(&found.run).contains(&"Add(20)"), "{:?}", left(&found.run));
}

#[cfg_attr(feature = "sim", test)]
fn a_model_that_knows_nothing_simpler_has_no_more_decisions_than_before() {
    for seed in 0..20 {
        let [less, more] = [
            runner("fewer").run_seed(seed, async || sums::<NOTHING>(137).await),
            runner("more").run_seed(seed, async || sums::<NUMBERS>(137).await),
        ];
        assert_eq!(left(&less), left(&more), "seed {seed}");
        let made = more.programs[0].commands.iter().filter(|c| !c.text.starts_with("Get"));
        assert_eq!(less.draws.len() + made.count(), more.draws.len(), "seed {seed}");
    }
}

/// The variable with the trace that another process must replay.
const SOURCE: &str = "UNPAUSE_TEST_REPLAYS";

#[cfg_attr(feature = "sim", test)]
fn simpler_commands_are_shown_written_down_and_replayed_in_another_process() {
    if let Ok(source) = std::env::var(SOURCE) {
        let again = runner("elsewhere").replay(source).run(async || sums::<KINDS>(137).await);
        let run = &again.finding.expect("it fails").run;
        return println!("replayed {:?} {:?}", left(run), failure(run).signature());
    }
    let report = report::<KINDS>("simpler", 137);
    let screen = text(&report, &Style::default());
    let found = report.finding.unwrap();
    let left = left(&found.run);
    for command in &left {
        assert!(screen.contains(command), "{command}\n{screen}");
    }
    let source = std::fs::read_to_string(found.source_file.as_ref().unwrap()).unwrap();
    assert!(source.contains("Add(137)"), "{source}");
    let line = found.replay.as_deref().unwrap();
    let line = line.split('"').nth(1).expect("it quotes a trace").to_owned();
    for source in [line, found.trace_file.clone().unwrap()] {
        let test = "generated_arguments::simpler_commands_are_shown_written_down_and_replayed_in_another_process";
        let mut process = Command::new(std::env::current_exe().unwrap());
        let output = process.args(["--exact", test, "--nocapture"]).env(SOURCE, &source).output();
        let output = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        let expected = format!("replayed {left:?} {:?}", failure(&found.run).signature());
        assert!(output.contains(&expected), "{source}\n{output}\n{expected}");
    }
}
