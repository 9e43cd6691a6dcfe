//! Errors of file system calls: the errors of Linux, with their kinds in `std::io`.

use std::fmt;
use std::io::{self, ErrorKind};

/// The reason why a call failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Error {
    /// The error number on Linux.
    code: i32,
    kind: ErrorKind,
    text: &'static str,
}

macro_rules! errors {
    ($($name:ident = $code:literal $kind:ident $text:literal;)*) => {
        impl Error {
            $(pub const $name: Error =
                Error { code: $code, kind: ErrorKind::$kind, text: $text };)*

            #[cfg(test)]
            pub(super) const ALL: &[Error] = &[$(Error::$name),*];
        }
    };
}

// Codes without a stable kind have the kind `Other`. On Linux, `io::Error` is created from the code, and std determines
// the kind.
errors! {
    NOT_PERMITTED = 1 PermissionDenied "operation not permitted";
    NOT_FOUND = 2 NotFound "no such file or directory";
    BROKEN = 5 Other "input/output error";
    BAD_FILE = 9 Other "the file is not open, or not in this mode";
    NO_ACCESS = 13 PermissionDenied "permission denied";
    BUSY = 16 ResourceBusy "device or resource busy";
    EXISTS = 17 AlreadyExists "file exists";
    NOT_A_DIRECTORY = 20 NotADirectory "not a directory";
    IS_A_DIRECTORY = 21 IsADirectory "is a directory";
    INVALID = 22 InvalidInput "invalid argument";
    TOO_LARGE = 27 FileTooLarge "file too large";
    FULL = 28 StorageFull "no space left on device";
    NAME_TOO_LONG = 36 Other "file name too long";
    NOT_EMPTY = 39 DirectoryNotEmpty "directory not empty";
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl From<Error> for io::Error {
    /// Converts the error to the error of std calls: on Linux with the error number, elsewhere with the kind and a
    /// text.
    fn from(error: Error) -> io::Error {
        if cfg!(target_os = "linux") {
            io::Error::from_raw_os_error(error.code)
        } else {
            io::Error::new(error.kind, error.text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_code_has_the_kind_that_std_gives_it() {
        for error in Error::ALL.iter().filter(|error| error.kind != ErrorKind::Other) {
            assert_eq!(io::Error::from(*error).kind(), error.kind, "{error:?}");
        }
    }
}
