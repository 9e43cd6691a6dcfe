//! A test program with the name of a crate of the toolchain.

mod a_static;
