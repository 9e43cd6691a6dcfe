//! A report as a page: a single HTML file that opens from disk and loads nothing.
//!
//! The page contains the report as JSON. The script of the page reads the JSON and draws the run. No text of a report
//! is inserted into the HTML or the script; instead, the page creates text nodes. [`embedded`] escapes the JSON so that
//! no text in it can end the enclosing element. The function also escapes characters that change the text direction.
//!
//! `page.html` contains the elements, and `page.css` the styles. The script has a file for each subject. `text.js`
//! makes text harmless for display, `model.js` holds the run, and `rows.js` the displayed steps. `lanes.js` draws the
//! diagram, and `panes.js` the panes beside it. `results.js` shows cause, chance and history, `beside.js` the nearest
//! passing run, and `search.js` the search over time. `main.js` handles buttons, keys and the address.
//!
//! A checked history without a run has a page of its own, `history.html` with `history.js`.

use std::fmt::Write as _;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// The parts of the script. All names are declared before the page is drawn, so the order of the parts hardly matters.
/// Only the last part must be last, because it draws the page.
const SCRIPT: [&str; 9] = [
    include_str!("text.js"),
    include_str!("model.js"),
    include_str!("rows.js"),
    include_str!("lanes.js"),
    include_str!("panes.js"),
    include_str!("results.js"),
    include_str!("beside.js"),
    include_str!("search.js"),
    include_str!("main.js"),
];
/// The page of a checked history.
const HISTORY_PAGE: &str = include_str!("history.html");
const HISTORY_SCRIPT: [&str; 2] = [include_str!("text.js"), include_str!("history.js")];

/// Returns a report as a page for a browser: a single HTML file that loads nothing. `report` is the report as JSON,
/// from [`json`] or from a file of `SIM_JSON`. For text that is not JSON, the page shows an error.
///
/// The size is about the length of the report, plus 110 kB for the script.
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
    filled(PAGE, &SCRIPT, report)
}

/// Returns a checked history as a page. `finding` is the object that `cargo unpause check --json` prints.
///
/// The page shows a window of at most some hundred calls, so a history of 100,000 calls opens in about a second.
#[doc(hidden)]
pub fn history_page(finding: &str) -> String {
    filled(HISTORY_PAGE, &HISTORY_SCRIPT, finding)
}

/// Returns a page with its styles, its script and the data that the script draws.
fn filled(page: &str, script: &[&str], data: &str) -> String {
    let mut filled = String::new();
    let mut rest = page;
    // The inserted values are not searched for markers, because the data may contain the text of a marker.
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        filled += before;
        match name {
            "style" => filled += STYLE.trim_end(),
            "script" => filled += &script.join("\n"),
            "report" => filled += &embedded(data),
            other => filled += other,
        }
        rest = after;
    }
    filled + rest
}

/// Returns the JSON of a report for a `script` element, with the same value.
fn embedded(report: &str) -> String {
    let mut text = String::new();
    // Outside strings, JSON contains none of these characters. Within a string, an escape means the same character.
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

/// Returns `true` for characters that end an element or a line, are invisible, or change the text direction.
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

    /// Returns the text of the element with the report, as a browser parses it.
    fn element(page: &str) -> &str {
        let (_, after) =
            page.split_once("<script type=\"application/json\" id=\"report\">").unwrap();
        after.split_once("</script").unwrap().0
    }

    /// Checks that a text is unchanged when it is read back from the page, and is harmless there.
    fn assert_harmless(value: &str) {
        let report = json!({"text": value, value: [value]});
        for page in [super::page, super::history_page] {
            let html = page(&report.to_string());
            let text = element(&html);
            assert_eq!(serde_json::from_str::<Json>(text).unwrap(), report);
            let is_harmful = ['<', '>', '&', '\u{2028}', '\u{202e}', '\u{2066}'];
            assert!(!text.contains(is_harmful), "{text}");
            // The rest of the page is the same as without the value.
            let empty = page("{}");
            assert_eq!(html.replace(text, ""), empty.replace(element(&empty), ""));
        }
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
        for html in [super::page("{}"), super::history_page("{}")] {
            assert_loads_nothing(&html);
        }
    }

    fn assert_loads_nothing(html: &str) {
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
        // The SVG namespace is the only address, and it is never loaded.
        assert_eq!(
            html.matches("http:").count(),
            html.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(html.contains("default-src 'none'"));
    }
}
