//! The page of a checked history: `cargo unpause check --html`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::browser::Browser;
use super::{command, folder, in_browser_at};

/// Writes a history of a register, and its page by the command. Returns the page and the output of the command.
fn checked(name: &str, lines: &str, code: u8) -> (PathBuf, String) {
    let file = folder(name).join("7.jsonl");
    fs::write(&file, lines).unwrap();
    let arguments = ["check", file.to_str().unwrap(), "--html", "--model", "register"];
    let (exit, output, errors) = command(&arguments);
    assert_eq!((exit, errors.as_str()), (code, ""), "{output}");
    (file.with_extension("html"), output)
}

/// An event of a history, as a line.
fn event(process: u32, kind: &str, f: &str, value: impl Into<serde_json::Value>) -> String {
    let value = value.into();
    format!("{}\n", json!({"process": process, "type": kind, "f": f, "value": value}))
}

/// Writes by one client, and reads by others of the newest value. The read with this number returns an old value.
fn reads(count: u32, stale: Option<u32>) -> String {
    let mut lines = String::new();
    for number in 0..count {
        lines += &event(0, "invoke", "write", number);
        lines += &event(0, "ok", "write", number);
        let reader = 1 + number % 3;
        lines += &event(reader, "invoke", "read", json!(null));
        let seen = if stale == Some(number) { number - 1 } else { number };
        lines += &event(reader, "ok", "read", seen);
    }
    lines
}

fn shown(browser: &mut Browser) -> u64 {
    browser.number("document.querySelectorAll('#calls .call').length")
}

#[test]
fn the_call_that_fits_nowhere_is_chosen_and_keys_lead_to_others() {
    let (page, output) = checked("history-keys", &reads(5, Some(3)), 1);
    assert!(output.ends_with(&format!("\npage:  {}\n", page.display())), "{output}");
    in_browser_at(&page, "history-keys", "", |browser, page| {
        assert_eq!(browser.text("#failure"), "violated");
        assert_eq!(browser.text("#at"), "call 7");
        assert!(browser.text("#why").contains("Read → 2"), "{}", browser.text("#why"));
        assert_eq!(browser.text("#calls .call.bad"), "✗ 7: Read → 2");
        assert_eq!(shown(browser), 10);
        let call = browser.text("#call");
        assert!(
            call.contains("which fits nowhere") && call.contains("7.jsonl:15 and :16"),
            "{call}"
        );
        for (key, at) in
            [("ArrowLeft", 6), ("Home", 0), ("ArrowRight", 1), ("End", 9), ("m", 7), ("PageUp", 0)]
        {
            browser.key(key);
            assert_eq!(browser.text("#at"), format!("call {at}"), "{key}");
        }
        browser.key("/");
        browser.types("write(4)");
        browser.key("Enter");
        assert_eq!(browser.text("#at"), "call 8");
        // Keys of the field are not commands.
        browser.key("m");
        assert_eq!(browser.text("#at"), "call 8");
        browser.key("Escape");
        browser.click("#c2");
        assert_eq!(browser.text("#at"), "call 2");
        browser.click("#only");
        let left = shown(browser);
        assert!((1..10).contains(&left), "{left}");
        assert!(browser.text("#count").starts_with(&format!("{left} of 10 calls")));
        browser.key("Escape");
        assert_eq!(shown(browser), 10);
        // An address names a call.
        browser.open(page, "#c=4");
        assert_eq!(browser.text("#at"), "call 4");
        // Every clickable element can have the focus, and the page has its width.
        let without = "Array.from(document.querySelectorAll('summary, button:not(:disabled), select, input:not(:disabled)')) \
            .filter((one) => one.tabIndex < 0).length";
        assert_eq!(browser.number(without), 0);
        for width in [320, 1000] {
            browser.size(width, 800);
            browser.until("document.documentElement.scrollWidth <= innerWidth");
        }
    });
}

#[test]
fn a_history_of_a_hundred_thousand_calls_opens_at_the_misfit() {
    let (page, _) = checked("history-long", &reads(50_000, Some(31_000)), 1);
    let started = Instant::now();
    in_browser_at(&page, "history-long", "", |browser, _| {
        let opened = started.elapsed();
        println!("opened in {opened:?}, {} bytes", fs::metadata(&page).unwrap().len());
        // About a second. The machine may be busy.
        assert!(opened < Duration::from_secs(20), "{opened:?}");
        assert_eq!(browser.text("#at"), "call 62001");
        let window = shown(browser);
        assert!((40..200).contains(&window), "{window} calls in a window");
        assert_eq!(browser.text("#count"), "100,000 calls");
        browser.key("End");
        assert_eq!(browser.text("#at"), "call 99999");
        browser.key("Home");
        assert_eq!((browser.text("#at"), shown(browser)), ("call 0".to_owned(), 80));
        // The position as a slider.
        browser.value(
            "(() => { const it = document.getElementById('position'); it.value = '70000'; \
             it.dispatchEvent(new Event('input')); })()",
        );
        assert_eq!(browser.text("#at"), "call 70000");
        browser.key("m");
        assert_eq!(browser.text("#at"), "call 62001");
    });
}

#[test]
fn a_consistent_history_has_its_order_and_an_open_call_no_end() {
    let mut lines = reads(3, None);
    lines += &event(4, "invoke", "write", 9);
    let (page, _) = checked("history-good", &lines, 0);
    in_browser_at(&page, "history-good", "", |browser, _| {
        assert_eq!(browser.text("#failure"), "consistent");
        assert_eq!(browser.value("document.getElementById('misfit').disabled"), json!(true));
        assert_eq!(browser.value("document.getElementById('d-contradiction').hidden"), json!(true));
        assert_eq!(browser.text("#calls .call.open"), "6: Write(9) ⋯");
        browser.click("#c6");
        assert!(browser.text("#call").contains("it has not returned"));
    });
}

#[test]
fn names_and_values_are_text() {
    let nasty =
        "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>\u{202e}";
    let lines = event(0, "invoke", "read", json!(null)) + &event(0, "ok", "read", nasty);
    let file = folder("history-nasty").join("7.jsonl");
    fs::write(&file, &lines).unwrap();
    let (exit, output, errors) =
        command(&["check", file.to_str().unwrap(), "--html", "--model", "register"]);
    assert!(exit < 2, "{output} {errors}");
    in_browser_at(&file.with_extension("html"), "history-nasty", "", |browser, _| {
        assert_eq!(browser.value("window.hit === undefined"), json!(true));
        assert_eq!(browser.number("document.images.length"), 0);
        assert_eq!(browser.number("document.scripts.length"), 2);
        assert!(browser.text("#calls").contains("\\u202e"), "{}", browser.text("#calls"));
    });
}

#[test]
fn errors_name_a_remedy_and_no_history_is_overwritten() {
    let folder = folder("history-errors");
    let file = folder.join("h.jsonl");
    fs::write(&file, reads(2, None)).unwrap();
    let path = file.to_str().unwrap();
    let missing = folder.join("none/h.html").display().to_string();
    let refused = |arguments: &[&str], parts: &[&str]| {
        let (code, _, errors) = command(arguments);
        assert_eq!(code, 2, "{arguments:?} {errors}");
        for part in parts {
            assert!(errors.contains(part), "{arguments:?}: {part:?} is not in {errors}");
        }
    };
    refused(&["check", path, &format!("--html={missing}")], &[&missing, "there is no folder"]);
    refused(&["check", path, &format!("--html={path}")], &["h.jsonl", "should end in .html"]);
    refused(&["check", path, path, "--html"], &["--html is for one file"]);
    refused(&["check", path, "--html", "--json"], &["choose one"]);
    refused(&["check", "-", "--html"], &["standard input", "--html=FILE.html"]);
    refused(&["check", path, "--htm"], &["did you mean `--html`?"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), reads(2, None));
    let named = folder.join("named.html");
    let (code, output, _) = command(&["check", path, &format!("--html={}", named.display())]);
    assert_eq!(code, 0, "{output}");
    assert!(named.is_file() && !folder.join("h.html").exists());
}
