//! The objects of real files, and the objects that a call uses.
//!
//! | object | a use of it |
//! |---|---|
//! | the file of a path | reads or changes the name, or the content or the attributes of the file with this name |
//! | the names in a folder | adds or removes a name, or reads the list, the number or the time of the names |
//! | all files | reads: each call; changes: a call that may affect the meaning of other paths |
//! | a descriptor | reads: each call on it; changes: `close` (see `handles.rs`) |
//!
//! Two calls that can affect each other share an object, which one of them changes:
//!
//! - A call reads the object of its path, and a call on a descriptor reads the object of the path that the file has now
//!   or had last. A call that changes the content, the attributes or the name also changes this object. `rename`
//!   changes the objects of both paths, because the file moves from one to the other.
//! - A call that adds or removes a name adds to the names in its folder. Two such calls commute. Calls that read the
//!   list conflict with them: `readdir`, `rmdir`, and `stat` of the folder.
//! - Folders and symbolic links are a part of each path below them. So each change of them changes all files: `mkdir`,
//!   `rmdir`, `symlink`, `rename` and `chmod` of a folder, `chdir`, and others.
//! - The same applies to the change of a file with several names, and to each use of a file whose path is unknown.
//! - If a folder of a path does not exist, or is not a folder, the call reads the object of this name.
//! - A call that fails changes nothing: it has only read these objects.
//!
//! The objects are determined twice: before the call is announced, and when it is executed. Another thread may have
//! renamed a file in between.
//!
//! Some file systems list the newest name first, so a list shows the order of two additions. If a thread lists a folder
//! in which several threads have changed names, a search is not a proof: the run notes this.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int};

use super::super::captured;
use super::super::compiled::note_entered;
use super::handles::{self, Handles};
use super::locks::Locks;
use super::paths::{self, Form, Number, Target};
use super::transfer::Use;
use super::{KEY, Net};

/// The object of all files, and its kind.
pub(super) const FILES: u64 = KEY;
pub(super) const KIND: &str = "files";

/// The kinds of the other objects.
const KIND_OF_FILE: &str = "file";
const KIND_OF_NAMES: &str = "folder";

/// Returns `true` for a kind of object of the file system. Calls on them order no memory.
pub(super) fn is_of_files(kind: &str) -> bool {
    [KIND, KIND_OF_FILE, KIND_OF_NAMES, handles::KIND].contains(&kind)
}

/// The access of a call to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Reads,
    Changes,
}

/// The way in which a call uses a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// Reads the content or the attributes.
    Reads,
    /// Changes the content or the attributes.
    Changes,
    /// Adds, replaces or removes the name.
    Names,
    /// Like `Names`, for a name of a folder or of a symbolic link, and for a second name of a file.
    Structure,
    /// Opens the file. `creates`: may add the name, and counts as if it did. `truncates`: removes the content.
    Opens { creates: bool, truncates: bool },
    /// Reads the names in the folder.
    Lists,
}

/// A part of the file system that a call uses.
#[derive(Clone, Copy)]
enum Part {
    All(Access),
    At { folder: c_int, path: *const c_char, follows: bool, how: How },
    Open { descriptor: c_int, how: How },
}

/// The parts of the file system that a call uses.
#[derive(Clone, Copy)]
pub(super) struct Uses([Option<Part>; 2]);

impl Uses {
    pub(super) const fn all(access: Access) -> Uses {
        Uses([Some(Part::All(access)), None])
    }

    /// The file at a path, relative to a folder.
    pub(super) fn at(
        (folder, path): (c_int, *const c_char),
        follows: bool,
        how: How,
    ) -> Option<Uses> {
        // The kernel refuses such a call.
        let part = Part::At { folder, path, follows, how };
        (!path.is_null()).then_some(Uses([Some(part), None]))
    }

    pub(super) fn open(descriptor: c_int, how: How) -> Uses {
        Uses([Some(Part::Open { descriptor, how }), None])
    }

    /// Combines the first parts of two calls.
    pub(super) fn and(self, other: Uses) -> Uses {
        Uses([self.0[0], other.0[0]])
    }

    /// Returns `true` if the call may change something.
    pub(super) fn may_change(&self) -> bool {
        self.0.iter().flatten().any(|part| match *part {
            Part::All(access) => access == Access::Changes,
            Part::At { how, .. } | Part::Open { how, .. } => match how {
                How::Reads | How::Lists => false,
                How::Opens { creates, truncates } => creates || truncates,
                How::Changes | How::Names | How::Structure => true,
            },
        })
    }

    /// Determines the files of the parts.
    ///
    /// # Safety
    /// Each path must be a string.
    pub(super) unsafe fn targets(&self, disk: &mut Disk) -> Targets {
        let files = self.0.map(|part| match part? {
            Part::All(_) => None,
            Part::At { folder, path, follows, .. } => {
                // SAFETY: the caller guarantees the string.
                Some(paths::resolve(folder, unsafe { CStr::from_ptr(path) }, follows))
            }
            Part::Open { descriptor, .. } => Some(disk.target_of(descriptor)),
        });
        Targets { files, version: disk.version }
    }
}

/// The files that a call uses, for a version of the names.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    files: [Option<Target>; 2],
    version: u64,
}

impl Targets {
    /// Returns the object of the call, and its kind.
    pub(super) fn object(&self) -> (u64, &'static str) {
        match self.files[0].and_then(|target| target.file) {
            Some(file) => (file, KIND_OF_FILE),
            None => (FILES, KIND),
        }
    }
}

/// A descriptor whose file is known: the version of the names, the number and the number of names of the file.
pub(super) type Known = ((u64, Number, libc::nlink_t), Target);

/// The descriptors of real files in a run.
#[derive(Default)]
pub(super) struct Disk {
    /// The threads that have opened the descriptors, by path.
    pub(super) owners: BTreeMap<c_int, u64>,
    /// The files of descriptors.
    pub(super) known: BTreeMap<c_int, Known>,
    /// The removed files whose descriptors have no common path.
    without_path: BTreeSet<Number>,
    /// The number of calls that have changed names.
    pub(super) version: u64,
    /// For each folder by the object of its names, the thread that has added or removed names. `None` if several
    /// threads have.
    adders: BTreeMap<u64, Option<u64>>,
    pub(super) locks: Locks,
    pub(super) handles: Handles,
}

impl Drop for Disk {
    /// Closes the files that Rust code has left open. Without this, the files of threads that have not ended would
    /// accumulate over the runs of a process. Statics of C keep their values, also the files in them. A closure may
    /// have stored a file in captured memory, which outlives the run, so such runs close nothing.
    fn drop(&mut self) {
        if captured::is_on() {
            return;
        }
        for descriptor in self.handles.left_open_by_rust().filter(|one| *one > libc::STDERR_FILENO)
        {
            // The C library may have closed the descriptor unseen, and the number may now be of another file.
            let own = self.known.get(&descriptor).map(|((_, file, _), _)| *file);
            let now = paths::status(descriptor).map(|status| (status.st_dev, status.st_ino));
            if now.is_some() && now == own {
                // SAFETY: the run has opened this file, and nothing of the run executes any more.
                unsafe { libc::close(descriptor) };
            }
        }
    }
}

impl Disk {
    /// Records that a descriptor is closed.
    pub(super) fn forget(&mut self, descriptor: c_int) {
        self.owners.remove(&descriptor);
        self.known.remove(&descriptor);
        self.locks.forget(descriptor);
        self.handles.close(descriptor);
    }

    /// Returns the file of a descriptor.
    pub(super) fn target_of(&mut self, descriptor: c_int) -> Target {
        let Some(status) = paths::status(descriptor) else {
            // A call on a closed descriptor fails, and its object is that of the descriptor.
            let is_closed = self.handles.is_closed(descriptor);
            return Target::without_path(if is_closed { Form::Absent } else { Form::Unknown });
        };
        let state = (self.version, (status.st_dev, status.st_ino), status.st_nlink);
        if let Some((known, target)) = self.known.get(&descriptor)
            && *known == state
        {
            return *target;
        }
        let mut target = paths::of_descriptor(descriptor, &status);
        if status.st_nlink == 0 {
            // The other descriptors may be closed later, when their uses are in the past.
            let number = (status.st_dev, status.st_ino);
            if target.file.is_none() {
                self.without_path.insert(number);
            } else if self.without_path.contains(&number) {
                target = Target::without_path(Form::Other);
            }
        }
        self.known.insert(descriptor, (state, target));
        target
    }

    /// Determines the files of a call again, if names have changed since `before`.
    ///
    /// # Safety
    /// Each path must be a string.
    pub(super) unsafe fn now(&mut self, uses: &Uses, before: &Targets) -> Targets {
        match before.version == self.version {
            true => *before,
            // SAFETY: the caller guarantees the strings.
            false => unsafe { uses.targets(self) },
        }
    }
}

impl Net {
    /// Records the objects that a call has used. `object` is its own object. `succeeds` is false if the call has
    /// failed.
    pub(super) fn use_files(
        &mut self,
        object: u64,
        uses: &Uses,
        targets: &Targets,
        succeeds: bool,
    ) {
        for (part, target) in uses.0.iter().zip(targets.files) {
            if let Some(Part::Open { descriptor, .. }) = part {
                self.use_handle(object, *descriptor, Use::Reads);
            }
            match (part, target) {
                (Some(Part::All(access)), _) => {
                    let changes = *access == Access::Changes && succeeds;
                    let how = if changes { Use::Changes } else { Use::Reads };
                    self.use_one(object, (FILES, KIND), how);
                }
                (Some(Part::At { how, .. } | Part::Open { how, .. }), Some(target)) => {
                    self.use_target(object, target, *how, succeeds);
                }
                _ => {}
            }
        }
    }

    /// Records that the current operation, with this object, uses an object.
    pub(super) fn use_one(&mut self, object: u64, (other, kind): (u64, &'static str), how: Use) {
        // The paths of open files may have changed.
        let renames = how == Use::Adds || other == FILES && how == Use::Changes;
        self.disk.version += u64::from(renames);
        match (other == object, how) {
            (true, Use::Reads) => {}
            (true, _) => self.change(object),
            (false, _) => self.also_as(other, kind, how),
        }
    }

    /// Records the objects of a file.
    fn use_target(&mut self, object: u64, target: Target, how: How, succeeds: bool) {
        let Target { form, file, names, own_names } = target;
        let is_unknown = form == Form::Unknown;
        self.use_one(object, (FILES, KIND), if is_unknown { Use::Changes } else { Use::Reads });
        if let Some(file) = file {
            self.use_one(object, (file, KIND_OF_FILE), Use::Reads);
        }
        if let Some(list) = own_names.filter(|_| !matches!(how, How::Opens { .. })) {
            self.use_one(object, (list, KIND_OF_NAMES), Use::Reads);
            if how == How::Lists && self.disk.adders.get(&list) == Some(&None) {
                note_entered("readdir, of a folder in which several threads have changed names");
            }
        }
        if !succeeds {
            return;
        }
        // Also if the file exists: an earlier run may have left it, and the objects of a call must not depend on this.
        let creates = matches!(how, How::Opens { creates: true, .. });
        let truncates = matches!(how, How::Opens { truncates: true, .. });
        let renames = matches!(how, How::Names | How::Structure);
        let is_single = matches!(form, Form::Absent | Form::File);
        if !(how == How::Changes || renames || creates || truncates) {
            return;
        }
        if let Some(file) = file {
            self.use_one(object, (file, KIND_OF_FILE), Use::Changes);
        }
        if !is_single || how == How::Structure {
            self.use_one(object, (FILES, KIND), Use::Changes);
        }
        if let Some(names) = names.filter(|_| renames || creates) {
            self.use_one(object, (names, KIND_OF_NAMES), Use::Adds);
            let adder = self.disk.adders.entry(names).or_insert(Some(self.path));
            *adder = adder.filter(|path| *path == self.path);
        }
    }
}
