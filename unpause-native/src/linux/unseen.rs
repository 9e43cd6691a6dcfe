//! Instructions of the program that synchronise threads or call the system, and that are invisible to the functions of
//! this crate. They are assembly, C, and code that the compiler generates after the instrumentation.
//!
//! `cargo unpause test` searches each program that it has linked, and appends the list of instructions to the file
//! (`cargo-unpause/src/test/scan.rs`). The list also contains [statics], and the functions that the program imports
//! from shared libraries. A run sets a breakpoint at each instruction and at each imported function, so that its first
//! execution is recorded. The handler removes the breakpoint, and the next run sets it again. A run that executes no
//! such code pays nothing.
//!
//! # Limits
//!
//! The code of a shared library is unknown, so the entry of any imported function counts. An execution by a thread
//! outside of the run counts, too, if it happens during the run. A debugger would mistake the breakpoints for its own.
//! So no breakpoints are set in a traced program, and each run then counts as if it had executed all instructions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::c_void;
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::image::load_address;
use super::places::{self, Frame};
use super::{arch, clones, compiled, imports, orders, program, signals, thread};

/// The end of a program with a list. Before it is the length of the list, in 16 hexadecimal digits.
const END: &[u8] = b"unpause-unseen-3";

/// The number of these digits.
const DIGITS: usize = 16;

/// The environment variable with the file to which the functions are appended. The command that runs the tests sets it.
const VARIABLE: &str = "UNPAUSE_UNSEEN";

/// The note for a run of a program that has no list.
const NOT_SEARCHED: &str = "code in assembly and in C, because the program was not searched for it: \
    `cargo unpause test` searches the programs that it links, and not documentation tests";

/// An instruction in the list, or the first instruction of an imported function.
struct Site {
    address: usize,
    /// The description of the function that contains the instruction.
    function: &'static str,
    /// True for an imported function.
    is_imported: bool,
    /// The code of the instruction, if a breakpoint can be set there.
    code: Option<arch::Code>,
    /// True if the instruction was executed since the start of the last run.
    hit: AtomicBool,
    /// True if the instruction was a system call for a thread, which was refused.
    has_cloned: AtomicBool,
    /// True if a message has named this refusal.
    is_told: AtomicBool,
}

/// The list of the program.
#[derive(Default)]
struct List {
    /// The instructions, sorted by address, each of them once.
    sites: Vec<Site>,
    /// True if the program was searched.
    is_searched: bool,
    /// True if no breakpoint can be set at some of the instructions.
    has_unknown: bool,
}

impl List {
    /// Returns the functions with instructions of the list. The command reports them. Imported functions are not among
    /// them, because a library may have hundreds of functions that do not synchronise threads.
    fn searched(&self) -> impl Iterator<Item = &'static str> {
        self.sites.iter().filter(|site| !site.is_imported).map(|site| site.function)
    }
}

static LIST: OnceLock<List> = OnceLock::new();

/// True if breakpoints were removed since the start of the last run.
static REMOVED: AtomicBool = AtomicBool::new(true);

/// Sets the breakpoints at the start of a run.
pub(crate) fn begin() {
    let list = LIST.get_or_init(|| {
        let list = load();
        tell(list.searched(), "");
        list
    });
    if list.sites.is_empty() || !REMOVED.swap(false, Ordering::Acquire) {
        return;
    }
    signals::install_once();
    for site in &list.sites {
        site.hit.store(false, Ordering::Relaxed);
        if site.code.is_some() {
            // SAFETY: this is an instruction in memory that `load` has made writable.
            unsafe { arch::write_code(site.address, arch::BREAKPOINT) };
        }
    }
}

/// Sets the breakpoints of instructions again that were removed since the start of the run.
pub(crate) fn watch_again() {
    for site in LIST.get().map_or(&[][..], |list| &list.sites) {
        let is_instruction = site.code.is_some() && !site.is_imported;
        if is_instruction && site.hit.load(Ordering::Relaxed) {
            // SAFETY: like in `begin`.
            unsafe { arch::write_code(site.address, arch::BREAKPOINT) };
        }
    }
}

/// Handles a trap at a breakpoint of the list: removes the breakpoint, so that the thread executes the instruction.
/// Returns `false` for any other trap.
///
/// # Safety
/// `context` must be the context of a signal handler.
pub(crate) unsafe fn takes_trap(context: *mut c_void) -> bool {
    // SAFETY: the caller passes the context of a handler.
    let address = unsafe { arch::trapped_at(context) };
    let sites = LIST.get().map_or(&[][..], |list| &list.sites);
    let Ok(at) = sites.binary_search_by_key(&address, |site| site.address) else { return false };
    let Some(code) = sites[at].code else { return false };
    // SAFETY: the caller passes the context of a handler, and this is an instruction of the program.
    if unsafe { is_refused(context, address, code) } {
        // The breakpoint stays, so that each further thread is refused, too.
        sites[at].hit.store(true, Ordering::Relaxed);
        sites[at].has_cloned.store(true, Ordering::Relaxed);
        // The next run resets the flag `hit`.
        REMOVED.store(true, Ordering::Release);
        return true;
    }
    // SAFETY: like in `begin`. Another thread may be at this point at the same time, and does the same.
    unsafe {
        arch::write_code(address, code);
        arch::continue_at(context, address);
    }
    sites[at].hit.store(true, Ordering::Relaxed);
    REMOVED.store(true, Ordering::Release);
    if !sites[at].is_imported {
        orders::note_instruction();
    }
    true
}

/// Refuses the system call at a breakpoint if it creates a thread in a run.
///
/// # Safety
/// `context` must be the context of a signal handler that has arrived at the instruction `code` at this address.
unsafe fn is_refused(context: *mut c_void, address: usize, code: arch::Code) -> bool {
    if thread::any().is_none_or(|thread| thread.is_outside()) {
        return false;
    }
    // SAFETY: the caller passes the context of a handler, and the arguments are arguments of the system call.
    unsafe {
        let Some((number, argument)) = arch::system_call(context, address, code) else {
            return false;
        };
        let is_thread = clones::creates_thread(number, argument);
        if is_thread {
            arch::end_system_call(context, address, libc::ENOSYS);
        }
        is_thread
    }
}

/// Names the functions whose system calls for threads were refused, each once in a process.
fn tell_refused(list: &List) {
    for site in list.sites.iter().filter(|site| site.has_cloned.load(Ordering::Relaxed)) {
        if !site.is_told.swap(true, Ordering::Relaxed) {
            eprintln!(
                "unpause: {}: a run does not support `{}`, so the call fails. {}, or leave the test to `cargo test`.",
                site.function,
                clones::CLONE,
                clones::REMEDY
            );
        }
    }
}

/// Returns the functions that were entered since the start of the last run, and functions for which this is unknown.
pub(crate) fn entered() -> BTreeSet<&'static str> {
    let Some(list) = LIST.get() else { return BTreeSet::new() };
    if !list.is_searched && compiled::std_is_replaced() {
        return [NOT_SEARCHED].into();
    }
    if !list.has_unknown && !REMOVED.load(Ordering::Acquire) {
        return BTreeSet::new();
    }
    let is_entered = |site: &&Site| site.code.is_none() || site.hit.load(Ordering::Relaxed);
    list.sites.iter().filter(is_entered).map(|site| site.function).collect()
}

/// Reports each function of the list that a run has entered to the command, once.
pub(crate) fn tell_entered(names: &BTreeSet<&'static str>) {
    let Some(list) = LIST.get() else { return };
    tell_refused(list);
    if list.sites.is_empty() || signals::is_child() {
        return;
    }
    static TOLD: std::sync::Mutex<BTreeSet<&'static str>> = std::sync::Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    tell(list.searched().filter(|name| names.contains(name) && told.insert(name)), "entered ");
}

/// Appends lines to the file of the command, if the command has set one.
fn tell(functions: impl Iterator<Item = &'static str>, mark: &str) {
    let names: BTreeSet<&str> = functions.collect();
    let Some(file) = std::env::var_os(VARIABLE).filter(|_| !names.is_empty()) else { return };
    let mut lines = String::new();
    for name in names {
        let _ = writeln!(lines, "{mark}{name}");
    }
    let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
    let _ = opened.and_then(|mut file| std::io::Write::write_all(&mut file, lines.as_bytes()));
}

/// Reads the list at the end of the program, and makes its instructions and its imported functions writable.
fn load() -> List {
    let Some(text) = program::bytes().and_then(text) else { return List::default() };
    let is_traced = !text.is_empty() && is_traced();
    let site = |address: usize, function: &'static str, is_imported: bool, may_watch: bool| {
        let is_set = may_watch && !is_traced && make_writable(address);
        // SAFETY: this is code of the program, or of a library.
        let code = is_set.then(|| unsafe { (address as *const arch::Code).read_unaligned() });
        let (hit, has_cloned, is_told) = Default::default();
        Site { address, function, is_imported, code, hit, has_cloned, is_told }
    };
    let mut functions = BTreeMap::new();
    let mut sites: Vec<Site> = text
        .lines()
        .filter_map(|line| {
            if let Some(name) = line.strip_suffix("\timport") {
                let (address, library) = imports::find(name)?;
                let shown = format!("{name} ({library}, a shared library)");
                return Some(site(address, shown.leak(), true, true));
            }
            let [address, watch, _, instruction, function] =
                <[&str; 5]>::try_from(line.split('\t').collect::<Vec<_>>()).ok()?;
            let address = load_address() + usize::from_str_radix(address, 16).ok()?;
            let (key, shown) = named(address, function, instruction);
            let function = *functions.entry(key).or_insert_with(|| &*shown.leak());
            Some(site(address, function, false, watch != "n"))
        })
        .collect();
    sites.sort_by_key(|site| site.address);
    // Several instructions of a function may share a breakpoint at the start of the function.
    sites.dedup_by_key(|site| site.address);
    let has_unknown = sites.iter().any(|site| site.code.is_none());
    List { sites, is_searched: true, has_unknown }
}

/// Returns the addresses of the statics in the list: the Rust statics of the program that have a name of C.
pub(crate) fn statics() -> HashSet<usize> {
    let text = program::bytes().and_then(text).unwrap_or_default();
    let addresses = text.lines().filter_map(|line| {
        let address = usize::from_str_radix(line.strip_suffix("\tstatic")?, 16).ok()?;
        Some(load_address() + address)
    });
    addresses.collect()
}

/// Returns the list at the end of a program.
fn text(program: &'static [u8]) -> Option<&'static str> {
    let rest = program.strip_suffix(END)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    std::str::from_utf8(&rest[rest.len().checked_sub(length)?..]).ok()
}

/// Returns the function of an instruction, as a key and as a description. `symbol` is the function that contains the
/// instruction in the program; another function may be inlined there.
fn named(address: usize, symbol: &str, instruction: &str) -> ((String, String), String) {
    let frames = places::frames(address + 1);
    let inner = frames.first().cloned().unwrap_or_default();
    let Frame { function, file, line, .. } = inner;
    let function = if frames.len() > 1 && !function.is_empty() { &function } else { symbol };
    let place = match line {
        0 => String::new(),
        _ => format!("{}:{line}, ", places::in_package(&file)),
    };
    let shown = format!("{function} ({place}`{instruction}`)");
    ((function.to_owned(), file), shown)
}

/// Makes the page of an instruction writable, or both pages that contain it. Returns `false` if the system refuses.
fn make_writable(address: usize) -> bool {
    // SAFETY: the only argument of the call is a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let (from, to) = (address & !(page - 1), address + size_of::<arch::Code>());
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: this is code of the program or of a library, and it stays unchanged.
    unsafe { libc::mprotect(from as *mut c_void, to - from, protection) == 0 }
}

/// Returns `true` if a debugger traces the process.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|process| process.trim() != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_stands_at_the_end_of_a_program() {
        assert_eq!(text(b"ELF...12\tab0000000000000005unpause-unseen-3"), Some("12\tab"));
        assert_eq!(text(b"ELF0000000000000000unpause-unseen-3"), Some(""));
        assert_eq!(text(b"ELF00000000000000ffunpause-unseen-3"), None);
        assert_eq!(text(b"unpause-unseen-3"), None);
        assert_eq!(text(b"ELF"), None);
    }
}
