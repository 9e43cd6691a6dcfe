//! Nothing: the package has tests only.

#![forbid(unsafe_code)]
