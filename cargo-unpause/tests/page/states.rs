//! The page of a failure: locks and values after a step, the runs that tested a remedy, and a damaged page.

use std::fs;

use serde_json::{Value as Json, json};

use super::{in_browser, in_browser_at, page_of, reports};

#[test]
fn a_lock_is_held_until_its_own_guard_is_dropped() {
    in_browser(&reports::guards().json, "guards", "#step=2", |browser, _| {
        let locks = browser.text("#locks");
        for part in [
            "main holds table with others since step 0 to step 5",
            "main holds table with others since step 1 to step 4",
            "main holds log since step 2 to step 3",
        ] {
            assert!(locks.contains(part), "{part} is not in {locks}");
        }
        browser.key("End");
        assert_eq!(browser.text("#locks"), "no lock is held after this step");
    });
}

#[test]
fn a_sampled_remedy_has_its_runs_and_those_without_it() {
    let mut report = reports::lost_update("counter");
    let remedy = &mut report.json["finding"]["why"]["remedy"];
    for (name, value) in [
        ("kind", json!("counted")),
        ("interleavings", Json::Null),
        ("runs", json!(230)),
        ("failed", json!(10)),
        ("of", json!(60)),
    ] {
        remedy[name] = value;
    }
    in_browser(&report.json, "sampled", "", |browser, _| {
        let why = browser.text("#why");
        assert!(why.contains(": 0 of 230 runs like this one fail (now 10 of 60)"), "{why}");
    });
}

#[test]
fn a_remedy_may_be_an_order_of_two_operations() {
    let mut report = reports::lost_update("counter");
    let why = &mut report.json["finding"]["why"];
    why["cause"] = Json::Null;
    let remedy = &mut why["remedy"];
    let region = remedy["regions"][0].take();
    remedy["regions"] = json!([]);
    remedy["order"] = json!({"early": region["from"], "early_op": "load", "late": region["to"], "late_op": "store",
        "times": 3});
    in_browser(&report.json, "order", "", |browser, _| {
        let why = browser.text("#why");
        let early = why.find("`load` (").expect(&why);
        let late = why.find(" 3 times before `store` (").expect(&why);
        assert!(early < late && why.contains(": all 6 interleavings that keep it pass"), "{why}");
    });
}

#[test]
fn an_early_store_leaves_the_newest_value() {
    let mut report = reports::lost_update("counter");
    // The report is changed so that the store of step 6 takes effect before the store of step 5.
    report.run()["events"].as_array_mut().unwrap().retain(|event| event["step"] != 7);
    report.run()["steps"].as_array_mut().unwrap().pop();
    report.run()["step_count"] = json!(7);
    report.run()["events"].as_array_mut().unwrap().last_mut().unwrap()["values"] = reports::left(9);
    report.does("Read", "precedes_the_newest_value_of counter = 1", Some(0), 0, reports::saw(1));
    in_browser(&report.json, "early", "", |browser, _| {
        assert_eq!(browser.text("#objects .now"), "1");
    });
}

#[test]
fn a_page_without_a_report_says_so() {
    let page = page_of(&reports::passed("demo::fine"), "damaged");
    let html = fs::read_to_string(&page).unwrap();
    let mark = "id=\"report\">";
    let begin = html.find(mark).unwrap() + mark.len();
    let end = begin + html[begin..].find("</script>").unwrap();
    for damaged in ["", "{", "{}"] {
        fs::write(&page, [&html[..begin], damaged, &html[end..]].concat()).unwrap();
        in_browser_at(&page, "damaged", "", |browser, _| {
            assert_eq!(browser.text("#title"), "This page has no report");
            assert!(browser.text("#failure").contains("cannot be read"));
        });
    }
}
