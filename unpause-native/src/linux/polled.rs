//! Runs of tasks that are futures, polled on an OS thread. No thread is simulated.
//!
//! Values that differ between processes, or between two runs of one process, are fixed for such a run, too. These
//! values are the random bytes, from which the keys of a `HashMap` are created, and the thread-locals and statics of
//! the tested crates. Clocks, files and sockets belong to the system.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use object::{Object, ObjectSymbol, SymbolKind};

use super::image::image;
use super::program::program;
use super::thread::Destructor;
use super::{entropy, environment, statics, std_state, switch};

/// A function that returns the key for the random bytes of a run.
type Key = fn() -> u64;

thread_local! {
    /// The random bytes of the run that this thread polls. The first use creates the state of their stream.
    static RANDOM: Cell<Option<(Option<u64>, Key)>> = const { Cell::new(None) };
    /// The destructors of the thread-locals that the run has created. Null while the thread polls no run.
    static DESTRUCTORS: Cell<*mut Vec<Destructor>> = const { Cell::new(std::ptr::null_mut()) };
}

/// A thread-local variable of the program: its distance from the first variable, and its size.
#[derive(Clone, Copy)]
struct Variable {
    offset: usize,
    size: usize,
}

/// A run that the current thread polls until this value is dropped.
pub struct Polled {
    /// The values of the variables before the run, concatenated.
    before: Vec<u8>,
    /// The list is boxed, because the thread stores its address.
    #[expect(clippy::box_collection, reason = "the run may be moved, and the list must not")]
    destructors: Box<Vec<Destructor>>,
}

impl Polled {
    /// Begins a run on this thread, with fresh thread-locals and statics. `key` returns the key for the random bytes at
    /// their first use. The caller must exclude other tests of the process during the run, because all threads share
    /// the statics.
    ///
    /// # Errors
    /// Returns an error if the program has no symbols, which are needed to find its variables.
    ///
    /// # Panics
    /// Panics if the thread already polls a run.
    pub fn begin(key: fn() -> u64) -> Result<Polled, String> {
        assert!(DESTRUCTORS.get().is_null(), "this thread polls a run already");
        statics::save()?;
        statics::restore();
        std_state::begin_polled();
        let mut before = Vec::new();
        for (variable, address) in variables() {
            // SAFETY: the symbol table guarantees that each thread has a variable of this size there. No reference to
            // it is live, because the run has not begun.
            unsafe {
                let bytes = std::slice::from_raw_parts(address as *const u8, variable.size);
                before.extend_from_slice(bytes);
                write_initial(variable, address as *mut u8);
            }
        }
        let mut run = Polled { before, destructors: Box::default() };
        DESTRUCTORS.set(&raw mut *run.destructors);
        RANDOM.set(Some((None, key)));
        Ok(run)
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        // Destructors may create other thread-locals, which have destructors, too.
        loop {
            // SAFETY: only this thread uses the list, and no reference to it is live while a destructor runs.
            let next = unsafe { (*DESTRUCTORS.get()).pop() };
            let Some((destructor, argument)) = next else { break };
            // SAFETY: the destructor was registered with this argument, for a variable that still has its value.
            unsafe { destructor(argument) };
        }
        DESTRUCTORS.set(std::ptr::null_mut());
        RANDOM.set(None);
        statics::forget_dispatchers();
        let mut before = &self.before[..];
        for (variable, address) in variables() {
            let (bytes, rest) = before.split_at(variable.size);
            // SAFETY: like in `begin`; the run is over.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, variable.size);
            }
            before = rest;
        }
        std_state::end_polled(false);
        environment::end();
    }
}

/// The function that a thread calls before `abort` ends the process during a run that it polls.
static ON_ABORT: OnceLock<fn()> = OnceLock::new();

/// Sets the function to call when a thread calls `abort` during a run that it polls, before the process ends. Only the
/// first call has an effect.
pub fn on_abort(call: fn()) {
    _ = ON_ABORT.set(call);
}

/// Calls this function, because the current thread calls `abort`.
pub(crate) fn aborts() {
    if let (true, Some(call)) = (is_on(), ON_ABORT.get()) {
        call();
    }
}

/// Returns `true` if this thread polls a run.
pub(crate) fn is_on() -> bool {
    !DESTRUCTORS.get().is_null() || RANDOM.get().is_some()
}

/// Writes the value that a variable has at the start of a thread.
///
/// # Safety
/// `target` must be the variable of the current thread, without a live reference.
unsafe fn write_initial(Variable { offset, size }: Variable, target: *mut u8) {
    let image = image();
    let initialized = image.initialized.saturating_sub(offset).min(size);
    // SAFETY: the caller guarantees the target, and the image belongs to the program.
    unsafe {
        let initial = (image.initial + offset) as *const u8;
        std::ptr::copy_nonoverlapping(initial, target, initialized);
        std::ptr::write_bytes(target.add(initialized), 0, size - initialized);
    }
}

/// Returns the variables of which a run has its own, each with its address in the current thread.
fn variables() -> impl Iterator<Item = (Variable, usize)> {
    static VARIABLES: OnceLock<Vec<Variable>> = OnceLock::new();
    let variables = VARIABLES.get_or_init(find);
    let begin = switch::thread_pointer().wrapping_add_signed(image().offset);
    variables.iter().map(move |variable| (*variable, begin + variable.offset))
}

fn find() -> Vec<Variable> {
    let Ok(program) = program() else { return Vec::new() };
    let is_of_run = |name: &str| statics::is_tested(name) || is_hash_keys(name);
    let mut found: Vec<Variable> = program
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Tls && symbol.size() > 0)
        .filter(|symbol| symbol.name().is_ok_and(is_of_run))
        .map(|symbol| Variable { offset: symbol.address() as usize, size: symbol.size() as usize })
        .filter(|variable| variable.offset + variable.size <= image().size)
        .collect();
    found.sort_unstable_by_key(|variable| variable.offset);
    found.dedup_by_key(|variable| variable.offset);
    found
}

/// Returns `true` for std's variable with the next keys of a `HashMap`. It is the only std variable of which a run has
/// its own.
fn is_hash_keys(symbol: &str) -> bool {
    let name = format!("{:#}", rustc_demangle::demangle(symbol));
    name.contains("RandomState") && name.contains("KEYS")
}

/// Fills the buffer if this thread polls a run. Otherwise returns `false`.
///
/// # Safety
/// The buffer must be valid for writes of `size` bytes.
pub(crate) unsafe fn fill(buffer: *mut u8, size: usize) -> bool {
    let Some((state, key)) = RANDOM.get() else { return false };
    // The callers are C functions, so no panic may unwind through them. If the key cannot be drawn, the run fails.
    let mut state = state.unwrap_or_else(|| catch_unwind(AssertUnwindSafe(key)).unwrap_or(0));
    for at in 0..size {
        // SAFETY: the caller guarantees the buffer.
        unsafe { buffer.add(at).write(entropy::next_byte(&mut state)) };
    }
    RANDOM.set(Some((Some(state), key)));
    true
}

/// Keeps a destructor until the end of the run. Returns `false` if this thread polls no run, or if the argument of the
/// destructor is not a variable of the run.
pub(crate) fn keeps_destructor(destructor: Destructor) -> bool {
    let list = DESTRUCTORS.get();
    if list.is_null() {
        return false;
    }
    let address = destructor.1 as usize;
    let is_in = |(variable, begin): (Variable, usize)| address.wrapping_sub(begin) < variable.size;
    if !variables().any(is_in) {
        return false;
    }
    // SAFETY: this is the list of the run. Only this thread uses it, and no reference to it outlives a call.
    unsafe { (*list).push(destructor) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_hash_maps_are_the_variable_of_std_that_is_fresh() {
        let keys = "_ZN3std4hash6random11RandomState3new4KEYS28_$u7b$$u7b$constant$u7d$$u7d$28_$u7b$$u7b$closure$\
            u7d$$u7d$3VAL17h0123456789abcdefE";
        assert!(is_hash_keys(keys) && !statics::is_tested(keys));
        assert!(!is_hash_keys("_ZN3std6thread7current7CURRENT17h0123456789abcdefE"));
    }
}
