//! Source files: the lines that a report quotes.

use std::fs;
use std::io;
use unpause_ordered::Map;

use crate::engine::config::Config;
use crate::engine::runner::Site;
use crate::report::Report;

/// The maximum size in bytes of a source file that is read.
const SOURCE_MAX: u64 = 4 << 20;
/// The maximum length of a source line in characters. Longer lines are cut.
const LINE_MAX: usize = 400;

/// Adds the source lines that the screen quotes to a failing report. A line that cannot be read is left out.
pub(crate) fn quote(report: &mut Report, site: &Site, config: &Config) {
    if let Some(finding) = report.finding.as_deref_mut() {
        let mut sources = Sources::new(site, config);
        finding.quote(&mut |file, line| sources.line(file, line));
    }
}

/// A cache of the source files that a report quotes.
pub(super) struct Sources<'a> {
    site: &'a Site,
    /// True if the places are of plain threads.
    of_threads: bool,
    files: Map<String, Option<String>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(site: &'a Site, config: &Config) -> Sources<'a> {
        Sources { site, of_threads: config.is_native(), files: Map::new() }
    }

    /// Returns the source line with this number, counted from 1, without its indentation.
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            self.files.insert(file.to_owned(), self.read(file).ok());
        }
        let text = self.files.get(file)?.as_deref()?;
        let line = text.lines().nth(line.checked_sub(1)? as usize)?;
        Some(line.trim().chars().take(LINE_MAX).collect())
    }

    /// Reads a source file if it has at most `SOURCE_MAX` bytes.
    fn read(&self, file: &str) -> io::Result<String> {
        let path = self.site.source(file, self.of_threads).ok_or(io::ErrorKind::NotFound)?;
        match fs::metadata(&path)?.len() <= SOURCE_MAX {
            true => fs::read_to_string(path),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::engine::config::Settings;

    #[test]
    fn a_line_is_read_without_its_indentation() {
        let folder = std::env::temp_dir().join(format!("sim-sources-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let text = format!("first\n\tsecond  \n\n{}\n", "x".repeat(2 * LINE_MAX));
        fs::write(folder.join("src/a.rs"), text).unwrap();
        let site =
            Site { manifest_dir: Some(folder.clone()), ..Site::of_program(Location::caller()) };
        let config = Settings::default().resolve().unwrap();
        let mut sources = Sources::new(&site, &config);
        let mut line = |file: &str, line: u32| sources.line(file, line);
        assert_eq!(line("src/a.rs", 1).as_deref(), Some("first"));
        assert_eq!(line("src/a.rs", 2).as_deref(), Some("second"));
        assert_eq!(line("src/a.rs", 3).as_deref(), Some(""));
        assert_eq!(line("src/a.rs", 4).map(|text| text.len()), Some(LINE_MAX));
        for (file, number) in [("src/a.rs", 0), ("src/a.rs", 5), ("src/b.rs", 1)] {
            assert_eq!(line(file, number), None, "{file}:{number}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
