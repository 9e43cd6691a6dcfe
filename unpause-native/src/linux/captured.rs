//! Memory that existed before the runs of a closure: the memory that the closure has captured. It outlives the runs, so
//! that the test can gather values over all of them. It is not shared memory of a run: its atomic operations are not
//! requests.
//!
//! Captured memory is all memory that was mapped when the test called the runner, except the program's statics and the
//! stacks and thread-locals of the simulated threads. If such memory may refer to an allocation of a run at the end of
//! the run, the allocation is [kept](super::arenas::Places::keep).

use std::cell::UnsafeCell;
use std::fs;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::heap;
use super::statics;
use super::thread::Thread;

/// The number of bytes above the address by which the system identifies a thread. Thread-locals are below this address.
const ABOVE: usize = 4096;

struct Shared(UnsafeCell<Vec<Range<usize>>>);

// SAFETY: the test writes this value only while no run executes. The carrier and the threads of a run read it. They
// execute one at a time, on the carrier's OS thread.
unsafe impl Sync for Shared {}

/// The ranges of captured memory, sorted by address. Empty for runs without captured memory.
static RANGES: Shared = Shared(UnsafeCell::new(Vec::new()));

/// A guard that ends the use of captured memory when it is dropped, and restores the statics that the runs have
/// changed.
#[must_use]
pub struct Captured {
    statics: Vec<Vec<u8>>,
}

/// The statics of the test's own crate, which keep the values of the last complete run.
struct Own {
    /// Their [numbers](statics::of_crate).
    numbers: Vec<usize>,
    /// The values that the last complete run has changed.
    last: Vec<(usize, Vec<u8>)>,
}

static OWN: Mutex<Own> = Mutex::new(Own { numbers: Vec::new(), last: Vec::new() });

fn own() -> MutexGuard<'static, Own> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prepares runs of a closure. If the closure `has_captured` memory, the next runs leave all memory alone that exists
/// now. The returned guard restores the current values of the statics. The statics of the crate `keeps` get the values
/// with which the last complete run ended, unless one of these values may refer to memory of the run. Must be called by
/// a test that executes runs, while no other test does.
///
/// # Panics
/// Panics if the system does not list the mappings of this process.
pub fn capture(has_captured: bool, keeps: Option<&str>) -> Captured {
    // If the statics cannot be found, the first run fails with the reason.
    let statics = statics::save().map(|()| statics::current()).unwrap_or_default();
    *own() = Own { numbers: keeps.map_or(Vec::new(), statics::of_crate), last: Vec::new() };
    let ranges = if has_captured { mapped() } else { Vec::new() };
    // SAFETY: no run executes; see `Shared`.
    unsafe { *RANGES.0.get() = ranges };
    Captured { statics }
}

impl Drop for Captured {
    fn drop(&mut self) {
        // SAFETY: no run executes; see `Shared`.
        unsafe { *RANGES.0.get() = Vec::new() };
        statics::give_back(&self.statics);
        let Own { last, .. } =
            std::mem::replace(&mut *own(), Own { numbers: Vec::new(), last: Vec::new() });
        statics::set(&last);
    }
}

/// Stores the values of the test's own statics at the end of a complete run of these threads.
pub(crate) fn keep_statics<'t>(threads: impl Iterator<Item = &'t Thread> + Clone) {
    let mut own = own();
    if own.numbers.is_empty() {
        return;
    }
    let is_of_thread = |address| threads.clone().any(|thread| memory_of(thread).contains(&address));
    let ends = |address: usize| heap::has(address) || is_of_thread(address);
    own.last = statics::changed(&own.numbers, ends).unwrap_or_default();
}

/// Returns the stack and the thread-locals of a thread.
fn memory_of(thread: &Thread) -> Range<usize> {
    thread.lowest..thread.pthread as usize + ABOVE
}

fn ranges() -> &'static [Range<usize>] {
    // SAFETY: the value changes only while no run executes; see `Shared`.
    unsafe { &*RANGES.0.get() }
}

/// Returns `true` if the runs have captured memory.
pub(crate) fn is_on() -> bool {
    !ranges().is_empty()
}

/// Returns `true` for an address in captured memory, which `thread` is about to access.
#[inline(always)]
pub(crate) fn has(thread: &Thread, address: usize) -> bool {
    is_on() && is_in(thread, address)
}

#[inline(never)]
fn is_in(thread: &Thread, address: usize) -> bool {
    let ranges = ranges();
    let after = ranges.partition_point(|range| range.start <= address);
    let is_mapped = after > 0 && ranges[after - 1].contains(&address);
    let run = thread.run_of();
    // The system may reuse captured memory for a thread stack, so the stacks of threads are excluded.
    // SAFETY: workers are never freed.
    let mut threads = run.threads.iter().map(|thread| unsafe { thread.as_ref() });
    let is_below_stacks = address < run.stacks.0;
    is_mapped && (is_below_stacks || !threads.any(|thread| memory_of(thread).contains(&address)))
}

/// Returns the writable mappings of the process that belong neither to a file nor to the heap of runs.
fn mapped() -> Vec<Range<usize>> {
    let maps = match fs::read_to_string("/proc/self/maps") {
        Ok(maps) => maps,
        Err(error) => panic!("what a closure has captured is known by /proc/self/maps: {error}"),
    };
    let ranges = maps.lines().filter_map(range);
    ranges.filter(|range| !heap::has(range.start)).collect()
}

/// Returns the range in a line of the system's list of mappings, if it is writable memory that belongs to no file.
fn range(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (addresses, rights) = (words.next()?, words.next()?);
    let of = words.nth(3).unwrap_or_default();
    let (start, end) = addresses.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let is_memory = rights.starts_with("rw") && (of.is_empty() || of == "[heap]");
    is_memory.then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_of_no_file_can_be_captured() {
        let heap =
            "55d0c0a1e000-55d0c0a3f000 rw-p 00000000 00:00 0                          [heap]";
        assert_eq!(range(heap), Some(0x55d0_c0a1_e000..0x55d0_c0a3_f000));
        let arena = "7f2c34000000-7f2c34021000 rw-p 00000000 00:00 0 ";
        assert_eq!(range(arena), Some(0x7f2c_3400_0000..0x7f2c_3402_1000));
        for other in [
            "7f2c34021000-7f2c38000000 ---p 00000000 00:00 0 ",
            "55d0bf7a4000-55d0bf7b0000 rw-p 000f3000 fd:00 1311 /usr/bin/program",
            "7ffd3c9f5000-7ffd3ca16000 rw-p 00000000 00:00 0                          [stack]",
            "",
        ] {
            assert_eq!(range(other), None, "{other}");
        }
    }

    #[test]
    fn an_allocation_of_this_test_is_in_a_mapping() {
        let value = Box::new(1_u8);
        let address = &raw const *value as usize;
        assert!(mapped().iter().any(|range| range.contains(&address)));
        assert!(!mapped().iter().any(|range| range.contains(&(heap::heap() as usize))));
    }
}
