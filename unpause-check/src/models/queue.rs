//! A queue: first in, first out.

use std::collections::VecDeque;

use super::written::{datum, done, each};
use super::{FileSample, NilRead, RegisteredModel, Value, item, listed, no_such_call, taken};
use crate::Model;
use crate::datum::Datum;
use crate::history::Written;
use crate::unique::{Action, Plain, PlainObject, Values};

/// An unbounded queue, first in, first out.
///
/// ```
/// use unpause_check::{models::{Queue, QueueOp::*, QueueRet::*}, Model};
/// let mut queue = Queue::from_iter(["a"]);
/// assert_eq!(queue.step(&Enqueue("b")), Done);
/// assert_eq!(queue.step(&Dequeue), Item(Some("a")));
/// assert_eq!(queue.step(&Dequeue), Item(Some("b")));
/// assert_eq!(queue.step(&Dequeue), Item(None));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Queue<T = u64>(VecDeque<T>);

impl<T> Queue<T> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Queue(VecDeque::new())
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Queue::new()
    }
}

impl<T> FromIterator<T> for Queue<T> {
    /// Creates a queue of these items, the first item at the front.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Queue(items.into_iter().collect())
    }
}

/// An operation on a [`Queue`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum QueueOp<T = u64> {
    /// Adds an item at the back.
    Enqueue(T),
    /// Removes the item at the front, if any.
    Dequeue,
}

/// The result of an operation on a [`Queue`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum QueueRet<T = u64> {
    /// The item was enqueued.
    Done,
    /// The dequeued item; `None` if the queue was empty.
    Item(Option<T>),
}

impl<T: Value> Model for Queue<T> {
    type Op = QueueOp<T>;
    type Ret = QueueRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            QueueOp::Enqueue(item) => {
                self.0.push_back(item.clone());
                QueueRet::Done
            }
            QueueOp::Dequeue => QueueRet::Item(self.0.pop_front()),
        }
    }

    fn observes(_op: &Self::Op, ret: &Self::Ret) -> bool {
        matches!(ret, QueueRet::Item(None))
    }

    /// Computes the same result as the default implementation, but compares before it copies the queue.
    fn successors(&self, op: &Self::Op, ret: Option<&Self::Ret>, out: &mut Vec<Self>) {
        let returns = match op {
            QueueOp::Enqueue(_) => ret.is_none_or(|ret| *ret == QueueRet::Done),
            QueueOp::Dequeue => match ret {
                Some(QueueRet::Item(item)) => item.as_ref() == self.0.front(),
                Some(QueueRet::Done) => false,
                None => true,
            },
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
        let mut values = Values::with_room(calls.size_hint().0 / 2);
        let initial = self.0.iter().map(|item| values.number(item)).collect();
        let action = |(op, ret): (&Self::Op, Option<&Self::Ret>)| match (op, ret) {
            (QueueOp::Enqueue(item), None | Some(QueueRet::Done)) => {
                Some(Action::Add(values.number(item)))
            }
            (QueueOp::Dequeue, Some(QueueRet::Item(Some(item)))) => {
                Some(Action::Take(values.number(item)))
            }
            (QueueOp::Dequeue, Some(QueueRet::Item(None))) => Some(Action::Empty),
            (QueueOp::Dequeue, None) => Some(Action::TakeUnknown),
            _ => None,
        };
        let actions = calls.map(action).collect::<Option<_>>()?;
        Some(Plain { object: PlainObject::Queue, initial, actions })
    }

    fn written(op: &QueueOp<T>, ret: Option<&QueueRet<T>>) -> Option<Written> {
        let call = match op {
            QueueOp::Enqueue(item) => done("enqueue", datum(item)?),
            QueueOp::Dequeue => done("dequeue", Datum::Nil),
        };
        match (op, ret) {
            (QueueOp::Dequeue, Some(QueueRet::Item(Some(item)))) => {
                Some(Written { answer: datum(item)?, ..call })
            }
            (QueueOp::Dequeue, Some(QueueRet::Item(None)))
            | (QueueOp::Enqueue(_), Some(QueueRet::Done))
            | (_, None) => Some(call),
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("enqueue", &self.0)
    }

    fn name() -> &'static str {
        Queue::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            QueueRet::Done => "ok".to_owned(),
            QueueRet::Item(item) => format!("{item:?}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for Queue {
    const NAME: &'static str = "queue";
    const SUMMARY: &'static str = "enqueue, dequeue; first in, first out";

    fn initial() -> Self {
        Queue::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use QueueRet::{Done, Item};
        vec![
            (QueueOp::Enqueue(1), vec![Done]),
            (QueueOp::Enqueue(2), vec![Done]),
            (QueueOp::Dequeue, vec![Item(Some(2)), Item(Some(1)), Item(None)]),
        ]
    }

    type Recorded = Queue<Datum>;
    const CALLS: &'static [&'static str] = &["enqueue", "dequeue", "enq", "deq"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: Some("[1]"),
            calls: &[("enqueue", "2", "2")],
            allowed: ("dequeue", "nil", "1"),
            rejected: ("dequeue", "nil", "2"),
        },
        FileSample {
            initial: None,
            calls: &[("enq", "1", "1")],
            allowed: ("deq", "nil", "1"),
            rejected: ("deq", "nil", "nil"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Queue<Datum>, String> {
        listed(initial, "a list of the items, the front first")
    }

    fn call(f: &str, value: &Datum) -> Result<QueueOp<Datum>, String> {
        match f {
            "enqueue" | "enq" => item(value).map(QueueOp::Enqueue),
            "dequeue" | "deq" => Ok(QueueOp::Dequeue),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &QueueOp<Datum>) -> bool {
        matches!(op, QueueOp::Enqueue(_))
    }

    /// Reads an item of `nil` as an empty queue.
    fn outcome(
        op: &QueueOp<Datum>,
        value: &Datum,
        _nil: NilRead,
    ) -> Result<Option<QueueRet<Datum>>, String> {
        Ok(Some(match op {
            QueueOp::Enqueue(_) => QueueRet::Done,
            QueueOp::Dequeue => QueueRet::Item(taken(value)),
        }))
    }
}
