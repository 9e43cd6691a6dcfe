//! The statics of std in the program, by name, with the treatment of each static. A run must find them in the same
//! state as every other run, and must leave no changes in them.
//!
//! OS threads use the same statics during a run: threads of libtest, and threads of other tests. So a run gets its own
//! values, and the values of the process are restored when the run is over.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use object::{Object, ObjectSymbol, SymbolKind};

use crate::linux::image::load_address;
use crate::linux::program::program;
use crate::linux::statics;

/// The treatment of a std static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Treatment {
    /// Each run begins with the value that the static had before the first run. After the run, the static gets the
    /// value of the process again.
    Value,
    /// Like `Value`, but with a special treatment in this file.
    Own(&'static str),
    /// The static is a lock, which must be free after each run.
    Lock(&'static str),
    /// The static keeps its value, for this reason.
    Kept(&'static str),
}
use Treatment::{Kept, Lock, Own, Value};

const START: &str = "std writes it when the process starts";
const SYSTEM: &str = "it remembers what the system can do, which is the same in all runs";
const HANDLERS: &str = "it is of std's handler of stack overflows, which knows no simulated thread";

/// The ends of the paths of all mutable std statics, with their treatments.
///
/// A test compares the table with the standard library of the toolchain.
const STATICS: &[(&str, Treatment)] = &[
    ("panicking::HOOK", Own("hooks.rs: a run begins with the hook of the process")),
    ("ThreadId::new::COUNTER", Own("thread_ids.rs: each run begins with the same id")),
    ("Cache::with_global::MAPPINGS_CACHE", Value),
    ("default_hook::{closure#0}::FIRST_PANIC", Value),
    ("alloc::HOOK", Value),
    ("panic::SHOULD_CAPTURE", Value),
    ("Backtrace::enabled::ENABLED", Value),
    ("default_alloc_error_hook::PREV_ALLOC_FAILURE", Value),
    ("stdio::STDOUT", Lock("streams.rs; its buffer is written, and is no memory of a run")),
    ("stdio::stderr::INSTANCE", Lock("streams.rs")),
    ("stdio::stdin::INSTANCE", Kept("what was read from the standard input is gone")),
    ("unix::ENV_LOCK", Lock("locks.rs")),
    ("sys::backtrace::lock::LOCK", Lock("locks.rs")),
    ("rt::cleanup::CLEANUP", Own("std_state.rs: a run cleans nothing up")),
    ("unique_thread_exit::EXITING_THREAD_ID", Own("std_state.rs: forgotten after the run")),
    ("panic_count::GLOBAL_PANIC_COUNT", Kept("a number that is too high costs time only")),
    ("stdio::OUTPUT_CAPTURE_USED", Kept("once it is set, it costs time only")),
    (
        "spawn_unchecked::{closure#0}::MIN",
        Kept("a variable of the environment, read before the first run"),
    ),
    ("min_stack_size::DLSYM", Kept(SYSTEM)),
    ("posix_spawn::PIDFD_SUPPORTED", Kept(SYSTEM)),
    // A call that the system does not support is an operation of the run, so each run must try it, or none.
    ("try_statx::STATX_SAVED_STATE", Value),
    ("sendfile_splice::HAS_SPLICE", Value),
    ("sendfile_splice::HAS_SENDFILE", Value),
    ("copy_regular_files::HAS_COPY_FILE_RANGE", Value),
    // Macros of std read it in the code of the program, so these reads are requests.
    ("detect::cache::CACHE", Value),
    ("getrandom::URANDOM_READY", Kept(SYSTEM)),
    ("getrandom::GETRANDOM_AVAILABLE", Kept(SYSTEM)),
    ("getrandom::GRND_INSECURE_AVAILABLE", Kept(SYSTEM)),
    ("getrandom::DEVICE", Kept(SYSTEM)),
    ("debug_path_exists::DEBUG_PATH_EXISTS", Kept(SYSTEM)),
    ("guard::key::enable::DTORS", Kept("the key of a thread-local of C, one in a process")),
    ("main_thread::MAIN", Kept(START)),
    ("unix::ON_BROKEN_PIPE_USED", Kept(START)),
    ("imp::ARGC", Kept(START)),
    ("imp::ARGV", Kept(START)),
    ("thread_info::THREAD_INFO", Kept(HANDLERS)),
    ("thread_info::LOCK", Kept(HANDLERS)),
    ("thread_info::SPIN_LOCK", Kept(HANDLERS)),
    ("stack_overflow::imp::MAIN_ALTSTACK", Kept(HANDLERS)),
    ("stack_overflow::imp::NEED_ALTSTACK", Kept(HANDLERS)),
    ("stack_overflow::imp::PAGE_SIZE", Kept(HANDLERS)),
];

/// Returns the entry of a std static with this symbol. `None` for other symbols, and for unknown statics.
fn entry(symbol: &str) -> Option<(&'static str, Treatment)> {
    let path = path(symbol)?;
    let is_it = |(end, _): &&(&str, Treatment)| {
        path.strip_suffix(end).is_some_and(|before| before.ends_with("::"))
    };
    STATICS.iter().find(is_it).copied()
}

/// Returns the path of a variable of std or std_detect, without the differences between the two mangling schemes.
/// `None` for other symbols.
fn path(symbol: &str) -> Option<String> {
    // If the compiler splits a static, it numbers the parts.
    let symbol = match symbol.rsplit_once('.') {
        Some((whole, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => symbol,
    };
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    let path = name.replace(['<', '>'], "").replace("{{closure}}", "{closure#0}");
    ["std::", "std_detect::"].iter().any(|krate| path.starts_with(krate)).then_some(path)
}

/// Returns the addresses of the std statics in this program, by the end of their path. A static has several ranges if
/// the compiler has split it.
fn found() -> &'static BTreeMap<&'static str, Vec<Range<usize>>> {
    static FOUND: OnceLock<BTreeMap<&'static str, Vec<Range<usize>>>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = BTreeMap::<_, Vec<_>>::new();
        let Ok(program) = program() else { return found };
        for symbol in program.symbols() {
            let section = symbol.section_index().map(|index| program.section_by_index(index));
            let is_static = symbol.kind() == SymbolKind::Data && symbol.size() > 0;
            let Some(Ok(section)) = section.filter(|_| is_static) else { continue };
            if !statics::is_writable(&section) {
                continue;
            }
            let name = symbol.name().unwrap_or_default();
            if let Some((end, _)) = entry(name).filter(|_| statics::is_of_toolchain(name)) {
                let begin = load_address() + symbol.address() as usize;
                found.entry(end).or_default().push(begin..begin + symbol.size() as usize);
            }
        }
        found
    })
}

/// Returns the addresses of a std static, by the end of its path. `None` if the program does not contain the static, or
/// contains it in parts.
pub(crate) fn range(end: &str) -> Option<Range<usize>> {
    debug_assert!(STATICS.iter().any(|(known, _)| *known == end), "{end} is in no row");
    match found().get(end).map(Vec::as_slice) {
        Some([range]) => Some(range.clone()),
        _ => None,
    }
}

/// A static that has a value of the run, or of the process.
pub(crate) struct Swapped {
    address: usize,
    /// The value at the beginning of each run.
    first: Vec<u8>,
    /// The value of the process, saved during a run.
    outer: Vec<u8>,
    /// True if `outer` differs from the first value.
    differs: bool,
}

/// Returns the statics that have values of a run.
pub(crate) fn swapped() -> Vec<Swapped> {
    let values = STATICS.iter().filter(|(_, treatment)| *treatment == Value);
    let ranges = values.filter_map(|(end, _)| found().get(end)).flatten();
    ranges
        .map(|range| {
            let first = bytes(range.start, range.len()).to_vec();
            Swapped { address: range.start, outer: first.clone(), first, differs: false }
        })
        .collect()
}

/// Returns the bytes of a static.
fn bytes(address: usize, size: usize) -> &'static [u8] {
    // SAFETY: the symbol table guarantees that the program has a static of this size there. The caller copies the bytes
    // at once.
    unsafe { std::slice::from_raw_parts(address as *const u8, size) }
}

impl Swapped {
    /// Sets the static to its first value, for a run.
    pub(crate) fn begin(&mut self) {
        let now = bytes(self.address, self.first.len());
        let differed = std::mem::replace(&mut self.differs, *now != *self.first);
        if self.differs {
            self.outer.copy_from_slice(now);
            write(self.address, &self.first);
        } else if differed {
            self.outer.copy_from_slice(&self.first);
        }
    }

    /// Restores the value that the static has outside of runs.
    pub(crate) fn end(&self) {
        if *bytes(self.address, self.outer.len()) != *self.outer {
            write(self.address, &self.outer);
        }
    }
}

fn write(address: usize, value: &[u8]) {
    // SAFETY: this is a writable static of this size, and no thread of a run exists.
    unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), address as *mut u8, value.len()) };
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use object::ObjectSection;
    use object::read::archive::ArchiveFile;

    use super::*;

    /// Returns the symbols of all mutable statics in a library of the toolchain.
    fn statics_of(library: &PathBuf) -> Vec<String> {
        let bytes = std::fs::read(library).unwrap();
        let archive = ArchiveFile::parse(&*bytes).unwrap();
        let mut symbols = Vec::new();
        for member in archive.members() {
            let member = member.unwrap();
            if member.name() == b"lib.rmeta" {
                continue;
            }
            let file = object::File::parse(member.data(&*bytes).unwrap()).unwrap();
            for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data) {
                let section = symbol.section_index().map(|at| file.section_by_index(at).unwrap());
                let section = section.as_ref().map_or("", |section| section.name().unwrap());
                let can_change = section.starts_with(".data") || section.starts_with(".bss");
                if can_change && !section.starts_with(".data.rel.ro") && symbol.size() > 0 {
                    symbols.push(symbol.name().unwrap().to_owned());
                }
            }
        }
        symbols
    }

    /// Returns the libraries of the toolchain.
    fn libraries() -> Vec<PathBuf> {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let folder = Command::new(rustc).args(["--print", "target-libdir"]).output().unwrap();
        let folder = PathBuf::from(String::from_utf8(folder.stdout).unwrap().trim());
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "rlib")).collect()
    }

    /// Statics of other toolchain crates that cache the features of the processor.
    const OF_THE_PROCESSOR: &[&str] = &["memchr::", "compiler_builtins::"];

    /// Parts of names that only the linker or the compiler creates.
    const CONSTANT: &[&str] = &["DW.ref.", "_rust_extern_with_linkage_", "STATIC_INNER_SLICE"];

    /// Toolchain crates that no test links: crates for macros and for coverage.
    const NOT_LINKED: &[&str] = &["libproc_macro-", "libprofiler_builtins-"];

    #[test]
    fn each_static_of_the_toolchain_has_a_treatment() {
        let (mut unknown, mut known) = (Vec::new(), Vec::new());
        for library in libraries() {
            let file = library.file_name().unwrap().to_str().unwrap().to_owned();
            if NOT_LINKED.iter().any(|begin| file.starts_with(begin)) {
                continue;
            }
            for symbol in statics_of(&library) {
                let name = format!("{:#}", rustc_demangle::demangle(&symbol));
                let is_constant = CONSTANT.iter().any(|part| name.contains(part));
                let is_of = |begin: &&str| name.trim_start_matches('<').starts_with(*begin);
                match entry(&symbol) {
                    Some((end, _)) => known.push(end),
                    None if is_constant || OF_THE_PROCESSOR.iter().any(is_of) => {}
                    None => unknown.push(format!("{file}: {name}")),
                }
            }
        }
        assert!(
            unknown.is_empty(),
            "statics of the toolchain without a row in STATICS: put them back, or keep them with a reason\n{}",
            unknown.join("\n")
        );
        known.sort_unstable();
        known.dedup();
        let gone: Vec<_> = STATICS.iter().filter(|(end, _)| !known.contains(end)).collect();
        assert!(gone.is_empty(), "rows without a static: {gone:?}");
    }

    #[test]
    fn a_name_is_known_in_both_manglings() {
        let row = |symbol: &str| entry(symbol).map(|(end, _)| end);
        let legacy = "_ZN3std6thread8ThreadId3new7COUNTER17h0123456789abcdefE";
        let new = "_RNvNvMNtNtCsjrHSEGnQ3l9_3std6thread2idNtB4_8ThreadId3new7COUNTER";
        assert_eq!([legacy, new].map(row), [Some("ThreadId::new::COUNTER"); 2]);
        let part = "_RNvNtNtCsjrHSEGnQ3l9_3std2io5stdio19OUTPUT_CAPTURE_USED.0";
        assert_eq!(row(part), Some("stdio::OUTPUT_CAPTURE_USED"));
        // The first symbol is the same path in another crate, and the second is an unknown static.
        assert_eq!(row("_ZN4demo9panicking4HOOK17h0123456789abcdefE"), None);
        assert_eq!(row("_ZN3std9panicking4NEWS17h0123456789abcdefE"), None);
    }
}
