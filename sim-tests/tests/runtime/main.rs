//! The simulated runtime, attacked from outside: every run ends with an outcome that describes the
//! behaviour of the program.

// The real build checks the types of tests that need simulated runs, and generates no code for them.
#![cfg_attr(not(feature = "sim"), allow(dead_code))]

mod combinators;
mod ends;
mod hang;
mod locks;
mod misuse;
mod nondeterminism;
mod statics;
mod tasks;
mod values;
