//! Random programs: the model leaves after a crash exactly the disks that the definition allows.

use std::collections::BTreeSet;

use super::program::{Act, PATHS, random_program, run};
use super::reference::Reference;
use super::*;
use crate::run::rng::Rng;

const JOURNAL: Rules = Rules { rename_flushes: false, ..Rules::EXT4 };
const ALL: [Rules; 5] = [Rules::POSIX, Rules::EXT4, Rules::PREFIX, JOURNAL, Rules::UNJOURNALED];

type States = BTreeSet<Vec<String>>;

/// Returns all states that recovery may find, and the number of runs that find all of them.
fn left_by(before: &Disk, paths: &[&str]) -> (States, usize) {
    let mut crashed = before.clone();
    crashed.power_off();
    let runs = enumerate(|draw| {
        let mut disk = crashed.clone();
        paths.iter().map(|path| show(&mut disk, path, draw)).collect()
    });
    let count = runs.len();
    (runs.into_iter().map(|(seen, _)| seen).collect(), count)
}

fn after(program: &[Act], rules: Rules) -> Disk {
    let mut disk = disk(rules);
    run(program, &mut disk, &mut newest);
    disk
}

fn allowed(program: &[Act], rules: Rules) -> States {
    let mut reference = Reference::new(rules);
    program.iter().for_each(|act| reference.act(act));
    reference.crashed().iter().map(|disk| disk.show(&PATHS)).collect()
}

fn programs() -> u64 {
    if crate::long() { 3000 } else { 15 }
}

#[test]
fn a_crash_leaves_what_the_definition_allows() {
    let mut backwards = PATHS;
    backwards.reverse();
    let (mut runs, mut states) = (0, 0);
    for seed in 0..programs() {
        let program = random_program(&mut Rng::new(seed), 16, 10, &ALL);
        for rules in ALL {
            let disk = after(&program, rules);
            let (found, count) = left_by(&disk, &PATHS);
            assert_eq!(found, allowed(&program, rules), "seed {seed} {program:?} {rules:?}");
            // A recovery that reads the paths in another order must find the same states.
            let (found_backwards, _) = left_by(&disk, &backwards);
            let turned = found_backwards.into_iter().map(|mut seen| {
                seen.reverse();
                seen
            });
            assert_eq!(turned.collect::<States>(), found, "seed {seed} {program:?} {rules:?}");
            if rules == Rules::POSIX {
                (runs, states) = (runs + count, states + found.len());
            }
        }
    }
    // Few draws lead to a state that other draws reach, too.
    assert!(runs < 2 * states, "{runs} runs for {states} states");
}

#[test]
fn weaker_rules_allow_what_stronger_ones_do() {
    let mut strictly = [false; 4];
    // Few programs distinguish the first two sets of rules.
    for seed in 0..programs().max(150) {
        let program = random_program(&mut Rng::new(seed), 16, 10, &ALL);
        let of = |rules| left_by(&after(&program, rules), &PATHS).0;
        let posix = of(Rules::POSIX);
        let pairs = [
            (of(Rules::EXT4), of(JOURNAL)),
            (of(JOURNAL), posix.clone()),
            (of(Rules::PREFIX), posix.clone()),
            (posix, of(Rules::UNJOURNALED)),
        ];
        for ((stronger, weaker), strictly) in pairs.iter().zip(&mut strictly) {
            assert!(stronger.is_subset(weaker), "seed {seed} {program:?}");
            *strictly |= stronger.len() < weaker.len();
        }
    }
    assert_eq!(strictly, [true; 4], "no program told two sets of rules apart");
}

#[test]
fn a_call_that_syncs_nothing_only_adds_states() {
    let mut shrank = 0;
    for seed in 0..programs() {
        let program = random_program(&mut Rng::new(seed), 16, 10, &ALL);
        for rules in ALL {
            let mut disk = disk(rules);
            let mut before = left_by(&disk, &PATHS).0;
            for act in &program {
                let pending = disk.pending();
                let accesses = act.on(&mut disk, &mut newest);
                let now = left_by(&disk, &PATHS).0;
                if accesses.syncs {
                    shrank += usize::from(!before.is_subset(&now));
                } else {
                    assert!(
                        before.is_subset(&now),
                        "seed {seed}: {act:?} of {program:?} {rules:?}"
                    );
                }
                if !accesses.changes && !accesses.syncs {
                    assert_eq!((&before, pending), (&now, disk.pending()), "seed {seed}: {act:?}");
                }
                before = now;
            }
        }
    }
    assert!(shrank > 0, "no sync forbade a state");
}

/// Two programs with a crash after each, against all disks of all disks.
#[test]
fn a_second_crash_leaves_what_the_definition_allows() {
    let mut undecided = 0;
    for seed in 0..programs() {
        let rng = &mut Rng::new(seed);
        let first = random_program(rng, 9, 6, &ALL);
        // The calls of the second life do not depend on the crash, so some of them fail after it.
        let mut as_before = after(&first, Rules::POSIX);
        let second: Vec<Act> = (0..5)
            .map(|_| {
                let act = Act::random(rng, &mut as_before);
                act.on(&mut as_before, &mut newest);
                act
            })
            .collect();
        for rules in ALL {
            let mut expected = States::new();
            let mut reference = Reference::new(rules);
            first.iter().for_each(|act| reference.act(act));
            for mut again in reference.crashed() {
                second.iter().for_each(|act| again.act(act));
                expected.extend(again.crashed().iter().map(|disk| disk.show(&PATHS)));
            }
            let mut crashed = after(&first, rules);
            crashed.power_off();
            let runs = enumerate(|draw| {
                let mut disk = crashed.clone();
                run(&second, &mut disk, draw);
                disk.power_off();
                let mut decides = false;
                let seen: Vec<String> = PATHS
                    .iter()
                    .map(|path| {
                        show(&mut disk, path, &mut |bound| {
                            decides = true;
                            draw(bound)
                        })
                    })
                    .collect();
                undecided += usize::from(decides);
                seen
            });
            let found: States = runs.into_iter().map(|(seen, _)| seen).collect();
            assert_eq!(found, expected, "seed {seed} {first:?} {second:?} {rules:?}");
        }
    }
    assert!(undecided > 0, "nothing was left to decide after the second crash");
}
