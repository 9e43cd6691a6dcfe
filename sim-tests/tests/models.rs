//! The one suite that every model of the registry passes, and a few odd ones of our own.

use std::hash::Hash;

use sim::check::models::{NilRead, Shipped, Visitor, registry};
use sim::check::{Budget, Key, Model, linearizable};
use sim::datum::Datum;
use sim_tests::histories::{Draw, every, long, random};
use sim_tests::judge;

/// Runs `$fact::<M>()` for every model.
macro_rules! every_model {
    ($fact:ident) => {{
        struct Facts(Vec<fn()>);
        impl Visitor for Facts {
            fn visit<M: Shipped>(&mut self) {
                self.0.push($fact::<M>);
            }
        }
        let mut facts = Facts(Vec::new());
        registry(&mut facts);
        facts.visit::<Bag>();
        facts.visit::<Approximate>();
        std::thread::scope(|scope| {
            for fact in facts.0 {
                scope.spawn(fact);
            }
        });
    }};
}

#[test]
fn names_are_distinct_and_said_once() {
    struct Names(Vec<&'static str>);
    impl Visitor for Names {
        fn visit<M: Shipped>(&mut self) {
            assert_eq!(M::name(), M::NAME);
            assert!(!M::SUMMARY.is_empty() && !M::SUMMARY.contains('\n'));
            self.0.push(M::NAME);
        }
    }
    let mut names = Names(Vec::new());
    registry(&mut names);
    let count = names.0.len();
    names.0.sort_unstable();
    names.0.dedup();
    assert_eq!(names.0.len(), count);
}

#[test]
fn an_observer_changes_no_state() {
    fn fact<M: Shipped>() {
        let mut pairs = 0;
        for state in reachable::<M>() {
            for (op, rets) in M::alphabet() {
                for ret in rets.iter().filter(|ret| M::observes(&op, ret)) {
                    let mut after = Vec::new();
                    state.successors(&op, Some(ret), &mut after);
                    assert!(after.iter().all(|next| *next == state), "{op:?} in {state:?}");
                    pairs += after.len();
                }
            }
        }
        assert!(pairs > 0, "{} observes nothing in its alphabet", M::NAME);
    }
    every_model!(fact);
}

#[test]
fn step_is_one_of_the_successors() {
    fn fact<M: Shipped>() {
        for state in reachable::<M>() {
            for (op, _) in M::alphabet() {
                let mut next = state.clone();
                let ret = next.step(&op);
                for ret in [Some(&ret), None] {
                    let mut after = Vec::new();
                    state.successors(&op, ret, &mut after);
                    assert!(after.contains(&next), "{op:?} in {state:?}");
                }
                assert!(state.returns(&op).contains(&ret), "{op:?} in {state:?}");
            }
        }
    }
    every_model!(fact);
}

#[test]
fn all_short_histories_are_judged_right() {
    fn fact<M: Shipped>() {
        for count in 0..=4 {
            let letters = if count < 4 || long() { 100 } else { 4 };
            // In the first four letters of every model there is a way to go wrong.
            let mut verdicts = [0u32; 2];
            every::<M>(count, 3, letters, |history| {
                verdicts[usize::from(agree(&M::initial(), history))] += 1;
            });
            println!("{}: {count} operations, [violated, consistent] = {verdicts:?}", M::NAME);
            assert!(count == 0 || verdicts.iter().all(|count| *count > 0));
        }
    }
    every_model!(fact);
}

#[test]
fn random_histories_are_judged_right() {
    fn fact<M: Shipped>() {
        let mut draw = Draw(1);
        let (cases, longest) = if long() { (200_000, 8) } else { (1_500, 7) };
        for _ in 0..cases {
            let (count, clients) = (1 + draw.below(longest), 1 + draw.below(4));
            let (pending_one_in, lies) = (2 + draw.below(8), draw.below(4));
            agree(&M::initial(), &random::<M>(&mut draw, count, clients, pending_one_in, lies));
        }
    }
    every_model!(fact);
}

#[test]
fn by_key_and_with_observers_or_without_the_verdict_is_the_same() {
    fn fact<M: Shipped>() {
        let mut draw = Draw(2);
        for _ in 0..if long() { 20_000 } else { 300 } {
            let (clients, lies) = (2 + draw.below(4), draw.below(3));
            let history = random::<M>(&mut draw, 20, clients, 8, lies);
            let verdict = linearizable(&M::initial(), &history, &Budget::default()).unwrap();
            let plain = linearizable(&Plain(M::initial()), &history, &Budget::default()).unwrap();
            judge::check(&M::initial(), &history, &verdict, plain.is_consistent());
            judge::check(&Plain(M::initial()), &history, &plain, verdict.is_consistent());
        }
    }
    every_model!(fact);
}

/// Whether the history is consistent, after checking that the checker knows.
fn agree<M: Model>(initial: &M, history: &judge::History<M>) -> bool {
    let verdict = linearizable(initial, history, &Budget::default()).expect("well-formed");
    let expected = judge::explicable(initial, history);
    judge::check(initial, history, &verdict, expected);
    expected
}

/// The states within five operations of the alphabet.
fn reachable<M: Shipped>() -> Vec<M> {
    let mut states = vec![M::initial()];
    let mut start = 0;
    for _ in 0..5 {
        let end = states.len();
        for number in start..end {
            for (op, _) in M::alphabet() {
                let mut after = Vec::new();
                states[number].successors(&op, None, &mut after);
                for state in after {
                    if !states.contains(&state) {
                        states.push(state);
                    }
                }
            }
        }
        start = end;
    }
    states
}

/// A model without its optional knowledge.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Plain<M>(M);

impl<M: Model> Model for Plain<M> {
    type Op = M::Op;
    type Ret = M::Ret;

    fn step(&mut self, op: &M::Op) -> M::Ret {
        self.0.step(op)
    }

    fn successors(&self, op: &M::Op, ret: Option<&M::Ret>, out: &mut Vec<Self>) {
        let mut states = Vec::new();
        self.0.successors(op, ret, &mut states);
        out.extend(states.into_iter().map(Plain));
    }

    fn returns(&self, op: &M::Op) -> Vec<M::Ret> {
        self.0.returns(op)
    }
}

/// A nondeterministic model: takes out any of the items.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Bag(Vec<u8>);

#[derive(Clone, PartialEq, Debug)]
enum BagOp {
    Put(u8),
    Take,
}

impl Model for Bag {
    type Op = BagOp;
    type Ret = Option<u8>;

    fn step(&mut self, op: &BagOp) -> Option<u8> {
        match op {
            BagOp::Put(item) => {
                self.0.push(*item);
                self.0.sort_unstable();
                None
            }
            BagOp::Take => self.0.pop(),
        }
    }

    fn observes(op: &BagOp, ret: &Option<u8>) -> bool {
        *op == BagOp::Take && ret.is_none()
    }

    fn successors(&self, op: &BagOp, ret: Option<&Option<u8>>, out: &mut Vec<Self>) {
        let mut next = self.clone();
        if *op != BagOp::Take || self.0.is_empty() {
            let expected = next.step(op);
            if ret.is_none_or(|ret| *ret == expected) {
                out.push(next);
            }
            return;
        }
        for (place, item) in self.0.iter().enumerate() {
            if ret.is_none_or(|ret| *ret == Some(*item)) {
                let mut next = self.clone();
                next.0.remove(place);
                out.push(next);
            }
        }
    }

    fn returns(&self, op: &BagOp) -> Vec<Option<u8>> {
        match op {
            BagOp::Take if !self.0.is_empty() => self.0.iter().copied().map(Some).collect(),
            _ => vec![None],
        }
    }
}

impl Shipped for Bag {
    const NAME: &'static str = "bag";
    const SUMMARY: &'static str = "nondeterministic";

    fn initial() -> Self {
        Bag(Vec::new())
    }

    fn alphabet() -> Vec<(BagOp, Vec<Option<u8>>)> {
        vec![
            (BagOp::Put(1), vec![None]),
            (BagOp::Put(2), vec![None]),
            (BagOp::Take, vec![None, Some(1), Some(2)]),
        ]
    }

    type Recorded = Self;
    const CALLS: &'static [&'static str] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Self, String> {
        Ok(Self::initial())
    }

    fn call(f: &str, _: &Datum) -> Result<BagOp, String> {
        Err(format!("{f}: not in files"))
    }

    fn outcome(op: &BagOp, _: &Datum, _: NilRead) -> Result<Option<Option<u8>>, String> {
        Err(format!("{op:?}: not in files"))
    }
}

/// A loose model with keys that share a [`Key`]: two numbers, each read to within one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Approximate([i32; 4]);

#[derive(Clone, PartialEq, Debug)]
enum ApproximateOp {
    Add(usize, i32),
    Read(usize),
}

impl Model for Approximate {
    type Op = ApproximateOp;
    type Ret = i32;

    fn step(&mut self, op: &ApproximateOp) -> i32 {
        match op {
            ApproximateOp::Add(number, amount) => {
                self.0[*number] += amount;
                0
            }
            ApproximateOp::Read(number) => self.0[*number],
        }
    }

    fn accepts(op: &ApproximateOp, expected: &i32, actual: &i32) -> bool {
        match op {
            ApproximateOp::Add(..) => expected == actual,
            ApproximateOp::Read(_) => (expected - actual).abs() <= 1,
        }
    }

    fn partition(op: &ApproximateOp) -> Option<Key> {
        let (ApproximateOp::Add(number, _) | ApproximateOp::Read(number)) = op;
        Some(Key::of(&(number % 2)))
    }

    fn observes(op: &ApproximateOp, _ret: &i32) -> bool {
        matches!(op, ApproximateOp::Read(_))
    }
}

impl Shipped for Approximate {
    const NAME: &'static str = "approximate";
    const SUMMARY: &'static str = "loose, with keys";

    fn initial() -> Self {
        Approximate([0; 4])
    }

    fn alphabet() -> Vec<(ApproximateOp, Vec<i32>)> {
        vec![
            (ApproximateOp::Add(0, 3), vec![0]),
            (ApproximateOp::Add(1, 3), vec![0]),
            (ApproximateOp::Add(2, 3), vec![0]),
            (ApproximateOp::Read(0), vec![1, 4]),
            (ApproximateOp::Read(1), vec![0, 2]),
        ]
    }

    type Recorded = Self;
    const CALLS: &'static [&'static str] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Self, String> {
        Ok(Self::initial())
    }

    fn call(f: &str, _: &Datum) -> Result<ApproximateOp, String> {
        Err(format!("{f}: not in files"))
    }

    fn outcome(op: &ApproximateOp, _: &Datum, _: NilRead) -> Result<Option<i32>, String> {
        Err(format!("{op:?}: not in files"))
    }
}
