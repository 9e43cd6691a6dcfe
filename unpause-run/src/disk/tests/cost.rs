//! Costs: the disk forgets synced effects, and closures have linear cost.

use std::path::Path;

use super::*;

fn append_to(disk: &mut Disk, sync: bool) -> Handle {
    let options = OpenOptions { append: true, read: true, sync, ..CREATE };
    disk.call(&mut newest).open(Path::new("/log"), options).unwrap()
}

/// Quadratic work would take minutes, or hours in the long test.
#[test]
fn a_log_with_a_sync_for_each_record_has_no_pending_effects() {
    for rules in [Rules::POSIX, Rules::EXT4, Rules::PREFIX] {
        let mut disk = Disk::new(Settings { rules, ..Settings::default() });
        let log = append_to(&mut disk, false);
        for n in 0..if crate::long() { 100_000 } else { 25_000_u64 } {
            disk.call(&mut newest).write(log, &n.to_le_bytes()).unwrap();
            assert!(disk.pending() <= 3);
            disk.call(&mut newest).sync(log, SyncFate::Succeeds).unwrap();
            // Under POSIX, the name is not synced.
            assert_eq!(disk.pending(), usize::from(rules == Rules::POSIX));
        }
    }
}

/// A log of `count` records without a sync, read completely by recovery: the number of intact
/// records.
fn kept_records(rules: Rules, count: u64, mut answer: impl FnMut(u64) -> u64) -> u64 {
    let mut disk = Disk::new(Settings { rules, sector: 8, ..Settings::default() });
    let log = append_to(&mut disk, false);
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    disk.call(&mut newest).sync(root, SyncFate::Succeeds).unwrap();
    for n in 1..=count {
        disk.call(&mut newest).write(log, &n.to_le_bytes()).unwrap();
    }
    assert_eq!(disk.pending() as u64, 2 * count);
    disk.power_off();
    let log = disk.call(&mut answer).open(Path::new("/log"), READ).unwrap();
    let mut bytes = vec![0; 8 * count as usize];
    let read = disk.call(&mut answer).read(log, &mut bytes).unwrap();
    let records = (1_u64..).zip(bytes[..read].chunks(8));
    records.filter(|(n, bytes)| *bytes == n.to_le_bytes()).count() as u64
}

#[test]
fn a_crash_with_many_pending_effects_is_read_in_linear_time() {
    let count = if crate::long() { 30_000 } else { 3_000 };
    for rules in [Rules::POSIX, Rules::EXT4, Rules::PREFIX] {
        let is_posix = rules == Rules::POSIX;
        // The draws begin with the length. Some rules keep the whole length only with all records. Under the other
        // rules, one record in three is old.
        let mut asked = 0;
        let third = kept_records(rules, count, |_| {
            asked += 1;
            u64::from(asked % 3 == 0)
        });
        assert_eq!(third, if is_posix { count * 2 / 3 } else { count }, "{rules:?}");
        // Each location keeps half of its versions.
        let half = kept_records(rules, count, |bound| bound / 2);
        assert_eq!(half, if is_posix { 0 } else { count / 2 }, "{rules:?}");
    }
}

#[test]
fn a_program_that_never_syncs_has_its_oldest_effects_written_back() {
    let settings = Settings { sector: 2, pending_max: 10, ..Settings::default() };
    let mut disk = Disk::new(settings);
    let log = append_to(&mut disk, false);
    for byte in b'a'..=b'z' {
        disk.call(&mut newest).write(log, &[byte, byte]).unwrap();
        assert!(disk.pending() <= 10);
    }
    disk.power_off();
    // The oldest of all versions: five records are pending.
    let oldest = show(&mut disk, "/log", &mut |bound| bound - 1);
    assert_eq!(oldest, "aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuu");
}

#[test]
fn an_effect_whose_sync_failed_is_not_written_back() {
    let settings = Settings { sector: 2, pending_max: 10, ..Settings::default() };
    let mut disk = Disk::new(settings);
    let file = disk.call(&mut newest).open(Path::new("/a"), CREATE).unwrap();
    disk.call(&mut newest).write(file, b"xx").unwrap();
    disk.call(&mut newest).sync(file, SyncFate::FailsAndKeeps).unwrap_err();
    let log = append_to(&mut disk, false);
    for byte in b'a'..=b'z' {
        disk.call(&mut newest).write(log, &[byte, byte]).unwrap();
        assert!(disk.pending() <= 12);
    }
    disk.power_off();
    // The oldest of all versions: the name is written back, and the contents are not.
    assert_eq!(show(&mut disk, "/a", &mut |bound| bound - 1), "''");
    let oldest = show(&mut disk, "/log", &mut |bound| bound - 1);
    assert_eq!(oldest, "aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuu");
}

#[test]
fn a_sparse_file_costs_what_was_written() {
    let mut disk = disk(Rules::POSIX);
    let log = disk.call(&mut newest).open(Path::new("/log"), CREATE).unwrap();
    let far = 1 << 50;
    disk.call(&mut newest).write_at(log, far, b"x").unwrap();
    disk.call(&mut newest).set_len(log, 1).unwrap();
    disk.call(&mut newest).set_len(log, far).unwrap();
    assert_eq!(disk.call(&mut newest).handle_metadata(log).unwrap().len, far);
    assert_eq!(disk.pending(), 5);
}
