//! The objects of tokio, as the operations on them can be swapped: a file for each kind of object.

pub(crate) mod mail;
pub(crate) mod permits;
pub(crate) mod readers;
pub(crate) mod ring;
pub(crate) mod tellings;
pub(crate) mod version;
pub(crate) mod whole;

#[cfg(test)]
use super::kind::Machine;

/// Their declarations.
#[cfg(test)]
pub(super) const MACHINES: &[&Machine] = &[
    &mail::MACHINE,
    &permits::MACHINE,
    &readers::MACHINE,
    &ring::MACHINE,
    &tellings::MACHINE,
    &version::MACHINE,
    &whole::MACHINE,
];
