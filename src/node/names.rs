//! Names of nodes, and texts derived from them. There are few, so the process caches each of them.
//! The names of links and ports are looked up by number, so the start of a run formats no text.

use std::sync::{Mutex, PoisonError};
use unpause_ordered::Map;

use crate::run::rng::mix;

/// The name of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    pub(crate) text: &'static str,
    /// The name of the node's clock.
    pub(crate) clock: &'static str,
    /// A number for the text. The number is the same in all runs of the process.
    pub(crate) number: u32,
    /// A hash of the text. Object keys are derived from it, because they must not depend on the
    /// order in which nodes are added.
    pub(crate) hash: u32,
}

impl Name {
    /// Returns the name with this text.
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

/// A cache of texts, each created once in the process for its key.
#[cfg(feature = "tokio")]
pub(crate) struct Texts<K, V: 'static>(Mutex<Map<K, &'static V>>);

#[cfg(feature = "tokio")]
impl<K: Ord, V> Texts<K, V> {
    pub(crate) const fn new() -> Texts<K, V> {
        Texts(Mutex::new(Map::new()))
    }

    /// Returns the value for a key. On first use, `make` creates the value.
    pub(crate) fn of(&self, key: K, make: impl FnOnce() -> V) -> &'static V {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| Box::leak(Box::new(make())))
    }
}
