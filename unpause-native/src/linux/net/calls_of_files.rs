//! libc functions that open, close and change descriptors, and functions that wait for several
//! descriptors.

use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use super::super::children;
use super::super::clock::{fail, nanoseconds, sleep_for};
use super::super::compiled::note_entered;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current};
use super::address::Address;
use super::calls::{Call, at_once, caller, on, result};
use super::epoll::{Epoll, Interest};
use super::stream::{Stream, Wire};
use super::transfer::operate;
use super::{Answer, ERR, Events, FIRST, HUP, IN, Kind, OUT, RDHUP};

#[unsafe(no_mangle)]
unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        let is_seen = at_once(thread, |net| {
            let file = net.find(descriptor).ok()?;
            let entry = net.file(file);
            let is_seen = !matches!(entry.kind, Kind::Epoll(_) | Kind::Event { .. });
            Some(entry.descriptors == 1 && is_seen)
        });
        return result(match is_seen {
            None => Err(libc::EBADF),
            // No other thread can observe when the descriptor was closed.
            Some(false) => at_once(thread, |net| net.close(descriptor)),
            Some(true) => {
                let call = Call { frame, name: "close", limit: None, waits: false };
                on(thread, descriptor, call, |net, _| net.close(descriptor))
            }
        });
    }
    if descriptor >= FIRST {
        // The descriptor belongs to a run that has ended.
        return 0;
    }
    // SAFETY: the argument is a number.
    unsafe { real!(c"close", unsafe extern "C" fn(c_int) -> c_int)(descriptor) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        return result(duplicate(thread, descriptor));
    }
    // SAFETY: the argument is a number.
    unsafe { real!(c"dup", unsafe extern "C" fn(c_int) -> c_int)(descriptor) }
}

fn duplicate(thread: &mut Thread, descriptor: c_int) -> Answer {
    at_once(thread, |net| {
        let file = net.find(descriptor)?;
        Ok(net.duplicate(file) as usize)
    })
}

// The last argument of the real functions is variadic, and is passed in the same register.

type Fcntl = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    if let Some(thread) = caller(descriptor) {
        return result(match command {
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(thread, descriptor),
            _ => at_once(thread, |net| {
                let file = net.find(descriptor)?;
                let entry = net.file(file);
                match command {
                    libc::F_GETFL => {
                        let blocks = if entry.nonblocking { libc::O_NONBLOCK } else { 0 };
                        Ok((libc::O_RDWR | blocks) as usize)
                    }
                    libc::F_SETFL => {
                        entry.nonblocking = argument as c_int & libc::O_NONBLOCK != 0;
                        Ok(0)
                    }
                    libc::F_GETFD => Ok(libc::FD_CLOEXEC as usize),
                    libc::F_SETFD => Ok(0),
                    _ => Err(libc::EINVAL),
                }
            }),
        });
    }
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"fcntl", Fcntl)(descriptor, command, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        return result(at_once(thread, |net| {
            let file = net.find(descriptor)?;
            let entry = net.file(file);
            match request {
                // SAFETY: the caller passes a pointer to a number.
                libc::FIONBIO => entry.nonblocking = unsafe { *argument } != 0,
                libc::FIONREAD => {
                    let readable = match &entry.kind {
                        Kind::Stream(stream) => stream.readable(),
                        Kind::Datagram(socket) => socket.readable(),
                        _ => return Err(libc::ENOTTY),
                    };
                    // SAFETY: the caller provides room for a number.
                    unsafe { *argument = readable as c_int };
                }
                _ => return Err(libc::ENOTTY),
            }
            Ok(0)
        }));
    }
    type Control = unsafe extern "C" fn(c_int, c_ulong, *mut c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"ioctl", Control)(descriptor, request, argument) }
}

/// Returns the current simulated thread, if a file created by a libc function with this frame
/// belongs to the run.
pub(super) fn in_run(frame: usize) -> Option<&'static mut Thread> {
    current().filter(|thread| !thread.starts_child(frame))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe2(pair: *mut c_int, flags: c_int) -> c_int {
    if let Some(thread) = in_run(frame_pointer()) {
        let nonblocking = flags & libc::O_NONBLOCK != 0;
        let ends = at_once(thread, |net| {
            let object = net.new_object();
            let unnamed = || Address::Path(Vec::new());
            let end = |wire| Stream::new(wire, unnamed(), unnamed());
            let ends = net.connection([end(Wire::Source), end(Wire::Sink)], object);
            ends.map(|end| net.open(end, nonblocking))
        });
        // SAFETY: the caller provides room for two descriptors.
        unsafe { pair.cast::<[c_int; 2]>().write(ends) };
        return 0;
    }
    type Pipe = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"pipe2", Pipe)(pair, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pipe(pair: *mut c_int) -> c_int {
    // SAFETY: the caller guarantees the argument.
    unsafe { pipe2(pair, 0) }
}

#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    if let Some(thread) = current() {
        return at_once(thread, |net| {
            let object = net.new_object();
            let semaphore = flags & libc::EFD_SEMAPHORE != 0;
            let file = net.add(Kind::Event { count: u64::from(count), semaphore }, object);
            net.open(file, flags & libc::EFD_NONBLOCK != 0)
        });
    }
    type EventFile = unsafe extern "C" fn(c_uint, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"eventfd", EventFile)(count, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create1(flags: c_int) -> c_int {
    if let Some(thread) = current() {
        return at_once(thread, |net| {
            let object = net.new_object();
            let file = net.add(Kind::Epoll(Epoll::default()), object);
            net.open(file, false)
        });
    }
    type Create = unsafe extern "C" fn(c_int) -> c_int;
    // SAFETY: the argument is a number.
    unsafe { real!(c"epoll_create1", Create)(flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_create(_size: c_int) -> c_int {
    // SAFETY: the argument is a number.
    unsafe { epoll_create1(0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    descriptor: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    if let Some(thread) = caller(epoll) {
        // A run cannot wait for a file outside of the run, for example on a disk.
        if descriptor < FIRST {
            // SAFETY: the call only reads the flags of a descriptor, which need not exist.
            let exists = unsafe { real!(c"fcntl", Fcntl)(descriptor, libc::F_GETFD, 0) } >= 0;
            if exists {
                children::tell(descriptor);
            }
            return fail(if exists { libc::EPERM } else { libc::EBADF });
        }
        // SAFETY: the pointer is null, or points to the caller's event.
        let event = unsafe { event.as_ref() };
        let interest = event.map_or(Interest { events: 0, data: 0 }, |event| Interest {
            events: event.events,
            data: event.u64,
        });
        let call = Call { frame: frame_pointer(), name: "register", limit: None, waits: false };
        return result(on(thread, epoll, call, |net, file| {
            net.control(file, operation, descriptor, interest)
        }));
    }
    type Control = unsafe extern "C" fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"epoll_ctl", Control)(epoll, operation, descriptor, event) }
}

/// Converts milliseconds to nanoseconds. `None` if the number is negative.
fn milliseconds(time: c_int) -> Option<u64> {
    u64::try_from(time).ok().map(|time| time * 1_000_000)
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
    let deadline = timeout.map(|time| thread.run().in_nanoseconds(time));
    let found = at_once(thread, |net| {
        let file = net.find(epoll)?;
        Ok((file, net.file(file).object))
    });
    let (file, object) = match found {
        Ok(found) => found,
        Err(error) => return fail(error),
    };
    let count = usize::try_from(count).unwrap_or(0);
    let about = (object, "epoll", "poll");
    let answer = operate(thread, frame, about, (timeout != Some(0), deadline), |net| {
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
        // SAFETY: the caller guarantees the arguments. A run has no signals, so the mask is
        // ignored.
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
        // SAFETY: the caller guarantees the events and the time. A run has no signals, so the mask
        // is ignored.
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

#[unsafe(no_mangle)]
pub(in super::super) unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    // A program that cannot create such files, for example through the crate polling, waits with a
    // time limit.
    if current().is_some() {
        note_entered("timerfd_create");
        return fail(libc::ENOSYS);
    }
    type Create = unsafe extern "C" fn(c_int, c_int) -> c_int;
    // SAFETY: the arguments are numbers.
    unsafe { real!(c"timerfd_create", Create)(clock, flags) }
}

/// Waits until one of the descriptors is ready. Returns `None` if they do not belong to the run. Programs also call
/// `poll` without descriptors, as a sleep.
fn wait_for_one(frame: usize, polled: &mut [libc::pollfd], timeout: Option<u64>) -> Option<c_int> {
    if polled.iter().all(|one| one.fd < 0)
        && let Some(time) = timeout
    {
        polled.iter_mut().for_each(|one| one.revents = 0);
        return (time == 0 || sleep_for(time, frame)).then_some(0);
    }
    let thread = polled.iter().find_map(|one| caller(one.fd))?;
    note_entered("poll");
    let deadline = timeout.map(|time| thread.run().in_nanoseconds(time));
    // A temporary epoll file waits for all of them during the call.
    let (epoll, object) = at_once(thread, |net| {
        let object = net.new_object();
        let file = net.add(Kind::Epoll(Epoll::default()), object);
        let epoll = net.open(file, false);
        for one in polled.iter() {
            let events: Events = IN | OUT | RDHUP | HUP | ERR;
            // A descriptor that occurs twice is also found twice below.
            let _ = net.control(file, libc::EPOLL_CTL_ADD, one.fd, Interest { events, data: 0 });
        }
        (epoll, object)
    });
    let about = (object, "poll", "poll");
    let answer = operate(thread, frame, about, (timeout != Some(0), deadline), |net| {
        let mut count = 0;
        for one in polled.iter_mut() {
            one.revents = match net.find(one.fd) {
                Ok(file) => {
                    let always = ERR | HUP;
                    (net.readiness(file) & (one.events as Events | always)) as i16
                }
                Err(_) if one.fd >= FIRST => libc::POLLNVAL,
                Err(_) => 0,
            };
            count += usize::from(one.revents != 0);
        }
        if count > 0 { Ok(count) } else { Err(libc::EAGAIN) }
    });
    let _ = at_once(thread, |net| net.close(epoll));
    Some(result(if answer == Err(libc::EAGAIN) { Ok(0) } else { answer }))
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
    type Poll = unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int;
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
        // SAFETY: the caller guarantees the descriptors and the time.
        let (polled, time) = unsafe { (polled_by(polled, count), nanoseconds(timeout)) };
        if let Some(found) = wait_for_one(frame_pointer(), polled, time) {
            return found;
        }
    }
    type Poll = unsafe extern "C" fn(
        *mut libc::pollfd,
        libc::nfds_t,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"ppoll", Poll)(polled, count, timeout, mask) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    count: c_int,
    reads: *mut c_void,
    writes: *mut c_void,
    errors: *mut c_void,
    timeout: *mut c_void,
) -> c_int {
    if current().is_some() {
        let is_sleep = count == 0 || [reads, writes, errors].iter().all(|set| set.is_null());
        // SAFETY: the pointer is null, or points to the caller's time.
        let time = unsafe { timeout.cast::<libc::timeval>().as_mut() }.filter(|_| is_sleep);
        if let Some(time) = time
            && let (Ok(seconds), Ok(micros)) =
                (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec))
        {
            let nanoseconds = seconds.saturating_mul(1_000_000_000);
            let nanoseconds = nanoseconds.saturating_add(micros.saturating_mul(1_000));
            if nanoseconds > 0 {
                sleep_for(nanoseconds, frame_pointer());
            }
            // As in the kernel, no time is left.
            *time = libc::timeval { tv_sec: 0, tv_usec: 0 };
            return 0;
        }
        note_entered("select, which waits in real time");
    }
    type Select =
        unsafe extern "C" fn(c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"select", Select)(count, reads, writes, errors, timeout) }
}
