//! Errors of `#[sim::test]` for wrong uses, by text and place.
//!
//! The files are built as programs without their tests. Therefore these files contain only rejected tests; accepted
//! tests are in `macro_contract` and `macro_beside_others`. After a change of a message or a compiler,
//! `UPDATE_EXPECT=1 cargo test --test macro_errors` rewrites the `.stderr` files.

#[path = "compiled/mod.rs"]
mod compiled;

use std::fs;
use std::path::PathBuf;

use compiled::{build_the_library, compile, package};

#[test]
fn errors_stand_where_they_are_made() {
    let libraries = build_the_library("macro_errors");
    let mut cases: Vec<PathBuf> = fs::read_dir(package().join("tests/ui"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no file in tests/ui");
    for case in cases {
        let output = compile(&case, &libraries, &["--diagnostic-width", "140"]);
        assert!(!output.status.success(), "{} compiles", case.display());
        let errors = without_summary(&String::from_utf8(output.stderr).unwrap());
        expect_test::expect_file![case.with_extension("stderr")].assert_eq(&errors);
    }
}

/// The errors without the lines at the end that count them and refer to explanations.
fn without_summary(errors: &str) -> String {
    let end = errors.find("\nerror: aborting due to ").expect("errors end with how many they are");
    errors[..end].to_owned()
}
