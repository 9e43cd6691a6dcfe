//! Sockets with the names of tokio: simulated sockets in a run, and tokio's sockets outside of
//! runs.
//!
//! A socket belongs to the host of the code that binds or connects it: a node, or the outside.

mod addresses;
mod aliases;
mod descriptors;
mod kinds;
mod options;
mod ports;
pub mod tcp;
mod udp;

use std::io;

pub use self::addresses::{ToSocketAddrs, lookup_host};
pub use self::aliases::alias;
pub use self::tcp::{TcpListener, TcpSocket, TcpStream};
pub use self::udp::UdpSocket;
use crate::run::Failure;
use crate::seam::{self, Group, Here};

/// The run in which a socket was created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Origin(u64);

impl Origin {
    fn here() -> Origin {
        Origin(seam::run_number())
    }

    /// Returns `true` if dropping a socket must notify the other side. `false` in another run, and
    /// in a dead group, because there the kernel notifies the other side.
    fn tells(self) -> bool {
        self == Origin::here() && Group::current().lives()
    }

    /// Returns an error if the current run is not the run of the socket.
    fn check(self, here: Here) -> io::Result<()> {
        if self == Origin::here() {
            return Ok(());
        }
        Err(refuse(
            "a socket of another run is used: make each socket in the body of the test",
            here,
        ))
    }
}

/// Returns an error in a run, for a socket of the operating system.
fn check_outside(here: Here) -> io::Result<()> {
    if seam::in_run() {
        return Err(refuse(
            "a socket of the system is used in a run: make each socket in the body of the test",
            here,
        ));
    }
    Ok(())
}

/// The error message when code requests a system socket for a socket of a run.
const OF_RUN: &str = "a socket of a run is none of the system: keep it as it is, without into_std";

fn refuse(message: &'static str, here: Here) -> io::Error {
    seam::fail(|| Failure::Misuse { message: message.to_owned(), place: seam::place_of(here) });
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// Returns the error for code outside of runs that uses a socket of a run.
fn outside<R>() -> std::task::Poll<io::Result<R>> {
    std::task::Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
}
