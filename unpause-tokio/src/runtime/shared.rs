//! The functions common to both kinds of runtimes.

/// Writes the functions common to both kinds of runtimes, which contain the fields `real` and `handle`.
macro_rules! shared {
    ($runtime:ident) => {
        impl $runtime {
            /// Returns the handle of the runtime.
            pub fn handle(&self) -> &crate::runtime::Handle {
                &self.handle
            }

            /// Calls a function that may block its thread; in a run, in a task of the run.
            #[track_caller]
            pub fn spawn_blocking<F, R>(&self, f: F) -> crate::task::JoinHandle<R>
            where
                F: FnOnce() -> R + Send + 'static,
                R: Send + 'static,
            {
                self.handle.spawn_blocking(f)
            }

            /// Runs a future to completion on this thread. In a run, this call fails the run: await the future instead.
            ///
            /// # Panics
            /// In a task of a runtime.
            #[track_caller]
            pub fn block_on<F: std::future::Future>(&self, future: F) -> F::Output {
                sim::__private::refuse(crate::runtime::BLOCKS, std::panic::Location::caller());
                self.real.block_on(future)
            }

            /// Makes this runtime the current runtime of this thread until the guard is dropped. In a run, this call
            /// does nothing.
            pub fn enter(&self) -> crate::runtime::EnterGuard<'_> {
                self.handle.enter()
            }

            /// Shuts the runtime down, and waits at most `duration` for its threads.
            pub fn shutdown_timeout(self, duration: std::time::Duration) {
                self.real.shutdown_timeout(duration);
            }

            /// Shuts the runtime down without waiting for its threads.
            pub fn shutdown_background(self) {
                self.real.shutdown_background();
            }

            /// Returns the metrics of the runtime.
            pub fn metrics(&self) -> real::runtime::RuntimeMetrics {
                self.real.metrics()
            }
        }
    };
}
