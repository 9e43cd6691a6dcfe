//! Programs with plain threads: see `tests/`.

#![forbid(unsafe_code)]
