//! Compares all checkers with brute force and with each other, on every small history of every model and on many random
//! histories.
//!
//! By default the histories are few enough for a debug build. With `UNPAUSE_LONG=1`, the test checks every history of
//! up to 6 operations by 3 clients over the alphabets of the models. It also checks a million random histories of up to
//! 10 operations for each model; build this test in release.

mod exhaustive;
mod judges;
mod random;
mod transactions;
mod unique;
mod weaker;

use std::fmt;

use sim::check::models::*;
use sim::check::online::{Online, OnlineStatus};
use sim::check::verdict::Verdict;
use sim::check::{Budget, linearizable, linearizable_counted, linearizable_parallel};
use sim_tests::histories::Recorded;
use sim_tests::judge;
use sim_tests::odd_models::{Bare, Searched};
use sim_tests::streams::events;

/// Runs `$fact::<M>()` for every model of the registry and two odd models, or for the named models, on one thread
/// each, and prints the results.
macro_rules! every_model {
    ($fact:ident) => {{
        struct Facts(Vec<(&'static str, fn() -> $crate::agreement::Tally)>);
        impl sim::check::models::Visitor for Facts {
            fn visit<M: sim::check::models::RegisteredModel>(&mut self) {
                self.0.push((M::NAME, $fact::<M>));
            }
        }
        let mut facts = Facts(Vec::new());
        sim::check::models::registry(&mut facts);
        assert!(facts.0.len() >= 14, "the registry has become short");
        sim::check::models::Visitor::visit::<sim_tests::odd_models::Bag>(&mut facts);
        sim::check::models::Visitor::visit::<sim_tests::odd_models::Approximate>(&mut facts);
        $crate::agreement::run(facts.0)
    }};
    ($fact:ident: $($model:ty),+) => {
        $crate::agreement::run(vec![$((
            <$model as RegisteredModel>::NAME,
            $fact::<$model> as fn() -> $crate::agreement::Tally,
        )),+])
    };
}
pub(crate) use every_model;

/// A name, and the function that checks it.
type Fact = (&'static str, fn() -> Tally);

fn run(facts: Vec<Fact>) {
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            facts.into_iter().map(|(name, fact)| (name, scope.spawn(fact))).collect();
        for (name, run) in runs {
            match run.join() {
                Ok(tally) => println!("{name}: {tally}"),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
}

/// Counts of histories, by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Tally {
    consistent: u64,
    violated: u64,
    /// The number of histories with a checked witness or checked evidence.
    proved: u64,
}

impl Tally {
    #[track_caller]
    fn assert_both(&self, share: u64) {
        let all = self.consistent + self.violated;
        assert!(self.consistent > all / share && self.violated > all / share, "{self}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { consistent, violated, proved } = self;
        write!(f, "{} histories, {violated} violated, {proved} proofs", consistent + violated)
    }
}

/// The engines that run in addition to the chosen engine. An expensive engine checks one
/// of every `n` histories, where `n` is the number in its field.
#[derive(Clone, Copy)]
struct Care {
    /// The other checkers: the online checker for the whole history and by key, the search alone, and the search
    /// without observers and keys.
    others: u64,
    /// The check of witness and evidence by the judge; threads; weaker conditions.
    proof: u64,
}

/// Checks that every engine has the verdict of the judge.
fn agree<M: RegisteredModel>(
    tally: &mut Tally,
    initial: &M,
    history: &Recorded<M>,
    expected: bool,
    care: Care,
) {
    let budget = Budget::default();
    let turn = tally.consistent + tally.violated;
    let verdict = linearizable(initial, history, &budget).expect("well-formed");
    said::<M>("the chosen engine", &verdict, history, expected);
    if turn % care.others == 0 {
        let has_engine = initial.plain(&mut std::iter::empty()).is_some();
        if has_engine {
            let other = linearizable(&Searched(initial.clone()), history, &budget).unwrap();
            said::<M>("the search", &other, history, expected);
        }
        match (turn / care.others) % 3 {
            0 => {
                let bare = linearizable(&Bare(initial.clone()), history, &budget).unwrap();
                said::<M>("the search of a bare model", &bare, history, expected);
            }
            1 => said::<M>(
                "online",
                &listen(Online::new(initial.clone()), history),
                history,
                expected,
            ),
            _ if history.iter().all(|call| M::partition(&call.op).is_some()) => {
                let verdict = listen(Online::by_key(initial.clone()), history);
                said::<M>("online by key", &verdict, history, expected);
            }
            _ => {}
        }
    }
    if turn % care.proof == 0 {
        tally.proved += 1;
        judge::check(initial, history, &verdict, expected);
        weaker::follows(initial, history, expected);
        let one = linearizable_counted(initial, history, &budget).unwrap();
        let threads = 1 + (turn / care.proof % 4) as usize;
        let more = linearizable_parallel(initial, history, &budget, threads).unwrap();
        assert_eq!(one, more, "{threads} threads: {history:#?}");
        let online = listen(Online::new(initial.clone()).threads(threads), history);
        said::<M>("online on threads", &online, history, expected);
    }
    if expected {
        tally.consistent += 1;
    } else {
        tally.violated += 1;
    }
}

#[track_caller]
fn said<M: RegisteredModel>(who: &str, verdict: &Verdict, history: &Recorded<M>, expected: bool) {
    let agrees = if expected { verdict.is_consistent() } else { verdict.is_violated() };
    assert!(agrees, "{}: {who} disagrees with {expected}: {verdict:#?}\n{history:#?}", M::NAME);
}

/// Returns the verdict of an online checker that is fed with the history.
fn listen<M: RegisteredModel>(mut online: Online<M>, history: &Recorded<M>) -> Verdict {
    for event in events::<M>(history) {
        if online.feed(event).expect("well-formed") != OnlineStatus::Possible {
            break;
        }
    }
    online.finish()
}
