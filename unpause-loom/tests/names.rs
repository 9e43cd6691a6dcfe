//! The public names of loom 0.7.3. A name that is missing here does not compile.

#![cfg(feature = "futures")]
#![allow(unused_imports, reason = "the table is the test")]

mod items {
    pub(super) use loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
    pub(super) use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
    pub(super) use loom::future::{AtomicWaker, block_on};
    pub(super) use loom::hint::{spin_loop, unreachable_unchecked};
    pub(super) use loom::lazy_static::{AccessError, Lazy, panicking, yield_now};
    pub(super) use loom::model::{Builder, model};
    pub(super) use loom::sync::atomic::{
        AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
        AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence, spin_loop_hint,
    };
    pub(super) use loom::sync::mpsc::{Receiver, Sender, channel};
    pub(super) use loom::sync::{
        Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, Notify, RwLock, RwLockReadGuard,
        RwLockWriteGuard, TryLockResult, WaitTimeoutResult,
    };
    pub(super) use loom::thread;
    pub(super) use loom::{MAX_THREADS, explore, skip_branch, stop_exploring};
    pub(super) use loom::{lazy_static as a_macro, thread_local as another_macro};
}

use items::*;

/// Each function is named, for some type.
macro_rules! functions {
    ($($type:ty: $($name:ident $(<$($argument:ty),+>)?)+;)+) => {
        #[test]
        #[allow(deprecated)]
        fn each_function_of_loom_exists() {
            $($(let _ = <$type>::$name $(::<$($argument),+>)?;)+)+
        }
    };
}

type Act = fn(*const u8) -> u8;
type ActMut = fn(*mut u8) -> u8;

functions! {
    Arc<u8>: new pin try_unwrap from_std strong_count increment_strong_count decrement_strong_count get_mut ptr_eq
        into_raw as_ptr from_raw;
    AtomicWaker: new register register_by_ref wake take_waker;
    Barrier: new wait;
    Builder: new checkpoint_file check<fn()>;
    Cell<u8>: new set swap replace get take into_inner;
    Condvar: new notify_one notify_all;
    ConstPtr<u8>: deref with<Act, u8>;
    MutPtr<u8>: deref with<ActMut, u8>;
    Mutex<u8>: new into_inner lock try_lock get_mut;
    Notify: new notify wait;
    Receiver<u8>: recv recv_timeout try_recv;
    RwLock<u8>: new read try_read write try_write get_mut into_inner;
    Sender<u8>: send;
    Track<u8>: new get_ref get_mut into_inner;
    UnsafeCell<u8>: new into_inner with<Act, u8> with_mut<ActMut, u8> get get_mut;
    WaitTimeoutResult: timed_out;
    thread::Builder: new name stack_size spawn<fn(), ()>;
    thread::JoinHandle<u8>: join thread;
    thread::Thread: id name unpark;
    AtomicBool: new unsync_load into_inner load store swap compare_and_swap compare_exchange compare_exchange_weak
        fetch_and fetch_nand fetch_or fetch_xor fetch_update<fn(bool) -> Option<bool>>;
    AtomicPtr<u8>: new unsync_load into_inner load store swap compare_and_swap compare_exchange
        compare_exchange_weak fetch_update<fn(*mut u8) -> Option<*mut u8>>;
}

macro_rules! numbers {
    ($($type:ident)+) => {
        #[test]
        #[allow(deprecated)]
        fn each_function_of_numbers_exists() {
            let mut pointer = AtomicPtr::<u8>::new(std::ptr::null_mut());
            pointer.with_mut(|pointer| assert!(pointer.is_null()));
            let none = pointer.try_update(Ordering::SeqCst, Ordering::SeqCst, |_| None);
            assert_eq!(none, Err(pointer.update(Ordering::SeqCst, Ordering::SeqCst, |pointer| pointer)));
            let flag = AtomicBool::new(false);
            assert!(!flag.update(Ordering::SeqCst, Ordering::SeqCst, |flag| !flag));
            assert_eq!(flag.try_update(Ordering::SeqCst, Ordering::SeqCst, |_| None), Err(true));
            $(
                let mut number = $type::new(1);
                number.with_mut(|value| *value += 1);
                assert_eq!(number.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |_| None), Err(2));
                assert_eq!(number.try_update(Ordering::SeqCst, Ordering::SeqCst, |_| Some(3)), Ok(2));
                assert_eq!(number.update(Ordering::SeqCst, Ordering::SeqCst, |value| value + 1), 3);
                let _ = ($type::load, $type::store, $type::swap, $type::compare_and_swap, $type::into_inner);
                let _ = ($type::compare_exchange, $type::compare_exchange_weak, $type::unsync_load);
                let _ = ($type::fetch_add, $type::fetch_sub, $type::fetch_and, $type::fetch_nand);
                let _ = ($type::fetch_or, $type::fetch_xor, $type::fetch_max, $type::fetch_min);
            )+
        }
    };
}

numbers! { AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize }

/// As in loom, the text needs no `Copy`.
#[test]
fn a_cell_of_any_type_has_a_text() {
    #[derive(Debug)]
    struct Owner {
        _name: Cell<String>,
    }
    assert!(format!("{:?}", Owner { _name: Cell::new(String::new()) }).contains("Cell"));
}
