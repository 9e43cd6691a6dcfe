//! One copy of each name that a file repeats on every line.

use std::collections::HashSet;
use std::sync::Arc;

/// The number of names above which they are taken for values.
const NAMES_MAX: usize = 1024;
/// The length above which a text is taken for a value.
const LENGTH_MAX: usize = 64;

#[derive(Default)]
pub(super) struct NameTable(HashSet<Arc<str>>);

impl NameTable {
    /// The name, shared with equal ones before.
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
