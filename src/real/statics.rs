//! Statics in stress runs: each run has a value of its own, as a simulated run has.
//!
//! The value of a run starts as a copy of the initial value of the static. Other runs, which may be
//! on at the same time, and code outside of runs have values of their own. The static keeps all of
//! them, and drops the value of a run that is over when the next run begins.
//!
//! Own values take room in each primitive and a branch at each point, so only builds with debug assertions have them.
//! In others a [`StaticValues`] is empty, and a static has one value for all runs and outside, as in std.

#[cfg(debug_assertions)]
pub(crate) use self::own::StaticValues;

#[cfg(debug_assertions)]
mod own {
    use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

    use crate::real::stress::{StressRun, current};

    /// The values of a static beside its initial value, which does not change.
    #[derive(Debug)]
    pub(crate) struct StaticValues<S> {
        is_static: bool,
        /// The value outside of runs, once it was used.
        outside: OnceLock<S>,
        of_runs: RwLock<Vec<OfRun<S>>>,
    }

    #[derive(Debug)]
    struct OfRun<S> {
        run: Weak<StressRun>,
        value: Arc<S>,
    }

    impl<S> StaticValues<S> {
        /// For a primitive that is no static.
        pub(crate) const fn none() -> StaticValues<S> {
            StaticValues::new(false)
        }

        /// For a static.
        pub(crate) const fn of_static() -> StaticValues<S> {
            StaticValues::new(true)
        }

        const fn new(is_static: bool) -> StaticValues<S> {
            StaticValues { is_static, outside: OnceLock::new(), of_runs: RwLock::new(Vec::new()) }
        }

        /// Does `act` to the value. For a static, this is the value of this thread's run, or the
        /// value outside of runs; each begins as a `copy` of `made`.
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
            // The user's `clone` and destructors are called without the lock.
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

        /// The value, for the only owner of the primitive.
        pub(crate) fn alone<'a>(&'a mut self, made: &'a mut S) -> &'a mut S {
            let Some(member) = current() else {
                return self.outside.get_mut().unwrap_or(made);
            };
            let all = self.of_runs.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = all.iter().position(|known| known.is_of(&member.run)) {
                let value = Arc::into_inner(all.swap_remove(at).value);
                // From here on it is the value that the static was made with.
                *made = value.expect("whoever has the static alone has its value alone");
            }
            made
        }

        /// The same, taken out.
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

/// Nothing: a static has one value.
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
