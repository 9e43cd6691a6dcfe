//! Sockets: in a run the sockets of [`sim::net`], elsewhere tokio's. Unix sockets are tokio's
//! everywhere.

pub use real::net::*;

/// Connections: the halves of a `TcpStream`.
pub mod tcp {
    pub use sim::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
}

pub use sim::net::{TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host};
