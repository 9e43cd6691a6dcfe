//! Faults of commands, programs that are written as a script, and programs that are too large.

use std::collections::BTreeMap;

use sim::check::Model;
use sim::check::verdict::Verdict;
use sim::generate::Results;
use sim::report::{RENDERERS, Report, Style, text};
use sim::run::program::Part;
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, CommandId, Gen, Mutex, Ordering::SeqCst, Program, SIMULATED, Script, Shape};
use sim_tests::seeds::{SEEDS, finding, runner};

/// Fewer seeds than in other tests. A program takes long to plan if no two of its orders reach the same state.
const RIGHT: u64 = if SIMULATED { 120 } else { 10 };

#[track_caller]
fn passes(name: &str, body: impl AsyncFn() + Sync) {
    let report = runner(name).seeds(0..RIGHT).run(body);
    assert!(report.passed(), "{}", text(&report, &Style::default()));
}

// ---- commands that are sent again

/// A counter that stores the result of each addition: a repeated addition changes nothing and
/// returns the same result.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum {
    value: u64,
    told: BTreeMap<CommandId, u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum SumOp {
    Add(CommandId),
    Get,
}
use SumOp::{Add, Get};

impl Model for Sum {
    type Op = SumOp;
    type Ret = u64;

    fn step(&mut self, op: &SumOp) -> u64 {
        match op {
            Add(id) => {
                let Sum { value, told } = self;
                *told.entry(*id).or_insert_with(|| {
                    *value += 1;
                    *value
                })
            }
            Get => self.value,
        }
    }
}

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> SumOp {
        if g.bool() { Get } else { Add(g.id()) }
    }

    fn again(op: &SumOp) -> Option<SumOp> {
        Some(op.clone())
    }
}

/// The answer of a server to an addition that it has done before.
#[derive(Clone, Copy, PartialEq)]
enum Again {
    /// Returns the result of the first execution.
    AsThen,
    /// With the current sum.
    WithTheSum,
    /// Adds once more, although the command was executed before.
    ByAdding,
}

async fn sums(shape: Shape, again: Again) {
    let server = Mutex::new((0, BTreeMap::new()));
    sim::parallel(shape, Sum::default(), async |op| {
        let mut server = server.lock().await;
        let (value, told) = &mut *server;
        match op {
            Add(id) if again != Again::ByAdding && told.contains_key(&id) => {
                if again == Again::AsThen { told[&id] } else { *value }
            }
            Add(id) => {
                *value += 1;
                told.insert(id, *value);
                *value
            }
            Get => *value,
        }
    })
    .await;
}

/// The texts of the remaining commands.
fn left(run: &Run) -> Vec<&str> {
    run.programs[0].left().iter().map(|command| command.text.as_str()).collect()
}

#[test]
fn what_is_told_when_a_command_is_sent_again_is_checked_if_the_model_says_what_it_is() {
    let shape = || Shape::branches().min_prefix_length(0).stutter(0.3);
    passes("again_right", async || sums(shape(), Again::AsThen).await);
    if !SIMULATED {
        return;
    }
    passes("again_never", async || sums(Shape::branches(), Again::WithTheSum).await);
    // The bug does not change the sum, so only the client of the command can detect it.
    let found = finding("again_told", async || sums(shape(), Again::WithTheSum).await);
    assert_eq!(left(&found.run).len(), 2, "{:?}", left(&found.run));
    let texts = found.run.histories[0].operations.iter().map(|operation| operation.op.as_str());
    assert_eq!(texts.filter(|text| text.starts_with("Add")).count(), 3, "{:?}", left(&found.run));
    let found = finding("again_adds", async || sums(shape(), Again::ByAdding).await);
    assert_eq!(left(&found.run).len(), 1, "{:?}", left(&found.run));
}

#[test]
fn a_client_that_sends_again_what_it_dropped_believes_the_second_answer() {
    let shape = || Shape::branches().min_prefix_length(0).stutter(0.5).crash(0.5);
    passes("retry_right", async || sums(shape(), Again::AsThen).await);
    if !SIMULATED {
        return;
    }
    // The command is dropped after it took effect, and sent again. The second answer includes later additions.
    let found = finding("retry_told", async || sums(shape(), Again::WithTheSum).await);
    assert!(left(&found.run).iter().any(|text| text.ends_with("sent again")), "{found:?}");
}

#[cfg_attr(feature = "sim", test)]
fn branches_send_again_what_is_theirs() {
    for seed in 0..100 {
        let shape = Shape::branches().stutter(0.5);
        let run = runner("own").run_seed(seed, async || sums(shape.clone(), Again::AsThen).await);
        let history = &run.histories[0];
        let clients = |op: &str| {
            let with = history.operations.iter().filter(move |operation| operation.op == op);
            with.map(|operation| operation.client).collect::<Vec<_>>()
        };
        for operation in history.operations.iter().filter(|o| o.op.starts_with("Add")) {
            let clients = clients(&operation.op);
            assert!(clients.len() <= 2 && clients.iter().all(|c| *c == clients[0]), "{history:?}");
        }
    }
}

// ---- commands that may not have happened

/// A stock. The precondition of the stock allows a removal only if an item is available.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Stock(u64);

#[derive(Clone, PartialEq, Eq, Debug)]
enum StockOp {
    Put,
    Take,
}

impl Model for Stock {
    type Op = StockOp;
    type Ret = ();

    fn step(&mut self, op: &StockOp) {
        match op {
            StockOp::Put => self.0 += 1,
            StockOp::Take => self.0 = self.0.saturating_sub(1),
        }
    }
}

impl Program for Stock {
    fn generate(&self, g: &mut Gen<'_, Self>) -> StockOp {
        if g.bool() { StockOp::Take } else { StockOp::Put }
    }

    fn precondition(&self, op: &StockOp) -> bool {
        *op == StockOp::Put || self.0 > 0
    }
}

#[test]
fn nobody_counts_on_a_command_that_may_not_have_happened() {
    // The object does not check its arguments: the program must respect the precondition.
    for (n, shape) in [
        Shape::chunks().crash(0.4),
        Shape::branches().min_prefix_length(1).crash(0.3),
        Shape::chunks().timeout(0.4),
        Shape::branches().min_prefix_length(1).crash(0.2).timeout(0.2).stutter(0.2),
    ]
    .into_iter()
    .enumerate()
    {
        passes(&format!("stock_{n}"), async || {
            let stock = Mutex::new(0u64);
            sim::parallel(shape.clone(), Stock::default(), async |op| {
                let mut stock = stock.lock().await;
                *stock = match op {
                    StockOp::Put => *stock + 1,
                    // If a command is sent again, it may find no item.
                    StockOp::Take if shape == shape.clone().stutter(0.2) => stock.saturating_sub(1),
                    StockOp::Take => stock.checked_sub(1).expect("there is something to take"),
                };
            })
            .await;
        });
    }
}

// ---- programs that are too large

#[test]
fn who_asks_for_too_many_orders_is_warned() {
    let large = || Shape::branches().max_branches(8).max_branch_length(4).min_prefix_length(0);
    assert!(large().interleavings() > 1_000_000_000_000);
    let run = |shape: Shape| {
        let runner = runner("orders").seeds(0..3);
        runner.run(async || sums(shape.clone(), Again::AsThen).await)
    };
    let report = run(large());
    assert!(report.passed());
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(report.warnings[0].contains("more than 10^19 orders"), "{:?}", report.warnings);
    for shape in [Shape::branches(), Shape::chunks()] {
        assert_eq!(run(shape).warnings, [""; 0]);
    }
}

#[test]
fn a_check_that_gives_up_is_no_pass() {
    let few = || Shape::chunks().max_chunks(1).budget(1);
    let report = runner("undecided").seeds(0..20).run(async || sums(few(), Again::AsThen).await);
    let outcome = &report.finding.expect("one configuration decides nothing").run.outcome;
    let Outcome::Failed(failure @ Failure::History { verdict, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(matches!(verdict, Verdict::Unknown(_)) && failure.kind() == "undecided", "{verdict:?}");
    let enough = || Shape::chunks().max_chunks(1).budget(100_000);
    passes("decided", async || sums(enough(), Again::AsThen).await);
}

// ---- programs that are written down

/// A register with only the commands of a script.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Counter(u64);

/// An operation of a counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Adds this number.
    Increment(u64),
    /// Returns the sum.
    Look,
    /// Adds the result of an earlier command.
    Repeat(CommandId),
}
use Op::{Increment, Look, Repeat};

impl Model for Counter {
    type Op = Op;
    type Ret = u64;

    fn step(&mut self, op: &Op) -> u64 {
        match op {
            Increment(n) => self.0 += n,
            Look => {}
            Repeat(_) => panic!("not resolved"),
        }
        self.0
    }
}

impl Program for Counter {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        match g.below(3) {
            0 => Look,
            1 => g.choose_earlier(|_| true).map_or(Look, Repeat),
            _ => Increment(1 + g.below(3)),
        }
    }

    fn precondition(&self, op: &Op) -> bool {
        !matches!(op, Increment(0))
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        match op {
            Repeat(id) => Some(Increment(*results.get(*id)? + 1)),
            other => Some(other.clone()),
        }
    }
}

async fn ask(counter: &Atomic<u64>, op: Op, at_once: bool) -> u64 {
    match op {
        Increment(n) if at_once => counter.fetch_add(n, SeqCst).await + n,
        Increment(n) => {
            let value = counter.load(SeqCst).await + n;
            counter.store(value, SeqCst).await;
            value
        }
        Look | Repeat(_) => counter.load(SeqCst).await,
    }
}

async fn scripted(script: Script<Op>, at_once: bool) {
    let counter = Atomic::new(0);
    let run = async |op| ask(&counter, op, at_once).await;
    sim::parallel::scripted(script, Counter::default(), run).await;
}

#[test]
fn a_script_is_run_as_it_stands_and_made_smaller_as_a_generated_program_is() {
    let script = || {
        let start = Script::new().prefix(Look).prefix(Increment(5));
        let beside = start.branch(0, 0, Increment(1)).branch(0, 0, Look).branch(0, 1, Increment(2));
        beside.branch(1, 0, Look).branch(1, 1, Repeat(CommandId(1))).suffix(Look)
    };
    passes("script_fixed", async || scripted(script(), true).await);
    if !SIMULATED {
        return;
    }
    let run = runner("script").run_seed(0, async || scripted(script(), true).await);
    let texts: Vec<&str> = run.programs[0].commands.iter().map(|c| c.text.as_str()).collect();
    let all =
        ["Look", "Increment(5)", "Increment(1)", "Look", "Increment(2)", "Look", "Repeat(#1)"];
    assert_eq!(texts, [&all[..], &["Look"]].concat());
    assert_eq!(run.histories[0].operations.len(), 8);
    assert!(run.histories[0].operations.iter().any(|o| o.op == "Increment(6)"));
    let found = finding("script_buggy", async || scripted(script(), false).await);
    // Each command returns the new sum, so these two commands are enough.
    assert_eq!(left(&found.run), ["Increment(1)", "Increment(2)"]);
    let beside = |part| matches!(part, Part::Branch { .. });
    let parts = found.run.programs[0].left();
    assert_eq!(parts.iter().filter(|command| beside(command.layout.part)).count(), 2);
}

#[test]
fn a_script_that_the_model_does_not_allow_is_refused_by_name() {
    for (script, name) in [
        (Script::new().prefix(Look).prefix(Increment(0)), "#1"),
        // The result of the named command is not available yet: the command comes later, or runs concurrently.
        (Script::new().prefix(Repeat(CommandId(1))).suffix(Look), "#0"),
        (Script::new().branch(0, 0, Look).branch(0, 1, Repeat(CommandId(0))), "#1"),
    ] {
        let runner = runner("refused").seeds(0..2);
        let report = runner.run(async || scripted(script.clone(), true).await);
        let outcome = report.finding.expect("it is not allowed").run.outcome;
        let Outcome::Failed(Failure::Misuse { message, .. }) = &outcome else {
            panic!("{outcome:?}")
        };
        assert!(message.contains(&format!("does not allow command {name}")), "{message}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn what_befalls_the_commands_of_a_script_befalls_them() {
    let script = Script::new().prefix(Increment(1)).again().prefix(Increment(2)).crash(1);
    let script = script.branch(0, 0, Increment(3)).timeout().suffix(Look).named(CommandId(9));
    let run = runner("befalls").run_seed(1, async || scripted(script.clone(), true).await);
    let texts: Vec<String> = run.programs[0].left().iter().map(|c| c.text.clone()).collect();
    let told = ["Increment(1), sent again", "Increment(2), dropped at point 1"];
    assert_eq!(texts, [&told[..], &["Increment(3), not waited for", "Look"]].concat());
    assert_eq!(run.programs[0].commands.len(), 10);
    // The command was dropped before its only access, so it stays open forever.
    let operations = &run.histories[0].operations;
    assert!(operations.iter().any(|o| o.op == "Increment(2)" && o.returned.is_none()));
}

#[cfg_attr(feature = "sim", test)]
fn a_command_of_a_large_program_keeps_its_id() {
    let script = Script::new().prefix(Increment(1)).named(CommandId(1_500)).suffix(Look);
    let run = runner("large").run_seed(1, async || scripted(script.clone(), true).await);
    assert_eq!((run.programs[0].commands.len(), left(&run)), (1_501, vec!["Increment(1)", "Look"]));
}

/// The output of the renderer `rust` for a failing run of this file: compiled, and run below.
mod written_down {
    use super::Op::{self, Increment};

    include!("generated/written_down.txt");

    pub(super) fn program() -> sim::Script<Op> {
        seed_5()
    }
}

fn as_source(report: &Report) -> String {
    let renderer = RENDERERS.iter().find(|renderer| renderer.name == "rust").unwrap();
    (renderer.render)(report, &Style::default())
}

#[cfg_attr(feature = "sim", test)]
fn a_failing_program_is_written_down_as_a_test_of_its_own() {
    let body = async || {
        let counter = Atomic::new(0);
        let run = async |op| ask(&counter, op, false).await;
        sim::parallel(Shape::branches(), Counter::default(), run).await;
    };
    let runner = runner("written_down").strategy("random");
    let report = runner.seeds(5..SEEDS).run(body);
    // The source follows the line with the place of the check.
    let source = as_source(&report);
    let (first, rest) = source.split_once('\n').unwrap();
    assert!(first.starts_with("// written_down, seed ") && first.contains("linearizability"));
    expect_test::expect_file!["generated/written_down.txt"].assert_eq(rest);
    let found = report.finding.as_ref().unwrap();
    // A file beside the trace contains the same text.
    let file = std::fs::read_to_string(found.source_file.as_ref().unwrap()).unwrap();
    assert_eq!(file, as_source(&report));
    assert!(text(&report, &Style::default()).contains("source:  "));
    // The written program loses the update, too, and is not shrunk further.
    let again = finding("written_again", async || scripted(written_down::program(), false).await);
    assert_eq!(left(&again.run).len(), left(&found.run).len());
    passes("written_fixed", async || scripted(written_down::program(), true).await);
}

#[test]
fn what_no_program_failed_in_has_no_source() {
    let report = runner("no_source").seeds(0..3).run(async || {
        if sim::rand::below(2) < 2 {
            panic!("no\n// program");
        }
    });
    assert_eq!(as_source(&report), "// no_source: no generated program failed.\n");
    assert_eq!(report.finding.unwrap().source_file, None);
}

// ---- arguments from elsewhere

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Words(Vec<String>);

#[derive(Clone, PartialEq, Eq, Debug, arbitrary::Arbitrary)]
enum WordsOp {
    Push(u16, bool),
    Len,
}

#[derive(Clone, PartialEq, Debug)]
struct WordOp(WordsOp, String);

impl Model for Words {
    type Op = WordOp;
    type Ret = usize;

    fn step(&mut self, op: &WordOp) -> usize {
        if let WordOp(WordsOp::Push(..), word) = op {
            self.0.push(word.clone());
        }
        self.0.len()
    }
}

impl Program for Words {
    fn generate(&self, g: &mut Gen<'_, Self>) -> WordOp {
        WordOp(g.arbitrary(), g.strategy(&"[a-z]{0,12}"))
    }
}

/// Fails if a word of six letters or more is pushed with a number of 100 or more.
async fn words() {
    let len = Atomic::new(0);
    let shape = Shape::chunks().max_prefix_length(0).max_chunks(1);
    sim::parallel(shape, Words::default(), async |WordOp(op, word)| match op {
        WordsOp::Push(number, _) => {
            assert!(word.len() < 6 || number < 100, "{word}");
            len.fetch_add(1, SeqCst).await + 1
        }
        WordsOp::Len => len.load(SeqCst).await,
    })
    .await;
}

#[cfg_attr(feature = "sim", test)]
fn arguments_from_proptest_and_arbitrary_are_decisions_of_the_run() {
    let texts = |seed| {
        let run = runner("words").run_seed(seed, words);
        let commands = run.programs[0].commands.iter().map(|command| command.text.clone());
        commands.collect::<Vec<_>>()
    };
    assert_eq!(texts(3), texts(3));
    assert_ne!(texts(3), texts(4));
    let found = finding("words_found", words);
    let [command] = &found.run.programs[0].left()[..] else { panic!("{:?}", left(&found.run)) };
    // Shrunk: it has the minimum number of bytes, and all irrelevant bytes are 0.
    assert!(command.text.contains("Push(100, false)"), "{}", command.text);
    let again = runner("words_found").replay(found.trace_file.unwrap()).run(words);
    let again = again.finding.unwrap().run;
    assert_eq!(left(&again), [&command.text]);
}
