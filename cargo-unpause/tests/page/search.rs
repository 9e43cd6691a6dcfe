//! The page of a search: its progress over time, as curves and as a table.

use serde_json::{Value as Json, json};

use super::{in_browser, reports};

/// The progress at one moment: runs, completed part, time, and the estimated number of all runs with an interval.
fn point(
    runs: u64,
    part: Option<f64>,
    time: u64,
    total: &str,
    interval: Option<[&str; 2]>,
) -> Json {
    let [low, high] = match interval {
        Some(ends) => ends.map(|end| json!(end)),
        None => [Json::Null, Json::Null],
    };
    let total = if total.is_empty() { Json::Null } else { json!(total) };
    json!({"runs": runs, "part": part, "milliseconds": time, "total": total, "low": low, "high": high})
}

/// A search with this progress.
fn searched(series: Vec<Json>) -> Json {
    json!({
        "is_proof": false, "assumption": null, "blocked": 0, "repeated": 0, "complete": false, "part": 0.5,
        "blind": false, "by_step": false, "cause": null, "assumes": true, "beyond": [], "ignored": [], "unseen": [],
        "orders": "as asked", "bound": null, "estimate": null, "audit": null, "fallback": null, "series": series,
    })
}

fn growing() -> Vec<Json> {
    vec![
        point(0, None, 0, "", None),
        point(256, None, 40, "", None),
        point(1000, Some(0.000_01), 900, "100000000", Some(["50000000", "200000000"])),
        point(20_000, Some(0.5), 61_500, "40000", Some(["30000", "18446744073709551615"])),
    ]
}

/// The rows of the table, each as one text.
const ROWS: &str = "Array.from(document.querySelectorAll('#search tbody tr'), (row) => \
    Array.from(row.cells, (cell) => cell.textContent).join(' | '))";

#[test]
fn the_progress_of_a_search_is_a_curve_and_a_table() {
    let mut report = reports::passed("demo::search");
    report["searched"] = searched(growing());
    in_browser(&report, "search", "", |browser, _| {
        let text = browser.text("#search");
        for part in [
            "Completed: 50 % after 20,000 runs and 61.5 s.",
            "Estimated number of all runs: 40,000 (30,000 to 18,446,744,073,709,551,615).",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        // A curve of the completed part, and another of the estimates, which the first points do not have.
        let count = |browser: &mut super::Browser, selector: &str| {
            browser.number(&format!("document.querySelectorAll('#search {selector}').length"))
        };
        assert_eq!(count(browser, "svg.plot"), 2);
        assert_eq!(count(browser, "svg .dot"), 2 + 2);
        assert_eq!(count(browser, "svg .interval"), 2);
        assert_eq!(count(browser, "svg .dot.exact"), 0);
        let label = "document.querySelector('#search svg').getAttribute('aria-label')";
        assert_eq!(
            browser.value(label),
            json!("Completed part over time: 50 % after 20,000 runs and 61.5 s")
        );
        // All coordinates are inside the drawing.
        let inside = "Array.from(document.querySelectorAll('#search .dot')).every((dot) => \
            Number(dot.getAttribute('cx')) <= 600 && Number(dot.getAttribute('cy')) >= 0 && \
            Number(dot.getAttribute('cy')) <= 150)";
        assert_eq!(browser.value(inside), json!(true));
        assert_eq!(
            browser.value(ROWS),
            json!([
                "0 ms | 0 | unknown | unknown",
                "40 ms | 256 | unknown | unknown",
                "900 ms | 1,000 | < 0.01 % | 100,000,000 (50,000,000 to 200,000,000)",
                "61.5 s | 20,000 | 50 % | 40,000 (30,000 to 18,446,744,073,709,551,615)",
            ])
        );
        // The table can be opened with the keyboard alone.
        browser.value("document.querySelector('#search summary').focus()");
        browser.key("Enter");
        browser.until("document.querySelector('#search details').open");
        for width in [320, 600, 1800] {
            browser.size(width, 800);
            browser.until("document.documentElement.scrollWidth <= innerWidth");
        }
    });
}

#[test]
fn a_failure_has_its_search_and_the_search_that_replaced_it() {
    let mut report = reports::lost_update("counter").json;
    report["searched"] = searched(growing());
    let other =
        searched(vec![point(10, Some(0.25), 0, "", None), point(40, Some(1.0), 0, "", None)]);
    report["searched"]["fallback"] = json!({"runs": 40, "searched": other});
    in_browser(&report, "search_fallback", "", |browser, _| {
        let text = browser.text("#search");
        assert!(text.contains("The search that received the remaining runs"), "{text}");
        assert!(text.contains("Completed: 100 % after 40 runs and 0 ms."), "{text}");
        // If all times are equal and there are no estimates, the page still shows a curve.
        assert_eq!(browser.number("document.querySelectorAll('#search svg.plot').length"), 3);
        assert!(browser.text("#step").contains("step"));
    });
}

#[test]
fn without_an_estimate_there_is_no_curve_and_the_end_of_a_search_is_exact() {
    let mut unknown = reports::passed("demo::search");
    unknown["searched"] =
        searched(vec![point(10, None, 0, "", None), point(40, None, 7, "", None)]);
    in_browser(&unknown, "search_unknown", "", |browser, _| {
        let text = browser.text("#search");
        assert!(text.contains("Completed: unknown after 40 runs and 7 ms."), "{text}");
        assert_eq!(browser.number("document.querySelectorAll('#search svg.plot').length"), 0);
    });
    let mut complete = reports::passed("demo::search");
    let first = point(10, Some(0.1), 0, "100", Some(["80", "120"]));
    complete["searched"] = searched(vec![first, point(90, Some(1.0), 7, "90", None)]);
    in_browser(&complete, "search_complete", "", |browser, _| {
        let text = browser.text("#search");
        assert!(text.contains("Estimated number of all runs: 90."), "{text}");
        assert_eq!(browser.number("document.querySelectorAll('#search .dot.exact').length"), 1);
    });
    // In a report of an earlier version, numbers without an interval are extrapolated.
    let mut earlier = reports::passed("demo::search");
    earlier["searched"] =
        searched(vec![point(10, Some(0.1), 0, "100", None), point(50, Some(0.4), 7, "125", None)]);
    in_browser(&earlier, "search_earlier", "", |browser, _| {
        let text = browser.text("#search");
        assert!(text.contains("Completed: 40 % after 50 runs"), "{text}");
        assert!(!text.contains("exact"), "{text}");
        assert_eq!(browser.number("document.querySelectorAll('#search svg.plot').length"), 1);
        assert_eq!(
            browser.value(ROWS),
            json!(["0 ms | 10 | 10 % | about 100", "7 ms | 50 | 40 % | about 125"])
        );
    });
}

#[test]
fn without_progress_nothing_is_shown() {
    let mut one = reports::passed("demo::search");
    one["searched"] = searched(vec![point(1, Some(1.0), 3, "1", None)]);
    let mut old = reports::passed("demo::search");
    old["searched"] = searched(Vec::new());
    old["searched"].as_object_mut().unwrap().remove("series");
    for (report, name) in [
        (one, "search_one"),
        (old, "search_old"),
        (reports::passed("demo::seeds"), "search_none"),
        (reports::deadlock().json, "search_deadlock"),
    ] {
        in_browser(&report, name, "", |browser, _| {
            assert_eq!(browser.value("document.getElementById('d-search').hidden"), json!(true));
        });
    }
}
