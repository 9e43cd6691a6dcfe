//! Tests over smol: see the folder `tests`.

#![forbid(unsafe_code)]
