//! A report as a page: one HTML file that opens from disk and loads nothing.
//!
//! The page has the report as JSON. Its script reads it and draws the run. No text of a report is put into the HTML or
//! the script: the page makes text nodes of it. [`embedded`] writes the JSON so that no text in it ends the element
//! around it. Characters that change the direction of text are escapes in the file, too.
//!
//! `page.html` has the elements, `page.css` the looks. The script is a file for each subject: `text.js` text that is
//! harmless on a screen, `model.js` the run, `rows.js` the steps that are shown, `lanes.js` the picture, `panes.js` the
//! panes beside it, `results.js` cause, chance and history, `main.js` buttons, keys and the address.

use std::fmt::Write as _;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The parts of the script. A name is declared before the page is drawn, so their order hardly matters; the last one
/// draws it.
const SCRIPT: [&str; 7] = [
    include_str!("text.js"),
    include_str!("model.js"),
    include_str!("rows.js"),
    include_str!("lanes.js"),
    include_str!("panes.js"),
    include_str!("results.js"),
    include_str!("main.js"),
];

/// Returns a report as a page for a browser: one HTML file that loads nothing. `report` is its JSON, by [`json`] or
/// from a file of `SIM_JSON`. Text that is no JSON becomes a page that says so.
///
/// Costs about the length of the report, and 90 kB for the script.
///
/// ```
/// use sim::report::{Style, json, page};
///
/// let report = sim::Runner::new().hermetic().seeds(0..1).run(async || ());
/// let page = page(&json(&report, &Style::default()));
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("unpause pass"));
/// ```
///
/// [`json`]: super::json()
pub fn page(report: &str) -> String {
    let mut page = String::new();
    let mut rest = PAGE;
    // The values are not looked into: a report may have the text of a marker.
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page += before;
        match name {
            "style" => page += STYLE.trim_end(),
            "script" => page += &SCRIPT.join("\n"),
            "report" => page += &embedded(report),
            other => page += other,
        }
        rest = after;
    }
    page + rest
}

/// The JSON of a report for a `script` element. Reads as the same value.
fn embedded(report: &str) -> String {
    let mut text = String::new();
    // Outside of strings JSON has none of these characters, and within a string an escape is the character.
    for character in report.chars() {
        if is_escaped(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text
}

/// Returns `true` for characters that end an element or a line, or are not seen, or change the direction of text.
fn is_escaped(character: char) -> bool {
    matches!(
        character,
        '<' | '>' | '&'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    /// The text of the element with the report, as a browser finds it.
    fn element(page: &str) -> &str {
        let (_, after) =
            page.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
        after.split_once("</script").unwrap().0
    }

    /// Checks that a text comes back from the page as it was, and is harmless there.
    fn assert_harmless(value: &str) {
        let report = json!({"text": value, value: [value]});
        let html = super::page(&report.to_string());
        let text = element(&html);
        assert_eq!(serde_json::from_str::<Json>(text).unwrap(), report);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\u{2066}']), "{text}");
        // All else in the page is the same as without the value.
        let empty = super::page("{}");
        assert_eq!(html.replace(text, ""), empty.replace(element(&empty), ""));
    }

    #[test]
    fn texts_that_end_elements_are_values() {
        for value in [
            "</script><script>alert(1)</script>",
            "</SCRIPT >",
            "<!--<script>",
            "]]>",
            "{{script}} {{report}} {{",
            "&lt;&#60;",
            "\u{202e}desrever\u{202c} \u{2066}x\u{2069} \u{200f}",
            "\u{2028}\u{2029}\u{0}\u{7}\r\n\t\u{85}",
            "\\u003c \\\" \\\\",
            "\u{e0041}\u{1f600}\u{200d}",
        ] {
            assert_harmless(value);
        }
        assert_harmless(&"<ä\u{202e}".repeat(10_000));
    }

    proptest! {
        #[test]
        fn any_text_comes_back(value in "(\\PC|\\p{Cc}|\\p{Cf}|</script>|<!--|\u{202e}|\u{2028}|\\{\\{|\\\\){0,40}") {
            assert_harmless(&value);
        }
    }

    #[test]
    fn nothing_is_loaded_and_no_value_is_html() {
        let html = super::page("{}");
        for banned in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "fetch(",
            "XMLHttpRequest",
            "import(",
            "src=",
            "@import",
            "url(h",
            "https:",
        ] {
            assert!(!html.contains(banned), "{banned}");
        }
        // The name of drawings is the only address. It is never loaded.
        assert_eq!(
            html.matches("http:").count(),
            html.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(html.contains("default-src 'none'"));
    }
}
