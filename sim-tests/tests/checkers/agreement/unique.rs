//! Every small history in which no value is written twice, for the models that have an engine for unique values. The
//! alphabets have few values, so over them the engines decline most histories.

use sim::check::history::Operation;
use sim::check::models::*;
use sim_tests::histories::{Draw, Recorded, long};
use sim_tests::judge;
use sim_tests::shapes::{NEVER, Shape, shapes, times};

use super::{Care, Tally, agree, every_model};

/// Operations, each with the results that are plausible for it.
type Calls<M> = Vec<(<M as sim::check::Model>::Op, Vec<<M as sim::check::Model>::Ret>)>;

/// A model with an engine for unique values.
trait Distinct: RegisteredModel {
    /// True if values differ in more than their writers.
    const RANKS: bool = false;
    /// The maximum number of operations for which the number of histories is small enough.
    const COUNT: usize = 6;
    /// Returns the calls that write `value`, which no other call writes. In total, `values` values are written.
    fn puts(value: u64, values: u64) -> Calls<Self>;
    /// The calls that write nothing.
    fn others(values: u64) -> Calls<Self>;
}

impl Distinct for Register {
    fn puts(value: u64, _values: u64) -> Calls<Self> {
        vec![(RegisterOp::Write(value), vec![RegisterRet::Done])]
    }

    fn others(values: u64) -> Calls<Self> {
        vec![(RegisterOp::Read, (0..=values).map(RegisterRet::Value).collect())]
    }
}

impl Distinct for CasRegister {
    const COUNT: usize = 4;

    fn puts(value: u64, values: u64) -> Calls<Self> {
        use CasRegisterRet::{Done, Swapped};
        let swaps = (0..=values).filter(|from| *from != value);
        let swaps = swaps.map(|from| CasRegisterOp::Cas(from, value));
        let swaps = swaps.map(|op| (op, vec![Swapped(true), Swapped(false)]));
        swaps.chain([(CasRegisterOp::Write(value), vec![Done])]).collect()
    }

    fn others(values: u64) -> Calls<Self> {
        vec![(CasRegisterOp::Read, (0..=values).map(CasRegisterRet::Value).collect())]
    }
}

/// `None` and each value.
fn items(values: u64) -> impl Iterator<Item = Option<u64>> {
    (0..=values).map(|value| Some(value).filter(|value| *value > 0))
}

impl Distinct for Queue {
    fn puts(value: u64, _values: u64) -> Calls<Self> {
        vec![(QueueOp::Enqueue(value), vec![QueueRet::Done])]
    }

    fn others(values: u64) -> Calls<Self> {
        vec![(QueueOp::Dequeue, items(values).map(QueueRet::Item).collect())]
    }
}

impl Distinct for Stack {
    fn puts(value: u64, _values: u64) -> Calls<Self> {
        vec![(StackOp::Push(value), vec![StackRet::Done])]
    }

    fn others(values: u64) -> Calls<Self> {
        vec![(StackOp::Pop, items(values).map(StackRet::Item).collect())]
    }
}

impl Distinct for PriorityQueue {
    const RANKS: bool = true;
    const COUNT: usize = 5;

    fn puts(value: u64, _values: u64) -> Calls<Self> {
        vec![(PriorityQueueOp::Insert(value), vec![PriorityQueueRet::Done])]
    }

    fn others(values: u64) -> Calls<Self> {
        let rets = || items(values).map(PriorityQueueRet::Item).collect();
        vec![(PriorityQueueOp::Pop, rets()), (PriorityQueueOp::Peek, rets())]
    }
}

#[test]
fn every_engine_judges_every_small_history_of_unique_values_right() {
    fn fact<M: Distinct>() -> Tally {
        let (mut draw, mut tally) = (Draw(3), Tally::default());
        for count in 0..=if long() { M::COUNT } else { 3 } {
            let care = match count {
                0..=4 => Care { others: 1, proof: if long() { 16 } else { 8 } },
                _ => Care { others: 16, proof: 256 },
            };
            let before = tally;
            histories::<M>(count, &mut draw, |history| {
                let expected = judge::explicable(&M::initial(), history);
                agree(&mut tally, &M::initial(), history, expected, care);
            });
            let sum = |tally: Tally| tally.consistent + tally.violated;
            println!("{}: {count} operations: {}", M::NAME, sum(tally) - sum(before));
        }
        tally.assert_both(50);
        tally
    }
    every_model!(fact: Register, CasRegister, Queue, Stack, PriorityQueue);
}

/// Calls `found` with every history of `count` operations by three clients in which values are distinct. If values have
/// no ranks, histories that differ only in the names of values count as one.
fn histories<M: Distinct>(count: usize, draw: &mut Draw, mut found: impl FnMut(&Recorded<M>)) {
    for shape in shapes(count, 3) {
        let is_twin = |i: usize| i > 0 && shape[i] == shape[i - 1];
        for puts in 0u32..1 << count {
            let is_put = |i: usize| puts & 1 << i != 0;
            // If operations are otherwise equal, the first operations of them write.
            if (1..count).any(|i| is_twin(i) && is_put(i) && !is_put(i - 1)) {
                continue;
            }
            let values = u64::from(puts.count_ones());
            for names in names(values, M::RANKS) {
                let mut names = names.into_iter();
                let letters: Vec<_> = (0..count)
                    .map(|i| {
                        let calls = match is_put(i) {
                            true => M::puts(names.next().expect("one for each"), values),
                            false => M::others(values),
                        };
                        letters::<M>(calls, shape[i].1 == NEVER)
                    })
                    .collect();
                let twins = |i: usize| is_twin(i) && !is_put(i) && !is_put(i - 1);
                words::<M>(&shape, &letters, twins, draw, &mut found);
            }
        }
    }
}

/// Returns the orders in which the values `1..=values` may be written.
fn names(values: u64, ranks: bool) -> Vec<Vec<u64>> {
    if !ranks {
        return vec![(1..=values).collect()];
    }
    (1..=values).fold(vec![Vec::new()], |orders, value| {
        let with = |order: &Vec<u64>, place: usize| {
            let mut order = order.clone();
            order.insert(place, value);
            order
        };
        orders
            .iter()
            .flat_map(|o| (0..=o.len()).map(|place| with(o, place)).collect::<Vec<_>>())
            .collect()
    })
}

type Letter<M> = (<M as sim::check::Model>::Op, Option<<M as sim::check::Model>::Ret>);

fn letters<M: Distinct>(calls: Calls<M>, is_pending: bool) -> Vec<Letter<M>> {
    let of = |(op, rets): (M::Op, Vec<M::Ret>)| {
        let rets = if is_pending { vec![None] } else { rets.into_iter().map(Some).collect() };
        rets.into_iter().map(|ret| (op.clone(), ret)).collect::<Vec<_>>()
    };
    calls.into_iter().flat_map(of).collect()
}

/// Calls `found` for every choice of letters. The letters of twins are in one order only.
fn words<M: Distinct>(
    shape: &Shape,
    letters: &[Vec<Letter<M>>],
    twins: impl Fn(usize) -> bool,
    draw: &mut Draw,
    found: &mut impl FnMut(&Recorded<M>),
) {
    let count = shape.len();
    let mut word = vec![0; count];
    loop {
        let calls = times(shape, draw);
        let operation = |i: usize| {
            let (client, invoked, end) = calls[i];
            let (op, ret) = letters[i][word[i]].clone();
            Operation { client, op, invoked, returned: ret.zip(end) }
        };
        found(&(0..count).map(operation).collect());
        let Some(turn) = (0..count).rev().find(|i| word[*i] + 1 < letters[*i].len()) else {
            return;
        };
        word[turn] += 1;
        for i in turn + 1..count {
            word[i] = if twins(i) { word[i - 1] } else { 0 };
        }
    }
}
