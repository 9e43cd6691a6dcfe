//! Processor-specific code, one file per architecture: the stack switch, the entries of the
//! functions of instrumentation, the registers of an interrupted thread, and the code for a
//! spurious failure.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use self::aarch64::*;
#[cfg(target_arch = "x86_64")]
pub(crate) use self::x86_64::*;
