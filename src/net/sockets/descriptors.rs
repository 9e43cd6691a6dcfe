//! File descriptors of sockets, for options that tokio does not offer. Libraries set such options with
//! `socket2::SockRef::from(&stream)`.

use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
#[cfg(unix)]
use std::sync::OnceLock;

use super::TcpStream;

/// A socket of the system that lends its descriptor to a socket of a run. Created when the descriptor is first
/// requested. Options set on it have no effect in the run.
#[derive(Default)]
pub(super) struct StandIn {
    #[cfg(unix)]
    socket: OnceLock<tokio::net::TcpSocket>,
}

#[cfg(unix)]
impl StandIn {
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        let make = || tokio::net::TcpSocket::new_v4().expect("the system has a socket for options");
        self.socket.get_or_init(make).as_fd()
    }
}

/// Returns a socket of std for a connection of a run, with the descriptor of the connection's placeholder socket.
///
/// # Errors
/// The errors of the operating system. Always fails on non-Unix systems.
#[cfg(unix)]
pub(super) fn stand_in_of_std(stream: &TcpStream) -> io::Result<std::net::TcpStream> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
pub(super) fn stand_in_of_std(_: &TcpStream) -> io::Result<std::net::TcpStream> {
    Err(io::Error::new(io::ErrorKind::Unsupported, super::OF_RUN))
}

/// Returns the number of a std socket among the open sockets.
#[cfg(unix)]
pub(super) fn number_of(of_std: &std::net::TcpStream) -> i64 {
    of_std.as_raw_fd().into()
}

#[cfg(not(unix))]
pub(super) fn number_of(_: &std::net::TcpStream) -> i64 {
    0
}

/// Implements the file descriptor traits for a socket, with [`two_kinds!`](super::kinds::two_kinds).
macro_rules! has_descriptor {
    ($socket:ty) => {
        #[cfg(unix)]
        impl std::os::fd::AsFd for $socket {
            two_kinds! {
                /// Returns the file descriptor of the socket. In a run it is the descriptor of a placeholder socket,
                /// which is neither bound nor connected. Options set on it have no effect.
                fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                    |run, _here| run.stand_in.descriptor();
                    |real| std::os::fd::AsFd::as_fd(real)
                }
            }
        }

        #[cfg(unix)]
        impl std::os::fd::AsRawFd for $socket {
            /// Returns the descriptor of [`as_fd`](std::os::fd::AsFd::as_fd) as a number.
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(self))
            }
        }
    };
}

pub(super) use has_descriptor;
