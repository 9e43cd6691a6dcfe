//! The names of functions and statics that the scan skips: names of std, of the runtime, and of other files that the
//! command links.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::{File, FileKind, Object, ObjectSymbol, SymbolKind};

use crate::test::{stdlib, wrapper::is_of_unpause};

/// The names of the functions and statics of the known files.
#[derive(Default)]
pub(super) struct Known(HashSet<Vec<u8>>);

impl Known {
    /// Returns the names of std in the folder `libraries`, the names of the files in the linker's `arguments`, and the
    /// names of the engine's libraries among the program's dependencies. `given` contains the arguments of the compiler
    /// call.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn of(
        libraries: &Path,
        arguments: &Path,
        given: &[OsString],
    ) -> Result<Known, String> {
        let mut known = Known::default();
        known.add_libraries(libraries, |_| true)?;
        let unreadable = |error| format!("{} cannot be read: {error}", arguments.display());
        let text = std::fs::read_to_string(arguments).map_err(unreadable)?;
        for file in stdlib::files(&text) {
            known.add(Path::new(file))?;
        }
        for folder in dependencies(given) {
            let is_of_engine = |name: &str| {
                let name = name.strip_prefix("lib").unwrap_or(name);
                name.rsplit_once('-').is_some_and(|(name, _)| is_of_unpause(name))
            };
            known.add_libraries(&folder, is_of_engine)?;
        }
        Ok(known)
    }

    #[cfg(test)]
    pub(super) fn with_names(names: &[&str]) -> Known {
        Known(names.iter().map(|name| name.as_bytes().to_vec()).collect())
    }

    /// Returns `true` for a function or a static of a known file.
    pub(super) fn has(&self, name: &str) -> bool {
        // The linker's arguments also give the std functions an additional name with this prefix.
        name.starts_with(stdlib::REAL) || self.0.contains(name.as_bytes())
    }

    /// Adds the names of the libraries in a folder, if `is_one` is `true` for the library name.
    fn add_libraries(
        &mut self,
        folder: &Path,
        is_one: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let unreadable = |error| format!("{} cannot be read: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let is_library = path.extension().is_some_and(|end| end == "rlib");
            let name = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
            if is_library && is_one(name) {
                self.add(&path)?;
            }
        }
        Ok(())
    }

    /// Adds the names of an object file or of a library.
    fn add(&mut self, path: &Path) -> Result<(), String> {
        let mut read = || -> Result<(), Box<dyn std::error::Error>> {
            let bytes = std::fs::read(path)?;
            if FileKind::parse(&*bytes)? != FileKind::Archive {
                self.add_names(&File::parse(&*bytes)?);
                return Ok(());
            }
            for member in ArchiveFile::parse(&*bytes)?.members() {
                // Members that cannot be parsed are metadata.
                if let Ok(file) = File::parse(member?.data(&*bytes)?) {
                    self.add_names(&file);
                }
            }
            Ok(())
        };
        read().map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }

    fn add_names(&mut self, file: &File<'_>) {
        let is_named = |symbol: &object::Symbol<'_, '_>| {
            // Function names in assembly may have no symbol kind.
            let kinds = [SymbolKind::Text, SymbolKind::Data, SymbolKind::Unknown];
            !symbol.is_undefined() && kinds.contains(&symbol.kind())
        };
        let names = file.symbols().filter(is_named);
        self.0.extend(names.filter_map(|symbol| Some(symbol.name_bytes().ok()?.to_vec())));
    }
}

/// Returns the folders that contain the libraries of dependencies.
fn dependencies(given: &[OsString]) -> impl Iterator<Item = PathBuf> + '_ {
    let after = given.windows(2).filter(|pair| pair[0] == "-L").map(|pair| &pair[1]);
    after.filter_map(|folder| Some(PathBuf::from(folder.to_str()?.strip_prefix("dependency=")?)))
}
