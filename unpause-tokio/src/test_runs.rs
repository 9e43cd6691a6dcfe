//! The expansion of `#[tokio::test]`: many runs under the scheduler, or one run on tokio.

use real::runtime::{Builder, LocalOptions};
use sim::__private::{Attributes, Site};
use sim::runner::TestResult;

/// The environment variable that selects the tests to run on tokio: comma-separated parts of test
/// paths.
const REAL: &str = "UNPAUSE_TOKIO_REAL";

/// The runtime of a test that runs on tokio, from the arguments of the attribute.
#[derive(Clone, Copy, Debug)]
pub struct Tokio {
    /// tokio's `name`.
    pub name: Option<&'static str>,
    /// tokio's `flavor`.
    pub flavor: Option<&'static str>,
    /// tokio's `worker_threads`.
    pub worker_threads: Option<usize>,
    /// tokio's `start_paused`.
    pub start_paused: bool,
}

/// Runs a test, and panics if it fails.
#[track_caller]
pub fn test<B, R>(site: Site, attributes: Attributes, tokio: Tokio, body: B)
where
    B: AsyncFn() -> R + Sync,
    R: TestResult,
{
    let names = std::env::var(REAL).unwrap_or_default();
    if !is_named(&names, site.test) {
        return match tokio.flavor {
            // The tasks may be local even if the test creates no `LocalSet`.
            Some("local") => sim::__private::test(site, attributes, async || {
                sim::task::LocalSet::new().run_until(body()).await
            }),
            _ => sim::__private::test(site, attributes, body),
        };
    }
    if let Some(error) = tokio.block_on(body()).error() {
        panic!("the test returned an error: {error}");
    }
}

/// Returns `true` if the path of a test contains one of these comma-separated parts.
fn is_named(names: &str, path: &str) -> bool {
    names.split(',').map(str::trim).any(|part| !part.is_empty() && path.contains(part))
}

impl Tokio {
    fn block_on<F: Future>(self, future: F) -> F::Output {
        let mut builder = match self.flavor {
            #[cfg(feature = "rt-multi-thread")]
            Some("multi_thread") => Builder::new_multi_thread(),
            #[cfg(not(feature = "rt-multi-thread"))]
            Some("multi_thread") => panic!("this test needs tokio's feature rt-multi-thread"),
            _ => Builder::new_current_thread(),
        };
        builder.enable_all();
        if let Some(name) = self.name {
            builder.name(name);
        }
        if let Some(threads) = self.worker_threads {
            builder.worker_threads(threads);
        }
        #[cfg(feature = "test-util")]
        builder.start_paused(self.start_paused);
        if cfg!(not(feature = "test-util")) && self.start_paused {
            panic!("a test with start_paused needs tokio's feature test-util");
        }
        const BUILT: &str = "the runtime of the test cannot be built";
        match self.flavor {
            Some("local") => {
                builder.build_local(LocalOptions::default()).expect(BUILT).block_on(future)
            }
            _ => builder.build().expect(BUILT).block_on(future),
        }
    }
}
