//! tokio's names for items that this library has without the feature `tokio`. This module also has items that are
//! tokio's own in both builds.
//!
//! `docs/tokio.md` lists the names that are missing here, with the reasons.

pub use crate::task::{join, select, spawn, task_local, try_join};
pub use crate::time;
pub use ::tokio::{io, pin, stream};

/// tokio's `task`: the part of [`sim::task`](crate::task) that tokio also has.
pub mod task {
    pub use crate::task::{
        AbortHandle, AccessError, Id, JoinError, JoinHandle, JoinSet, LocalEnterGuard, LocalKey,
        LocalSet, block_in_place, consume_budget, coop, futures, id, spawn, spawn_blocking,
        spawn_local, try_id, unconstrained, yield_now,
    };
}

/// tokio's `net`: the part of [`sim::net`](crate::net) that tokio also has.
pub mod net {
    pub use crate::net::{
        TcpListener, TcpSocket, TcpStream, ToSocketAddrs, UdpSocket, lookup_host, tcp,
    };
}

/// tokio's `fs`: the part of [`sim::fs`](mod@crate::fs) that tokio also has.
pub mod fs {
    pub use crate::fs::{
        DirBuilder, DirEntry, File, OpenOptions, ReadDir, canonicalize, copy, create_dir,
        create_dir_all, hard_link, metadata, read, read_dir, read_link, read_to_string, remove_dir,
        remove_dir_all, remove_file, rename, symlink_metadata, try_exists, write,
    };
}
