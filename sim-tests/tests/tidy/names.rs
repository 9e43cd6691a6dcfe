//! The names of files. A name must show to which room its file belongs, or occur in only a few rooms.
//!
//! An editor, a stack trace and a file search show the name without its folders. So a name occurs in at most
//! [`ROOMS_MAX`] rooms, and at most once in each room. A name that would occur more often contains the word of its
//! room: `node_clock.rs` and `clock_setting.rs`, not two files called `clock.rs`.

use std::collections::BTreeMap;

use crate::source::ROOTS;
use crate::tree::{File, Offence};

/// The maximum number of rooms with a file of one name.
const ROOMS_MAX: usize = 2;

/// File names that have a special meaning.
const COMMON: &[&str] = &["lib.rs", "mod.rs", "tests.rs"];

/// Folders whose files have, on purpose, the same name as the file that they complete.
const PAIRED: &[(&str, &str)] = &[
    ("src/seam/", "the contract of a primitive, and its two sides"),
    ("unpause-run/src/run/op/", "the operations of a primitive"),
    ("unpause-run/src/report/json/", "the JSON form of a part of the screen"),
    ("unpause-run/src/report/properties/", "the tests of a part of the screen"),
    ("src/tokio/sync/broadcast/", "a half of the channel with the name of the folder"),
    ("src/tokio/sync/mpsc/", "a half of the channel with the name of the folder"),
    ("src/tokio/sync/watch/", "a half of the channel with the name of the folder"),
];

/// Names that occur in more rooms, or more often in one room. This list must only become shorter.
const KNOWN: &[&str] = &[
    "chances.rs",
    "decisions.rs",
    "json.rs",
    "kept.rs",
    "memory.rs",
    "orders.rs",
    "properties.rs",
];

/// Returns names of files that occur in too many rooms.
pub(crate) fn check(files: &[File]) -> Vec<Offence> {
    check_with(files, KNOWN)
}

fn check_with(files: &[File], known: &[&str]) -> Vec<Offence> {
    let mut named: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let Some(path) = ROOTS.iter().find_map(|root| file.path.strip_prefix(root)) else {
            continue;
        };
        let (room, name) = (path.split('/').next(), path.rsplit('/').next());
        let (Some(room), Some(name)) = (room, name) else { continue };
        let is_paired = PAIRED.iter().any(|(folder, _)| file.path.starts_with(folder));
        if !COMMON.contains(&name) && !is_paired && !path.contains("/tests/") {
            named.entry(name).or_default().push((room.trim_end_matches(".rs"), file));
        }
    }
    let mut offences = Vec::new();
    for (name, places) in named {
        let mut rooms: Vec<&str> = places.iter().map(|(room, _)| *room).collect();
        rooms.sort_unstable();
        rooms.dedup();
        let is_spread = rooms.len() > ROOMS_MAX || rooms.len() < places.len();
        let (_, last) = places[places.len() - 1];
        if is_spread && !known.contains(&name) {
            let message = format!(
                "{} files are called `{name}`, in {}: give a file the word of its room",
                places.len(),
                rooms.join(", ")
            );
            offences.push(Offence::new(last, 0, message));
        } else if !is_spread && known.contains(&name) {
            let message = format!("`{name}` is in few rooms now: take it off KNOWN");
            offences.push(Offence::new(last, 0, message));
        }
    }
    offences
}

mod tests {
    use super::*;

    /// The messages about files with these paths.
    fn offences(paths: &[&str], known: &[&str]) -> Vec<String> {
        let files: Vec<File> = paths.iter().map(|path| File::new(path, "//! x")).collect();
        check_with(&files, known).into_iter().map(|offence| offence.message).collect()
    }

    #[test]
    fn a_name_in_three_rooms_is_found() {
        let two = ["src/node/clock.rs", "unpause-run/src/run/clock.rs"];
        assert_eq!(offences(&two, &[]), [""; 0]);
        let three = ["src/node/clock.rs", "src/rt/parts/clock.rs", "unpause-run/src/run/clock.rs"];
        let found = offences(&three, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("3 files are called `clock.rs`, in node, rt, run"), "{found:?}");
        let renamed =
            ["src/node/clock.rs", "src/rt/parts/node_clock.rs", "unpause-run/src/run/clock.rs"];
        assert_eq!(offences(&renamed, &[]), [""; 0]);
    }

    #[test]
    fn a_name_that_a_room_has_twice_is_found() {
        let twice = ["src/net/stream.rs", "src/net/sockets/tcp/stream.rs"];
        assert_eq!(offences(&twice, &[]).len(), 1);
        assert_eq!(offences(&["src/net/stream.rs", "src/net/tcp_stream.rs"], &[]), [""; 0]);
    }

    #[test]
    fn paired_files_and_tests_may_have_the_same_name() {
        let paired = ["src/seam/sim/once.rs", "src/seam/real/once.rs", "src/sync/once.rs"];
        assert_eq!(offences(&paired, &[]), [""; 0]);
        let tests = ["src/a/tests/b.rs", "src/c/tests/b.rs", "src/d/tests/b.rs"];
        assert_eq!(offences(&tests, &[]), [""; 0]);
        let folders = ["src/a/mod.rs", "src/b/mod.rs", "src/c/mod.rs"];
        assert_eq!(offences(&folders, &[]), [""; 0]);
    }

    #[test]
    fn a_known_name_that_is_in_few_rooms_is_found() {
        let few = ["src/a/part.rs", "src/b/part.rs"];
        assert_eq!(
            offences(&few, &["part.rs"]),
            ["`part.rs` is in few rooms now: take it off KNOWN"]
        );
        let many = ["src/a/part.rs", "src/b/part.rs", "src/c/part.rs"];
        assert_eq!(offences(&many, &["part.rs"]), [""; 0]);
    }
}
