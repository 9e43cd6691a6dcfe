//! The files with reports in JSON, which programs read.

use std::path::PathBuf;

/// The reports that are written as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum JsonFiles {
    /// None.
    Never,
    /// The reports of failures that leave something else behind, such as a trace: beside that.
    #[default]
    OfFailures,
    /// All, in the folder of the traces of the test.
    All,
    /// All, here: a file that ends with `.json`, or a folder with a file for each test.
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
