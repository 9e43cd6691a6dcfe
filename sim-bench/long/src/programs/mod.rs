//! The programs, one in each file.

mod actor_supervisor;
mod bounded_cache;
mod free_list;
mod fs_store;
mod hazard;
mod kv_replica;
mod leases;
mod log_buffer_terms;
mod lsm;
mod membership;
mod pool;
mod pubsub_cluster;
mod raft_terms;
mod rate_limiter;
mod ring_buffer;
mod scheduler_queue;
mod tokio_app;
mod two_phase;
mod wal_rotation;
mod work_stealing;

use std::pin::Pin;

/// A program, which is right if its argument is `true`.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) body: fn(bool) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// All programs.
pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "actor_supervisor", body: |fixed| Box::pin(actor_supervisor::body(fixed)) },
    Program { name: "bounded_cache", body: |fixed| Box::pin(bounded_cache::body(fixed)) },
    Program { name: "free_list", body: |fixed| Box::pin(free_list::body(fixed)) },
    Program { name: "fs_store", body: |fixed| Box::pin(fs_store::body(fixed)) },
    Program { name: "hazard", body: |fixed| Box::pin(hazard::body(fixed)) },
    Program { name: "kv_replica", body: |fixed| Box::pin(kv_replica::body(fixed)) },
    Program { name: "leases", body: |fixed| Box::pin(leases::body(fixed)) },
    Program { name: "log_buffer_terms", body: |fixed| Box::pin(log_buffer_terms::body(fixed)) },
    Program { name: "lsm", body: |fixed| Box::pin(lsm::body(fixed)) },
    Program { name: "membership", body: |fixed| Box::pin(membership::body(fixed)) },
    Program { name: "pool", body: |fixed| Box::pin(pool::body(fixed)) },
    Program { name: "pubsub_cluster", body: |fixed| Box::pin(pubsub_cluster::body(fixed)) },
    Program { name: "raft_terms", body: |fixed| Box::pin(raft_terms::body(fixed)) },
    Program { name: "rate_limiter", body: |fixed| Box::pin(rate_limiter::body(fixed)) },
    Program { name: "ring_buffer", body: |fixed| Box::pin(ring_buffer::body(fixed)) },
    Program { name: "scheduler_queue", body: |fixed| Box::pin(scheduler_queue::body(fixed)) },
    Program { name: "tokio_app", body: |fixed| Box::pin(tokio_app::body(fixed)) },
    Program { name: "two_phase", body: |fixed| Box::pin(two_phase::body(fixed)) },
    Program { name: "wal_rotation", body: |fixed| Box::pin(wal_rotation::body(fixed)) },
    Program { name: "work_stealing", body: |fixed| Box::pin(work_stealing::body(fixed)) },
];
