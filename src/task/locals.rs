//! Values local to a task, under tokio's names: set for a future, whichever thread polls it.
//!
//! A key is a thread-local. The future of a scope stores its value there before each poll and takes it back afterwards.
//! So a key works in runs, where all tasks share a thread, and outside of runs, without a runtime.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread;

use pin_project_lite::pin_project;

/// Declares keys of task-local values: tokio's `task_local!`.
///
/// A key has a value in the future of [`LocalKey::scope`]. The value is dropped with that future, even if an abort
/// drops the future early. Tasks that the future spawns do not inherit the value.
///
/// ```
/// sim::task_local! {
///     /// The request that a task works for.
///     pub static REQUEST: u32;
///     static DEPTH: std::cell::Cell<u8>;
/// }
///
/// # sim::block_on(async {
/// let served = REQUEST.scope(7, async {
///     DEPTH.sync_scope(0.into(), || DEPTH.with(|depth| depth.set(1)));
///     sim::task::yield_now().await;
///     REQUEST.get()
/// });
/// assert_eq!(served.await, 7);
/// assert!(REQUEST.try_get().is_err());
/// # });
/// ```
#[macro_export]
macro_rules! task_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $crate::task::task_local!($(#[$attribute])* $visibility static $name: $type);
        $crate::task::task_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty) => {
        $(#[$attribute])*
        $visibility static $name: $crate::task::LocalKey<$type> = {
            ::std::thread_local! {
                static VALUE: ::std::cell::RefCell<::core::option::Option<$type>> =
                    const { ::std::cell::RefCell::new(::core::option::Option::None) };
            }
            $crate::task::LocalKey::__new(VALUE)
        };
    };
}

pub use task_local;

/// A key of task-local values, created by [`task_local!`](macro@crate::task_local).
///
/// ```
/// use sim::task::LocalKey;
///
/// sim::task_local! { static DEPTH: u32; }
///
/// fn deeper(key: &'static LocalKey<u32>) -> u32 {
///     key.sync_scope(key.get() + 1, || key.get())
/// }
/// assert_eq!(DEPTH.sync_scope(1, || deeper(&DEPTH)), 2);
/// ```
pub struct LocalKey<T: 'static> {
    value: thread::LocalKey<RefCell<Option<T>>>,
}

impl<T: 'static> LocalKey<T> {
    /// Constructor for the macro.
    #[doc(hidden)]
    pub const fn __new(value: thread::LocalKey<RefCell<Option<T>>>) -> LocalKey<T> {
        LocalKey { value }
    }

    /// Creates a future in which the key has `value`, whatever its value outside.
    ///
    /// ```
    /// sim::task_local! { static NAME: &'static str; }
    ///
    /// # sim::block_on(async {
    /// let inner = NAME.scope("inner", async { NAME.get() });
    /// let outer = NAME.scope("outer", async { (inner.await, NAME.get()) });
    /// assert_eq!(outer.await, ("inner", "outer"));
    /// # });
    /// ```
    pub fn scope<F: Future>(&'static self, value: T, future: F) -> TaskLocalFuture<T, F> {
        TaskLocalFuture {
            key: self,
            value: Some(value),
            future: Some(future),
            pinned: PhantomPinned,
        }
    }

    /// Calls `work`, during which the key has `value`.
    ///
    /// # Panics
    /// If it is called within a [`with`](Self::with) of the same key.
    ///
    /// ```
    /// sim::task_local! { static NAME: &'static str; }
    /// assert_eq!(NAME.sync_scope("a", || NAME.get()), "a");
    /// ```
    #[track_caller]
    pub fn sync_scope<R>(&'static self, value: T, work: impl FnOnce() -> R) -> R {
        let mut value = Some(value);
        match self.during(&mut value, work) {
            Ok(result) => result,
            Err(error) => error.panic(),
        }
    }

    /// Calls `access` with the value.
    ///
    /// # Panics
    /// If the key has no value here, because the call is outside of its scopes.
    ///
    /// ```
    /// sim::task_local! { static NAME: String; }
    /// assert_eq!(NAME.sync_scope("a".to_owned(), || NAME.with(String::len)), 1);
    /// ```
    #[track_caller]
    pub fn with<R>(&'static self, access: impl FnOnce(&T) -> R) -> R {
        match self.try_with(access) {
            Ok(result) => result,
            Err(AccessError { .. }) => panic!("{OUTSIDE}"),
        }
    }

    /// Calls `access` with the value.
    ///
    /// # Errors
    /// If the key has no value here.
    ///
    /// ```
    /// sim::task_local! { static NAME: String; }
    /// assert!(NAME.try_with(String::len).is_err());
    /// ```
    pub fn try_with<R>(&'static self, access: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let read = |value: &RefCell<Option<T>>| value.borrow().as_ref().map(access);
        self.value.try_with(read).ok().flatten().ok_or(AccessError { _private: () })
    }

    /// Puts `value` into the thread-local while `work` runs, and takes it back afterwards, even after a panic.
    fn during<R>(
        &'static self,
        value: &mut Option<T>,
        work: impl FnOnce() -> R,
    ) -> Result<R, ScopeError> {
        struct Restore<'a, T: 'static> {
            key: &'static LocalKey<T>,
            value: &'a mut Option<T>,
        }

        impl<T: 'static> Drop for Restore<'_, T> {
            fn drop(&mut self) {
                // Neither swap can fail here, because both succeeded before `work`, which has returned.
                let swapped = self.key.swap(self.value);
                debug_assert!(swapped.is_ok(), "a thread-local is there until its last use");
            }
        }

        self.swap(value)?;
        let _restore = Restore { key: self, value };
        Ok(work())
    }

    fn swap(&'static self, value: &mut Option<T>) -> Result<(), ScopeError> {
        let swap = |current: &RefCell<Option<T>>| match current.try_borrow_mut() {
            Ok(mut current) => {
                mem::swap(&mut *current, value);
                Ok(())
            }
            Err(_) => Err(ScopeError::Borrowed),
        };
        self.value.try_with(swap).unwrap_or(Err(ScopeError::ThreadEnded))
    }
}

impl<T: Clone + 'static> LocalKey<T> {
    /// Returns a copy of the value.
    ///
    /// # Panics
    /// If the key has no value here.
    #[track_caller]
    pub fn get(&'static self) -> T {
        self.with(T::clone)
    }

    /// Returns a copy of the value.
    ///
    /// # Errors
    /// If the key has no value here.
    ///
    /// ```
    /// sim::task_local! { static NAME: &'static str; }
    /// assert_eq!(NAME.sync_scope("a", || NAME.try_get()), Ok("a"));
    /// assert!(NAME.try_get().is_err());
    /// ```
    pub fn try_get(&'static self) -> Result<T, AccessError> {
        self.try_with(T::clone)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

const OUTSIDE: &str = "a task-local has no value here: use it in the future of its `scope`, and not in a task spawned there";

/// The reason why a value cannot be put into its thread-local.
enum ScopeError {
    Borrowed,
    ThreadEnded,
}

impl ScopeError {
    #[track_caller]
    fn panic(self) -> ! {
        match self {
            ScopeError::Borrowed => {
                panic!(
                    "a scope of a task-local began in a `with` of the same key: begin it outside"
                )
            }
            ScopeError::ThreadEnded => {
                panic!("a scope of a task-local began while its thread ended")
            }
        }
    }
}

pin_project! {
    /// The future of [`LocalKey::scope`].
    ///
    /// ```
    /// sim::task_local! { static NAME: &'static str; }
    ///
    /// # sim::block_on(async {
    /// let mut scope = Box::pin(NAME.scope("a", async { NAME.get() }));
    /// assert_eq!(scope.as_mut().await, "a");
    /// assert_eq!(scope.as_mut().take_value(), Some("a"));
    /// # });
    /// ```
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct TaskLocalFuture<T, F>
    where
        T: 'static,
    {
        key: &'static LocalKey<T>,
        value: Option<T>,
        #[pin]
        future: Option<F>,
        #[pin]
        pinned: PhantomPinned,
    }

    impl<T: 'static, F> PinnedDrop for TaskLocalFuture<T, F> {
        fn drop(this: Pin<&mut Self>) {
            // The destructors of the future can read the value, too.
            let mut this = this.project();
            if mem::needs_drop::<F>() && this.future.is_some() {
                let _ = this.key.during(this.value, || this.future.set(None));
            }
        }
    }
}

impl<T, F> TaskLocalFuture<T, F> {
    /// Takes the value out; `None` if it was already taken. If the future is polled after that, the key has no value in
    /// it.
    ///
    /// ```
    /// sim::task_local! { static NAME: &'static str; }
    ///
    /// # sim::block_on(async {
    /// let mut scope = Box::pin(NAME.scope("a", async { NAME.try_get().ok() }));
    /// assert_eq!(scope.as_mut().take_value(), Some("a"));
    /// assert_eq!(scope.await, None);
    /// # });
    /// ```
    pub fn take_value(self: Pin<&mut Self>) -> Option<T> {
        self.project().value.take()
    }
}

impl<T: 'static, F: Future> Future for TaskLocalFuture<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let mut future = this.future.as_mut();
        let polled = this.key.during(this.value, || {
            let polled = future.as_mut().as_pin_mut()?.poll(cx);
            if polled.is_ready() {
                future.set(None);
            }
            Some(polled)
        });
        match polled {
            Ok(Some(polled)) => polled,
            Ok(None) => panic!("{}", crate::seam::SPENT),
            Err(error) => error.panic(),
        }
    }
}

impl<T: fmt::Debug + 'static, F> fmt::Debug for TaskLocalFuture<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("TaskLocalFuture");
        match &self.value {
            Some(value) => text.field("value", value),
            None => text.field("value", &format_args!("<missing>")),
        };
        text.finish()
    }
}

/// The error for a key that has no value here.
///
/// ```
/// sim::task_local! { static NAME: &'static str; }
///
/// let error = NAME.try_get().unwrap_err();
/// assert_eq!(error.to_string(), "a task-local has no value here");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AccessError {
    _private: (),
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a task-local has no value here")
    }
}

impl Error for AccessError {}
