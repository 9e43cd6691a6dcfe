//! Symbols of the compiled standard library: the replaced functions, and the functions whose entry is only recorded.

use std::collections::BTreeSet;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{File, Object, ObjectSection, ObjectSymbol, SymbolKind};

/// A replaced function: the path, the name of the replacement, and the presence in std.
type Replaced = (&'static str, &'static str, Presence);

/// The functions that synchronise threads.
const REPLACED: &[Replaced] = &[
    ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", "lock_contended", Always),
    ("<std::sys::sync::condvar::futex::Condvar>::wait", "condvar_wait", Always),
    ("<std::sys::sync::condvar::futex::Condvar>::wait_timeout", "condvar_wait_timeout", Always),
    ("<std::sync::poison::condvar::Condvar>::notify_one", "notify_one", Always),
    ("<std::sync::poison::condvar::Condvar>::notify_all", "notify_all", Always),
    ("<std::sync::nonpoison::condvar::Condvar>::notify_one", "notify_one", Unstable),
    ("<std::sync::nonpoison::condvar::Condvar>::notify_all", "notify_all", Unstable),
    ("<std::sys::sync::rwlock::futex::RwLock>::read_contended", "read_contended", Always),
    ("<std::sys::sync::rwlock::futex::RwLock>::write_contended", "write_contended", Always),
    (
        "<std::sys::sync::rwlock::futex::RwLock>::wake_writer_or_readers",
        "wake_writer_or_readers",
        Always,
    ),
    ("<std::sys::sync::once::futex::Once>::call", "once_call", Always),
    (
        "<std::sys::sync::once::futex::CompletionGuard as core::ops::drop::Drop>::drop",
        "once_guard_drop",
        Always,
    ),
    ("<std::sync::once::Once>::wait", "once_wait", Always),
    ("<std::sync::once::Once>::wait_force", "once_wait_force", Always),
    ("<std::sync::barrier::Barrier>::wait", "barrier_wait", Always),
    ("std::thread::functions::park", "park", Always),
    ("std::thread::functions::park_timeout", "park_timeout", Always),
    ("<std::thread::thread::Thread>::park", "thread_park", Always),
    ("<std::thread::thread::Thread>::park_timeout", "thread_park_timeout", Always),
    ("<std::thread::scoped::ScopeData>::increment_num_running_threads", "scope_increment", Always),
    ("<std::thread::scoped::ScopeData>::decrement_num_running_threads", "scope_decrement", Always),
];

/// The presence of a function in the supported standard libraries.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Presence {
    Always,
    Unstable,
}
use Presence::{Always, Unstable};

/// Parts of std that synchronise threads. An unknown function in these parts may be a new form of a replaced function.
const AREAS: &[&str] = &[
    "std::sys::sync::",
    "std::sync::barrier::",
    "std::sync::once::Once>",
    "std::sync::poison::",
    "std::sync::nonpoison::",
    "std::sync::mpmc::",
    "std::sync::mpsc::",
    "std::sync::reentrant_lock",
    "std::sync::lazy_lock",
    "std::sync::once_lock",
    "std::thread::scoped::",
];

/// Functions in these parts that need no replacement: a wakeup (a system call), a panic, a counter.
const HARMLESS: &[&str] = &[
    "<std::sys::sync::mutex::futex::Mutex>::wake",
    "std::sync::lazy_lock::panic_poisoned",
    "<std::sync::mpmc::context::Context>::new",
];

/// Path fragments of functions that share no data between threads.
const INERT: &[&str] = &["fmt", "drop_slow", "Error", "_Unwind"];

/// Path prefixes of functions with internal locks, which are not replaced. If a thread enters such a function, the
/// search proves nothing. Functions that only read the environment exclude no other readers, so they are not among
/// them.
const NOTED: &[&str] = &[
    "std::io::stdio::_print",
    "std::io::stdio::_eprint",
    "std::io::stdio::std",
    "std::io::stdio::cleanup",
    "std::io::stdio::is_terminal",
    "<std::io::stdio::Std",
    "<&std::io::stdio::Std",
    "std::env::home_dir",
    "std::env::set_var",
    "std::env::remove_var",
    "std::sys::env::unix::setenv",
    "std::sys::env::unix::unsetenv",
    "std::alloc::set_alloc_error_hook",
    "std::panic::set_backtrace_style",
    "std::panicking::set_hook",
    "std::panicking::take_hook",
    "std::panicking::update_hook",
    "std::sys::backtrace::lock",
    "<std::backtrace::Backtrace",
    "std::process::exit",
    "<std::process::ExitCode>::exit_process",
    "<std::process::Command as",
    "<std::process::Command>::spawn",
    "<std::process::Command>::output",
    "<std::process::Command>::status",
    "<std::process::Child>::",
    "<std::fs::ReadDir",
    "std::sys::fs::remove_dir_all",
];

/// Path fragments of functions that match `NOTED` but have no lock.
const UNLOCKED: &[&str] = &["fmt::Debug", "Raw as", "::properties", "StdioExt"];

/// All lists that determine the symbols.
pub(super) const LISTS: (&[Replaced], [&[&str]; 5]) =
    (REPLACED, [AREAS, HARMLESS, INERT, NOTED, UNLOCKED]);

/// The symbols of one standard library.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Names {
    /// Symbols of replaced functions, each with the name of the replacement.
    pub(super) replaced: Vec<(String, &'static str)>,
    /// Symbols of recorded functions, each with its path.
    pub(super) noted: Vec<(String, String)>,
    /// Symbols of the variables of all toolchain crates, including thread-locals.
    pub(super) variables: BTreeSet<String>,
}

/// Reads the names from the file of a standard library, and from the other libraries in its folder.
///
/// # Errors
/// If a file cannot be read, or if std has other functions than this version supports.
pub(super) fn find(library: &Path) -> Result<Names, String> {
    let names = assign(functions(library)?)?;
    let folder = library.parent().unwrap_or(library);
    let unreadable = |error| format!("{} cannot be read: {error}", folder.display());
    let mut variables = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "rlib") {
            variables.extend(symbols(&path, is_variable)?);
        }
    }
    Ok(Names { variables, ..names })
}

/// Returns `true` for a variable of a program: a static that can change, or a thread-local.
fn is_variable(file: &File<'_>, symbol: &object::Symbol<'_, '_>) -> bool {
    let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
    let name = section.as_ref().and_then(|section| section.name().ok()).unwrap_or_default();
    let can_change = name.starts_with(".bss") || name.starts_with(".data");
    match symbol.kind() {
        SymbolKind::Tls => symbol.is_definition(),
        SymbolKind::Data => can_change && !name.starts_with(".data.rel.ro"),
        _ => false,
    }
}

/// Returns the symbols of the functions in a library file.
///
/// # Errors
/// If the file cannot be read.
pub(in crate::test) fn functions(library: &Path) -> Result<Vec<String>, String> {
    symbols(library, |_, symbol| {
        symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text
    })
}

/// Returns the wanted symbols in a library file.
///
/// # Errors
/// If the file cannot be read.
fn symbols(
    library: &Path,
    is_wanted: impl Fn(&File<'_>, &object::Symbol<'_, '_>) -> bool,
) -> Result<Vec<String>, String> {
    let unreadable =
        |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", library.display());
    let bytes = std::fs::read(library).map_err(|error| unreadable(&error))?;
    let archive = ArchiveFile::parse(&*bytes).map_err(|error| unreadable(&error))?;
    let mut symbols = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|error| unreadable(&error))?;
        let data = member.data(&*bytes).map_err(|error| unreadable(&error))?;
        // Members that cannot be parsed are metadata.
        let Ok(file) = File::parse(data) else { continue };
        for symbol in file.symbols().filter(|symbol| is_wanted(&file, symbol)) {
            symbols.extend(symbol.name().ok().map(str::to_owned));
        }
    }
    Ok(symbols)
}

/// Assigns symbols to the known functions.
fn assign(symbols: Vec<String>) -> Result<Names, String> {
    let mut names = Names::default();
    let mut differences = Vec::new();
    let path = |symbol: String| (format!("{:#}", rustc_demangle::demangle(&symbol)), symbol);
    let functions: Vec<(String, String)> = symbols.into_iter().map(path).collect();
    for (path, replacement, presence) in REPLACED {
        let mut found = functions.iter().filter(|(name, _)| name == path);
        match (found.next(), found.next()) {
            (Some((_, symbol)), None) => names.replaced.push((symbol.clone(), replacement)),
            (None, _) if *presence == Unstable => {}
            (None, _) => differences.push(format!("`{path}` is missing")),
            (Some(_), Some(_)) => differences.push(format!("`{path}` exists twice")),
        }
    }
    for (path, symbol) in functions {
        let is = |list: &[&str]| list.contains(&&*path);
        let has = |list: &[&str]| list.iter().any(|part| path.contains(part));
        let is_known = REPLACED.iter().any(|(known, ..)| *known == path) || is(HARMLESS);
        if has(AREAS) && !is_known && !has(INERT) {
            differences.push(format!("`{path}` is unknown"));
        } else if NOTED.iter().any(|begin| path.starts_with(begin)) && !has(UNLOCKED) {
            names.noted.push((symbol, path));
        }
    }
    match differences.is_empty() {
        true => Ok(names),
        false => Err(differences.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<String> {
        REPLACED.iter().map(|(path, ..)| (*path).to_owned()).collect()
    }

    #[test]
    fn an_unknown_or_missing_function_is_named() {
        assert_eq!(assign(known()).unwrap().replaced.len(), REPLACED.len());
        let mut more = known();
        more.push("std::sync::once_lock::settle".to_owned());
        let unknown = assign(more).unwrap_err();
        assert_eq!(unknown, "`std::sync::once_lock::settle` is unknown");
        let mut fewer = known();
        fewer.retain(|path| !path.ends_with("::park"));
        let missing = assign(fewer).unwrap_err();
        assert!(missing.contains("`std::thread::functions::park` is missing"), "{missing}");
    }

    #[test]
    fn a_function_with_a_lock_of_its_own_is_noted() {
        let mut functions = known();
        functions.push("std::io::stdio::_print".to_owned());
        functions.push("std::io::copy".to_owned());
        let names = assign(functions).unwrap();
        assert_eq!(names.noted.len(), 1);
    }
}
