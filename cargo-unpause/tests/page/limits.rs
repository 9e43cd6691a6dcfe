//! Lists that a page does not show completely, and shares that it rounds.

use serde_json::{Value as Json, json};

use super::browser::Browser;
use super::{in_browser, reports};

/// Returns the number of displayed calls, and the text above them.
fn calls(browser: &mut Browser) -> (u64, String) {
    let shown = browser.number("document.querySelectorAll('#history .call').length");
    (shown, browser.text("#history p"))
}

#[test]
fn a_long_history_says_how_many_calls_it_shows() {
    let call = |number: u64| {
        let (op, invoked) = (format!("Write({number})"), 2 * number);
        json!({"client": 0, "op": op, "invoked": invoked, "result": "ok", "returned": invoked + 1})
    };
    let mut report = reports::cluster();
    let history = &mut report.run()["histories"][0];
    history["operations"] = (0..1_500).map(call).collect::<Vec<Json>>().into();
    in_browser(&report.json, "calls", "", |browser, _| {
        for (expected, text, more) in [
            (2, "2 of 1,500 calls.", "all calls"),
            (600, "600 of 1,500 calls.", "600 more calls"),
            (1_200, "1,200 of 1,500 calls.", "300 more calls"),
        ] {
            let (shown, above) = calls(browser);
            assert_eq!(shown, expected, "{above}");
            assert!(above.starts_with(text) && above.ends_with(more), "{above}");
            browser.click("#history p .more");
        }
        let (shown, above) = calls(browser);
        assert_eq!(shown, 1_500);
        assert!(above.starts_with("1,500 calls.") && !above.contains("more"), "{above}");
    });
}

#[test]
fn a_share_is_shown_as_all_or_nothing_only_if_it_is() {
    let mut report = reports::lost_update("counter");
    report.json["finding"]["why"]["no_return"] = Json::Null;
    report.json["finding"]["why"]["chances"] = json!([
        {"after": 0, "share": 0.0004, "runs": 0},
        {"after": 4, "share": 0.9996, "runs": 50},
        {"after": 7, "share": 1.0, "runs": 0},
    ]);
    in_browser(&report.json, "shares", "#step=3", |browser, _| {
        assert_eq!(browser.text("#s3 .p"), ">.99");
        assert_eq!(browser.text("#s6 .p"), "1 ◂");
        let step = browser.text("#step");
        assert!(step.contains("more than 99.9 % of all schedules fail"), "{step}");
        assert!(browser.text("#chance").contains("<.01 at first, 1 after 7 steps"));
    });
}
