//! shuttle's `RwLock`: std's, except that a thread must not acquire a lock that it already holds, not even twice for
//! reading.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};

use crate::current::TaskId;
use crate::thread::number;

thread_local! {
    /// The addresses of the locks that the thread holds.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// std's reader-writer lock. A thread that holds it must not acquire it again.
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

// SAFETY: shuttle's lock needs no `Sync`, because shuttle runs all tasks of a test on one OS thread, one at a time. The
// engine does the same. On real threads, the test must guarantee that this is sound.
unsafe impl<T: ?Sized + Send> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// Creates a lock with this value.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }

    /// Returns the value.
    ///
    /// # Errors
    /// If the lock is poisoned. The error has the value, too.
    pub fn into_inner(self) -> LockResult<T> {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    fn address(&self) -> usize {
        (&raw const self.0).cast::<()>() as usize
    }

    fn is_held(&self) -> bool {
        HELD.try_with(|held| held.borrow().contains(&self.address())).unwrap_or(false)
    }

    /// Panics if the current thread holds the lock.
    fn assert_free(&self) {
        // shuttle's words.
        assert!(
            !self.is_held(),
            "deadlock! task {:?} tried to acquire a RwLock it already holds",
            TaskId::from(number())
        );
    }

    /// Waits until the lock can be read.
    ///
    /// # Errors
    /// If the lock is poisoned. The error has the guard, too.
    ///
    /// # Panics
    /// If the current thread holds the lock.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.assert_free();
        let guard = |guard| RwLockReadGuard { guard, _held: Held::of(self) };
        self.0.read().map(guard).map_err(|error| PoisonError::new(guard(error.into_inner())))
    }

    /// Waits until the lock can be written.
    ///
    /// # Errors
    /// If the lock is poisoned. The error has the guard, too.
    ///
    /// # Panics
    /// If the current thread holds the lock.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.assert_free();
        let guard = |guard| RwLockWriteGuard { guard, _held: Held::of(self) };
        self.0.write().map(guard).map_err(|error| PoisonError::new(guard(error.into_inner())))
    }

    /// Acquires the lock for reading if that is possible now, and if the current thread does not hold it.
    ///
    /// # Errors
    /// If the lock is not available or poisoned.
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.is_held() {
            return Err(TryLockError::WouldBlock);
        }
        let guard = |guard| RwLockReadGuard { guard, _held: Held::of(self) };
        self.0.try_read().map(guard).map_err(|error| tried(error, guard))
    }

    /// Acquires the lock for writing if that is possible now.
    ///
    /// # Errors
    /// If the lock is not available or poisoned.
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let guard = |guard| RwLockWriteGuard { guard, _held: Held::of(self) };
        self.0.try_write().map(guard).map_err(|error| tried(error, guard))
    }

    /// Returns the value. No other thread can use the lock now.
    ///
    /// # Errors
    /// If the lock is poisoned. The error has the value, too.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    /// Returns `true` if a thread has panicked while it held the lock for writing.
    pub fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// Makes the lock usable again after a panic.
    pub fn clear_poison(&self) {
        self.0.clear_poison();
    }
}

/// Returns the error of an attempt, with the lock's own guard.
fn tried<G, H>(error: TryLockError<G>, guard: impl FnOnce(G) -> H) -> TryLockError<H> {
    match error {
        TryLockError::Poisoned(error) => {
            TryLockError::Poisoned(PoisonError::new(guard(error.into_inner())))
        }
        TryLockError::WouldBlock => TryLockError::WouldBlock,
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> RwLock<T> {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Records that the current thread holds a lock, until it is dropped.
struct Held(usize);

impl Held {
    fn of<T: ?Sized>(lock: &RwLock<T>) -> Held {
        let address = lock.address();
        // A guard may be in a thread-local, whose destructor runs after the destructor of this one.
        let _ = HELD.try_with(|held| held.borrow_mut().push(address));
        Held(address)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            let at = held.iter().rposition(|address| *address == self.0);
            at.map(|at| held.swap_remove(at));
        });
    }
}

/// A guard for reading. Dropping it releases the lock.
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    guard: sync::RwLockReadGuard<'a, T>,
    _held: Held,
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// A guard for writing. Dropping it releases the lock.
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    guard: sync::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
