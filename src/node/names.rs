//! Names of nodes and of what is made for nodes. They are few, so the process keeps each of them once, and finds those of a
//! link or a port by numbers: a run that begins makes no text.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The name of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) text: &'static str,
    /// The name of the node's clock.
    pub(crate) clock: &'static str,
    /// A number for the text, the same in all runs of the process.
    pub(crate) number: u32,
}

impl Name {
    /// The name with this text.
    pub(crate) fn of(text: &str) -> Name {
        static KNOWN: Mutex<BTreeMap<&'static str, Name>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return *name;
        }
        let clock = format!("clock of {text}").leak();
        let name =
            Name { text: &clock[clock.len() - text.len()..], clock, number: known.len() as u32 };
        known.insert(name.text, name);
        name
    }
}

/// Texts that are made once in the process, by key.
#[cfg(feature = "tokio")]
pub(crate) struct Texts<K, V: 'static>(Mutex<BTreeMap<K, &'static V>>);

#[cfg(feature = "tokio")]
impl<K: Ord, V> Texts<K, V> {
    pub(crate) const fn new() -> Texts<K, V> {
        Texts(Mutex::new(BTreeMap::new()))
    }

    /// The texts of a key, which `make` makes the first time.
    pub(crate) fn of(&self, key: K, make: impl FnOnce() -> V) -> &'static V {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Box::leak(Box::new(make())))
    }
}
