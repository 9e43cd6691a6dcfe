//! The functions that a program imports from shared libraries, whose code is not searched.
//!
//! Left out are the libraries of libc and of the C compiler: libc's functions for threads are operations of a run.

use std::collections::{BTreeSet, HashSet};

use object::{File, Object, ObjectSymbol, SymbolKind};

/// The starts of the file names of libraries that are left out.
const KNOWN: &[&str] = &[
    "ld-linux",
    "ld64.so",
    "libc.so",
    "libdl.so",
    "libgcc_s.so",
    "libm.so",
    "libmvec.so",
    "libpthread.so",
    "librt.so",
    "libutil.so",
];

/// Returns the names of the imported functions.
///
/// # Errors
/// If the tables of the program are damaged.
pub(super) fn find(file: &File<'_>) -> object::Result<BTreeSet<String>> {
    // The linker records the library of a symbol only if the library has versions. The known libraries have versions.
    let is_known = |library: &[u8]| KNOWN.iter().any(|known| library.starts_with(known.as_bytes()));
    let is_no_function = |symbol: &object::Symbol<'_, '_>| match symbol.kind() {
        SymbolKind::Data | SymbolKind::Tls => true,
        // An optional name that no library defines, such as `__gmon_start__`. The linker adds the kind of a definition.
        SymbolKind::Unknown => symbol.is_weak(),
        _ => false,
    };
    let others: HashSet<&[u8]> = file
        .dynamic_symbols()
        .filter(is_no_function)
        .filter_map(|symbol| symbol.name_bytes().ok())
        .collect();
    let functions = file
        .imports()?
        .into_iter()
        .filter(|import| !is_known(import.library()) && !others.contains(import.name()));
    Ok(functions.filter_map(|import| String::from_utf8(import.name().to_vec()).ok()).collect())
}
