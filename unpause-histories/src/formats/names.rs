//! A table with one copy of each name that a file repeats on many lines.

use std::collections::HashSet;
use std::sync::Arc;

/// The maximum number of names in the table. If there are more, they are probably values.
const NAMES_MAX: usize = 1024;
/// The maximum length of a name. A longer text is probably a value.
const LENGTH_MAX: usize = 64;

#[derive(Default)]
pub(super) struct NameTable(HashSet<Arc<str>>);

impl NameTable {
    /// Returns the name, shared with earlier equal names.
    pub(super) fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        if self.0.len() < NAMES_MAX && name.len() <= LENGTH_MAX {
            self.0.insert(name.clone());
        }
        name
    }
}
