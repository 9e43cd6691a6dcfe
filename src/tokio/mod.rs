//! tokio's names, for code written for tokio: `use sim::tokio;` replaces the crate.
//!
//! Needs the feature `tokio`. In a run, each operation that awaits is a point. Other operations
//! belong to their caller's step. Each of these types contains tokio's own object, which implements
//! queues, wake-ups and the effects of dropped futures. Outside of runs, tokio's object does all of
//! the work. In the real build the names are tokio's own items.
//!
//! ```
//! use sim::tokio::sync::Semaphore;
//! use std::sync::Arc;
//!
//! // Two of three tasks are inside at once.
//! let report = sim::Runner::new().strategy("exhaustive").run(async || {
//!     let (places, inside) = (Arc::new(Semaphore::new(2)), Arc::new(sim::Atomic::new(0)));
//!     sim::map_concurrently(0..3, |_| {
//!         let (places, inside) = (places.clone(), inside.clone());
//!         async move {
//!             let _place = places.acquire().await.unwrap();
//!             assert!(inside.fetch_add(1, sim::Ordering::SeqCst).await < 2);
//!             inside.fetch_sub(1, sim::Ordering::SeqCst).await;
//!         }
//!     })
//!     .await;
//! });
//! assert!(report.passed());
//! ```

mod exports;
pub mod sync;

pub use self::exports::*;
