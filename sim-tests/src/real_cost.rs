//! Pairs of functions that must compile to the same instructions in the real build: over a std
//! atomic, and over ours. `tests/real_cost.rs` compiles this file alone and compares the functions
//! by name.
//!
//! The future is polled once, by hand. A point of the real build is never pending, and an executor
//! would add its own instructions.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use std::task::{Context, Poll, Waker};

use sim::Atomic;

/// The size is checked only when this file is compiled alone, in the optimised real build.
#[cfg(real_cost_alone)]
const _: () = {
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8};
    assert!(size_of::<Atomic<u64>>() == size_of::<AtomicU64>());
    assert!(align_of::<Atomic<u64>>() == align_of::<AtomicU64>());
    assert!(size_of::<Atomic<u8>>() == size_of::<AtomicU8>());
    assert!(size_of::<Atomic<bool>>() == size_of::<AtomicBool>());
    assert!(size_of::<Atomic<*mut u8>>() == size_of::<AtomicPtr<u8>>());
    let cell = size_of::<sim::Cell<u64>>() == size_of::<std::sync::Mutex<u64>>();
    assert!(cell);
};

/// Returns the output of a future that is immediately ready, or 0 if it is pending.
#[inline(always)]
fn now(future: impl Future<Output = u64>) -> u64 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => 0,
    }
}

macro_rules! pairs {
    ($($std:ident, $ours:ident: |$atomic:ident, $n:ident| $body:expr, $async_body:expr;)*) => {
        /// The names of the function pairs, std's first.
        pub const PAIRS: &[(&str, &str)] = &[$((stringify!($std), stringify!($ours))),*];

        $(
        /// The function over std's atomic.
        #[inline(never)]
        pub fn $std($atomic: &AtomicU64, $n: u64) -> u64 {
            $body
        }

        /// The function over our atomic.
        #[inline(never)]
        pub fn $ours($atomic: &Atomic<u64>, $n: u64) -> u64 {
            now(async { $async_body })
        }
        )*
    };
}

pairs! {
    std_load, our_load: |atomic, n| atomic.load(SeqCst) + n, atomic.load(SeqCst).await + n;
    std_swap, our_swap: |atomic, n| atomic.swap(n, SeqCst), atomic.swap(n, SeqCst).await;
    std_store, our_store: |atomic, n| {
        atomic.store(n, SeqCst);
        n
    }, {
        atomic.store(n, SeqCst).await;
        n
    };
    std_compare, our_compare: |atomic, n| {
        atomic.compare_exchange(n, 7, SeqCst, SeqCst).unwrap_or(1)
    }, {
        atomic.compare_exchange(n, 7, SeqCst, SeqCst).await.unwrap_or(1)
    };
    std_compare_weak, our_compare_weak: |atomic, n| {
        atomic.compare_exchange_weak(n, 7, AcqRel, Relaxed).unwrap_or(1)
    }, {
        atomic.compare_exchange_weak(n, 7, AcqRel, Relaxed).await.unwrap_or(1)
    };
    std_fetch_update, our_fetch_update: |atomic, n| {
        let update = |old| (old != n).then_some(old / 3);
        atomic.fetch_update(AcqRel, Acquire, update).unwrap_or(1)
    }, {
        let update = |old| (old != n).then_some(old / 3);
        atomic.fetch_update(AcqRel, Acquire, update).await.unwrap_or(1)
    };
    std_fetch_xor, our_fetch_xor: |atomic, n| {
        atomic.fetch_xor(n, SeqCst)
    }, {
        atomic.fetch_xor(n, SeqCst).await
    };
    std_fetch_max, our_fetch_max: |atomic, n| {
        atomic.fetch_max(n, SeqCst)
    }, {
        atomic.fetch_max(n, SeqCst).await
    };
    std_additions, our_additions: |atomic, n| {
        let mut sum = 0u64;
        for _ in 0..n {
            sum = sum.wrapping_add(atomic.fetch_add(1, SeqCst));
        }
        sum
    }, {
        let mut sum = 0u64;
        for _ in 0..n {
            sum = sum.wrapping_add(atomic.fetch_add(1, SeqCst).await);
        }
        sum
    };
    std_load_store, our_load_store: |atomic, n| {
        for _ in 0..n {
            let old = atomic.load(SeqCst);
            atomic.store(old.wrapping_add(1), SeqCst);
        }
        n
    }, {
        for _ in 0..n {
            let old = atomic.load(SeqCst).await;
            atomic.store(old.wrapping_add(1), SeqCst).await;
        }
        n
    };
}

/// This loop is slightly slower than the previous one: each addition also reads a flag.
#[inline(never)]
pub fn planted_additions(atomic: &AtomicU64, n: u64) -> u64 {
    let mut sum = 0u64;
    for _ in 0..n {
        if std::hint::black_box(false) {
            return 0;
        }
        sum = sum.wrapping_add(atomic.fetch_add(1, SeqCst));
    }
    sum
}
