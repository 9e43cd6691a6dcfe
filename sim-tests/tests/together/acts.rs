//! Generated programs with every kind of act: the exhaustive search has exactly the results that an independent
//! search over states has.
//!
//! The library is `sim_tests::acts`. The interpreter does not model the queue of `FuturesUnordered`. Mixtures with it
//! are compared with a search that reduces nothing.
//!
//! `UNPAUSE_LONG=1` compares 100,000 programs of each mixture; `UNPAUSE_ACTS=locks:1234` compares one program,
//! and `UNPAUSE_ACTS=locks:1000-2000` a range. A failure names the numbers of its programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::sync;

use sim_tests::acts::compare::{Comparison, Difference, Judge, Kind, Verdict};
use sim_tests::acts::generate::{MIXTURES, Mixture};
use sim_tests::acts::interpret;
use sim_tests::acts::program::{Act, Act::*, Program};
use sim_tests::acts::shrink::shrink;
use sim_tests::histories::long;

/// The numbers of programs of each mixture: in the gate, and on request.
const USUAL: u64 = 40;
const LONG: u64 = 100_000;
/// The number of programs, for each kind of difference, that are shrunk for the message.
const SHOWN: usize = 8;

/// A test for each mixture.
macro_rules! mixtures {
    ($($test:ident: $name:literal,)*) => {
        const TESTED: &[&str] = &[$($name),*];
        $(
            #[cfg_attr(feature = "sim", test)]
            fn $test() {
                compare(Mixture::find($name).expect("a mixture of that name"));
            }
        )*
    };
}

mixtures! {
    memory: "memory",
    statics: "statics",
    locks: "locks",
    spin: "spin",
    draws: "draws",
    trees_of_tasks: "trees",
    aborts: "abort",
    looks_at_tasks: "look",
    handles_polled_once: "polled",
    branches: "select",
    effects_of_drops: "drops",
    panics: "panics",
    recorded_calls: "calls",
    nodes_that_are_looked_up: "names of nodes",
    nodes_that_die: "nodes",
    everything: "all",
    branches_that_are_woken: "unordered",
    everything_with_branches_that_are_woken: "all, unordered",
}

#[cfg_attr(feature = "sim", test)]
fn each_mixture_is_tested() {
    let all: Vec<_> = MIXTURES.iter().map(|mixture| mixture.name).collect();
    assert_eq!(all, TESTED);
}

/// Compares programs of a mixture, and fails with the smallest that differ.
fn compare(mixture: &Mixture) {
    let Some(seeds) = seeds(mixture) else { return };
    let mut same = (0, 0, 0);
    let mut left_out = BTreeMap::new();
    let mut different: BTreeMap<Kind, Vec<u64>> = BTreeMap::new();
    for seed in seeds.clone() {
        match comparison(mixture, seed).of(&mixture.program(seed)) {
            Verdict::Same { results, runs } => {
                same = (same.0 + 1, same.1 + results.len(), same.2 + runs);
            }
            Verdict::LeftOut(why) => *left_out.entry(why).or_insert(0) += 1,
            Verdict::Differs(Difference { kind, .. }) => {
                different.entry(kind).or_default().push(seed);
            }
        }
    }
    let name = mixture.name;
    let (programs, results, runs) = same;
    let wrong: usize = different.values().map(Vec::len).sum();
    println!(
        "{name}: {programs} programs agree ({results} results in {runs} runs), {wrong} differ, left out \
         {left_out:?}"
    );
    if wrong > 0 {
        panic!("{wrong} of {} programs of {name:?}\n{}", seeds.count(), shown(mixture, &different));
    }
    let out: u64 = left_out.values().sum();
    assert!(out * 4 <= programs, "most programs of {name:?} are to be compared: {left_out:?}");
}

fn comparison(mixture: &Mixture, seed: u64) -> Comparison {
    Comparison { judge: mixture.judge, random: 2, plain: seed % 8 == 0 }
}

/// The seeds of the compared programs; `None` if only programs of another mixture are selected.
fn seeds(mixture: &Mixture) -> Option<Range<u64>> {
    let Ok(only) = std::env::var("UNPAUSE_ACTS") else {
        return Some(0..if long() { LONG } else { USUAL });
    };
    let number = |text: &str| -> u64 {
        text.parse().unwrap_or_else(|_| panic!("UNPAUSE_ACTS={only}: expected mixture:number"))
    };
    let (name, seeds) = only.split_once(':').unwrap_or((&only, "0-1000"));
    let range = match seeds.split_once('-') {
        Some((first, end)) => number(first)..number(end),
        None => number(seeds)..number(seeds) + 1,
    };
    (name == mixture.name).then_some(range)
}

/// Returns the smallest programs that still differ, with the numbers of all programs that differ.
fn shown(mixture: &Mixture, different: &BTreeMap<Kind, Vec<u64>>) -> String {
    let mut text = String::new();
    for (kind, seeds) in different {
        let smallest = seeds.iter().take(SHOWN).map(|seed| {
            let comparison = comparison(mixture, *seed);
            let differs = |program: &Program| match comparison.of(program) {
                Verdict::Differs(difference) if difference.kind == *kind => Some(difference),
                _ => None,
            };
            let small = shrink(&mixture.program(*seed), |program| differs(program).is_some());
            let difference = differs(&small).expect("it differs");
            (small.size(), *seed, small, difference)
        });
        let smallest = smallest.min_by_key(|(size, seed, ..)| (*size, *seed));
        let (_, seed, small, difference) = smallest.expect("there is one");
        let first: Vec<_> = seeds.iter().take(20).collect();
        writeln!(
            text,
            "{kind:?} by {} programs: {first:?}{}\nthe smallest, of UNPAUSE_ACTS=\"{}:{seed}\":\n\
             {small}{small:?}\n{difference}",
            seeds.len(),
            if seeds.len() > first.len() { " and more" } else { "" },
            mixture.name,
        )
        .expect("a string can be written to");
    }
    text
}

// ---- the comparison itself, with programs that differ on purpose

/// Two tasks that add to a word; `ordered`: the second is spawned when the first has ended.
fn adders(ordered: bool) -> Program {
    let body = match ordered {
        false => vec![Spawn(1, vec![]), Spawn(2, vec![]), Join(1), Join(2)],
        true => vec![Spawn(1, vec![]), Join(1), Spawn(2, vec![]), Join(2)],
    };
    Program { tasks: vec![body, vec![Add(0)], vec![Add(0)]] }
}

fn judged(expected: &Program, driven: &Program, random: u64) -> Result<usize, Kind> {
    let comparison = Comparison { judge: Judge::Interpreter, random, plain: false };
    match comparison.between(expected, driven) {
        Verdict::Same { results, .. } => Ok(results.len()),
        Verdict::Differs(difference) => Err(difference.kind),
        Verdict::LeftOut(why) => panic!("left out: {why:?}"),
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_search_that_leaves_an_order_out_is_told() {
    assert_eq!(judged(&adders(false), &adders(false), 0), Ok(2));
    assert_eq!(judged(&adders(false), &adders(true), 0), Err(Kind::Missed));
}

#[cfg_attr(feature = "sim", test)]
fn a_result_that_cannot_be_is_told() {
    assert_eq!(judged(&adders(true), &adders(true), 0), Ok(1));
    assert_eq!(judged(&adders(true), &adders(false), 0), Err(Kind::Unexpected));
}

/// An act that does something else in the place of an act of one kind.
type Fault = fn(&Act) -> Option<Act>;

/// For each kind of act, a mixture and a fault that is planted in the program for the search.
const FAULTS: &[(&str, &str, Fault)] = &[
    ("Load", "memory", |act| matches!(act, Load(_)).then_some(Draw(1))),
    ("Store", "memory", |act| matches!(act, Store(..)).then_some(Yield)),
    ("Swap", "memory", |act| if let Swap(word, _) = act { Some(Load(*word)) } else { None }),
    ("Add", "memory", |act| if let Add(word) = act { Some(Load(*word)) } else { None }),
    ("Max", "memory", |act| if let Max(word, _) = act { Some(Load(*word)) } else { None }),
    ("Exchange", "memory", |act| if let Exchange(w, ..) = act { Some(Load(*w)) } else { None }),
    (
        "StoreDrawn",
        "draws",
        |act| if let StoreDrawn(w, _) = act { Some(Store(*w, 0)) } else { None },
    ),
    ("Lock", "locks", |act| if let Lock(lock) = act { Some(TryLock(*lock)) } else { None }),
    ("TryLock", "locks", |act| if let TryLock(lock) = act { Some(Lock(*lock)) } else { None }),
    ("Unlock", "locks", |act| (*act == Unlock).then_some(Yield)),
    ("Spin", "spin", |act| matches!(act, Spin(..)).then_some(Yield)),
    ("SpinEither", "spin", |act| matches!(act, SpinEither(..)).then_some(Yield)),
    ("SpinBoth", "spin", |act| matches!(act, SpinBoth(..)).then_some(Yield)),
    ("SpinExchange", "spin", |act| match act {
        SpinExchange(word, from, _) => Some(Spin(*word, *from)),
        _ => None,
    }),
    ("SpinTry", "spin", |act| matches!(act, SpinTry(_)).then_some(Yield)),
    ("Yield", "abort", |act| (*act == Yield).then_some(SkipIf(0, 0))),
    ("Draw", "draws", |act| matches!(act, Draw(_)).then_some(Draw(1))),
    ("SkipIf", "draws", |act| matches!(act, SkipIf(..)).then_some(SkipIf(0, 0))),
    ("Panic", "panics", |act| (*act == Panic).then_some(SkipIf(0, 0))),
    ("Spawn", "trees", |act| match act {
        Spawn(child, gives) if !gives.is_empty() => Some(Spawn(*child, Vec::new())),
        _ => None,
    }),
    ("Join", "trees", |act| if let Join(target) = act { Some(Detach(*target)) } else { None }),
    ("Poll", "polled", |act| if let Poll(target) = act { Some(Join(*target)) } else { None }),
    ("PollJoin", "polled", |act| match act {
        PollJoin(target) => Some(Poll(*target)),
        _ => None,
    }),
    ("Abort", "abort", |act| matches!(act, Abort(_)).then_some(SkipIf(0, 0))),
    ("Look", "look", |act| matches!(act, Look(_)).then_some(Draw(1))),
    ("Detach", "trees", |act| if let Detach(target) = act { Some(Join(*target)) } else { None }),
    ("Drop", "polled", |act| if let Drop(act) = act { Some((**act).clone()) } else { None }),
    ("Node", "names of nodes", |act| matches!(act, Node(_)).then_some(Yield)),
    ("Find", "names of nodes", |act| matches!(act, Find(_)).then_some(Draw(1))),
    ("Addr", "nodes", |act| if let Addr(name) = act { Some(Find(*name)) } else { None }),
    ("Life", "nodes", |act| if let Life(name) = act { Some(Find(*name)) } else { None }),
    ("Kill", "nodes", |act| matches!(act, Kill(_)).then_some(Yield)),
    ("Restart", "nodes", |act| if let Restart(name) = act { Some(Kill(*name)) } else { None }),
    ("Race", "select", |act| match act {
        Race(one, two) => Some(Both(one.clone(), two.clone())),
        _ => None,
    }),
    ("Both", "select", |act| match act {
        Both(one, two) => Some(Race(one.clone(), two.clone())),
        _ => None,
    }),
    ("Woken", "unordered", |act| match act {
        Woken(one, two) => Some(Race(one.clone(), two.clone())),
        _ => None,
    }),
    ("Defer", "drops", |act| matches!(act, Defer(_)).then_some(SkipIf(0, 0))),
    ("Call", "calls", |act| match act {
        Call { write: None, words, .. } => Some(Load(words[words.len() - 1])),
        _ => None,
    }),
];

/// The program with the fault at the first act that it can be planted in.
fn planted(program: &Program, fault: Fault) -> Option<Program> {
    let mut faulty = program.clone();
    for acts in &mut faulty.tasks {
        if let Some((at, act)) =
            acts.iter().enumerate().find_map(|(at, act)| Some((at, fault(act)?)))
        {
            acts[at] = act;
            return Some(faulty);
        }
    }
    None
}

#[cfg_attr(feature = "sim", test)]
fn an_act_that_does_something_else_is_told() {
    for (name, mixture, fault) in FAULTS {
        let mixture = Mixture::find(mixture).expect("a mixture of that name");
        let is_told = |seed| {
            let program = mixture.program(seed);
            let Some(faulty) = planted(&program, *fault) else { return false };
            let comparison = Comparison { judge: mixture.judge, random: 0, plain: false };
            matches!(comparison.between(&program, &faulty), Verdict::Differs(_))
        };
        // The tests above compare as many.
        assert!((0..USUAL).any(is_told), "no program shows what {name} does");
    }
}

#[cfg_attr(feature = "sim", test)]
fn each_act_that_is_generated_has_a_fault() {
    let name = |act: &Act| {
        let text = format!("{act:?}");
        text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
    };
    let names = sync::Mutex::new(BTreeSet::new());
    for mixture in MIXTURES {
        for seed in 0..100 {
            mixture.program(seed).any(|act| {
                names.lock().unwrap().insert(name(act));
                false
            });
        }
    }
    let faults: BTreeSet<_> = FAULTS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(names.into_inner().unwrap(), faults);
}

#[cfg_attr(feature = "sim", test)]
fn the_smallest_program_that_differs_is_found() {
    let mut large = adders(false);
    large.tasks[1].splice(0..0, [Lock(0), Race(vec![Load(1)], vec![Add(0), Yield]), Unlock]);
    large.tasks[2].push(Lock(0));
    // Two orders of additions: the shrunk program is the smallest with both.
    let two_orders = |program: &Program| {
        let results = interpret::results(program, 100_000).expect("few states");
        let logs = |of: &[u16]| results.iter().any(|sight| sight.logs[2] == of);
        logs(&[0]) && logs(&[1])
    };
    let small = shrink(&large, two_orders);
    let expected =
        vec![vec![Spawn(1, vec![]), Spawn(2, vec![]), Join(1)], vec![Add(0)], vec![Add(0)]];
    assert_eq!(small.tasks, expected);
}

#[cfg_attr(feature = "sim", test)]
fn a_number_is_always_the_same_program() {
    for mixture in MIXTURES {
        assert_eq!(mixture.program(7), mixture.program(7), "{}", mixture.name);
    }
    let program = Mixture::find("abort").unwrap().program(7);
    expect_test::expect![[r#"
        async fn body() {
            let t1 = spawn(async move {
                m0.lock().await;
            });
            see(t1.await.is_ok());
            yield_now().await;
            yield_now().await;
            yield_now().await;
        }
    "#]]
    .assert_eq(&program.to_string());
}
