//! Bugs of memory orders, each with the orders that are too weak and with orders that mend it.
//!
//! One text for both doors. The file that includes it defines the macros: `program!` begins a function or an async
//! function, `op!` does an operation of an atomic or awaits it, `task!` spawns a thread or a task with clones of the
//! named owners, `end!` joins it, `until!` waits for a condition in a loop, `order_by!` does a fence unless the order is
//! `Relaxed`. It also defines `word`, which creates a shared word.
//!
//! Data that a lock or a flag protects are relaxed words, so that no program has a data race: a bug shows by a wrong
//! value.

mod locks;
mod messages;
mod queues;

pub(crate) use self::locks::LOCKS;
pub(crate) use self::messages::MESSAGES;
pub(crate) use self::queues::QUEUES;
