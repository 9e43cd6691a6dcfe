//! Shared ownership with reference counts in shared memory.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::sync;

use crate::run::op::{Access, Op, count};
use crate::seam::{Here, Share, here, pass};

const CLONE: Op = Op::of_kind("clone", Access::Tell, count::GAIN);
const DROP: Op = Op::of_kind("drop", Access::Tell, count::LOSE);
const DROP_WITH_VALUE: Op = Op::of_kind("drop", Access::Tell, count::END);
const UPGRADE: Op = Op::of_kind("upgrade", Access::Act, count::UPGRADE);
const TRY_UNWRAP: Op = Op::of_kind("try_unwrap", Access::Act, count::TAKE);
const AFTER_FAILURE: Op = Op::new("after_try_unwrap", Access::Yield);
const INTO_INNER: Op = Op::of_kind("into_inner", Access::Act, count::TAKE);
const STRONG_COUNT: Op = Op::of_kind("strong_count", Access::Read, count::COUNT);
const WEAK_COUNT: Op = Op::of_kind("weak_count", Access::Read, count::COUNT);
const GET_MUT: Op = Op::of_kind("get_mut", Access::Read, count::COUNT);
const DOWNGRADE: Op = Op::of_kind("downgrade", Access::Tell, count::WEIGH);
const CLONE_WEAK: Op = Op::of_kind("clone_weak", Access::Tell, count::WEIGH);
const DROP_WEAK: Op = Op::of_kind("drop_weak", Access::Tell, count::WEIGH);

/// A value with several owners, counted in shared memory: std's `Arc`, for code whose behavior depends on the counts.
///
/// Code that only shares a value needs std's `Arc`, which costs no steps. With this type, each operation that depends
/// on a count is a point: [`strong_count`](Arc::strong_count), [`get_mut`](Arc::get_mut),
/// [`try_unwrap`](Arc::try_unwrap), [`into_inner`](Arc::into_inner), [`Weak::upgrade`]. Clones,
/// [`downgrade`](Arc::downgrade) and drops cannot await, so they are part of the step that does them. The destructor of
/// the value is part of the step of the last drop. In the real build it is std's `Arc`.
///
/// ```
/// use sim::counted::Arc;
///
/// # sim::block_on(async {
/// let one = Arc::new(vec![1]);
/// let two = one.clone();
/// assert_eq!(Arc::strong_count(&one).await, 2);
/// assert_eq!(Arc::into_inner(one).await, None);
/// assert_eq!(Arc::into_inner(two).await, Some(vec![1]));
/// # });
/// ```
///
/// A count may be outdated as soon as it has been read:
///
/// ```
/// use sim::counted::Arc;
/// use sim::Runner;
///
/// let report = Runner::new().hermetic().run(async || {
///     let mut own = Arc::new(1);
///     let weak = Arc::downgrade(&own);
///     let task = sim::spawn(async move { weak.upgrade().await.is_some() });
///     if Arc::strong_count(&own).await == 1 {
///         // The task may have another reference by now.
///         *Arc::get_mut(&mut own).await.expect("it is the only one") += 1;
///     }
///     task.await.unwrap();
/// });
/// assert!(!sim::SIMULATED || !report.passed());
/// ```
pub struct Arc<T: ?Sized> {
    // Dropped first, because the destructor of the value must run after the reference is given up.
    share: Share,
    value: sync::Arc<T>,
}

impl<T> Arc<T> {
    /// Creates the first reference to `value`.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc { share: Share::new("arc", here(), drop_of::<T>()), value: sync::Arc::new(value) }
    }

    /// Gives the value a name, which reports show in place of `arc#3`. Has no effect if other references exist. Costs
    /// nothing in the real build.
    #[must_use]
    pub fn named(this: Arc<T>, name: &'static str) -> Arc<T> {
        Arc { share: this.share.named(name), value: this.value }
    }

    /// Returns the value if this is the last reference, else the reference. A second point follows a failed attempt,
    /// because other tasks may run between the attempt and the drop of the reference.
    ///
    /// If two tasks call this with the last two references, both may get their reference back, and the value is lost.
    /// [`into_inner`](Self::into_inner) returns the value to one of the two tasks.
    ///
    /// # Errors
    /// If there is another reference.
    ///
    /// ```
    /// use sim::counted::Arc;
    ///
    /// # sim::block_on(async {
    /// let one = Arc::new("text".to_owned());
    /// let two = one.clone();
    /// let one = Arc::try_unwrap(one).await.expect_err("there are two references");
    /// drop(two);
    /// assert_eq!(Arc::try_unwrap(one).await.unwrap(), "text");
    /// # });
    /// ```
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> impl Future<Output = Result<T, Arc<T>>> {
        let here = here();
        async move {
            let Arc { share, value } = this;
            share.turn(&TRY_UNWRAP, here).await;
            match sync::Arc::try_unwrap(value) {
                Ok(value) => {
                    share.end(&TRY_UNWRAP, here);
                    Ok(value)
                }
                Err(value) => {
                    share.did(&TRY_UNWRAP, here, None);
                    // Other tasks may run between the attempt and the drop of the reference.
                    pass(&AFTER_FAILURE, here).await;
                    Err(Arc { share, value })
                }
            }
        }
    }

    /// Drops the reference. Returns the value if this was the last reference.
    ///
    /// ```
    /// use sim::counted::Arc;
    ///
    /// # sim::block_on(async {
    /// let one = Arc::new(7);
    /// let two = one.clone();
    /// let (one, two) = sim::join!(Arc::into_inner(one), Arc::into_inner(two));
    /// // One of the two calls returns the value.
    /// assert_eq!(one.xor(two), Some(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> impl Future<Output = Option<T>> {
        let here = here();
        async move {
            let Arc { share, value } = this;
            share.turn(&INTO_INNER, here).await;
            share.end(&INTO_INNER, here);
            sync::Arc::into_inner(value)
        }
    }
}

impl<T: ?Sized> Arc<T> {
    /// Returns the number of references that own the value.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> impl Future<Output = usize> {
        this.look(&STRONG_COUNT, here(), sync::Arc::strong_count)
    }

    /// Returns the number of references that do not own the value.
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> impl Future<Output = usize> {
        this.look(&WEAK_COUNT, here(), sync::Arc::weak_count)
    }

    async fn look(&self, op: &'static Op, here: Here, of: fn(&sync::Arc<T>) -> usize) -> usize {
        self.share.turn(op, here).await;
        let count = of(&self.value);
        self.share.did(op, here, Some(count as u64));
        count
    }

    /// Returns the value if there is no other reference, owning or non-owning.
    ///
    /// ```
    /// use sim::counted::Arc;
    ///
    /// # sim::block_on(async {
    /// let mut list = Arc::new(vec![1]);
    /// Arc::get_mut(&mut list).await.unwrap().push(2);
    /// assert_eq!(*list, [1, 2]);
    /// let _weak = Arc::downgrade(&list);
    /// assert!(Arc::get_mut(&mut list).await.is_none());
    /// # });
    /// ```
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> impl Future<Output = Option<&mut T>> {
        let here = here();
        async move {
            this.share.turn(&GET_MUT, here).await;
            let value = sync::Arc::get_mut(&mut this.value);
            this.share.did(&GET_MUT, here, Some(u64::from(value.is_some())));
            value
        }
    }

    /// Returns a non-owning reference to the value. This call is not a point.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        let here = here();
        this.share.did(&DOWNGRADE, here, None);
        let share = this.share.another(here, &DROP_WEAK);
        Weak { share, value: sync::Arc::downgrade(&this.value) }
    }

    /// Returns `true` if both references refer to the same value.
    ///
    /// ```
    /// use sim::counted::Arc;
    ///
    /// let one = Arc::new(7);
    /// let (same, equal) = (one.clone(), Arc::new(7));
    /// assert!(Arc::ptr_eq(&one, &same));
    /// assert!(one == equal && !Arc::ptr_eq(&one, &equal));
    /// ```
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        sync::Arc::ptr_eq(&this.value, &other.value)
    }
}

/// Returns the operation that the drop of a reference performs.
const fn drop_of<T: ?Sized>() -> &'static Op {
    if std::mem::needs_drop::<T>() { &DROP_WITH_VALUE } else { &DROP }
}

impl<T: ?Sized> Clone for Arc<T> {
    /// Returns another reference. This call is not a point.
    #[track_caller]
    fn clone(&self) -> Arc<T> {
        let here = here();
        self.share.did(&CLONE, here, None);
        Arc { share: self.share.another(here, drop_of::<T>()), value: self.value.clone() }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A non-owning reference to the value of an [`Arc`]: std's `Weak`.
///
/// ```
/// use sim::counted::Arc;
///
/// # sim::block_on(async {
/// let owner = Arc::new(7);
/// let weak = Arc::downgrade(&owner);
/// assert_eq!(weak.upgrade().await.as_deref(), Some(&7));
/// drop(owner);
/// assert!(weak.upgrade().await.is_none());
/// # });
/// ```
pub struct Weak<T: ?Sized> {
    share: Share,
    value: sync::Weak<T>,
}

impl<T: ?Sized> Weak<T> {
    /// Returns an owning reference, if the value still exists.
    #[track_caller]
    pub fn upgrade(&self) -> impl Future<Output = Option<Arc<T>>> {
        let here = here();
        async move {
            self.share.turn(&UPGRADE, here).await;
            let value = self.value.upgrade();
            self.share.did(&UPGRADE, here, Some(u64::from(value.is_some())));
            let share = |value| Arc { share: self.share.another(here, drop_of::<T>()), value };
            value.map(share)
        }
    }

    /// Returns the number of references that own the value.
    ///
    /// ```
    /// use sim::counted::Arc;
    ///
    /// # sim::block_on(async {
    /// let owner = Arc::new(7);
    /// let weak = Arc::downgrade(&owner);
    /// assert_eq!(weak.strong_count().await, 1);
    /// drop(owner);
    /// assert_eq!(weak.strong_count().await, 0);
    /// # });
    /// ```
    #[track_caller]
    pub fn strong_count(&self) -> impl Future<Output = usize> {
        let here = here();
        async move {
            self.share.turn(&STRONG_COUNT, here).await;
            let count = self.value.strong_count();
            self.share.did(&STRONG_COUNT, here, Some(count as u64));
            count
        }
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    /// Returns another non-owning reference to the value. This call is not a point.
    #[track_caller]
    fn clone(&self) -> Weak<T> {
        let here = here();
        self.share.did(&CLONE_WEAK, here, None);
        Weak { share: self.share.another(here, &DROP_WEAK), value: self.value.clone() }
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
