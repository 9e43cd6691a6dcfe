//! The semaphore.

mod share;
mod texts;

use std::future::Future;
use std::sync::Arc;

use ::tokio::sync::{
    AcquireError, Semaphore as Real, SemaphorePermit as RealPermit, TryAcquireError,
};

use self::share::Share;
use crate::run::event::Values;
use crate::run::op::of_tokio::permits;
use crate::run::op::{Access, Op};
use crate::seam::{Call, CallOps, Came, Here, Wrapped, here};

const ACQUIRE: CallOps = CallOps::acting(
    ("acquire", "queue_to_acquire"),
    [permits::TAKE, permits::FIND_CLOSED, permits::QUEUE, permits::HEAR],
    CallOps::leave_the_queue(permits::LEAVE),
);
/// In the queue, the call may have acquired some of the permits.
const ACQUIRE_FAILED: Op = Op::of_kind("acquire", Access::Wait, permits::LEAVE);
const TRY_ACQUIRE: [&Op; 2] = [
    &Op::of_kind("try_acquire", Access::Tell, permits::TAKE),
    &Op::of_kind("try_acquire", Access::Peek, permits::FAIL),
];
const RELEASE: Op = Op::of_kind("release", Access::Tell, permits::GIVE);
const ADD_PERMITS: Op = Op::of_kind("add_permits", Access::Tell, permits::GIVE);
const FORGET_PERMITS: Op = Op::of_kind("forget_permits", Access::Tell, permits::FORGET);
const FORGET: Op = Op::of_kind("forget", Access::Peek, permits::KEEP);
const CLOSE: Op = Op::of_kind("close", Access::Tell, permits::CLOSE);
const AVAILABLE_PERMITS: Op = Op::of_kind("available_permits", Access::Peek, permits::COUNT);
const IS_CLOSED: Op = Op::of_kind("is_closed", Access::Peek, permits::COUNT);

/// tokio's [`Semaphore`](::tokio::sync::Semaphore): a number of permits, granted in the order of requests.
///
/// Acquiring is a point; dropping a permit is not. Cancel safe: a dropped call loses its place in the queue, but no
/// permit.
///
/// ```
/// use sim::tokio::sync::Semaphore;
/// # sim::block_on(async {
/// let places = Semaphore::new(3);
/// let permits = places.acquire_many(2).await.unwrap();
/// assert_eq!(places.available_permits(), 1);
/// drop(permits);
/// assert_eq!(places.available_permits(), 3);
/// # });
/// ```
pub struct Semaphore {
    wrapped: Wrapped,
    /// The semaphore that is used outside of runs, and also in runs unless this is a static.
    real: Real,
    /// For a static: the number of initial permits in each run.
    first: Option<usize>,
}

/// Permits of a [`Semaphore`], given back on drop.
#[must_use]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    share: Share,
}

/// Permits of a [`Semaphore`], given back on drop; owns a reference to the semaphore.
#[must_use]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    share: Share,
}

impl Semaphore {
    /// The largest number of permits.
    pub const MAX_PERMITS: usize = Real::MAX_PERMITS;

    /// Creates a semaphore with `permits` free permits. Panics if they exceed [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Semaphore {
        let wrapped = Wrapped::new("semaphore", here());
        Semaphore { wrapped, real: Real::new(permits), first: None }
    }

    /// Like [`new`](Self::new), for a static: each run, and each life of a [node](crate::node()), has its own
    /// semaphore.
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    ///
    /// static CONNECTIONS: Semaphore = Semaphore::const_new(2);
    ///
    /// let report = sim::Runner::new().hermetic().run(async || {
    ///     CONNECTIONS.acquire().await.unwrap().forget();
    ///     assert_eq!(CONNECTIONS.available_permits(), 1);
    /// });
    /// assert!(report.passed());
    /// ```
    #[track_caller]
    pub const fn const_new(permits: usize) -> Semaphore {
        Semaphore {
            wrapped: Wrapped::by_run("semaphore", here()),
            real: Real::const_new(permits),
            first: Some(permits),
        }
    }

    /// Returns the number of free permits. This call is not a point.
    #[track_caller]
    pub fn available_permits(&self) -> usize {
        let here = here();
        self.wrapped.count(&AVAILABLE_PERMITS, here, || self.with(here, Real::available_permits))
    }

    /// Adds permits. This call is not a point. Panics if the free permits then exceed
    /// [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    /// # sim::block_on(async {
    /// let items = Semaphore::new(0);
    /// let (item, ()) = sim::join!(items.acquire(), async { items.add_permits(2) });
    /// item.unwrap().forget();
    /// assert_eq!(items.available_permits(), 1);
    /// # });
    /// ```
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        let added = |(): &()| (&ADD_PERMITS, Values::Wrote(n as u64));
        let here = here();
        self.wrapped.now(here, || self.with(here, |real| real.add_permits(n)), added);
    }

    /// Removes up to `n` free permits permanently, and returns how many it removed. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    ///
    /// let places = Semaphore::new(3);
    /// assert_eq!(places.forget_permits(2), 2);
    /// assert_eq!(places.forget_permits(2), 1);
    /// assert_eq!(places.available_permits(), 0);
    /// ```
    #[track_caller]
    pub fn forget_permits(&self, n: usize) -> usize {
        let here = here();
        let forget = || self.with(here, |real| real.forget_permits(n));
        self.wrapped.count(&FORGET_PERMITS, here, forget)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn acquire(
        &self,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + Send + use<'_> {
        self.acquire_at(1, here())
    }

    /// Waits for `n` permits.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    /// # sim::block_on(async {
    /// let places = Semaphore::new(2);
    /// let one = places.acquire().await.unwrap();
    /// // The request for one permit waits behind the earlier request for two.
    /// let both = async { places.acquire_many(2).await.map(drop) };
    /// let next = async { places.try_acquire().is_err() };
    /// assert!(sim::join!(both, next, async { drop(one) }).1);
    /// # });
    /// ```
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> + Send + use<'_> {
        self.acquire_at(n, here())
    }

    /// Acquires a permit if one is free. This call is not a point.
    ///
    /// # Errors
    /// If no permit is free, or the semaphore is closed.
    ///
    /// ```
    /// use sim::tokio::sync::{Semaphore, TryAcquireError};
    ///
    /// let places = Semaphore::new(1);
    /// let _place = places.try_acquire().unwrap();
    /// assert_eq!(places.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// places.close();
    /// assert_eq!(places.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// ```
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Acquires `n` permits if `n` are free. This call is not a point.
    ///
    /// # Errors
    /// If fewer than `n` permits are free, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        let share = self.try_take(n, here())?;
        Ok(SemaphorePermit { semaphore: self, share })
    }

    /// Like [`acquire`](Self::acquire); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    /// use std::sync::Arc;
    /// # sim::block_on(async {
    /// let places = Arc::new(Semaphore::new(1));
    /// let place = places.clone().acquire_owned().await.unwrap();
    /// sim::spawn(async move { drop(place) }).detach();
    /// // Waits until the task has given the permit back.
    /// assert!(places.acquire().await.is_ok());
    /// # });
    /// ```
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + use<> {
        self.acquire_owned_at(1, here())
    }

    /// Like [`acquire_many`](Self::acquire_many); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + use<> {
        self.acquire_owned_at(n, here())
    }

    /// Like [`try_acquire`](Self::try_acquire); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If no permit is free, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Like [`try_acquire_many`](Self::try_acquire_many); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If fewer than `n` permits are free, or the semaphore is closed.
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let share = self.try_take(n, here())?;
        Ok(OwnedSemaphorePermit { semaphore: self, share })
    }

    /// Outside of runs, blocks the thread until a permit is free. In a run, this call fails the run: await
    /// [`acquire`](Self::acquire) instead.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.wrapped.blocks("blocking_acquire", "acquire().await", here());
        Ok(SemaphorePermit { semaphore: self, share: self.take_blocking(1, here())? })
    }

    /// Like [`blocking_acquire`](Self::blocking_acquire), for `n` permits.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.wrapped.blocks("blocking_acquire_many", "acquire_many(n).await", here());
        Ok(SemaphorePermit { semaphore: self, share: self.take_blocking(n, here())? })
    }

    /// Like [`blocking_acquire`](Self::blocking_acquire); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.wrapped.blocks("blocking_acquire_owned", "acquire_owned().await", here());
        let share = self.take_blocking(1, here())?;
        Ok(OwnedSemaphorePermit { semaphore: self, share })
    }

    /// Like [`blocking_acquire_many`](Self::blocking_acquire_many); the permit owns a reference to the semaphore.
    ///
    /// # Errors
    /// If the semaphore is or becomes closed.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.wrapped.blocks("blocking_acquire_many_owned", "acquire_many_owned(n).await", here());
        let share = self.take_blocking(n, here())?;
        Ok(OwnedSemaphorePermit { semaphore: self, share })
    }

    /// Closes the semaphore: waiting and later requests fail with an error. This call is not a point.
    ///
    /// ```
    /// use sim::tokio::sync::Semaphore;
    /// # sim::block_on(async {
    /// let places = Semaphore::new(0);
    /// let (waiting, ()) = sim::join!(places.acquire(), async { places.close() });
    /// assert!(waiting.is_err());
    /// assert!(places.acquire().await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn close(&self) {
        let here = here();
        self.wrapped.act(&CLOSE, here, || self.with(here, Real::close));
    }

    /// Returns `true` if the semaphore is closed. This call is not a point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        let here = here();
        self.wrapped.check(&IS_CLOSED, here, || self.with(here, Real::is_closed))
    }

    /// Returns tokio's semaphore of the current run, if this is a static and a run is active.
    fn own(&self, here: Here) -> Option<Arc<Real>> {
        let first = self.first?;
        self.wrapped.value_of_run(here, || Real::new(first))
    }

    fn with<R>(&self, here: Here, act: impl FnOnce(&Real) -> R) -> R {
        act(self.own(here).as_deref().unwrap_or(&self.real))
    }

    async fn acquire_at(&self, n: u32, here: Here) -> Result<SemaphorePermit<'_>, AcquireError> {
        let share = self.take(n, here).await?;
        Ok(SemaphorePermit { semaphore: self, share })
    }

    async fn acquire_owned_at(
        self: Arc<Self>,
        n: u32,
        here: Here,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let share = self.take(n, here).await?;
        Ok(OwnedSemaphorePermit { semaphore: self, share })
    }

    async fn take(&self, permits: u32, here: Here) -> Result<Share, AcquireError> {
        // Permits are given back by number, because a tokio permit cannot be stored together with its semaphore.
        let own = self.own(here);
        let real = own.as_deref().unwrap_or(&self.real);
        let taken = async { real.acquire_many(permits).await.map(RealPermit::forget) };
        let came = |taken: &Result<(), _>| match taken {
            Ok(()) if permits == 0 => Came::Done,
            Ok(()) => Came::Holds,
            Err(_) => Came::GivesBack(&ACQUIRE_FAILED),
        };
        Call::new(&self.wrapped, &ACQUIRE, here, taken, came).await?;
        Ok(Share::new(permits as usize, here, own))
    }

    /// Acquires permits outside of runs, where a static has no separate semaphore.
    fn take_blocking(&self, permits: u32, here: Here) -> Result<Share, AcquireError> {
        RealPermit::forget(self.real.blocking_acquire_many(permits)?);
        Ok(Share::new(permits as usize, here, None))
    }

    fn try_take(&self, permits: u32, here: Here) -> Result<Share, TryAcquireError> {
        let own = self.own(here);
        let real = own.as_deref().unwrap_or(&self.real);
        let taken = || real.try_acquire_many(permits).map(RealPermit::forget);
        match permits {
            0 => self.wrapped.attempt(TRY_ACQUIRE, here, taken)?,
            _ => self.wrapped.attempt_to_hold(TRY_ACQUIRE, here, taken)?,
        }
        Ok(Share::new(permits as usize, here, own))
    }

    fn give(&self, share: &mut Share) {
        // A share without permits was merged or forgotten.
        if let n @ 1.. = std::mem::take(&mut share.permits) {
            share.own.as_deref().unwrap_or(&self.real).add_permits(n);
            self.wrapped.give_up(&RELEASE, share.here, std::mem::take(&mut share.holds));
        }
    }
}

/// Writes the code common to permits with a borrowed and with an owned semaphore.
macro_rules! permits {
    ($permit:ident $(<$life:lifetime>)?, $same:expr) => {
        impl $permit $(<$life>)? {
            /// Forgets the permits permanently, so they are never given back.
            ///
            /// ```
            /// use sim::tokio::sync::Semaphore;
            ///
            /// let places = Semaphore::new(2);
            /// places.try_acquire().unwrap().forget();
            /// assert_eq!(places.available_permits(), 1);
            /// ```
            #[track_caller]
            pub fn forget(mut self) {
                if std::mem::take(&mut self.share.permits) > 0 {
                    self.semaphore.wrapped.give_up(&FORGET, here(), self.share.holds);
                }
            }

            /// Adds the permits of another permit, which must belong to the same semaphore. Panics otherwise.
            #[track_caller]
            pub fn merge(&mut self, mut other: Self) {
                assert!($same(&self.semaphore, &other.semaphore), "merging permits from different semaphore instances");
                self.share.merge(&mut other.share);
            }

            /// Splits off `n` permits. Returns `None` and changes nothing if there are fewer.
            ///
            /// ```
            /// use sim::tokio::sync::Semaphore;
            ///
            /// let places = Semaphore::new(3);
            /// let mut permits = places.try_acquire_many(3).unwrap();
            /// drop(permits.split(1));
            /// assert_eq!((permits.num_permits(), places.available_permits()), (2, 1));
            /// assert!(permits.split(3).is_none());
            /// ```
            pub fn split(&mut self, n: usize) -> Option<Self> {
                let share = self.share.split(n, &self.semaphore.wrapped)?;
                Some($permit { semaphore: self.semaphore.clone(), share })
            }

            /// Returns the number of permits.
            pub fn num_permits(&self) -> usize {
                self.share.permits
            }
        }

        impl Drop for $permit $(<$life>)? {
            fn drop(&mut self) {
                self.semaphore.give(&mut self.share);
            }
        }
    };
}

permits!(SemaphorePermit<'_>, |a: &&Semaphore, b: &&Semaphore| std::ptr::eq(*a, *b));
permits!(OwnedSemaphorePermit, Arc::ptr_eq);

impl SemaphorePermit<'_> {
    /// Returns the semaphore of the permits.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }
}

impl OwnedSemaphorePermit {
    /// Returns the semaphore of the permits.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}
