//! The library for instrumented programs that do not contain the runtime, such as the unit tests of a crate without
//! unpause among its dependencies: each call from instrumented code performs its operation immediately.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;

use super::cache::Cache;
use super::{output, stdlib};
use crate::usage::Usage;

/// The source of the library.
const SOURCE: &str = include_str!("fallback/atomics.rs.txt");

/// The file name of the library.
const LIBRARY: &str = "fallback.rlib";

/// The compiler arguments.
const FLAGS: &[&str] = &[
    "--edition=2021",
    "--crate-name=unpause_fallback",
    "--crate-type=rlib",
    "-Copt-level=2",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
];

/// Compiles the library with `rustc`, once for each toolchain. Returns the library file in the cache.
pub(super) fn build(rustc: &OsString, cache: &Cache) -> Result<PathBuf, Usage> {
    let mut hasher = DefaultHasher::new();
    let version = output(Command::new(rustc).arg("-vV"))?;
    (version, stdlib::library(rustc, "libstd-")?, SOURCE, FLAGS).hash(&mut hasher);
    let entry = cache.entry(&format!("fallback-{:016x}", hasher.finish()), |draft, _| {
        let source = draft.join("fallback.rs");
        std::fs::write(&source, SOURCE)
            .map_err(|error| Usage(format!("{} cannot be written: {error}", source.display())))?;
        let mut command = Command::new(rustc);
        command.args(FLAGS).arg("-o").arg(draft.join(LIBRARY)).arg(&source);
        output(&mut command).map(drop)
    });
    Ok(entry?.join(LIBRARY))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;

    use object::read::archive::ArchiveFile;

    use super::*;

    /// Returns the names of the members of a library.
    fn members(library: &Path) -> Vec<String> {
        let bytes = std::fs::read(library).unwrap();
        let archive = ArchiveFile::parse(&*bytes).unwrap();
        let name = |member: object::read::Result<object::read::archive::ArchiveMember<'_>>| {
            let member = member.unwrap();
            member.data(&*bytes).unwrap();
            String::from_utf8_lossy(member.name()).into_owned()
        };
        archive.members().map(name).collect()
    }

    #[test]
    fn builds_at_the_same_time_in_one_folder_each_get_a_whole_library() {
        let folder = std::env::temp_dir().join(format!("unpause-fallback-{}", std::process::id()));
        let cache = Cache::at(folder.clone());
        let (rustc, start) = (OsString::from("rustc"), Barrier::new(4));
        let build = || {
            start.wait();
            build(&rustc, &cache).map(|library| members(&library))
        };
        let built = std::thread::scope(|scope| {
            let threads = [0; 4].map(|_| scope.spawn(build));
            threads.map(|thread| thread.join().unwrap())
        });
        for built in built {
            let members = built.unwrap_or_else(|Usage(text)| panic!("{text}"));
            assert!(members.iter().any(|name| name.ends_with(".o")), "{members:?}");
        }
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 2, "one library and the tag of the cache, no draft: {left:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
