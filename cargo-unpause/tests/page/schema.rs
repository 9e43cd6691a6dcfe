//! The published schema of reports, docs/failure.schema.json, with a validator that shares no code with this project.
//! Needs no browser.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use cargo_unpause::document::Document;
use jsonschema::{Validator, draft202012};
use serde_json::{Value as Json, json};
use sim::Ordering::SeqCst;
use sim::report::{Report, Style};
use sim::{Atomic, Runner};

use super::{folder, reports};

static SCHEMA: LazyLock<Json> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/failure.schema.json");
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
});

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| draft202012::new(&SCHEMA).unwrap());

/// Checks that a document satisfies the schema and can be read.
#[track_caller]
fn assert_valid(name: &str, document: &Json) {
    let errors: Vec<String> =
        VALIDATOR.iter_errors(document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0], "{name}");
    assert!(Document::read(&document.to_string()).is_ok(), "{name}");
}

/// Reports by hand, which have most fields.
fn by_hand() -> [(&'static str, Json); 7] {
    [
        ("lost update", reports::lost_update("counter").json),
        ("deadlock", reports::deadlock().json),
        ("guards", reports::guards().json),
        ("cluster", reports::cluster().json),
        ("long", reports::long(10).json),
        ("threads", reports::on_threads().json),
        ("passed", reports::passed("demo::fine")),
    ]
}

/// Two tasks add to a word, and an update may be lost.
async fn count() {
    let word = Arc::new(Atomic::new(0));
    let tasks = [1, 2].map(|n| {
        let word = word.clone();
        sim::spawn(async move {
            let seen = word.load(SeqCst).await;
            word.store(seen + n, SeqCst).await;
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    assert!(word.load(SeqCst).await > 0);
}

#[test]
fn the_schema_is_a_schema_and_accepts_reports() {
    assert!(draft202012::meta::is_valid(&SCHEMA));
    for (name, report) in by_hand() {
        assert_valid(name, &report);
    }
    let runner = || Runner::new().hermetic().seeds(0..20).out(folder("schema"));
    let of_runs: [(&str, Report); 5] = [
        ("a panic", runner().run(async || -> () { panic!("always") })),
        ("an error", runner().run(async || Err::<(), _>("always"))),
        ("coverage", runner().coverage(true).statistics(true).run(count)),
        ("a search", runner().strategy("exhaustive").run(count)),
        ("a bounded search", runner().strategy("preemptions:1").run(count)),
    ];
    for (name, report) in of_runs {
        let document = sim::report::json(&report, &Style::default());
        assert_valid(name, &serde_json::from_str(&document).unwrap());
    }
}

/// A value in a document.
struct Located {
    /// The JSON pointer of the value.
    pointer: String,
    /// The pointer with `*` for each index.
    pattern: String,
}

/// Adds a value and the values in it. Adds only the first of several values with the same pattern.
fn locate(value: &Json, at: Located, seen: &mut BTreeSet<String>, found: &mut Vec<Located>) {
    let below = |pointer: &str, pattern: &str| Located {
        pointer: format!("{}/{pointer}", at.pointer),
        pattern: format!("{}/{pattern}", at.pattern),
    };
    let children: Vec<(Located, &Json)> = match value {
        Json::Object(fields) => {
            fields.iter().map(|(name, child)| (below(name, name), child)).collect()
        }
        Json::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(index, child)| (below(&index.to_string(), "*"), child)).collect()
        }
        _ => Vec::new(),
    };
    if seen.insert(at.pattern.clone()) {
        found.push(at);
    }
    children.into_iter().for_each(|(at, child)| locate(child, at, seen, found));
}

/// Returns the values of a document, one for each pattern.
fn values_of(document: &Json) -> Vec<Located> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    let root = Located { pointer: String::new(), pattern: String::new() };
    locate(document, root, &mut seen, &mut found);
    found
}

fn is_read(document: &Json) -> bool {
    Document::read(&document.to_string()).is_ok()
}

/// Returns the documents that are changed. Together they have most fields.
fn to_change() -> [Json; 2] {
    [reports::lost_update("counter").json, reports::cluster().json]
}

#[test]
fn a_value_of_another_type_is_refused() {
    for document in to_change() {
        for Located { pointer, .. } in values_of(&document) {
            let mut changed = document.clone();
            let value = changed.pointer_mut(&pointer).unwrap();
            *value = if value.is_object() { json!("planted") } else { json!({"planted": []}) };
            assert!(!VALIDATOR.is_valid(&changed), "{pointer}");
            assert!(!is_read(&changed), "{pointer}");
        }
    }
}

#[test]
fn a_missing_field_is_refused() {
    let mut refused = BTreeSet::new();
    for document in to_change() {
        for Located { pointer, pattern } in values_of(&document) {
            let Some((parent, name)) = pointer.rsplit_once('/') else { continue };
            let mut changed = document.clone();
            let Json::Object(fields) = changed.pointer_mut(parent).unwrap() else { continue };
            assert!(fields.remove(name).is_some(), "{pointer}");
            // The data of a failure depends on its kind, and readers accept later kinds.
            let is_data = parent == "/finding/failure" && ["panic", "history"].contains(&name);
            let accepted = VALIDATOR.is_valid(&changed);
            assert_eq!(accepted, is_read(&changed) && !is_data, "{pointer}");
            refused.extend((!accepted).then_some(pattern));
        }
    }
    for field in ["/version", "/finding/failure/panic", "/finding/run/events/*/place", "/places"] {
        assert!(refused.contains(field), "{field}: {refused:?}");
    }
    assert!(refused.len() > 150, "{}", refused.len());
}

#[test]
fn an_unknown_word_is_refused() {
    let words = [
        "/format",
        "/finding/failure/kind",
        "/finding/failure/signature/kind",
        "/finding/failure/history/verdict/kind",
        "/finding/from/kind",
        "/finding/run/events/*/values/kind",
        "/finding/run/histories/*/verdict/kind",
        "/finding/run/objects/*/values",
        "/finding/run/programs/*/commands/*/fate",
        "/finding/why/remedy/kind",
    ];
    let mut refused = BTreeSet::new();
    for document in to_change() {
        let values = values_of(&document).into_iter();
        for Located { pointer, pattern } in values.filter(|at| words.contains(&&*at.pattern)) {
            let mut changed = document.clone();
            *changed.pointer_mut(&pointer).unwrap() = json!("planted");
            assert!(!VALIDATOR.is_valid(&changed), "{pointer}");
            refused.insert(pattern);
        }
        let mut changed = document.clone();
        changed["version"] = json!(2);
        assert!(!VALIDATOR.is_valid(&changed) && !is_read(&changed));
        // An object that belongs to another kind of failure.
        let mut changed = document;
        changed["finding"]["failure"]["error"] = json!({"message": "planted"});
        assert!(!VALIDATOR.is_valid(&changed));
    }
    assert_eq!(refused, BTreeSet::from(words.map(str::to_owned)));
}

#[test]
fn fields_of_later_versions_are_accepted() {
    for mut document in to_change() {
        document["mood"] = json!("bright");
        document["finding"]["run"]["mood"] = json!(["bright"]);
        assert_valid("later", &document);
    }
}
