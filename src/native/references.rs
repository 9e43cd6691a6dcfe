//! The counts of references to the value of an `Arc`, in searches.
//!
//! The operations on these counts are not points, unless the setting `arc` is set. Cloning an `Arc` and dropping it is
//! then a part of a step. A program may still see the order of such steps, in two ways: an operation at a point reads a
//! count (`strong_count`, `upgrade`, `get_mut`), or the thread that drops the last reference executes operations at
//! points, in the destructor of the value. If a run of a search [shows] the counts, the search begins again and notes
//! each change of a [count] as an effect of its step. Other searches pay nothing.
//!
//! Additional references commute with all other changes of a count. Two drops do not commute, because the last one ends
//! the value, and drops the weak reference that all references share. Drops of other weak references commute.
//!
//! In a search for data races, the drop of the last reference also shows the counts: each thread that may drop it may
//! then access the value.
//!
//! The [marks](super::panic_marks) that panics leave on locks of std are noted, too.
//!
//! While all other threads are joined, an operation shows nothing: the sums of all changes are the same in every order.

use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::{Access, Frame, Operation};

use super::drive::{do_quietly, values};
use super::ops;
use super::orders;
use super::panic_marks;
use super::sites::{Site, is_of_user};
use super::threads::with;
use crate::run::event::Values;
use crate::run::functions::last_name;
use crate::run::op::{self, Op, word};

/// True if future runs of searches note the changes of counts.
static ARE_NOTED: AtomicBool = AtomicBool::new(false);

/// True if a run of a search has shown counts although their changes were not noted.
static ARE_SHOWN: AtomicBool = AtomicBool::new(false);

/// Makes future runs of searches note the changes of counts, if `wanted`.
pub(crate) fn note_references(wanted: bool) {
    ARE_NOTED.store(wanted, Ordering::Relaxed);
    ARE_SHOWN.store(false, Ordering::Relaxed);
}

/// Returns `true`, once, if a run of a search has shown counts although their changes were not noted.
pub(crate) fn take_shown_references() -> bool {
    ARE_SHOWN.swap(false, Ordering::Relaxed)
}

/// The treatment of counts that are not points, in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Counted {
    /// The run is not a run of a search, or counts are points: their changes are like all other operations.
    #[default]
    Usually,
    /// The changes are not noted, and the run has shown no count yet.
    Unseen,
    /// The run has shown a count, so it does not count. Only changes of memory that is known are noted, because threads
    /// may wait for them.
    Shown,
    /// Each change is noted.
    Noted,
}

impl Counted {
    /// Returns the treatment in a run whose counts are not points.
    pub(super) fn of_run(is_of_search: bool) -> Counted {
        match (is_of_search, ARE_NOTED.load(Ordering::Relaxed)) {
            (false, _) => Counted::Usually,
            (true, false) => Counted::Unseen,
            (true, true) => Counted::Noted,
        }
    }
}

/// Records that a thread has requested an operation at a place that shows counts.
pub(super) fn show(thread: usize) {
    with(|threads| {
        if threads.counted == Counted::Unseen && !threads.is_alone(thread) {
            threads.counted = Counted::Shown;
            ARE_SHOWN.store(true, Ordering::Relaxed);
        }
    });
}

/// The change of a count. Its operation has no point.
macro_rules! change {
    ($op:expr, $kind:expr) => {{
        const CHANGE: Op = Op::of_kind($op.name, op::Access::Tell, $kind);
        &CHANGE
    }};
}

/// Returns `true` if [`count`] performs the operations on counts of this run. If their changes are not noted, threads
/// may perform further operations at the place directly.
pub(super) fn takes(thread: usize, site: Site) -> bool {
    with(|threads| {
        if threads.counted == Counted::Unseen {
            threads.let_pass(thread, site);
        }
        threads.counted != Counted::Usually
    })
}

/// Performs an operation on a count, in a run of a search. Returns the previous value.
pub(super) fn count(thread: usize, mut access: Access, site: Site) -> u64 {
    let counted = with(|threads| threads.counted);
    if counted == Counted::Shown {
        return do_quietly(thread, access, site).0;
    }
    if counted == Counted::Noted && site.count_change == CountChange::OfThread {
        panic_marks::note_end(&access);
    }
    let is_private = site.count_change == CountChange::Private;
    if counted != Counted::Noted || is_private || access.operation == Operation::Load {
        // The memory may be known, because an operation that shows nothing was a point.
        let (old, new) = with(|threads| threads.perform(thread, &mut access, site, 0));
        let is_last = (access.operation, new) == (Operation::Sub, 0);
        let is_of_std = is_private || site.count_change == CountChange::OfScope;
        if is_last && !is_of_std && orders::finds_races() {
            // In another order, another thread drops the last reference. Its accesses may be in a race.
            show(thread);
        }
        return old;
    }
    let commutes = match access.operation {
        Operation::Add => true,
        Operation::Sub => site.count_change == CountChange::Weak,
        _ => false,
    };
    orders::treat_count(commutes);
    let (old, new, word) = with(|threads| {
        let (old, new) = threads.perform(thread, &mut access, site, 0);
        (old, new, threads.word_at(access.address, ops::kind(&access), site))
    });
    let op = match access.operation {
        Operation::Add => change!(ops::ADD, word::GAIN),
        // The last weak reference frees the memory, which no thread can see.
        Operation::Sub if site.count_change == CountChange::Weak => change!(ops::SUB, word::LOSE),
        Operation::Sub => change!(ops::SUB, word::END),
        _ => {
            word.note(ops::op(&access, site), site.place, values(&access, site, (old, new)));
            return old;
        }
    };
    // The program does not see the count, and the values differ between equivalent orders.
    word.note(op, site.place, Values::None);
    old
}

/// Returns `true` for a function of `Arc` or `Weak`.
fn is_of_arc(frame: &Frame) -> bool {
    frame.file.ends_with("/alloc/src/sync.rs")
}

/// Returns `true` for a function of `Arc` that counts references and does not return their number.
pub(super) fn counts(frame: &Frame) -> bool {
    // The whole name contains the names of types, which are the user's.
    let name = last_name(&frame.function);
    let named = ["clone", "drop", "new"].iter().any(|begin| name.starts_with(begin));
    named && is_of_arc(frame)
}

/// The change of a count by an operation that is usually not a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CountChange {
    /// No thread ever sees the count, and the destructor of the value has no operations: the value is private to std.
    Private,
    /// A weak reference is dropped.
    Weak,
    /// A change of the count of a scope of threads. The value has no destructor with accesses of the program.
    OfScope,
    /// A change of the count that `is_finished` reads. It is like another change.
    OfThread,
    /// Another change. A drop is a drop of a reference that owns the value.
    Owning,
}

impl CountChange {
    /// Returns the change by an operation in these functions, innermost first.
    pub(super) fn of(frames: &[Frame]) -> CountChange {
        let first = frames.iter().position(is_of_arc).unwrap_or(frames.len());
        let (first, outer) = (frames.get(first), frames.get(first + 1));
        let is_of = |frame: &Frame, names: &[&str]| {
            let of_arc = first_type(frame);
            let value = of_arc.strip_prefix("alloc::sync::Arc<").unwrap_or(of_arc);
            names.iter().any(|name| value.starts_with(name))
        };
        let drops_weak = |frame: &Frame| {
            let is_glue = frame.file.contains("/core/src/ptr/");
            is_glue && first_type(frame).starts_with("alloc::sync::Weak<") || is_end(frame)
        };
        match () {
            () if first.is_some_and(|frame| is_of(frame, PRIVATE)) => CountChange::Private,
            // The end of a value drops the weak reference that all owning references share.
            () if outer.is_some_and(drops_weak) => CountChange::Weak,
            () if first.is_some_and(|frame| is_of(frame, &[SCOPE])) => CountChange::OfScope,
            () if first.is_some_and(|frame| is_of(frame, THREAD)) => CountChange::OfThread,
            () => CountChange::Owning,
        }
    }
}

/// The values of `Arc`s that std does not give to programs.
const PRIVATE: &[&str] = &["std::sync::mpmc::context::Inner", "std::thread::thread::Inner"];

/// The value of the `Arc` of a scope of threads.
const SCOPE: &str = "std::thread::scoped::ScopeData";

/// The value of the `Arc` with the result of a thread, in the tested toolchains.
const THREAD: &[&str] = &["std::thread::lifecycle::Packet", "std::thread::Packet"];

/// Returns the part of a function's name that begins with the first type in it.
fn first_type(frame: &Frame) -> &str {
    frame.function.split_once('<').unwrap_or_default().1
}

/// Returns `true` for the function in which the last owning reference ends the value.
fn is_end(frame: &Frame) -> bool {
    is_of_arc(frame) && last_name(&frame.function) == "drop_slow"
}

/// Returns `true` if the operation at a point, in these functions, depends on counts: it belongs to a function of
/// `Arc`, or to a destructor that the last reference runs.
pub(super) fn shows(frames: &[Frame]) -> bool {
    let is_of_core = |frame: &&Frame| frame.file.contains("/library/core/src/");
    let first = frames.iter().find(|frame| !is_of_core(frame));
    // The end of a scoped thread is counted in the drop of an `Arc`. Whichever thread drops it, the scope ends then.
    let is_of_scope = |frame: &Frame| frame.file.ends_with("/std/src/thread/scoped.rs");
    let inner = frames.iter().take_while(|frame| !is_end(frame) && !is_of_user(frame));
    first.is_some_and(is_of_arc) || frames.iter().any(is_end) && !inner.into_iter().any(is_of_scope)
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    fn frame((function, file): (&str, &str)) -> Frame {
        Frame { function: function.into(), file: file.into(), line: 7, column: 5 }
    }

    const ARC: &str = "/rustc/0000/library/alloc/src/sync.rs";
    const GLUE: &str = "/rustc/0000/library/core/src/ptr/mod.rs";
    const OWN: (&str, &str) = ("bench::grow", "src/grow.rs");

    pub(in super::super) fn changes_of_counts_are_known() {
        for (functions, expected) in [
            (&[("drop<u8, alloc::alloc::Global>", ARC), OWN][..], CountChange::Owning),
            (
                &[
                    ("drop<u8, alloc::alloc::Global>", ARC),
                    ("drop_in_place<alloc::sync::Weak<u8, alloc::alloc::Global>>", GLUE),
                    OWN,
                ],
                CountChange::Weak,
            ),
            (
                &[
                    ("<alloc::sync::Weak<u8> as core::ops::drop::Drop>::drop", ARC),
                    ("core::ptr::drop_in_place::<alloc::sync::Weak<u8>>", GLUE),
                    OWN,
                ],
                CountChange::Weak,
            ),
            (
                &[
                    ("drop<alloc::sync::Weak<u8>, alloc::alloc::Global>", ARC),
                    ("drop_in_place<alloc::sync::Arc<alloc::sync::Weak<u8>>>", GLUE),
                    OWN,
                ],
                CountChange::Owning,
            ),
            (
                &[("drop<u8, &alloc::alloc::Global>", ARC), ("drop_slow<u8>", ARC), OWN],
                CountChange::Weak,
            ),
            (
                &[("clone<std::thread::thread::Inner, std::alloc::System>", ARC), OWN],
                CountChange::Private,
            ),
            (
                &[
                    ("<alloc::sync::Arc<std::thread::scoped::ScopeData> as x::Drop>::drop", ARC),
                    OWN,
                ],
                CountChange::OfScope,
            ),
            (
                &[("clone<std::thread::lifecycle::Packet<u8>, alloc::alloc::Global>", ARC), OWN],
                CountChange::OfThread,
            ),
            (
                &[
                    ("<alloc::sync::Arc<std::sync::mpmc::context::Inner> as x::Drop>::drop", ARC),
                    OWN,
                ],
                CountChange::Private,
            ),
        ] {
            let frames: Vec<_> = functions.iter().copied().map(frame).collect();
            assert_eq!(CountChange::of(&frames), expected, "{functions:?}");
        }
    }

    pub(in super::super) fn operations_that_show_counts_are_known() {
        let load = ("load", "/rustc/0000/library/core/src/sync/atomic.rs");
        let end = ("drop_slow<bench::Ends>", ARC);
        let scope = ("decrement", "/rustc/0000/library/std/src/thread/scoped.rs");
        for (functions, expected) in [
            (&[load, OWN][..], false),
            (&[load, ("strong_count<drop::Value>", ARC), OWN], true),
            (&[load, OWN, ("from_fn", ARC)], false),
            (&[load, OWN, end, OWN], true),
            (&[load, scope, end], false),
            (&[load, OWN, scope, end], true),
        ] {
            let frames: Vec<_> = functions.iter().copied().map(frame).collect();
            assert_eq!(shows(&frames), expected, "{functions:?}");
        }
        assert!(!counts(&frame(("strong_count<drop::Value>", ARC))));
        assert!(!counts(&frame(("unwrap_or_clone<u8>", ARC))));
        assert!(counts(&frame(("<alloc::sync::Arc<u8> as core::clone::Clone>::clone", ARC))));
    }
}
