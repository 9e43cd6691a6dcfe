//! Statics of the tested crates: they get their first values again when a run begins.

use std::collections::HashSet;
use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::sync::OnceLock;

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};

use super::image::{load_address, protected};
use super::program::{has_symbols, program};
use super::{arch, first_values, unseen};

/// The toolchain crates whose variables keep their values, in a program without a [list](toolchain) of these variables.
/// The other toolchain crates have no variables, or can begin each run with their first values.
const OF_STD: &[&str] = &["std", "std_detect"];

/// The crate that passes the tests of a program to the runtime.
const SHIM: &str = "unpause_any";

/// The crates of unpause, and their dependencies. If unpause is linked as one object, its statics have no names, and
/// statics with these names belong to tested crates.
const OF_UNPAUSE: &[&str] = &[
    "event_listener",
    "event_listener_strategy",
    "async_lock",
    "futures_core",
    "futures_executor",
    "futures_task",
    "futures_util",
    "rand_xoshiro",
    "scoped_tls",
    "sim",
    "tracing",
    "tracing_core",
    "unpause_check",
    "unpause_native",
    "unpause_ordered",
    "unpause_orders",
    "unpause_run",
    "unpause_words",
];

/// The crate with the records of a model, which it gives to the engine. No test reads them, and the number of the
/// model's call is another one in each run.
const OF_MODEL: &str = "unpause_model";

/// Crates shared by the engine and tested code. Their statics have pointers to values of tested code, for example
/// dispatchers and call sites.
const OF_TRACING: &[&str] = &["tracing", "tracing_core"];

/// A static: its address, and its bytes at the start of each run.
struct Saved {
    address: usize,
    bytes: Vec<u8>,
    /// True if the engine also uses the static between runs.
    of_tracing: bool,
    /// The crate of the static; `None` for a C symbol, and for a call site of tracing.
    of_crate: Option<String>,
}

static SAVED: OnceLock<Result<Vec<Saved>, String>> = OnceLock::new();

/// Saves the statics on the first call.
///
/// # Errors
/// Returns an error if the program cannot be read, or has no symbols.
pub(crate) fn save() -> Result<(), String> {
    SAVED.get_or_init(read).as_ref().map(drop).map_err(Clone::clone)
}

/// Saves the statics on the first call. If the program cannot be read, its first run fails with the reason.
pub fn save_statics() {
    let _ = save();
}

/// Restores the saved bytes. Called by the carrier between two runs.
pub(crate) fn restore() {
    put_back(|_| true);
}

/// Restores the statics of tracing. Called by the carrier at the end of a run: its dispatchers end with the memory of
/// the run, but the engine would call them.
pub(crate) fn forget_dispatchers() {
    put_back(|saved| saved.of_tracing);
}

fn put_back(which: impl Fn(&Saved) -> bool) {
    let Some(Ok(all)) = SAVED.get() else { return };
    for saved in all.iter().filter(|saved| which(saved)) {
        // SAFETY: the static is writable and has this length. No thread of a run exists, and OS threads of other
        // tests wait when they access it atomically: see `bystanders`.
        unsafe {
            let target = saved.address as *mut u8;
            std::ptr::copy_nonoverlapping(saved.bytes.as_ptr(), target, saved.bytes.len());
        }
    }
}

/// Returns the addresses of the statics that only the tested program uses, and whose bytes differ from their bytes at
/// the start of the run. Statics of [`OF_MODEL`] are excluded.
pub(crate) fn changed_ranges() -> impl Iterator<Item = Range<usize>> {
    let saved = SAVED.get().and_then(|saved| saved.as_ref().ok());
    let is_own = |saved: &&Saved| {
        !saved.of_tracing && saved.of_crate.as_deref().is_none_or(|name| name != OF_MODEL)
    };
    let own = saved.into_iter().flatten().filter(is_own);
    // SAFETY: the static has this length, and no thread of the run executes.
    let now = |saved: &Saved| unsafe {
        std::slice::from_raw_parts(saved.address as *const u8, saved.bytes.len())
    };
    let changed = own.filter(move |saved| now(saved) != &*saved.bytes);
    changed.map(|saved| saved.address..saved.address + saved.bytes.len())
}

/// Returns the current bytes of the statics, sorted by address; empty before the first run.
pub(crate) fn current() -> Vec<Vec<u8>> {
    let Some(Ok(saved)) = SAVED.get() else { return Vec::new() };
    let bytes = saved.iter().map(|saved| {
        // SAFETY: the static has this length, and no run executes.
        unsafe { std::slice::from_raw_parts(saved.address as *const u8, saved.bytes.len()) }
    });
    bytes.map(<[u8]>::to_vec).collect()
}

/// Sets the statics to the bytes that [`current`] has returned.
pub(crate) fn give_back(bytes: &[Vec<u8>]) {
    let Some(Ok(saved)) = SAVED.get() else { return };
    for (saved, bytes) in saved.iter().zip(bytes).filter(|(saved, _)| !saved.of_tracing) {
        // SAFETY: the static is writable and has this length, and no run executes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), saved.address as *mut u8, bytes.len());
        }
    }
}

/// Returns the numbers of the statics in the crate `name`. Call sites of tracing are excluded, because a list in
/// another crate refers to them.
pub(crate) fn of_crate(name: &str) -> Vec<usize> {
    let Some(Ok(all)) = SAVED.get() else { return Vec::new() };
    let is_own = |saved: &Saved| saved.of_crate.as_deref() == Some(name);
    (0..all.len()).filter(|number| is_own(&all[*number])).collect()
}

/// Returns the numbered statics whose bytes differ from the saved bytes, each with its current bytes. Returns `None` if
/// one of the current values may be an address of memory that `ends` with the run.
pub(crate) fn changed(
    numbers: &[usize],
    ends: impl Fn(usize) -> bool,
) -> Option<Vec<(usize, Vec<u8>)>> {
    let Some(Ok(all)) = SAVED.get() else { return Some(Vec::new()) };
    let bytes = |number: usize| {
        let Saved { address, bytes, .. } = &all[number];
        // SAFETY: the static has this length, and no thread of the run executes.
        unsafe { std::slice::from_raw_parts(*address as *const u8, bytes.len()) }
    };
    let is_changed = |number: &usize| bytes(*number) != &*all[*number].bytes;
    let refers = |number: usize| {
        let before = all[number].address.next_multiple_of(size_of::<usize>()) - all[number].address;
        let words =
            bytes(number).get(before..).unwrap_or_default().chunks_exact(size_of::<usize>());
        words.map(|word| usize::from_ne_bytes(word.try_into().expect("a word"))).any(&ends)
    };
    let changed = numbers.iter().copied().filter(is_changed);
    changed.map(|number| (!refers(number)).then(|| (number, bytes(number).to_vec()))).collect()
}

/// Sets the numbered statics to these bytes.
pub(crate) fn set(values: &[(usize, Vec<u8>)]) {
    let Some(Ok(all)) = SAVED.get() else { return };
    for (number, bytes) in values {
        // SAFETY: the static is writable and has this length, and no run executes.
        unsafe {
            let target = all[*number].address as *mut u8;
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
    }
}

/// Returns `true` for an address in a static that runs share with OS threads, for example a static of std.
pub(crate) fn is_shared(address: usize) -> bool {
    static SECTIONS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    let sections = SECTIONS.get_or_init(|| {
        let sections = program().map(|program| program.sections());
        let writable = sections.into_iter().flatten().filter(is_writable);
        let range = |section: object::Section<'_, '_>| {
            (load_address() + section.address() as usize, section.size() as usize)
        };
        writable.map(range).collect()
    });
    let within = |(begin, size): (usize, usize)| address.wrapping_sub(begin) < size;
    sections.iter().copied().any(within) && !is_saved(address)
}

/// Returns `true` for an address in a static that gets its first value again when a run begins.
fn is_saved(address: usize) -> bool {
    saved_at(address).is_some()
}

/// Returns `true` for an address in a static that also gets back its current value after the last run.
pub(crate) fn is_restored(address: usize) -> bool {
    saved_at(address).is_some_and(|saved| !saved.of_tracing)
}

fn saved_at(address: usize) -> Option<&'static Saved> {
    let Some(Ok(saved)) = SAVED.get() else { return None };
    // The list is sorted by address.
    let after = saved.partition_point(|saved| saved.address <= address);
    let before = after.checked_sub(1).and_then(|at| saved.get(at))?;
    (address - before.address < before.bytes.len()).then_some(before)
}

/// Returns `true` for a section with mutable statics: `.data`, `.bss`, and sections that the attribute `link_section`
/// names.
pub(crate) fn is_writable(section: &object::Section<'_, '_>) -> bool {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    let [alloc, write, tls] = [elf::SHF_ALLOC, elf::SHF_WRITE, elf::SHF_TLS].map(u64::from);
    // Coverage is counted over all runs.
    let is_of_coverage = section.name().is_ok_and(|name| name.starts_with("__llvm_"));
    let begin = load_address() + section.address() as usize;
    sh_flags & (alloc | write | tls) == alloc | write
        && !is_of_coverage
        && !protected().contains(&begin)
}

fn read() -> Result<Vec<Saved>, String> {
    let program = program()?;
    if !has_symbols() {
        return Err("the program has no symbols: build it without `strip`".to_owned());
    }
    let base = load_address();
    let listed = unseen::statics();
    let mut statics: Vec<(usize, usize, bool, Option<String>)> = Vec::new();
    for symbol in program.symbols() {
        let section = symbol.section_index().and_then(|index| program.section_by_index(index).ok());
        let writable = section.is_some_and(|section| is_writable(&section));
        if symbol.kind() != SymbolKind::Data || symbol.size() == 0 || !writable {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        let address = base + symbol.address() as usize;
        let of_tracing = is_of_tracing(name);
        if of_tracing || is_tested(name) || listed.contains(&address) {
            let of_crate = krate(name).filter(|_| !name.contains("CALLSITE"));
            statics.push((address, symbol.size() as usize, of_tracing, of_crate));
        }
    }
    statics.sort_unstable();
    statics.dedup();
    let save = |(address, size, of_tracing, of_crate): (usize, usize, bool, Option<String>)| {
        // The engine has used statics of tracing by now, so they keep their current values.
        let first = (!of_tracing).then(|| first_values::at(address, size)).flatten();
        // SAFETY: the symbol table guarantees that the program has a static of this size there.
        let now = || unsafe { std::slice::from_raw_parts(address as *const u8, size) };
        let bytes = first.unwrap_or_else(now);
        Saved { address, bytes: bytes.to_vec(), of_tracing, of_crate }
    };
    Ok(statics.into_iter().map(save).collect())
}

/// Returns the symbols of the variables of the toolchain's crates: std, the harness and their dependencies. Empty if
/// the program was not linked by `cargo unpause test`.
///
/// The crate name is not sufficient: a test program may be called `test` or `std`, and a dependency `memchr`.
fn toolchain() -> &'static HashSet<&'static str> {
    static TOOLCHAIN: OnceLock<HashSet<&'static str>> = OnceLock::new();
    TOOLCHAIN.get_or_init(|| {
        let list = arch::variables_of_toolchain() as *const c_char;
        if list.is_null() {
            return HashSet::new();
        }
        // SAFETY: this null-terminated list is linked with the replacements of std functions.
        let list = unsafe { CStr::from_ptr(list) };
        list.to_str().unwrap_or_default().lines().collect()
    })
}

/// Returns `true` for a variable of a toolchain crate.
pub(crate) fn is_of_toolchain(symbol: &str) -> bool {
    let list = toolchain();
    match list.is_empty() {
        false => list.contains(symbol),
        true => krate(symbol).is_some_and(|krate| OF_STD.contains(&&*krate)),
    }
}

/// Returns the crate of a symbol; `None` for a C symbol.
fn krate(symbol: &str) -> Option<String> {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let (krate, _) = name.trim_start_matches(['<', '&', '*']).split_once("::")?;
    Some(krate.to_owned())
}

/// Returns `true` for a Rust static of a tested crate, if its name contains the crate.
pub(crate) fn is_tested(symbol: &str) -> bool {
    let Some(krate) = krate(symbol) else { return false };
    let is_ours = krate == SHIM || (!cfg!(unpause_linked) && OF_UNPAUSE.contains(&&*krate));
    !is_ours && !is_of_toolchain(symbol)
}

/// Returns `true` for a static of tracing that must be restored at the start of each run, although the engine uses it.
/// These are the list of dispatchers, the global dispatcher, the list of call sites, and each call site of the engine
/// in that list.
///
/// The number of scoped dispatchers is not restored, because the engine may have a scoped dispatcher when a run begins.
/// The number is a hint, so a run that ends within a scope does no harm.
fn is_of_tracing(symbol: &str) -> bool {
    if cfg!(unpause_linked) {
        return false;
    }
    let Some(krate) = krate(symbol) else { return false };
    match OF_TRACING.contains(&&*krate) {
        true => !symbol.contains("SCOPED_COUNT"),
        false => OF_UNPAUSE.contains(&&*krate) && symbol.contains("CALLSITE"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statics_of_std_and_of_unpause_are_kept() {
        assert!(is_tested("_ZN7dashmap5TABLE17h0123456789abcdefE"));
        assert!(!is_tested("_ZN3std2io5stdio6STDOUT17h0123456789abcdefE"));
        assert!(!is_tested("_ZN3sim6engine4LAST17h0123456789abcdefE"));
        assert!(!is_tested("environ"));
    }

    #[test]
    fn statics_of_tracing_begin_each_run_anew() {
        let core = "_ZN12tracing_core10dispatcher15GLOBAL_DISPATCH17h0123456789abcdefE";
        let site = "_ZN3sim2rt8executor8Executor3run10__CALLSITE17h0123456789abcdefE";
        assert!(is_of_tracing(core) && is_of_tracing(site));
        assert!(!is_of_tracing("_ZN12tracing_core10dispatcher12SCOPED_COUNT17h0123456789abcdefE"));
        assert!(!is_of_tracing("_ZN3sim6engine4LAST17h0123456789abcdefE"));
        // Thread-local variables are different, because a scope of the engine surrounds the run.
        assert!(!is_tested(core) && !is_tested(site));
    }

    #[test]
    fn statics_of_programs_with_the_name_of_a_crate_of_the_harness_are_tested() {
        for krate in ["4test", "4core", "5alloc", "6memchr", "6object", "9hashbrown", "4libc"] {
            let symbol = format!("_ZN{krate}5TABLE17h0123456789abcdefE");
            assert!(is_tested(&symbol), "{symbol}");
        }
    }
}
