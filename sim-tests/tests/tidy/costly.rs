//! Code of the standard library that is compiled again for each use while a user waits: B-trees and sorts by a
//! closure. `unpause-ordered` has both, compiled once.

use crate::tree::{File, Offence};

/// The crates that builds of users' tests compile. `unpause-native` is not held: only builds for plain
/// threads compile it, and it has some twenty such places.
const ROOTS: [&str; 7] = [
    "src/",
    "unpause-check/src/",
    "unpause-macros/src/",
    "unpause-run/src/",
    "unpause-tokio/src/",
    "unpause-tokio-test/src/",
    "unpause-words/src/",
];

const COSTLY: [(&str, &str); 6] = [
    ("BTreeMap", "`unpause_ordered::Map`"),
    ("BTreeSet", "`unpause_ordered::Set`"),
    (".sort_by(", "`unpause_ordered::sort_by`"),
    (".sort_unstable_by(", "`unpause_ordered::sort_by`, or `sort_unstable` and `reverse`"),
    (".sort_by_key(", "`unpause_ordered::sort_by_key`, or `sort_by_number`"),
    (".sort_unstable_by_key(", "`unpause_ordered::sort_by_key`, or `sort_by_number`"),
];

/// Files that may use such code, with the reason.
const EXCEPTIONS: [(&str, &str); 3] = [
    (
        "unpause-check/src/models/",
        "users read states and results of models as types that they know",
    ),
    ("unpause-check/src/linearizable/probe.rs", "each state of a search sorts its moves"),
    (
        "unpause-run/src/run/statistics.rs",
        "users read the labels of a report as a type that they know",
    ),
];

pub(crate) fn check(file: &File) -> Vec<Offence> {
    let held = ROOTS.iter().any(|root| file.path.starts_with(root)) && file.is_rust();
    if !held
        || is_for_tests(&file.path)
        || EXCEPTIONS.iter().any(|(path, _)| file.path.starts_with(path))
    {
        return Vec::new();
    }
    let own = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut offences = Vec::new();
    for (number, line) in
        (1..).zip(own.lines()).filter(|(_, line)| !line.trim_start().starts_with("//"))
    {
        for (name, instead) in COSTLY.iter().filter(|(name, _)| line.contains(name)) {
            let message = format!(
                "`{name}` is compiled anew for each use, in each user's build; instead: {instead}"
            );
            offences.push(Offence::new(file, number, message));
        }
    }
    offences
}

/// Modules that only tests have are in folders and files of these names.
fn is_for_tests(path: &str) -> bool {
    path.contains("/tests")
        || path.ends_with("strategy/enumerate.rs")
        || path.contains("brute_force")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(path: &str, text: &str) -> Vec<Offence> {
        check(&File { path: path.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_tree_and_a_sort_are_found_where_users_compile_them() {
        for (name, _) in COSTLY {
            let text = format!(
                "// {name}\nuse x;\nlet y = items{name}();\n#[cfg(test)]\nmod tests {{\n{name}\n}}\n"
            );
            let found = offences("src/time/queue.rs", &text);
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].line, 3);
            for fixed in [
                "unpause-histories/src/lib.rs",
                "src/time/tests/queue.rs",
                "unpause-check/src/models/set.rs",
            ] {
                assert!(offences(fixed, &text).is_empty(), "{fixed}");
            }
        }
        assert!(
            offences(
                "src/time/queue.rs",
                "sort_by_key(&mut items, |item| item.at);\nMap::new();\n"
            )
            .is_empty()
        );
    }
}
