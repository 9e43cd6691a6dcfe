//! A JSON writer, which also builds the table of places.

use std::fmt::Write as _;

use super::super::places::parts;
use crate::run::place::portable;
use unpause_check::json::quoted;
use unpause_ordered::Map;

/// A JSON document under construction. The caller opens and closes objects and lists; the writer adds the commas.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    places: Vec<String>,
    /// For each place, its index in `places`.
    known: Map<String, u64>,
}

impl Writer {
    /// Returns the document.
    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Adds a comma if a value precedes.
    fn separate(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with(['{', '[', ':']) {
            self.out.push(',');
        }
    }

    fn name(&mut self, name: &str) {
        self.separate();
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    /// Opens an object or a list that is an item of a list, or the document. `bracket` is an opening brace or an
    /// opening square bracket.
    pub(super) fn open(&mut self, bracket: char) {
        self.separate();
        self.out.push(bracket);
    }

    /// Opens an object or a list as a field of an object.
    pub(super) fn open_field(&mut self, name: &str, bracket: char) {
        self.name(name);
        self.out.push(bracket);
    }

    /// Closes an object or a list. `bracket` is a closing brace or a closing square bracket.
    pub(super) fn close(&mut self, bracket: char) {
        self.out.push(bracket);
    }

    /// Adds a text to a list.
    pub(super) fn item(&mut self, text: &str) {
        self.separate();
        self.out.push_str(&quoted(text));
    }

    /// Adds a number to a list.
    pub(super) fn item_number(&mut self, number: u64) {
        self.separate();
        let _ = write!(self.out, "{number}");
    }

    pub(super) fn null(&mut self, name: &str) {
        self.name(name);
        self.out.push_str("null");
    }

    pub(super) fn flag(&mut self, name: &str, flag: bool) {
        self.name(name);
        self.out.push_str(if flag { "true" } else { "false" });
    }

    /// Adds a number that a double can represent exactly.
    pub(super) fn number(&mut self, name: &str, number: u64) {
        self.name(name);
        let _ = write!(self.out, "{number}");
    }

    pub(super) fn number_if(&mut self, name: &str, number: Option<u64>) {
        match number {
            Some(number) => self.number(name, number),
            None => self.null(name),
        }
    }

    /// Adds a 64-bit number as decimal text, because readers that use doubles would round it.
    pub(super) fn word(&mut self, name: &str, word: u64) {
        self.name(name);
        let _ = write!(self.out, "\"{word}\"");
    }

    /// Adds a number between 0 and 1.
    pub(super) fn share(&mut self, name: &str, share: f64) {
        self.name(name);
        match share.is_finite() {
            true => _ = write!(self.out, "{share:?}"),
            false => self.out.push_str("null"),
        }
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.out.push_str(&quoted(text));
    }

    pub(super) fn text_if(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    pub(super) fn texts(&mut self, name: &str, texts: &mut dyn Iterator<Item = &str>) {
        self.open_field(name, '[');
        texts.for_each(|text| self.item(text));
        self.close(']');
    }

    pub(super) fn numbers(&mut self, name: &str, numbers: &mut dyn Iterator<Item = u64>) {
        self.open_field(name, '[');
        numbers.for_each(|number| self.item_number(number));
        self.close(']');
    }

    /// Adds a place as its index in the table of places; `null` for an empty text.
    pub(super) fn place(&mut self, name: &str, place: &str) {
        if place.is_empty() {
            return self.null(name);
        }
        let index = match self.known.get(place) {
            Some(index) => *index,
            None => {
                let index = self.places.len() as u64;
                self.places.push(place.to_owned());
                self.known.insert(place.to_owned(), index);
                index
            }
        };
        self.number(name, index);
    }

    /// Adds the table of places. `line_of` returns a line of a source file, if it can be read.
    pub(super) fn table_of_places(&mut self, line_of: &mut dyn FnMut(&str, u32) -> Option<String>) {
        self.open_field("places", '[');
        for place in std::mem::take(&mut self.places) {
            let (file, line, column) = parts(&place);
            self.open('{');
            self.text("text", &portable(&place));
            self.text("file", file);
            self.number_if("line", line.map(u64::from));
            self.number_if("column", column.map(u64::from));
            let source = line.and_then(|line| line_of(file, line));
            self.text_if("source", source.as_deref());
            self.close('}');
        }
        self.close(']');
    }
}
