//! Full disks, failed syncs and open files: states that no real file system shows on request.

use std::path::Path;

use super::*;

fn open(disk: &mut Disk, path: &str) -> Handle {
    disk.call(&mut newest).open(Path::new(path), OpenOptions { read: true, ..CREATE }).unwrap()
}

fn write_at(disk: &mut Disk, file: Handle, at: u64, bytes: &str) -> Result<usize, Error> {
    disk.call(&mut newest).write_at(file, at, bytes.as_bytes())
}

fn sync(disk: &mut Disk, file: Handle, fate: SyncFate) -> Result<(), Error> {
    disk.call(&mut newest).sync(file, fate)
}

fn now(disk: &mut Disk, path: &str) -> String {
    show(disk, path, &mut newest)
}

/// All contents that a crash may leave at `path`.
fn left(disk: &Disk, path: &str) -> Vec<String> {
    let mut crashed = disk.clone();
    crashed.power_off();
    let mut left: Vec<String> = enumerate(|draw| show(&mut crashed.clone(), path, draw))
        .into_iter()
        .map(|run| run.0)
        .collect();
    left.sort();
    left.dedup();
    left
}

#[test]
fn a_full_disk_takes_a_part_and_then_nothing_until_space_is_free() {
    let mut disk = Disk::new(Settings { sector: 2, capacity: Some(6), ..Settings::default() });
    let (a, b) = (open(&mut disk, "/a"), open(&mut disk, "/b"));
    assert_eq!(write_at(&mut disk, a, 0, "aaaa"), Ok(4));
    assert_eq!(write_at(&mut disk, b, 0, "bbbb"), Ok(2));
    assert_eq!(now(&mut disk, "/b"), "bb");
    assert_eq!(write_at(&mut disk, b, 2, "bb"), Err(Error::FULL));
    // Overwriting takes no space, and a hole has no space.
    assert_eq!(write_at(&mut disk, a, 1, "xyz"), Ok(3));
    disk.call(&mut newest).set_len(a, 100).unwrap();
    assert_eq!(write_at(&mut disk, a, 98, "z"), Err(Error::FULL));
    disk.call(&mut newest).set_len(a, 2).unwrap();
    assert_eq!(write_at(&mut disk, b, 2, "bbbb"), Ok(2));
    // The space of a file without a name is free when its last handle is closed.
    disk.call(&mut newest).hard_link(Path::new("/a"), Path::new("/c")).unwrap();
    disk.call(&mut newest).remove_file(Path::new("/a")).unwrap();
    disk.call(&mut newest).remove_file(Path::new("/c")).unwrap();
    assert_eq!(write_at(&mut disk, b, 4, "b"), Err(Error::FULL));
    disk.call(&mut newest).close(a).unwrap();
    assert_eq!(write_at(&mut disk, b, 4, "b"), Ok(1));
}

#[test]
fn an_open_file_without_a_name_stays_readable_and_a_power_failure_closes_it() {
    let mut disk = disk(Rules::POSIX);
    let a = open(&mut disk, "/a");
    write_at(&mut disk, a, 0, "abc").unwrap();
    disk.call(&mut newest).remove_file(Path::new("/a")).unwrap();
    let mut bytes = [0; 3];
    assert_eq!(disk.call(&mut newest).read_at(a, 0, &mut bytes), Ok(3));
    assert_eq!(bytes, *b"abc");
    disk.power_off();
    assert_eq!(disk.call(&mut newest).read_at(a, 0, &mut bytes), Err(Error::BAD_FILE));
    assert_eq!(disk.inode(a), Err(Error::BAD_FILE));
}

#[test]
fn a_failed_sync_is_reported_once_to_each_handle_that_was_open() {
    let mut disk = disk(Rules::POSIX);
    let (one, other) = (open(&mut disk, "/a"), open(&mut disk, "/a"));
    write_at(&mut disk, one, 0, "ab").unwrap();
    assert_eq!(sync(&mut disk, one, SyncFate::FailsAndKeeps), Err(Error::BROKEN));
    let later = open(&mut disk, "/a");
    for (handle, expected) in
        [(later, Ok(())), (one, Ok(())), (other, Err(Error::BROKEN)), (other, Ok(()))]
    {
        assert_eq!(sync(&mut disk, handle, SyncFate::Succeeds), expected);
    }
}

#[test]
fn a_failed_sync_that_reverts_shows_the_contents_of_before_and_leaves_nothing_else() {
    let mut disk = disk(Rules::EXT4);
    let a = open(&mut disk, "/a");
    write_at(&mut disk, a, 0, "ab").unwrap();
    sync(&mut disk, a, SyncFate::Succeeds).unwrap();
    write_at(&mut disk, a, 1, "xyz").unwrap();
    sync(&mut disk, a, SyncFate::FailsAndReverts).unwrap_err();
    assert_eq!((now(&mut disk, "/a").as_str(), disk.pending()), ("ab", 0));
    // Versions of an earlier failure, which kept them, stay.
    write_at(&mut disk, a, 0, "cd").unwrap();
    sync(&mut disk, a, SyncFate::FailsAndKeeps).unwrap_err();
    write_at(&mut disk, a, 0, "ef").unwrap();
    sync(&mut disk, a, SyncFate::FailsAndReverts).unwrap_err();
    assert_eq!(now(&mut disk, "/a"), "cd");
    assert_eq!(left(&disk, "/a"), ["ab", "cd"]);
    // The contents from a previous life return through the layer of that life.
    disk.power_off();
    assert_eq!(now(&mut disk, "/a"), "cd");
    let a = open(&mut disk, "/a");
    disk.call(&mut newest).set_len(a, 0).unwrap();
    sync(&mut disk, a, SyncFate::FailsAndReverts).unwrap_err();
    assert_eq!(now(&mut disk, "/a"), "cd");
}

#[test]
fn a_write_through_a_synchronous_handle_is_durable_when_it_returns() {
    for sync in [false, true] {
        let mut disk = disk(Rules::POSIX);
        run_and_sync(&mut disk);
        let options = OpenOptions { write: true, sync, ..READ };
        let a = disk.call(&mut newest).open(Path::new("/a"), options).unwrap();
        write_at(&mut disk, a, 0, "ab").unwrap();
        let expected: &[&str] = if sync { &["ab"] } else { &["''", "00", "ab"] };
        assert_eq!(left(&disk, "/a"), expected);
    }
}

fn run_and_sync(disk: &mut Disk) {
    open(disk, "/a");
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    sync(disk, root, SyncFate::Succeeds).unwrap();
}

#[test]
fn a_failed_sync_of_a_directory_that_reverts_gives_back_its_names() {
    let mut disk = disk(Rules::POSIX);
    let a = open(&mut disk, "/a");
    write_at(&mut disk, a, 0, "abc").unwrap();
    disk.close(a);
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    sync(&mut disk, root, SyncFate::Succeeds).unwrap();
    disk.call(&mut newest).remove_file(Path::new("/a")).unwrap();
    open(&mut disk, "/b");
    sync(&mut disk, root, SyncFate::FailsAndReverts).unwrap_err();
    assert_eq!((now(&mut disk, "/a").as_str(), now(&mut disk, "/b").as_str()), ("abc", "-"));
    assert_eq!(disk.call(&mut newest).read_dir(Path::new("/")).unwrap().len(), 1);
}

/// A name that a crash brought back is one more than is counted.
#[test]
fn a_file_whose_lost_unlink_left_two_names_keeps_its_contents() {
    let mut disk = disk(Rules::POSIX);
    let a = open(&mut disk, "/a");
    disk.call(&mut newest).hard_link(Path::new("/a"), Path::new("/b")).unwrap();
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    sync(&mut disk, root, SyncFate::Succeeds).unwrap();
    sync(&mut disk, a, SyncFate::Succeeds).unwrap();
    disk.call(&mut newest).remove_file(Path::new("/b")).unwrap();
    disk.power_off();
    assert_eq!(show(&mut disk, "/b", &mut |bound| bound - 1), "''");
    let a = open(&mut disk, "/a");
    write_at(&mut disk, a, 0, "new").unwrap();
    disk.close(a);
    disk.call(&mut newest).remove_file(Path::new("/a")).unwrap();
    assert_eq!(now(&mut disk, "/b"), "new");
}
