//! The text form of a trace: a file for people and `git diff`, and one word for a command line.
//!
//! [`write()`] and [`parse()`] are the file, [`inline()`] and [`parse_inline`] the word. Neither touches
//! a disk: who has a file reads it first. A file is outside input, so reading answers every fault
//! with the line and the remedy, and takes memory in proportion to the file, whatever the numbers
//! in it say. A trace is our own data, so writing panics if the trace breaks the rules.
//!
//! # The file
//!
//! ```text
//! simtrace 2
//! test      counter::increments_are_not_lost
//! package   "counter 0.1.0"
//! seed      17
//! strategy  pct
//! settings  clock=any "cancel=worker *"
//! verdict   "panic in task 0: assertion `left == right` failed\n  left: 1\n right: 2"
//!
//! task 0
//! task 0.0      writer
//! task 0.1      "the \"other\" writer"
//!
//! object atomic:0     tests/counter.rs:10:28
//! object mutex:0      tests/counter.rs:11:25
//!
//! #    step  task     operation      object       values     place
//! step 0     0        spawn          -            -          tests/counter.rs:14:9
//! also                spawn          -            -          tests/counter.rs:14:9
//! step 1     0.0
//! step 2     0.1      load           atomic:0     0          "tests/my counter.rs:22:17"
//! step 3     0.0      load           atomic:0     0          "tests/my counter.rs:22:17"
//! step 4     0.0      store          atomic:0     1          "tests/my counter.rs:23:17"
//! step 5     0.1      drew=3/10 drew=0/2
//! step 6     0.1      store          atomic:0     1          "tests/my counter.rs:23:17"
//! step 7     0        lock           mutex:0      -          tests/counter.rs:18:15 drew=1/2
//! also                load           atomic:0     1          tests/counter.rs:19:5
//! also                unlock         mutex:0      -          tests/counter.rs:18:5
//! end 8
//! checksum cfb695a5ede30d19
//! ```
//!
//! The text is UTF-8. A line ends in LF or CR LF and its fields are separated by spaces or tabs. Lines have the order
//! of this table; blank lines, and lines whose first visible character is `#`, mean nothing.
//!
//! | line | times | means |
//! |---|---|---|
//! | `simtrace 2` | 1 | the version of this format |
//! | `test` text, `package` text, `seed` number, `strategy` text, `settings` setting..., `verdict` text | 0 or 1 each | the [`Header`](crate::run::trace::Header) |
//! | `command` part text | any | a command of a generated program, for people: its part is `prefix`, `suffix` or stage`.`branch |
//! | `task` path \[text\] | any | a task and its name; a parent stands before its children |
//! | `object` kind`:`number text | any | an object and its creation place; each kind is numbered from 0 |
//! | `step` number path \[operation\] draw... | any | a step and its first operation; numbered from 0 |
//! | `also` operation | any | a further operation of the step above it |
//! | `end` number | 1 | the number of steps; without this line the file is truncated |
//! | `checksum` 16 hexadecimal digits | 0 or 1 | FNV-1a, 64 bits, of the lines above it |
//!
//! - An **operation** is its name (one word of ASCII letters, digits, `_`, `-`), an object or `-`,
//!   the values as text or `-`, and the place as text.
//! - A **setting** is a text `name=value` for a setting that differs from its default; the text
//!   `default` alone means that none does. Without the line, the trace is replayed with the
//!   settings of the test.
//! - A **draw** is `drew=` value `/` bound: the answer of a random draw, and its bound, which is exclusive.
//! - A **text** is a bare word or in double quotes, where `\"`, `\\`, `\n`, `\r`, `\t` and `\u{...}` are escapes. A
//!   bare word has no escapes, so that a Windows path can be one. Control characters are allowed in neither, and the
//!   writer escapes invisible and direction-changing ones too.
//! - A **number** is decimal and below 2^64.
//!
//! The checksum excludes insignificant text: comments, blank lines, white space around a line, CR. It detects damage.
//! To edit a trace on purpose, remove its checksum line.
//!
//! # The word
//!
//! The decisions, and the settings if they differ from the test's settings: no operations, names,
//! objects or header. It needs no quotes in a POSIX shell.
//!
//! ```text
//! sim2:clock=any+cancel=worker%20%2A:0,0.0,0.1,0.0x2,0.1=3/10=0/2,0.1,0=1/2
//! ```
//!
//! After `sim2:` the settings, if they are there, are separated by `+` and end with `:`. Each is its name, `=` and its
//! value, of which all characters but ASCII letters, digits, `-`, `_` and `.` are bytes in the form `%2A`. There may be
//! none: then all are as by default. After that the steps are separated by commas. Each is a task path, and then either
//! `x` and a number for that many steps in a row, or `=` value `/` bound for every draw of one step.

mod checksum;
mod error;
mod field;
mod inline;
mod parse;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod write;

pub use error::{ErrorKind, InlineError, InlineErrorKind, TraceError};
pub use inline::{INLINE_STEPS_MAX, inline, is_inline, parse_inline};
pub use parse::parse;
pub use write::write;

/// The version both forms are written in, and the only one read.
const VERSION: u64 = 2;

/// The text in the line of settings if all are as by default.
const DEFAULT: &str = "default";
