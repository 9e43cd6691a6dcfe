//! Sockets under tokio's names: sockets of the run, and tokio's outside of runs.
//!
//! A socket belongs to the host of the code that binds or connects it: a node, or the outside.

mod aliases;
mod descriptors;
mod kinds;
mod names;
mod options;
mod ports;
pub mod tcp;
mod udp;

use std::io;

pub use self::aliases::alias;
pub use self::names::{ToSocketAddrs, lookup_host};
pub use self::tcp::{TcpListener, TcpSocket, TcpStream};
pub use self::udp::UdpSocket;
use crate::run::Failure;
use crate::seam::{self, Group, Here};

/// The run in which a socket was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Origin(u64);

impl Origin {
    fn here() -> Origin {
        Origin(seam::run_number())
    }

    /// Returns `true` if the drop of a socket must notify the other side. Not in another run, and
    /// not in a dead group: its kernel does it.
    fn tells(self) -> bool {
        self == Origin::here() && Group::current().lives()
    }

    /// An error if the code that runs is not of that run.
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

/// An error if a run is on, for a socket of the system.
fn check_outside(here: Here) -> io::Result<()> {
    if seam::in_run() {
        return Err(refuse(
            "a socket of the system is used in a run: make each socket in the body of the test",
            here,
        ));
    }
    Ok(())
}

/// The reason why a socket of a run is refused to the system.
const OF_RUN: &str = "a socket of a run is none of the system: keep it as it is, without into_std";

fn refuse(message: &'static str, here: Here) -> io::Error {
    seam::fail(|| Failure::Misuse { message: message.to_owned(), place: seam::place_of(here) });
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// The answer of a socket of a run to code outside of it.
fn outside<R>() -> std::task::Poll<io::Result<R>> {
    std::task::Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
}
