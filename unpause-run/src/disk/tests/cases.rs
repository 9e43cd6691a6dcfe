//! Known cases. Each case has a program, the paths that recovery reads, and all contents that recovery may find.
//!
//! Sources: ALICE (Pillai et al., OSDI 2014), CrashMonkey and ACE (Mohan et al., OSDI 2018), crash-consistency models
//! (Bornholt et al., ASPLOS 2016), failures of fsync (Rebello et al., ATC 2020). A sector has two bytes. `0` is a zero
//! byte, `-` a missing file, and `''` an empty file.

use std::collections::BTreeSet;

use super::program::Act::{self, *};
use super::reference::Reference;
use super::*;

fn write(path: &'static str, at: u64, bytes: &str) -> Act {
    Write(path, at, bytes.as_bytes().to_vec())
}

fn append(path: &'static str, bytes: &str) -> Act {
    Append(path, bytes.as_bytes().to_vec())
}

fn old(content: &str) -> Vec<Act> {
    vec![Create("/f"), write("/f", 0, content), SyncAll]
}

/// Asserts that the model may leave exactly these states, and that the definition allows exactly these states.
#[track_caller]
fn assert_leaves(program: &[Act], paths: &[&str], rules: Rules, expected: &str) {
    let mut before = disk(rules);
    program::run(program, &mut before, &mut newest);
    before.power_off();
    let found = enumerate(|draw| {
        let mut disk = before.clone();
        paths.iter().map(|path| show(&mut disk, path, draw)).collect::<Vec<_>>()
    });
    let found: BTreeSet<String> = found.into_iter().map(|(seen, _)| seen.join(",")).collect();
    let mut reference = Reference::new(rules);
    program.iter().for_each(|act| reference.act(act));
    let allowed = reference.crashed().into_iter().map(|disk| disk.show(paths).join(","));
    let expected: BTreeSet<String> = expected.split(' ').map(str::to_owned).collect();
    assert_eq!(found, expected, "{program:?} under {rules:?}");
    assert_eq!(allowed.collect::<BTreeSet<String>>(), expected, "definition: {program:?}");
}

/// Asserts the contents after a program under three sets of rules: POSIX, a journal, and ext4. Ext4 also flushes a file
/// that is renamed over another file.
#[track_caller]
fn case(begin: Vec<Act>, program: &[Act], paths: &[&str], posix: &str, journal: &str, ext4: &str) {
    let program = [begin, program.to_vec()].concat();
    let no_flush = Rules { rename_flushes: false, ..Rules::EXT4 };
    assert_leaves(&program, paths, Rules::POSIX, posix);
    assert_leaves(&program, paths, no_flush, journal);
    assert_leaves(&program, paths, Rules::EXT4, ext4);
}

/// Asserts a case in which the journal and ext4 agree.
#[track_caller]
fn simple(begin: Vec<Act>, program: &[Act], paths: &[&str], posix: &str, journal: &str) {
    case(begin, program, paths, posix, journal, journal);
}

#[test]
fn replacing_by_rename_needs_a_sync_of_the_file_and_of_the_directory() {
    let new = [Create("/t"), write("/t", 0, "NEW!")];
    let rename = Rename("/t", "/f");
    let unsynced = [&new[..], std::slice::from_ref(&rename)].concat();
    case(
        old("OLD!"),
        &unsynced,
        &["/f", "/t"],
        "OLD!,- OLD!,'' OLD!,0000 OLD!,NE00 OLD!,00W! OLD!,NEW! '',- 0000,- NE00,- 00W!,- NEW!,-",
        "OLD!,- OLD!,'' OLD!,NEW! NEW!,-",
        "OLD!,NEW! NEW!,-",
    );
    let synced = [&new[..], &[Sync("/t"), rename.clone()]].concat();
    simple(old("OLD!"), &synced, &["/f", "/t"], "OLD!,- OLD!,NEW! NEW!,-", "OLD!,NEW! NEW!,-");
    let both = [&synced[..], &[Sync("/")]].concat();
    simple(old("OLD!"), &both, &["/f", "/t"], "NEW!,-", "NEW!,-");
    let directory = [&unsynced[..], &[Sync("/")]].concat();
    simple(old("OLD!"), &directory, &["/f"], "'' 0000 NE00 00W! NEW!", "NEW!");
    let by_new_name = [&unsynced[..], &[Sync("/f"), Sync("/")]].concat();
    simple(old("OLD!"), &by_new_name, &["/f"], "NEW!", "NEW!");
}

#[test]
fn appends_leave_zeros_where_a_length_is_on_disk_without_its_data() {
    simple(old("AB"), &[append("/f", "CD")], &["/f"], "AB AB00 ABCD", "AB ABCD");
    simple(
        old("AB"),
        &[append("/f", "CD"), append("/f", "EF")],
        &["/f"],
        "AB AB00 ABCD AB0000 ABCD00 AB00EF ABCDEF",
        "AB ABCD ABCDEF",
    );
}

#[test]
fn overwrites_are_torn_between_sectors_and_never_within_one() {
    let all = "OLD! NED! OLW! NEW!";
    simple(old("OLD!"), &[write("/f", 0, "NEW!")], &["/f"], all, all);
    let twice = [write("/f", 0, "CD"), write("/f", 0, "EF")];
    simple(old("AB"), &twice, &["/f"], "AB CD EF", "AB CD EF");
}

#[test]
fn a_new_name_needs_a_sync_of_its_directory() {
    let file = [Create("/f"), write("/f", 0, "AB"), Sync("/f")];
    simple(vec![], &file, &["/f"], "- AB", "AB");
    let with_directory = [&file[..], &[Sync("/")]].concat();
    simple(vec![], &with_directory, &["/f"], "AB", "AB");
    let nested = [Mkdir("/d"), Create("/d/f"), write("/d/f", 0, "AB"), Sync("/d/f"), Sync("/d")];
    simple(vec![], &nested, &["/d", "/d/f"], "-,- dir,AB", "dir,AB");
}

#[test]
fn data_passes_its_log_without_a_sync_between() {
    let begin = vec![Create("/log"), Create("/db"), write("/db", 0, "AB"), SyncAll];
    let (log, data) = (write("/log", 0, "L1"), write("/db", 0, "XY"));
    let unsynced = [log.clone(), data.clone()];
    let posix = "'',AB '',XY 00,AB 00,XY L1,AB L1,XY";
    simple(begin.clone(), &unsynced, &["/log", "/db"], posix, "'',AB '',XY L1,AB L1,XY");
    let synced = [log, Sync("/log"), data];
    simple(begin, &synced, &["/log", "/db"], "L1,AB L1,XY", "L1,AB L1,XY");
}

#[test]
fn truncated_bytes_never_come_back() {
    let replace = [Truncate("/f", 0), write("/f", 0, "NEW!")];
    simple(old("OLD!"), &replace, &["/f"], "OLD! '' 0000 NE00 00W! NEW!", "OLD! '' NEW!");
    let extend = [Truncate("/f", 1), Sync("/f"), write("/f", 3, "Z"), Sync("/f")];
    simple(old("OLD!"), &extend, &["/f"], "O00Z", "O00Z");
}

#[test]
fn names_are_reordered_in_and_between_directories() {
    let begin = vec![Create("/1"), write("/1", 0, "A1"), SyncAll];
    let segments = [Create("/2"), write("/2", 0, "A2"), Sync("/2"), Unlink("/1")];
    simple(begin, &segments, &["/1", "/2"], "A1,- A1,A2 -,- -,A2", "A1,A2 -,A2");
    let recreate = [Rename("/f", "/g"), Create("/f"), write("/f", 0, "XY"), Sync("/f")];
    simple(old("AB"), &recreate, &["/f", "/g"], "AB,- -,AB XY,AB", "XY,AB");
    let link = [Link("/f", "/g"), Unlink("/f")];
    simple(old("AB"), &link, &["/f", "/g"], "AB,- AB,AB -,- -,AB", "AB,- AB,AB -,AB");
    let begin =
        vec![Mkdir("/a"), Mkdir("/b"), Create("/a/f"), write("/a/f", 0, "AB"), Sync("/a/f")];
    let begin = [begin, vec![Sync("/a"), SyncAll]].concat();
    let across = [Rename("/a/f", "/b/f"), Sync("/b")];
    simple(begin, &across, &["/a/f", "/b/f"], "-,AB", "-,AB");
}

#[test]
fn a_failed_sync_forgets_what_it_should_have_written() {
    let (new, fails, sync) = (write("/f", 0, "CD"), FailSync("/f"), Sync("/f"));
    let again = [new.clone(), fails.clone(), sync.clone()];
    simple(old("AB"), &again, &["/f"], "AB CD", "AB CD");
    let rewritten = [new.clone(), fails.clone(), new, sync.clone()];
    simple(old("AB"), &rewritten, &["/f"], "CD", "CD");
    let log = [append("/f", "CD"), fails, append("/f", "EF"), sync];
    simple(old("AB"), &log, &["/f"], "AB00EF ABCDEF", "AB00EF ABCDEF");
}

#[test]
fn a_failed_sync_of_one_directory_leaves_a_rename_to_the_sync_of_the_other() {
    let begin = [Mkdir("/d"), Create("/d/a"), Sync("/d"), SyncAll];
    let fails = [Rename("/d/a", "/a"), FailSync("/d")];
    let program = [&begin[..], &fails].concat();
    let posix = "-,'' '',-";
    simple(vec![], &[&program[..], &[Sync("/d")]].concat(), &["/a", "/d/a"], posix, "'',-");
    simple(vec![], &[&program[..], &[Sync("/")]].concat(), &["/a", "/d/a"], "'',-", "'',-");
}

#[test]
fn without_a_journal_a_rename_leaves_both_names() {
    let program = [old("AB"), vec![Rename("/f", "/g")]].concat();
    assert_leaves(&program, &["/f", "/g"], Rules::UNJOURNALED, "AB,- AB,AB -,AB");
    assert_leaves(&program, &["/f", "/g"], Rules::POSIX, "AB,- -,AB");
}

#[test]
fn a_prefix_has_no_later_call_without_the_earlier_ones() {
    let program = [old("AB"), vec![append("/f", "CD"), Create("/g"), write("/g", 0, "X")]].concat();
    let prefixes = "AB,- ABCD,- ABCD,'' ABCD,X";
    assert_leaves(&program, &["/f", "/g"], Rules::PREFIX, prefixes);
}
