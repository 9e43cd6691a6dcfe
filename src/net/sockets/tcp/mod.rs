//! TCP connections: [`TcpListener`], [`TcpSocket`], [`TcpStream`] and its halves.

mod calls;
mod connect;
mod connection;
mod end;
mod halves;
mod incoming;
mod keepalive;
mod lent;
mod listener;
mod patience;
mod socket;
mod stream;

pub use self::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub(super) use self::listener::Backlog;
pub use self::listener::TcpListener;
pub(super) use self::socket::Reservation;
pub use self::socket::TcpSocket;
pub use self::stream::TcpStream;
