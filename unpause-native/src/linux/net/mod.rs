//! The network of a run, in memory: sockets, pipes, events, and the epoll files that wait for them.
//!
//! Descriptors of a run are numbers from [`FIRST`] on, which the kernel does not use. Files that a run opens end with
//! the run. Each file belongs to an *object* of the run, which is identified by a key. Both ends of a connection belong
//! to one object. A listener and its peers belong to the object of the listener's address. A call on a file is an
//! operation on its object.
//!
//! | file | subject |
//! |---|---|
//! | `mod.rs` | files, descriptors, objects |
//! | `stream.rs` | connections: TCP, Unix sockets, pipes |
//! | `sockets.rs` | names: bind, listen, connect, accept |
//! | `datagram.rs` | datagram sockets: UDP |
//! | `unix.rs` | Unix datagram sockets, names of Unix sockets |
//! | `epoll.rs` | events of files, and the files that wait for them |
//! | `address.rs` | addresses |
//! | `transfer.rs` | an operation as a request by a thread |
//! | `options.rs` | options of sockets |
//! | `disk.rs`, `calls_on_disk.rs` | real files, and the functions of libc that operate on them |
//! | `objects.rs`, `paths.rs`, `uses.rs` | the objects of real files |
//! | `locks.rs` | locks of real files |
//! | `fifos.rs` | FIFOs, also called named pipes |
//! | `calls.rs`, `calls_of_….rs` | functions of libc |

mod address;
mod calls;
mod calls_noted;
mod calls_of_copies;
mod calls_of_files;
mod calls_of_messages;
mod calls_of_sockets;
mod calls_of_status;
mod calls_of_waits;
mod calls_on_disk;
mod datagram;
pub(super) mod disk;
mod epoll;
mod fifos;
mod handles;
mod locks;
mod objects;
mod options;
mod paths;
mod sockets;
mod stream;
mod transfer;
mod unix;
mod uses;

use std::collections::BTreeMap;
use std::ffi::c_int;

/// The libc functions that programs also call by system call number.
pub(super) mod by_number {
    pub(in super::super) use super::calls_of_files::{eventfd, timerfd_create};
    pub(in super::super) use super::calls_of_waits::epoll_pwait2;
}
pub use self::transfer::{Effect, Transfer, Use};

use self::address::Address;
use self::datagram::Datagram;
use self::epoll::Epoll;
use self::fifos::{Fifo, Pipes};
use self::objects::Disk;
use self::options::Options;
use self::sockets::{Listener, Unbound};
use self::stream::{Stream, Wire};
use self::unix::Names;
use super::names::name_of;

/// The answer to a call: a number, or an error number.
type Answer = Result<usize, c_int>;

/// The lowest descriptor of a run.
pub(crate) const FIRST: c_int = 1 << 20;

/// The readiness of a file, with the bits of epoll.
type Events = u32;
const IN: Events = (libc::EPOLLIN | libc::EPOLLRDNORM) as Events;
const OUT: Events = (libc::EPOLLOUT | libc::EPOLLWRNORM) as Events;
const RDHUP: Events = libc::EPOLLRDHUP as Events;
const HUP: Events = libc::EPOLLHUP as Events;
const ERR: Events = libc::EPOLLERR as Events;

/// An open file.
struct File {
    kind: Kind,
    /// The object to which the file belongs.
    object: u64,
    nonblocking: bool,
    /// The number of descriptors of the file, and of calls that wait for the file.
    descriptors: usize,
    /// The epoll files with which the file is registered, each with the registered descriptor.
    watchers: Vec<(usize, c_int)>,
    /// The nanoseconds after which a receiving or sending call times out; 0 if the call does not wait.
    timeouts: [Option<u64>; 2],
    /// The options that were set, by level and name: see [options].
    options: Options,
    /// The path of the thread that has created the file.
    maker: u64,
}

enum Kind {
    Unbound(Unbound),
    Listener(Listener),
    Stream(Stream),
    Datagram(Datagram),
    Fifo(Fifo),
    Event { count: u64, semaphore: bool },
    Epoll(Epoll),
}

/// All files of a run.
#[derive(Default)]
pub(crate) struct Net {
    /// The files by number. A number is not reused.
    files: Vec<Option<File>>,
    /// The file of each descriptor. The first entry belongs to [`FIRST`].
    descriptors: Vec<Option<usize>>,
    /// The sockets that have a name which is not a file. The flag is `true` for stream sockets.
    names: BTreeMap<(bool, Address), usize>,
    /// The Unix sockets that have a file as their name.
    name_files: Names,
    /// The number of changes of each object.
    versions: BTreeMap<u64, u64>,
    /// The objects changed by the current operation.
    changed: Vec<u64>,
    /// The objects, other than its own, that the current operation has used, with their kinds.
    beside: Vec<(u64, &'static str, Use)>,
    /// True if the current operation waits while it is not possible.
    waits: bool,
    /// The nanoseconds after which the wait of the current operation times out, if the file has a time limit.
    limit: Option<u64>,
    /// The number of objects that each thread has created, by path of the thread.
    made: BTreeMap<u64, u64>,
    /// The path of the thread that performs the current operation.
    path: u64,
    /// The effect of the last requested operation.
    effect: Option<Effect>,
    /// The descriptors of real files.
    disk: Disk,
    /// The pipes of open FIFOs.
    pipes: Pipes,
    /// True if the run has started another process.
    pub(crate) has_processes: bool,
}

/// The way in which a call waits: `true` if it waits, and its time limit. `None` before its first turn.
type Begun = Option<(bool, Option<u64>)>;

/// The bit that is set in the keys of objects, and in no address of memory.
const KEY: u64 = 1 << 62;

impl Net {
    /// Performs the operation that a thread has requested.
    ///
    /// # Safety
    /// The thread must be waiting in this request.
    pub(crate) unsafe fn perform(net: *mut Net, transfer: Transfer) -> Effect {
        // SAFETY: the caller guarantees that the thread waits. The operation uses the network, and ends before this
        // function reads it.
        unsafe {
            transfer.call.call();
            (*net).effect.take().expect("an operation has an effect")
        }
    }

    /// Returns the number of changes of an object.
    pub(crate) fn version(&self, object: u64) -> u64 {
        self.versions.get(&object).copied().unwrap_or(0)
    }

    /// Returns the key of a new object. It depends on the earlier objects of the thread, but not on other threads.
    fn new_object(&mut self) -> u64 {
        let made = self.made.entry(self.path).or_default();
        *made += 1;
        (name_of(self.path, *made << 16) >> 3) | KEY
    }

    /// Returns the key of the object of an address.
    fn object_of(address: &Address, is_stream: bool) -> u64 {
        (address.hash().rotate_left(u32::from(is_stream)) >> 3) | KEY
    }

    /// Adds a file without a descriptor.
    fn add(&mut self, kind: Kind, object: u64) -> usize {
        self.files.push(Some(File {
            kind,
            object,
            nonblocking: false,
            descriptors: 0,
            watchers: Vec::new(),
            timeouts: [None; 2],
            options: Options::new(),
            maker: self.path,
        }));
        self.files.len() - 1
    }

    /// Opens a descriptor for a file: the lowest free number.
    fn open(&mut self, file: usize, nonblocking: bool) -> c_int {
        let entry = self.file(file);
        entry.nonblocking = nonblocking;
        self.duplicate(file)
    }

    /// Opens another descriptor for a file.
    fn duplicate(&mut self, file: usize) -> c_int {
        self.file(file).descriptors += 1;
        let free = self.descriptors.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.descriptors.push(None);
            self.descriptors.len() - 1
        });
        self.descriptors[at] = Some(file);
        FIRST + at as c_int
    }

    /// Makes `other` a duplicate of a descriptor, and closes its previous file.
    fn replace(&mut self, descriptor: c_int, other: c_int) -> Answer {
        /// The maximum number of descriptors that a call leaves free.
        const GAP: usize = 1 << 16;
        let (file, at) = (self.find(descriptor)?, (other - FIRST) as usize);
        if at > self.descriptors.len() + GAP {
            return Err(libc::EBADF);
        }
        let _ = self.close(other);
        if self.descriptors.len() <= at {
            self.descriptors.resize(at + 1, None);
        }
        self.file(file).descriptors += 1;
        self.descriptors[at] = Some(file);
        Ok(other as usize)
    }

    /// Returns the file of a descriptor.
    fn find(&self, descriptor: c_int) -> Result<usize, c_int> {
        let at = descriptor.checked_sub(FIRST).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| *self.descriptors.get(at)?).ok_or(libc::EBADF)
    }

    /// Returns the file of a descriptor, if it is a socket.
    fn find_socket(&self, descriptor: c_int) -> Answer {
        let file = self.find(descriptor)?;
        match self.files[file].as_ref().map(|file| &file.kind) {
            Some(Kind::Fifo(_) | Kind::Event { .. } | Kind::Epoll(_)) => Err(libc::ENOTSOCK),
            Some(Kind::Stream(stream)) if matches!(stream.wire, Wire::Source | Wire::Sink) => {
                Err(libc::ENOTSOCK)
            }
            _ => Ok(file),
        }
    }

    /// Returns an open file.
    ///
    /// # Panics
    /// Panics if the file is closed.
    fn file(&mut self, file: usize) -> &mut File {
        self.files[file].as_mut().expect("the file is open")
    }

    /// Records a change of an object.
    fn change(&mut self, object: u64) {
        *self.versions.entry(object).or_default() += 1;
        if !self.changed.contains(&object) {
            self.changed.push(object);
        }
    }

    /// Records that the current operation has changed another object in addition to its own.
    fn also(&mut self, object: u64, kind: &'static str) {
        self.also_as(object, kind, Use::Changes);
    }

    /// Records that the current operation has used another object in addition to its own.
    fn also_as(&mut self, object: u64, kind: &'static str, how: Use) {
        match self.beside.iter_mut().find(|(known, ..)| *known == object) {
            // A use that adds and reads conflicts with each other use, like a change.
            Some((_, _, known)) if *known != how => *known = Use::Changes,
            Some(_) => {}
            None => self.beside.push((object, kind, how)),
        }
    }

    /// Sets how the current operation waits. The state of the file decides in the first turn of the call, and `begun`
    /// keeps the decision. `limit` is the index of the time limit.
    fn begin(&mut self, begun: &mut Begun, file: usize, (waits, limit): (bool, Option<usize>)) {
        let entry = self.file(file);
        let (waits, limit) = *begun.get_or_insert_with(|| {
            let limit = limit.and_then(|limit| entry.timeouts[limit]);
            (waits && !entry.nonblocking && limit != Some(0), limit)
        });
        (self.waits, self.limit) = (waits, limit);
    }

    /// Records a change of a file that may make it ready for `events`.
    fn notify(&mut self, file: usize, events: Events) {
        let Some(entry) = &self.files[file] else { return };
        let (object, watchers) = (entry.object, entry.watchers.clone());
        self.change(object);
        for (epoll, descriptor) in watchers {
            self.arrived(epoll, descriptor, file, events);
        }
    }

    /// Returns the events for which a file is ready.
    fn readiness(&mut self, file: usize) -> Events {
        let Some(entry) = &self.files[file] else { return 0 };
        match &entry.kind {
            Kind::Unbound(unbound) => unbound.readiness(),
            Kind::Listener(listener) => listener.readiness(),
            Kind::Stream(stream) => self.readiness_of_stream(stream),
            Kind::Datagram(datagram) if datagram.is_unix() => {
                self.readiness_of_packets(file, datagram)
            }
            Kind::Datagram(datagram) => datagram.readiness(),
            Kind::Fifo(fifo) => self.pipes.readiness(fifo),
            Kind::Event { count, .. } => {
                let readable = if *count > 0 { IN } else { 0 };
                readable | if *count < u64::MAX - 1 { OUT } else { 0 }
            }
            Kind::Epoll(_) => self.readiness_of_epoll(file),
        }
    }

    /// Reads from a file. If `peeks` is true, the bytes remain in the file.
    fn read(&mut self, file: usize, into: &mut [u8], peeks: bool) -> Answer {
        match &mut self.file(file).kind {
            Kind::Stream(_) => self.read_stream(file, into, peeks),
            Kind::Datagram(_) => {
                let room = into.len();
                self.receive(file, into, peeks).map(|(size, _)| size.min(room))
            }
            Kind::Fifo(_) => self.read_fifo(file, into),
            Kind::Event { count, semaphore } => {
                let target = into.get_mut(..8).ok_or(libc::EINVAL)?;
                if *count == 0 {
                    return Err(libc::EAGAIN);
                }
                let taken = if *semaphore { 1 } else { *count };
                *count -= taken;
                target.copy_from_slice(&taken.to_ne_bytes());
                self.notify(file, OUT);
                Ok(8)
            }
            Kind::Unbound(unbound) => {
                let has_failed = unbound.has_failed;
                match self.take_error(file) {
                    0 if has_failed => Ok(0),
                    0 => Err(libc::ENOTCONN),
                    error => Err(error),
                }
            }
            Kind::Listener(_) => Err(libc::ENOTCONN),
            Kind::Epoll(_) => Err(libc::EINVAL),
        }
    }

    /// Writes to a file, up to the available room.
    fn write(&mut self, file: usize, from: &[u8]) -> Answer {
        match &mut self.file(file).kind {
            Kind::Stream(_) => self.write_stream(file, from),
            Kind::Datagram(_) => self.send(file, from, None),
            Kind::Fifo(_) => self.write_fifo(file, from),
            Kind::Event { count, .. } => {
                let bytes = from.get(..8).and_then(|bytes| bytes.try_into().ok());
                let added = bytes.map(u64::from_ne_bytes).ok_or(libc::EINVAL)?;
                if added == u64::MAX {
                    return Err(libc::EINVAL);
                }
                let sum = count.checked_add(added).filter(|sum| *sum < u64::MAX);
                *count = sum.ok_or(libc::EAGAIN)?;
                self.notify(file, IN);
                Ok(8)
            }
            Kind::Unbound(_) => match self.take_error(file) {
                0 => Err(libc::EPIPE),
                error => Err(error),
            },
            Kind::Listener(_) => Err(libc::EPIPE),
            Kind::Epoll(_) => Err(libc::EINVAL),
        }
    }

    /// Closes a descriptor, and its file if it is the last one.
    fn close(&mut self, descriptor: c_int) -> Answer {
        let file = self.find(descriptor)?;
        self.descriptors[(descriptor - FIRST) as usize] = None;
        self.release(file);
        Ok(0)
    }

    /// Releases a file that a descriptor or a waiting call has kept open.
    fn release(&mut self, file: usize) {
        let entry = self.file(file);
        entry.descriptors -= 1;
        if entry.descriptors == 0 {
            self.end(file);
        }
    }

    /// Ends a file that has no descriptors, and for which no call waits.
    fn end(&mut self, file: usize) {
        let Some(File { kind, object, watchers, options, .. }) = self.files[file].take() else {
            return;
        };
        for (epoll, descriptor) in watchers {
            self.forget(epoll, (descriptor, file));
        }
        self.names.retain(|_, named| *named != file);
        self.name_files.close(file);
        match kind {
            Kind::Stream(stream) => {
                let is_reset = stream.wire == Wire::Tcp && options::resets(&options);
                self.end_stream(stream, is_reset);
            }
            Kind::Listener(listener) => self.reset_waiting(listener.waiting),
            Kind::Epoll(epoll) => {
                for (_, member) in epoll.members.into_keys() {
                    if let Some(member) = &mut self.files[member] {
                        member.watchers.retain(|(other, _)| *other != file);
                    }
                }
            }
            Kind::Datagram(_) => {
                for sender in self.without_room(file) {
                    self.notify(sender, OUT);
                }
            }
            Kind::Fifo(fifo) => self.close_fifo(&fifo),
            Kind::Unbound(_) | Kind::Event { .. } => {}
        }
        self.change(object);
    }
}
