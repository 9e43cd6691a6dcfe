//! Replaces a text file of the user. A command that is killed leaves the old text or the new text, and never a part.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the text to a draft beside the file, and renames the draft. Symbolic links and permissions stay.
///
/// # Errors
/// If the draft cannot be written or renamed, or if the file is not writable. The file then stays as it is.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    // A rename would replace the link instead of its file.
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let known = fs::metadata(&file).ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        // A device or a pipe cannot be replaced.
        return fs::write(&file, text);
    }
    if known.is_some() {
        // A rename would also replace a file that is not writable, so the file is opened for writing first.
        fs::File::options().write(true).open(&file)?;
    }
    let mut draft = file.clone().into_os_string();
    draft.push(format!(".{}.tmp", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = fs::write(&draft, text)
        .and_then(|()| match known {
            Some(known) => fs::set_permissions(&draft, known.permissions()),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&draft, &file));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_file_is_not_written_to() {
        let folder = std::env::temp_dir().join(format!("unpause-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, old] = ["file", "old"].map(|name| folder.join(name));
        replace(&file, "first").unwrap();
        fs::hard_link(&file, &old).unwrap();
        replace(&file, "second").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        // If a command is killed while it writes, the old text remains.
        assert_eq!(fs::read_to_string(&old).unwrap(), "first");
        // A file in the place of the folder makes the write fail.
        assert!(replace(&file.join("none"), "third").is_err());
        assert_eq!(names(&folder), ["file", "old"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = std::env::temp_dir().join(format!("unpause-links-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.join(name));
        fs::write(&file, "first").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, "second").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "second");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(&folder), ["file", "link"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
