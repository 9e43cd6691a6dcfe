//! Calls for several messages: compared with the kernel's.

use std::ffi::c_int;
use std::ptr::null_mut;

use super::{Results, called, in_run};

/// Sends and receives several messages in a call.
fn several() -> Results {
    let ([mut ends, mut pipe], mut results) = ([[-1 as c_int; 2]; 2], Vec::new());
    let mut bytes = [[7u8; 4]; 4];
    // SAFETY: the calls get valid memory, and the types allow all bytes to be zero.
    unsafe {
        assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, ends.as_mut_ptr()), 0);
        assert_eq!(libc::pipe2(pipe.as_mut_ptr(), 0), 0);
        let mut messages: [libc::mmsghdr; 4] = std::mem::zeroed();
        let mut parts: [libc::iovec; 4] = std::mem::zeroed();
        for (at, part) in parts.iter_mut().enumerate() {
            part.iov_base = bytes[at].as_mut_ptr().cast();
            part.iov_len = 4 - at;
            messages[at].msg_hdr.msg_iov = part;
            messages[at].msg_hdr.msg_iovlen = 1;
        }
        let all = messages.as_mut_ptr();
        let mut none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut add = |name, result: c_int| {
            let sizes = messages_of(all).map(|size| ("size", size));
            results.push((name, called(result)));
            results.extend(sizes);
        };
        add("send three", libc::sendmmsg(ends[0], all, 3, 0));
        add("receive", libc::recvmmsg(ends[1], all, 4, libc::MSG_WAITFORONE, null_mut()));
        add("receive none", libc::recvmmsg(ends[1], all, 4, libc::MSG_DONTWAIT, null_mut()));
        add("send two", libc::sendmmsg(ends[0], all, 2, 0));
        add("receive for no time", libc::recvmmsg(ends[1], all, 4, 0, &mut none));
        add("receive", libc::recvmmsg(ends[1], all, 4, libc::MSG_DONTWAIT, null_mut()));
        add("send no message", libc::sendmmsg(ends[0], all, 0, 0));
        add("send to a pipe", libc::sendmmsg(pipe[1], all, 1, 0));
        add("receive from a pipe", libc::recvmmsg(pipe[0], all, 1, 0, null_mut()));
        libc::close(ends[1]);
        add("send to a closed socket", libc::sendmmsg(ends[0], all, 2, 0));
        [ends[0], pipe[0], pipe[1]].into_iter().for_each(|file| _ = libc::close(file));
    }
    results
}

/// Returns the sizes of messages.
///
/// # Safety
/// The pointer must be valid for four messages.
unsafe fn messages_of(messages: *const libc::mmsghdr) -> [i64; 4] {
    // SAFETY: the caller guarantees the messages.
    [0, 1, 2, 3].map(|at| unsafe { i64::from((*messages.add(at)).msg_len) })
}

#[test]
fn several_messages_in_a_call_are_sent_and_received_as_by_the_kernel() {
    let real = several();
    assert!(real.contains(&("send three", 3)), "{real:?}");
    assert_eq!(in_run(several), real);
}
