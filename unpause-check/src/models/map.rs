//! A map of values by key.

use unpause_ordered::Map as Ordered;

use super::written::{datum, done};
use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::datum::Datum;
use crate::history::Written;
use crate::{Key, Model};

/// A map from keys to values, such as a key-value store. Histories are checked key by key, unless they contain
/// [`MapOp::Len`].
///
/// ```
/// use unpause_check::{models::{Map, MapOp::*, MapRet}, Model};
/// let mut map = Map::new();
/// assert_eq!(map.step(&Put("a", 1)), MapRet::Value(None));
/// assert_eq!(map.step(&Put("a", 2)), MapRet::Value(Some(1)));
/// assert_eq!(map.step(&Get("a")), MapRet::Value(Some(2)));
/// assert_eq!(map.step(&Len), MapRet::Len(1));
/// assert_eq!(map.step(&Delete("a")), MapRet::Value(Some(2)));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Map<K = u64, V = u64>(Ordered<K, V>);

impl<K, V> Map<K, V> {
    /// Creates an empty map.
    pub fn new() -> Self {
        Map(Ordered::new())
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map::new()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    /// Creates a map with these entries; of two entries with the same key, the later one wins.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Map(entries.into_iter().collect())
    }
}

/// An operation on a [`Map`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MapOp<K = u64, V = u64> {
    /// Returns the value of a key.
    Get(K),
    /// Sets the value of a key and returns the previous value.
    Put(K, V),
    /// Removes a key and returns its value.
    Delete(K),
    /// Returns the number of keys. A history with such an operation is not checked key by key.
    Len,
}

/// The result of an operation on a [`Map`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum MapRet<V = u64> {
    /// The current or previous value of the key; `None` if the key is or was absent.
    Value(Option<V>),
    /// The number of keys.
    Len(usize),
    /// The put or delete is done; the previous value is unknown.
    Done,
}

impl<K: Value + Ord, V: Value> Model for Map<K, V> {
    type Op = MapOp<K, V>;
    type Ret = MapRet<V>;

    fn step(&mut self, op: &Self::Op) -> Self::Ret {
        match op {
            MapOp::Get(key) => MapRet::Value(self.0.get(key).cloned()),
            MapOp::Put(key, value) => MapRet::Value(self.0.insert(key.clone(), value.clone())),
            MapOp::Delete(key) => MapRet::Value(self.0.remove(key)),
            MapOp::Len => MapRet::Len(self.0.len()),
        }
    }

    /// Also accepts `MapRet::Done`, which omits the previous value, as the result of a put or delete.
    fn accepts(op: &Self::Op, expected: &Self::Ret, actual: &Self::Ret) -> bool {
        let told_nothing =
            matches!(op, MapOp::Put(..) | MapOp::Delete(_)) && *actual == MapRet::Done;
        told_nothing || expected == actual
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        match op {
            MapOp::Get(key) | MapOp::Put(key, _) | MapOp::Delete(key) => Some(Key::of(key)),
            MapOp::Len => None,
        }
    }

    fn observes(op: &Self::Op, ret: &Self::Ret) -> bool {
        match op {
            MapOp::Get(_) | MapOp::Len => true,
            MapOp::Put(..) => false,
            MapOp::Delete(_) => *ret == MapRet::Value(None),
        }
    }

    fn written(op: &MapOp<K, V>, ret: Option<&MapRet<V>>) -> Option<Written> {
        let (f, key, value) = match op {
            MapOp::Get(key) => ("get", datum(key)?, Datum::Nil),
            MapOp::Put(key, value) => ("put", datum(key)?, datum(value)?),
            MapOp::Delete(key) => ("delete", datum(key)?, Datum::Nil),
            MapOp::Len => {
                let answer = match ret {
                    Some(MapRet::Len(len)) => datum(len)?,
                    None => Datum::Nil,
                    Some(_) => return None,
                };
                return Some(Written { f: "len", value: Datum::Nil, answer });
            }
        };
        let call = done(f, Datum::list([key.clone(), value]));
        match (op, ret) {
            (MapOp::Get(_), Some(MapRet::Value(Some(value)))) => {
                Some(Written { answer: Datum::list([key, datum(value)?]), ..call })
            }
            (MapOp::Get(_), Some(MapRet::Value(None)))
            | (MapOp::Put(..) | MapOp::Delete(_), Some(MapRet::Done))
            | (_, None) => Some(call),
            _ => None,
        }
    }

    fn written_before(&self) -> Option<Vec<Written>> {
        let put = |(key, value)| Some(done("put", Datum::list([datum(key)?, datum(value)?])));
        self.0.iter().map(put).collect()
    }

    fn name() -> &'static str {
        Map::NAME
    }

    fn ret_text(ret: &Self::Ret) -> String {
        match ret {
            MapRet::Value(value) => format!("{value:?}"),
            MapRet::Len(len) => len.to_string(),
            MapRet::Done => "ok".to_owned(),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl RegisteredModel for Map {
    const NAME: &'static str = "map";
    const SUMMARY: &'static str = "get, put, delete, len; checked by key";

    fn initial() -> Self {
        Map::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<Self::Ret>)> {
        use MapRet::{Done, Len, Value};
        vec![
            (MapOp::Put(1, 7), vec![Value(None), Value(Some(7))]),
            (MapOp::Put(2, 7), vec![Done]),
            (MapOp::Get(2), vec![Value(Some(7)), Value(None)]),
            (MapOp::Delete(1), vec![Value(Some(7)), Value(None)]),
            (MapOp::Len, vec![Len(1)]),
        ]
    }

    type Recorded = Map<Datum, Datum>;
    const CALLS: &'static [&'static str] = &["get", "put", "delete", "len"];
    const KEYED: bool = true;
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("put", "[:k 1]", "[:k 1]")],
            allowed: ("get", "[:k nil]", "[:k 1]"),
            rejected: ("get", "[:k nil]", "[:k nil]"),
        },
        FileSample {
            initial: Some("{:k 1}"),
            calls: &[("delete", ":k", "nil")],
            allowed: ("len", "nil", "0"),
            rejected: ("len", "nil", "1"),
        },
        FileSample {
            initial: Some("{:k 1}"),
            calls: &[],
            allowed: ("get", ":k", "1"),
            rejected: ("get", ":k", "2"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<Map<Datum, Datum>, String> {
        match initial {
            None => Ok(Map::new()),
            Some(Datum::Map(entries)) => Ok(entries.iter().cloned().collect()),
            Some(other) => unexpected("a map", other),
        }
    }

    fn call(f: &str, value: &Datum) -> Result<MapOp<Datum, Datum>, String> {
        if f == "len" {
            return Ok(MapOp::Len);
        }
        let Some((key, value)) = value.as_pair() else {
            return unexpected("[key value]", value);
        };
        match f {
            "get" => Ok(MapOp::Get(key.clone())),
            "put" if value.is_nil() => unexpected("a value other than nil", value),
            "put" => Ok(MapOp::Put(key.clone(), value.clone())),
            "delete" => Ok(MapOp::Delete(key.clone())),
            other => no_such_call::<Self, _>(other),
        }
    }

    /// Reads a value of `nil` as an absent value. Ignores the value of a put or a delete, because files contain the new
    /// value, the old value, or no value.
    fn outcome(
        op: &MapOp<Datum, Datum>,
        value: &Datum,
        _nil: NilRead,
    ) -> Result<Option<MapRet<Datum>>, String> {
        match op {
            MapOp::Get(_) => {
                Ok(Some(MapRet::Value(Some(value.clone()).filter(|value| !value.is_nil()))))
            }
            MapOp::Put(..) | MapOp::Delete(_) => Ok(Some(MapRet::Done)),
            MapOp::Len => match value.as_integer().and_then(|len| usize::try_from(len).ok()) {
                Some(len) => Ok(Some(MapRet::Len(len))),
                None => unexpected("a number of keys", value),
            },
        }
    }
}
