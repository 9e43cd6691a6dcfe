//! Faults of the medium.

use std::path::Path;

use super::*;

fn file(disk: &mut Disk, bytes: &[u8]) -> Handle {
    let options = OpenOptions { read: true, ..CREATE };
    let file = disk.call(&mut newest).open(Path::new("/a"), options).unwrap();
    disk.call(&mut newest).write_at(file, 0, bytes).unwrap();
    file
}

fn sync_all(disk: &mut Disk, file: Handle) {
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    disk.call(&mut newest).sync(root, SyncFate::Succeeds).unwrap();
    disk.call(&mut newest).sync(file, SyncFate::Succeeds).unwrap();
}

#[test]
fn a_damaged_sector_is_unreadable_until_it_is_written_whole() {
    let mut disk = disk(Rules::POSIX);
    let a = file(&mut disk, b"abcdef");
    sync_all(&mut disk, a);
    disk.call(&mut newest).damage(a, 1).unwrap();
    disk.power_off();
    let a =
        disk.call(&mut newest).open(Path::new("/a"), OpenOptions { read: true, ..WRITE }).unwrap();
    let mut bytes = [0; 6];
    let mut read_at = |disk: &mut Disk, at| disk.call(&mut newest).read_at(a, at, &mut bytes);
    assert_eq!(read_at(&mut disk, 0), Ok(2), "up to the sector");
    assert_eq!(read_at(&mut disk, 2), Err(Error::BROKEN));
    assert_eq!(read_at(&mut disk, 4), Ok(2));
    let write_at = |disk: &mut Disk, at, bytes| disk.call(&mut newest).write_at(a, at, bytes);
    assert_eq!(
        write_at(&mut disk, 3, b"z"),
        Err(Error::BROKEN),
        "the rest of the sector is not known"
    );
    assert_eq!(write_at(&mut disk, 0, b"xyz"), Ok(2));
    assert_eq!(write_at(&mut disk, 2, b"zz"), Ok(2));
    assert_eq!(read_at(&mut disk, 0), Ok(6));
    assert_eq!(show(&mut disk, "/a", &mut newest), "xyzzef");
    disk.call(&mut newest).damage(a, 2).unwrap();
    disk.call(&mut newest).set_len(a, 4).unwrap();
    disk.call(&mut newest).set_len(a, 6).unwrap();
    assert_eq!(show(&mut disk, "/a", &mut newest), "xyzz00");
}

#[test]
fn a_rotten_bit_is_on_the_disk_and_a_pending_write_cannot_rot() {
    let mut disk = disk(Rules::POSIX);
    let a = file(&mut disk, b"abcd");
    assert_eq!(disk.call(&mut newest).rot(a, 1, 8), Ok(false), "pending");
    sync_all(&mut disk, a);
    assert_eq!(disk.call(&mut newest).rot(a, 1, 8), Ok(true));
    assert_eq!(disk.call(&mut newest).rot(a, 7, 0), Ok(false), "a hole");
    assert_eq!(disk.call(&mut newest).rot(a, 0, 16), Err(Error::INVALID));
    assert_eq!(show(&mut disk, "/a", &mut newest), "abce");
    disk.power_off();
    let left = enumerate(|draw| show(&mut disk.clone(), "/a", draw));
    assert_eq!(left, [("abce".to_owned(), vec![])]);
}

#[test]
fn a_misdirected_write_leaves_its_sector_and_hits_another() {
    let mut disk = disk(Rules::POSIX);
    let a = file(&mut disk, b"aabbcc");
    sync_all(&mut disk, a);
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    assert_eq!(call.sectors_of_write(a, Some(1), 4), Ok((0, 2, 3)));
    call.misdirect(1, 0);
    assert_eq!(call.write_at(a, 2, b"xxyy"), Ok(4));
    assert_eq!(show(&mut disk, "/a", &mut newest), "xxbbyy");
    // The misdirected write overwrites a whole sector, including bytes that the call does not write. The file gets its
    // new length nevertheless.
    let mut call = disk.call(&mut draw);
    assert_eq!(call.sectors_of_write(a, Some(5), 2), Ok((2, 3, 4)));
    call.misdirect(3, 1);
    assert_eq!(call.write_at(a, 5, b"zz"), Ok(2));
    assert_eq!(show(&mut disk, "/a", &mut newest), "xxz0yz0");
    disk.call(&mut newest).sync(a, SyncFate::Succeeds).unwrap();
    disk.power_off();
    let left = enumerate(|draw| show(&mut disk.clone(), "/a", draw));
    assert_eq!(left, [("xxz0yz0".to_owned(), vec![])]);
}

/// The sync of a mapped range.
#[test]
fn a_sync_of_a_range_covers_its_sectors_alone() {
    let mut disk = disk(Rules::POSIX);
    let a = file(&mut disk, b"aabbcc");
    sync_all(&mut disk, a);
    disk.call(&mut newest).write_at(a, 0, b"xxyyzz").unwrap();
    disk.call(&mut newest).flush(a, 2..4, SyncFate::Succeeds).unwrap();
    disk.power_off();
    let left = enumerate(|draw| show(&mut disk.clone(), "/a", draw));
    let left: Vec<String> = left.into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(left, ["xxyyzz", "xxyycc", "aayyzz", "aayycc"]);
}
