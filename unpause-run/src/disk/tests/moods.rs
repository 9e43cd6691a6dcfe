//! Samples of crashes: moods, writes that are torn in one place, and reported losses.

use std::collections::BTreeSet;

use super::program::{Act::*, PATHS, random_program, run};
use super::*;
use crate::run::rng::Rng;

fn sampled(rules: Rules) -> Disk {
    Disk::new(Settings { rules, choosing: Choosing::Moods, sector: 2, ..Settings::default() })
}

type Runs = Vec<(Vec<String>, Vec<u64>)>;

fn runs(mut disk: Disk, paths: &[&str]) -> Runs {
    disk.power_off();
    enumerate(|draw| {
        let mut disk = disk.clone();
        paths.iter().map(|path| show(&mut disk, path, draw)).collect()
    })
}

fn states(runs: &Runs) -> BTreeSet<Vec<String>> {
    runs.iter().map(|(seen, _)| seen.clone()).collect()
}

/// The writes of these programs have at most two sectors, so a run of sectors is any subset.
#[test]
fn moods_reach_what_single_draws_reach_and_nothing_else() {
    for seed in 0..100 {
        let all = [Rules::POSIX, Rules::EXT4, Rules::PREFIX, Rules::UNJOURNALED];
        let program = random_program(&mut Rng::new(seed), 12, 7, &all);
        for rules in all {
            let (mut by_location, mut by_mood) = (disk(rules), sampled(rules));
            run(&program, &mut by_location, &mut newest);
            run(&program, &mut by_mood, &mut newest);
            let newest_of =
                |disk: &Disk| PATHS.map(|path| show(&mut disk.clone(), path, &mut newest));
            let now = newest_of(&by_mood);
            let (single, moods) = (runs(by_location, &PATHS), runs(by_mood, &PATHS));
            assert_eq!(states(&single), states(&moods), "seed {seed} {program:?} {rules:?}");
            // Answer 0 loses nothing, under the rules by location and under the rules by mood.
            assert!(single[0].1.iter().chain(&moods[0].1).all(|answer| *answer == 0));
            assert_eq!([&single[0].0[..], &moods[0].0[..]], [&now[..], &now[..]]);
        }
    }
}

fn five_appends() -> Disk {
    let mut disk = sampled(Rules::POSIX);
    run(&[Create("/a"), SyncAll], &mut disk, &mut newest);
    for byte in *b"abcde" {
        Append("/a", vec![byte, byte]).on(&mut disk, &mut newest);
    }
    disk
}

#[test]
fn each_mood_loses_what_it_says() {
    let runs = runs(five_appends(), &["/a"]);
    let of_mood = |mood: u64| -> BTreeSet<String> {
        let of_it = runs.iter().filter(|(_, answers)| answers[0] == mood);
        of_it.map(|(seen, _)| seen[0].clone()).collect()
    };
    let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(of_mood(0), set(&["aabbccddee"]));
    assert_eq!(of_mood(2), set(&["''"]));
    // The crash keeps a prefix of the calls. The last append keeps its length without its data, or both, or neither.
    let all = "aabbccddee";
    let mut prefixes = set(&["''"]);
    for len in [2, 4, 6, 8, 10] {
        prefixes.insert(all[..len].to_owned());
        prefixes.insert(format!("{}00", &all[..len - 2]));
    }
    assert_eq!(of_mood(3), prefixes);
    assert!(of_mood(1).len() > prefixes.len() && of_mood(1).is_superset(&prefixes));
}

#[test]
fn a_long_write_is_torn_in_one_place() {
    let mut disk = sampled(Rules::POSIX);
    let write = |bytes: &[u8]| Write("/a", 0, bytes.to_vec());
    run(&[Create("/a"), write(b"aaaaaaaaaa"), SyncAll], &mut disk, &mut newest);
    run(&[write(b"zzzzzzzzzz")], &mut disk, &mut newest);
    let torn: BTreeSet<String> = states(&runs(disk, &["/a"])).into_iter().flatten().collect();
    let mut expected = BTreeSet::new();
    for len in [0, 2, 4, 6, 8, 10] {
        let (new, old) = ("z".repeat(len), "a".repeat(10 - len));
        expected.extend([format!("{new}{old}"), format!("{old}{new}")]);
    }
    assert_eq!(torn, expected);
}

#[test]
fn a_loss_is_reported_by_the_read_that_finds_it() {
    let mut disk = disk(Rules::POSIX);
    let program =
        [Create("/a"), SyncAll, Write("/a", 0, b"ab".to_vec()), Write("/a", 0, b"cd".to_vec())];
    run(&program, &mut disk, &mut newest);
    let ino = disk.call(&mut newest).metadata(std::path::Path::new("/a")).unwrap().ino;
    disk.power_off();
    // The length is kept, but one of the two versions of the sector is lost.
    let mut answers = [0, 1].into_iter();
    let mut draw = |_| answers.next().unwrap();
    let mut call = disk.call(&mut draw);
    let handle = call.open(std::path::Path::new("/a"), READ).unwrap();
    let mut bytes = [0; 2];
    call.read(handle, &mut bytes).unwrap();
    assert_eq!(bytes, *b"ab");
    assert_eq!(call.losses, [Loss { location: Location::sector(ino, 0), newer: 1 }]);
    let mut draw = newest;
    let mut again = disk.call(&mut draw);
    again.read_at(handle, 0, &mut bytes).unwrap();
    assert!(again.losses.is_empty(), "decided, and reported once");
}
