//! Sentences of comments: ways of writing that make a reader stop are counted for each crate, and held.
//!
//! A sentence is clear at the first reading if it has at most one relative clause, names its noun instead of a pronoun,
//! and uses the standard word. The numbers in this file may only decrease. Code in comments, headings, tables and code
//! blocks do not count as sentences.

use crate::tree::{File, Offence};

/// A way of writing, and what to write instead.
struct Pattern {
    name: &'static str,
    remedy: &'static str,
    is_in: fn(&Sentence) -> bool,
}

/// The patterns that are counted. [`Held::patterns`] has the numbers in this order.
const PATTERNS: [Pattern; 8] = [
    Pattern {
        name: "\"As [`x`]\" at the start",
        remedy: "write \"Like [`x`]\"",
        is_in: |sentence| sentence.text.starts_with("As ["),
    },
    Pattern {
        name: "\"that of\", \"those of\", \"those that\"",
        remedy: "name the noun again",
        is_in: |sentence| {
            sentence.has(&["that|those", "of|with"]) || sentence.has(&["those", "in|that|who|are"])
        },
    },
    Pattern {
        name: "\"the one\", \"one that\", \"such a one\"",
        remedy: "name the noun",
        is_in: |sentence| {
            sentence.has(&["the|such", "one|ones"])
                || sentence.has(&["one|ones", "that|which|whose"])
                || sentence.has(&["such", "a", "one"])
        },
    },
    Pattern {
        name: "\"none if\", \"if there is one\"",
        remedy: "write \"`None` if\" or \"if any\"",
        is_in: |sentence| {
            sentence.has(&["none", "if"])
                || sentence.has(&["if", "there", "is|are", "one|any|some"])
        },
    },
    Pattern {
        name: "\"goes on\"",
        remedy: "write \"continues\"",
        is_in: |sentence| sentence.has(&["go|goes|went|going", "on"]),
    },
    Pattern {
        name: "\"comes to\", \"stands\", \"told\", \"befalls\"",
        remedy: "write \"reaches\", \"is\", \"notified\", \"is injected into\"",
        is_in: |sentence| {
            sentence.has(&["come|comes", "to"])
                || sentence.has(&["stand|stands|told|befall|befalls|befell"])
        },
    },
    Pattern {
        name: "a clause as the subject",
        remedy: "begin with a noun or a verb",
        is_in: |sentence| {
            let is_clause = ["what", "whether", "who"].contains(&sentence.word(0));
            let is_fact = sentence.word(0) == "that"
                && ["the", "a", "an", "it", "no", "all"].contains(&sentence.word(1));
            (is_clause || is_fact) && !sentence.text.ends_with('?')
        },
    },
    Pattern {
        name: "three relative words",
        remedy: "make two sentences",
        is_in: |sentence| sentence.relative_words() >= 3,
    },
];

/// The numbers of sentences that a crate may have of each of [`PATTERNS`].
struct Held {
    root: &'static str,
    patterns: [usize; PATTERNS.len()],
}

/// If a crate gets better, its numbers are lowered; they are never raised.
const HELD: &[Held] = &[
    Held { root: "src/", patterns: [0, 8, 8, 3, 5, 8, 2, 8] },
    Held { root: "unpause-run/src/", patterns: [0, 4, 5, 2, 4, 3, 1, 5] },
    Held { root: "unpause-check/src/", patterns: [0, 3, 3, 1, 2, 2, 1, 3] },
    Held { root: "unpause-native/src/", patterns: [0, 3, 7, 1, 3, 3, 1, 4] },
    Held { root: "unpause-tokio/src/", patterns: [0, 1, 1, 1, 1, 2, 0, 1] },
    Held { root: "unpause-histories/src/", patterns: [0, 1, 1, 1, 1, 1, 0, 1] },
    Held { root: "unpause-macros/src/", patterns: [0, 1, 1, 1, 1, 1, 0, 1] },
    Held { root: "unpause-ordered/src/", patterns: [0, 0, 0, 0, 0, 0, 0, 0] },
    Held { root: "unpause-words/src/", patterns: [0, 0, 0, 0, 0, 0, 0, 0] },
    Held { root: "unpause-verify/src/", patterns: [0, 0, 0, 0, 0, 0, 0, 0] },
    Held { root: "cargo-unpause/src/", patterns: [0, 2, 2, 1, 1, 1, 0, 1] },
];

/// The number of sentences that a single file may have of one of [`PATTERNS`].
const IN_A_FILE: usize = 3;

/// The number of places that a failure shows.
const SHOWN: usize = 20;

/// Crates and files with more offenders than are held, each with its worst places.
pub(crate) fn check(files: &[File]) -> Vec<Offence> {
    HELD.iter().flat_map(|held| check_crate(held, files)).collect()
}

fn check_crate(held: &Held, files: &[File]) -> Vec<Offence> {
    let files = files.iter().filter(|file| file.is_rust() && file.path.starts_with(held.root));
    let all: Vec<(&File, Vec<Sentence>)> = files.map(|file| (file, sentences(file))).collect();
    let mut offences = Vec::new();
    for (pattern, most) in PATTERNS.iter().zip(held.patterns) {
        let mut places = Vec::new();
        for (file, sentences) in &all {
            let found = sentences.iter().filter(|sentence| (pattern.is_in)(sentence));
            let found: Vec<(&File, &Sentence)> = found.map(|found| (*file, found)).collect();
            if found.len() > IN_A_FILE {
                offences.extend(too_many(&file.path, pattern, IN_A_FILE, found.clone()));
            }
            places.extend(found);
        }
        if places.len() > most {
            offences.extend(too_many(held.root, pattern, most, places));
        }
    }
    offences
}

/// The offence of a crate or file, and its worst places.
fn too_many(
    path: &str,
    pattern: &Pattern,
    most: usize,
    mut places: Vec<(&File, &Sentence)>,
) -> Vec<Offence> {
    let number = places.len();
    let message = format!(
        "{number} sentences have {}, the limit is {most}: {}. The worst:",
        pattern.name, pattern.remedy
    );
    // Long sentences are the hardest to read. The sort is stable, so equal places stay in order.
    let badness = |sentence: &Sentence| (sentence.offences(), sentence.words.len());
    places.sort_by_key(|(_, sentence)| std::cmp::Reverse(badness(sentence)));
    let worst = places.into_iter().take(SHOWN);
    let worst = worst.map(|(file, sentence)| Offence::new(file, sentence.line, &*sentence.text));
    let head = Offence { path: path.to_owned(), line: 0, message };
    std::iter::once(head).chain(worst).collect()
}

/// A sentence of a comment, with code replaced by `x`.
struct Sentence {
    line: usize,
    text: String,
    /// In lower case, without punctuation.
    words: Vec<String>,
}

impl Sentence {
    fn new(line: usize, text: &str) -> Sentence {
        let plain: Vec<&str> = text.split('`').step_by(2).collect();
        let words = plain.join("x");
        let is_inner = |c: char| !c.is_alphanumeric() && c != '\'' && c != '-';
        let words = words.split(is_inner).filter(|word| !word.is_empty());
        Sentence { line, text: text.to_owned(), words: words.map(str::to_lowercase).collect() }
    }

    /// Returns the word at this position, or an empty word.
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word)
    }

    /// Returns `true` if these words follow each other; `|` separates alternatives.
    fn has(&self, wanted: &[&str]) -> bool {
        let is = |word: &String, wanted: &&str| wanted.split('|').any(|one| one == word);
        self.words
            .windows(wanted.len())
            .any(|words| words.iter().zip(wanted).all(|(word, wanted)| is(word, wanted)))
    }

    fn relative_words(&self) -> usize {
        let is_relative =
            |word: &&String| ["that", "which", "whose", "those"].contains(&word.as_str());
        self.words.iter().filter(is_relative).count()
    }

    /// The number of patterns that the sentence has.
    fn offences(&self) -> usize {
        PATTERNS.iter().filter(|pattern| (pattern.is_in)(self)).count()
    }
}

/// The sentences of the comments of a file, in order.
fn sentences(file: &File) -> Vec<Sentence> {
    let mut all = Vec::new();
    let mut paragraph = Paragraph::default();
    let (mut marker, mut in_code) = ("", false);
    for (i, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let Some((this, text)) = comment(line) else {
            paragraph.end(&mut all);
            (marker, in_code) = ("", false);
            continue;
        };
        if this != marker {
            paragraph.end(&mut all);
            (marker, in_code) = (this, false);
        }
        let is_fence = text.starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence || text.is_empty() || text.starts_with(['#', '|']) {
            paragraph.end(&mut all);
            continue;
        }
        let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* "));
        if item.is_some() {
            paragraph.end(&mut all);
        }
        paragraph.add(i + 1, item.unwrap_or(text));
    }
    paragraph.end(&mut all);
    all
}

/// Returns the comment marker of a line and the text after it, if the line is a comment.
fn comment(line: &str) -> Option<(&str, &str)> {
    let marker = ["//!", "///", "//"].into_iter().find(|marker| line.starts_with(marker))?;
    Some((marker, line[marker.len()..].trim()))
}

/// Lines of a comment that belong together.
#[derive(Default)]
struct Paragraph {
    text: String,
    /// The positions in the text at which lines begin, and their numbers.
    lines: Vec<(usize, usize)>,
}

impl Paragraph {
    fn add(&mut self, line: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.lines.push((self.text.len(), line));
        self.text.push_str(text);
    }

    /// Takes its sentences out.
    fn end(&mut self, all: &mut Vec<Sentence>) {
        let mut from = 0;
        for to in ends(&self.text) {
            let line =
                self.lines.iter().rev().find(|(at, _)| *at <= from).map_or(0, |(_, line)| *line);
            all.push(Sentence::new(line, self.text[from..to].trim()));
            from = to + self.text[to..].len() - self.text[to..].trim_start().len();
        }
        *self = Paragraph::default();
    }
}

/// The positions after each sentence of a text.
fn ends(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    for (at, stop) in text.match_indices(['.', '?', '!']) {
        let rest = text[at + stop.len()..].trim_start_matches(['"', '\'', ')', '`', '*']);
        let next = rest.trim_start();
        let begins = |c: char| c.is_uppercase() || "`[\"(*".contains(c);
        let is_short =
            ["e.g.", "i.e.", "vs.", "etc."].iter().any(|word| text[..=at].ends_with(word));
        if next.len() < rest.len() && next.starts_with(begins) && !is_short {
            ends.push(text.len() - rest.len());
        }
    }
    if !text.is_empty() {
        ends.push(text.len());
    }
    ends
}

mod tests {
    use super::*;

    /// The names of the patterns of the first sentence of a comment.
    fn found(comment: &str) -> Vec<&'static str> {
        let file = File::new("src/a.rs", &format!("/// {comment}\nfn f() {{}}\n"));
        let all = sentences(&file);
        let patterns = PATTERNS.iter().filter(|pattern| (pattern.is_in)(&all[0]));
        patterns.map(|pattern| pattern.name).collect()
    }

    #[test]
    fn each_pattern_finds_its_offender_and_leaves_its_twin() {
        let pairs: [(&str, &str); PATTERNS.len()] = [
            ("As [`get`](Self::get), by name.", "Like [`get`](Self::get), by name."),
            ("Its rate is that of the clock.", "Its rate is the rate of the clock."),
            ("Takes one that waits.", "Takes a task that waits."),
            ("The name; none if it has no name.", "The name; `None` if it has no name."),
            ("The task goes on.", "The task continues."),
            ("Faults that befall a task.", "Faults injected into a task."),
            ("What the task waits for.", "The object for which the task waits."),
            ("A task that takes that which those gave.", "A task takes their values."),
        ];
        for (pattern, (offender, twin)) in PATTERNS.iter().zip(pairs) {
            assert!(found(offender).contains(&pattern.name), "{offender}");
            assert_eq!(found(twin), [""; 0], "{twin}");
        }
    }

    #[test]
    fn code_and_headings_have_no_sentences() {
        let text = "//! # That of\n//!\n//! ```\n//! // that of\n//! ```\n//! | that of |\n//! Calls `that of`.\nlet that = 0;\n";
        let all = sentences(&File::new("src/a.rs", text));
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].line, &*all[0].text), (7, "Calls `that of`."));
        assert_eq!(all[0].offences(), 0);
    }

    #[test]
    fn a_sentence_ends_at_a_stop_before_a_capital() {
        let text =
            "//! It is 0.5, e.g. The rest. Then\n//! more (see below.) `x` is it.\n//! - An item\n";
        let all = sentences(&File::new("src/a.rs", text));
        let all: Vec<(usize, &str)> =
            all.iter().map(|sentence| (sentence.line, &*sentence.text)).collect();
        assert_eq!(
            all,
            [
                (1, "It is 0.5, e.g. The rest."),
                (1, "Then more (see below.)"),
                (2, "`x` is it."),
                (3, "An item")
            ]
        );
    }

    /// The offences of files with so many offenders each, if one crate may have two.
    fn offences_of(times: &[usize]) -> Vec<Offence> {
        let held = Held { root: "src/", patterns: [0, 0, 0, 0, 2, 0, 0, 0] };
        let file = |(number, times): (usize, &usize)| {
            File::new(&format!("src/{number}.rs"), &"/// It goes on.\nfn f() {}\n".repeat(*times))
        };
        let mut files: Vec<File> = times.iter().enumerate().map(file).collect();
        files.push(File::new("b.rs", "/// It goes on.\n"));
        check_crate(&held, &files)
    }

    #[test]
    fn more_than_the_held_number_is_an_offence_with_its_places() {
        assert_eq!(offences_of(&[1, 1]), []);
        let three = offences_of(&[1, 2]);
        let places: Vec<(&str, usize)> =
            three.iter().map(|offence| (&*offence.path, offence.line)).collect();
        assert_eq!(places, [("src/", 0), ("src/0.rs", 1), ("src/1.rs", 1), ("src/1.rs", 3)]);
        assert!(three[0].message.starts_with("3 sentences have \"goes on\", the limit is 2"));
        assert_eq!(offences_of(&[1; 60]).len(), 1 + SHOWN);
    }

    #[test]
    fn a_file_with_many_of_them_is_an_offence_of_its_own() {
        let paths: Vec<String> =
            offences_of(&[IN_A_FILE + 1]).into_iter().map(|offence| offence.path).collect();
        assert_eq!(paths.iter().filter(|path| *path == "src/").count(), 1);
        assert_eq!(paths.iter().filter(|path| *path == "src/0.rs").count(), 9);
    }
}
