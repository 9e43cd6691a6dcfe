//! Statics in stress runs: each run has its own value, as in simulated runs.
//!
//! The value of a run starts as a copy of the initial value of the static. Other runs, which may execute at the same
//! time, and code outside of runs have values of their own. The static stores all these values. When the next run
//! begins, it drops the values of finished runs.
//!
//! Values for each run take room in each primitive and cost a branch at each point, so only builds with debug
//! assertions have them. In other builds a [`StaticValues`] is empty, and a static has one value for all runs and for
//! code outside, as in std.

#[cfg(debug_assertions)]
pub(crate) use self::own::StaticValues;

#[cfg(debug_assertions)]
mod own {
    use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

    use crate::real::stress::{StressRun, current};

    /// The values of a static other than its initial value, which does not change.
    #[derive(Debug)]
    pub(crate) struct StaticValues<S> {
        is_static: bool,
        /// The value outside of runs, set by its first use.
        outside: OnceLock<S>,
        of_runs: RwLock<Vec<OfRun<S>>>,
    }

    #[derive(Debug)]
    struct OfRun<S> {
        run: Weak<StressRun>,
        value: Arc<S>,
    }

    impl<S> StaticValues<S> {
        /// Returns the values for a primitive that is not a static.
        pub(crate) const fn none() -> StaticValues<S> {
            StaticValues::new(false)
        }

        /// Returns the values for a static.
        pub(crate) const fn of_static() -> StaticValues<S> {
            StaticValues::new(true)
        }

        const fn new(is_static: bool) -> StaticValues<S> {
            StaticValues { is_static, outside: OnceLock::new(), of_runs: RwLock::new(Vec::new()) }
        }

        /// Calls `act` with the value. For a static, this is the value of this thread's run, or the value outside of
        /// runs. The value of a run and the value outside of runs start as a `copy` of `made`.
        pub(crate) fn with<R>(
            &self,
            made: &S,
            copy: impl FnOnce(&S) -> S,
            act: impl FnOnce(&S) -> R,
        ) -> R {
            if !self.is_static {
                return act(made);
            }
            match current() {
                Some(member) => act(&self.of_run(&member.run, || copy(made))),
                None => act(self.outside.get_or_init(|| copy(made))),
            }
        }

        fn of_run(&self, run: &Arc<StressRun>, first: impl FnOnce() -> S) -> Arc<S> {
            let known = self.of_runs.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = known.iter().find(|known| known.is_of(run)) {
                return known.value.clone();
            }
            drop(known);
            // The user's `clone` and destructors run without the lock.
            let first = Arc::new(first());
            let mut all = self.of_runs.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = all.iter().find(|known| known.is_of(run)) {
                return known.value.clone();
            }
            let is_on = |known: &OfRun<S>| known.run.upgrade().is_some_and(|run| !run.is_over());
            let (on, over): (Vec<_>, Vec<_>) =
                std::mem::take(&mut *all).into_iter().partition(is_on);
            *all = on;
            all.push(OfRun { run: Arc::downgrade(run), value: first.clone() });
            drop(all);
            drop(over);
            first
        }

        /// Returns the value for an exclusive owner of the primitive.
        pub(crate) fn alone<'a>(&'a mut self, made: &'a mut S) -> &'a mut S {
            let Some(member) = current() else {
                return self.outside.get_mut().unwrap_or(made);
            };
            let all = self.of_runs.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = all.iter().position(|known| known.is_of(&member.run)) {
                let value = Arc::into_inner(all.swap_remove(at).value);
                // From here on, this value is the initial value of the static.
                *made = value.expect("whoever has the static alone has its value alone");
            }
            made
        }

        /// Returns the value of `alone` by move.
        pub(crate) fn into_value(mut self, mut made: S) -> S {
            self.alone(&mut made);
            match self.outside.into_inner() {
                Some(outside) if current().is_none() => outside,
                _ => made,
            }
        }
    }

    impl<S> OfRun<S> {
        fn is_of(&self, run: &Arc<StressRun>) -> bool {
            std::ptr::eq(self.run.as_ptr(), Arc::as_ptr(run))
        }
    }
}

/// An empty type: a static has one value.
#[cfg(not(debug_assertions))]
#[derive(Debug)]
pub(crate) struct StaticValues<S>(std::marker::PhantomData<fn() -> S>);

#[cfg(not(debug_assertions))]
impl<S> StaticValues<S> {
    pub(crate) const fn none() -> StaticValues<S> {
        StaticValues(std::marker::PhantomData)
    }

    pub(crate) const fn of_static() -> StaticValues<S> {
        StaticValues::none()
    }

    #[inline(always)]
    pub(crate) fn with<R>(
        &self,
        made: &S,
        _: impl FnOnce(&S) -> S,
        act: impl FnOnce(&S) -> R,
    ) -> R {
        act(made)
    }

    #[inline(always)]
    pub(crate) fn alone<'a>(&'a mut self, made: &'a mut S) -> &'a mut S {
        made
    }

    #[inline(always)]
    pub(crate) fn into_value(self, made: S) -> S {
        made
    }
}
