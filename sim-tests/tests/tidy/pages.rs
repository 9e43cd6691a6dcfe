//! Pages: links between pages lead to existing targets, sentences are short, table cells fit on a line, and README is
//! short.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{File, Offence};

/// The pages with limited sentence lengths, each with the percentage of sentences that may have more than [`WORDS`]
/// words.
const SHORT: &[(&str, usize)] = &[
    ("README.md", 3),
    ("ARCHITECTURE.md", 5),
    ("CHANGELOG.md", 5),
    ("docs/assistants.md", 5),
    ("docs/cluster.md", 5),
    ("docs/found.md", 0),
    ("docs/guide.md", 3),
    ("docs/json.md", 5),
    ("docs/known-bugs.md", 0),
    ("docs/memory.md", 5),
    ("docs/method.md", 3),
    ("docs/native-limits.md", 5),
    ("docs/native.md", 5),
    ("docs/scale.md", 0),
    ("docs/search.md", 0),
    ("docs/std.md", 5),
    ("docs/suites.md", 5),
    ("docs/tokio.md", 5),
];

const WORDS: usize = 30;

/// The page that users see first, and its maximum number of lines.
const FIRST: (&str, usize) = ("README.md", 250);

/// The page whose tables newcomers read first, and the maximum number of characters of a cell there.
const MAP: &str = "ARCHITECTURE.md";
const CELL: usize = 200;

/// Links of pages to a file or a heading that does not exist.
pub(crate) fn broken_links(files: &[File]) -> Vec<Offence> {
    let pages: Vec<&File> = files.iter().filter(|file| file.path.ends_with(".md")).collect();
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), headings(page))).collect();
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let exists = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches('/'));
        paths.contains(path) || paths.iter().any(|file| file.starts_with(&folder))
    };
    let mut offences = Vec::new();
    for page in pages {
        for (number, line) in text_lines(page) {
            for link in links(line) {
                let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
                let target = if path.is_empty() { page.path.clone() } else { resolve(page, path) };
                let has =
                    |headings: &BTreeSet<String>| anchor.is_empty() || headings.contains(anchor);
                if !exists(&target) {
                    offences.push(Offence::new(page, number, format!("no file `{target}`")));
                } else if !anchors.get(target.as_str()).is_none_or(has) {
                    let message = format!("`{target}` has no heading `#{anchor}`");
                    offences.push(Offence::new(page, number, message));
                }
            }
        }
    }
    offences
}

/// Returns a page of [`SHORT`] if it has too many long sentences.
pub(crate) fn long_sentences(file: &File) -> Vec<Offence> {
    let Some((_, percent)) = SHORT.iter().find(|(path, _)| *path == file.path) else {
        return Vec::new();
    };
    let sentences = sentences(file);
    let long: Vec<&String> =
        sentences.iter().filter(|sentence| sentence.split_whitespace().count() > WORDS).collect();
    if long.len() * 100 <= sentences.len() * percent {
        return Vec::new();
    }
    let (number, of) = (long.len(), sentences.len());
    let message = format!("{number} of {of} sentences have more than {WORDS} words:\n{long:#?}");
    vec![Offence::new(file, 0, message)]
}

/// Returns README if it is too long.
pub(crate) fn long_first_page(file: &File) -> Vec<Offence> {
    if file.path != FIRST.0 || file.text.lines().count() <= FIRST.1 {
        return Vec::new();
    }
    let message = format!("more than {} lines: docs/guide.md has room", FIRST.1);
    vec![Offence::new(file, 0, message)]
}

/// Returns table cells of the architecture page that are too long.
pub(crate) fn long_cells(file: &File) -> Vec<Offence> {
    if file.path != MAP {
        return Vec::new();
    }
    let rows = text_lines(file).filter(|(_, line)| line.starts_with('|'));
    let long = rows.filter(|(_, row)| row.split(" | ").any(|cell| cell.chars().count() > CELL));
    let message =
        format!("a cell has more than {CELL} characters: a room's files belong in its `mod.rs`");
    long.map(|(number, _)| Offence::new(file, number, message.clone())).collect()
}

/// The numbered lines of a page outside code blocks.
fn text_lines(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    page.text.lines().enumerate().filter_map(move |(i, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((i + 1, line))
    })
}

/// The targets of the links of a line, without links to other hosts.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

/// The path of a link from the root of the repository.
fn resolve(page: &File, path: &str) -> String {
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of the headings of a page, as GitHub makes them.
fn headings(page: &File) -> BTreeSet<String> {
    let headings = text_lines(page).filter(|(_, line)| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(|(_, heading)| anchor(heading)).collect()
}

/// The sentences of the paragraphs and lists of a page. A row of a table has no sentences.
fn sentences(page: &File) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for (_, line) in text_lines(page) {
        let line = line.trim();
        let item = line.strip_prefix("- ").or_else(|| numbered(line));
        if line.is_empty() || line.starts_with(['#', '|']) || item.is_some() {
            paragraphs.push(String::new());
        }
        if !line.starts_with(['#', '|']) {
            let paragraph = paragraphs.last_mut().expect("there is one");
            paragraph.push_str(item.unwrap_or(line));
            paragraph.push(' ');
        }
    }
    let ends = |paragraph: String| -> Vec<String> {
        let parts = paragraph.split_inclusive(". ").map(|part| part.trim().to_owned());
        parts.filter(|part| !part.is_empty()).collect()
    };
    paragraphs.into_iter().flat_map(ends).collect()
}

/// The text of an item of a numbered list.
fn numbered(line: &str) -> Option<&str> {
    let (number, text) = line.split_once(". ")?;
    number.chars().all(|c| c.is_ascii_digit()).then_some(text)
}

mod tests {
    use super::*;

    fn broken(text: &str) -> Vec<String> {
        let files = [
            File::new("README.md", "# A bank\n\n## What it's for: `x`, and y\n```\n# code\n```\n"),
            File::new("docs/a.md", text),
            File::new("src/rt/mod.rs", ""),
        ];
        broken_links(&files).into_iter().map(|offence| offence.message).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        for right in [
            "[a](../README.md)",
            "[a](../README.md#what-its-for-x-and-y)",
            "[a](#own)\n# Own",
            "[a](../src/rt) [b](https://example.com/c#d)",
            "```\n[a](b.md)\n```",
        ] {
            assert_eq!(broken(right), [""; 0], "{right}");
        }
        assert_eq!(broken("see [a](README.md)"), ["no file `docs/README.md`"]);
        assert_eq!(broken("[a](../README.md#code)"), ["`README.md` has no heading `#code`"]);
        assert_eq!(broken("[a](#other)\n# Own"), ["`docs/a.md` has no heading `#other`"]);
    }

    #[test]
    fn a_page_of_long_sentences_is_found() {
        let of = |words: usize| vec!["word"; words].join(" ") + ". ";
        let is_found = |path, text: &str| !long_sentences(&File::new(path, text)).is_empty();
        assert!(is_found("docs/std.md", &of(WORDS + 1)));
        assert!(is_found("docs/std.md", &format!("- {}\n1. {}", of(2), of(WORDS + 1))));
        assert!(!is_found("docs/std.md", &of(WORDS)));
        assert!(!is_found("docs/std.md", &(of(2).repeat(19) + &of(WORDS + 1))));
        assert!(!is_found("docs/std.md", &format!("```\n{}\n```\n| {} |\n", of(99), of(99))));
        assert!(!is_found("docs/other.md", &of(WORDS + 1)));
    }

    #[test]
    fn a_long_readme_is_found() {
        let of = |path, lines| long_first_page(&File::new(path, &"Short.\n".repeat(lines))).len();
        assert_eq!((of(FIRST.0, 251), of(FIRST.0, 250), of("docs/guide.md", 251)), (1, 0, 0));
    }

    #[test]
    fn a_cell_that_is_too_long_is_found() {
        let of = |length: usize| {
            let row = format!("| `x/` | {} |\n", "y".repeat(length));
            long_cells(&File::new(MAP, &row)).len()
        };
        assert_eq!((of(CELL + 1), of(CELL - 2)), (1, 0));
    }
}
