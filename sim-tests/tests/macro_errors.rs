//! What `#[sim::test]` says about its wrong uses, by text and place.
//!
//! The files are built as programs, in which tests are left out, so here are only tests that are
//! refused; those that are accepted are in `macro_contract` and `macro_beside_others`.
//! After a change of a message or a compiler, `TRYBUILD=overwrite cargo test --test macro_errors`
//! writes the `.stderr` files anew.

#[test]
fn errors_stand_where_they_are_made() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
