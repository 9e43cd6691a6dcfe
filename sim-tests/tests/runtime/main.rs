//! The simulated runtime, attacked from outside: every run ends with an outcome that describes the
//! behaviour of the program.

mod combinators;
mod ends;
mod hang;
mod locks;
mod misuse;
mod nondeterminism;
mod statics;
mod tasks;
mod values;
