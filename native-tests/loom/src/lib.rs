//! See `tests/`.

#![forbid(unsafe_code)]
