//! Tests for both builds: an application, and programs that must behave like over tokio.

#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod)] // The same programs, with another `tokio`.

#[path = "../app/mod.rs"]
mod app;
mod application;
mod files;
mod parity;
