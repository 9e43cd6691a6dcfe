//! libc functions that open, close and change descriptors.

use std::ffi::{c_int, c_uint, c_ulong};

use super::super::children;
use super::super::clock::fail;
use super::super::compiled::note_entered;
use super::super::real::real;
use super::super::refused::refuse;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current};
use super::address::Address;
use super::calls::{Call, at_once, caller, on, result};
use super::disk::{self, is_on_disk, on_disk};
use super::epoll::{Epoll, Interest};
use super::handles;
use super::locks::{self, Lock};
use super::objects::{Access, Uses};
use super::sockets::is_unnamed;
use super::stream::{Stream, Wire};
use super::{Answer, FIRST, Kind, Net};

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
    let call = || unsafe { real!(c"close", unsafe extern "C" fn(c_int) -> c_int)(descriptor) };
    handles::close(frame_pointer(), descriptor, call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(descriptor: c_int) -> c_int {
    if let Some(thread) = caller(descriptor) {
        return result(duplicate(thread, descriptor));
    }
    // SAFETY: the argument is a number.
    let call = || unsafe { real!(c"dup", unsafe extern "C" fn(c_int) -> c_int)(descriptor) };
    handles::duplicate(frame_pointer(), descriptor, call)
}

fn duplicate(thread: &mut Thread, descriptor: c_int) -> Answer {
    at_once(thread, |net| {
        let file = net.find(descriptor)?;
        Ok(net.duplicate(file) as usize)
    })
}

/// Makes `other` a duplicate of a descriptor, and closes its previous file. Returns `None` if neither belongs to a run.
pub(super) fn replaced(frame: usize, descriptor: c_int, other: c_int) -> Option<c_int> {
    let thread = caller(descriptor).or_else(|| caller(other))?;
    let file = at_once(thread, |net| net.find(descriptor));
    if descriptor.min(other) < 0 || descriptor >= FIRST && file.is_err() {
        return Some(fail(libc::EBADF));
    }
    if descriptor < FIRST || other < FIRST {
        // Both kinds of descriptors have numbers of their own.
        let call = "dup2, of a file of the run to a number of the system, or the other way round";
        return Some(fail(refuse(call, "Use `dup`", frame)));
    }
    if descriptor == other {
        return Some(other);
    }
    let replace = |net: &mut Net| net.replace(descriptor, other);
    let closes = at_once(thread, |net| {
        let file = net.find(other).ok()?;
        Some(net.file(file).descriptors == 1)
    });
    // No other thread can observe the end of a descriptor whose file stays open.
    Some(result(match closes {
        Some(true) => {
            let call = Call { frame, name: "close", limit: None, waits: false };
            on(thread, other, call, |net, _| replace(net))
        }
        _ => at_once(thread, replace),
    }))
}

// The last argument of the real functions is variadic, and is passed in the same register.

type Fcntl = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: usize) -> c_int {
    let frame = frame_pointer();
    if let Some(thread) = caller(descriptor) {
        return result(match command {
            libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(thread, descriptor),
            libc::F_GETFL => on_state(thread, frame, descriptor, "flags", |net, file| {
                let entry = net.file(file);
                let blocks = if entry.nonblocking { libc::O_NONBLOCK } else { 0 };
                let mode = match &entry.kind {
                    Kind::Stream(stream) if stream.wire == Wire::Source => libc::O_RDONLY,
                    Kind::Stream(stream) if stream.wire == Wire::Sink => libc::O_WRONLY,
                    Kind::Fifo(fifo) => fifo.mode(),
                    _ => libc::O_RDWR,
                };
                Ok((mode | blocks) as usize)
            }),
            libc::F_SETFL => {
                let nonblocking = argument as c_int & libc::O_NONBLOCK != 0;
                set_nonblocking(thread, frame, descriptor, nonblocking)
            }
            _ => at_once(thread, |net| {
                net.find(descriptor)?;
                match command {
                    libc::F_GETFD => Ok(libc::FD_CLOEXEC as usize),
                    libc::F_SETFD => Ok(0),
                    _ => Err(libc::EINVAL),
                }
            }),
        });
    }
    // SAFETY: the caller guarantees the arguments.
    let real = |command| unsafe { real!(c"fcntl", Fcntl)(descriptor, command, argument) };
    let on_disk = |access| on_disk(descriptor, access);
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => {
            handles::duplicate(frame, descriptor, || real(command))
        }
        libc::F_GETFL => disk::perform(frame, "flags", || on_disk(Access::Reads), || real(command)),
        libc::F_SETFL => {
            disk::perform(frame, "set_flags", || on_disk(Access::Changes), || real(command))
        }
        libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            // SAFETY: the caller passes a description of the lock.
            let kind = c_int::from(unsafe { (*(argument as *const libc::flock)).l_type });
            let waits = command == libc::F_OFD_SETLKW;
            let name = match (kind, waits) {
                (libc::F_UNLCK, _) => "unlock",
                (libc::F_RDLCK, true) => "lock_shared",
                (libc::F_RDLCK, false) => "try_lock_shared",
                (_, true) => "lock",
                (_, false) => "try_lock",
            };
            let call = |waits| real(if waits { libc::F_OFD_SETLKW } else { libc::F_OFD_SETLK });
            // A part of a file may be unlocked while another part stays locked, so the descriptor stays in the list.
            let (releases, converts) = (false, false);
            locks::lock(frame, Lock { name, descriptor, waits, releases, converts }, call)
        }
        _ => real(command),
    }
}

/// Performs an operation on the state of a file, for example on an option. It is a point if other threads can use the
/// file.
pub(super) fn on_state(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    name: &'static str,
    mut act: impl FnMut(&mut Net, usize) -> Answer,
) -> Answer {
    let is_alone = thread.run().has_one_thread();
    if is_alone || at_once(thread, |net| net.is_private(descriptor)) {
        return at_once(thread, |net| {
            let file = net.find(descriptor)?;
            act(net, file)
        });
    }
    on(thread, descriptor, Call { frame, name, limit: None, waits: false }, act)
}

/// Makes the calls on a file wait, or not.
fn set_nonblocking(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    nonblocking: bool,
) -> Answer {
    on_state(thread, frame, descriptor, "set_nonblocking", |net, file| {
        let entry = net.file(file);
        if std::mem::replace(&mut entry.nonblocking, nonblocking) != nonblocking {
            let object = entry.object;
            net.change(object);
        }
        Ok(0)
    })
}

impl Net {
    /// Returns `true` for a socket that only the current thread uses: it has created the socket, which has no address
    /// yet. Records a use of such a socket by another thread.
    fn is_private(&mut self, descriptor: c_int) -> bool {
        let Ok(file) = self.find(descriptor) else { return true };
        let path = self.path;
        let entry = self.file(file);
        let is_new = match &entry.kind {
            Kind::Unbound(socket) => is_unnamed(&socket.local),
            Kind::Datagram(socket) => is_unnamed(&socket.local) && socket.remote.is_none(),
            _ => false,
        };
        let is_own = entry.maker == path;
        if is_new && !is_own {
            note_entered("a call on a socket without an address that another thread has created");
        }
        is_new && is_own
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: *mut c_int) -> c_int {
    let frame = frame_pointer();
    if let Some(thread) = caller(descriptor) {
        return result(match request {
            libc::FIONBIO => {
                // SAFETY: the caller passes a pointer to a number.
                let nonblocking = unsafe { *argument } != 0;
                set_nonblocking(thread, frame, descriptor, nonblocking)
            }
            libc::FIONREAD => on_state(thread, frame, descriptor, "available", |net, file| {
                let readable = match &net.file(file).kind {
                    Kind::Stream(stream) => stream.readable(),
                    Kind::Datagram(socket) => socket.readable(),
                    Kind::Fifo(fifo) => {
                        let fifo = *fifo;
                        net.pipes.readable(&fifo)
                    }
                    _ => return Err(libc::ENOTTY),
                };
                // SAFETY: the caller provides room for a number.
                unsafe { *argument = readable as c_int };
                Ok(0)
            }),
            _ => at_once(thread, |net| {
                net.find(descriptor)?;
                Err(libc::ENOTTY)
            }),
        });
    }
    type Control = unsafe extern "C" fn(c_int, c_ulong, *mut c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"ioctl", Control)(descriptor, request, argument) };
    // The argument may be another descriptor.
    let uses = || is_on_disk(descriptor).then_some(Uses::all(Access::Changes));
    disk::perform(frame, "ioctl", uses, call)
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
        if flags & !libc::EPOLL_CLOEXEC != 0 {
            return fail(libc::EINVAL);
        }
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
unsafe extern "C" fn epoll_create(size: c_int) -> c_int {
    if size <= 0 {
        return fail(libc::EINVAL);
    }
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
