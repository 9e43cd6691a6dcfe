//! The text forms of a trace: a file for people and `git diff`, and one word for a command line.
//!
//! [`write()`] and [`parse()`] handle the file, [`inline()`] and [`parse_inline`] the word. These functions do not
//! access the disk: the caller reads or writes the file. A file is external input, so parsing reports every fault with
//! the line and the remedy. The memory of the parser is proportional to the file size, regardless of the numbers in the
//! file. A trace is internal data, so writing panics if the trace breaks the rules.
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
//! of this table. Blank lines are ignored, and so are lines that begin with `#` after white space.
//!
//! | line | count | meaning |
//! |---|---|---|
//! | `simtrace 2` | 1 | the version of this format |
//! | `test` text, `package` text, `seed` number, `strategy` text, `settings` setting..., `cargo` text..., `verdict` text | 0 or 1 each | the [`Header`](crate::run::trace::Header) |
//! | `command` part text | any | a generated command, for people; its part is `prefix`, `suffix` or stage`.`branch |
//! | `task` path \[text\] | any | a task and its name; a parent precedes its children |
//! | `object` kind`:`number text | any | an object and the place that created it; each kind is numbered from 0 |
//! | `step` number path \[operation\] draw... | any | a step and its first operation; steps are numbered from 0 |
//! | `also` operation | any | a further operation of the step above it |
//! | `end` number | 1 | the number of steps; without this line the file is truncated |
//! | `checksum` 16 hexadecimal digits | 0 or 1 | FNV-1a, 64 bits, of the lines above it |
//!
//! - An **operation** is its name (one word of ASCII letters, digits, `_`, `-`), an object or `-`,
//!   the values as text or `-`, and the place as text.
//! - A **setting** is a text `name=value` for a setting that differs from its default; the text `default` alone means
//!   that all settings have their defaults. Without the line, the trace is replayed with the settings of the test.
//! - The texts of the **`cargo`** line are the arguments with which cargo runs only this test. The text `none` alone
//!   means that no cargo command does. Without the line, the arguments follow from the lines `test` and `package`:
//!   [`Header::usual_arguments`](crate::run::trace::Header::usual_arguments).
//! - A **draw** is `drew=` value `/` bound: the result of a random draw, and its exclusive upper bound.
//! - A **text** is a bare word or a string in double quotes with the escapes `\"`, `\\`, `\n`, `\r`, `\t` and
//!   `\u{...}`. A bare word has no escapes, so a Windows path can be a bare word. Neither form may contain control
//!   characters. The writer also escapes invisible characters and characters that change the text direction.
//! - A **number** is decimal and below 2^64.
//!
//! The checksum excludes insignificant text: comments, blank lines, white space around a line, CR. The checksum detects
//! damage. To edit a trace on purpose, remove its checksum line.
//!
//! # The word
//!
//! The word contains the decisions, and the settings if they differ from the settings of the test. The word contains no
//! operations, names, objects or header. The word needs no quotes in a POSIX shell.
//!
//! ```text
//! sim2:clock=any+cancel=worker%20%2A:0,0.0,0.1,0.0x2,0.1=3/10=0/2,0.1,0=1/2
//! ```
//!
//! The settings, if any, follow `sim2:`; they are separated by `+` and end with `:`. Each setting is its name, `=` and
//! its value. In the value, all characters except ASCII letters, digits, `-`, `_` and `.` are bytes in the form `%2A`.
//! An empty list means that all settings have their defaults. The steps follow, separated by commas. Each step is a
//! task path, followed by `=` value `/` bound for each of its draws. Alternatively, `x` and a number follow the path,
//! for this number of steps in a row.

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

/// The version in which both forms are written. Other versions cannot be read.
const VERSION: u64 = 2;

/// The text in the `settings` line if all settings have their defaults.
const DEFAULT: &str = "default";

/// The text in the `cargo` line if no cargo command runs the test alone.
const NONE: &str = "none";
