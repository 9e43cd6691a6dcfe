//! Further requirements on generated programs: checks in addition to linearizability, commands that must occur, handles
//! that no model predicts, and initial states.

use std::collections::BTreeSet;

use sim::check::Model;
use sim::report::{Report, Style, text};
use sim::run::{Failure, Outcome};
use sim::{
    Atomic, Cell, CommandId, Gen, Mutex, Ordering::SeqCst, Program, Reference, Results, SIMULATED,
    Script, Shape,
};
use sim_tests::seeds::{failure, finding, passes, runner};

// ---- checks

/// A model of transfers from one account to another.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Moved(u64);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Op {
    Move(u64),
    Look,
}

impl Model for Moved {
    type Op = Op;
    type Ret = u64;

    fn step(&mut self, op: &Op) -> u64 {
        if let Op::Move(amount) = op {
            self.0 += amount;
        }
        self.0
    }
}

impl Program for Moved {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.below(3) == 0 { Op::Look } else { Op::Move(g.range(1..5)) }
    }

    fn labels() -> &'static [&'static str] {
        &["Move", "Look"]
    }
}

/// The planted bug of the accounts.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wrong {
    Nothing,
    /// The first account, which no command reads, is written after a read.
    Unseen,
    /// Something is left at the end.
    LeftOver,
    /// The returned amount is too large.
    Told,
}

async fn accounts(shape: Shape, wrong: Wrong) {
    let (first, second, notes) =
        (Atomic::new(1000u64), Atomic::new(0), Mutex::new(BTreeSet::new()));
    sim::parallel(shape, Moved::default(), async |op| match op {
        Op::Move(amount) => {
            if wrong == Wrong::Unseen {
                let before = first.load(SeqCst).await;
                first.store(before - amount, SeqCst).await;
            } else {
                first.fetch_sub(amount, SeqCst).await;
            }
            if wrong == Wrong::LeftOver {
                notes.lock().await.insert(amount);
            }
            second.fetch_add(amount, SeqCst).await + amount
        }
        Op::Look => second.load(SeqCst).await,
    })
    .postcondition(async |op, ret| {
        let limit = if wrong == Wrong::Told && *op == Op::Look { 10 } else { 1000 };
        assert!(*ret <= limit, "{op:?} returned {ret}");
    })
    .invariant(async || {
        let sum = first.load(SeqCst).await + second.load(SeqCst).await;
        assert_eq!(sum, 1000, "money was made or lost");
    })
    .validate(async || assert!(notes.lock().await.is_empty(), "notes are left over"))
    .await;
}

#[test]
fn checks_find_what_no_result_shows() {
    let found =
        |wrong| failure(&finding("checks", async || accounts(Shape::chunks(), wrong).await).run);
    for shape in [Shape::chunks(), Shape::branches(), Shape::chunks().stutter(0.0)] {
        passes("checks_right", async || accounts(shape.clone(), Wrong::Nothing).await);
    }
    if !SIMULATED {
        return;
    }
    for (wrong, says) in [
        (Wrong::Unseen, "money was made or lost"),
        (Wrong::LeftOver, "notes are left over"),
        (Wrong::Told, "Look returned"),
    ] {
        let Failure::Panic { message, .. } = found(wrong) else { panic!("{wrong:?}") };
        assert!(message.contains(says), "{message}");
    }
    // The program is made as small as the failure allows.
    let found = finding("checks_small", async || accounts(Shape::chunks(), Wrong::Unseen).await);
    assert_eq!(found.run.programs[0].left().len(), 2, "{:?}", found.run.programs[0].left());
    let found = finding("checks_left", async || accounts(Shape::chunks(), Wrong::LeftOver).await);
    assert_eq!(found.run.programs[0].left().len(), 1);
}

#[cfg_attr(feature = "sim", test)]
fn what_is_not_linearizable_is_told_before_what_is_left_at_the_end() {
    let failed = failure(
        &finding("order_of_checks", async || {
            let last = Cell::new(0);
            sim::parallel(Shape::chunks(), Moved::default(), async |op| {
                if let Op::Move(amount) = op {
                    let before = last.get().await;
                    last.set(before + amount).await;
                }
                last.get().await
            })
            .validate(async || panic!("it came to its end"))
            .await;
        })
        .run,
    );
    // Correct programs must reach their end, and the test must find these ends, too.
    match failed {
        Failure::History { .. } => {}
        Failure::Panic { message, .. } => {
            assert!(message.contains("it came to its end"), "{message}")
        }
        other => panic!("{other:?}"),
    }
    let script =
        || Script::new().branch(0, 0, Op::Move(1)).branch(0, 1, Op::Move(1)).suffix(Op::Look);
    let runs = (0..200).map(|seed| {
        runner("order_of_checks").run_seed(seed, async || {
            let last = Atomic::new(0);
            sim::parallel::scripted(script(), Moved::default(), async |op| {
                if let Op::Move(amount) = op {
                    let before = last.load(SeqCst).await;
                    last.store(before + amount, SeqCst).await;
                }
                last.load(SeqCst).await
            })
            .validate(async || assert_eq!(last.load(SeqCst).await, 2))
            .await;
        })
    });
    let mut kinds = BTreeSet::new();
    for run in runs {
        if let Outcome::Failed(failure) = &run.outcome {
            kinds.insert(failure.kind());
        }
    }
    assert_eq!(kinds, BTreeSet::from(["history"]));
}

// ---- commands that must occur

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Never(Moved, bool);

impl Model for Never {
    type Op = Op;
    type Ret = u64;

    fn step(&mut self, op: &Op) -> u64 {
        self.0.step(op)
    }
}

impl Program for Never {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        if g.below(3) == 0 { Op::Look } else { Op::Move(1) }
    }

    /// The value may be read only if it is positive. If the flag is set, the value may never be read.
    fn precondition(&self, op: &Op) -> bool {
        *op != Op::Look || (self.0.0 > 0 && !self.1)
    }

    fn labels() -> &'static [&'static str] {
        Moved::labels()
    }
}

#[test]
fn a_command_that_is_never_run_fails_the_test() {
    let run = |never| -> Report {
        runner("labels").seeds(0..60).run(async || {
            let sum = Atomic::new(0);
            sim::parallel(Shape::chunks(), Never(Moved::default(), never), async |op| match op {
                Op::Move(n) => sum.fetch_add(n, SeqCst).await + n,
                Op::Look => sum.load(SeqCst).await,
            })
            .await;
        })
    };
    assert!(run(false).passed());
    let report = run(true);
    let Outcome::Failed(Failure::TooSeldom { conditions, .. }) =
        &report.finding.as_ref().unwrap().run.outcome
    else {
        panic!("{report:?}")
    };
    assert_eq!(conditions.iter().map(|c| c.name).collect::<Vec<_>>(), ["Look"]);
    let screen = text(&report, &Style::default());
    assert!(screen.contains("SIM_STATISTICS=1"), "{screen}");
}

// ---- handles

/// A connection of a pool.
#[derive(Clone, Debug)]
struct Connection(usize);

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Pool(BTreeSet<Reference<Connection>>);

#[derive(Clone, PartialEq, Debug)]
enum PoolOp {
    Take(CommandId),
    Give(Reference<Connection>),
}
use PoolOp::{Give, Take};

impl Model for Pool {
    type Op = PoolOp;
    type Ret = Option<Reference<Connection>>;

    fn step(&mut self, op: &PoolOp) -> Self::Ret {
        match op {
            Take(id) => {
                self.0.insert(Reference::to(*id));
                Some(Reference::to(*id))
            }
            Give(connection) => {
                self.0.remove(connection);
                None
            }
        }
    }
}

impl Program for Pool {
    fn generate(&self, g: &mut Gen<'_, Self>) -> PoolOp {
        let taken = g.choose_earlier(|e| matches!(e.op, Take(_)));
        match taken.filter(|_| g.bool()) {
            Some(id) => Give(Reference::to(id)),
            None => Take(g.id()),
        }
    }

    fn precondition(&self, op: &PoolOp) -> bool {
        match op {
            Take(_) => self.0.len() < 20,
            Give(connection) => self.0.contains(connection),
        }
    }

    fn resolve(op: &PoolOp, results: &Results<'_, Self>) -> Option<PoolOp> {
        match op {
            Give(connection) => Some(Give(results.reference(connection, |ret| ret.as_ref())?)),
            take => Some(take.clone()),
        }
    }
}

/// Runs a pool that hands out any free connection. With `hasty`, a command looks for a connection before it takes one.
async fn pool(shape: Shape, hasty: bool) {
    let taken = Mutex::new(BTreeSet::new());
    sim::parallel(shape, Pool::default(), async |op| match op {
        Take(id) => {
            let mut held = taken.lock().await;
            let first = (0..30).find(|n| !held.contains(n)).unwrap();
            if hasty {
                drop(held);
                held = taken.lock().await;
            }
            held.insert(first);
            Some(Reference::to(id).with(Connection(first)))
        }
        Give(connection) => {
            let held = taken.lock().await.remove(&connection.get().0);
            assert!(held, "connection {} was given back twice", connection.get().0);
            None
        }
    })
    .await;
}

#[test]
fn a_model_keeps_handles_that_it_cannot_predict() {
    for shape in [Shape::chunks(), Shape::branches(), Shape::chunks().crash(0.2).timeout(0.2)] {
        let right = runner("pool").seeds(0..if SIMULATED { 120 } else { 10 });
        let report = right.run(async || pool(shape.clone(), false).await);
        assert!(report.passed(), "{report:?}");
    }
    if !SIMULATED {
        return;
    }
    let found = finding("pool_hasty", async || pool(Shape::chunks(), true).await);
    let left = found.run.programs[0].left();
    let texts: Vec<&str> = left.iter().map(|command| command.text.as_str()).collect();
    // Two tasks take at the same time and get the same connection, which both return.
    assert_eq!(texts.len(), 4, "{texts:?}");
    assert!(texts[2].starts_with("Give(#") && texts[3].starts_with("Give(#"), "{texts:?}");
    let again = runner("pool_hasty").replay(found.trace_file.unwrap());
    let again = again.run(async || pool(Shape::chunks(), true).await).finding.unwrap();
    assert_eq!(again.run.programs, found.run.programs);
    // In source form, the argument is a reference again.
    let source = Pool::source(&Give(Reference::to(CommandId(7))));
    assert!(
        source
            .replace(char::is_whitespace, "")
            .contains("Give(sim::Reference::to(sim::CommandId(7)")
    );
}

#[test]
fn a_reference_without_a_handle_says_what_is_missing() {
    let found = finding("no_handle", async || {
        let script =
            Script::new().prefix(Take(CommandId(0))).suffix(Give(Reference::to(CommandId(0))));
        sim::parallel::scripted(script, Pool::default(), async |op| match op {
            Take(id) => Some(Reference::to(id)),
            Give(connection) => {
                connection.get();
                None
            }
        })
        .await;
    });
    let Failure::Panic { message, place, .. } = failure(&found.run) else { panic!("{found:?}") };
    assert!(message.contains("return one with `Reference::with`"), "{message}");
    assert!(place.contains("generated_checks.rs"), "{place}");
}

// ---- a state to begin with

#[cfg_attr(feature = "sim", test)]
fn a_state_to_begin_with_is_drawn_explored_and_replayed() {
    let body = async || {
        let start = sim::parallel::initial::<Moved, _>(|g| g.choose(&[0, 3, 7]));
        let sum = Atomic::new(start);
        let script = Script::new().branch(0, 0, Op::Move(1)).branch(0, 1, Op::Look);
        sim::parallel::scripted(script, Moved(start), async |op| match op {
            Op::Move(n) => sum.fetch_add(n, SeqCst).await + n,
            Op::Look if start == 7 => 0,
            Op::Look => sum.load(SeqCst).await,
        })
        .await;
    };
    let mut starts = BTreeSet::new();
    let report = runner("initial").strategy("exhaustive").each_run(body, |run| {
        starts.insert(run.draws[0].value);
    });
    assert!(report.searched.unwrap().is_proof());
    assert_eq!(starts, BTreeSet::from([0, 1, 2]));
    let found = finding("initial", body);
    assert_eq!(found.run.programs[0].initial, "Moved(\n    7,\n)");
    let again = runner("initial").replay(found.trace_file.unwrap()).run(body).finding.unwrap();
    assert_eq!(again.run.events, found.run.events);
}
