//! The objects of tokio: declarations of the conflicts between their operations, with a file for
//! each kind of object.

pub mod mail;
pub mod permits;
pub mod readers;
pub mod ring;
pub mod tellings;
pub mod version;
pub mod whole;

#[cfg(any(test, feature = "planted"))]
use super::kind::Machine;

/// The machines of tokio's objects.
#[cfg(any(test, feature = "planted"))]
pub(super) const MACHINES: &[&Machine] = &[
    &mail::MACHINE,
    &permits::MACHINE,
    &readers::MACHINE,
    &ring::MACHINE,
    &tellings::MACHINE,
    &version::MACHINE,
    &whole::MACHINE,
];
