//! Fences, and pointers to values that borrow.

use std::sync::Arc;

use sim::Ordering::{Acquire, Relaxed, SeqCst};
use sim::{Atomic, fence, map_concurrently};

use super::{holds, panics};

/// Two tasks each enter a room unless the other task is inside; or each looks first.
async fn entered(announces_first: bool) {
    let flags = Arc::new([Atomic::new(false), Atomic::new(false)]);
    let enters = |own: usize| {
        let flags = flags.clone();
        async move {
            if announces_first {
                flags[own].store(true, Relaxed).await;
                fence(SeqCst).await;
                return !flags[1 - own].load(Relaxed).await;
            }
            let is_free = !flags[1 - own].load(Relaxed).await;
            fence(SeqCst).await;
            flags[own].store(true, Relaxed).await;
            is_free
        }
    };
    let entered = map_concurrently(0..2, enters).await;
    assert_ne!(entered, [true, true], "both have entered");
}

#[test]
fn a_fence_does_not_mend_a_look_that_comes_too_early() {
    panics("both have entered", async || entered(false).await, async || entered(true).await);
}

#[test]
#[should_panic(expected = "relaxed fence")]
fn a_relaxed_fence_is_none() {
    sim::block_on(fence(Relaxed));
}

/// A value that borrows, behind a pointer.
struct Node<'a> {
    name: &'a str,
}

async fn swaps(name: &str) {
    let mut node = Node { name };
    let pointer: *mut Node<'_> = &mut node;
    let head: Atomic<*mut Node<'_>> = Atomic::new(std::ptr::null_mut());
    fence(Acquire).await;
    assert!(head.swap(pointer, SeqCst).await.is_null());
    let seen = head.compare_exchange(pointer, std::ptr::null_mut(), SeqCst, SeqCst).await;
    assert_eq!(seen, Ok(pointer));
    assert!(head.into_inner().is_null());
    assert_eq!(node.name, name);
}

#[test]
fn a_pointer_to_a_value_that_borrows_is_a_word() {
    holds(async || {
        let name = String::from("a");
        swaps(&name).await;
    });
    sim::block_on(swaps("b"));
}
