//! The page of a failure: the failing run beside the nearest passing run.

use serde_json::{Value as Json, json};

use super::reports::{self, Report};
use super::{assert_at, in_browser, steps};

/// Returns a step of a passing run. Each operation of the step has a text and a place.
fn step(number: u64, task: &str, operations: &[(&str, usize)]) -> Json {
    let operation = |(text, place): &(&str, usize)| json!({"op": text.split(' ').next(), "text": text, "place": place});
    json!({"step": number, "task": task, "path": task.replace("main", "0"), "preempts": false, "more": 0, "draws": [],
        "operations": Vec::from_iter(operations.iter().map(operation))})
}

/// Returns the lost update, with a passing run in which the first task stores before the second task loads.
fn lost_update() -> Report {
    let mut report = reports::lost_update("counter");
    report.json["finding"]["why"]["passing"] = json!({
        "common": 3,
        "step_count": 9,
        "steps": [
            step(3, "0.0", &[("store counter := 1", 2)]),
            step(4, "0.1", &[]),
            step(5, "0.1", &[("load counter = 1", 1)]),
            step(6, "0.1", &[("store counter := 2", 2)]),
            step(7, "main", &[("join 0.0", 0), ("load counter = 2", 3)]),
        ],
        "replay": "SIM_REPLAY=sim2:0,0.0x3,0.1x3,0x2 cargo test",
    });
    report
}

#[test]
fn the_steps_of_both_runs_are_aligned_and_differences_are_marked() {
    in_browser(&lost_update().json, "beside", "", |browser, _| {
        let rows = "Array.from(document.querySelectorAll('#beside tbody tr'), (row) => \
            Array.from(row.cells, (cell) => cell.innerText.replace(/\\s+/g, ' ').trim()).join(' | '))";
        assert_eq!(
            browser.value(rows),
            json!([
                " | ≠ step | 3 0.0 store counter := 1 demo.rs:13:5 ↓ later, step 6 of the failing run",
                "» 3 0.1 start | = | 4 0.1 start",
                "4 0.1 load counter = 0 demo.rs:12:5 | ≠ values | 5 0.1 load counter = 1 demo.rs:12:5",
                "5 0.1 store counter := 1 demo.rs:13:5 | ≠ values | 6 0.1 store counter := 2 demo.rs:13:5",
                "» 6 0.0 store counter := 1 demo.rs:13:5 ↑ earlier, step 3 of the passing run | ≠ step | ",
                "7 main join 0.0; load counter = 1 demo.rs:1:1 | ≠ values | 7 main join 0.0; load counter = 2 demo.rs:1:1",
                "✗ panic in main: an update was lost: 1 of 2 |  | … 1 more step, then ✓ passes",
            ])
        );
        let text = browser.text("#beside");
        for part in [
            "Both runs have the first 3 steps in common. At step 3, the failing run executes a step of 0.1, and the \
             passing run a step of 0.0.",
            "To replay the passing run: SIM_REPLAY=sim2:0,0.0x3,0.1x3,0x2 cargo test",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        // The lanes also show this difference, above the step.
        let note = "document.getElementById('s3').previousElementSibling.innerText";
        assert_eq!(
            browser.value(note),
            json!("here the nearest passing run differs: 0.0 does store counter := 1")
        );
    });
}

#[test]
fn the_first_difference_is_reached_by_a_key_a_button_and_the_keyboard_alone() {
    in_browser(&lost_update().json, "parts", "", |browser, _| {
        let current = "document.querySelector('#beside [aria-current]')?.dataset.left ?? ''";
        assert_at(browser, 7, 7);
        assert_eq!(browser.value(current), json!("7"));
        browser.value("document.getElementById('lanes').focus()");
        browser.key("d");
        assert_at(browser, 3, 7);
        assert_eq!(browser.value(current), json!("3"));
        browser.click("#last");
        browser.click("#parts");
        assert_at(browser, 3, 7);
        browser.click("#beside [data-go='5']");
        assert_at(browser, 5, 7);
        browser.value("document.querySelector('#beside tbody [data-go=\"4\"]').focus()");
        browser.key("Enter");
        assert_at(browser, 4, 7);
        assert_eq!(browser.value(current), json!("4"));
        // If the passing run executes a step at another position, the step is not a row of the failing run.
        browser.key("Home");
        assert_eq!(browser.value(current), json!(""));
        for (width, scheme) in [(320, "light"), (600, "dark"), (1800, "light")] {
            browser.size(width, 800);
            browser.prefers(scheme, false);
            browser.until("document.documentElement.scrollWidth <= innerWidth");
            browser.until(
                "(() => { const box = document.querySelector('table.beside'); \
                 return box.scrollWidth <= box.parentElement.clientWidth; })()",
            );
        }
    });
}

#[test]
fn without_a_passing_run_nothing_is_shown() {
    let hidden =
        "document.getElementById('d-beside').hidden && !document.querySelector('#beside tr')";
    for (report, name) in [
        (reports::lost_update("counter").json, "beside_nothing"),
        (reports::deadlock().json, "beside_deadlock"),
        (reports::on_threads().json, "beside_threads"),
        (reports::passed("demo::fine"), "beside_passed"),
    ] {
        in_browser(&report, name, "", |browser, _| {
            assert_eq!(browser.value(hidden), json!(true));
            browser.key("d");
        });
    }
    let mut none = reports::lost_update("counter").json;
    none["finding"]["why"]["passing"] = Json::Null;
    in_browser(&none, "beside_null", "#step=2", |browser, _| {
        assert_eq!(browser.value(hidden), json!(true));
        assert_eq!(browser.value("document.getElementById('parts').hidden"), json!(true));
        browser.key("d");
        assert_at(browser, 2, 7);
    });
}

#[test]
fn texts_of_the_passing_run_are_text_and_nothing_else() {
    let nasty = "</script><img src=x onerror='window.hit = 1'><b>bold</b>\u{202e}txt\u{2028}";
    let mut report = lost_update();
    let passing = &mut report.json["finding"]["why"]["passing"];
    passing["steps"][0]["task"] = json!(nasty);
    passing["steps"][0]["operations"][0]["text"] = json!(nasty.repeat(100));
    passing["replay"] = json!(nasty);
    in_browser(&report.json, "beside_nasty", "#step=3", |browser, _| {
        assert_eq!(browser.value("window.hit === undefined"), json!(true));
        assert_eq!(browser.number("document.images.length"), 0);
        assert!(browser.text("#beside code").contains("<b>bold</b>\\u202etxt\\u2028"));
        // The long text is cut.
        assert!(browser.text("#beside .side .more").starts_with("all "));
        let turns =
            "/[\\u202a-\\u202e\\u2028]/.test(document.getElementById('beside').textContent)";
        assert_eq!(browser.value(turns), json!(false));
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth"),
            json!(true)
        );
    });
}

#[test]
fn a_long_run_is_unfolded_where_it_differs() {
    let mut report = reports::long(1600);
    let steps_of = |number: u64| {
        let text = format!("fetch_add ticks {number} → {}", number + 1);
        step(number, "main", &[(&text[..], 0)])
    };
    let passing = json!({"common": 850, "step_count": 1700, "steps": Vec::from_iter((850..1050).map(steps_of)),
        "replay": null});
    report.json["finding"]["why"] = json!({"runs": 9, "cause": null, "remedy": null, "chances": [], "marks": [],
        "no_return": null, "passing": passing});
    in_browser(&report.json, "beside_long", "", |browser, _| {
        let shown = steps(browser);
        assert!((40..400).contains(&shown.len()), "{shown:?}");
        assert!(shown.contains(&847) && shown.contains(&853), "{shown:?}");
        browser.key("d");
        assert_at(browser, 850, 1599);
        // Two hundred steps of each run, aligned where the same task steps.
        let rows = browser.number("document.querySelectorAll('#beside tbody tr').length");
        assert!((201..=401).contains(&rows), "{rows}");
        let ends = browser.text("#beside .ends");
        assert!(ends.contains("… 550 more steps, then ✗ panic in main: it took long"), "{ends}");
        assert!(ends.contains("… 650 more steps, then ✓ passes"), "{ends}");
    });
}
