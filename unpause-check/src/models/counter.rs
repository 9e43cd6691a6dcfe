//! A counter that supports additions.

use super::written::{done, each};
use super::{FileSample, NilRead, RegisteredModel, no_such_call, unexpected};
use crate::Model;
use crate::datum::Datum;
use crate::history::Written;

/// A counter. Sums wrap around, like the sums of atomics.
///
/// ```
/// use unpause_check::{models::{Counter, CounterOp::*, CounterRet}, Model};
/// let mut counter = Counter::default();
/// assert_eq!(counter.step(&Increment), CounterRet::Done);
/// assert_eq!(counter.step(&FetchAdd(-3)), CounterRet::Value(1));
/// assert_eq!(counter.step(&Get), CounterRet::Value(-2));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counter(i64);

impl Counter {
    /// Creates a counter with the sum `value`.
    pub fn new(value: i64) -> Self {
        Counter(value)
    }
}

/// An operation on a [`Counter`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CounterOp {
    /// Adds one.
    Increment,
    /// Adds this number.
    Add(i64),
    /// Adds this number and returns the previous sum.
    FetchAdd(i64),
    /// Returns the sum.
    Get,
}

/// The result of an operation on a [`Counter`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CounterRet {
    /// The number was added.
    Done,
    /// The sum; for [`CounterOp::FetchAdd`], the sum before the addition.
    Value(i64),
}

impl Model for Counter {
    type Op = CounterOp;
    type Ret = CounterRet;

    fn step(&mut self, op: &CounterOp) -> CounterRet {
        let before = self.0;
        let (amount, ret) = match op {
            CounterOp::Increment => (1, CounterRet::Done),
            CounterOp::Add(amount) => (*amount, CounterRet::Done),
            CounterOp::FetchAdd(amount) => (*amount, CounterRet::Value(before)),
            CounterOp::Get => (0, CounterRet::Value(before)),
        };
        self.0 = before.wrapping_add(amount);
        ret
    }

    fn observes(op: &CounterOp, _ret: &CounterRet) -> bool {
        matches!(op, CounterOp::Get | CounterOp::Add(0) | CounterOp::FetchAdd(0))
    }

    fn written(op: &CounterOp, ret: Option<&CounterRet>) -> Option<Written> {
        let call = match op {
            CounterOp::Increment => done("increment", Datum::Nil),
            CounterOp::Add(amount) => done("add", Datum::Integer(*amount)),
            CounterOp::FetchAdd(amount) => done("fetch-add", Datum::Integer(*amount)),
            CounterOp::Get => done("get", Datum::Nil),
        };
        match (op, ret) {
            (CounterOp::Get | CounterOp::FetchAdd(_), Some(CounterRet::Value(value))) => {
                Some(Written { answer: Datum::Integer(*value), ..call })
            }
            (CounterOp::Increment | CounterOp::Add(_), Some(CounterRet::Done)) | (_, None) => {
                Some(call)
            }
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        each("add", [&self.0])
    }

    fn name() -> &'static str {
        Self::NAME
    }

    fn ret_text(ret: &CounterRet) -> String {
        match ret {
            CounterRet::Done => "ok".to_owned(),
            CounterRet::Value(value) => value.to_string(),
        }
    }

    fn state_text(&self) -> String {
        self.0.to_string()
    }
}

impl RegisteredModel for Counter {
    const NAME: &'static str = "counter";
    const SUMMARY: &'static str = "increment, add, fetch-add, get";

    fn initial() -> Self {
        Counter::new(0)
    }

    fn alphabet() -> Vec<(CounterOp, Vec<CounterRet>)> {
        use CounterRet::{Done, Value};
        vec![
            (CounterOp::Get, vec![Value(1), Value(0), Value(2)]),
            (CounterOp::Increment, vec![Done]),
            (CounterOp::FetchAdd(1), vec![Value(0), Value(1)]),
            (CounterOp::Add(2), vec![Done]),
        ]
    }

    type Recorded = Counter;
    const CALLS: &'static [&'static str] = &["read", "get", "add", "increment", "fetch-add"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("add", "3", "3"), ("increment", "nil", "nil")],
            allowed: ("read", "nil", "4"),
            rejected: ("read", "nil", "3"),
        },
        FileSample {
            initial: Some("7"),
            calls: &[],
            allowed: ("fetch-add", "1", "7"),
            rejected: ("fetch-add", "1", "8"),
        },
        FileSample {
            initial: Some("7"),
            calls: &[],
            allowed: ("get", "nil", "7"),
            rejected: ("get", "nil", "0"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Counter, String> {
        initial.map_or(Ok(0), whole).map(Counter)
    }

    fn call(f: &str, value: &Datum) -> Result<CounterOp, String> {
        match f {
            "read" | "get" => Ok(CounterOp::Get),
            "increment" => Ok(CounterOp::Increment),
            "add" => whole(value).map(CounterOp::Add),
            "fetch-add" => whole(value).map(CounterOp::FetchAdd),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &CounterOp) -> bool {
        matches!(op, CounterOp::Add(_))
    }

    fn outcome(op: &CounterOp, value: &Datum, nil: NilRead) -> Result<Option<CounterRet>, String> {
        match op {
            CounterOp::Increment | CounterOp::Add(_) => Ok(Some(CounterRet::Done)),
            CounterOp::Get if value.is_nil() && nil == NilRead::Anything => Ok(None),
            CounterOp::Get | CounterOp::FetchAdd(_) => {
                whole(value).map(|number| Some(CounterRet::Value(number)))
            }
        }
    }
}

fn whole(value: &Datum) -> Result<i64, String> {
    value.as_integer().map_or_else(|| unexpected("a whole number of at most 64 bits", value), Ok)
}
