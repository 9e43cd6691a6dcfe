//! The atomic: one word shared between tasks.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::seam::atomic::{
    COMPARE_EXCHANGE, FETCH_ADD, FETCH_AND, FETCH_MAX, FETCH_MIN, FETCH_NAND, FETCH_OR, FETCH_SUB,
    FETCH_XOR, LOAD, STORE, SWAP, expect_of_failure, expect_of_load, expect_of_store,
};
use crate::seam::value::{BitChange, Bits, Number, NumberChange, Value};
use crate::seam::{Here, Word, here};

/// A word of shared memory: the atomics of [`std::sync::atomic`] behind one generic name.
///
/// `T` is an integer of up to 64 bits, a `bool` or a raw pointer to a sized type, which may borrow. Each operation is
/// an await point: in a run, other tasks may run first there. Outside a run and in the real build it is the std
/// operation. The real build without debug assertions adds neither size nor instructions to it.
///
/// In a run, the value belongs to the run. An atomic in a `static`, created with [`const_new`](Self::const_new), starts
/// every run with its initial value, whatever its value in parallel runs or outside of runs. The same holds in stress
/// tests of a real build with debug assertions. Without debug assertions a `static` has one value for all runs. By
/// default, memory in a run is sequentially consistent for all [`Ordering`] arguments. With the memory model `c11`
/// ([`Runner::memory`](crate::Runner::memory)), a load may return any value that its ordering allows. A weak
/// compare-exchange fails spuriously only with [`Runner::chances`](crate::Runner::chances) `weak`.
///
/// The future of an operation returns its result once. The future panics if it is polled again after that.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst};
///
/// # sim::block_on(async {
/// let hits = Atomic::new(0u64);
/// assert_eq!(hits.fetch_add(1, SeqCst).await, 0);
/// assert_eq!(hits.load(SeqCst).await, 1);
/// # });
/// ```
pub struct Atomic<T: Value> {
    word: Word<T>,
}

impl<T: Value> Atomic<T> {
    /// Creates an atomic that holds `value`.
    #[track_caller]
    pub fn new(value: T) -> Atomic<T> {
        Atomic { word: Word::new(value, here()) }
    }

    /// Gives the atomic a name, which reports show in place of `atomic#3`. Objects with the same name are numbered.
    /// Costs nothing in the real build.
    ///
    /// ```
    /// use sim::Atomic;
    ///
    /// static HEAD: Atomic<u64> = Atomic::<u64>::const_new(0).named("head");
    /// let slots = [0u64; 4].map(|empty| Atomic::new(empty).named("slot"));
    /// # let _ = (&HEAD, slots);
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Atomic<T> {
        self.word.object = self.word.object.named(name);
        self
    }

    /// Shares the atomic between all nodes of a run, for a test that counts over [nodes](crate::node()). Without this
    /// call, each node has its own copy of an atomic in a `static`, and may use any other atomic only if the node
    /// created it.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// static STARTS: Atomic<u64> = Atomic::<u64>::const_new(0).shared();
    ///
    /// # let report = sim::Runner::new().hermetic().run(async || {
    /// let before = STARTS.load(SeqCst).await;
    /// for name in ["db-1", "db-2"] {
    ///     sim::node(name).run(async || {
    ///         STARTS.fetch_add(1, SeqCst).await;
    ///     });
    /// }
    /// sim::spin_until(async || STARTS.load(SeqCst).await >= before + 2).await;
    /// # });
    /// # assert!(report.passed());
    /// ```
    #[must_use]
    pub const fn shared(mut self) -> Atomic<T> {
        self.word.object = self.word.object.shared();
        self
    }

    /// Returns the value. `&mut` proves that no other task uses the atomic, so this is not a point.
    pub fn get_mut(&mut self) -> &mut T {
        self.word.get_mut()
    }

    /// Returns the value. Ownership proves that no other task uses the atomic, so this is not a point.
    pub fn into_inner(self) -> T {
        self.word.into_inner()
    }

    /// Returns the value without a point. Use it for conditions on a whole system, such as an
    /// [invariant](crate::invariant()). No other task can run first here, so code under test that calls it hides
    /// interleavings.
    ///
    /// ```
    /// let hits = sim::Atomic::new(7);
    /// assert_eq!(hits.peek(), 7);
    /// ```
    #[track_caller]
    pub fn peek(&self) -> T {
        self.word.peek(here())
    }

    /// Reads the value.
    ///
    /// # Panics
    /// If `order` is `Release` or `AcqRel`, as in std.
    #[track_caller]
    #[inline]
    pub fn load(&self, order: Ordering) -> impl Future<Output = T> + Send + use<'_, T> {
        self.load_at(order, here())
    }

    #[inline]
    #[track_caller]
    fn load_at(&self, order: Ordering, here: Here) -> impl Future<Output = T> + Send + use<'_, T> {
        expect_of_load(order);
        self.word.point(&LOAD, here, move |backend| self.word.load(backend, order))
    }

    /// Writes `value`.
    ///
    /// # Panics
    /// If `order` is `Acquire` or `AcqRel`, as in std.
    #[track_caller]
    #[inline]
    pub fn store(&self, value: T, order: Ordering) -> impl Future<Output = ()> + Send + use<'_, T> {
        expect_of_store(order);
        let raw = value.into_raw();
        self.word.point(&STORE, here(), move |backend| {
            self.word.store(backend, T::from_raw(&raw), order)
        })
    }

    /// Writes `value` and returns the previous value.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::AcqRel};
    ///
    /// # sim::block_on(async {
    /// let closed = Atomic::new(false);
    /// // Only the first caller finds it open.
    /// assert!(!closed.swap(true, AcqRel).await);
    /// assert!(closed.swap(true, AcqRel).await);
    /// # });
    /// ```
    #[track_caller]
    #[inline]
    pub fn swap(&self, value: T, order: Ordering) -> impl Future<Output = T> + Send + use<'_, T> {
        let raw = value.into_raw();
        self.word
            .point(&SWAP, here(), move |backend| self.word.swap(backend, T::from_raw(&raw), order))
    }

    /// Writes `new` if the value is `current`. Returns the previous value: `Ok` if the call replaced it, else `Err`.
    ///
    /// # Panics
    /// If `failure` is `Release` or `AcqRel`, as in std.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let owner = Atomic::new(0u32);
    /// assert_eq!(owner.compare_exchange(0, 7, SeqCst, SeqCst).await, Ok(0));
    /// assert_eq!(owner.compare_exchange(0, 8, SeqCst, SeqCst).await, Err(7));
    /// # });
    /// ```
    #[track_caller]
    #[inline]
    pub fn compare_exchange(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        self.compare_exchange_at((current, new), (success, failure), false, here())
    }

    /// Like [`compare_exchange`](Self::compare_exchange), but on real hardware it may fail even if the value is
    /// `current`. Use it in a loop.
    ///
    /// # Panics
    /// If `failure` is `Release` or `AcqRel`, as in std.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let size = Atomic::new(3u64);
    /// let mut seen = size.load(SeqCst).await;
    /// while let Err(now) = size.compare_exchange_weak(seen, 2 * seen, SeqCst, SeqCst).await {
    ///     seen = now;
    /// }
    /// assert_eq!(size.load(SeqCst).await, 6);
    /// # });
    /// ```
    #[track_caller]
    #[inline]
    pub fn compare_exchange_weak(
        &self,
        current: T,
        new: T,
        success: Ordering,
        failure: Ordering,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        self.compare_exchange_at((current, new), (success, failure), true, here())
    }

    #[inline]
    #[track_caller]
    fn compare_exchange_at(
        &self,
        (current, new): (T, T),
        orders: (Ordering, Ordering),
        weak: bool,
        here: Here,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T> {
        expect_of_failure(orders.1);
        self.word.exchange(&COMPARE_EXCHANGE, here, (current, new), orders, weak)
    }

    /// Replaces the value with the result of `update`. If another task has changed the value meanwhile, this function
    /// tries again, until the exchange succeeds or `update` returns `None`. The operation is a load, then a weak
    /// compare-exchange for each try. The load and each compare-exchange are points of their own, and `update` runs
    /// between them. Returns the last value read: `Ok` if the call replaced it, else `Err`.
    ///
    /// # Panics
    /// If `fetch_order` is `Release` or `AcqRel`, as in std.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let places = Atomic::new(1u32);
    /// let take = |free: u32| free.checked_sub(1);
    /// assert_eq!(places.fetch_update(SeqCst, SeqCst, take).await, Ok(1));
    /// assert_eq!(places.fetch_update(SeqCst, SeqCst, take).await, Err(0));
    /// # });
    /// ```
    #[track_caller]
    #[inline]
    pub fn fetch_update<F>(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        mut update: F,
    ) -> impl Future<Output = Result<T, T>> + Send + use<'_, T, F>
    where
        F: FnMut(T) -> Option<T> + Send,
    {
        let here = here();
        async move {
            // Values cross the points in raw form, because a pointer is not `Send`.
            let mut raw = self.load_at(fetch_order, here).await.into_raw();
            loop {
                let tried = {
                    let old = T::from_raw(&raw);
                    match update(old) {
                        None => return Err(old),
                        Some(new) => {
                            let orders = (set_order, fetch_order);
                            self.compare_exchange_at((old, new), orders, true, here)
                        }
                    }
                };
                match tried.await {
                    Ok(old) => return Ok(old),
                    Err(other) => raw = other.into_raw(),
                }
            }
        }
    }
}

macro_rules! fetch {
    ($bound:ident, $method:ident; $($(#[$doc:meta])* $name:ident $op:ident $kind:path;)*) => {
        impl<T: $bound> Atomic<T> {$(
            $(#[$doc])*
            #[track_caller]
            #[inline]
            pub fn $name(
                &self,
                value: T,
                order: Ordering,
            ) -> impl Future<Output = T> + Send + use<'_, T> {
                let raw = value.into_raw();
                self.word.point(&$op, here(), move |backend| {
                    self.word.$method(backend, $kind, T::from_raw(&raw), order)
                })
            }
        )*}
    };
}

fetch! { Number, compute;
    /// Adds `value`, wrapping around at the ends of the type, and returns the previous value.
    fetch_add FETCH_ADD NumberChange::Add;
    /// Subtracts `value`, wrapping around at the ends of the type, and returns the previous value.
    ///
    /// ```
    /// use sim::{Atomic, Ordering::SeqCst};
    ///
    /// # sim::block_on(async {
    /// let free = Atomic::new(0u8);
    /// assert_eq!(free.fetch_sub(1, SeqCst).await, 0);
    /// assert_eq!(free.load(SeqCst).await, 255);
    /// # });
    /// ```
    fetch_sub FETCH_SUB NumberChange::Sub;
    /// Replaces the value with `value` if `value` is greater, and returns the previous value.
    fetch_max FETCH_MAX NumberChange::Max;
    /// Replaces the value with `value` if `value` is less, and returns the previous value.
    fetch_min FETCH_MIN NumberChange::Min;
}

fetch! { Bits, change;
    /// Replaces the value with its bitwise "and" with `value`, and returns the previous value.
    fetch_and FETCH_AND BitChange::And;
    /// Replaces the value with its bitwise "not and" with `value`, and returns the previous value.
    fetch_nand FETCH_NAND BitChange::Nand;
    /// Replaces the value with its bitwise "or" with `value`, and returns the previous value.
    fetch_or FETCH_OR BitChange::Or;
    /// Replaces the value with its bitwise "exclusive or" with `value`, and returns the previous value.
    fetch_xor FETCH_XOR BitChange::Xor;
}

macro_rules! const_new {
    ($($type:ty, $std:ident $(, $generic:ident)?;)*) => {$(
        impl$(<$generic: 'static>)? Atomic<$type> {
            /// Creates an atomic that holds `value`, for a `static`.
            ///
            /// A run numbers the objects that it creates. A run does not create a `static`, so the source location
            /// identifies it instead. Elsewhere, use [`new`](Self::new).
            ///
            /// ```
            /// static HITS: sim::Atomic<u64> = sim::Atomic::<u64>::const_new(0);
            /// ```
            #[track_caller]
            pub const fn const_new(value: $type) -> Self {
                Atomic { word: Word::of_static($std::new(value), here()) }
            }
        }
    )*};
}

const_new! {
    u8, AtomicU8; u16, AtomicU16; u32, AtomicU32; u64, AtomicU64; usize, AtomicUsize;
    i8, AtomicI8; i16, AtomicI16; i32, AtomicI32; i64, AtomicI64; isize, AtomicIsize;
    bool, AtomicBool; *mut T, AtomicPtr, T;
}

impl<T: Value + Default> Default for Atomic<T> {
    #[track_caller]
    fn default() -> Atomic<T> {
        Atomic::new(T::default())
    }
}

impl<T: Value> From<T> for Atomic<T> {
    #[track_caller]
    fn from(value: T) -> Atomic<T> {
        Atomic::new(value)
    }
}

impl<T: Value> fmt::Debug for Atomic<T> {
    /// Shows no value, because reading the value would be an access.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Atomic").finish_non_exhaustive()
    }
}
