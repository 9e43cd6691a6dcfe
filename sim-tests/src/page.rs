//! Programs and screens on pages of `docs/`, each compared with a program that the tests run.
//!
//! Each program is a file of a test, so that it is compiled. The page shows the same lines with the same numbers, under
//! the name of a file in the reader's package. Two lines differ: the first line, and the attribute of the test.

use std::env;
use std::fs;
use std::path::Path;

use sim::report::{Report, Style, text};

/// The beginning of the program line that replaces the page's attribute. A test with this attribute would fail.
const ATTRIBUTE: &str = "/// On the page: `";

/// A page that shows a test program.
#[derive(Debug)]
pub struct Page {
    /// The path of the page from the root of the repository.
    pub path: &'static str,
    /// The path of the program from the root of the repository.
    pub file: &'static str,
    /// The path of the program as shown on the page.
    pub shown_as: &'static str,
}

impl Page {
    /// Checks that the first program of the page is the program in the file.
    #[track_caller]
    pub fn shows_program(&self) {
        let source = fs::read_to_string(root().join(self.file)).unwrap();
        let mut lines = source.lines();
        assert!(lines.next().is_some_and(|head| head.starts_with("//! ")), "{}", self.file);
        let mut program = format!("// {}\n", self.shown_as);
        for line in lines {
            let line = match line.strip_prefix(ATTRIBUTE) {
                Some(attribute) => attribute.trim_end_matches("`."),
                None => line,
            };
            program += &line.replacen("pub(crate) async fn", "async fn", 1);
            program.push('\n');
        }
        // The reader's package uses the names under `tokio`.
        self.shows("rust", 0, &program.replace("sim::tokio", "tokio"));
    }

    /// Checks that the text block `number` of the page is the screen of the report, up to the lines about its trace.
    #[track_caller]
    pub fn shows_screen(&self, number: usize, report: &Report) {
        let screen = text(report, &Style::default());
        let end = screen.find("\ntrace:").or(screen.find("\nreplay:")).unwrap_or(screen.len());
        let lines = screen[..end].trim_end().lines().map(|line| self.renamed(line) + "\n");
        self.shows("text", number, &lines.collect::<String>());
    }

    /// Replaces the file's name in a line of a screen by its name on the page. Places at the right margin stay aligned,
    /// even if the screen has cut them off.
    fn renamed(&self, line: &str) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(self.file);
        let (before, place) = line.rsplit_once(' ').unwrap_or(("", line));
        let position = place.rsplit_once(name).map(|(_, position)| position);
        match position.filter(|_| before.ends_with(' ') && before.trim() != "at") {
            Some(position) => {
                let width = line.chars().count() - before.trim_end().chars().count();
                let place = format!("{}{position}", self.shown_as);
                format!("{}{place:>width$}", before.trim_end())
            }
            None => line.replace(self.file, self.shown_as),
        }
    }

    /// Checks that block `number` of a language is `new`. Replaces the block if `UPDATE_EXPECT` is set.
    #[track_caller]
    fn shows(&self, language: &str, number: usize, new: &str) {
        let path = root().join(self.path);
        let page = fs::read_to_string(&path).unwrap();
        let opening = format!("```{language}\n");
        let mut blocks = page.match_indices(&opening).map(|(at, _)| at + opening.len());
        let start = blocks.nth(number).unwrap_or_else(|| panic!("{}: no block", self.path));
        // The closing fence is at the beginning of a line, which may be the first line.
        let end = start + page[start - 1..].find("\n```").unwrap();
        if page[start..end] == *new {
            return;
        }
        if env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, [&page[..start], new, &page[end..]].concat()).unwrap();
            return;
        }
        panic!(
            "{} differs: run this test with `UPDATE_EXPECT=1`. New:\n{new}\nthere:\n{}",
            self.path,
            &page[start..end]
        );
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
