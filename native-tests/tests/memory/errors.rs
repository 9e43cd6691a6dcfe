//! Errors in the use of memory: planted ones, which must be found, beside the same programs without them.
#![allow(unsafe_code, reason = "the errors that are planted need it")]

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;

use planted::threads::Key;
use sim::run::{Failure, Outcome};

/// Calls `act` on two threads with `state`, and returns the state.
fn twice<T: Send + Sync + 'static>(state: T, act: fn(&T)) -> Arc<T> {
    let state = Arc::new(state);
    let threads = [0, 1].map(|_| {
        let state = state.clone();
        thread::spawn(move || act(&state))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    state
}

/// A box that the last of two owners frees.
struct Shared {
    owners: AtomicUsize,
    value: AtomicPtr<u64>,
}

impl Shared {
    fn new() -> Shared {
        let value = AtomicPtr::new(Box::into_raw(Box::new(7)));
        Shared { owners: AtomicUsize::new(2), value }
    }

    fn free(&self) {
        // SAFETY: violated if two owners free it.
        drop(unsafe { Box::from_raw(self.value.load(SeqCst)) });
    }
}

/// Counts down in two parts: both owners may read 1, or neither.
fn give_up_in_two_parts(shared: &Shared) {
    let owners = shared.owners.load(SeqCst);
    shared.owners.store(owners - 1, SeqCst);
    if shared.owners.load(SeqCst) == 0 {
        shared.free();
    }
}

#[sim::test(native, seeds = 1000, must_fail)]
fn the_last_of_two_owners_frees_twice_if_both_take_themselves_for_it() {
    twice(Shared::new(), give_up_in_two_parts);
}

#[sim::test(native, seeds = 1000)]
fn the_last_of_two_owners_frees_once() {
    twice(Shared::new(), |shared| {
        if shared.owners.fetch_sub(1, AcqRel) == 1 {
            shared.free();
        }
    });
}

/// One thread adds to a counter in a box that the other thread frees, with or without a flag that it is still needed.
fn freed_while_it_is_used(waits: bool) {
    let counter = Box::into_raw(Box::new(AtomicU64::new(0)));
    let address = counter as usize;
    // SAFETY: violated unless the other thread waits.
    let user = thread::spawn(move || {
        unsafe { &*(address as *const AtomicU64) }.fetch_add(1, SeqCst);
    });
    let user = if waits { user.join().map(|()| None).unwrap() } else { Some(user) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(counter) });
    user.into_iter().for_each(|user| user.join().unwrap());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn memory_is_used_after_it_was_freed() {
    freed_while_it_is_used(false);
}

#[sim::test(native, seeds = 1000)]
fn memory_is_used_before_it_is_freed() {
    freed_while_it_is_used(true);
}

/// As above, but the write is plain: it is found at the end of the run.
fn written_after_it_was_freed(waits: bool) {
    let value = Box::into_raw(Box::new([0u64; 4]));
    let address = value as usize;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let user = thread::spawn(move || {
        if !stopped.load(Acquire) {
            // SAFETY: violated unless the other thread waits.
            unsafe { (address as *mut u64).add(2).write_volatile(1) };
        }
    });
    let user = if waits { user.join().map(|()| None).unwrap() } else { Some(user) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(value) });
    stop.store(true, SeqCst);
    user.into_iter().for_each(|user| user.join().unwrap());
}

#[sim::test(native, seeds = 1000, must_fail)]
fn freed_memory_is_written() {
    written_after_it_was_freed(false);
}

#[sim::test(native, seeds = 1000)]
fn memory_is_written_before_it_is_freed() {
    written_after_it_was_freed(true);
}

/// The compiler turns a `fetch_max` into a loop, which reads the counter before the counter is freed.
#[test]
fn a_loop_of_an_operation_that_uses_freed_memory_is_not_repeated() {
    let report = sim::Runner::new().hermetic().seeds(0..1000).shrink(false).run_native(|| {
        let counter = Box::into_raw(Box::new(AtomicU64::new(0)));
        let address = counter as usize;
        let begun = Arc::new(AtomicBool::new(false));
        let begins = begun.clone();
        let user = thread::spawn(move || {
            begins.store(true, SeqCst);
            // SAFETY: none.
            unsafe { &*(address as *const AtomicU64) }.fetch_max(5, SeqCst);
        });
        while !begun.load(SeqCst) {
            thread::yield_now();
        }
        // SAFETY: none.
        drop(unsafe { Box::from_raw(counter) });
        user.join().unwrap();
    });
    let finding = report.finding.expect("the use of freed memory is found");
    let Outcome::Failed(Failure::Memory(error)) = &finding.run.outcome else {
        panic!("{:?}", finding.run.outcome)
    };
    // With each access checked, nothing orders the free and the use.
    assert!(["use after free", "data race"].contains(&error.problem), "{error:?}");
}

/// Two threads take an index each, and write a byte there.
fn fill(slots: usize) {
    let state = (AtomicUsize::new(0), vec![0u8; slots].into_boxed_slice());
    twice(state, |(next, bytes)| {
        let at = next.fetch_add(1, SeqCst);
        // SAFETY: violated if there are more threads than slots.
        unsafe { (bytes.as_ptr() as *mut u8).add(at).write_volatile(1) };
    });
}

#[sim::test(native, seeds = 10, must_fail)]
fn an_index_is_one_too_large() {
    fill(1);
}

#[sim::test(native, seeds = 1000)]
fn an_index_is_the_last_one() {
    fill(2);
}

#[sim::test(native, seeds = 10, must_fail)]
fn an_atomic_access_behind_an_allocation() {
    let bytes: Vec<AtomicU8> = (0..24).map(AtomicU8::new).collect();
    // SAFETY: none.
    unsafe { &*bytes.as_ptr().add(24) }.load(SeqCst);
}

#[sim::test(native, seeds = 10, must_fail)]
fn a_pointer_into_an_allocation_is_freed() {
    let bytes = ManuallyDrop::new(vec![0u8; 64]);
    // Opaque to the optimizer, which may remove an allocation that is never read.
    let start = std::hint::black_box(bytes.as_ptr());
    // SAFETY: none.
    drop(unsafe { Vec::from_raw_parts(start.add(16) as *mut u8, 0, 48) });
}

/// A slot that one thread fills and the other thread clears. Its final content is leaked without `Drop`.
fn slot_left(drops: bool) {
    let slot = twice(AtomicPtr::<[u64; 3]>::default(), |slot| {
        let new = Box::into_raw(Box::new([1, 2, 3]));
        let old = slot.swap(new, AcqRel);
        if !old.is_null() {
            // SAFETY: the swap has given it to this thread.
            drop(unsafe { Box::from_raw(old) });
        }
    });
    let left = slot.swap(null_mut(), AcqRel);
    if drops {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(left) });
    }
}

#[sim::test(native, leaks, seeds = 10, must_fail)]
fn what_is_left_in_a_slot_leaks() {
    slot_left(false);
}

#[sim::test(native, leaks, seeds = 1000)]
fn what_is_left_in_a_slot_is_freed() {
    slot_left(true);
}

#[sim::test(native, seeds = 10)]
fn leaks_are_not_searched_without_the_argument() {
    slot_left(false);
}

static NAMES: OnceLock<Mutex<Vec<Box<str>>>> = OnceLock::new();

#[sim::test(native, leaks, seeds = 1000)]
fn memory_of_statics_and_thread_locals_is_no_leak() {
    thread_local! {
        static OWN: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    twice((), |()| {
        OWN.with_borrow_mut(|own| own.push("own".to_owned()));
        let names = NAMES.get_or_init(|| Mutex::new(Vec::new()));
        names.lock().unwrap().push("shared".into());
    });
    OWN.with_borrow_mut(|own| own.push("main".to_owned()));
    std::mem::forget(thread::spawn(|| loop_for_ever(&Box::new(7))));
}

/// Frees a value.
extern "C" fn free(value: *mut c_void) {
    // SAFETY: libc calls it once for each value that is set below.
    drop(unsafe { Box::from_raw(value.cast::<[u64; 3]>()) });
}

/// A value for a key of libc, of a thread that ends.
fn value_for_key(destructor: Option<extern "C" fn(*mut c_void)>) {
    let key = Key::new(destructor).unwrap();
    let set = move || key.set(Box::into_raw(Box::new([1u64, 2, 3])).cast());
    assert_eq!(thread::spawn(set).join().unwrap(), 0);
    // The value of a thread that has not ended is not a leak.
    std::mem::forget(thread::spawn(move || {
        set();
        loop_for_ever(&0);
    }));
    thread::yield_now();
}

#[sim::test(native, leaks, seeds = 10, must_fail)]
fn a_value_for_a_key_without_a_destructor_leaks() {
    value_for_key(None);
}

#[sim::test(native, leaks, seeds = 1000)]
fn a_value_for_a_key_with_a_destructor_is_freed() {
    value_for_key(Some(free));
}

/// Holds memory when the run ends.
fn loop_for_ever(held: &u64) {
    loop {
        thread::park();
        std::hint::black_box(held);
    }
}

#[sim::test(native, leaks, seeds = 1000)]
fn std_leaks_nothing() {
    let (sender, receiver) = mpsc::channel::<String>();
    let other = sender.clone();
    let threads = [sender, other].map(|sender| thread::spawn(move || sender.send("x".to_owned())));
    drop(receiver.recv());
    drop(receiver);
    threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
    let total = Mutex::new(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| total.lock().unwrap().push(Box::new(1)));
        scope.spawn(|| total.lock().unwrap().push(Box::new(2)));
    });
}

/// Treiber's stack. A node that is popped is freed at once, so its address may be the address of a later node.
struct Stack {
    head: AtomicPtr<Node>,
}

struct Node {
    value: u64,
    next: *mut Node,
}

impl Stack {
    fn push(&self, value: u64) {
        let node = Box::into_raw(Box::new(Node { value, next: null_mut() }));
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: not shared yet.
            unsafe { (*node).next = head };
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self, frees: bool) -> Option<u64> {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return None;
            }
            // SAFETY: violated if nodes are freed: that is the bug.
            let Node { value, next } = unsafe { std::ptr::read(head) };
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                if frees {
                    // SAFETY: taken off the list by this thread.
                    drop(unsafe { Box::from_raw(head) });
                }
                return Some(value);
            }
        }
    }
}

/// Pops on one thread, pops twice and pushes on the other thread. Returns the remaining and the taken values, sorted.
fn aba(frees: bool) {
    let stack = Arc::new(Stack { head: AtomicPtr::default() });
    (1..=3).for_each(|value| stack.push(value));
    let other = stack.clone();
    let thread = thread::spawn(move || {
        let taken = [other.pop(frees), other.pop(frees)];
        other.push(4);
        taken
    });
    let mut all: Vec<u64> = stack.pop(frees).into_iter().collect();
    all.extend(thread.join().unwrap().into_iter().flatten());
    for _ in 0..5 {
        all.extend(stack.pop(frees));
    }
    all.sort_unstable();
    assert_eq!(all, [1, 2, 3, 4]);
}

#[sim::test(native, seeds = 3000, must_fail)]
fn a_stack_that_frees_its_nodes_takes_a_new_one_for_an_old_one() {
    aba(true);
}

#[sim::test(native, seeds = 3000)]
fn a_stack_that_keeps_its_nodes_does_not() {
    aba(false);
}
