//! Accesses of calls: calls without a conflict can be swapped, and no state before or after a crash shows it.

use std::path::Path;

use super::program::{Act, PATHS, random_program, run};
use super::*;
use crate::run::rng::Rng;

fn open(disk: &mut Disk, path: &str) -> Handle {
    disk.call(&mut newest).open(Path::new(path), OpenOptions { read: true, ..CREATE }).unwrap()
}

fn accesses(disk: &mut Disk, act: impl FnOnce(&mut Call<'_>)) -> Accesses {
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    act(&mut call);
    call.accesses
}

/// Returns the contents that processes see, and all contents that a crash may leave.
fn now_and_after_a_crash(disk: &Disk) -> (Vec<String>, std::collections::BTreeSet<Vec<String>>) {
    let seen = |disk: &mut Disk, draw: Draw<'_>| -> Vec<String> {
        PATHS.iter().map(|path| show(disk, path, draw)).collect()
    };
    let now = seen(&mut disk.clone(), &mut newest);
    let mut crashed = disk.clone();
    crashed.power_off();
    let left = enumerate(|draw| seen(&mut crashed.clone(), draw));
    (now, left.into_iter().map(|(seen, _)| seen).collect())
}

#[test]
fn calls_without_a_conflict_commute() {
    let all = [Rules::POSIX, Rules::EXT4, Rules::PREFIX];
    let (mut commuting, mut conflicting, mut different) = ([0; 3], 0, 0);
    for seed in 0..if crate::long() { 150 } else { 20 } {
        let rng = &mut Rng::new(seed);
        let program = random_program(rng, 8, 6, &all);
        for (rules, commuting) in all.iter().zip(&mut commuting) {
            let mut before = disk(*rules);
            run(&program, &mut before, &mut newest);
            for _ in 0..6 {
                let first = Act::random(rng, &mut before.clone());
                let second = Act::random(rng, &mut before.clone());
                let (mut one, mut other) = (before.clone(), before.clone());
                let a = first.on(&mut one, &mut newest);
                let b = second.on(&mut one, &mut newest);
                second.on(&mut other, &mut newest);
                first.on(&mut other, &mut newest);
                let is_same = now_and_after_a_crash(&one) == now_and_after_a_crash(&other);
                if a.conflicts_with(&b) {
                    conflicting += 1;
                    different += usize::from(!is_same);
                } else {
                    let (a, b) = (a.objects, b.objects);
                    assert!(
                        is_same,
                        "seed {seed}: {program:?} then {first:?} {a:?}, {second:?} {b:?}"
                    );
                    *commuting += usize::from(first != second);
                }
            }
        }
    }
    assert!(commuting.iter().all(|count| *count > 20), "{commuting:?}");
    println!("{commuting:?}, {different} of {conflicting}");
    assert!(different > 20, "{different} of {conflicting} conflicts make a difference");
}

#[test]
fn different_files_conflict_only_through_a_journal() {
    for (rules, conflict) in [(Rules::POSIX, false), (Rules::EXT4, true), (Rules::PREFIX, true)] {
        let mut disk = disk(rules);
        let (a, b) = (open(&mut disk, "/a"), open(&mut disk, "/b"));
        let one = accesses(&mut disk, |call| {
            call.write_at(a, 0, b"abc").unwrap();
        });
        let other = accesses(&mut disk, |call| {
            call.write_at(b, 0, b"abc").unwrap();
        });
        assert_eq!(one.conflicts_with(&other), conflict, "{rules:?}");
        let reads = accesses(&mut disk, |call| {
            call.read_at(b, 0, &mut [0; 3]).unwrap();
        });
        assert!(reads.conflicts_with(&other) && !reads.conflicts_with(&one));
        assert!(!reads.conflicts_with(&reads) && other.conflicts_with(&other));
    }
}

#[test]
fn a_sync_that_fails_conflicts_with_opening_its_file() {
    let mut disk = disk(Rules::POSIX);
    let (a, _) = (open(&mut disk, "/a"), open(&mut disk, "/b"));
    let opens = |disk: &mut Disk, path: &'static str| {
        accesses(disk, |call| {
            call.open(Path::new(path), READ).unwrap();
        })
    };
    let syncs = |disk: &mut Disk, fate| {
        accesses(disk, |call| {
            let _ = call.sync(a, fate);
        })
    };
    let (own, other) = (opens(&mut disk, "/a"), opens(&mut disk, "/b"));
    assert!(!syncs(&mut disk, SyncFate::Succeeds).conflicts_with(&own));
    let fails = syncs(&mut disk, SyncFate::FailsAndKeeps);
    assert!(fails.conflicts_with(&own) && !fails.conflicts_with(&other));
    assert!(!own.conflicts_with(&own));
    let writes = accesses(&mut disk, |call| {
        call.write_at(a, 0, b"ab").unwrap();
    });
    assert!(!writes.conflicts_with(&own), "an open file reads nothing yet");
}

#[test]
fn free_space_is_shared_by_all_files() {
    let limit = Settings { sector: 2, capacity: Some(8), ..Settings::default() };
    let mut disk = Disk::new(limit);
    let (a, b) = (open(&mut disk, "/a"), open(&mut disk, "/b"));
    let one = accesses(&mut disk, |call| {
        call.write_at(a, 0, b"abc").unwrap();
    });
    let other = accesses(&mut disk, |call| {
        call.set_len(b, 0).unwrap();
    });
    assert!(!one.conflicts_with(&other), "nothing is taken or freed");
    let other = accesses(&mut disk, |call| {
        call.write_at(b, 0, b"abc").unwrap();
    });
    assert!(one.conflicts_with(&other));
}

#[test]
fn a_call_says_if_it_changes_or_syncs_or_decides() {
    let mut disk = disk(Rules::POSIX);
    let a = open(&mut disk, "/a");
    let says = |disk: &mut Disk, act: &dyn Fn(&mut Call<'_>)| {
        let accesses = accesses(disk, act);
        (accesses.changes, accesses.syncs, accesses.decides)
    };
    let sync = |fate| {
        move |call: &mut Call<'_>| {
            let _ = call.sync(a, fate);
        }
    };
    let write = |call: &mut Call<'_>| {
        call.write(a, b"ab").unwrap();
    };
    assert_eq!(says(&mut disk, &sync(SyncFate::Succeeds)), (false, false, false));
    assert_eq!(says(&mut disk, &write), (true, false, false));
    assert_eq!(says(&mut disk, &sync(SyncFate::Succeeds)), (false, true, false));
    assert_eq!(says(&mut disk, &write), (true, false, false));
    assert_eq!(says(&mut disk, &sync(SyncFate::FailsAndKeeps)), (false, true, false));
    disk.power_off();
    let look = |path: &'static str| {
        move |call: &mut Call<'_>| {
            let _ = call.metadata(Path::new(path));
        }
    };
    assert_eq!(says(&mut disk, &look("/")), (false, false, false));
    assert_eq!(says(&mut disk, &look("/a")), (false, false, true));
    assert_eq!(says(&mut disk, &look("/a")), (false, false, false), "decided");
}
