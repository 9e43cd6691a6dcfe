//! Locks of libc, as programs in C use them. Each method returns libc's number: 0, or an error.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time of a clock.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Time {
    /// The seconds.
    pub seconds: i64,
    /// The rest.
    pub nanoseconds: i64,
}

impl Time {
    /// The calendar time after `duration`.
    fn after(duration: Duration) -> Time {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + duration;
        Time { seconds: time.as_secs() as i64, nanoseconds: i64::from(time.subsec_nanos()) }
    }
}

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut c_void, time: *const Time) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, time: *const Time) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int;
    fn pthread_mutex_destroy(mutex: *mut c_void) -> c_int;
    fn pthread_cond_wait(condvar: *mut c_void, mutex: *mut c_void) -> c_int;
    fn pthread_cond_timedwait(condvar: *mut c_void, mutex: *mut c_void, time: *const Time)
    -> c_int;
    fn pthread_cond_clockwait(
        condvar: *mut c_void,
        mutex: *mut c_void,
        clock: c_int,
        time: *const Time,
    ) -> c_int;
    fn pthread_cond_signal(condvar: *mut c_void) -> c_int;
    fn pthread_cond_broadcast(condvar: *mut c_void) -> c_int;
    fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int;
    fn pthread_rwlock_timedrdlock(lock: *mut c_void, time: *const Time) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut c_void, time: *const Time) -> c_int;
    fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int, time: *const Time) -> c_int;
    fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int;
    fn sem_init(semaphore: *mut c_void, shared: c_int, value: u32) -> c_int;
    fn sem_wait(semaphore: *mut c_void) -> c_int;
    fn sem_trywait(semaphore: *mut c_void) -> c_int;
    fn sem_timedwait(semaphore: *mut c_void, time: *const Time) -> c_int;
    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, time: *const Time) -> c_int;
    fn sem_post(semaphore: *mut c_void) -> c_int;
    fn sem_getvalue(semaphore: *mut c_void, value: *mut c_int) -> c_int;
    fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: u32) -> c_int;
    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int;
    fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int;
    fn pthread_once(once: *mut c_void, initialiser: extern "C" fn()) -> c_int;
    fn pthread_spin_init(spin: *mut c_void, shared: c_int) -> c_int;
    fn pthread_spin_lock(spin: *mut c_void) -> c_int;
    fn pthread_spin_trylock(spin: *mut c_void) -> c_int;
    fn pthread_spin_unlock(spin: *mut c_void) -> c_int;
}

/// Memory of a lock.
#[repr(C, align(8))]
struct Memory<const WORDS: usize>(UnsafeCell<[u32; WORDS]>);

// SAFETY: libc's functions, and their replacements, access it from all threads.
unsafe impl<const WORDS: usize> Sync for Memory<WORDS> {}

impl<const WORDS: usize> Memory<WORDS> {
    const fn new() -> Memory<WORDS> {
        Memory(UnsafeCell::new([0; WORDS]))
    }

    fn at(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

/// Methods that call a function of libc with the memory of the lock.
macro_rules! methods {
    ($($name:ident => $function:ident;)*) => {$(
        /// Calls the function of libc.
        pub fn $name(&self) -> i32 {
            // SAFETY: the memory is a lock of this kind.
            unsafe { $function(self.0.at()) }
        }
    )*};
}

/// The same with a time limit.
macro_rules! timed {
    ($($name:ident => $function:ident;)*) => {$(
        /// Calls the function of libc.
        pub fn $name(&self, limit: Duration) -> i32 {
            let time = Time::after(limit);
            // SAFETY: the memory is a lock of this kind.
            unsafe { $function(self.0.at(), &time) }
        }
    )*};
}

/// The same with a time that is passed on as it is.
macro_rules! timed_at {
    ($($name:ident => $function:ident;)*) => {$(
        /// Calls the function of libc.
        pub fn $name(&self, time: Time) -> i32 {
            // SAFETY: the memory is a lock of this kind.
            unsafe { $function(self.0.at(), &time) }
        }
    )*};
}

/// The same with a clock.
macro_rules! clocked {
    ($($name:ident => $function:ident;)*) => {$(
        /// Calls the function of libc.
        pub fn $name(&self, clock: i32, time: Time) -> i32 {
            // SAFETY: the memory is a lock of this kind.
            unsafe { $function(self.0.at(), clock, &time) }
        }
    )*};
}

/// `pthread_mutex_t`.
pub struct Mutex(Memory<10>);

impl Mutex {
    /// `PTHREAD_MUTEX_INITIALIZER`.
    pub const fn new() -> Mutex {
        Mutex(Memory::new())
    }

    /// `PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP`.
    pub const fn recursive() -> Mutex {
        Mutex(Memory(UnsafeCell::new([0, 0, 0, 0, 1, 0, 0, 0, 0, 0])))
    }

    /// `PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP`.
    pub const fn checked() -> Mutex {
        Mutex(Memory(UnsafeCell::new([0, 0, 0, 0, 2, 0, 0, 0, 0, 0])))
    }

    /// With `PTHREAD_MUTEX_ROBUST_NP`.
    pub const fn robust() -> Mutex {
        Mutex(Memory(UnsafeCell::new([0, 0, 0, 0, 16, 0, 0, 0, 0, 0])))
    }

    methods! {
        lock => pthread_mutex_lock;
        try_lock => pthread_mutex_trylock;
        unlock => pthread_mutex_unlock;
        destroy => pthread_mutex_destroy;
    }
    timed! { timed_lock => pthread_mutex_timedlock; }
    timed_at! { timed_lock_at => pthread_mutex_timedlock; }
    clocked! { clock_lock => pthread_mutex_clocklock; }
}

impl Default for Mutex {
    fn default() -> Mutex {
        Mutex::new()
    }
}

/// `pthread_cond_t`.
pub struct Condvar(Memory<12>);

impl Condvar {
    /// `PTHREAD_COND_INITIALIZER`.
    pub const fn new() -> Condvar {
        Condvar(Memory::new())
    }

    /// `pthread_cond_wait`.
    pub fn wait(&self, mutex: &Mutex) -> i32 {
        // SAFETY: the memory is a condition variable and a mutex.
        unsafe { pthread_cond_wait(self.0.at(), mutex.0.at()) }
    }

    /// `pthread_cond_timedwait`.
    pub fn timed_wait(&self, mutex: &Mutex, limit: Duration) -> i32 {
        let time = Time::after(limit);
        // SAFETY: as above.
        unsafe { pthread_cond_timedwait(self.0.at(), mutex.0.at(), &time) }
    }

    /// The same with a time that is passed on as it is.
    pub fn timed_wait_at(&self, mutex: &Mutex, time: Time) -> i32 {
        // SAFETY: as above.
        unsafe { pthread_cond_timedwait(self.0.at(), mutex.0.at(), &time) }
    }

    /// `pthread_cond_clockwait`.
    pub fn clock_wait(&self, mutex: &Mutex, clock: i32, time: Time) -> i32 {
        // SAFETY: as above.
        unsafe { pthread_cond_clockwait(self.0.at(), mutex.0.at(), clock, &time) }
    }

    methods! {
        signal => pthread_cond_signal;
        broadcast => pthread_cond_broadcast;
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

/// `pthread_rwlock_t`.
pub struct RwLock(Memory<14>);

impl RwLock {
    /// `PTHREAD_RWLOCK_INITIALIZER`.
    pub const fn new() -> RwLock {
        RwLock(Memory::new())
    }

    methods! {
        read => pthread_rwlock_rdlock;
        try_read => pthread_rwlock_tryrdlock;
        write => pthread_rwlock_wrlock;
        try_write => pthread_rwlock_trywrlock;
        unlock => pthread_rwlock_unlock;
    }
    timed! { timed_write => pthread_rwlock_timedwrlock; }
    timed_at! {
        timed_read_at => pthread_rwlock_timedrdlock;
        timed_write_at => pthread_rwlock_timedwrlock;
    }
    clocked! { clock_write => pthread_rwlock_clockwrlock; }
}

impl Default for RwLock {
    fn default() -> RwLock {
        RwLock::new()
    }
}

/// `sem_t`.
pub struct Semaphore(Memory<8>);

impl Semaphore {
    /// A semaphore with this value.
    pub fn new(value: u32) -> Semaphore {
        let new = Semaphore(Memory::new());
        // SAFETY: the memory has the size of a semaphore. It has no address in itself.
        unsafe { sem_init(new.0.at(), 0, value) };
        new
    }

    /// `sem_getvalue`.
    pub fn value(&self) -> i32 {
        let mut value = -1;
        // SAFETY: the memory is a semaphore, and there is room for its value.
        unsafe { sem_getvalue(self.0.at(), &mut value) };
        value
    }

    methods! {
        wait => sem_wait;
        try_wait => sem_trywait;
        post => sem_post;
    }
    timed! { timed_wait => sem_timedwait; }
    timed_at! { timed_wait_at => sem_timedwait; }
    clocked! { clock_wait => sem_clockwait; }
}

/// `pthread_barrier_t`.
pub struct Barrier(Memory<8>);

impl Barrier {
    /// A barrier for `count` threads.
    pub fn new(count: u32) -> Barrier {
        let new = Barrier(Memory::new());
        // SAFETY: the memory has the size of a barrier. It has no address in itself.
        unsafe { pthread_barrier_init(new.0.at(), std::ptr::null(), count) };
        new
    }

    methods! {
        wait => pthread_barrier_wait;
        destroy => pthread_barrier_destroy;
    }
}

/// `pthread_once_t`.
pub struct Once(Memory<1>);

impl Once {
    /// `PTHREAD_ONCE_INIT`.
    pub const fn new() -> Once {
        Once(Memory::new())
    }

    /// `pthread_once`.
    pub fn call(&self, initialiser: extern "C" fn()) -> i32 {
        // SAFETY: the memory is of this type.
        unsafe { pthread_once(self.0.at(), initialiser) }
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

/// `pthread_spinlock_t`.
pub struct SpinLock(Memory<1>);

impl Default for SpinLock {
    fn default() -> SpinLock {
        SpinLock::new()
    }
}

impl SpinLock {
    /// A lock without a holder.
    pub fn new() -> SpinLock {
        let new = SpinLock(Memory::new());
        // SAFETY: the memory has the size of a spin lock. It has no address in itself.
        unsafe { pthread_spin_init(new.0.at(), 0) };
        new
    }

    methods! {
        lock => pthread_spin_lock;
        try_lock => pthread_spin_trylock;
        unlock => pthread_spin_unlock;
    }
}
