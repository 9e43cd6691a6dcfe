//! The primitives of the corpus programs, over shuttle. The module of this name in the corpus's own package has the
//! primitives of unpause.
//!
//! Everything is sequentially consistent there, too. A cell is an atomic, because shuttle has no other memory that can
//! be shared.

use std::pin::Pin;
use std::sync::PoisonError;

use shuttle::sync::MutexGuard;
pub use shuttle::sync::atomic::Ordering::SeqCst;
use shuttle::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// A task or a whole program that has not begun yet.
pub type Body = Pin<Box<dyn Future<Output = ()>>>;

/// Boxes a future as a [`Body`].
pub fn boxed(body: impl Future<Output = ()> + 'static) -> Body {
    Box::pin(body)
}

/// Spawns a task. This is a scheduling point, like every spawn in shuttle.
pub fn spawn(body: Body) -> shuttle::future::JoinHandle<()> {
    shuttle::future::spawn_local(body)
}

/// Shared memory for one value.
#[derive(Debug, Default)]
pub struct Atomic<T: Value>(T::Shared);

impl<T: Value> Atomic<T> {
    pub fn new(value: T) -> Atomic<T> {
        Atomic(value.shared())
    }
}

/// A value for which shuttle has an atomic.
pub trait Value: Sized {
    /// The atomic type.
    type Shared: std::fmt::Debug + Default;

    /// Creates an atomic with this value.
    fn shared(self) -> Self::Shared;
}

macro_rules! atomics {
    ($($value:ty, $shared:ty;)*) => {$(
        impl Value for $value {
            type Shared = $shared;

            fn shared(self) -> $shared {
                <$shared>::new(self)
            }
        }

        impl Atomic<$value> {
            pub async fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            pub async fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
            }

            pub async fn swap(&self, value: $value, order: Ordering) -> $value {
                self.0.swap(value, order)
            }

            pub async fn compare_exchange(
                &self,
                from: $value,
                to: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(from, to, success, failure)
            }
        }
    )*};
}

atomics! {
    i64, AtomicI64;
    bool, AtomicBool;
}

impl Atomic<i64> {
    pub async fn fetch_add(&self, more: i64, order: Ordering) -> i64 {
        self.0.fetch_add(more, order)
    }

    pub async fn fetch_sub(&self, less: i64, order: Ordering) -> i64 {
        self.0.fetch_sub(less, order)
    }
}

/// Plain shared memory.
#[derive(Debug, Default)]
pub struct Cell<T: Value>(Atomic<T>);

impl Cell<i64> {
    pub fn new(value: i64) -> Cell<i64> {
        Cell(Atomic::new(value))
    }

    pub async fn get(&self) -> i64 {
        self.0.load(SeqCst).await
    }

    pub async fn set(&self, value: i64) {
        self.0.store(value, SeqCst).await;
    }
}

/// A lock.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
