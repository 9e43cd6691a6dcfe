//! Connections that are temporarily lent to a library as std sockets. Libraries such as Redis clients then set
//! options that tokio does not offer.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unpause_ordered::Map;

use super::tcp_stream::TcpStream;
use crate::net::sockets::descriptors::{number_of, stand_in_of_std};
use crate::seam;

/// The lent connections of a run, keyed by the file descriptor numbers of their std sockets. A
/// connection that is never taken back stays open until the run ends.
#[derive(Default)]
struct Lent(Mutex<Map<i64, TcpStream>>);

impl Lent {
    fn streams(&self) -> MutexGuard<'_, Map<i64, TcpStream>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a std socket that serves as a placeholder for a connection of the run.
pub(super) fn lend(stream: TcpStream) -> io::Result<std::net::TcpStream> {
    let of_std = stand_in_of_std(&stream)?;
    let before = seam::kept::<Lent>().streams().insert(number_of(&of_std), stream);
    // If a previous connection has the same number, its std socket was closed, because the number
    // was free.
    drop(before);
    Ok(of_std)
}

/// Returns the connection for its placeholder std socket.
pub(super) fn take_back(of_std: &std::net::TcpStream) -> Option<TcpStream> {
    // A connected socket is a real socket of the operating system that has reused a free number.
    if !seam::in_run() || of_std.peer_addr().is_ok() {
        return None;
    }
    seam::kept::<Lent>().streams().remove(&number_of(of_std))
}
