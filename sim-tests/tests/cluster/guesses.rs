//! Arguments of a compare-and-set that are guessed when the command is executed.

use sim::Ordering::SeqCst;
use sim::check::Model;
use sim::check::chain::{Chain, Versions};
use sim::check::models::{VersionedRegister, VersionedRegisterOp, VersionedRegisterRet};
use sim::generate::Guess;
use sim::report::Report;
use sim::{Atomic, Gen, History, Program, Runner, Script, Shape};

use super::{failure, passes, proves, screen, search};

/// The source of the version that an update expects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Expects {
    Guessed(Guess),
    Drawn(u64),
}

/// A register with versions.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Register {
    version: VersionedRegister,
    guesses: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Op {
    expects: Option<Expects>,
    op: VersionedRegisterOp,
}

impl Model for Register {
    type Op = Op;
    type Ret = VersionedRegisterRet;

    fn step(&mut self, op: &Op) -> VersionedRegisterRet {
        self.version.step(&op.op)
    }

    fn successors(&self, op: &Op, ret: Option<&VersionedRegisterRet>, out: &mut Vec<Register>) {
        let mut next = Vec::new();
        self.version.successors(&op.op, ret, &mut next);
        out.extend(next.into_iter().map(|version| Register { version, ..*self }));
    }
}

impl Versions for Register {
    type Id = u64;

    fn first(&self, _: &Op) -> u64 {
        0
    }

    fn version_op(op: &Op) -> VersionedRegisterOp {
        op.op.clone()
    }

    fn version_ret(_: &Op, ret: &VersionedRegisterRet) -> VersionedRegisterRet {
        ret.clone()
    }
}

fn version(op: &Op, ret: Option<&VersionedRegisterRet>) -> Option<u64> {
    match (&op.op, ret) {
        (_, Some(VersionedRegisterRet::Version(id))) => Some(*id),
        (
            VersionedRegisterOp::Update { to, .. },
            Some(VersionedRegisterRet::Updated(true)) | None,
        ) => Some(*to),
        _ => None,
    }
}

impl Program for Register {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let to = u64::from(g.id().0) + 1;
        if g.below(3) == 0 {
            return Op { expects: None, op: VersionedRegisterOp::Read };
        }
        let expects = match self.guesses {
            true => Expects::Guessed(g.guess()),
            false => Expects::Drawn(g.below(to)),
        };
        update(expects, to)
    }

    fn guess(op: &Op, history: &History<Register>) -> Op {
        match (op.expects, &op.op) {
            (Some(Expects::Guessed(guess)), VersionedRegisterOp::Update { to, .. }) => {
                let from = history.guess(guess, version).unwrap_or(0);
                Op { op: VersionedRegisterOp::Update { from, to: *to }, ..op.clone() }
            }
            _ => op.clone(),
        }
    }
}

fn update(expects: Expects, to: u64) -> Op {
    let from = match expects {
        Expects::Drawn(from) => from,
        // The expected version is unknown until the guess is inserted.
        Expects::Guessed(_) => u64::MAX,
    };
    Op { expects: Some(expects), op: VersionedRegisterOp::Update { from, to } }
}

/// The bug: the fifth version and later ones are compared and stored in two steps, so an update may be lost.
fn register(is_lost: bool, guesses: bool, seed: u64) -> Report {
    Runner::new().hermetic().shrink(false).seeds(seed..seed + 1).run(async || {
        let (word, count) = (Atomic::new(0), Atomic::new(0));
        let shape = Shape::branches().max_branches(3).max_branch_length(8);
        let initial = Register { version: VersionedRegister::new(0), guesses };
        sim::parallel(shape, initial, async |Op { op, .. }| match op {
            VersionedRegisterOp::Read => VersionedRegisterRet::Version(word.load(SeqCst).await),
            VersionedRegisterOp::Update { from, to } if is_lost && count.peek() >= 4 => {
                let done = word.load(SeqCst).await == from;
                if done {
                    word.store(to, SeqCst).await;
                }
                VersionedRegisterRet::Updated(done)
            }
            VersionedRegisterOp::Update { from, to } => {
                let done = word.compare_exchange(from, to, SeqCst, SeqCst).await.is_ok();
                count.fetch_add(u64::from(done), SeqCst).await;
                VersionedRegisterRet::Updated(done)
            }
        })
        .check_online(Chain::by_key)
        .await;
    })
}

#[cfg_attr(feature = "sim", test)]
fn guesses_find_a_lost_update_that_drawn_versions_miss() {
    let seeds = if sim_tests::histories::long() { 150 } else { 30 };
    let failing = |guesses| {
        let fails = |seed: &u64| !register(true, guesses, *seed).passed();
        (0..seeds).filter(fails).count()
    };
    let [guessed, drawn] = [true, false].map(failing);
    println!("of {seeds} runs {guessed} find it by guesses, {drawn} by drawn versions");
    assert!(guessed * 15 >= seeds as usize && guessed >= 3 * drawn, "{guessed} {drawn}");
    assert!((0..seeds).all(|seed| register(false, true, seed).passed()));
}

/// Runs two updates that share no object. Only the guess of one update may depend on the return of the other.
fn two_guesses(guess: Guess, seen: u64) -> Report {
    search().run(async || {
        let initial = Register { version: VersionedRegister::new(0), guesses: true };
        let words = [Atomic::new(0), Atomic::new(0)];
        let script = Script::new().branch(0, 0, update(Expects::Drawn(0), 1)).branch(
            0,
            1,
            update(Expects::Guessed(guess), 2),
        );
        let run = async |Op { op, .. }| {
            let VersionedRegisterOp::Update { from, to } = op else { unreachable!() };
            words[to as usize - 1].store(to, SeqCst).await;
            assert!(to == 1 || from != seen, "the guess is {from}");
            VersionedRegisterRet::Updated(to == 1)
        };
        sim::parallel::scripted(script, initial, run).await;
    })
}

#[cfg_attr(feature = "sim", test)]
fn a_search_tries_all_that_a_guess_can_find() {
    for guess in Guess::ALL {
        for seen in [0, 1] {
            // Nothing is known before the other call returns, unless it is open.
            let found = two_guesses(guess, seen);
            assert_eq!(failure(&found).kind(), "panic", "{guess:?} {seen} {}", screen(&found));
        }
        proves(&two_guesses(guess, 7));
    }
}

#[test]
fn a_guess_is_what_the_calls_have_shown() {
    let report = Runner::new().hermetic().seeds(0..1).run(async || {
        let initial = Register { version: VersionedRegister::new(0), guesses: true };
        let history = History::new(initial);
        let guess = |guess| history.guess(guess, version);
        assert_eq!(Guess::ALL.map(guess), [None; 4]);
        let ended = |to| {
            let call = history.invoke(update(Expects::Drawn(0), to));
            call.ok(VersionedRegisterRet::Updated(true));
        };
        ended(1);
        ended(2);
        history.invoke(update(Expects::Drawn(0), 3)).fail();
        history.invoke(update(Expects::Drawn(0), 4)).info();
        let other = history.clone();
        let task = sim::spawn(async move {
            let call = other.invoke(update(Expects::Drawn(0), 5));
            call.ok(VersionedRegisterRet::Updated(true));
        });
        task.await.unwrap();
        assert_eq!(Guess::ALL.map(guess), [Some(2), Some(5), Some(2), Some(4)]);
    });
    passes(&report);
}
