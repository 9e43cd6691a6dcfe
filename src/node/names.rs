//! Names of nodes and of what is made for nodes. They are few, so the process keeps each of them
//! once. The names of links and ports are found by numbers, so that the start of a run formats no
//! text.

use std::sync::{Mutex, PoisonError};
use unpause_ordered::Map;

use crate::run::rng::mix;

/// The name of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) text: &'static str,
    /// The name of the node's clock.
    pub(crate) clock: &'static str,
    /// A number for the text, the same in all runs of the process.
    pub(crate) number: u32,
    /// A hash of the text. Keys of objects are made from it, because they must not depend on the
    /// order of added nodes.
    pub(crate) hash: u32,
}

impl Name {
    /// The name with this text.
    pub(crate) fn of(text: &str) -> Name {
        static KNOWN: Mutex<Map<&'static str, Name>> = Mutex::new(Map::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return *name;
        }
        let clock = format!("clock of {text}").leak();
        let hash = text.bytes().fold(1, |hash, byte| mix(hash, u64::from(byte))) as u32;
        let (text, number) = (&clock[clock.len() - text.len()..], known.len() as u32);
        let name = Name { text, clock, number, hash };
        known.insert(name.text, name);
        name
    }
}

/// Texts that are made once in the process, by key.
#[cfg(feature = "tokio")]
pub(crate) struct Texts<K, V: 'static>(Mutex<Map<K, &'static V>>);

#[cfg(feature = "tokio")]
impl<K: Ord, V> Texts<K, V> {
    pub(crate) const fn new() -> Texts<K, V> {
        Texts(Mutex::new(Map::new()))
    }

    /// The texts of a key, which `make` makes the first time.
    pub(crate) fn of(&self, key: K, make: impl FnOnce() -> V) -> &'static V {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Box::leak(Box::new(make())))
    }
}
