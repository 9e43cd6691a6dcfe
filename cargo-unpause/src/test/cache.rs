//! The user's cache folder: compiled parts of unpause, shared by all projects of the user.
//!
//! An entry is a folder of files, and its name contains a hash of all its inputs. An entry is created under another
//! name and renamed when it is complete, so several commands may create it at the same time. Each use compares the
//! files with the list of files: an entry with a missing or changed file is created again. Entries that are unused for
//! a while are removed.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use crate::usage::Usage;

/// The environment variable that names another folder.
pub(super) const VARIABLE: &str = "UNPAUSE_CACHE";

/// The file that lists the other files of an entry, one line with length, hash and name per file. The modification time
/// of the file is the time of the last use of the entry.
const CONTENTS: &str = "contents";

/// The time after which an unused entry is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The time after which an unused entry with [`SHORT_LIVED`] in its name is removed.
const UNUSED_SHORT: Duration = Duration::from_secs(24 * 60 * 60);

/// A part of the names of short-lived entries: entries of a checkout's sources, unfinished entries, and folders for
/// intermediate files.
pub(super) const SHORT_LIVED: &str = "-day";

/// The cache.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Returns the cache of the user.
    ///
    /// # Errors
    /// If no environment variable names a folder.
    pub(super) fn of_the_user() -> Result<Cache, Usage> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = folder(set).ok_or_else(|| {
            Usage(format!(
                "there is no folder for compiled parts of unpause: set {VARIABLE} to one, or HOME"
            ))
        })?;
        let folder = std::env::current_dir().unwrap_or_default().join(folder);
        Ok(Cache { folder })
    }

    /// Returns the cache in this folder.
    #[cfg(test)]
    pub(super) fn at(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// Returns the folder of the cache.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of the entry with this name. If the entry is missing or incomplete, `make` writes the files
    /// into its first argument, a temporary folder. The files may refer to the second argument, the final folder of the
    /// entry.
    ///
    /// # Errors
    /// If `make` fails, or if the cache cannot be written.
    pub(super) fn entry(
        &self,
        name: &str,
        make: impl FnOnce(&Path, &Path) -> Result<(), Usage>,
    ) -> Result<PathBuf, Usage> {
        let entry = self.folder.join(name);
        if is_whole(&entry) {
            touch(&entry);
            return Ok(entry);
        }
        let fail = |error: io::Error| self.unwritable(&error);
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (process, nth) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let beside =
            |what: &str| self.folder.join(format!("{name}{SHORT_LIVED}-{what}-{process}-{nth}"));
        let draft = beside("new");
        fs::create_dir_all(&draft).map_err(fail)?;
        // Backup programs skip folders that contain this file.
        let _ = fs::write(self.folder.join("CACHEDIR.TAG"), TAG);
        let made = make(&draft, &entry).and_then(|()| {
            let contents = contents(&draft).map_err(fail)?;
            fs::write(draft.join(CONTENTS), contents).map_err(fail)
        });
        if let Err(usage) = made {
            let _ = fs::remove_dir_all(&draft);
            return Err(usage);
        }
        if fs::rename(&draft, &entry).is_err() {
            // Either another command has created the entry, or a broken entry has this name.
            if !is_whole(&entry) {
                let broken = beside("broken");
                let _ = fs::rename(&entry, &broken);
                let _ = fs::remove_dir_all(&broken);
                let _ = fs::rename(&draft, &entry);
            }
            let _ = fs::remove_dir_all(&draft);
        }
        match is_whole(&entry) {
            true => Ok(entry),
            false => Err(self.unwritable(&"an entry cannot be renamed")),
        }
    }

    /// Returns a folder for intermediate files, which is removed a day after its last use.
    ///
    /// # Errors
    /// If the cache cannot be written.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf, Usage> {
        let folder = self.folder.join(format!("{name}{SHORT_LIVED}"));
        let made = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(CONTENTS), ""));
        made.map(|()| folder).map_err(|error| self.unwritable(&error))
    }

    /// Removes the entries that have not been used for too long. Other folders stay, because the user may have chosen a
    /// folder with other contents.
    pub(super) fn remove_unused(&self) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_ours(&entry.path())) {
            let often = entry.file_name().to_string_lossy().contains(SHORT_LIVED);
            let limit = if often { UNUSED_SHORT } else { UNUSED };
            let used = fs::metadata(entry.path().join(CONTENTS)).or_else(|_| entry.metadata());
            let used = used.and_then(|used| used.modified()).unwrap_or_else(|_| SystemTime::now());
            if used.elapsed().is_ok_and(|unused| unused > limit) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn unwritable(&self, error: &dyn std::fmt::Display) -> Usage {
        let folder = self.folder.display();
        Usage(format!(
            "the cache {folder} cannot be written: {error}. Set {VARIABLE} to another folder"
        ))
    }
}

const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # Compiled parts of unpause. This folder can be removed: they are compiled again when they are needed.\n";

/// Returns the cache folder; `set` returns the value of an environment variable, if set.
fn folder(set: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let at = |name: &str, below: &str| set(name).map(|folder| Path::new(&folder).join(below));
    // The specification of `XDG_CACHE_HOME` requires that a relative path is ignored.
    let of_xdg = || at("XDG_CACHE_HOME", "unpause").filter(|folder| folder.is_absolute());
    let of_system =
        if cfg!(target_os = "macos") { "Library/Caches/unpause" } else { ".cache/unpause" };
    at(VARIABLE, "").or_else(of_xdg).or_else(|| at("HOME", of_system))
}

/// Returns `true` if the files of an entry match its list.
fn is_whole(entry: &Path) -> bool {
    let listed = fs::read_to_string(entry.join(CONTENTS));
    listed.is_ok_and(|listed| contents(entry).is_ok_and(|found| found == listed))
}

/// Returns `true` for an entry of the cache, complete or not, and for a folder for intermediate files.
fn is_ours(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_unfinished =
        ["new", "broken"].iter().any(|what| name.contains(&format!("{SHORT_LIVED}-{what}-")));
    // The list of a folder for intermediate files is empty.
    let is_list = |text: String| {
        text.lines().all(|line| {
            let mut words = line.splitn(3, ' ');
            let length = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
            let hash = words.next().is_some_and(|word| u64::from_str_radix(word, 16).is_ok());
            length && hash && words.next().is_some()
        })
    };
    folder.is_dir()
        && (is_unfinished || fs::read_to_string(folder.join(CONTENTS)).is_ok_and(is_list))
}

/// Records that an entry is used.
fn touch(entry: &Path) {
    let file = fs::File::options().append(true).open(entry.join(CONTENTS));
    // If this fails, the entry is removed too early and created again.
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Returns the list of the files in a folder.
fn contents(folder: &Path) -> io::Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != CONTENTS {
            let bytes = fs::read(entry.path())?;
            let name = entry.file_name();
            lines.push(format!("{} {:016x} {}", bytes.len(), sum(&bytes), name.to_string_lossy()));
        }
    }
    lines.sort_unstable();
    Ok(lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    }))
}

/// Returns a checksum that is stable across versions of this command: FNV-1a over words.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let step =
        |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    words.fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Barrier;

    use super::*;

    /// A cache in a temporary folder, which is removed at the end.
    struct Own(Cache);

    impl Own {
        fn new(name: &str) -> Own {
            let folder =
                std::env::temp_dir().join(format!("unpause-cache-{name}-{}", std::process::id()));
            Own(Cache::at(folder))
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.folder());
        }
    }

    fn write(draft: &Path, _: &Path) -> Result<(), Usage> {
        let text = |name: &str, text: &str| fs::write(draft.join(name), text).unwrap();
        text("a", "the first file");
        text("b", "the second file");
        Ok(())
    }

    fn names(cache: &Cache) -> Vec<String> {
        let entries = fs::read_dir(cache.folder()).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_entry_is_made_once_and_again_if_anything_of_it_is_missing_or_changed() {
        let own = Own::new("broken");
        let count = Cell::new(0);
        let entry = || {
            let made = own.0.entry("x", |draft, entry| {
                count.set(count.get() + 1);
                write(draft, entry)
            });
            made.unwrap_or_else(|Usage(text)| panic!("{text}"))
        };
        let made = entry();
        assert_eq!((entry(), count.get()), (made.clone(), 1));
        let damages: [(&str, &dyn Fn()); 6] = [
            ("a file is missing", &|| fs::remove_file(made.join("a")).unwrap()),
            ("a file is cut", &|| fs::write(made.join("b"), "the sec").unwrap()),
            ("a file has zeros", &|| fs::write(made.join("a"), [0; 14]).unwrap()),
            ("a file is added", &|| fs::write(made.join("c"), "").unwrap()),
            ("the list is missing", &|| fs::remove_file(made.join(CONTENTS)).unwrap()),
            ("the list is cut", &|| fs::write(made.join(CONTENTS), "14").unwrap()),
        ];
        for (nth, (name, damage)) in damages.iter().enumerate() {
            damage();
            assert_eq!((entry(), count.get()), (made.clone(), nth + 2), "{name}");
            assert_eq!(fs::read_to_string(made.join("b")).unwrap(), "the second file", "{name}");
        }
        assert_eq!(names(&own.0), ["CACHEDIR.TAG", "x"]);
    }

    #[test]
    fn folders_of_others_stay() {
        let own = Own::new("others");
        own.0.entry("std-1", write).unwrap_or_else(|Usage(text)| panic!("{text}"));
        own.0.scratch("engine").unwrap_or_else(|Usage(text)| panic!("{text}"));
        let folder = own.0.folder().to_owned();
        for name in ["Documents", "my-day", "with contents"] {
            fs::create_dir_all(folder.join(name)).unwrap();
        }
        fs::write(folder.join("with contents").join(CONTENTS), "chapter 1\n").unwrap();
        let old = SystemTime::now() - 2 * UNUSED;
        for name in names(&own.0) {
            for path in [folder.join(&name), folder.join(&name).join(CONTENTS)] {
                if let Ok(file) = fs::File::open(path) {
                    file.set_modified(old).unwrap();
                }
            }
        }
        own.0.remove_unused();
        assert_eq!(names(&own.0), ["CACHEDIR.TAG", "Documents", "my-day", "with contents"]);
    }

    #[test]
    fn an_entry_that_cannot_be_made_leaves_nothing() {
        let own = Own::new("failed");
        let failed = own.0.entry("x", |draft, _| {
            fs::write(draft.join("a"), "half").unwrap();
            Err(Usage("no compiler".to_owned()))
        });
        assert_eq!(failed.unwrap_err().0, "no compiler");
        assert_eq!(names(&own.0), ["CACHEDIR.TAG"]);
    }

    #[test]
    fn commands_that_make_one_entry_at_the_same_time_get_a_whole_one() {
        let own = Own::new("together");
        for round in 0..20 {
            let (name, start) = (format!("x{round}"), Barrier::new(4));
            // In half of the rounds a broken entry with this name already exists.
            if round % 2 == 0 {
                fs::create_dir_all(own.0.folder().join(&name)).unwrap();
                fs::write(own.0.folder().join(&name).join("a"), "").unwrap();
            }
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let made = own.0.entry(&name, |draft, entry| {
                            start.wait();
                            write(draft, entry)
                        });
                        let made = made.unwrap_or_else(|Usage(text)| panic!("{text}"));
                        assert_eq!(fs::read_to_string(made.join("a")).unwrap(), "the first file");
                    });
                }
            });
        }
        assert_eq!(names(&own.0).len(), 21, "{:?}", names(&own.0));
    }

    #[test]
    fn entries_that_nobody_uses_are_removed() {
        let own = Own::new("unused");
        let entry =
            |name: &str| own.0.entry(name, write).unwrap_or_else(|Usage(text)| panic!("{text}"));
        let age = |name: &str, days: u64| {
            let file = fs::File::options().append(true).open(entry(name).join(CONTENTS)).unwrap();
            let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
            file.set_modified(time).unwrap();
        };
        let often = format!("often{SHORT_LIVED}");
        for name in ["new", "old", "used", &often] {
            entry(name);
        }
        age("old", 31);
        age("new", 29);
        age("used", 31);
        age(&often, 2);
        entry("used");
        own.0.remove_unused();
        assert_eq!(names(&own.0), ["CACHEDIR.TAG", "new", "used"]);
    }

    #[test]
    fn the_folder_is_that_of_the_variables() {
        let of = |pairs: &[(&str, &str)]| {
            let set = |name: &str| {
                pairs.iter().find(|(set, _)| *set == name).map(|(_, value)| OsString::from(value))
            };
            folder(set)
        };
        let home = ("HOME", "/h");
        let path = |text: &str| Some(PathBuf::from(text));
        let own = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
        assert_eq!(of(&[home]), path(&format!("/h/{own}/unpause")));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/c")]), path("/c/unpause"));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "c")]), of(&[home]));
        assert_eq!(of(&[home, ("XDG_CACHE_HOME", "/c"), (VARIABLE, "/mine")]), path("/mine"));
        assert_eq!(of(&[]), None);
    }
}
