//! Connections: [`TcpListener`], [`TcpStream`] and its halves.

mod connect;
mod connection;
mod end;
mod halves;
mod listener;
mod patience;
mod stream;

pub use self::halves::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub(super) use self::listener::Backlog;
pub use self::listener::TcpListener;
pub use self::stream::TcpStream;
