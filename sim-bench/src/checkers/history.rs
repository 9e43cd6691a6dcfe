//! Histories whose verdict is known by construction.
//!
//! Clients take turns at random. In each turn, a client invokes an operation, lets it take effect on the single object,
//! or returns it. So the history is linearizable, in the order of the effects. A violation is planted by changing one
//! or two results so that no order explains them. The scripts describe these changes. The case determines the whole
//! history.

use sim::check::Model;
use sim::check::datum::Datum;
use sim::check::history::Operation;
use sim::check::models::{CasRegister, Map, PriorityQueue, Queue, Register, Set, Stack};

use super::case::Case;

/// A model that every checker supports.
pub(super) trait Subject: Model<Op: Sync, Ret: Sync> + Send + Sync + 'static {
    /// Returns the initial state of all histories.
    fn start() -> Self;
}

macro_rules! subjects {
    ($($model:ty: $start:expr;)*) => {
        $(impl Subject for $model {
            fn start() -> Self {
                $start
            }
        })*
    };
}

subjects! {
    Register: Register::new(0);
    CasRegister: CasRegister::new(0);
    CasRegister<Datum>: CasRegister::new(Datum::Nil);
    Map: Map::new();
    Queue: Queue::new();
    Stack: Stack::new();
    Set: Set::new();
    PriorityQueue: PriorityQueue::new();
}

/// The operations on one object.
pub(super) type Calls<M> = Vec<Operation<<M as Model>::Op, <M as Model>::Ret>>;

/// A history and its verdict.
pub(super) struct History<M: Model> {
    pub(super) operations: Calls<M>,
    /// True if the history is linearizable.
    pub(super) expected: bool,
}

/// The histories of a case.
pub(super) enum Histories {
    Register(Vec<History<Register>>),
    CasRegister(Vec<History<CasRegister>>),
    Recorded(Vec<History<CasRegister<Datum>>>),
    Map(Vec<History<Map>>),
    Queue(Vec<History<Queue>>),
    Stack(Vec<History<Stack>>),
    Set(Vec<History<Set>>),
    PriorityQueue(Vec<History<PriorityQueue>>),
}

/// The operations that the clients of an object invoke.
pub(super) trait Script {
    type Model: Subject;

    /// Returns the operation to invoke as number `index`.
    fn next(&mut self, index: usize, draw: &mut Draw) -> <Self::Model as Model>::Op;

    /// Records the result of an effect.
    fn done(&mut self, _ret: &<Self::Model as Model>::Ret) {}

    /// Plants a violation in the results from operation `from` on. Returns `false` if no place is suitable.
    fn plant(&self, calls: &mut Calls<Self::Model>, from: usize) -> bool;
}

/// Builds the history of a case.
///
/// # Panics
/// If the case requires a violation and no place is suitable.
pub(super) fn build<S: Script>(case: &Case, mut script: S) -> Vec<History<S::Model>> {
    let mut operations = drive(case, &mut script);
    if case.bad {
        // At 90 % of the history, or earlier if that is impossible.
        let mut places = (0..=9).rev().map(|tenths| case.operations * tenths / 10);
        assert!(places.any(|from| script.plant(&mut operations, from)), "no place in {case:?}");
    }
    vec![History { operations, expected: !case.bad }]
}

/// Changes the histories so that five of a hundred calls among the first four fifths never return. The client of a lost
/// call continues as another client, like after a timeout in a test of a distributed system. A planted violation is
/// later, so the verdict remains.
pub(super) fn lose<M: Model>(mut histories: Vec<History<M>>) -> Vec<History<M>> {
    for History { operations, .. } in &mut histories {
        let mut draw = Draw::new(operations.len() as u64);
        let mut clients = operations.iter().map(|call| call.client + 1).max().unwrap_or(0);
        let mut names: Vec<u32> = (0..clients).collect();
        let until = operations.len() * 4 / 5;
        for (index, call) in operations.iter_mut().enumerate() {
            let client = call.client as usize;
            call.client = names[client];
            if index < until && draw.below(100) < 5 {
                call.returned = None;
                names[client] = clients;
                clients += 1;
            }
        }
    }
    histories
}

fn drive<S: Script>(case: &Case, script: &mut S) -> Calls<S::Model> {
    #[derive(Clone, Copy)]
    enum Stage {
        Idle,
        Invoked(usize),
        Effected(usize),
    }
    let mut draw = Draw::new(1 + u64::from(case.clients) + 1000 * case.operations as u64);
    let mut object = S::Model::start();
    let mut calls: Calls<S::Model> = Vec::with_capacity(case.operations);
    let mut rets: Vec<Option<<S::Model as Model>::Ret>> = vec![None; case.operations];
    let mut stages = vec![Stage::Idle; case.clients as usize];
    let (mut time, mut busy) = (0, 0);
    while calls.len() < case.operations || busy > 0 {
        let client = draw.below(u64::from(case.clients)) as usize;
        stages[client] = match stages[client] {
            Stage::Idle if calls.len() == case.operations => Stage::Idle,
            Stage::Idle => {
                let op = script.next(calls.len(), &mut draw);
                let client = client as u32;
                calls.push(Operation { client, op, invoked: time, returned: None });
                (time, busy) = (time + 1, busy + 1);
                Stage::Invoked(calls.len() - 1)
            }
            Stage::Invoked(index) => {
                let ret = object.step(&calls[index].op);
                script.done(&ret);
                rets[index] = Some(ret);
                Stage::Effected(index)
            }
            Stage::Effected(index) => {
                calls[index].returned = rets[index].take().map(|ret| (ret, time));
                (time, busy) = (time + 1, busy - 1);
                Stage::Idle
            }
        };
    }
    calls
}

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// Returns a number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(word ^ (word >> 31)) * u128::from(bound)) >> 64) as u64
    }
}
