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
use super::sockets::is_unnamed;
use super::stream::Wire;
use super::transfer::{About, operate};
use super::{Answer, FIRST, Kind, Net};

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
    mut act: impl FnMut(&mut Net, usize) -> Answer,
) -> Answer {
    let (file, about, waits, limit) = at_once(thread, |net| {
        let file = net.find(descriptor)?;
        let about = (net.file(file).object, net.kind_of(file), call.name);
        let entry = net.file(file);
        let limit = call.limit.and_then(|limit| entry.timeouts[limit]);
        Ok::<_, c_int>((file, about, call.waits && !entry.nonblocking, limit))
    })?;
    let deadline = limit.map(|limit| thread.run().in_nanoseconds(limit));
    operate(thread, call.frame, about, (waits, deadline), |net| match net.files[file] {
        Some(_) => act(net, file),
        // Another thread has closed the descriptor.
        None => Err(libc::EBADF),
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
            Kind::Event { .. } => "eventfd",
            Kind::Epoll(_) => "epoll",
        }
    }
}

/// Returns the memory of a call as bytes.
///
/// # Safety
/// The memory must be valid for writes of `size` bytes, or `size` must be 0.
unsafe fn target<'a>(memory: *mut c_void, size: usize) -> &'a mut [u8] {
    match size {
        0 => &mut [],
        // SAFETY: the caller guarantees the memory.
        _ => unsafe { std::slice::from_raw_parts_mut(memory.cast(), size) },
    }
}

/// # Safety
/// The memory must be valid for reads of `size` bytes, or `size` must be 0.
unsafe fn source<'a>(memory: *const c_void, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: the caller guarantees the memory.
        _ => unsafe { std::slice::from_raw_parts(memory.cast(), size) },
    }
}

/// Receives into the buffers. Also returns the sender of a packet.
fn receive(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    mut buffers: Vec<&mut [u8]>,
    flags: c_int,
) -> (Answer, Option<Address>) {
    let waits = flags & libc::MSG_DONTWAIT == 0;
    let peeks = flags & libc::MSG_PEEK != 0;
    let mut sender = None;
    let call = Call { frame, name: "read", limit: Some(0), waits };
    let answer = on(thread, descriptor, call, |net, file| {
        let mut whole = vec![0; buffers.iter().map(|buffer| buffer.len()).sum()];
        let size = match net.file(file).kind {
            Kind::Datagram(_) => {
                let (size, from) = net.receive(file, &mut whole, peeks)?;
                sender = Some(from);
                size
            }
            _ => net.read(file, &mut whole, peeks)?,
        };
        let mut rest = &whole[..size];
        for buffer in &mut buffers {
            let (now, later) = rest.split_at(rest.len().min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            rest = later;
        }
        Ok(size)
    });
    (answer, sender)
}

/// Sends the buffers. A datagram socket sends them as one packet to `to`.
fn send_all(
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
    if let Some(receiver) = at_once(thread, |net| net.receiver(descriptor, to.as_ref())) {
        let (object, kind, may_wait, limit) = receiver;
        let whole = buffers.concat();
        let deadline = limit.map(|limit| thread.run().in_nanoseconds(limit));
        let about = (object, kind, "send_to");
        return operate(thread, frame, about, (waits && may_wait, deadline), |net| {
            let file = net.find(descriptor)?;
            net.send(file, &whole, to.clone())
        });
    }
    let is_whole = at_once(thread, |net| {
        let file = net.find(descriptor).ok()?;
        let entry = net.file(file);
        Some(waits && !entry.nonblocking && matches!(entry.kind, Kind::Stream(_)))
    });
    let whole = match buffers {
        [buffer] => Cow::Borrowed(*buffer),
        _ => Cow::Owned(buffers.concat()),
    };
    // A call that waits writes all bytes, as in the kernel.
    let mut sent = 0;
    loop {
        let call = Call { frame, name: "write", limit: Some(1), waits };
        match on(thread, descriptor, call, |net, file| net.write(file, &whole[sent..])) {
            Ok(size) => {
                sent += size;
                if size == 0 || sent == whole.len() || is_whole != Some(true) {
                    return Ok(sent);
                }
            }
            Err(error) => return if sent > 0 { Ok(sent) } else { Err(error) },
        }
    }
}

impl Net {
    /// Returns the object of the target address of a packet, the kind of the socket, a flag that is
    /// true if the socket waits for room, and the time limit. Returns `None` if the socket is not a
    /// datagram socket.
    fn receiver(
        &mut self,
        descriptor: c_int,
        to: Option<&Address>,
    ) -> Option<(u64, &'static str, bool, Option<u64>)> {
        let file = self.find(descriptor).ok()?;
        let kind = self.kind_of(file);
        let entry = self.file(file);
        let (waits, limit) = (!entry.nonblocking, entry.timeouts[1]);
        let Kind::Datagram(socket) = &entry.kind else { return None };
        let peer = if to.is_none() { socket.peer } else { None };
        let to = to.or(socket.remote.as_ref())?.target();
        let object = Net::object_of(&to, false);
        let receiver = peer.or_else(|| self.named(false, &to));
        let open = receiver.and_then(|receiver| self.files[receiver].as_ref());
        Some((open.map_or(object, |open| open.object), kind, waits, limit))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, size: usize) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffers = vec![unsafe { target(buffer, size) }];
        return result(receive(thread, frame_pointer(), descriptor, buffers, 0).0);
    }
    type Read = unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"read", Read)(descriptor, buffer, size) }
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
            let (answer, sender) = receive(thread, frame_pointer(), descriptor, buffers, flags);
            if let Some(sender) = sender {
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

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(descriptor: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the message.
        unsafe {
            let message = &mut *message;
            let parts = parts(message.msg_iov, message.msg_iovlen);
            let buffers = parts.iter().map(|part| target(part.iov_base, part.iov_len)).collect();
            let (answer, sender) = receive(thread, frame_pointer(), descriptor, buffers, flags);
            match sender {
                Some(sender) => {
                    sender.write(message.msg_name.cast(), &raw mut message.msg_namelen);
                }
                None => message.msg_namelen = 0,
            }
            (message.msg_controllen, message.msg_flags) = (0, 0);
            return result(answer);
        }
    }
    type Receive = unsafe extern "C" fn(c_int, *mut libc::msghdr, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"recvmsg", Receive)(descriptor, message, flags) }
}

/// # Safety
/// `parts` must point to `count` valid structures.
unsafe fn parts<'a>(parts: *const libc::iovec, count: usize) -> &'a [libc::iovec] {
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
        return result(receive(thread, frame_pointer(), descriptor, buffers, 0).0);
    }
    type Read = unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"readv", Read)(descriptor, vector, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, buffer: *const c_void, size: usize) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffer.
        let buffer = unsafe { source(buffer, size) };
        return result(send_all(thread, frame_pointer(), descriptor, &[buffer], 0, None));
    }
    // SAFETY: the caller guarantees the arguments.
    if unsafe { output::takes(descriptor, buffer, size) } {
        return size as isize;
    }
    type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"write", Write)(descriptor, buffer, size) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, vector: *const libc::iovec, count: c_int) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the buffers.
        let buffers: Vec<&[u8]> = unsafe {
            let parts = parts(vector, count as usize).iter();
            parts.map(|part| source(part.iov_base, part.iov_len)).collect()
        };
        return result(send_all(thread, frame_pointer(), descriptor, &buffers, 0, None));
    }
    // SAFETY: the caller guarantees the arguments.
    if let Some(size) = unsafe { output::takes_parts(descriptor, vector, count) } {
        return size;
    }
    type Write = unsafe extern "C" fn(c_int, *const libc::iovec, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"writev", Write)(descriptor, vector, count) }
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

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(
    descriptor: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the message.
        unsafe {
            let message = &*message;
            let name = message.msg_name.cast::<libc::sockaddr>();
            let to = (!name.is_null()).then(|| Address::read(name, message.msg_namelen));
            let parts = parts(message.msg_iov, message.msg_iovlen).iter();
            let buffers: Vec<&[u8]> =
                parts.map(|part| source(part.iov_base, part.iov_len)).collect();
            // Runs do not support passing descriptors.
            let refused = if message.msg_controllen > 0 { Err(libc::EOPNOTSUPP) } else { Ok(0) };
            return result(refused.and_then(|_| {
                let to = to.transpose()?;
                send_all(thread, frame_pointer(), descriptor, &buffers, flags, to)
            }));
        }
    }
    type Send = unsafe extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sendmsg", Send)(descriptor, message, flags) }
}
