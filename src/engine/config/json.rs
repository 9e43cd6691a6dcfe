//! The setting for JSON reports, which other programs read.

use std::path::PathBuf;

/// The choice of reports to write as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum JsonFiles {
    /// Reports are never written.
    Never,
    /// The reports of failures that leave another file behind, for example a trace. The report is
    /// written beside that file.
    #[default]
    OfFailures,
    /// All reports, in the trace folder of the test.
    All,
    /// All reports, at this path: a file if the path ends with `.json`, otherwise a folder with a
    /// file for each test. The reports of failures are also written beside their files.
    At(PathBuf),
}

impl JsonFiles {
    /// The values of the setting, for messages.
    pub(super) const GRAMMAR: &str =
        "1, 0, or the name of a folder, or of a file that ends with .json";

    pub(super) fn parse(text: &str) -> Option<JsonFiles> {
        match text {
            "" => None,
            "0" => Some(JsonFiles::Never),
            "1" => Some(JsonFiles::All),
            path => Some(JsonFiles::At(PathBuf::from(path))),
        }
    }
}

impl super::row::Value for JsonFiles {
    fn requests(&self) -> bool {
        *self != JsonFiles::Never
    }
}
