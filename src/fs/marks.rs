//! The disk objects that searches and screens use: inodes, paths, and parts of files.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unpause_ordered::Map;

use crate::disk::{Ino, UNIT};
use crate::run::event::ValueKind;
use crate::seam::{Here, Wrapped};

/// The objects (marks) of one disk.
pub(super) struct Marks {
    /// The key of the disk.
    machine: u32,
    inodes: Vec<InodeMark>,
    /// Paths that were passed to calls.
    paths: Map<PathBuf, Arc<Wrapped>>,
    /// The number of inodes that were created under each path.
    made: Map<PathBuf, u32>,
    parts: Map<(Ino, PartOf), Arc<Wrapped>>,
}

struct InodeMark {
    mark: Arc<Wrapped>,
    /// The path under which the inode was created, and the number of earlier inodes under this path. The path and the
    /// number replace the inode number, which depends on other tasks.
    made: (PathBuf, u32),
}

/// A part of a file. Words, sectors and contents are parts of mapped files only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum PartOf {
    /// All contents of the file.
    Contents,
    /// The failed syncs.
    Errors,
    Word(u64),
    Sector(u64),
}

impl Marks {
    pub(super) fn new(machine: u32, root: Wrapped) -> Marks {
        let root = InodeMark { mark: Arc::new(root), made: ("/".into(), 0) };
        let (paths, made, parts) = (Map::new(), Map::new(), Map::new());
        Marks { machine, inodes: vec![root], paths, made, parts }
    }

    /// Returns a key that does not depend on which task uses the object first.
    fn key(&self, of: impl Hash) -> u32 {
        const HASHED: u32 = 1 << 30;
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        (self.machine, of).hash(&mut hasher);
        (hasher.finish() >> 32) as u32 & (HASHED - 1) | HASHED
    }

    /// Returns the object on which a call with `path` is announced.
    pub(super) fn path(&mut self, path: &Path, here: Here) -> Arc<Wrapped> {
        if let Some(known) = self.paths.get(path) {
            return known.clone();
        }
        let key = self.key(path);
        let mark = Wrapped::outside_keyed("path", &path.to_string_lossy(), key, here);
        self.paths.entry(path.to_owned()).or_insert(Arc::new(mark)).clone()
    }

    /// Returns the number of inodes with a mark.
    pub(super) fn inodes(&self) -> u64 {
        self.inodes.len() as u64
    }

    /// Adds the next inode, which a call with `path` created.
    pub(super) fn add_inode(&mut self, is_directory: bool, path: &Path, here: Here) {
        // The kind distinguishes this name from the name of the path, which is an object, too.
        let kind = if is_directory { "directory" } else { "file" };
        let name = format!("{kind} {}", path.display());
        let mark = Arc::new(Wrapped::outside_named(kind, &name, here));
        let count = self.made.entry(path.to_owned()).or_default();
        self.inodes.push(InodeMark { mark, made: (path.to_owned(), *count) });
        *count += 1;
    }

    pub(super) fn inode(&self, ino: Ino) -> Arc<Wrapped> {
        self.inodes[ino.0 as usize].mark.clone()
    }

    /// Forgets all inodes except the root, because the disk is new.
    pub(super) fn forget_files(&mut self) {
        self.inodes.truncate(1);
        self.parts.clear();
    }

    /// Returns the object of a word in a mapped file, with the name and the value kind of its first user.
    pub(super) fn word(
        &mut self,
        ino: Ino,
        unit: u64,
        (name, values): (&dyn Fn() -> String, ValueKind),
        here: Here,
    ) -> Arc<Wrapped> {
        let part = PartOf::Word(unit);
        if let Some(known) = self.parts.get(&(ino, part)) {
            return known.clone();
        }
        let key = self.key((&self.inodes[ino.0 as usize].made, part));
        let mark = Arc::new(Wrapped::outside_word(&name(), values, key, here));
        self.parts.insert((ino, part), mark.clone());
        mark
    }

    pub(super) fn part(&mut self, ino: Ino, part: PartOf, here: Here) -> Arc<Wrapped> {
        if let Some(known) = self.parts.get(&(ino, part)) {
            return known.clone();
        }
        let made = self.inodes[ino.0 as usize].made.clone();
        let path = made.0.display();
        let (kind, name) = match part {
            PartOf::Contents => ("contents", format!("contents of {path}")),
            PartOf::Errors => ("errors", format!("failed syncs of {path}")),
            PartOf::Word(unit) => {
                let name = || format!("{path}+{}", unit * UNIT);
                return self.word(ino, unit, (&name, ValueKind::Unsigned), here);
            }
            PartOf::Sector(index) => ("sector", format!("sector {index} of {path}")),
        };
        let mark = Arc::new(Wrapped::outside_keyed(kind, &name, self.key((&made, part)), here));
        self.parts.insert((ino, part), mark.clone());
        mark
    }
}

/// FNV-1a: gives the same hash in each run and on each machine, unlike the hasher of std.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
