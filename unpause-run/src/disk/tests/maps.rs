//! Mapped files: random programs of stores, syncs of ranges and calls of the files, against the definition.

use std::collections::BTreeSet;
use std::path::Path;

use super::program::{Act, run};
use super::reference::Reference;
use super::*;
use crate::run::rng::Rng;

const ALL: [Rules; 4] = [Rules::POSIX, Rules::EXT4, Rules::PREFIX, Rules::UNJOURNALED];
const FILES: [&str; 2] = ["/a", "/b"];
/// The length of the files, in sectors of two bytes and units of eight.
const LEN: u64 = 20;

type States = BTreeSet<Vec<String>>;

fn programs() -> u64 {
    if crate::long() { 5000 } else { 12 }
}

/// Two files of zeros, which are durable with their names.
fn two_files() -> Vec<Act> {
    let mut program = Vec::new();
    for file in FILES {
        program.push(Act::Create(file));
        program.push(Act::Truncate(file, LEN));
    }
    program.push(Act::SyncAll);
    program
}

fn random_act(rng: &mut Rng) -> Act {
    let file = FILES[usize::from(rng.below(4) == 0)];
    // Accesses use only a few positions, so that they overlap.
    let at = [0, 1, 2, 3, 8, 9, 10][rng.below(7) as usize];
    let bytes = |rng: &mut Rng, len| (0..len).map(|_| b"0ab"[rng.below(3) as usize]).collect();
    match rng.below(16) {
        // A word of two bytes is aligned.
        0..=3 => Act::Store(file, at & !1, bytes(rng, 2)),
        4 | 5 => Act::Store(file, at, bytes(rng, 1)),
        6 | 7 => {
            let len = 3 + rng.below(3);
            Act::Store(file, at, bytes(rng, len))
        }
        8 => Act::Store(file, LEN - 2 * rng.below(3), bytes(rng, 2)),
        9 => Act::Flush(file, 0, LEN),
        10 => Act::Flush(file, at, at + 1 + rng.below(3)),
        11 => Act::FailFlush(file, at, at + 1 + rng.below(3)),
        12 => {
            let len = 1 + rng.below(3);
            Act::Write(file, at, bytes(rng, len))
        }
        13 => Act::Truncate(file, LEN / 2 * (1 + rng.below(2))),
        14 => [Act::Sync(file), Act::FailSync(file)][rng.below(2) as usize].clone(),
        _ => Act::Append(file, bytes(rng, 1)),
    }
}

/// A random program. A crash leaves at most `effects` of its effects under any rules.
fn random_program(rng: &mut Rng, calls: usize, effects: usize) -> Vec<Act> {
    let mut program = two_files();
    let mut disks = ALL.map(|rules| after(&program, rules));
    for _ in 0..calls {
        let act = random_act(rng);
        disks.iter_mut().for_each(|disk| drop(act.on(disk, &mut newest)));
        if disks.iter().any(|disk| disk.pending() > effects) {
            break;
        }
        program.push(act);
    }
    program
}

fn after(program: &[Act], rules: Rules) -> Disk {
    let mut disk = disk(rules);
    run(program, &mut disk, &mut newest);
    disk
}

/// All states that recovery may find.
fn left_by(before: &Disk) -> States {
    let mut crashed = before.clone();
    crashed.power_off();
    let runs = enumerate(|draw| {
        let mut disk = crashed.clone();
        FILES.iter().map(|path| show(&mut disk, path, draw)).collect()
    });
    runs.into_iter().map(|(seen, _)| seen).collect()
}

#[test]
fn a_crash_leaves_what_the_definition_allows() {
    let (mut most, mut without_effect) = (0, 0);
    for seed in 0..programs() {
        let program = random_program(&mut Rng::new(seed), 12, 10);
        for rules in ALL {
            let mut reference = Reference::new(rules);
            program.iter().for_each(|act| reference.act(act));
            let allowed: States =
                reference.crashed().iter().map(|disk| disk.show(&FILES)).collect();
            let disk = after(&program, rules);
            assert_eq!(left_by(&disk), allowed, "seed {seed} {program:?} {rules:?}");
            assert_eq!(
                reference.show(&FILES),
                FILES.map(|path| show(&mut disk.clone(), path, &mut newest))
            );
            most = most.max(allowed.len());
            without_effect += usize::from(reference.pending_count() > disk.pending());
        }
    }
    assert!(most > 30, "{most} states at most");
    assert!(without_effect > 0, "each store changed something");
}

/// Two programs with a crash after each.
#[test]
fn a_second_crash_leaves_what_the_definition_allows() {
    for seed in 0..programs() / 2 {
        let rng = &mut Rng::new(seed);
        let first = random_program(rng, 6, 5);
        let second: Vec<Act> = (0..3).map(|_| random_act(rng)).collect();
        for rules in ALL {
            let mut expected = States::new();
            let mut reference = Reference::new(rules);
            first.iter().for_each(|act| reference.act(act));
            for mut again in reference.crashed() {
                second.iter().for_each(|act| again.act(act));
                expected.extend(again.crashed().iter().map(|disk| disk.show(&FILES)));
            }
            let mut crashed = after(&first, rules);
            crashed.power_off();
            let runs = enumerate(|draw| {
                let mut disk = crashed.clone();
                run(&second, &mut disk, draw);
                disk.power_off();
                FILES.iter().map(|path| show(&mut disk, path, draw)).collect::<Vec<_>>()
            });
            let found: States = runs.into_iter().map(|(seen, _)| seen).collect();
            assert_eq!(found, expected, "seed {seed} {first:?} {second:?} {rules:?}");
        }
    }
}

/// A mapped file with a disk of the usual sectors, which is durable.
fn mapped(len: u64) -> (Disk, Handle) {
    let mut disk = Disk::new(Settings::default());
    let options = OpenOptions { read: true, ..CREATE };
    let file = disk.call(&mut newest).open(Path::new("/a"), options).unwrap();
    let root = disk.call(&mut newest).open(Path::new("/"), READ).unwrap();
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    call.set_len(file, len).unwrap();
    call.sync(file, SyncFate::Succeeds).unwrap();
    call.sync(root, SyncFate::Succeeds).unwrap();
    call.map(file).unwrap();
    (disk, file)
}

fn store(disk: &mut Disk, file: Handle, at: u64, bytes: &[u8]) -> Accesses {
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    call.store(file, at, bytes).unwrap().unwrap();
    call.accesses
}

/// The words at these places after a crash, each a number below ten.
fn words_left(before: &Disk, places: &[u64]) -> BTreeSet<Vec<u64>> {
    let mut crashed = before.clone();
    crashed.power_off();
    let runs = enumerate(|draw| {
        let mut disk = crashed.clone();
        let mut call = disk.call(draw);
        let file = call.open(Path::new("/a"), MAP).unwrap();
        call.map(file).unwrap();
        let words = places.iter().map(|at| {
            let mut word = [0; 8];
            call.load(file, *at, &mut word).unwrap().unwrap();
            u64::from_le_bytes(word)
        });
        words.collect::<Vec<u64>>()
    });
    runs.into_iter().map(|(words, _)| words).collect()
}

#[test]
fn words_of_a_sector_come_back_in_an_order_that_was() {
    let (mut disk, file) = mapped(2048);
    for (at, word) in [(0, 1_u64), (8, 2), (0, 3), (1024, 4)] {
        store(&mut disk, file, at, &word.to_le_bytes());
    }
    let left = words_left(&disk, &[0, 8, 1024]);
    let sector = [[0, 0], [1, 0], [1, 2], [3, 2]];
    let all = sector.iter().flat_map(|[a, b]| [vec![*a, *b, 0], vec![*a, *b, 4]]);
    assert_eq!(left, all.collect());
    // A sync of the second sector leaves the first sector open.
    disk.call(&mut newest).flush(file, 1024..1032, SyncFate::Succeeds).unwrap();
    let left = words_left(&disk, &[0, 8, 1024]);
    assert_eq!(left, sector.iter().map(|[a, b]| vec![*a, *b, 4]).collect());
    disk.call(&mut newest).flush(file, 0..1, SyncFate::Succeeds).unwrap();
    assert_eq!(words_left(&disk, &[0, 8, 1024]), BTreeSet::from([vec![3, 2, 4]]));
}

#[test]
fn a_word_is_whole_and_a_slice_is_torn_between_words() {
    let (mut disk, file) = mapped(512);
    let ones: Vec<u8> = [1_u64, 1, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
    store(&mut disk, file, 8, &ones);
    let left = words_left(&disk, &[8, 16, 24]);
    let prefixes = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]].map(|words| words.to_vec());
    assert_eq!(left, BTreeSet::from(prefixes));
    // A sampled crash tears the store, too.
    disk.set_choosing(Choosing::Moods);
    let left = words_left(&disk, &[8, 16, 24]);
    assert_eq!(left.len(), 4, "{left:?}");
}

#[test]
fn memory_behind_the_end_of_the_file_is_none() {
    let (mut disk, file) = mapped(100);
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    assert_eq!(call.load(file, 96, &mut [0; 8]).unwrap(), Err(BusError::BehindEnd(100)));
    assert_eq!(call.store(file, 104, &[1; 8]).unwrap(), Err(BusError::BehindEnd(100)));
    call.set_len(file, 112).unwrap();
    assert_eq!(call.store(file, 104, &[1; 8]).unwrap(), Ok(()));
    call.damage(file, 0).unwrap();
    assert_eq!(call.load(file, 0, &mut [0; 8]).unwrap(), Err(BusError::Unreadable));
    let reads = call.open(Path::new("/a"), READ).unwrap();
    assert_eq!(call.map(reads), Err(Error::NO_ACCESS));
}

#[test]
fn the_first_store_into_a_sector_takes_room() {
    let mut disk = Disk::new(Settings { capacity: Some(512), ..Settings::default() });
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    let file = call.open(Path::new("/a"), OpenOptions { read: true, ..CREATE }).unwrap();
    call.set_len(file, 1024).unwrap();
    call.map(file).unwrap();
    assert_eq!(call.store(file, 0, &[1; 8]).unwrap(), Ok(()));
    assert_eq!(call.store(file, 512, &[1; 8]).unwrap(), Err(BusError::Full));
    assert_eq!(call.store(file, 8, &[1; 8]).unwrap(), Ok(()));
}

/// After a failed sync, a store of the same bytes makes the next sync write them.
#[test]
fn a_store_after_a_failed_sync_is_the_cure() {
    let (mut disk, file) = mapped(512);
    store(&mut disk, file, 0, &1_u64.to_le_bytes());
    let failed = disk.call(&mut newest).flush(file, 0..8, SyncFate::FailsAndKeeps);
    assert_eq!(failed, Err(Error::BROKEN));
    let mut retried = disk.clone();
    retried.call(&mut newest).flush(file, 0..8, SyncFate::Succeeds).unwrap();
    assert_eq!(words_left(&retried, &[0]).len(), 2, "a retry alone writes nothing");
    store(&mut disk, file, 0, &1_u64.to_le_bytes());
    disk.call(&mut newest).flush(file, 0..8, SyncFate::Succeeds).unwrap();
    assert_eq!(words_left(&disk, &[0]), BTreeSet::from([vec![1]]));
}

/// A step of a program on two open files, which are mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    By(Act),
    Load(usize, u64, usize),
    Read(usize, u64, usize),
}

impl Step {
    fn random(rng: &mut Rng) -> Step {
        let (file, at) = (rng.below(2) as usize, rng.below(12));
        match rng.below(4) {
            0 => Step::Load(file, at, 1 + rng.below(4) as usize),
            1 => Step::Read(file, at, 1 + rng.below(4) as usize),
            _ => Step::By(random_act(rng)),
        }
    }

    /// Does the step, with its result.
    fn on(&self, disk: &mut Disk, files: [Handle; 2]) -> (Accesses, String) {
        let of = |path: &str| files[usize::from(path == FILES[1])];
        let mut draw = newest;
        let mut call = disk.call(&mut draw);
        let result = match self {
            Step::By(Act::Store(path, at, bytes)) => {
                format!("{:?}", call.store(of(path), *at, bytes))
            }
            Step::By(Act::Flush(path, from, to)) => {
                format!("{:?}", call.flush(of(path), *from..*to, SyncFate::Succeeds))
            }
            Step::By(Act::FailFlush(path, from, to)) => {
                format!("{:?}", call.flush(of(path), *from..*to, SyncFate::FailsAndReverts))
            }
            Step::By(Act::Write(path, at, bytes)) => {
                format!("{:?}", call.write_at(of(path), *at, bytes))
            }
            Step::By(Act::Truncate(path, len)) => format!("{:?}", call.set_len(of(path), *len)),
            Step::By(Act::Sync(path)) => {
                format!("{:?}", call.sync(of(path), SyncFate::Succeeds))
            }
            Step::By(Act::FailSync(path)) => {
                format!("{:?}", call.sync(of(path), SyncFate::FailsAndKeeps))
            }
            Step::By(Act::Append(path, bytes)) => {
                let len = call.handle_metadata(of(path)).unwrap().len;
                format!("{:?}", call.write_at(of(path), len, bytes))
            }
            Step::By(other) => unreachable!("{other:?}"),
            Step::Load(file, at, len) => {
                let mut bytes = vec![0; *len];
                format!("{:?} {bytes:?}", call.load(files[*file], *at, &mut bytes))
            }
            Step::Read(file, at, len) => {
                let mut bytes = vec![0; *len];
                format!("{:?} {bytes:?}", call.read_at(files[*file], *at, &mut bytes))
            }
        };
        (call.accesses, result)
    }
}

#[test]
fn steps_without_a_conflict_commute() {
    let (mut commuting, mut different, mut by_maps) = (0, 0, 0);
    for seed in 0..programs().max(100) * 2 {
        let rng = &mut Rng::new(seed);
        let rules = ALL[seed as usize % 3];
        let mut before = after(&two_files(), rules);
        let files = FILES.map(|path| {
            let mut draw = newest;
            let mut call = before.call(&mut draw);
            let file = call.open(Path::new(path), MAP).unwrap();
            call.map(file).unwrap();
            file
        });
        for _ in 0..rng.below(5) {
            drop(Step::random(rng).on(&mut before, files));
        }
        for _ in 0..6 {
            let (first, second) = (Step::random(rng), Step::random(rng));
            let (mut one, mut other) = (before.clone(), before.clone());
            let (a, first_now) = first.on(&mut one, files);
            let (b, second_then) = second.on(&mut one, files);
            let (b_alone, second_now) = second.on(&mut other, files);
            let (a_after, first_then) = first.on(&mut other, files);
            let shown = |disk: &Disk| FILES.map(|path| show(&mut disk.clone(), path, &mut newest));
            let is_same = (first_now, second_then) == (first_then, second_now)
                && (shown(&one), left_by(&one)) == (shown(&other), left_by(&other));
            if a.conflicts_with(&b) {
                different += usize::from(!is_same);
            } else {
                let text = format!("seed {seed}: {first:?} {a:?}, {second:?} {b:?}");
                assert!(is_same, "{text}");
                // The law of footprints.
                assert_eq!((&a, &b), (&a_after, &b_alone), "{text}");
                commuting += usize::from(first != second);
                by_maps += usize::from(a.is_by_map && b.is_by_map && a.changes && b.changes);
            }
        }
    }
    assert!(
        commuting > 100 && different > 100 && by_maps > 10,
        "{commuting} {different} {by_maps}"
    );
}

#[test]
fn words_of_different_sectors_commute() {
    let (mut disk, file) = mapped(2048);
    let one = store(&mut disk, file, 0, &1_u64.to_le_bytes());
    let same_sector = store(&mut disk, file, 8, &1_u64.to_le_bytes());
    let other = store(&mut disk, file, 512, &1_u64.to_le_bytes());
    assert!(one.conflicts_with(&same_sector) && !one.conflicts_with(&other));
    let mut draw = newest;
    let mut call = disk.call(&mut draw);
    call.load(file, 8, &mut [0; 8]).unwrap().unwrap();
    let load = std::mem::take(&mut call.accesses);
    assert!(!load.conflicts_with(&one) && load.conflicts_with(&same_sector));
    call.read_at(file, 8, &mut [0; 8]).unwrap();
    let read = std::mem::take(&mut call.accesses);
    assert!(read.conflicts_with(&other) && !read.conflicts_with(&load));
    call.flush(file, 0..8, SyncFate::Succeeds).unwrap();
    assert!(call.accesses.conflicts_with(&one) && !call.accesses.conflicts_with(&other));
    assert!(!call.accesses.conflicts_with(&load));
}

/// The chain of a word that is stored repeatedly is bounded, and is read in linear time.
#[test]
fn many_stores_cost_what_the_bound_says() {
    let (mut disk, file) = mapped(512);
    for n in 1..=200_000_u64 {
        store(&mut disk, file, 0, &n.to_le_bytes());
        // The second store of the same bytes changes nothing.
        store(&mut disk, file, 0, &n.to_le_bytes());
    }
    assert_eq!(disk.pending(), Settings::default().pending_max);
    disk.power_off();
    let mut oldest = |bound| bound - 1;
    let mut call = disk.call(&mut oldest);
    let file = call.open(Path::new("/a"), MAP).unwrap();
    let mut word = [0; 8];
    call.load(file, 0, &mut word).unwrap().unwrap();
    assert_eq!(u64::from_le_bytes(word), 200_000 - Settings::default().pending_max as u64);
}
