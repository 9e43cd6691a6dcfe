//! The surface of generated programs, with its types.

use std::fmt::Debug;
use std::future::Future;

use sim::check::Model;
use sim::generate::{Earlier, Results};
use sim::report::Report;
use sim::run::Condition;
use sim::run::program::{CommandLayout, CommandRecord, Fate, Faults, Part, ProgramRecord};
use sim::run::statistics::{Count, Statistics};
use sim::{CommandId, Gen, Mutex, Program, Runner, Script, Shape};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Sum(u64);

#[derive(Clone, PartialEq, Debug)]
enum Op {
    Add(u64),
    Same(CommandId),
}

impl Model for Sum {
    type Op = Op;
    type Ret = u64;

    fn step(&mut self, op: &Op) -> u64 {
        if let Op::Add(n) = op {
            self.0 += n;
        }
        self.0
    }
}

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let _: CommandId = g.id();
        let earlier: &[Earlier<'_, Sum>] = g.earlier();
        let _: Vec<(CommandId, &Op, &u64)> = earlier.iter().map(|e| (e.id, e.op, e.ret)).collect();
        let (_, _): (bool, u64) = (g.bool(), g.range(1..3));
        let number: u64 = g.below(3) + g.choose(&[1, 2]) + g.weighted(&[(1, 0), (2, 1)]);
        let earlier: Option<CommandId> = g.choose_earlier(|_| true);
        earlier.map_or(Op::Add(number), Op::Same)
    }

    fn precondition(&self, op: &Op) -> bool {
        *op != Op::Add(99)
    }

    fn waits(&self, op: &Op) -> bool {
        *op == Op::Add(98)
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        match op {
            Op::Same(id) => results.get(*id).map(|value: &u64| Op::Add(*value % 7)),
            op => Some(op.clone()),
        }
    }

    fn again(op: &Op) -> Option<Op> {
        let _: (String, String) = (Sum::label(op), Sum::source(op));
        None
    }
}

fn shape() -> Shape {
    let chunks = Shape::chunks().max_chunks(1).max_chunk_size(2).max_suffix_length(1);
    let branches = Shape::branches().branch_probability(0.2).max_branches(2).max_branch_length(2);
    let branches = branches.min_prefix_length(0).max_prefix_length(1).stutter(0.1).crash(0.1);
    let _: (u64, &dyn Debug) = (branches.timeout(0.1).budget(1_000).interleavings(), &chunks);
    chunks
}

/// The function that runs a command needs only to be `Sync`, because the future borrows from the function and stays on
/// its thread.
async fn program() {
    let sum = Mutex::new(0);
    let run = async |op| {
        let local = std::rc::Rc::new(op);
        let mut sum = sum.lock().await;
        if let Op::Add(n) = *local {
            *sum += n;
        }
        *sum
    };
    let script = Script::new().prefix(Op::Add(1)).named(CommandId(4)).again();
    let script = script.branch(0, 0, Op::Add(2)).crash(9).branch(0, 1, Op::Add(3)).timeout();
    let script: Script<Op> = script.suffix(Op::Same(CommandId(4))).budget(1_000_000);
    let future = sim::parallel(shape(), Sum::default(), &run);
    let _: &dyn Future<Output = ()> = &future;
    future.await;
    sim::parallel::scripted(script, Sum(0), async |op| {
        let mut sum = sum.lock().await;
        if let Op::Add(n) = op {
            *sum += n;
        }
        let _ = *sum;
        // The sum includes both programs. The results of this program agree with the model.
        *sum
    })
    .await;
}

#[test]
fn programs_are_run_in_both_builds() {
    // The second program finds the state that the first program left, so it fails.
    let runner = Runner::new().hermetic().seeds(0..5).statistics(true).out("target/parity");
    let report: Report = runner.run(program);
    assert!(!report.passed());
    let report: Report = runner.run(async || {
        let sum = Mutex::new(0);
        let run = async |op| {
            let mut sum = sum.lock().await;
            if let Op::Add(n) = op {
                *sum += n;
            }
            *sum
        };
        sim::cover!(true, 100, "a run");
        sim::parallel(shape(), Sum::default(), run).await;
    });
    assert!(report.passed(), "{report:?}");
    let statistics: &Statistics = report.statistics.as_ref().unwrap();
    let Count { all, beside }: Count = statistics.commands();
    assert!(all > beside && beside > 0);
    let _: (u64, &[u64], usize) =
        (statistics.overlapped, &statistics.at_once, statistics.distinct_histories());
    let held: Vec<(&str, u32, u64)> = statistics
        .conditions
        .iter()
        .map(|Condition { name, percent, runs, .. }| (*name, *percent, *runs))
        .collect();
    let asked = ("a command that `precondition` and `resolve` allow", 0, 5);
    assert_eq!(held, [asked, ("a run", 100, 5)]);
}

#[test]
fn the_record_of_a_program() {
    let run = Runner::new().hermetic().run_seed(0, program);
    let ProgramRecord { model, interleavings, interleavings_max, commands, .. } = &run.programs[0];
    let _: (&String, &u64, &u64) = (model, interleavings, interleavings_max);
    let CommandRecord { layout, text, label, source, faults }: &CommandRecord = &commands[0];
    let _: (&CommandLayout, &String, &String, &String) = (layout, text, label, source);
    let _: &Faults = faults;
    let _: (Part, Fate) = (layout.part, layout.fate);
}
