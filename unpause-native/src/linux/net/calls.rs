//! libc functions that read and write, and the conversion of a call into an operation on a file.

use std::borrow::Cow;
use std::ffi::{c_int, c_void};

use super::super::clock::fail;
use super::super::output;
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::{Thread, current, outside};
use super::address::Address;
use super::calls_of_sockets::check;
use super::disk::{self, on_disk};
use super::objects::Access;
use super::sockets::is_unnamed;
use super::stream::Wire;
use super::transfer::{About, operate, operate_on};
use super::{Answer, Begun, FIRST, Kind, Net};

/// Returns the current simulated thread, if the descriptor belongs to its run.
#[inline]
pub(super) fn caller(descriptor: c_int) -> Option<&'static mut Thread> {
    if descriptor >= FIRST { current() } else { None }
}

/// Calls `act` with the network of the current run, without a point. No other thread can observe
/// the action.
pub(super) fn at_once<R>(thread: &mut Thread, act: impl FnOnce(&mut Net) -> R) -> R {
    outside(|| {
        let path = thread.path;
        let net = &mut thread.run().net;
        net.path = path;
        let result = act(net);
        net.changed.clear();
        net.beside.clear();
        result
    })
}

/// The context of a call besides its arguments. It consists of the frame pointer of the caller, the
/// name of the operation, and the index of its time limit (0 for receiving, 1 for sending). A flag
/// is true if the call may wait.
pub(super) struct Call {
    pub(super) frame: usize,
    pub(super) name: &'static str,
    pub(super) limit: Option<usize>,
    pub(super) waits: bool,
}

/// Performs an operation on the file of a descriptor, as a point of the run.
pub(super) fn on(
    thread: &mut Thread,
    descriptor: c_int,
    call: Call,
    act: impl FnMut(&mut Net, usize) -> Answer,
) -> Answer {
    let begin = thread.run().now;
    on_since(thread, descriptor, call, (&mut None, begin), act)
}

/// Performs an operation like [`on`]. If a function consists of several operations, they wait in the same way, and have
/// the same deadline. `begin` is the time at which the function was called.
fn on_since(
    thread: &mut Thread,
    descriptor: c_int,
    call: Call,
    (begun, begin): (&mut Begun, u64),
    mut act: impl FnMut(&mut Net, usize) -> Answer,
) -> Answer {
    let (file, about) = at_once(thread, |net| {
        let file = net.find(descriptor)?;
        Ok::<_, c_int>((file, (net.file(file).object, net.kind_of(file), call.name)))
    })?;
    let limit = begun.and_then(|(_, limit)| limit);
    let waits = (false, limit.map(|time| thread.run().after(begin, time)));
    operate_on(thread, call.frame, about, waits, (descriptor, file), |net| {
        net.begin(begun, file, (call.waits, call.limit));
        act(net, file)
    })
}

/// Performs an operation on an object, which may differ from the object of a file.
pub(super) fn about(
    thread: &mut Thread,
    frame: usize,
    about: About,
    act: impl FnMut(&mut Net) -> Answer,
) -> Answer {
    operate(thread, frame, about, (false, None), act)
}

/// Converts an answer to the result of a libc function.
pub(super) fn result<T: From<i8> + TryFrom<usize>>(answer: Answer) -> T {
    match answer {
        Ok(number) => T::try_from(number).unwrap_or_else(|_| T::from(0)),
        Err(error) => fail(error),
    }
}

impl Net {
    /// Returns the kind of a file by the name that users know.
    pub(super) fn kind_of(&mut self, file: usize) -> &'static str {
        let is_path = |address: &Address| matches!(address, Address::Path(_));
        match &self.file(file).kind {
            Kind::Unbound(unbound) if is_unnamed(&unbound.local) => "socket",
            Kind::Unbound(unbound) if is_path(&unbound.local) => "UnixListener",
            Kind::Unbound(_) => "TcpListener",
            Kind::Listener(listener) if is_path(&listener.local) => "UnixListener",
            Kind::Listener(_) => "TcpListener",
            Kind::Stream(stream) => match stream.wire {
                Wire::Tcp => "TcpStream",
                Wire::Unix => "UnixStream",
                Wire::Source | Wire::Sink => "pipe",
            },
            Kind::Datagram(socket) if is_path(&socket.local) => "UnixDatagram",
            Kind::Datagram(_) => "UdpSocket",
            Kind::Fifo(_) => "fifo",
            Kind::Event { .. } => "eventfd",
            Kind::Epoll(_) => "epoll",
        }
    }
}

/// Returns the memory of a call as bytes.
///
/// # Safety
/// The memory must be valid for writes of `size` bytes, or `size` must be 0.
pub(super) unsafe fn target<'a>(memory: *mut c_void, size: usize) -> &'a mut [u8] {
    match size {
        0 => &mut [],
        // SAFETY: the caller guarantees the memory.
        _ => unsafe { std::slice::from_raw_parts_mut(memory.cast(), size) },
    }
}

/// # Safety
/// The memory must be valid for reads of `size` bytes, or `size` must be 0.
pub(super) unsafe fn source<'a>(memory: *const c_void, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: the caller guarantees the memory.
        _ => unsafe { std::slice::from_raw_parts(memory.cast(), size) },
    }
}

/// A received packet: its sender, and `true` if it was longer than the buffers.
pub(super) type Packet = (Address, bool);

/// Receives into the buffers from a socket. Also returns the received packet, if the file is a datagram socket.
pub(super) fn receive(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    buffers: Vec<&mut [u8]>,
    flags: c_int,
) -> (Answer, Option<Packet>) {
    match at_once(thread, |net| net.find_socket(descriptor)) {
        Ok(_) => read_parts(thread, frame, descriptor, buffers, flags),
        Err(error) => (Err(error), None),
    }
}

/// Reads from a file into the buffers. Also returns the received packet, if the file is a datagram socket.
fn read_parts(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    mut buffers: Vec<&mut [u8]>,
    flags: c_int,
) -> (Answer, Option<Packet>) {
    let waits = flags & libc::MSG_DONTWAIT == 0;
    let [peeks, of_packet, of_all] =
        [libc::MSG_PEEK, libc::MSG_TRUNC, libc::MSG_WAITALL].map(|flag| flags & flag != 0);
    let room: usize = buffers.iter().map(|buffer| buffer.len()).sum();
    let (mut packet, mut got, mut is_last) = (None, 0, true);
    // The bytes for a call that waits for all of them may arrive one by one, until its deadline.
    let (mut begun, begin) = (None, thread.run().now);
    loop {
        let call = Call { frame, name: "read", limit: Some(0), waits };
        let since = (&mut begun, begin);
        let answer = on_since(thread, descriptor, call, since, |net, file| {
            let mut part = vec![0; room - got];
            let entry = net.file(file);
            is_last = !of_all || peeks || entry.nonblocking;
            let (size, answer) = match entry.kind {
                Kind::Datagram(_) => {
                    let (length, sender) = net.receive(file, &mut part, peeks)?;
                    (packet, is_last) = (Some((sender, length > room)), true);
                    (length.min(room), if of_packet { length } else { length.min(room) })
                }
                _ => net.read(file, &mut part, peeks).map(|size| (size, size))?,
            };
            scatter(&mut buffers, got, &part[..size]);
            Ok(answer)
        });
        match answer {
            Ok(size) if is_last || !waits || size == 0 || got + size >= room => {
                return (Ok(got + size), packet);
            }
            Ok(size) => got += size,
            Err(_) if got > 0 => return (Ok(got), None),
            Err(error) => return (Err(error), None),
        }
    }
}

/// Copies bytes into the buffers, from the byte with the index `at` on.
fn scatter(buffers: &mut [&mut [u8]], mut at: usize, mut bytes: &[u8]) {
    for buffer in buffers {
        let before = at.min(buffer.len());
        let target = &mut buffer[before..];
        let (now, later) = bytes.split_at(bytes.len().min(target.len()));
        target[..now.len()].copy_from_slice(now);
        (at, bytes) = (at - before, later);
    }
}

/// Sends the buffers by a socket. A datagram socket sends them as one packet to `to`.
pub(super) fn send_all(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    buffers: &[&[u8]],
    flags: c_int,
    to: Option<Address>,
) -> Answer {
    at_once(thread, |net| net.find_socket(descriptor))?;
    write_parts(thread, frame, descriptor, buffers, flags, to)
}

/// Writes the buffers to a file. A datagram socket sends them as one packet to `to`.
fn write_parts(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    buffers: &[&[u8]],
    flags: c_int,
    to: Option<Address>,
) -> Answer {
    let waits = flags & libc::MSG_DONTWAIT == 0;
    to.as_ref().map_or(Ok(0), check)?;
    // A packet is received by its address, so the address is the object of the operation.
    let mut begun = None;
    while let Some(receiver) = at_once(thread, |net| net.receiver(descriptor, to.as_ref())) {
        let (file, (object, kind)) = receiver;
        let connected = at_once(thread, |net| net.connected(file));
        let (whole, mut is_other) = (buffers.concat(), false);
        let about = (object, kind, "send_to");
        let answer = operate_on(thread, frame, about, (false, None), (descriptor, file), |net| {
            // Another thread may have connected the socket to another address in the meantime.
            is_other = to.is_none() && net.connected(file) != connected;
            if is_other {
                return Ok(0);
            }
            net.begin(&mut begun, file, (waits, Some(1)));
            net.send(file, &whole, to.clone())
        });
        if !is_other {
            return answer;
        }
    }
    let whole = match buffers {
        [buffer] => Cow::Borrowed(*buffer),
        _ => Cow::Owned(buffers.concat()),
    };
    // A call that waits writes all bytes, as in the kernel.
    let (mut sent, mut is_whole) = (0, false);
    let (mut begun, mut begin) = (None, thread.run().now);
    loop {
        let call = Call { frame, name: "write", limit: Some(1), waits };
        let since = (&mut begun, begin);
        let mut is_tcp = true;
        let answer = on_since(thread, descriptor, call, since, |net, file| {
            match &net.file(file).kind {
                Kind::Stream(stream) => {
                    is_tcp = stream.wire == Wire::Tcp;
                    is_whole = net.waits;
                }
                Kind::Fifo(_) => (is_tcp, is_whole) = (false, net.waits),
                _ => {}
            }
            if let Some((object, kind)) = net.receiver_of(file, to.as_ref()) {
                // Another thread has connected the datagram socket in the meantime.
                net.also(object, kind);
            }
            net.write(file, &whole[sent..])
        });
        if !is_tcp {
            // As in the kernel, the time limit of a Unix socket starts again after each part.
            (begun, begin) = (None, thread.run().now);
        }
        match answer {
            Ok(size) => {
                sent += size;
                if size == 0 || sent == whole.len() || !is_whole {
                    return Ok(sent);
                }
            }
            Err(error) => return if sent > 0 { Ok(sent) } else { Err(error) },
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, size: usize) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffers = vec![unsafe { target(buffer, size) }];
        return result(read_parts(thread, frame_pointer(), descriptor, buffers, 0).0);
    }
    type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"read", Read)(descriptor, buffer, size) };
    disk::perform(frame_pointer(), "read", || disk::moves(descriptor), call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(
    descriptor: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffers = vec![unsafe { target(buffer, size) }];
        return result(receive(thread, frame_pointer(), descriptor, buffers, flags).0);
    }
    type Receive = unsafe extern "C" fn(c_int, *mut c_void, usize, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"recv", Receive)(descriptor, buffer, size, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    descriptor: c_int,
    buffer: *mut c_void,
    size: usize,
    flags: c_int,
    address: *mut libc::sockaddr,
    length: *mut u32,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the memory.
        unsafe {
            let buffers = vec![target(buffer, size)];
            let (answer, packet) = receive(thread, frame_pointer(), descriptor, buffers, flags);
            if let Some((sender, _)) = packet {
                sender.write(address, length);
            }
            return result(answer);
        }
    }
    type Receive = unsafe extern "C" fn(
        c_int,
        *mut c_void,
        usize,
        c_int,
        *mut libc::sockaddr,
        *mut u32,
    ) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"recvfrom", Receive)(descriptor, buffer, size, flags, address, length) }
}

/// # Safety
/// `parts` must point to `count` valid structures.
pub(super) unsafe fn parts<'a>(parts: *const libc::iovec, count: usize) -> &'a [libc::iovec] {
    match count {
        0 => &[],
        // SAFETY: the caller guarantees the array.
        _ => unsafe { std::slice::from_raw_parts(parts, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(descriptor: c_int, vector: *const libc::iovec, count: c_int) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffers.
        let buffers = unsafe {
            let parts = parts(vector, count as usize).iter();
            parts.map(|part| target(part.iov_base, part.iov_len)).collect()
        };
        return result(read_parts(thread, frame_pointer(), descriptor, buffers, 0).0);
    }
    type Read = unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"readv", Read)(descriptor, vector, count) };
    disk::perform(frame_pointer(), "read", || disk::moves(descriptor), call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, buffer: *const c_void, size: usize) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffer = unsafe { source(buffer, size) };
        return result(write_parts(thread, frame_pointer(), descriptor, &[buffer], 0, None));
    }
    // SAFETY: the caller guarantees the arguments.
    if unsafe { output::takes(descriptor, buffer, size) } {
        return size as isize;
    }
    type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"write", Write)(descriptor, buffer, size) };
    disk::perform(frame_pointer(), "write", || on_disk(descriptor, Access::Changes), call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, vector: *const libc::iovec, count: c_int) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffers.
        let buffers: Vec<&[u8]> = unsafe {
            let parts = parts(vector, count as usize).iter();
            parts.map(|part| source(part.iov_base, part.iov_len)).collect()
        };
        return result(write_parts(thread, frame_pointer(), descriptor, &buffers, 0, None));
    }
    // SAFETY: the caller guarantees the arguments.
    if let Some(size) = unsafe { output::takes_parts(descriptor, vector, count) } {
        return size;
    }
    type Write = unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    let call = || unsafe { real!(c"writev", Write)(descriptor, vector, count) };
    disk::perform(frame_pointer(), "write", || on_disk(descriptor, Access::Changes), call)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(
    descriptor: c_int,
    buffer: *const c_void,
    size: usize,
    flags: c_int,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffer = unsafe { source(buffer, size) };
        return result(send_all(thread, frame_pointer(), descriptor, &[buffer], flags, None));
    }
    type Send = unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"send", Send)(descriptor, buffer, size, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    descriptor: c_int,
    buffer: *const c_void,
    size: usize,
    flags: c_int,
    address: *const libc::sockaddr,
    length: u32,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the memory.
        let (buffer, to) = unsafe {
            let to = (!address.is_null()).then(|| Address::read(address, length));
            (source(buffer, size), to.transpose())
        };
        return result(
            to.and_then(|to| send_all(thread, frame_pointer(), descriptor, &[buffer], flags, to)),
        );
    }
    type Send = unsafe extern "C" fn(
        c_int,
        *const c_void,
        usize,
        c_int,
        *const libc::sockaddr,
        u32,
    ) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sendto", Send)(descriptor, buffer, size, flags, address, length) }
}
