//! Histories in which no value is written twice. Engines decide them without a search. The verdicts of the engines must
//! equal the verdicts of the search and of the judge, which is brute force.

mod collections;
mod priority_queue;
mod queue;
mod register;
mod set;
mod stack;

use sim::check::verdict::{Evidence, Verdict};
use sim::check::{Budget, Model, linearizable, linearizable_counted};
use sim_tests::histories::{Draw, Recorded};
use sim_tests::judge;
use sim_tests::odd_models::Searched;

/// The number of random histories to try.
fn cases() -> u32 {
    if sim_tests::histories::long() { 1_000_000 } else { 2_000 }
}

/// The number of histories of each kind.
#[derive(Default, Debug)]
struct Tally {
    consistent: u32,
    violated: u32,
    searched: u32,
}

impl Tally {
    /// Asserts that both verdicts occurred, and that an engine gave at least this share of them.
    #[track_caller]
    fn assert_decided(&self, share: f64) {
        println!("{self:?}");
        let total = self.consistent + self.violated;
        assert!(f64::from(total - self.searched) >= share * f64::from(total), "{self:?}");
        assert!(self.consistent > total / 5 && self.violated > total / 30, "{self:?}");
    }

    /// Checks a history with and without the engines and judges both verdicts.
    fn check<M: Model>(&mut self, initial: &M, history: &judge::History<M>) {
        let budget = Budget::default();
        let verdict = linearizable(initial, history, &budget).expect("well-formed");
        let expected = judge::explicable(initial, history);
        judge::check(initial, history, &verdict, expected);
        let searched = Searched(initial.clone());
        let other = linearizable(&searched, history, &budget).expect("well-formed");
        judge::check(&searched, history, &other, expected);
        let engine = match &verdict {
            Verdict::Consistent(witness) => {
                self.consistent += 1;
                &witness.engine
            }
            Verdict::Violated(evidence) => {
                self.violated += 1;
                if evidence.engine != "search" {
                    check_anomaly(evidence, history);
                }
                &evidence.engine
            }
            Verdict::Unknown(_) => unreachable!("the judge accepts none"),
        };
        self.searched += u32::from(engine.contains("search"));
    }
}

/// Checks that the anomaly names its operations, and that all of them belong to its part.
#[track_caller]
fn check_anomaly<O, R>(evidence: &Evidence, history: &[sim::check::history::Operation<O, R>]) {
    let anomaly = evidence.anomaly.as_ref().expect("an engine has a name for what it finds");
    assert!(anomaly.text.contains('`') && !anomaly.text.contains('{'), "{anomaly:?}");
    let inside = |index: usize| evidence.part.contains(&index) && index < history.len();
    assert!(anomaly.edges.iter().all(|edge| inside(edge.from) && inside(edge.to)), "{evidence:?}");
    let edges = &anomaly.edges;
    let circle = |n: usize| edges[n].to == edges[(n + 1) % edges.len()].from;
    let real = |n: usize| edges[n].why == "returned before it was invoked";
    // The edges are either a cycle, or contain a fact of real time.
    assert!((0..edges.len()).all(circle) || (0..edges.len()).any(real), "{evidence:?}");
}

/// A history by random clients of a correct object; `next` chooses the operations.
fn recorded<M: Model>(
    draw: &mut Draw,
    mut state: M,
    [count, clients, pending_one_in]: [usize; 3],
    mut next: impl FnMut(&mut Draw) -> M::Op,
) -> Recorded<M> {
    let mut history: Recorded<M> = Vec::with_capacity(count);
    // For each client, its open operation, and the result of this operation after it took effect.
    let mut open: Vec<Option<(usize, Option<M::Ret>)>> = vec![None; clients];
    // Times are positions, with or without gaps, or are as large as clock readings.
    let (mut time, tick) = (0, [1, 1, 1_000][draw.below(3)]);
    while history.len() < count || open.iter().any(Option::is_some) {
        let client = draw.below(clients);
        time += tick;
        open[client] = match open[client].take() {
            None if history.len() == count => None,
            None => {
                let (client, op) = (client as u32, next(draw));
                let call =
                    sim::check::history::Operation { client, op, invoked: time, returned: None };
                history.push(call);
                Some((history.len() - 1, None))
            }
            Some(_) if draw.below(2 * pending_one_in) == 0 => None,
            Some((index, None)) => Some((index, Some(state.step(&history[index].op)))),
            Some((index, Some(ret))) => {
                history[index].returned = Some((ret, time));
                None
            }
        };
    }
    history
}

/// Makes two operations of the same kind trade results.
fn trade<M: Model>(draw: &mut Draw, history: &mut Recorded<M>, may: impl Fn(&M::Op) -> bool) {
    let fits = |n: &usize| may(&history[*n].op) && history[*n].returned.is_some();
    let those: Vec<usize> = (0..history.len()).filter(fits).collect();
    if those.len() < 2 {
        return;
    }
    let a = draw.below(those.len());
    let b = (a + 1 + draw.below(those.len() - 1)) % those.len();
    let (a, b) = (those[a], those[b]);
    let ret = |n: usize| history[n].returned.as_ref().map(|(ret, _)| ret.clone());
    let (ret_a, ret_b) = (ret(a), ret(b));
    for (n, ret) in [(a, ret_b), (b, ret_a)] {
        history[n].returned = history[n].returned.take().zip(ret).map(|((_, end), ret)| (ret, end));
    }
}

/// Checks a history without a budget for a search, and that an engine of this name decided it.
#[track_caller]
fn decided_alone<M: Model>(initial: &M, history: &judge::History<M>, engine: &str) -> Verdict {
    let (verdict, nodes) = linearizable_counted(initial, history, &Budget::nodes(0)).unwrap();
    assert!(nodes < 100, "{nodes}");
    match &verdict {
        Verdict::Consistent(witness) => {
            assert_eq!(witness.engine, engine);
            let order = witness.order.as_ref().expect("these engines make orders");
            // The judge copies the state at every step, which takes too long for a set of thousands.
            if engine != "unique set" {
                assert_eq!(judge::witness_fault(initial, history, order), None);
            }
        }
        Verdict::Violated(evidence) => {
            assert_eq!(evidence.engine, engine);
            assert!(evidence.part.len() <= 6, "{evidence:?}");
            assert_eq!(judge::evidence_fault(initial, history, evidence), None);
            check_anomaly(evidence, history);
        }
        Verdict::Unknown(_) => panic!("{verdict:?}"),
    }
    verdict
}

/// The anomaly of a history that an engine rejects: its name, and its operations.
#[track_caller]
fn anomaly<M: Model>(initial: &M, history: &judge::History<M>) -> (String, Vec<usize>, String) {
    let verdict = linearizable(initial, history, &Budget::nodes(0)).unwrap();
    judge::check(initial, history, &verdict, false);
    let Verdict::Violated(evidence) = verdict else { unreachable!("the judge accepts no other") };
    let anomaly = evidence.anomaly.expect("an engine found it");
    (anomaly.name, evidence.part, anomaly.text)
}
