//! The Rust statics of a program that have a name of C, because of `#[no_mangle]` or `#[export_name]`. The runtime
//! restores the values of these statics between runs, like the values of other Rust statics.
//!
//! A program does not contain the crate or the language of such a static. So each static with a name of C counts,
//! unless a known file or code in another language defines the name. The libraries of the program are read only if the
//! program contains such a name.
//!
//! # Limits
//!
//! Object files that a build script passes directly to the linker are not read, so their statics count.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::archive::ArchiveFile;
use object::{
    File, Object, ObjectSection, ObjectSymbol, RelocationFlags, SectionFlags, SymbolKind,
};

use super::{Known, is_rust};

/// The end of the name of each object file that `rustc` creates.
const OF_RUSTC: &[u8] = b".rcgu.o";

/// Returns the addresses of the Rust statics with a name of C, in ascending order. `folders` contains the folders with
/// the libraries of the program.
pub(super) fn find(program: &File<'_>, known: &Known, folders: &BTreeSet<PathBuf>) -> Vec<u64> {
    let copied = copied(program);
    let statics = program.symbols().filter(|symbol| {
        let section = symbol.section_index().and_then(|at| program.section_by_index(at).ok());
        symbol.kind() == SymbolKind::Data
            && symbol.is_definition()
            && symbol.is_global()
            && symbol.size() > 0
            && section.is_some_and(|section| is_writable(&section))
    });
    let mut found: Vec<(u64, &str)> = statics
        .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
        .filter(|(address, name)| !is_rust(name) && !known.has(name) && !copied.contains(address))
        .collect();
    if !found.is_empty() {
        let others = of_other_languages(folders);
        found.retain(|(_, name)| !others.contains(name.as_bytes()));
    }
    let addresses: BTreeSet<u64> = found.into_iter().map(|(address, _)| address).collect();
    addresses.into_iter().collect()
}

/// Returns the folders in which the linker finds the libraries of the program.
pub(super) fn folders(given: &[OsString]) -> BTreeSet<PathBuf> {
    let after = given.windows(2).filter(|pair| pair[0] == "-L").map(|pair| &pair[1]);
    after
        .map(|folder| {
            let text = folder.to_str().unwrap_or_default();
            let kinds = ["dependency=", "native=", "crate=", "all="];
            let path = kinds.iter().find_map(|kind| text.strip_prefix(kind));
            path.map_or_else(|| PathBuf::from(folder), PathBuf::from)
        })
        .collect()
}

/// Returns `true` for a section with mutable statics. The counters of coverage are not statics of the program, and the
/// linker protects the constants that it relocates.
fn is_writable(section: &object::Section<'_, '_>) -> bool {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    let name = section.name().unwrap_or_default();
    let is_special = name.starts_with(".data.rel.ro") || name.starts_with("__llvm_");
    sh_flags & u64::from(elf::SHF_WRITE) != 0 && !is_special
}

/// Returns the addresses at which the program has a copy of a variable of a shared library, for example of `environ`.
fn copied(program: &File<'_>) -> HashSet<u64> {
    let relocations = program.dynamic_relocations().into_iter().flatten();
    let copies = relocations.filter(|(_, relocation)| match relocation.flags() {
        RelocationFlags::Elf { r_type } => {
            matches!(r_type, elf::R_X86_64_COPY | elf::R_AARCH64_COPY)
        }
        _ => false,
    });
    copies.map(|(address, _)| address).collect()
}

/// Returns the names in libraries that code in other languages defines.
fn of_other_languages(folders: &BTreeSet<PathBuf>) -> HashSet<Vec<u8>> {
    let mut names = HashSet::new();
    // In a folder that cannot be read, the linker does not find a library, either.
    for entry in folders.iter().flat_map(std::fs::read_dir).flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "rlib" || end == "a") {
            add_names(&path, &mut names);
        }
    }
    names
}

/// Adds the names that code in other languages defines in a library. A file that is not a library is a linker script
/// or incomplete, so the program does not contain it.
fn add_names(library: &Path, names: &mut HashSet<Vec<u8>>) {
    let Ok(bytes) = std::fs::read(library) else { return };
    let Ok(archive) = ArchiveFile::parse(&*bytes) else { return };
    for member in archive.members().flatten().filter(|one| !one.name().ends_with(OF_RUSTC)) {
        // Members that cannot be parsed are metadata.
        let Ok(file) = member.data(&*bytes).and_then(File::parse) else { continue };
        let defined = file.symbols().filter(|symbol| !symbol.is_undefined());
        names.extend(defined.filter_map(|symbol| Some(symbol.name_bytes().ok()?.to_vec())));
    }
}
