//! Data races, found by vector clocks and the memory orders in the code (FastTrack; Flanagan, Freund 2009).
//!
//! Two memory accesses by different threads are a race in this case: at least one is a write, at least one is plain,
//! and they are not ordered by happens-before. Happens-before edges come from a release that an acquire reads, a spawn,
//! or a join. The memory orders are the orders in the source, although the run itself is sequentially consistent. So an
//! order that is too weak is found through the race that it allows.
//!
//! Compiled std code is not instrumented. The detector must not report races between accesses that this code orders:
//! - If instrumented code has not written the value of an atomic, compiled code has written it. The reader is then
//!   ordered after all earlier events.
//! - A free by compiled code is ordered after all accesses to the freed memory. A free by an `Arc` is ordered only
//!   after std's own atomic accesses: see [`Detector::is_hidden`].

mod lent;
mod shadow;

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use self::lent::Lent;
use self::shadow::{ATOMIC, FREE, RETURN, Record, Shadow, WRITE};
use super::blocks::Trace;
use super::fault::{Fault, Problem, Step, TooWeak};
use super::heap;
use unpause_orders::{ByNumber, Operation as _};

use super::orders::{Orders, acquires, releases};
use super::places;
use super::request::{Access, Operation};

/// True after a call of [`search_races`].
static IS_SEARCHED: AtomicBool = AtomicBool::new(false);

/// Returns `true` in programs whose plain accesses are instrumented: `cargo unpause test --races`.
///
/// This is a constant, unless the runtime is linked into programs that do not depend on it. In that case, one runtime
/// serves both kinds of programs.
#[inline]
pub fn races() -> bool {
    cfg!(unpause_races) || cfg!(unpause_linked) && IS_SEARCHED.load(Ordering::Relaxed)
}

/// Records that the plain accesses of this program are instrumented. Called before its first run. Has an effect in a
/// linked runtime only.
pub fn search_races() {
    IS_SEARCHED.store(true, Ordering::Relaxed);
}

/// An atomic operation in the log.
#[derive(Clone, Copy)]
struct Logged {
    thread: u16,
    order: u8,
    operation: Operation,
    clock: u32,
    trace: u32,
    address: usize,
    writes: bool,
}

/// The accesses of a run.
#[derive(Default)]
pub(crate) struct Detector {
    shadow: Shadow,
    lent: Lent,
    log: Vec<Logged>,
    /// The return addresses in all runs, and their numbers by hash.
    traces: Vec<Trace>,
    by_hash: ByNumber<u32>,
    /// The results of [`Detector::is_hidden`] in all runs, by the numbers of the return addresses.
    hidden: ByNumber<bool>,
    /// The accesses for which their cells have no room, in a search, by the numbers of the cells.
    spilled: ByNumber<Vec<Record>>,
    /// True if equivalent orders of the run may have a race that the run has not.
    has_hidden: bool,
    /// The results of [`Detector::begins_atomic`] in all runs, by the number of the return addresses.
    begins: ByNumber<bool>,
}

struct Shared(UnsafeCell<Option<Box<Detector>>>);

// SAFETY: only the carrier of a run and the threads of the run use the value, and they execute one at a time.
unsafe impl Sync for Shared {}

static DETECTOR: Shared = Shared(UnsafeCell::new(None));

/// Returns the detector of the current run. The code must not call itself, so that only one reference exists at a time.
#[inline]
pub(crate) fn detector() -> Option<&'static mut Detector> {
    if !races() {
        return None;
    }
    // SAFETY: see `Shared`.
    unsafe { (*DETECTOR.0.get()).as_deref_mut() }
}

/// Removes all accesses. Called by the carrier between two runs.
pub(crate) fn reset() {
    if races() {
        // SAFETY: see `Shared`.
        let detector = unsafe { &mut *DETECTOR.0.get() };
        detector.get_or_insert_default().reset();
    }
}

impl Detector {
    pub(crate) fn reset(&mut self) {
        self.shadow.reset();
        self.lent.reset();
        self.log.clear();
        self.has_hidden = false;
        self.spilled.clear();
    }

    /// Returns `true` if the run belongs to a search, and an equivalent order of its steps may have a race that the run
    /// has not. In that order, uncertain edges of the run may be missing.
    pub(crate) fn has_hidden(&self) -> bool {
        self.has_hidden
    }

    /// Returns the number of these return addresses.
    fn number(&mut self, trace: &Trace) -> u32 {
        let mut hash = 0usize;
        for address in trace {
            hash = (hash ^ address).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
        }
        let traces = &mut self.traces;
        *self.by_hash.entry(hash).or_insert_with(|| {
            traces.push(*trace);
            traces.len() as u32 - 1
        })
    }

    /// Prepares an atomic operation that is about to be recorded in `orders`, and has read `seen`. Compiled std code
    /// may have written the first value of an atomic. This is so for heap memory without a recorded access.
    pub(crate) fn begin_atomic(&mut self, orders: &mut Orders, access: &Access, seen: u64) {
        if access.operation == Operation::Fence {
            return;
        }
        let cell = self.shadow.cell(access.address);
        let is_new = !cell.has_atomic();
        let is_untouched = cell.is_empty() && heap::has(access.address);
        cell.set_atomic();
        if is_new && is_untouched {
            orders.begun_unseen(access.address, access.size, seen);
        }
    }

    /// Processes an atomic operation of a thread that was recorded in `orders`, and has read `seen`.
    pub(crate) fn atomic(
        &mut self,
        orders: &mut Orders,
        thread: usize,
        access: &Access,
        seen: u64,
        trace: &Trace,
    ) -> Option<Fault> {
        if access.operation == Operation::Fence {
            return None;
        }
        let writes = access.changes(seen);
        let number = self.number(trace);
        let kind = ATOMIC | if writes { WRITE } else { 0 };
        let race = self.add(orders, thread, access.address, access.size.into(), kind, number);
        self.log.push(Logged {
            thread: thread as u16,
            order: access.order_if(writes),
            operation: access.operation,
            clock: orders.clock(thread).get(thread),
            trace: number,
            address: access.address,
            writes,
        });
        race
    }

    /// Processes a plain access. Returns the race with an earlier access, if any.
    #[cfg(any(test, unpause_races, unpause_linked))]
    #[inline]
    pub(crate) fn plain(
        &mut self,
        orders: &mut Orders,
        thread: usize,
        address: usize,
        size: usize,
        is_write: bool,
        trace: &Trace,
    ) -> Option<Fault> {
        let number = self.number(trace);
        self.add(orders, thread, address, size, u8::from(is_write) * WRITE, number)
    }

    /// Processes a free of memory by a thread.
    pub(crate) fn freed(
        &mut self,
        orders: &mut Orders,
        thread: usize,
        address: usize,
        size: usize,
        trace: &Trace,
    ) -> Option<Fault> {
        let number = self.number(trace);
        self.add(orders, thread, address, size.min(FREED_MAX), WRITE | FREE, number)
    }

    /// Removes the accesses to memory that is newly allocated.
    pub(crate) fn allocated(&mut self, address: usize, size: usize) {
        for at in (address..address + size.min(FREED_MAX)).step_by(8) {
            *self.shadow.cell(at) = self.shadow.fresh();
        }
    }

    /// Adds an access to the bytes at an address.
    #[inline]
    fn add(
        &mut self,
        orders: &mut Orders,
        thread: usize,
        address: usize,
        size: usize,
        kind: u8,
        trace: u32,
    ) -> Option<Fault> {
        let clock = orders.clock(thread);
        // An atomic operation is the last event of its thread. Any other access happens before the next atomic
        // operation.
        let tick = clock.get(thread) + u32::from(kind & ATOMIC == 0);
        let (mut at, end) = (address, address + size);
        while at < end {
            let next = ((at & !7) + 8).min(end);
            let mask = (0xFFu8 >> (8 - (next - at))) << (at & 7);
            let record = Record { clock: tick, trace, thread: thread as u16, mask, kind };
            let cell = self.shadow.cell(at);
            let is_spilled = cell.is_spilled();
            let mut found = cell.add(record, orders.clock(thread));
            if is_spilled || found.displaced.is_some() && orders.is_search() {
                cell.set_spilled();
                let spilled = self.spilled.entry(at / 8).or_default();
                if !is_spilled {
                    // The accesses are those to memory that was freed.
                    spilled.clear();
                }
                spilled.retain(|old| old.meet(&record, orders.clock(thread), &mut found));
                spilled.extend(found.displaced);
            }
            if kind & (WRITE | ATOMIC) == WRITE && cell.has_atomic() {
                orders.written(at, next - at);
            }
            if let Some(old) = found.racing
                && let Some(fault) = self.race(&old, &record)
            {
                return Some(fault);
            }
            self.has_hidden |= found.hidden.iter().any(|old| !self.is_ordered(old, &record));
            at = next;
        }
        None
    }

    /// Returns `true` if two accesses are no race although no edge orders them: compiled std code orders them, or one
    /// of them is a part of an atomic operation.
    fn is_ordered(&mut self, old: &Record, new: &Record) -> bool {
        self.is_hidden(old, new)
            || self.is_hidden(new, old)
            || self.begins_atomic(old)
            || self.begins_atomic(new)
    }

    /// Returns the report for two accesses that no edge orders; `None` if they are no race.
    #[cold]
    fn race(&mut self, old: &Record, new: &Record) -> Option<Fault> {
        if self.is_ordered(old, new) {
            return None;
        }
        let trace = |record: &Record| self.traces[record.trace as usize];
        let label = |record: &Record| match record.kind {
            kind if kind & RETURN != 0 => "returned",
            kind if kind & FREE != 0 => "freed",
            kind => match (kind & ATOMIC != 0, kind & WRITE != 0) {
                (true, true) => "store",
                (true, false) => "load",
                (false, true) => "write",
                (false, false) => "read",
            },
        };
        let step = |record: &Record| Step::new(label(record), record.thread.into(), trace(record));
        let returned = (old.kind | new.kind) & RETURN != 0;
        let problem = if returned { Problem::UseAfterReturn } else { Problem::DataRace };
        let mut fault = Fault::new(problem, step(new)).and(step(old));
        fault.missing = self.too_weak(old, new);
        Some(fault)
    }

    /// Returns `true` if uninstrumented std code orders a free after the other access. For example, compiled code also
    /// changes the reference counts of a `Thread`.
    fn is_hidden(&mut self, free: &Record, other: &Record) -> bool {
        if free.kind & FREE == 0 {
            return false;
        }
        let traces = &self.traces;
        let trace = |record: &Record| &traces[record.trace as usize];
        let pair = (free.trace as usize) << 32 | other.trace as usize;
        *self.hidden.entry(pair).or_insert_with(|| {
            is_of_std(trace(free))
                || other.kind & ATOMIC != 0 && is_count(trace(free)) && is_inside_std(trace(other))
        })
    }

    /// Returns `true` for the plain read at the beginning of the loop for an atomic operation such as `fetch_max`. The
    /// compiler turns the operation into this loop. Its compare-exchange is the relevant access.
    fn begins_atomic(&mut self, record: &Record) -> bool {
        if record.kind & (ATOMIC | WRITE | FREE) != 0 {
            return false;
        }
        let address = self.traces[record.trace as usize][0];
        *self
            .begins
            .entry(record.trace as usize)
            .or_insert_with(|| places::frames(address).iter().any(|frame| frame.looped().is_some()))
    }

    /// Returns two operations on one atomic that would order two accesses if they were stronger. They are a write by
    /// the first thread after its access, and a read by the second thread before its access.
    fn too_weak(&self, old: &Record, new: &Record) -> Option<TooWeak> {
        let (first, second) = (old.thread, new.thread);
        for (at, read) in self.log.iter().enumerate().rev() {
            if read.thread != second || read.operation == Operation::Store {
                continue;
            }
            let is_its = |write: &&Logged| {
                write.writes
                    && write.thread == first
                    && write.address == read.address
                    && write.clock >= old.clock
            };
            let Some(write) = self.log[..at].iter().rev().find(is_its) else { continue };
            if releases(write.order) && acquires(read.order) {
                continue;
            }
            let of = |logged: &Logged| {
                let trace = self.traces[logged.trace as usize];
                let step = Step::new(logged.operation.name(), logged.thread.into(), trace);
                (step, logged.order)
            };
            return Some(TooWeak { operations: [of(write), of(read)] });
        }
        None
    }
}

/// The maximum number of bytes that are checked in a freed or new allocation.
const FREED_MAX: usize = 1 << 16;

/// Returns `true` if std frees the memory of an `Arc` or of a thread.
fn is_count(trace: &Trace) -> bool {
    let frames = trace.iter().flat_map(|address| places::frames(*address));
    let mut of_std = frames.take_while(|frame| frame.is_of_std());
    of_std.any(|frame| {
        frame.file.ends_with("/alloc/src/sync.rs") || frame.file.contains("/std/src/thread/")
    })
}

/// Returns `true` for an atomic operation inside std.
fn is_inside_std(trace: &Trace) -> bool {
    let frames = places::frames(trace[0]);
    let mut callers =
        frames.iter().skip_while(|frame| frame.file.ends_with("/core/src/sync/atomic.rs"));
    callers.next().is_some_and(places::Frame::is_of_std)
}

/// Returns `true` if compiled std code has freed memory.
fn is_of_std(trace: &Trace) -> bool {
    let is_shim = |address: usize| {
        let frames = places::frames(address);
        frames.iter().any(|frame| frame.function.contains("dealloc"))
    };
    let mut callers = trace.iter().copied().take_while(|address| *address != 0);
    callers.find(|address| !is_shim(*address)).is_some_and(places::is_compiled_std)
}

#[cfg(test)]
mod tests;
