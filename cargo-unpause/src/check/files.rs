//! Files named by the paths of a command line.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use unpause_histories::format_of;

use super::is_standard_input;
use crate::Usage;

/// A file to check, or a file to skip because it is not a history.
pub(super) enum FoundFile {
    History(PathBuf),
    Other(PathBuf),
}

pub(super) fn is_folder(path: &Path) -> bool {
    !is_standard_input(path) && path.is_dir()
}

/// Returns the files to check, in the order of the paths, and sorted by name within a folder. These are the files named
/// directly, and the files that `is_history` accepts in a named folder. Skips links to folders and names that begin
/// with a dot.
///
/// # Errors
/// If a folder cannot be read, or contains no history.
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

/// Returns `true` if the beginning or the name of a file looks like a history. An unreadable file counts as a history,
/// so that the error is reported.
pub(super) fn looks_like_a_history(path: &Path) -> bool {
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut beginning));
    read.is_err() || format_of(&path.to_string_lossy(), &beginning).is_ok()
}

/// Returns the current content of a file, and its length. Another process may append faster than this process reads, so
/// later content is left out. Pipes and other files without a length are read to their end.
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
