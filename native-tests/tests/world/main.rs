//! The world of a run: other processes, signals, clocks, numbers of threads. A program of its own, because it
//! starts itself.

mod clocks;
mod processes;
