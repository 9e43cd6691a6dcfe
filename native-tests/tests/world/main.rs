//! The world of a run: locks of libc, other processes, signals, clocks, numbers of threads. A program of its own, because it
//! starts itself.

mod c_locks;
mod clocks;
mod names;
mod processes;
mod signals;
mod temporary;
