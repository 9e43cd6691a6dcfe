//! The world of a run: locks and threads of libc, futexes, other processes, signals, clocks, numbers of threads,
//! statics. A program of its own, because it starts itself.

mod beside;
mod c11;
mod c_locks;
mod clocks;
mod futexes;
mod names;
mod processes;
mod signals;
mod statics;
mod temporary;
mod threads;
