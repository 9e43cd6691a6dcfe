//! The simulated runtime, attacked from outside: whatever a program does, a run ends with an
//! outcome that says what the program did.

mod combinators;
mod ends;
mod hang;
mod locks;
mod misuse;
mod nondeterminism;
mod statics;
mod tasks;
mod values;
