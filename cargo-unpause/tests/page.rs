//! The page of a failure, in a headless browser: `cargo unpause show --html`. Clicks, keys and filters act like a
//! user's, and the test reads the resulting page. Without a Chromium these tests say that they were skipped.
//!
//! `UNPAUSE_CHROMIUM` names the browser if it is not in the `PATH`.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

#[path = "page/beside.rs"]
mod beside;
#[path = "page/browser.rs"]
mod browser;
#[path = "page/files.rs"]
mod files;
#[path = "page/histories.rs"]
mod histories;
#[path = "page/junit.rs"]
mod junit;
#[path = "page/limits.rs"]
mod limits;
#[path = "page/reports.rs"]
mod reports;
#[path = "page/schema.rs"]
mod schema;
#[path = "page/search.rs"]
mod search;
#[path = "page/states.rs"]
mod states;

use browser::Browser;

/// Calls the command. Returns the exit code, the output and the errors of the command.
fn command(arguments: &[&str]) -> (u8, String, String) {
    let mut terminal = cargo_unpause::Terminal::silent();
    let code = cargo_unpause::run(arguments.iter().map(Into::into).collect(), &mut terminal);
    (code, terminal.output().to_owned(), terminal.errors().to_owned())
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a report, and its page by the command. Returns the path of the page.
fn page_of(report: &Json, name: &str) -> PathBuf {
    let file = folder(name).join("7.json");
    fs::write(&file, report.to_string()).unwrap();
    let (code, output, errors) = command(&["show", file.to_str().unwrap(), "--html"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let page = file.with_extension("html");
    assert_eq!(output, format!("{}\n", page.display()));
    page
}

/// The browser that all tests use one after the other. Starting a browser would take longer than a test.
static BROWSER: Mutex<Option<Browser>> = Mutex::new(None);

/// Opens the page of a report in the browser, and gives both to a function. Does nothing without a browser.
fn in_browser(report: &Json, name: &str, state: &str, check: impl FnOnce(&mut Browser, &Path)) {
    in_browser_at(&page_of(report, name), name, state, check);
}

/// Opens a page under the name `7.html`, and checks it in the same way.
fn in_browser_at(page: &Path, name: &str, state: &str, check: impl FnOnce(&mut Browser, &Path)) {
    let Some(program) = browser::program() else { return };
    // A failing test leaves it unchanged.
    let mut browser = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let browser = browser.get_or_insert_with(|| Browser::start(&program, name));
    browser.size(1400, 900);
    browser.prefers("light", false);
    browser.open(page, state);
    check(browser, page);
    assert_eq!(browser.errors, [""; 0]);
    // The page must request only itself.
    let is_page = |request: &String| request.contains("7.html");
    assert!(browser.requests.iter().all(is_page), "{:?}", browser.requests);
}

/// Returns the numbers of the displayed steps.
fn steps(browser: &mut Browser) -> Vec<u64> {
    let ids = browser
        .value("Array.from(document.querySelectorAll('.step'), (row) => Number(row.id.slice(1)))");
    ids.as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

fn assert_at(browser: &mut Browser, step: u64, last: u64) {
    assert_eq!(browser.text("#at"), format!("step {step} of 0 to {last}"));
    assert_eq!(
        browser.text(".step[aria-selected=true] .no").trim_start_matches(['▶', ' ', '»', '\n']),
        step.to_string()
    );
    assert!(browser.value("location.hash").as_str().unwrap().starts_with(&format!("#step={step}")));
}

#[test]
fn steps_are_reached_by_clicks_and_by_keys() {
    in_browser(&reports::lost_update("counter").json, "steps", "", |browser, page| {
        assert!(browser.text("#title").contains("FAILED demo::lost_update"));
        assert!(browser.text("#failure").contains("an update was lost: 1 of 2"));
        // The failure is at the end.
        assert_at(browser, 7, 7);
        browser.click("#s5");
        assert_at(browser, 5, 7);
        let step = browser.text("#step");
        for part in [
            "0.1",
            "store counter := 1",
            "after",
            "Write",
            "src/demo.rs:13:5",
            "counter.store(value + 1, SeqCst)",
        ] {
            assert!(step.contains(part), "{part} is not in {step}");
        }
        for (button, at) in [
            ("#back", 4),
            ("#first", 0),
            ("#forth", 1),
            ("#after", 3),
            ("#after", 6),
            ("#before", 3),
            ("#last", 7),
        ] {
            browser.click(button);
            assert_at(browser, at, 7);
        }
        browser.value("document.getElementById('lanes').focus()");
        for (key, at) in [
            ("Home", 0),
            ("ArrowDown", 1),
            ("ArrowRight", 2),
            ("ArrowUp", 1),
            ("n", 3),
            ("n", 6),
            ("n", 6),
            ("p", 3),
            ("End", 7),
            ("ArrowDown", 7),
            ("PageUp", 0),
            ("c", 2),
        ] {
            browser.key(key);
            assert_at(browser, at, 7);
        }
        // An address with a state, in another tab or a week later.
        browser.open(page, "#step=4&task=2");
        assert_at(browser, 4, 7);
        assert_eq!(steps(browser), [3, 4, 5]);
        // If the mouse is over a step, the page shows the whole text of the step.
        browser.hover("#s5");
        browser.until("!document.getElementById('tip').hidden");
        assert!(browser.text("#tip").contains("src/demo.rs:13:5"), "{}", browser.text("#tip"));
    });
}

#[test]
fn filters_leave_the_steps_that_match() {
    in_browser(&reports::lost_update("counter").json, "filters", "", |browser, _| {
        browser.value("document.getElementById('lanes').focus()");
        browser.key("/");
        browser.types("store counter");
        assert_eq!(steps(browser), [5, 6]);
        assert_eq!(browser.text("#count"), "2 of 8 steps match");
        // Keys of the field are not commands.
        browser.key("n");
        assert_eq!(browser.value("document.getElementById('q').value"), json!("store countern"));
        assert_eq!(steps(browser), [0; 0]);
        browser.key("Escape");
        assert_eq!(steps(browser).len(), 8);
        let choose = |browser: &mut Browser, field: &str, option: &str| {
            browser.value(&format!(
                "(() => {{ const field = document.getElementById({field:?}); \
                 field.value = Array.from(field.options).find((one) => one.text === {option:?}).value; \
                 field.dispatchEvent(new Event('change')); }})()"
            ));
            steps(browser)
        };
        assert_eq!(choose(browser, "task", "0.1"), [3, 4, 5]);
        assert_eq!(browser.value("document.querySelectorAll('#head .name').length"), json!(1));
        assert_eq!(choose(browser, "task", "all").len(), 8);
        assert_eq!(choose(browser, "object", "counter"), [2, 4, 5, 6, 7]);
        browser.click("#clear");
        assert_eq!(choose(browser, "crate", "lender-0.3.1"), [7]);
        browser.key("Escape");
        assert_eq!(steps(browser).len(), 8);
    });
}

#[test]
fn a_filter_is_chosen_with_the_keyboard_alone() {
    in_browser(&reports::lost_update("counter").json, "keyboard", "", |browser, _| {
        for _ in 0..40 {
            if browser.value("document.activeElement.id") == json!("task") {
                break;
            }
            browser.key("Tab");
        }
        assert_eq!(browser.value("document.activeElement.id"), json!("task"));
        // The focus is seen.
        assert_eq!(
            browser.value("getComputedStyle(document.activeElement).outlineStyle"),
            json!("solid")
        );
        browser.key("ArrowDown");
        browser.until("document.getElementById('task').value === '0'");
        assert_eq!(steps(browser), [0, 7]);
        // Every clickable element can have the focus.
        let without = "Array.from(document.querySelectorAll('[onclick], .call, summary, button, select, input')) \
            .filter((one) => one.tabIndex < 0).length";
        assert_eq!(browser.number(without), 0);
    });
}

#[test]
fn cause_chance_objects_and_lines_are_shown() {
    in_browser(&reports::lost_update("counter").json, "panes", "#step=5", |browser, _| {
        let why = browser.text("#why");
        assert!(why.contains("between `load` (demo.rs:12:5) and `store` (demo.rs:13:5) of 0.0 came `store counter := 1` of 0.1"), "{why}");
        assert!(why.contains("all 6 interleavings pass"), "{why}");
        // The column P, with its mark, and the curve: one point is sampled, two are exact.
        assert_eq!(browser.text("#s6 .p"), "1 ◂");
        assert_eq!(browser.text("#s3 .p"), ".50");
        assert_eq!(browser.number("document.querySelectorAll('#chance .sampled').length"), 1);
        assert_eq!(browser.number("document.querySelectorAll('#chance .exact').length"), 2);
        assert_eq!(
            browser.text(".step + .note"),
            "no way back: every schedule fails from here on (1 interleaving)"
        );
        // The page shows the value of the object after the chosen step. Later values are marked.
        assert_eq!(browser.text("#objects .now"), "1");
        assert_eq!(browser.number("document.querySelectorAll('#objects .future').length"), 1);
        browser.click("#first");
        assert_eq!(browser.text("#objects .now"), "0");
        // A line leads to the steps that ran it.
        let lines = browser.text("#source");
        assert!(
            lines.contains("13\ncounter.store(value + 1, SeqCst).await;\nsteps 5 6"),
            "{lines}"
        );
        browser.click("#source li:nth-child(2) [data-go]");
        assert_at(browser, 2, 7);
        // The load precedes the store of the other task only because of the loaded value: no synchronisation orders the
        // two.
        assert_eq!(browser.text("#s1 .rel"), "≺");
        assert_eq!(browser.text("#s5 .rel"), "∥");
        assert_eq!(browser.text("#s6 .rel"), "≻");
        assert_eq!(
            browser.number("document.querySelectorAll('.arrows .conflict.chosen').length"),
            1
        );
        assert_eq!(browser.number("document.querySelectorAll('.arrows .preemption').length"), 2);
        // The last load saw the store of step 6, and nothing of step 5.
        browser.key("End");
        let step = browser.text("#step");
        assert!(step.contains("conflict on counter with step 6 of 0.0 (happens-before)"), "{step}");
        assert_eq!(browser.text("#s6 .rel"), "≺");
        assert_eq!(browser.text("#s5 .rel"), "∥");
    });
}

#[test]
fn an_old_value_orders_nothing() {
    let mut report = reports::lost_update("counter");
    // The report is changed so that the last load missed the newest value.
    let events = report.run()["events"].as_array_mut().unwrap();
    events.last_mut().unwrap()["values"] = reports::saw(0);
    // The join orders the end of its task; without it nothing does.
    events.retain(|event| event["op"] != "join");
    in_browser(&report.json, "old", "", |browser, _| {
        assert_eq!(browser.text("#s6 .rel"), "∥");
        let step = browser.text("#step");
        assert!(step.ends_with("conflict on counter with step 6 of 0.0"), "{step}");
    });
}

#[test]
fn locks_and_waits_of_a_deadlock_are_shown() {
    in_browser(&reports::deadlock().json, "deadlock", "#step=0", |browser, _| {
        assert_eq!(browser.text("#locks"), "main holds mutex#0 since step 0, to the end");
        browser.key("End");
        let locks = browser.text("#locks");
        for part in [
            "0.0 holds mutex#1 since step 1",
            "main waits to lock mutex#1, held by 0.0 since step 1",
            "circle: main → 0.0",
        ] {
            assert!(locks.contains(part), "{part} is not in {locks}");
        }
        assert!(browser.text("#step").contains("locks held\nmutex#1"));
        assert_eq!(browser.number("document.querySelectorAll('.row.wait').length"), 2);
    });
}

#[test]
fn messages_are_arrows_and_the_call_that_fits_nowhere_is_marked() {
    in_browser(&reports::cluster().json, "cluster", "", |browser, _| {
        assert_eq!(
            browser.value(
                "Array.from(document.querySelectorAll('#head .name'), (one) => one.innerText)"
            ),
            json!(["main", "n1", "n2"])
        );
        // One message arrives, and is received.
        assert_eq!(browser.number("document.querySelectorAll('.arrows .message').length"), 2);
        assert!(browser.text("#step").contains("message with step 3"));
        assert_eq!(browser.number("document.querySelectorAll('#history .call').length"), 2);
        assert_eq!(browser.text("#history .call.bad"), "✗ 1: Read → 0");
        assert!(
            browser
                .text("#history .misfit")
                .contains("call 1 fits nowhere: Read → 0. It may return 1. The state is 1")
        );
        browser.click("#history .more");
        assert_eq!(browser.number("document.querySelectorAll('#history .call').length"), 4);
        assert_eq!(browser.text("#history .call.open"), "3: Write(2) ⋯");
        // The read begins after the end of the write, so it is drawn to the right of the write.
        let is_right = "(() => { const [write, read] = ['0: W', '1: R'].map((text) => Array.from(document.querySelectorAll('.call')) \
            .find((one) => one.innerText.replace('✗ ', '').startsWith(text)).getBoundingClientRect()); return read.left > write.right; })()";
        assert_eq!(browser.value(is_right), json!(true));
    });
}

#[test]
fn a_long_run_folds_and_stays_quick() {
    in_browser(&reports::long(1600).json, "long", "", |browser, _| {
        let folded = steps(browser).len();
        assert!((40..400).contains(&folded), "{folded} steps");
        assert!(
            browser.text("#count").starts_with(&format!("{folded} of 1,600 steps")),
            "{}",
            browser.text("#count")
        );
        // The view shows each preemption, and the end.
        assert!((1..16).all(|hundred| {
            browser.value(&format!("!!document.getElementById('s{}')", hundred * 100))
                == json!(true)
        }));
        assert_at(browser, 1599, 1599);
        let started = Instant::now();
        for _ in 0..5 {
            browser.key("ArrowUp");
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{:?} for 5 steps", started.elapsed());
        browser.key("Home");
        browser.key("n");
        assert_at(browser, 100, 1599);
        browser.click(".gap");
        assert!(steps(browser).len() > folded);
        browser.click("#all");
        assert_eq!(browser.text("#count"), "1,600 steps, 2 lanes");
        browser.key("End");
        assert_at(browser, 1599, 1599);
        // A step of a fold that an address names is shown.
        browser.click("#all");
        browser.value("location.hash = '#step=1250'");
        browser.until("document.getElementById('at').textContent.startsWith('step 1250 ')");
        assert_at(browser, 1250, 1599);
    });
}

#[test]
fn values_are_text_and_nothing_else() {
    let nasty = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'><b>bold</b>&lt;\u{202e}txt\u{2028}";
    let mut report = reports::lost_update(nasty);
    let huge = format!("{}end", nasty.repeat(100));
    assert!(huge.len() > 10_000);
    let run = report.run();
    run["events"][4]["values"]["left"] = json!({"bits": "1", "text": huge});
    run["output"] = json!(nasty);
    run["tasks"][1]["shown"] = json!(nasty);
    report.json["places"][1]["source"] = json!(huge);
    report.json["places"][2]["text"] = json!(format!("{nasty}:1:1"));
    report.json["finding"]["failure"]["text"] = json!(huge);
    report.json["screen"]["lines"] = json!([[["bad", nasty]]]);
    report.json["test"] = json!(nasty);
    in_browser(&report.json, "nasty", "#step=5", |browser, _| {
        assert_eq!(browser.value("window.hit === undefined"), json!(true));
        assert_eq!(browser.number("document.images.length"), 0);
        assert_eq!(browser.number("document.scripts.length"), 2);
        assert!(
            browser.text("#title").contains("<b>bold</b>&lt;\\u202etxt\\u2028"),
            "{}",
            browser.text("#title")
        );
        let shown = "document.documentElement.textContent.slice(0, document.documentElement.textContent.indexOf('{\"'))";
        assert_eq!(
            browser.value(&format!("/[\\u202a-\\u202e\\u2066-\\u2069\\u2028]/.test({shown})")),
            json!(false)
        );
        // The huge value is cut until the user requests it.
        let value = browser.text("#step .operations .value .more");
        assert!(value.starts_with("all ") && value.ends_with(" characters"), "{value}");
        assert!(!browser.text("#step").contains("end"));
        browser.click("#step .operations dl .more");
        assert!(browser.text("#step").contains("\\u2028end"));
        // The rows keep their height, and the page its width.
        assert_eq!(browser.value("Array.from(document.querySelectorAll('.step')).every((row) => row.offsetHeight === 22)"), json!(true));
        assert_eq!(
            browser.value("document.documentElement.scrollWidth <= innerWidth"),
            json!(true)
        );
        assert_eq!(browser.value("window.hit === undefined"), json!(true));
    });
}

#[test]
fn it_is_light_or_dark_narrow_or_wide_and_needs_no_colour() {
    in_browser(&reports::cluster().json, "looks", "", |browser, _| {
        let paper = "getComputedStyle(document.body).backgroundColor";
        browser.prefers("light", false);
        assert_eq!(browser.value(paper), json!("rgb(255, 255, 255)"));
        browser.prefers("dark", false);
        assert_eq!(browser.value(paper), json!("rgb(20, 22, 26)"));
        // Each pair of text colour and background must have the contrast that WCAG requires.
        let contrast = "((...pairs) => Math.min(...pairs.map((names) => { const light = names.map((name) => { \
            const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1); \
            const hex = text.length === 3 ? [...text].map((one) => one + one).join('') : text; \
            const part = (at) => { const one = parseInt(hex.slice(at, at + 2), 16) / 255; \
                return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4; }; \
            return 0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4) + 0.05; }); \
            return Math.max(...light) / Math.min(...light); })))(['--ink', '--paper'], ['--faint', '--paper'], ['--bad', '--paper'], \
            ['--accent', '--paper'], ['--faint', '--soft'], ['--ink', '--mark'], ['--accent', '--mark'])";
        for scheme in ["light", "dark"] {
            browser.prefers(scheme, false);
            let least = browser.value(contrast).as_f64().unwrap();
            assert!(least >= 4.5, "{scheme}: {least}");
        }
        // With the system's colours, signs and shapes still show everything.
        browser.prefers("light", true);
        assert_eq!(browser.text(".step[aria-selected=true] .rel"), "▶");
        assert_eq!(browser.text("#s1 .sign"), "M");
        assert_eq!(
            browser.value("getComputedStyle(document.querySelector('.message')).strokeDasharray"),
            json!("none")
        );
        assert_eq!(
            browser.value("getComputedStyle(document.querySelector('.turn')).strokeDasharray"),
            json!("1px, 3px")
        );
        browser.prefers("light", false);
        for width in [320, 600, 1000, 1800] {
            browser.size(width, 800);
            browser.until("document.documentElement.scrollWidth <= innerWidth");
        }
        // Text can be selected, and a selection is not a click.
        assert_eq!(
            browser.value("getComputedStyle(document.querySelector('.step .cell')).userSelect"),
            json!("auto")
        );
    });
}

#[test]
fn commands_of_a_program_lead_to_their_steps() {
    in_browser(&reports::cluster().json, "program", "", |browser, _| {
        let program = browser.text("#programs");
        assert!(program.contains("Write(1)\t0.0 n1, steps 1 2"), "{program}");
        browser.click("#programs [data-go='2']");
        assert_at(browser, 2, 4);
    });
}

#[test]
fn a_run_on_real_threads_has_its_history() {
    in_browser(&reports::on_threads().json, "threads", "", |browser, _| {
        assert_eq!(browser.text("#history .call.bad"), "✗ 1: Read → 0");
        assert_eq!(browser.value("document.getElementById('bar').hidden"), json!(true));
    });
}

#[test]
fn a_test_that_passed_has_its_screen() {
    in_browser(&reports::passed("demo::fine"), "passed", "", |browser, _| {
        assert!(browser.text("#title").contains("passed demo::fine"));
        assert_eq!(browser.text("#screen"), "the screen\nof the test");
        assert_eq!(browser.value("document.getElementById('bar').hidden"), json!(true));
    });
}
