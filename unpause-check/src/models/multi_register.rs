//! Several registers with transactions that read and write them together.

use unpause_ordered::Map as Ordered;

use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::datum::Datum;
use crate::{Key, Model};

/// A set of registers, each with a key. A transaction reads and writes any number of registers in one atomic step, one
/// access after another. If no transaction accesses two keys, the history is checked key by key.
///
/// ```
/// use unpause_check::Model;
/// use unpause_check::models::{AccessRet, MultiRegister, MultiRegisterOp, MultiRegisterRet, RegisterAccess::*};
/// let mut registers = MultiRegister::new();
/// let swap = MultiRegisterOp(vec![Write("x", 1), Read("x"), Read("y")]);
/// let told = vec![AccessRet::Done, AccessRet::Value(Some(1)), AccessRet::Value(None)];
/// assert_eq!(registers.step(&swap), MultiRegisterRet(told));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MultiRegister<K = u64, T = u64>(Ordered<K, T>);

impl<K, T> MultiRegister<K, T> {
    /// Creates registers without values.
    pub fn new() -> Self {
        MultiRegister(Ordered::new())
    }
}

impl<K, T> Default for MultiRegister<K, T> {
    fn default() -> Self {
        MultiRegister::new()
    }
}

impl<K: Ord, T> FromIterator<(K, T)> for MultiRegister<K, T> {
    /// Creates registers with these values; of two entries with the same key, the later one wins.
    fn from_iter<I: IntoIterator<Item = (K, T)>>(entries: I) -> Self {
        MultiRegister(entries.into_iter().collect())
    }
}

/// One access of a transaction on a [`MultiRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegisterAccess<K = u64, T = u64> {
    /// Returns the value of a key.
    Read(K),
    /// Sets the value of a key.
    Write(K, T),
}

/// A transaction on a [`MultiRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MultiRegisterOp<K = u64, T = u64>(
    /// The accesses of the transaction, in this order.
    pub Vec<RegisterAccess<K, T>>,
);

/// The result of a transaction on a [`MultiRegister`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MultiRegisterRet<T = u64>(
    /// The result of each access.
    pub Vec<AccessRet<T>>,
);

/// The result of one access.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AccessRet<T = u64> {
    /// The write is done.
    Done,
    /// The value; `None` if the register holds no value.
    Value(Option<T>),
    /// The unrecorded result of a read, which any value fits. The model itself never returns this value.
    Unknown,
}

impl<K: Value + Ord, T: Value> Model for MultiRegister<K, T> {
    type Op = MultiRegisterOp<K, T>;
    type Ret = MultiRegisterRet<T>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        let told = op.0.iter().map(|access| match access {
            RegisterAccess::Read(key) => AccessRet::Value(self.0.get(key).cloned()),
            RegisterAccess::Write(key, value) => {
                self.0.insert(key.clone(), value.clone());
                AccessRet::Done
            }
        });
        MultiRegisterRet(told.collect())
    }

    fn accepts(_op: &Self::Op, expected: &Self::Ret, actual: &Self::Ret) -> bool {
        let fits = |(expected, actual): (&AccessRet<T>, &AccessRet<T>)| {
            expected == actual || (*actual == AccessRet::Unknown && *expected != AccessRet::Done)
        };
        expected.0.len() == actual.0.len() && expected.0.iter().zip(&actual.0).all(fits)
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        let keys = op.0.iter().map(|access| match access {
            RegisterAccess::Read(key) | RegisterAccess::Write(key, _) => key,
        });
        let mut keys = keys.collect::<Vec<_>>().into_iter();
        let first = keys.next()?;
        keys.all(|key| key == first).then(|| Key::of(first))
    }

    fn observes(op: &Self::Op, _ret: &Self::Ret) -> bool {
        op.0.iter().all(|access| matches!(access, RegisterAccess::Read(_)))
    }

    fn name() -> &'static str {
        MultiRegister::NAME
    }

    fn op_text(op: &Self::Op) -> String {
        let accesses = op.0.iter().map(|access| match access {
            RegisterAccess::Read(key) => format!("r {key:?}"),
            RegisterAccess::Write(key, value) => format!("w {key:?} {value:?}"),
        });
        format!("[{}]", accesses.collect::<Vec<_>>().join(", "))
    }

    fn ret_text(ret: &Self::Ret) -> String {
        let told = ret.0.iter().map(|told| match told {
            AccessRet::Done => "ok".to_owned(),
            AccessRet::Value(None) => "nil".to_owned(),
            AccessRet::Value(Some(value)) => format!("{value:?}"),
            AccessRet::Unknown => "?".to_owned(),
        });
        format!("[{}]", told.collect::<Vec<_>>().join(", "))
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for MultiRegister {
    const NAME: &'static str = "multi-register";
    const SUMMARY: &'static str = "txn of reads and writes of several keys, all at one moment";

    fn initial() -> Self {
        MultiRegister::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use RegisterAccess::{Read, Write};
        let ret = |told: &[AccessRet]| MultiRegisterRet(told.to_vec());
        let value = |value: Option<u64>| AccessRet::Value(value);
        vec![
            (
                MultiRegisterOp(vec![Write(1, 7), Write(2, 7)]),
                vec![ret(&[AccessRet::Done, AccessRet::Done])],
            ),
            (
                MultiRegisterOp(vec![Read(1), Read(2)]),
                vec![
                    ret(&[value(Some(7)), value(None)]),
                    ret(&[value(Some(7)), value(Some(7))]),
                    ret(&[AccessRet::Unknown, value(None)]),
                ],
            ),
            (
                MultiRegisterOp(vec![Read(1), Write(1, 8)]),
                vec![ret(&[value(None), AccessRet::Done]), ret(&[value(Some(7)), AccessRet::Done])],
            ),
        ]
    }

    type Recorded = MultiRegister<Datum, Datum>;
    const CALLS: &'static [&'static str] = &["txn", "read", "write"];
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: Some("{:x 0}"),
            calls: &[("txn", "[[:w :x 1] [:w :y 2]]", "[[:w :x 1] [:w :y 2]]")],
            allowed: ("txn", "[[:r :x nil] [:r :y nil]]", "[[:r :x 1] [:r :y nil]]"),
            rejected: ("txn", "[[:r :x nil] [:r :y nil]]", "[[:r :x 0] [:r :y 2]]"),
        },
        FileSample {
            initial: None,
            calls: &[("write", "[[:write :x 1]]", "[[:write :x 1]]")],
            allowed: ("read", "[[:read :x nil]]", "[[:read :x 1]]"),
            rejected: ("read", "[[:read :x nil]]", "[[:read :x 2]]"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<MultiRegister<Datum, Datum>, String> {
        match initial {
            None => Ok(MultiRegister::new()),
            Some(Datum::Map(entries)) => Ok(entries.iter().cloned().collect()),
            Some(other) => unexpected("a map", other),
        }
    }

    /// Reads a transaction. A `txn` is a list of `[:read key nil]` and `[:write key value]`, or the same with `:r` and
    /// `:w`. The names `read` and `write` are often used for a transaction that only reads or only writes.
    fn call(f: &str, value: &Datum) -> Result<MultiRegisterOp<Datum, Datum>, String> {
        if !Self::CALLS.contains(&f) {
            return no_such_call::<Self, _>(f);
        }
        let access = |access: &Datum| match access.as_list() {
            Some([kind, key, value]) => match kind.as_name() {
                Some("r" | "read") => Ok(RegisterAccess::Read(key.clone())),
                Some("w" | "write") if value.is_nil() => {
                    unexpected("a value other than nil to be written", access)
                }
                Some("w" | "write") => Ok(RegisterAccess::Write(key.clone(), value.clone())),
                _ => unexpected("[:read key nil] or [:write key value]", access),
            },
            _ => unexpected("[:read key nil] or [:write key value]", access),
        };
        let Some(accesses) = value.as_list() else {
            return unexpected("a list of accesses such as [[:read :x nil] [:write :y 2]]", value);
        };
        accesses.iter().map(access).collect::<Result<_, _>>().map(MultiRegisterOp)
    }

    fn outcome(
        op: &MultiRegisterOp<Datum, Datum>,
        value: &Datum,
        nil: NilRead,
    ) -> Result<Option<MultiRegisterRet<Datum>>, String> {
        let returned = value.as_list().unwrap_or_default();
        if returned.len() != op.0.len() {
            return unexpected("the accesses that were invoked, with what was read", value);
        }
        let told = op.0.iter().zip(returned).map(|(access, returned)| {
            let is = |kind: &Datum| match (access, kind.as_name()) {
                (RegisterAccess::Read(_), kind) => matches!(kind, Some("r" | "read")),
                (RegisterAccess::Write(..), kind) => matches!(kind, Some("w" | "write")),
            };
            let value = match (access, returned.as_list()) {
                (RegisterAccess::Read(key), Some([kind, told, value]))
                    if is(kind) && told == key =>
                {
                    value
                }
                (RegisterAccess::Write(key, written), Some([kind, told, value]))
                    if is(kind) && told == key && (value == written || value.is_nil()) =>
                {
                    value
                }
                _ => {
                    return unexpected("the access that was invoked, with what was read", returned);
                }
            };
            Ok(match access {
                RegisterAccess::Write(..) => AccessRet::Done,
                RegisterAccess::Read(_) if !value.is_nil() => AccessRet::Value(Some(value.clone())),
                RegisterAccess::Read(_) if nil == NilRead::Anything => AccessRet::Unknown,
                RegisterAccess::Read(_) => AccessRet::Value(None),
            })
        });
        told.collect::<Result<_, _>>().map(|told| Some(MultiRegisterRet(told)))
    }
}
