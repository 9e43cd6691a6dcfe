//! Empty, because the package contains only tests.

#![forbid(unsafe_code)]
