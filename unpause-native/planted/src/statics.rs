//! Statics with names of C, and statics in sections of their own.

use std::sync::atomic::AtomicU32;

#[unsafe(no_mangle)]
static PLANTED_NOT_MANGLED: AtomicU32 = AtomicU32::new(0);

#[unsafe(export_name = "planted_exported")]
static EXPORTED: AtomicU32 = AtomicU32::new(2);

#[unsafe(link_section = "planted_section")]
static PLACED: AtomicU32 = AtomicU32::new(3);

#[used]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".planted.section")]
static PLANTED_PLACED: AtomicU32 = AtomicU32::new(4);

/// The statics, each with a name and its first value.
pub fn all() -> [(&'static str, &'static AtomicU32, u32); 4] {
    [
        ("no_mangle", &PLANTED_NOT_MANGLED, 0),
        ("export_name", &EXPORTED, 2),
        ("link_section", &PLACED, 3),
        ("no_mangle and link_section", &PLANTED_PLACED, 4),
    ]
}
