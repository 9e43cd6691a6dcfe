//! libc functions that receive and send messages of several buffers: one message, or several messages in a call.
//!
//! A call for several messages consists of one operation for each message, as in the kernel.

use std::ffi::{c_int, c_uint};

use super::super::clock::{fail, nanoseconds};
use super::super::real::real;
use super::super::switch::frame_pointer;
use super::super::thread::Thread;
use super::address::Address;
use super::calls::{Call, at_once, caller, on, parts, receive, result, send_all, source, target};
use super::calls_of_waits::is_refused;
use super::{Answer, ERR, IN, Kind};

/// The maximum number of messages that a call sends.
const MOST: usize = 1024;

/// Receives a message.
///
/// # Safety
/// The message must be valid.
unsafe fn receive_one(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    message: &mut libc::msghdr,
    flags: c_int,
) -> Answer {
    // SAFETY: the caller guarantees the message.
    unsafe {
        let parts = parts(message.msg_iov, message.msg_iovlen);
        let buffers = parts.iter().map(|part| target(part.iov_base, part.iov_len)).collect();
        let (answer, packet) = receive(thread, frame, descriptor, buffers, flags);
        let is_cut = packet.as_ref().is_some_and(|(_, is_cut)| *is_cut);
        match packet {
            Some((sender, _)) => {
                sender.write(message.msg_name.cast(), &raw mut message.msg_namelen);
            }
            None => message.msg_namelen = 0,
        }
        message.msg_controllen = 0;
        message.msg_flags = if is_cut { libc::MSG_TRUNC } else { 0 };
        answer
    }
}

/// Sends a message.
///
/// # Safety
/// The message must be valid.
unsafe fn send_one(
    thread: &mut Thread,
    frame: usize,
    descriptor: c_int,
    message: &libc::msghdr,
    flags: c_int,
) -> Answer {
    // SAFETY: the caller guarantees the message.
    unsafe {
        let name = message.msg_name.cast::<libc::sockaddr>();
        let to = (!name.is_null()).then(|| Address::read(name, message.msg_namelen));
        let parts = parts(message.msg_iov, message.msg_iovlen).iter();
        let buffers: Vec<&[u8]> = parts.map(|part| source(part.iov_base, part.iov_len)).collect();
        // Runs do not support passing descriptors.
        if message.msg_controllen > 0 {
            return Err(libc::EOPNOTSUPP);
        }
        send_all(thread, frame, descriptor, &buffers, flags, to.transpose()?)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(descriptor: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the message.
        return result(unsafe {
            receive_one(thread, frame_pointer(), descriptor, &mut *message, flags)
        });
    }
    type Receive = unsafe extern "C" fn(c_int, *mut libc::msghdr, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"recvmsg", Receive)(descriptor, message, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(
    descriptor: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> isize {
    if let Some(thread) = caller(descriptor) {
        // SAFETY: the caller guarantees the message.
        return result(unsafe { send_one(thread, frame_pointer(), descriptor, &*message, flags) });
    }
    type Send = unsafe extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sendmsg", Send)(descriptor, message, flags) }
}

/// Returns the messages of a call.
///
/// # Safety
/// The pointer must be valid for `count` messages, or `count` must be 0.
unsafe fn messages<'a>(messages: *mut libc::mmsghdr, count: usize) -> &'a mut [libc::mmsghdr] {
    match count {
        0 => &mut [],
        // SAFETY: the caller guarantees the messages.
        _ => unsafe { std::slice::from_raw_parts_mut(messages, count) },
    }
}

/// Calls `act` for each message. `act` returns the size of the message, and `true` if the call continues. Returns the
/// number of messages before an error, and the error.
fn for_each(
    messages: &mut [libc::mmsghdr],
    mut act: impl FnMut(&mut libc::msghdr) -> Result<(usize, bool), c_int>,
) -> (usize, Option<c_int>) {
    for (done, message) in messages.iter_mut().enumerate() {
        match act(&mut message.msg_hdr) {
            Ok((size, continues)) => {
                message.msg_len = size as c_uint;
                if !continues {
                    return (done + 1, None);
                }
            }
            Err(error) => return (done, Some(error)),
        }
    }
    (messages.len(), None)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    descriptor: c_int,
    vector: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut libc::timespec,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        if let Err(error) = at_once(thread, |net| net.find_socket(descriptor)) {
            return fail(error);
        }
        // SAFETY: the caller guarantees the time.
        if unsafe { is_refused(timeout) } {
            return fail(libc::EINVAL);
        }
        // SAFETY: the caller guarantees the messages and the time.
        let (messages, time) = unsafe { (messages(vector, count as usize), nanoseconds(timeout)) };
        // As in the kernel, the time limit is checked after each message.
        let end = time.map(|time| thread.run().now.saturating_add(time));
        let mut flags = flags;
        let (done, error) = for_each(messages, |message| {
            // SAFETY: the caller guarantees the message.
            let size = unsafe { receive_one(thread, frame, descriptor, message, flags) }?;
            if flags & libc::MSG_WAITFORONE != 0 {
                flags |= libc::MSG_DONTWAIT;
            }
            let left = end.map(|end| end.saturating_sub(thread.run().now));
            if let Some(left) = left {
                let (seconds, rest) = (left / 1_000_000_000, left % 1_000_000_000);
                // SAFETY: the pointer is not null, and the caller guarantees the time.
                unsafe {
                    (*timeout).tv_sec = seconds as _;
                    (*timeout).tv_nsec = rest as _;
                }
            }
            Ok((size, left != Some(0)))
        });
        return match error {
            None => done as c_int,
            Some(error) if done == 0 => fail(error),
            Some(error) => {
                if error != libc::EAGAIN {
                    keep(thread, frame, descriptor, error);
                }
                done as c_int
            }
        };
    }
    type Receive = unsafe extern "C" fn(
        c_int,
        *mut libc::mmsghdr,
        c_uint,
        c_int,
        *mut libc::timespec,
    ) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"recvmmsg", Receive)(descriptor, vector, count, flags, timeout) }
}

/// Keeps an error after received messages for the next call.
fn keep(thread: &mut Thread, frame: usize, descriptor: c_int, error: c_int) {
    let call = Call { frame, name: "read", limit: None, waits: false };
    let _ = on(thread, descriptor, call, |net, file| {
        match &mut net.file(file).kind {
            Kind::Stream(stream) => stream.error = error,
            Kind::Datagram(socket) => socket.error = error,
            _ => return Ok(0),
        }
        net.notify(file, IN | ERR);
        Ok(0)
    });
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    descriptor: c_int,
    vector: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if let Some(thread) = caller(descriptor) {
        let frame = frame_pointer();
        if let Err(error) = at_once(thread, |net| net.find_socket(descriptor)) {
            return fail(error);
        }
        // SAFETY: the caller guarantees the messages.
        let messages = unsafe { messages(vector, (count as usize).min(MOST)) };
        let (done, error) = for_each(messages, |message| {
            // SAFETY: the caller guarantees the message.
            unsafe {
                let size = send_one(thread, frame, descriptor, message, flags)?;
                let parts = parts(message.msg_iov, message.msg_iovlen).iter();
                Ok((size, size == parts.map(|part| part.iov_len).sum::<usize>()))
            }
        });
        return match error {
            Some(error) if done == 0 => fail(error),
            _ => done as c_int,
        };
    }
    type Send = unsafe extern "C" fn(c_int, *mut libc::mmsghdr, c_uint, c_int) -> c_int;
    // SAFETY: the caller guarantees the arguments.
    unsafe { real!(c"sendmmsg", Send)(descriptor, vector, count, flags) }
}
