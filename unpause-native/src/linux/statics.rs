//! Statics of the tested crates: they have their first values again when a run begins.

use std::sync::OnceLock;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use super::image::load_address;
use super::program::{has_symbols, program};

/// The crates whose statics keep their values: std with what it is made of, and the harness.
const OF_STD: &[&str] = &[
    "addr2line",
    "alloc",
    "compiler_builtins",
    "core",
    "gimli",
    "hashbrown",
    "libc",
    "memchr",
    "object",
    "rustc_demangle",
    "std",
    "std_detect",
    "test",
    "unpause_any",
];

/// The same for unpause with what it is made of. Where it is linked as one object its statics have no names, and
/// these are those of tested crates.
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
];

/// A static: its address, and the bytes that it begins each run with.
struct Saved {
    address: usize,
    bytes: Vec<u8>,
}

static SAVED: OnceLock<Result<Vec<Saved>, String>> = OnceLock::new();

/// Saves the statics, the first time that it is called.
///
/// # Errors
/// If the program cannot be read, or has no symbols.
pub(crate) fn save() -> Result<(), String> {
    SAVED.get_or_init(read).as_ref().map(drop).map_err(Clone::clone)
}

/// Puts the saved bytes back. For the carrier, between two runs.
pub(crate) fn restore() {
    for saved in SAVED.get().iter().filter_map(|saved| saved.as_ref().ok()).flatten() {
        // SAFETY: the static is writable and this long. No thread of a run exists; threads of the system do not use
        // statics of tested crates while a run is on.
        unsafe {
            let target = saved.address as *mut u8;
            std::ptr::copy_nonoverlapping(saved.bytes.as_ptr(), target, saved.bytes.len());
        }
    }
}

/// Returns `true` for an address in a static that runs share with threads of the system: of std, for example.
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

/// Returns `true` for an address in a static that has its first value again when a run begins.
fn is_saved(address: usize) -> bool {
    let Some(Ok(saved)) = SAVED.get() else { return false };
    // In the order of their addresses.
    let after = saved.partition_point(|saved| saved.address <= address);
    let before = after.checked_sub(1).and_then(|at| saved.get(at));
    before.is_some_and(|saved| address - saved.address < saved.bytes.len())
}

fn is_writable(section: &object::Section<'_, '_>) -> bool {
    matches!(section.name(), Ok(".data" | ".bss"))
}

fn read() -> Result<Vec<Saved>, String> {
    let program = program()?;
    if !has_symbols() {
        return Err("the program has no symbols: build it without `strip`".to_owned());
    }
    let base = load_address();
    let mut statics: Vec<(usize, usize)> = Vec::new();
    for symbol in program.symbols() {
        let section = symbol.section_index().and_then(|index| program.section_by_index(index).ok());
        let writable = section.is_some_and(|section| is_writable(&section));
        if symbol.kind() != SymbolKind::Data || symbol.size() == 0 || !writable {
            continue;
        }
        if symbol.name().is_ok_and(is_tested) {
            statics.push((base + symbol.address() as usize, symbol.size() as usize));
        }
    }
    statics.sort_unstable();
    statics.dedup();
    let save = |(address, size): (usize, usize)| {
        // SAFETY: the symbol table says that the program has a static of this size there.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size) };
        Saved { address, bytes: bytes.to_vec() }
    };
    Ok(statics.into_iter().map(save).collect())
}

/// Returns `true` for a Rust static of a crate that is tested.
pub(crate) fn is_tested(symbol: &str) -> bool {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let Some((krate, _)) = name.trim_start_matches(['<', '&', '*']).split_once("::") else {
        // A static of C.
        return false;
    };
    !OF_STD.contains(&krate) && (cfg!(unpause_linked) || !OF_UNPAUSE.contains(&krate))
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
}
