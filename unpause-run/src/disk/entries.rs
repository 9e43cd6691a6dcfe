//! Paths and directory entries. The errors, and the order of the checks for them, are the same as on Linux.

use std::path::{Component, Path};

use super::disk_error::Error;
use super::location::{Ino, Kind, Location, Name, ROOT, Value};
use super::{Call, Object};

/// The maximum length of a name, in bytes.
const NAME_MAX: usize = 255;

/// Properties of a file or a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    pub ino: Ino,
    pub kind: Kind,
    /// The length of a file in bytes; 0 for a directory.
    pub len: u64,
}

/// The last component of a path in an existing directory. The component itself need not exist.
pub(super) struct Target {
    /// The directories from `/` to the directory that contains the entry.
    dirs: Vec<Ino>,
    /// The name of the entry; `None` if the path ends in a directory without naming it: `/`, `.` or `..`.
    pub(super) name: Option<Name>,
    pub(super) has_slash: bool,
}

impl Target {
    pub(super) fn dir(&self) -> Ino {
        *self.dirs.last().expect("starts at the root")
    }
}

/// Returns `true` for a path such as `d/.`, because `Path::components` omits this dot.
fn ends_in_dot(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    bytes[..end] == *b"." || bytes[..end].ends_with(b"/.")
}

impl Call<'_> {
    /// Resolves `path` up to its last component. Relative paths start at `/`.
    pub(super) fn walk(&mut self, path: &Path) -> Result<Target, Error> {
        if path.as_os_str().is_empty() {
            return Err(Error::NOT_FOUND);
        }
        let has_slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let mut target = Target { dirs: vec![ROOT], name: None, has_slash };
        for component in path.components() {
            self.enter(&mut target)?;
            match component {
                Component::Normal(name) if name.len() > NAME_MAX => {
                    return Err(Error::NAME_TOO_LONG);
                }
                Component::Normal(name) => target.name = Some(name.into()),
                // The parent of the root is the root.
                Component::ParentDir if target.dirs.len() > 1 => drop(target.dirs.pop()),
                _ => {}
            }
        }
        if ends_in_dot(path) {
            self.enter(&mut target)?;
        }
        Ok(target)
    }

    /// Enters the directory that is the last component so far, if this component has a name.
    fn enter(&mut self, target: &mut Target) -> Result<(), Error> {
        let Some(name) = target.name.take() else { return Ok(()) };
        let dir = target.dir();
        self.accesses.read(Object::Inode(dir));
        let ino = self.entry(dir, &name).ok_or(Error::NOT_FOUND)?;
        self.expect_directory(ino)?;
        target.dirs.push(ino);
        Ok(())
    }

    /// Returns the inode at `target`, if any.
    pub(super) fn find(&mut self, target: &Target) -> Option<Ino> {
        let dir = target.dir();
        let Some(name) = &target.name else { return Some(dir) };
        self.accesses.read(Object::Inode(dir));
        self.entry(dir, name)
    }

    /// Returns the inode at `path`, or an error if it does not exist.
    pub(super) fn existing(&mut self, path: &Path) -> Result<Ino, Error> {
        let target = self.walk(path)?;
        let ino = self.find(&target).ok_or(Error::NOT_FOUND)?;
        if target.has_slash {
            self.expect_directory(ino)?;
        }
        Ok(ino)
    }

    pub(super) fn kind(&self, ino: Ino) -> Kind {
        self.disk.kinds[ino.0 as usize]
    }

    fn expect_directory(&self, ino: Ino) -> Result<(), Error> {
        match self.kind(ino) {
            Kind::Directory => Ok(()),
            Kind::File => Err(Error::NOT_A_DIRECTORY),
        }
    }

    fn is_empty(&mut self, dir: Ino) -> bool {
        self.accesses.read(Object::Inode(dir));
        let mut names = self.possible_names(dir).into_iter();
        !names.any(|name| self.entry(dir, &name).is_some())
    }

    /// Creates a file or directory with the name `name` in `dir`, which has no such entry.
    pub(super) fn make(&mut self, dir: Ino, name: &Name, kind: Kind) -> Ino {
        let ino = self.disk.add_inode(kind);
        self.link(dir, name, ino);
        ino
    }

    fn link(&mut self, dir: Ino, name: &Name, ino: Ino) {
        self.disk.room.link(ino);
        self.apply(vec![(Location::entry(dir, name), Value::Entry(Some(ino)))], true);
    }

    fn unlink(&mut self, dir: Ino, name: &Name, ino: Ino) {
        self.apply(vec![(Location::entry(dir, name), Value::Entry(None))], true);
        self.disk.room.unlink(ino);
        self.forget_if_gone(ino);
    }

    /// Creates an empty directory.
    pub fn create_dir(&mut self, path: &Path) -> Result<(), Error> {
        let target = self.walk(path)?;
        let (None, Some(name)) = (self.find(&target), &target.name) else {
            return Err(Error::EXISTS);
        };
        self.make(target.dir(), name, Kind::Directory);
        Ok(())
    }

    /// Removes a name of a file. The contents are freed when the last name and the last handle are gone.
    pub fn remove_file(&mut self, path: &Path) -> Result<(), Error> {
        let target = self.walk(path)?;
        let ino = self.find(&target).ok_or(Error::NOT_FOUND)?;
        let (Kind::File, Some(name)) = (self.kind(ino), &target.name) else {
            return Err(Error::IS_A_DIRECTORY);
        };
        if target.has_slash {
            return Err(Error::NOT_A_DIRECTORY);
        }
        self.unlink(target.dir(), name, ino);
        Ok(())
    }

    /// Removes an empty directory.
    pub fn remove_dir(&mut self, path: &Path) -> Result<(), Error> {
        let target = self.walk(path)?;
        let Some(name) = &target.name else {
            return Err(match path.components().next_back() {
                _ if ends_in_dot(path) => Error::INVALID,
                Some(Component::ParentDir) => Error::NOT_EMPTY,
                _ => Error::BUSY,
            });
        };
        let ino = self.find(&target).ok_or(Error::NOT_FOUND)?;
        self.expect_directory(ino)?;
        if !self.is_empty(ino) {
            return Err(Error::NOT_EMPTY);
        }
        self.unlink(target.dir(), name, ino);
        Ok(())
    }

    /// Gives a file an additional name.
    pub fn hard_link(&mut self, original: &Path, link: &Path) -> Result<(), Error> {
        let ino = self.existing(original)?;
        let target = self.walk(link)?;
        let (None, Some(name)) = (self.find(&target), &target.name) else {
            return Err(Error::EXISTS);
        };
        if target.has_slash {
            return Err(Error::NOT_FOUND);
        }
        if self.kind(ino) == Kind::Directory {
            return Err(Error::NOT_PERMITTED);
        }
        self.link(target.dir(), name, ino);
        Ok(())
    }

    /// Renames a file or a directory. An existing target of the same kind is replaced, but a directory only if it is
    /// empty.
    pub fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        let (from, to) = (self.walk(from)?, self.walk(to)?);
        let (Some(old_name), Some(new_name)) = (&from.name, &to.name) else {
            return Err(Error::BUSY);
        };
        let ino = self.find(&from).ok_or(Error::NOT_FOUND)?;
        let replaced = self.find(&to);
        let is_directory = self.kind(ino) == Kind::Directory;
        if !is_directory && (from.has_slash || to.has_slash) {
            return Err(Error::NOT_A_DIRECTORY);
        }
        if to.dirs.contains(&ino) {
            return Err(Error::INVALID);
        }
        if let Some(replaced) = replaced {
            if from.dirs.contains(&replaced) {
                return Err(Error::NOT_EMPTY);
            }
            if replaced == ino {
                return Ok(());
            }
            match (is_directory, self.kind(replaced)) {
                (true, Kind::File) => return Err(Error::NOT_A_DIRECTORY),
                (false, Kind::Directory) => return Err(Error::IS_A_DIRECTORY),
                (true, Kind::Directory) if !self.is_empty(replaced) => {
                    return Err(Error::NOT_EMPTY);
                }
                _ => {}
            }
            if self.disk.settings.rules.rename_flushes {
                self.flush_for_rename(ino);
            }
        }
        let added = (Location::entry(to.dir(), new_name), Value::Entry(Some(ino)));
        let gone = (Location::entry(from.dir(), old_name), Value::Entry(None));
        if self.disk.settings.rules.rename_is_atomic {
            self.apply(vec![added, gone], true);
        } else {
            self.apply(vec![added], true);
            self.apply_second_half(vec![gone]);
        }
        if let Some(replaced) = replaced {
            self.disk.room.unlink(replaced);
            self.forget_if_gone(replaced);
        }
        Ok(())
    }

    /// Returns the entries of a directory, in name order.
    pub fn read_dir(&mut self, path: &Path) -> Result<Vec<(Name, Ino, Kind)>, Error> {
        let dir = self.existing(path)?;
        self.expect_directory(dir)?;
        self.accesses.read(Object::Inode(dir));
        let mut entries = Vec::new();
        for name in self.possible_names(dir) {
            if let Some(ino) = self.entry(dir, &name) {
                entries.push((name, ino, self.kind(ino)));
            }
        }
        Ok(entries)
    }

    pub fn metadata(&mut self, path: &Path) -> Result<Metadata, Error> {
        let ino = self.existing(path)?;
        Ok(self.metadata_of_inode(ino))
    }

    pub(super) fn metadata_of_inode(&mut self, ino: Ino) -> Metadata {
        let kind = self.kind(ino);
        let len = match kind {
            Kind::File => {
                self.accesses.read(Object::Inode(ino));
                self.size(ino)
            }
            Kind::Directory => 0,
        };
        Metadata { ino, kind, len }
    }
}
