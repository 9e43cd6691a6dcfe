//! Connections that a library has as sockets of std for a moment, to set options that tokio has not, as clients of
//! Redis do.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::stream::TcpStream;
use crate::net::sockets::descriptors::{number_of, stand_in_of_std};
use crate::seam;

/// The lent connections of a run, by the numbers of the sockets of std. A connection that is never
/// taken back is open until the run ends.
#[derive(Default)]
struct Lent(Mutex<Map<i64, TcpStream>>);

impl Lent {
    fn streams(&self) -> MutexGuard<'_, Map<i64, TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a socket of std as a stand-in for a connection of the run.
pub(super) fn lend(stream: TcpStream) -> io::Result<std::net::TcpStream> {
    let of_std = stand_in_of_std(&stream)?;
    let before = seam::kept::<Lent>().streams().insert(number_of(&of_std), stream);
    // The socket of std for that one was closed: its number was free.
    drop(before);
    Ok(of_std)
}

/// Returns the connection of a stand-in socket of std.
pub(super) fn take_back(of_std: &std::net::TcpStream) -> Option<TcpStream> {
    // A connected socket belongs to the system, with a number that was free.
    if !seam::in_run() || of_std.peer_addr().is_ok() {
        return None;
    }
    seam::kept::<Lent>().streams().remove(&number_of(of_std))
}
