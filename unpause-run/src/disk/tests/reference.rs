//! The declarative definition: a disk after a crash is the durable disk with a subset of the pending effects. If the
//! subset contains an effect, it also contains all effects that must precede it.
//!
//! Written without the model, from the table of rules: a map of values, a list of effects, an order that is a predicate
//! on two effects, and all subsets.

use std::collections::{BTreeMap, BTreeSet};

use super::program::Act;
use super::{Rules, text};

const SECTOR: u64 = 2;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Loc {
    Size(u64),
    Sector(u64, u64),
    Entry(u64, String),
}

/// The value of a location: bytes, or a number; the number of no inode is `None`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Val {
    Bytes([u8; 2]),
    Number(Option<u64>),
}

type Image = BTreeMap<Loc, Val>;

#[derive(Clone, Debug)]
struct Effect {
    sets: Image,
    metadata: bool,
    /// The inodes with a failed sync that should have written it.
    failed: BTreeSet<u64>,
    after_previous: bool,
    durable: bool,
}

#[derive(Clone)]
pub(super) struct Reference {
    rules: Rules,
    durable: Image,
    now: Image,
    /// All effects so far, including effects that are already durable.
    effects: Vec<Effect>,
    directories: BTreeSet<u64>,
    /// Sectors that were ever written.
    written: BTreeSet<(u64, u64)>,
    next: u64,
}

impl Reference {
    pub(super) fn new(rules: Rules) -> Reference {
        Reference {
            rules,
            durable: Image::new(),
            now: Image::new(),
            effects: Vec::new(),
            directories: BTreeSet::from([0]),
            written: BTreeSet::new(),
            next: 1,
        }
    }

    /// True if effect `b` is on disk only with effect `a`.
    fn orders(&self, a: usize, b: usize) -> bool {
        let (rules, first, second) = (self.rules, &self.effects[a], &self.effects[b]);
        if a >= b || first.durable || second.durable {
            return false;
        }
        let shares = first.sets.keys().any(|loc| second.sets.contains_key(loc));
        let halves = second.after_previous && b == a + 1;
        let journal = rules.metadata_in_order && first.metadata && second.metadata;
        let under = rules.data_before_size
            && second.sets.keys().any(|loc| {
                let Loc::Size(ino) = loc else { return false };
                first.sets.keys().any(|loc| matches!(loc, Loc::Sector(of, _) if of == ino))
            });
        shares
            || halves
            || (first.failed.is_empty() && (rules.everything_in_order || journal || under))
    }

    fn pending(&self) -> Vec<usize> {
        (0..self.effects.len()).filter(|id| !self.effects[*id].durable).collect()
    }

    pub(super) fn pending_count(&self) -> usize {
        self.pending().len()
    }

    fn make_durable(&mut self, mut wanted: BTreeSet<usize>) {
        loop {
            let more =
                self.pending().into_iter().filter(|a| wanted.iter().any(|b| self.orders(*a, *b)));
            let before = wanted.len();
            wanted.extend(more.collect::<Vec<_>>());
            if wanted.len() == before {
                break;
            }
        }
        for id in wanted {
            self.effects[id].durable = true;
            self.durable.extend(self.effects[id].sets.clone());
        }
    }

    /// The pending effects on the contents of a file, or on the entries of a directory.
    fn on_inode(&self, ino: u64) -> BTreeSet<usize> {
        let is_on = |loc: &Loc| match loc {
            Loc::Size(of) | Loc::Sector(of, _) | Loc::Entry(of, _) => *of == ino,
        };
        let pending = self.pending().into_iter();
        pending.filter(|id| self.effects[*id].sets.keys().any(is_on)).collect()
    }

    fn push<const N: usize>(&mut self, sets: [(Loc, Val); N], metadata: bool) {
        let sets = Image::from(sets);
        self.now.extend(sets.clone());
        let (failed, after_previous, durable) = (BTreeSet::new(), false, false);
        self.effects.push(Effect { sets, metadata, failed, after_previous, durable });
    }

    /// Everything is on disk.
    fn sync_all(&mut self) {
        self.make_durable(self.pending().into_iter().collect());
    }

    fn entry(image: &Image, dir: u64, name: &str) -> Option<u64> {
        match image.get(&Loc::Entry(dir, name.to_owned())) {
            Some(Val::Number(ino)) => *ino,
            _ => None,
        }
    }

    fn look(&self, image: &Image, path: &str) -> Option<u64> {
        let mut ino = 0;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !self.directories.contains(&ino) {
                return None;
            }
            ino = Self::entry(image, ino, name)?;
        }
        Some(ino)
    }

    fn parent(&self, path: &str) -> Option<(u64, String)> {
        let (head, name) = path.rsplit_once('/')?;
        let dir = self.look(&self.now, head)?;
        self.directories.contains(&dir).then(|| (dir, name.to_owned()))
    }

    /// The directories on the way to the last component of a path.
    fn above(&self, path: &str) -> Vec<Option<u64>> {
        let slashes = path.match_indices('/').map(|(at, _)| at);
        slashes.map(|at| self.look(&self.now, &path[..at])).collect()
    }

    fn file(&self, path: &str) -> Option<u64> {
        self.look(&self.now, path).filter(|ino| !self.directories.contains(ino))
    }

    fn is_empty(&self, dir: u64) -> bool {
        let mut entries = self.now.iter();
        !entries.any(|(loc, val)| {
            matches!(loc, Loc::Entry(of, _) if *of == dir) && *val != Val::Number(None)
        })
    }

    fn size(image: &Image, ino: u64) -> u64 {
        match image.get(&Loc::Size(ino)) {
            Some(Val::Number(Some(size))) => *size,
            _ => 0,
        }
    }

    fn bytes(image: &Image, ino: u64, index: u64) -> [u8; 2] {
        match image.get(&Loc::Sector(ino, index)) {
            Some(Val::Bytes(bytes)) => *bytes,
            _ => [0; 2],
        }
    }

    fn make(&mut self, path: &str) -> Option<u64> {
        let (dir, name) = self.parent(path)?;
        if Self::entry(&self.now, dir, &name).is_some() {
            return None;
        }
        let ino = self.next;
        self.next += 1;
        self.push([(Loc::Entry(dir, name), Val::Number(Some(ino)))], true);
        Some(ino)
    }

    fn write(&mut self, ino: u64, at: u64, bytes: &[u8]) {
        let (size, end) = (Self::size(&self.now, ino), at + bytes.len() as u64);
        for index in at / SECTOR..end.div_ceil(SECTOR) {
            let mut value = Self::bytes(&self.now, ino, index);
            for (within, byte) in value.iter_mut().enumerate() {
                let position = index * SECTOR + within as u64;
                if (at..end).contains(&position) {
                    *byte = bytes[(position - at) as usize];
                }
            }
            self.written.insert((ino, index));
            self.push([(Loc::Sector(ino, index), Val::Bytes(value))], false);
        }
        if end > size {
            self.push([(Loc::Size(ino), Val::Number(Some(end)))], true);
        }
    }

    /// Stores bytes through a map, in a separate effect for each sector.
    fn store(&mut self, ino: u64, at: u64, bytes: &[u8]) {
        if at + bytes.len() as u64 <= Self::size(&self.now, ino) {
            self.write(ino, at, bytes);
        }
    }

    /// Returns the effects on the sectors of these bytes that a sync of the bytes writes.
    fn on_bytes(&self, ino: u64, from: u64, to: u64) -> BTreeSet<usize> {
        let is_in = |loc: &Loc| match loc {
            Loc::Sector(of, index) => {
                *of == ino && (from / SECTOR..to.div_ceil(SECTOR)).contains(index)
            }
            _ => false,
        };
        let mut effects = self.on_inode(ino);
        effects.retain(|id| {
            let Effect { sets, failed, .. } = &self.effects[*id];
            sets.keys().any(is_in) && !failed.contains(&ino)
        });
        effects
    }

    /// All written sectors between the two lengths are cut, including sectors that a crash has
    /// lost.
    fn truncate(&mut self, ino: u64, len: u64) {
        let old = Self::size(&self.now, ino);
        if len == old {
            return;
        }
        self.push([(Loc::Size(ino), Val::Number(Some(len)))], true);
        let mut sets = Image::new();
        for index in len / SECTOR..old.div_ceil(SECTOR) {
            let mut bytes = Self::bytes(&self.now, ino, index);
            for (within, byte) in bytes.iter_mut().enumerate() {
                if index * SECTOR + within as u64 >= len {
                    *byte = 0;
                }
            }
            if self.written.contains(&(ino, index)) {
                sets.insert(Loc::Sector(ino, index), Val::Bytes(bytes));
            }
        }
        self.now.extend(sets.clone());
        self.effects.last_mut().expect("pushed").sets.extend(sets);
    }

    /// Makes a call.
    pub(super) fn act(&mut self, act: &Act) {
        // An impossible call does nothing.
        let _ = self.try_act(act);
    }

    fn try_act(&mut self, act: &Act) -> Option<()> {
        match act {
            Act::Mkdir(path) => {
                let ino = self.make(path)?;
                self.directories.insert(ino);
            }
            Act::Create(path) => drop(self.make(path)?),
            Act::Write(path, at, bytes) => self.write(self.file(path)?, *at, bytes),
            Act::Append(path, bytes) => {
                let ino = self.file(path)?;
                self.write(ino, Self::size(&self.now, ino), bytes);
            }
            Act::Store(path, at, bytes) => self.store(self.file(path)?, *at, bytes),
            Act::Flush(path, from, to) => {
                let mut covered = self.on_bytes(self.file(path)?, *from, *to);
                if self.rules.sync_covers_journal {
                    covered
                        .extend(self.pending().into_iter().filter(|id| self.effects[*id].metadata));
                }
                self.make_durable(covered);
            }
            Act::FailFlush(path, from, to) => {
                let ino = self.file(path)?;
                for id in self.on_bytes(ino, *from, *to) {
                    self.effects[id].failed.insert(ino);
                }
            }
            Act::Truncate(path, len) => self.truncate(self.file(path)?, *len),
            Act::Rename(from, to) => self.rename(from, to)?,
            Act::Link(from, to) => {
                let (ino, (dir, name)) = (self.file(from)?, self.parent(to)?);
                if Self::entry(&self.now, dir, &name).is_none() {
                    self.push([(Loc::Entry(dir, name), Val::Number(Some(ino)))], true);
                }
            }
            Act::Unlink(path) => {
                let ((dir, name), _) = (self.parent(path)?, self.file(path)?);
                self.push([(Loc::Entry(dir, name), Val::Number(None))], true);
            }
            Act::Rmdir(path) => {
                let ((dir, name), ino) = (self.parent(path)?, self.look(&self.now, path)?);
                if self.directories.contains(&ino) && self.is_empty(ino) {
                    self.push([(Loc::Entry(dir, name), Val::Number(None))], true);
                }
            }
            Act::Sync(path) => {
                let ino = self.look(&self.now, path)?;
                let mut covered = self.on_inode(ino);
                covered.retain(|id| !self.effects[*id].failed.contains(&ino));
                if self.rules.sync_covers_journal {
                    covered
                        .extend(self.pending().into_iter().filter(|id| self.effects[*id].metadata));
                }
                self.make_durable(covered);
            }
            Act::FailSync(path) => {
                let ino = self.look(&self.now, path)?;
                for id in self.on_inode(ino) {
                    self.effects[id].failed.insert(ino);
                }
            }
            Act::SyncAll => self.sync_all(),
        }
        Some(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Option<()> {
        let ((old_dir, old_name), (dir, name)) = (self.parent(from)?, self.parent(to)?);
        let (ino, replaced) = (self.look(&self.now, from)?, self.look(&self.now, to));
        let is_directory = self.directories.contains(&ino);
        // No directory moves into itself or over one of its ancestors, under any name.
        if self.above(to).contains(&Some(ino))
            || (replaced.is_some() && self.above(from).contains(&replaced))
        {
            return None;
        }
        if let Some(replaced) = replaced {
            let same_kind = is_directory == self.directories.contains(&replaced);
            if replaced == ino || !same_kind || (is_directory && !self.is_empty(replaced)) {
                return None;
            }
            if self.rules.rename_flushes && !is_directory {
                let mut contents = self.on_inode(ino);
                contents.retain(|id| !self.effects[*id].failed.contains(&ino));
                self.make_durable(contents);
            }
        }
        let added = (Loc::Entry(dir, name), Val::Number(Some(ino)));
        let gone = (Loc::Entry(old_dir, old_name), Val::Number(None));
        if self.rules.rename_is_atomic {
            self.push([added, gone], true);
        } else {
            self.push([added], true);
            self.push([gone], true);
            self.effects.last_mut().expect("pushed").after_previous = true;
        }
        Some(())
    }

    /// All images that a crash may leave.
    fn images(&self) -> BTreeSet<Image> {
        let pending = self.pending();
        let mut images = BTreeSet::new();
        for subset in 0..1u64 << pending.len() {
            let kept = |at: usize| subset >> at & 1 == 1;
            let is_closed = (0..pending.len())
                .filter(|b| kept(*b))
                .all(|b| (0..b).all(|a| kept(a) || !self.orders(pending[a], pending[b])));
            if is_closed {
                let mut image = self.durable.clone();
                for at in (0..pending.len()).filter(|at| kept(*at)) {
                    image.extend(self.effects[pending[at]].sets.clone());
                }
                images.insert(image);
            }
        }
        images
    }

    /// Returns the disks with which recovery may start. Bytes after the end of a file are zeros.
    pub(super) fn crashed(&self) -> Vec<Reference> {
        let images: BTreeSet<Image> =
            self.images().into_iter().map(|image| self.cut_off(image)).collect();
        let reopened = images.into_iter().map(|image| {
            let effects = Vec::new();
            Reference { durable: image.clone(), now: image, effects, ..self.clone() }
        });
        reopened.collect()
    }

    fn cut_off(&self, image: Image) -> Image {
        let sizes = image.clone();
        let values = image.into_iter().map(|(loc, val)| match (&loc, val) {
            (Loc::Sector(ino, index), Val::Bytes(mut bytes)) => {
                for (within, byte) in bytes.iter_mut().enumerate() {
                    if index * SECTOR + within as u64 >= Self::size(&sizes, *ino) {
                        *byte = 0;
                    }
                }
                (loc, Val::Bytes(bytes))
            }
            (_, val) => (loc, val),
        });
        values.collect()
    }

    /// Returns the contents that processes see at these paths.
    pub(super) fn show(&self, paths: &[&str]) -> Vec<String> {
        let seen = paths.iter().map(|path| match self.look(&self.now, path) {
            None => "-".to_owned(),
            Some(ino) if self.directories.contains(&ino) => "dir".to_owned(),
            Some(ino) => {
                let size = Self::size(&self.now, ino);
                let sectors =
                    (0..size.div_ceil(SECTOR)).flat_map(|i| Self::bytes(&self.now, ino, i));
                text(&sectors.take(size as usize).collect::<Vec<u8>>())
            }
        });
        seen.collect()
    }
}
