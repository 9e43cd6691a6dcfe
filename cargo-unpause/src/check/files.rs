//! Files named by the paths of a command line.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use unpause_histories::format_of;

use super::is_standard_input;
use crate::Usage;

/// A file to check, or one to skip because it is not a history.
pub(super) enum FoundFile {
    History(PathBuf),
    Other(PathBuf),
}

pub(super) fn is_folder(path: &Path) -> bool {
    !is_standard_input(path) && path.is_dir()
}

/// Files to check, in the order of the paths and, within a folder, by name: each file named itself, and the files
/// in a named folder that `is_history` accepts. Links to folders and names that begin with a point are skipped.
///
/// # Errors
/// If a folder cannot be read, or has no history in it.
pub(super) fn all(
    paths: &[PathBuf],
    is_history: impl Fn(&Path) -> bool,
) -> Result<Vec<FoundFile>, Usage> {
    let mut found = Vec::new();
    for path in paths {
        if !is_folder(path) {
            found.push(FoundFile::History(path.clone()));
            continue;
        }
        let before = found.len();
        inside(path, &is_history, &mut found)?;
        if !found[before..].iter().any(|file| matches!(file, FoundFile::History(_))) {
            return Err(Usage(format!(
                "{}: there is no history in this folder; name the files, or say how they are written \
                 with --format",
                path.display()
            )));
        }
    }
    Ok(found)
}

fn inside(
    folder: &Path,
    is_history: &impl Fn(&Path) -> bool,
    found: &mut Vec<FoundFile>,
) -> Result<(), Usage> {
    let wrong = |error| Usage(format!("{}: cannot read this folder: {error}", folder.display()));
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).map_err(wrong)?.collect::<Result<_, _>>().map_err(wrong)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(wrong)?);
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            inside(&path, is_history, found)?;
        } else if path.is_file() {
            found.push(if is_history(&path) {
                FoundFile::History(path)
            } else {
                FoundFile::Other(path)
            });
        }
    }
    Ok(())
}

/// Returns `true` if a file begins like a history or is named like one. A file that cannot be read counts as one, so
/// that the error is reported.
pub(super) fn looks_like_a_history(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut beginning));
    read.is_err() || format_of(&path.to_string_lossy(), &beginning).is_ok()
}

/// The content of a file as it is now, and its length. Another process may append to it faster than
/// it is read; the rest is left out. Pipes and the like have no length and are read to their end.
pub(super) fn as_it_is_now(file: File) -> std::io::Result<(Box<dyn Read>, Option<u64>)> {
    let metadata = file.metadata()?;
    let length = metadata.len();
    Ok(match metadata.is_file() && length > 0 {
        true => (Box::new(file.take(length)), Some(length)),
        false => (Box::new(file), None),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_grows_is_read_as_far_as_it_was() {
        let path = std::env::temp_dir().join(format!("cargo-unpause-grows-{}", std::process::id()));
        std::fs::write(&path, "before").unwrap();
        let (mut content, length) = as_it_is_now(File::open(&path).unwrap()).unwrap();
        File::options().append(true).open(&path).unwrap().write_all(b" and after").unwrap();
        let mut read = String::new();
        content.read_to_string(&mut read).unwrap();
        assert_eq!((&*read, length), ("before", Some(6)));
        std::fs::remove_file(path).unwrap();
    }
}
