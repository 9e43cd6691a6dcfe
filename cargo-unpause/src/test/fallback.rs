//! The library for instrumented programs that do not contain the runtime, such as the unit tests of a crate without
//! unpause among its dependencies: each call of instrumented code does its operation at once.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{output, stdlib};
use crate::usage::Usage;

/// The source of the library.
const SOURCE: &str = include_str!("fallback/atomics.rs.txt");

/// The arguments of the compiler.
const FLAGS: &[&str] = &[
    "--edition=2021",
    "--crate-name=unpause_fallback",
    "--crate-type=rlib",
    "-Copt-level=2",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
];

/// Compiles the library with `rustc`, once for each toolchain. Returns its file in `folder`.
///
/// Other processes may build it in the same folder at the same time, with this toolchain or another one. So the name has
/// a hash of the toolchain, and the file is compiled in a folder of its own and then renamed: it is whole or absent.
pub(super) fn build(rustc: &OsString, folder: &Path) -> Result<PathBuf, Usage> {
    let mut hasher = DefaultHasher::new();
    let version = output(Command::new(rustc).arg("-vV"))?;
    (version, stdlib::library(rustc, "libstd-")?, SOURCE, FLAGS).hash(&mut hasher);
    let name = format!("fallback-{:016x}", hasher.finish());
    let library = folder.join(&name).with_extension("rlib");
    if library.is_file() {
        return Ok(library);
    }
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (process, nth) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let draft = folder.join(format!("{name}.{process}-{nth}"));
    let compiled = compile(rustc, &draft, &library);
    let _ = std::fs::remove_dir_all(&draft);
    compiled.map(|()| library)
}

/// Compiles the library in the folder `draft` and moves it to `library`.
fn compile(rustc: &OsString, draft: &Path, library: &Path) -> Result<(), Usage> {
    let fail = |error: std::io::Error| {
        Usage(format!("the folder {} cannot be written: {error}", draft.display()))
    };
    let (source, compiled) = (draft.join("fallback.rs"), draft.join("fallback.rlib"));
    std::fs::create_dir_all(draft).map_err(fail)?;
    std::fs::write(&source, SOURCE).map_err(fail)?;
    output(Command::new(rustc).args(FLAGS).arg("-o").arg(&compiled).arg(&source))?;
    std::fs::rename(&compiled, library).map_err(fail)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use object::read::archive::ArchiveFile;

    use super::*;

    /// The names of the members of a library.
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
        let (rustc, start) = (OsString::from("rustc"), Barrier::new(4));
        let build = || {
            start.wait();
            build(&rustc, &folder).map(|library| members(&library))
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
        assert_eq!(left.len(), 1, "one library, no draft: {left:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
