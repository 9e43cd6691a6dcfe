//! libc functions that wait for several descriptors.
//!
//! The readiness of a descriptor of the system is read from the kernel. But a run cannot wait for the kernel and for
//! its own files at the same time, because other threads of the run would have to wait, too.

use std::ffi::{c_int, c_long, c_void};

use super::super::clock::{fail, nanoseconds, sleep_for};
use super::super::compiled::note_entered;
use super::super::masks;
use super::super::real::real;
use super::super::refused::refuse;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current};
use super::calls::{at_once, caller, result};
use super::epoll::{Epoll, Interest};
use super::transfer::{operate, operate_on};
use super::{ERR, Events, FIRST, HUP, IN, Kind, OUT, RDHUP};

/// Converts milliseconds to nanoseconds. `None` if the number is negative.
fn milliseconds(time: c_int) -> Option<u64> {
    u64::try_from(time).ok().map(|time| time * 1_000_000)
}

/// Returns `true` for a time that the kernel refuses.
///
/// # Safety
/// `time` must be null or valid.
pub(super) unsafe fn is_refused(time: *const libc::timespec) -> bool {
    // SAFETY: the caller guarantees the pointer.
    let time = unsafe { time.as_ref() };
    time.is_some_and(|time| time.tv_sec < 0 || !(0..1_000_000_000).contains(&time.tv_nsec))
}

/// Waits for events of an epoll file of the run, for at most `timeout` nanoseconds.
///
/// # Safety
/// `events` must have room for `count` events.
unsafe fn wait(
    thread: &mut Thread,
    frame: usize,
    epoll: c_int,
    (events, count): (*mut libc::epoll_event, c_int),
    timeout: Option<u64>,
) -> c_int {
    note_entered("epoll_wait");
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return fail(libc::EINVAL);
    }
    let deadline = timeout.map(|time| thread.run().in_nanoseconds(time));
    let found = at_once(thread, |net| {
        let file = net.find(epoll)?;
        Ok((file, net.file(file).object))
    });
    let (file, object) = match found {
        Ok(found) => found,
        Err(error) => return fail(error),
    };
    let (about, waits) = ((object, "epoll", "poll"), (timeout != Some(0), deadline));
    let answer = operate_on(thread, frame, about, waits, (epoll, file), |net| {
        let found = net.events(file, count)?;
        for (at, (ready, data)) in found.iter().enumerate() {
            // SAFETY: the caller provides room for `count` events.
            unsafe {
                let event = libc::epoll_event { events: *ready, u64: *data };
                events.add(at).write_unaligned(event);
            }
        }
        Ok(found.len())
    });
    result(if answer == Err(libc::EAGAIN) { Ok(0) } else { answer })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    timeout: c_int,
) -> c_int {
    if let Some(thread) = caller(epoll) {
        // SAFETY: the caller provides room for the events.
        return unsafe {
            wait(thread, frame_pointer(), epoll, (events, count), milliseconds(timeout))
        };
    }
    type Wait = unsafe extern "C" fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"epoll_wait", Wait)(epoll, events, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    timeout: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    if caller(epoll).is_some() {
        // SAFETY: the caller guarantees the set.
        if unsafe { masks::interrupts(mask) } {
            return fail(libc::EINTR);
        }
        // SAFETY: the caller guarantees the arguments.
        return unsafe { epoll_wait(epoll, events, count, timeout) };
    }
    type Wait = unsafe extern "C" fn(
        c_int,
        *mut libc::epoll_event,
        c_int,
        c_int,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"epoll_pwait", Wait)(epoll, events, count, timeout, mask) }
}

#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    if let Some(thread) = caller(epoll) {
        // SAFETY: the caller guarantees the time.
        if unsafe { is_refused(timeout) } {
            return fail(libc::EINVAL);
        }
        // SAFETY: the caller guarantees the set.
        if unsafe { masks::interrupts(mask) } {
            return fail(libc::EINTR);
        }
        // SAFETY: the caller guarantees the events and the time.
        return unsafe {
            wait(thread, frame_pointer(), epoll, (events, count), nanoseconds(timeout))
        };
    }
    // The call is by number, because libc has had this function only since version 2.35.
    type Call = unsafe extern "C" fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long;
    let (number, count, size) = (libc::SYS_epoll_pwait2, count as usize, size_of::<u64>());
    // SAFETY: the caller guarantees the arguments, and the kernel's signal set has 64 bits.
    unsafe {
        let call = real!(c"syscall", Call);
        call(number, epoll as usize, events as usize, count, timeout as usize, mask as usize, size)
            as c_int
    }
}

type Poll = unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int;

/// Returns the readiness of a descriptor of the system.
fn of_system(one: &libc::pollfd) -> i16 {
    let mut one = libc::pollfd { revents: 0, ..*one };
    // SAFETY: the memory is valid, and the call does not wait.
    unsafe { real!(c"poll", Poll)(&mut one, 1, 0) };
    one.revents
}

/// Waits until one of the descriptors is ready. Returns `None` if they do not belong to the run. Programs also call
/// `poll` without descriptors, as a sleep.
///
/// If the call has descriptors of the run and of the system, and none is ready, the call is refused.
fn wait_for_one(frame: usize, polled: &mut [libc::pollfd], timeout: Option<u64>) -> Option<c_int> {
    let is_sleep = polled.iter().all(|one| one.fd < 0);
    if is_sleep && let Some(time) = timeout {
        polled.iter_mut().for_each(|one| one.revents = 0);
        return (time == 0 || sleep_for(time, frame)).then_some(0);
    }
    let is_of_run = polled.iter().any(|one| one.fd >= FIRST);
    let thread = current().filter(|_| is_sleep || is_of_run)?;
    note_entered("poll");
    let (waits, is_mixed) =
        (timeout != Some(0), polled.iter().any(|one| (0..FIRST).contains(&one.fd)));
    let deadline = timeout.map(|time| thread.run().in_nanoseconds(time));
    // An epoll file without a descriptor waits for all of them during the call.
    let (epoll, object) = at_once(thread, |net| {
        let object = net.new_object();
        let file = net.add(Kind::Epoll(Epoll::default()), object);
        for one in polled.iter() {
            let events: Events = IN | OUT | RDHUP | HUP | ERR;
            // A descriptor that occurs twice is also found twice below.
            let _ = net.control(file, libc::EPOLL_CTL_ADD, one.fd, Interest { events, data: 0 });
        }
        (file, object)
    });
    let about = (object, "poll", "poll");
    let answer = operate(thread, frame, about, (waits, deadline), |net| {
        let mut count = 0;
        for one in polled.iter_mut() {
            one.revents = match one.fd {
                FIRST.. => net.find(one.fd).map_or(libc::POLLNVAL, |file| {
                    (net.readiness(file) & (one.events as Events | ERR | HUP)) as i16
                }),
                0.. => of_system(one),
                _ => 0,
            };
            count += usize::from(one.revents != 0);
        }
        match (count, waits && is_mixed) {
            (0, true) => Err(libc::ENOSYS),
            (0, false) => Err(libc::EAGAIN),
            _ => Ok(count),
        }
    });
    at_once(thread, |net| net.end(epoll));
    Some(result(match answer {
        Err(libc::EAGAIN) => Ok(0),
        Err(libc::ENOSYS) => {
            let call = "poll, for files of the run and of the system, such as pipes of processes";
            Err(refuse(call, "Wait for them in separate calls", frame))
        }
        answer => answer,
    }))
}

/// Returns the descriptors of a call.
///
/// # Safety
/// The pointer must be valid for `count` descriptors, or `count` must be 0.
unsafe fn polled_by<'a>(polled: *mut libc::pollfd, count: libc::nfds_t) -> &'a mut [libc::pollfd] {
    match count {
        0 => &mut [],
        // SAFETY: the caller guarantees the descriptors.
        _ => unsafe { std::slice::from_raw_parts_mut(polled, count as usize) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(polled: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
    if current().is_some() {
        // SAFETY: the caller guarantees the descriptors.
        let polled = unsafe { polled_by(polled, count) };
        if let Some(found) = wait_for_one(frame_pointer(), polled, milliseconds(timeout)) {
            return found;
        }
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"poll", Poll)(polled, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    polled: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    if current().is_some() {
        // SAFETY: the caller guarantees the time.
        if unsafe { is_refused(timeout) } {
            return fail(libc::EINVAL);
        }
        // SAFETY: the caller guarantees the set.
        if unsafe { masks::interrupts(mask) } {
            return fail(libc::EINTR);
        }
        // SAFETY: the caller guarantees the descriptors and the time.
        let (polled, time) = unsafe { (polled_by(polled, count), nanoseconds(timeout)) };
        if let Some(found) = wait_for_one(frame_pointer(), polled, time) {
            return found;
        }
    }
    type WithMask = unsafe extern "C" fn(
        *mut libc::pollfd,
        libc::nfds_t,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"ppoll", WithMask)(polled, count, timeout, mask) }
}

/// Performs a `select` of the current thread. Returns `None` if the call has to wait for the kernel.
fn select_in_run(frame: usize, count: c_int, is_sleep: bool, time: Option<u64>) -> Option<c_int> {
    current()?;
    if is_sleep {
        return wait_for_one(frame, &mut [], time);
    }
    if count > FIRST {
        // The sets may contain descriptors of the run.
        return Some(fail(refuse("select, for files of the run", "Use `poll`", frame)));
    }
    note_entered("select, which waits in real time");
    None
}

/// Returns the time of a `timeval` in nanoseconds. `None` if the time is invalid.
fn microseconds(time: &libc::timeval) -> Option<u64> {
    let (seconds, micros) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_usec).ok()?);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(micros.saturating_mul(1_000)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    reads: *mut c_void,
    writes: *mut c_void,
    errors: *mut c_void,
    timeout: *mut c_void,
) -> c_int {
    // SAFETY: the pointer is null, or points to the caller's time.
    let time = unsafe { timeout.cast::<libc::timeval>().as_mut() };
    let nanoseconds = time.as_deref().map(microseconds);
    let has_sets = count != 0 && [reads, writes, errors].iter().any(|set| !set.is_null());
    let is_sleep = !has_sets && nanoseconds != Some(None);
    if let Some(found) = select_in_run(frame_pointer(), count, is_sleep, nanoseconds.flatten()) {
        if let Some(time) = time.filter(|_| is_sleep) {
            // As in the kernel, no time is left.
            *time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        }
        return found;
    }
    type Select =
        unsafe extern "C" fn(c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"select", Select)(count, reads, writes, errors, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut c_void,
    writes: *mut c_void,
    errors: *mut c_void,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the pointer is null, or points to the caller's time.
    let time = unsafe { nanoseconds(timeout) };
    let has_sets = count != 0 && [reads, writes, errors].iter().any(|set| !set.is_null());
    let is_sleep = !has_sets && (timeout.is_null() || time.is_some());
    // SAFETY: the caller guarantees the set.
    if unsafe { masks::interrupts(mask) } {
        return fail(libc::EINTR);
    }
    if let Some(found) = select_in_run(frame_pointer(), count, is_sleep, time) {
        return found;
    }
    type Select = unsafe extern "C" fn(
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pselect", Select)(count, reads, writes, errors, timeout, mask) }
}
