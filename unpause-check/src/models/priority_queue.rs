//! A priority queue with the smallest item first.

use super::written::{datum, done, each};
use super::{FileSample, NilRead, RegisteredModel, Value, item, listed, no_such_call, taken};
use crate::Model;
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};
use unpause_ordered::sort_by_key;

/// An unbounded priority queue: the smallest item, by [`Ord`], is popped first. Equal items are
/// popped in the order of their insertion.
///
/// For a queue with the greatest item first, use [`std::cmp::Reverse`] of the items.
///
/// ```
/// use unpause_check::{models::{PriorityQueue, PriorityQueueOp::*, PriorityQueueRet::*}, Model};
/// let mut queue = PriorityQueue::from_iter([3]);
/// assert_eq!(queue.step(&Insert(1)), Done);
/// assert_eq!(queue.step(&Insert(2)), Done);
/// assert_eq!(queue.step(&Peek), Item(Some(1)));
/// assert_eq!(queue.step(&Pop), Item(Some(1)));
/// assert_eq!(queue.step(&Pop), Item(Some(2)));
/// assert_eq!(queue.step(&Pop), Item(Some(3)));
/// assert_eq!(queue.step(&Pop), Item(None));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PriorityQueue<T = u64>(
    // Invariant: in descending order, so that the next item is the last; among equal items, the
    // newest is first.
    Vec<T>,
);

impl<T> PriorityQueue<T> {
    /// Creates an empty priority queue.
    pub fn new() -> Self {
        PriorityQueue(Vec::new())
    }
}

impl<T> Default for PriorityQueue<T> {
    fn default() -> Self {
        PriorityQueue::new()
    }
}

impl<T: Ord> FromIterator<T> for PriorityQueue<T> {
    /// Creates a priority queue of these items.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items: Vec<T> = items.into_iter().collect();
        unpause_ordered::sort(&mut items);
        items.reverse();
        PriorityQueue(items)
    }
}

/// An operation on a [`PriorityQueue`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PriorityQueueOp<T = u64> {
    /// Adds an item.
    Insert(T),
    /// Removes the smallest item, if any.
    Pop,
    /// Reads the smallest item, if any.
    Peek,
}

/// The result of an operation on a [`PriorityQueue`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PriorityQueueRet<T = u64> {
    /// The item was inserted.
    Done,
    /// The smallest item; `None` if the queue was empty.
    Item(Option<T>),
}

impl<T: Value + Ord> Model for PriorityQueue<T> {
    type Op = PriorityQueueOp<T>;
    type Ret = PriorityQueueRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            PriorityQueueOp::Insert(item) => {
                let place = self.0.partition_point(|other| other > item);
                self.0.insert(place, item.clone());
                PriorityQueueRet::Done
            }
            PriorityQueueOp::Pop => PriorityQueueRet::Item(self.0.pop()),
            PriorityQueueOp::Peek => PriorityQueueRet::Item(self.0.last().cloned()),
        }
    }

    fn observes(op: &Self::Op, ret: &Self::Ret) -> bool {
        *op == PriorityQueueOp::Peek || matches!(ret, PriorityQueueRet::Item(None))
    }

    /// Computes the same result as the default implementation, but compares before it copies the queue.
    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let returns = match (op, ret) {
            (_, None) => true,
            (PriorityQueueOp::Insert(_), Some(ret)) => *ret == PriorityQueueRet::Done,
            (_, Some(PriorityQueueRet::Item(item))) => item.as_ref() == self.0.last(),
            (_, Some(PriorityQueueRet::Done)) => false,
        };
        if returns {
            let mut next = self.clone();
            next.step(op);
            out.push(next);
        }
    }

    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a Self::Op, Option<&'a Self::Ret>)>,
    ) -> Option<Plain> {
        use PriorityQueueOp::{Insert, Peek, Pop};
        use PriorityQueueRet::{Done, Item};
        // Numbered in the order of their occurrence at first, later by rank.
        let (mut values, mut items): (Values<T>, Vec<&T>) =
            (Values::with_room(calls.size_hint().0 / 2), Vec::new());
        let mut number = |item| {
            let number = values.number(item);
            if number as usize == items.len() {
                items.push(item);
            }
            number
        };
        let mut initial: Vec<u32> = self.0.iter().map(&mut number).collect();
        let mut actions = Vec::new();
        for call in calls {
            actions.push(match call {
                (Insert(item), None | Some(Done)) => Action::Add(number(item)),
                (Pop, Some(Item(Some(item)))) => Action::Take(number(item)),
                (Peek, Some(Item(Some(item)))) => Action::Peek(number(item)),
                (Pop | Peek, Some(Item(None))) => Action::Empty,
                (Pop, None) => Action::TakeUnknown,
                (Peek, None) => Action::Nothing,
                // The operation cannot have this result.
                (Insert(_), Some(Item(_))) | (Pop | Peek, Some(Done)) => return None,
            });
        }
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        sort_by_key(&mut order, |number| items[*number as usize]);
        let alike = |pair: &[u32]| items[pair[0] as usize].cmp(items[pair[1] as usize]).is_eq();
        if order.windows(2).any(alike) {
            return None;
        }
        let mut rank = vec![0; items.len()];
        for (place, number) in (0..).zip(order) {
            rank[number as usize] = place;
        }
        initial.iter_mut().for_each(|value| *value = rank[*value as usize]);
        for action in &mut actions {
            if let Action::Add(value) | Action::Take(value) | Action::Peek(value) = action {
                *value = rank[*value as usize];
            }
        }
        Some(Plain { object: PlainObject::PriorityQueue, initial, actions })
    }

    fn written(op: &PriorityQueueOp<T>, ret: Option<&PriorityQueueRet<T>>) -> Option<Written> {
        let call = match op {
            PriorityQueueOp::Insert(item) => done("insert", datum(item)?),
            PriorityQueueOp::Pop => done("pop", Datum::Nil),
            PriorityQueueOp::Peek => done("peek", Datum::Nil),
        };
        match (op, ret) {
            (
                PriorityQueueOp::Pop | PriorityQueueOp::Peek,
                Some(PriorityQueueRet::Item(Some(item))),
            ) => Some(Written { answer: datum(item)?, ..call }),
            (PriorityQueueOp::Pop | PriorityQueueOp::Peek, Some(PriorityQueueRet::Item(None)))
            | (PriorityQueueOp::Insert(_), Some(PriorityQueueRet::Done))
            | (_, None) => Some(call),
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("insert", &self.0)
    }

    fn name() -> &'static str {
        PriorityQueue::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            PriorityQueueRet::Done => "ok".to_owned(),
            PriorityQueueRet::Item(item) => format!("{item:?}"),
        }
    }

    /// Lists the items in the order of their removal.
    fn state_text(&self) -> String {
        format!("{:?}", self.0.iter().rev().collect::<Vec<_>>())
    }
}

impl RegisteredModel for PriorityQueue {
    const NAME: &'static str = "priority-queue";
    const SUMMARY: &'static str = "insert, pop, peek; the smallest first";

    type Recorded = PriorityQueue<Datum>;
    const CALLS: &'static [&'static str] = &["insert", "pop", "peek"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("insert", "3", "3"), ("insert", "2", "2")],
            allowed: ("pop", "nil", "2"),
            rejected: ("pop", "nil", "3"),
        },
        FileSample {
            initial: Some("[3 2]"),
            calls: &[],
            allowed: ("peek", "nil", "2"),
            rejected: ("peek", "nil", "nil"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<PriorityQueue<Datum>, String> {
        listed(initial, "a list of the items")
    }

    fn call(f: &str, value: &Datum) -> Result<PriorityQueueOp<Datum>, String> {
        match f {
            "insert" => item(value).map(PriorityQueueOp::Insert),
            "pop" => Ok(PriorityQueueOp::Pop),
            "peek" => Ok(PriorityQueueOp::Peek),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &PriorityQueueOp<Datum>) -> bool {
        matches!(op, PriorityQueueOp::Insert(_))
    }

    /// Reads an item of `nil` as an empty queue.
    fn outcome(
        op: &PriorityQueueOp<Datum>,
        value: &Datum,
        _nil: NilRead,
    ) -> Result<Option<PriorityQueueRet<Datum>>, String> {
        Ok(Some(match op {
            PriorityQueueOp::Insert(_) => PriorityQueueRet::Done,
            PriorityQueueOp::Pop | PriorityQueueOp::Peek => PriorityQueueRet::Item(taken(value)),
        }))
    }

    fn initial() -> Self {
        PriorityQueue::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use PriorityQueueRet::{Done, Item};
        vec![
            (PriorityQueueOp::Insert(1), vec![Done]),
            (PriorityQueueOp::Pop, vec![Item(Some(2)), Item(Some(1)), Item(None)]),
            (PriorityQueueOp::Insert(2), vec![Done]),
            (PriorityQueueOp::Peek, vec![Item(Some(2)), Item(Some(1)), Item(None)]),
        ]
    }
}
