//! Enforces the rules of the repository that a program can check: imports between modules, bans,
//! form.
//!
//! Each check is a function from texts to [`Offence`]s. A check has its own file, with a planted offender and the fixed
//! twin; this file applies the checks to the working tree. A rule that needs judgement, for example about good names,
//! is left to reviewers. The rules themselves are in `ARCHITECTURE.md`.

#[path = "tidy/tree.rs"]
mod tree;

#[path = "tidy/layers.rs"]
mod layers;

#[path = "tidy/parts.rs"]
mod parts;

#[path = "tidy/bans.rs"]
mod bans;

#[path = "tidy/costly.rs"]
mod costly;

#[path = "tidy/safety.rs"]
mod safety;

#[path = "tidy/wakers.rs"]
mod wakers;

#[path = "tidy/lost_wakers.rs"]
mod lost_wakers;

#[path = "tidy/callers.rs"]
mod callers;

#[path = "tidy/engine.rs"]
mod engine;

#[path = "tidy/form.rs"]
mod form;

#[path = "tidy/names.rs"]
mod names;

#[path = "tidy/functions.rs"]
mod functions;

#[path = "tidy/linted.rs"]
mod linted;

#[path = "tidy/locks.rs"]
mod locks;

#[path = "tidy/words.rs"]
mod words;

#[path = "tidy/sentences.rs"]
mod sentences;

#[path = "tidy/pages.rs"]
mod pages;

#[path = "tidy/first_page.rs"]
mod first_page;

#[path = "tidy/source.rs"]
mod source;

#[path = "tidy/methods.rs"]
mod methods;

#[path = "tidy/operations.rs"]
mod operations;

use source::{CHECKERS, Library, Sources};
use tree::{Offence, Tree};

/// All checks of syntax trees are in one test, because each source is then parsed only once:
///
/// - Modules name only modules that their layer allows, and the core of a run names no part.
/// - Data and siblings touch nothing outside the run.
/// - A panic of misuse names the line of the caller.
/// - Every function of a run is an operation, or has an entry with the reason why it is not.
/// - No function is longer than a screen or two.
#[test]
fn modules_and_functions_of_the_engine_keep_their_rules() {
    let tree = Tree::of_the_repository();
    let sources = Sources::parse(&tree.files);
    let library = Library::of(&sources);
    let dependencies = layers::dependencies(tree.text("Cargo.toml"));
    let offences = [
        layers::check(&library, &dependencies),
        parts::check(&sources, &library),
        bans::check(&library),
        bans::check_all(&Library::below(&[CHECKERS], &sources)),
        callers::check(&sources),
        operations::check(&tree.files, &sources),
        functions::check(&sources),
    ];
    assert_none(offences.concat());
}

#[test]
fn the_feature_is_asked_for_in_few_files_only() {
    assert_none(each(bans::feature_outside_its_files));
}

#[test]
fn what_users_compile_has_no_code_that_is_compiled_for_each_use() {
    assert_none(each(costly::check));
}

#[test]
fn no_source_contains_unsafe() {
    assert_none(each(safety::unsafe_words));
}

#[test]
fn no_wake_up_hides_an_earlier_one() {
    assert_none(each(wakers::check));
}

#[test]
fn no_poll_takes_the_waker_of_a_task() {
    assert_none(each(lost_wakers::check));
}

#[test]
fn every_crate_root_forbids_unsafe() {
    assert_none(each(safety::root_without_forbid));
}

#[test]
fn every_manifest_takes_the_lints() {
    assert_none(each(safety::manifest_without_lints));
}

#[test]
fn no_source_is_longer_than_the_limit() {
    assert_none(each(form::too_long));
}

#[test]
fn names_of_files_say_to_which_room_they_belong() {
    assert_none(names::check(&Tree::of_the_repository().files));
}

#[test]
fn lock_files_have_all_crates_of_this_workspace() {
    let tree = Tree::of_the_repository();
    let locks = tree.files.iter().filter(|file| file.path.ends_with("Cargo.lock")).count();
    assert!(locks > 3, "{locks} lock files");
    assert_none(locks::incomplete(&tree.files));
}

#[test]
fn lists_of_the_engine_have_all_its_crates() {
    assert_none(engine::incomplete(&Tree::of_the_repository().files));
}

#[test]
fn the_gate_lints_every_library() {
    assert_none(linted::forgotten(&Tree::of_the_repository().files));
}

#[test]
fn no_comment_is_wider_than_the_limit() {
    assert_none(each(form::too_wide));
}

#[test]
fn no_test_is_compiled_for_nothing() {
    assert_none(each(form::compiled_for_nothing));
}

#[test]
fn every_source_opens_with_what_it_is_for() {
    assert_none(each(form::without_opening));
}

#[test]
fn the_architecture_page_names_every_module() {
    let tree = Tree::of_the_repository();
    assert_none(form::modules_off_the_map(&tree.files));
}

#[test]
fn no_file_names_a_machine_or_a_registry_host() {
    assert_none(each(words::check));
}

#[test]
fn comments_are_clear_at_the_first_reading() {
    assert_none(sentences::check(&Tree::of_the_repository().files));
}

#[test]
fn links_between_pages_lead_somewhere() {
    assert_none(pages::broken_links(&Tree::of_the_repository().files));
}

#[test]
fn pages_have_short_sentences_and_cells() {
    assert_none(each(pages::long_sentences));
    assert_none(each(pages::long_cells));
    assert_none(each(pages::long_first_page));
}

#[test]
fn the_first_page_of_the_manual_names_all_modules_and_features() {
    assert_none(first_page::check(&Tree::of_the_repository().files));
}

/// Returns the offences of all files of the repository, checked file by file.
fn each(check: impl Fn(&tree::File) -> Vec<Offence>) -> Vec<Offence> {
    Tree::of_the_repository().files.iter().flat_map(check).collect()
}

#[track_caller]
fn assert_none(offences: Vec<Offence>) {
    let lines: Vec<String> = offences.iter().map(Offence::to_string).collect();
    assert!(lines.is_empty(), "{} offences:\n{}", lines.len(), lines.join("\n"));
}
