//! A map from keys to texts with an append operation.

use unpause_ordered::Map as Ordered;

use super::{FileSample, NilRead, RegisteredModel, Value, no_such_call, unexpected};
use crate::datum::Datum;
use crate::{Key, Model};

/// A map from keys to texts. The append operation of the map reveals lost and repeated updates. A key without a put or
/// an append has the empty text. Histories are checked key by key.
///
/// ```
/// use unpause_check::{models::{TextMap, TextMapOp::*, TextMapRet}, Model};
/// let mut map = TextMap::new();
/// assert_eq!(map.step(&Append("a", "x".into())), TextMapRet::Done);
/// assert_eq!(map.step(&Append("a", "y".into())), TextMapRet::Done);
/// assert_eq!(map.step(&Get("a")), TextMapRet::Text("xy".into()));
/// assert_eq!(map.step(&Get("b")), TextMapRet::Text("".into()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TextMap<K = u64> {
    // Invariant, maintained by `change`: no text is empty, so that equal maps are equal.
    texts: Ordered<K, String>,
}

impl<K> TextMap<K> {
    /// Creates a map in which every text is empty.
    pub fn new() -> Self {
        TextMap { texts: Ordered::new() }
    }
}

impl<K: Ord> TextMap<K> {
    fn change(&mut self, key: K, change: impl FnOnce(&mut String)) {
        let mut text = self.texts.remove(&key).unwrap_or_default();
        change(&mut text);
        if !text.is_empty() {
            self.texts.insert(key, text);
        }
    }
}

impl<K> Default for TextMap<K> {
    fn default() -> Self {
        TextMap::new()
    }
}

impl<K: Ord> FromIterator<(K, String)> for TextMap<K> {
    /// Creates a map with these entries; of two entries with the same key, the later one wins.
    fn from_iter<I: IntoIterator<Item = (K, String)>>(entries: I) -> Self {
        let mut map = TextMap::new();
        for (key, text) in entries {
            map.change(key, |held| *held = text);
        }
        map
    }
}

/// An operation on a [`TextMap`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TextMapOp<K = u64> {
    /// Returns the text of a key.
    Get(K),
    /// Sets the text of a key.
    Put(K, String),
    /// Appends to the text of a key.
    Append(K, String),
}

/// The result of an operation on a [`TextMap`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TextMapRet {
    /// The put or append is done.
    Done,
    /// The text of the key.
    Text(String),
}

impl<K: Value + Ord> Model for TextMap<K> {
    type Op = TextMapOp<K>;
    type Ret = TextMapRet;

    fn step(&mut self, op: &Self::Op) -> TextMapRet {
        match op {
            TextMapOp::Get(key) => {
                return TextMapRet::Text(self.texts.get(key).cloned().unwrap_or_default());
            }
            TextMapOp::Put(key, text) => self.change(key.clone(), |held| held.clone_from(text)),
            TextMapOp::Append(key, text) => self.change(key.clone(), |held| held.push_str(text)),
        }
        TextMapRet::Done
    }

    fn partition(op: &Self::Op) -> Option<Key> {
        let (TextMapOp::Get(key) | TextMapOp::Put(key, _) | TextMapOp::Append(key, _)) = op;
        Some(Key::of(key))
    }

    fn observes(op: &Self::Op, _ret: &TextMapRet) -> bool {
        match op {
            TextMapOp::Get(_) => true,
            TextMapOp::Put(..) => false,
            TextMapOp::Append(_, text) => text.is_empty(),
        }
    }

    fn name() -> &'static str {
        TextMap::NAME
    }

    fn ret_text(ret: &TextMapRet) -> String {
        match ret {
            TextMapRet::Done => "ok".to_owned(),
            TextMapRet::Text(text) => format!("{text:?}"),
        }
    }

    fn state_text(&self) -> String {
        format!("{:?}", self.texts)
    }
}

impl RegisteredModel for TextMap {
    const NAME: &'static str = "text-map";
    const SUMMARY: &'static str = "get, put, append; texts that are empty at first, checked by key";

    fn initial() -> Self {
        TextMap::new()
    }

    fn alphabet() -> Vec<(Self::Op, Vec<TextMapRet>)> {
        let text = |text: &str| TextMapRet::Text(text.to_owned());
        vec![
            (TextMapOp::Append(1, "a".into()), vec![TextMapRet::Done]),
            (TextMapOp::Get(1), vec![text("ab"), text("a"), text("ba"), text("")]),
            (TextMapOp::Append(1, "b".into()), vec![TextMapRet::Done]),
            (TextMapOp::Put(1, "a".into()), vec![TextMapRet::Done]),
            (TextMapOp::Get(2), vec![text("a"), text("")]),
        ]
    }

    type Recorded = TextMap<Datum>;
    const CALLS: &'static [&'static str] = &["get", "put", "append"];
    const KEYED: bool = true;
    const SAMPLES: &'static [FileSample] = &[
        FileSample {
            initial: None,
            calls: &[("append", "[:k \"a\"]", "nil"), ("append", "[:k \"b\"]", "nil")],
            allowed: ("get", "[:k nil]", "[:k \"ab\"]"),
            rejected: ("get", "[:k nil]", "[:k \"ba\"]"),
        },
        FileSample {
            initial: None,
            calls: &[("put", "[:k \"a\"]", "nil")],
            allowed: ("get", ":j", "nil"),
            rejected: ("get", ":k", "nil"),
        },
    ];

    fn recorded(initial: Option<&Datum>) -> Result<TextMap<Datum>, String> {
        match initial {
            None => Ok(TextMap::new()),
            Some(Datum::Map(entries)) => {
                entries.iter().map(|(key, value)| Ok((key.clone(), text(value)?))).collect()
            }
            Some(other) => unexpected("a map of texts", other),
        }
    }

    fn call(f: &str, value: &Datum) -> Result<TextMapOp<Datum>, String> {
        let Some((key, value)) = value.as_pair() else {
            return unexpected("[key text]", value);
        };
        match f {
            "get" => Ok(TextMapOp::Get(key.clone())),
            "put" => Ok(TextMapOp::Put(key.clone(), text(value)?)),
            "append" => Ok(TextMapOp::Append(key.clone(), text(value)?)),
            other => no_such_call::<Self, _>(other),
        }
    }

    fn repeats(op: &TextMapOp<Datum>) -> bool {
        matches!(op, TextMapOp::Put(..) | TextMapOp::Append(..))
    }

    /// Reads a text of `nil` as the empty text.
    fn outcome(
        op: &TextMapOp<Datum>,
        value: &Datum,
        _nil: NilRead,
    ) -> Result<Option<TextMapRet>, String> {
        match op {
            TextMapOp::Get(_) if value.is_nil() => Ok(Some(TextMapRet::Text(String::new()))),
            TextMapOp::Get(_) => Ok(Some(TextMapRet::Text(text(value)?))),
            TextMapOp::Put(..) | TextMapOp::Append(..) => Ok(Some(TextMapRet::Done)),
        }
    }
}

fn text(value: &Datum) -> Result<String, String> {
    match value {
        Datum::Text(text) => Ok(text.to_string()),
        other => unexpected("a text", other),
    }
}
