//! TCP connections: [`TcpListener`], [`TcpSocket`], [`TcpStream`] and its halves.

mod connect;
mod connection;
mod end;
mod halves;
mod incoming;
mod keepalive;
mod lent;
mod listener;
mod retransmission;
mod socket;
mod tcp_calls;
mod tcp_stream;

pub use self::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub(super) use self::listener::Backlog;
pub use self::listener::TcpListener;
pub(super) use self::socket::Reservation;
pub use self::socket::TcpSocket;
pub use self::tcp_stream::TcpStream;
