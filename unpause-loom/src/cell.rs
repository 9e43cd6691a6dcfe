//! Cells with monitored accesses: a write concurrent with another access fails the model.
//!
//! Each access begins and ends with an operation on a word of the cell. So the engine may switch to another thread
//! between them, and a search tries each such switch.
//!
//! In runs with the memory `c11`, an access also finds unordered accesses that did not overlap. It loads and then
//! increases a second word, which counts all accesses. The load may return an older value only if no memory order puts
//! the missed accesses before it.

use std::cell;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The amount by which a write increases a word of a cell. A read increases the word by 1.
const WRITE: usize = 1 << 32;

/// A `std::cell::UnsafeCell` with monitored accesses.
pub struct UnsafeCell<T: ?Sized> {
    /// The accesses in progress. A [`ConstPtr`] or [`MutPtr`] shares this word, because the cell may be moved or
    /// dropped while the pointer exists.
    accesses: Arc<AtomicUsize>,
    /// All accesses so far, counted only in runs whose loads may return older stores.
    history: AtomicUsize,
    value: cell::UnsafeCell<T>,
}

/// An access of a cell, in progress until it is dropped. `W` is a reference to the word of the cell, or an owner of the
/// word.
#[derive(Debug)]
struct Access<W: Deref<Target = AtomicUsize>> {
    accesses: W,
    number: usize,
}

impl<W: Deref<Target = AtomicUsize>> Access<W> {
    #[track_caller]
    fn begin(accesses: W, history: &AtomicUsize, number: usize) -> Access<W> {
        if unpause_model::may_be_old() {
            let seen = history.load(Relaxed);
            let missed = history.fetch_add(number, Relaxed).wrapping_sub(seen);
            check(number, missed, "that no memory order puts before or after");
        }
        let others = accesses.fetch_add(number, Relaxed);
        // A panic of the check ends the access, so destructors that run then can use the cell.
        let access = Access { accesses, number };
        check(number, others, "beside");
        access
    }
}

/// Panics if an access with this number races with other accesses.
#[track_caller]
fn check(number: usize, others: usize, relation: &str) {
    let is_allowed = others == 0 || (number == 1 && others < WRITE);
    if !is_allowed {
        let other = if others >= WRITE { "write" } else { "read" };
        let own = if number == WRITE { "write" } else { "read" };
        panic!(
            "Causality violation: a {own} of an UnsafeCell {relation} a {other} of another thread"
        );
    }
}

impl<W: Deref<Target = AtomicUsize>> Drop for Access<W> {
    fn drop(&mut self) {
        self.accesses.fetch_sub(self.number, Relaxed);
    }
}

impl<T> UnsafeCell<T> {
    /// Creates a cell with this value.
    pub fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell {
            accesses: Arc::default(),
            history: AtomicUsize::new(0),
            value: cell::UnsafeCell::new(value),
        }
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    #[track_caller]
    fn begin(&self, number: usize) -> Access<&AtomicUsize> {
        Access::begin(&*self.accesses, &self.history, number)
    }

    /// Begins an access that may outlive the cell.
    #[track_caller]
    fn begin_shared(&self, number: usize) -> Access<Arc<AtomicUsize>> {
        Access::begin(self.accesses.clone(), &self.history, number)
    }

    /// Calls `act` with a pointer for reading.
    ///
    /// # Panics
    /// If another thread writes at the same time.
    #[track_caller]
    pub fn with<F, R>(&self, act: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        let _access = self.begin(1);
        act(self.value.get())
    }

    /// Calls `act` with a pointer for writing.
    ///
    /// # Panics
    /// If another thread reads or writes at the same time.
    #[track_caller]
    pub fn with_mut<F, R>(&self, act: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        let _access = self.begin(WRITE);
        act(self.value.get())
    }

    /// Returns a pointer for reading. The access lasts until the pointer is dropped.
    ///
    /// # Panics
    /// If another thread writes at the same time.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr { _access: self.begin_shared(1), pointer: self.value.get() }
    }

    /// Returns a pointer for writing. The access lasts until the pointer is dropped.
    ///
    /// # Panics
    /// If another thread reads or writes at the same time.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr { _access: self.begin_shared(WRITE), pointer: self.value.get() }
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    fn default() -> UnsafeCell<T> {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    fn from(value: T) -> UnsafeCell<T> {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

/// A pointer for reading the value of an [`UnsafeCell`].
#[derive(Debug)]
pub struct ConstPtr<T: ?Sized> {
    _access: Access<Arc<AtomicUsize>>,
    pointer: *const T,
}

impl<T: ?Sized> ConstPtr<T> {
    /// Returns a reference to the value.
    ///
    /// # Safety
    /// The same requirements as for the dereference of a raw pointer.
    pub unsafe fn deref(&self) -> &T {
        // SAFETY: guaranteed by the caller.
        unsafe { &*self.pointer }
    }

    /// Calls `act` with the pointer.
    pub fn with<F, R>(&self, act: F) -> R
    where
        F: FnOnce(*const T) -> R,
    {
        act(self.pointer)
    }
}

/// A pointer for writing the value of an [`UnsafeCell`].
#[derive(Debug)]
pub struct MutPtr<T: ?Sized> {
    _access: Access<Arc<AtomicUsize>>,
    pointer: *mut T,
}

impl<T: ?Sized> MutPtr<T> {
    /// Returns a mutable reference to the value.
    ///
    /// # Safety
    /// The same requirements as for the dereference of a raw pointer.
    #[allow(clippy::mut_from_ref, reason = "loom's signature")]
    pub unsafe fn deref(&self) -> &mut T {
        // SAFETY: guaranteed by the caller.
        unsafe { &mut *self.pointer }
    }

    /// Calls `act` with the pointer.
    pub fn with<F, R>(&self, act: F) -> R
    where
        F: FnOnce(*mut T) -> R,
    {
        act(self.pointer)
    }
}

/// A `std::cell::Cell` with monitored accesses.
pub struct Cell<T>(UnsafeCell<T>);

impl<T> Cell<T> {
    /// Creates a cell with this value.
    pub fn new(value: T) -> Cell<T> {
        Cell(UnsafeCell::new(value))
    }

    /// Stores a value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        self.0.with_mut(|own| {
            // SAFETY: the cells are distinct, and no reference to either value leaves this module.
            other.0.with_mut(|other| unsafe { std::ptr::swap(own, other) });
        });
    }

    /// Stores a value, and returns the previous value.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: no reference to the value leaves this module.
        self.0.with_mut(|own| unsafe { std::mem::replace(&mut *own, value) })
    }

    /// Returns a copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: no reference to the value leaves this module.
        self.0.with(|own| unsafe { *own })
    }

    /// Takes the value, and leaves the default value.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: Default> Default for Cell<T> {
    fn default() -> Cell<T> {
        Cell::new(T::default())
    }
}

impl<T: Copy> Clone for Cell<T> {
    fn clone(&self) -> Cell<T> {
        Cell::new(self.get())
    }
}

impl<T> From<T> for Cell<T> {
    fn from(value: T) -> Cell<T> {
        Cell::new(value)
    }
}

impl<T: PartialEq + Copy> PartialEq for Cell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq + Copy> Eq for Cell<T> {}

impl<T: PartialOrd + Copy> PartialOrd for Cell<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl<T: Ord + Copy> Ord for Cell<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.get().cmp(&other.get())
    }
}

impl<T> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}
