//! Programs with plain threads: see `tests/`.
