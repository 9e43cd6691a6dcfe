//! The locks and threads of C11, as programs in C use them. Each method returns libc's number: 0, or an error.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The numbers of C11 for results.
pub const BUSY: i32 = 1;
/// An error of another kind.
pub const ERROR: i32 = 2;
/// The time is over.
pub const TIMED_OUT: i32 = 4;

/// The function of a thread.
pub type Start = extern "C-unwind" fn(*mut c_void) -> c_int;

unsafe extern "C" {
    fn mtx_init(mutex: *mut c_void, kind: c_int) -> c_int;
    fn mtx_lock(mutex: *mut c_void) -> c_int;
    fn mtx_trylock(mutex: *mut c_void) -> c_int;
    fn mtx_timedlock(mutex: *mut c_void, time: *const [i64; 2]) -> c_int;
    fn mtx_unlock(mutex: *mut c_void) -> c_int;
    fn cnd_init(condvar: *mut c_void) -> c_int;
    fn cnd_wait(condvar: *mut c_void, mutex: *mut c_void) -> c_int;
    fn cnd_timedwait(condvar: *mut c_void, mutex: *mut c_void, time: *const [i64; 2]) -> c_int;
    fn cnd_signal(condvar: *mut c_void) -> c_int;
    fn cnd_broadcast(condvar: *mut c_void) -> c_int;
    fn call_once(once: *mut u32, initialiser: extern "C" fn());
    fn thrd_create(thread: *mut usize, start: Start, argument: *mut c_void) -> c_int;
    fn thrd_join(thread: usize, value: *mut c_int) -> c_int;
    fn thrd_sleep(time: *const [i64; 2], left: *mut [i64; 2]) -> c_int;
    fn thrd_yield();
    fn tss_create(key: *mut u32, destructor: Option<extern "C" fn(*mut c_void)>) -> c_int;
    fn tss_get(key: u32) -> *mut c_void;
    fn tss_set(key: u32, value: *mut c_void) -> c_int;
    fn tss_delete(key: u32);
}

unsafe extern "C-unwind" {
    fn thrd_exit(value: c_int) -> !;
}

/// The calendar time after `limit`.
fn after(limit: Duration) -> [i64; 2] {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + limit;
    [time.as_secs() as i64, i64::from(time.subsec_nanos())]
}

/// Memory of a lock.
#[repr(C, align(8))]
struct Memory<const WORDS: usize>(UnsafeCell<[u32; WORDS]>);

// SAFETY: libc's functions, and their replacements, access it from all threads.
unsafe impl<const WORDS: usize> Sync for Memory<WORDS> {}

impl<const WORDS: usize> Memory<WORDS> {
    fn new() -> Memory<WORDS> {
        Memory(UnsafeCell::new([0; WORDS]))
    }

    fn at(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// `mtx_t`.
pub struct Mutex(Memory<10>);

impl Mutex {
    /// A mutex of a kind: 0 plain, 1 recursive, 2 with time limits.
    pub fn new(kind: i32) -> Mutex {
        let new = Mutex(Memory::new());
        // SAFETY: the memory has the size of a mutex. It has no address in itself.
        unsafe { mtx_init(new.0.at(), kind) };
        new
    }

    /// `mtx_lock`.
    pub fn lock(&self) -> i32 {
        // SAFETY: the memory is a mutex.
        unsafe { mtx_lock(self.0.at()) }
    }

    /// `mtx_trylock`.
    pub fn try_lock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { mtx_trylock(self.0.at()) }
    }

    /// `mtx_timedlock`.
    pub fn timed_lock(&self, limit: Duration) -> i32 {
        // SAFETY: as above.
        unsafe { mtx_timedlock(self.0.at(), &after(limit)) }
    }

    /// `mtx_unlock`.
    pub fn unlock(&self) -> i32 {
        // SAFETY: as above.
        unsafe { mtx_unlock(self.0.at()) }
    }
}

/// `cnd_t`.
pub struct Condvar(Memory<12>);

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl Condvar {
    /// A condition variable.
    pub fn new() -> Condvar {
        let new = Condvar(Memory::new());
        // SAFETY: the memory has the size of a condition variable. It has no address in itself.
        unsafe { cnd_init(new.0.at()) };
        new
    }

    /// `cnd_wait`.
    pub fn wait(&self, mutex: &Mutex) -> i32 {
        // SAFETY: the memory is a condition variable and a mutex.
        unsafe { cnd_wait(self.0.at(), mutex.0.at()) }
    }

    /// `cnd_timedwait`.
    pub fn timed_wait(&self, mutex: &Mutex, limit: Duration) -> i32 {
        // SAFETY: as above.
        unsafe { cnd_timedwait(self.0.at(), mutex.0.at(), &after(limit)) }
    }

    /// `cnd_signal`.
    pub fn signal(&self) -> i32 {
        // SAFETY: as above.
        unsafe { cnd_signal(self.0.at()) }
    }

    /// `cnd_broadcast`.
    pub fn broadcast(&self) -> i32 {
        // SAFETY: as above.
        unsafe { cnd_broadcast(self.0.at()) }
    }
}

/// `once_flag`.
pub struct Once(Memory<1>);

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl Once {
    /// `ONCE_FLAG_INIT`.
    pub fn new() -> Once {
        Once(Memory::new())
    }

    /// `call_once`.
    pub fn call(&self, initialiser: extern "C" fn()) {
        // SAFETY: the memory is of this type.
        unsafe { call_once(self.0.at().cast(), initialiser) }
    }
}

/// The value of a thread that runs this function.
pub fn value_of(start: Start, argument: usize) -> i32 {
    let (mut thread, mut value) = (0, 0);
    // SAFETY: there is room for the number and for the value.
    unsafe {
        assert_eq!(thrd_create(&mut thread, start, argument as *mut c_void), 0);
        assert_eq!(thrd_join(thread, &mut value), 0);
    }
    value
}

/// Ends the thread, whose value is the argument.
pub extern "C-unwind" fn end_early(argument: *mut c_void) -> c_int {
    // SAFETY: no function on the stack has anything to drop.
    unsafe { thrd_exit(argument as usize as c_int) }
}

/// Lets other threads continue, and sleeps.
pub fn rest(time: Duration) -> i32 {
    let time = [time.as_secs() as i64, i64::from(time.subsec_nanos())];
    // SAFETY: the time is valid.
    unsafe {
        thrd_yield();
        thrd_sleep(&time, std::ptr::null_mut())
    }
}

/// A key for the values of threads.
#[derive(Clone, Copy)]
pub struct Key(pub u32);

impl Key {
    /// `tss_create`.
    pub fn new(destructor: extern "C" fn(*mut c_void)) -> Key {
        let mut key = 0;
        // SAFETY: there is room for the number.
        assert_eq!(unsafe { tss_create(&mut key, Some(destructor)) }, 0);
        Key(key)
    }

    /// Sets the value of this thread. Returns the value before.
    pub fn exchange(self, value: usize) -> usize {
        // SAFETY: the key exists.
        unsafe {
            let before = tss_get(self.0) as usize;
            assert_eq!(tss_set(self.0, value as *mut c_void), 0);
            before
        }
    }

    /// `tss_delete`.
    pub fn delete(self) {
        // SAFETY: it takes any number.
        unsafe { tss_delete(self.0) }
    }
}
