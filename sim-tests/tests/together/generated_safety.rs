//! Preconditions must hold in every order. Generated programs are compared with an enumeration of all their orders,
//! which shares no code with the library's check.

// tidy: never iterated: looked up only
use std::collections::HashSet;
use std::collections::{BTreeMap, BTreeSet};

use sim::check::Model;
use sim::generate::Results;
use sim::run::program::{CommandRecord, Fate, Faults, Part};
use sim::run::{Failure, Outcome, Run};
use sim::{CommandId, Gen, Mutex, Program, Script, Shape};
use sim_tests::seeds::{SEEDS, runner};

// ---- models with preconditions

/// The kind of a thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Kind {
    /// The lowest free slot is allocated, and released by its holder.
    Slots,
    /// Stores all commands; some are allowed only after others.
    Log,
    /// A queue: values are removed in the order in which they were added. A removal requires an even or an odd value.
    Queue,
    /// Like a queue, but in the opposite order.
    Stack,
    /// At most three values may be inside, and some of them are never removed.
    Bounded,
    /// A map: only existing values may be deleted.
    Map,
    /// Any free connection is allocated, and released by its holder.
    Pool,
}
use Kind::{Bounded, Log, Map, Pool, Queue, Slots, Stack};

const KINDS: [Kind; 7] = [Slots, Log, Queue, Stack, Bounded, Map, Pool];

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thing {
    kind: Kind,
    data: Vec<u32>,
}

/// An operation, with a number or the result of an earlier command.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Op {
    verb: u32,
    number: u32,
    of: Option<CommandId>,
}

fn op(verb: u32, number: u32) -> Op {
    Op { verb, number, of: None }
}

impl Thing {
    fn new(kind: Kind) -> Thing {
        Thing { kind, data: Vec::new() }
    }

    fn free(&self) -> impl Iterator<Item = u32> {
        let free = (0..if self.kind == Pool { 3 } else { 100 }).filter(|n| !self.data.contains(n));
        free.collect::<Vec<_>>().into_iter()
    }

    fn with(&self, data: impl IntoIterator<Item = u32>) -> Thing {
        let mut data: Vec<u32> = data.into_iter().collect();
        if matches!(self.kind, Slots | Map | Pool) {
            data.sort_unstable();
        }
        Thing { kind: self.kind, data }
    }

    /// All possible states after an operation, with its result.
    fn after(&self, op: &Op) -> Vec<(Thing, u32)> {
        let data = || self.data.iter().copied();
        let added = |n: u32| self.with(data().chain([n]));
        let without = |n: u32| self.with(data().filter(|other| *other != n));
        match (self.kind, op.verb) {
            (Slots, 0) => self.free().take(1).map(|n| (added(n), n)).collect(),
            (Pool, 0) => self.free().map(|n| (added(n), n)).collect(),
            (Slots | Pool | Map, 1) => vec![(without(op.number), 0)],
            (Map, _) => vec![(
                if data().any(|n| n == op.number) { self.clone() } else { added(op.number) },
                0,
            )],
            (Log, _) => vec![(added(op.number), self.data.len() as u32)],
            (_, 0) => vec![(added(op.number), 0)],
            (Stack, _) => {
                let last = self.data.last().copied().unwrap_or(99);
                vec![(self.with(data().take(self.data.len().saturating_sub(1))), last)]
            }
            _ => vec![(self.with(data().skip(1)), self.data.first().copied().unwrap_or(99))],
        }
    }
}

impl Model for Thing {
    type Op = Op;
    type Ret = u32;

    fn step(&mut self, op: &Op) -> u32 {
        let (next, ret) = self.after(op).into_iter().next().unwrap_or((self.clone(), 99));
        *self = next;
        ret
    }

    fn successors(&self, op: &Op, ret: Option<&u32>, out: &mut Vec<Thing>) {
        let nexts =
            self.after(op).into_iter().filter(|(_, told)| ret.is_none_or(|ret| ret == told));
        out.extend(nexts.map(|(next, _)| next));
    }

    fn returns(&self, op: &Op) -> Vec<u32> {
        self.after(op).into_iter().map(|(_, ret)| ret).collect()
    }

    fn op_text(op: &Op) -> String {
        let of = op.of.map_or(String::new(), |id| id.0.to_string());
        format!("{}/{}/{of}/", op.verb, op.number)
    }
}

impl Program for Thing {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let verb = g.below(2) as u32;
        match (self.kind, verb) {
            (Slots | Pool, 1) => {
                let of = g.choose_earlier(|e| e.op.verb == 0);
                of.map_or(op(0, 0), |id| Op { verb: 1, number: 0, of: Some(id) })
            }
            (Slots | Pool, _) => op(0, 0),
            (Log, _) => op(0, g.below(10) as u32),
            (Map, _) => op(verb, g.below(3) as u32),
            (_, 0) => op(0, g.below(100) as u32),
            _ => op(1 + g.below(2) as u32, 0),
        }
    }

    fn precondition(&self, op: &Op) -> bool {
        match (self.kind, op.verb) {
            (Slots | Pool | Map, 1) => self.data.contains(&op.number),
            (Pool, _) => self.data.len() < 3,
            (Log, _) => match op.number {
                7 | 8 => self.data.contains(&1),
                9 => self.data.len() < 6,
                _ => true,
            },
            (Bounded, 0) => self.data.len() < 3,
            (Queue | Bounded, 1) => !self.data.is_empty(),
            (Queue | Bounded, 2) => self.data.first().is_some_and(|value| value % 2 == 0),
            (Stack, 1) => !self.data.is_empty(),
            (Stack, 2) => self.data.last().is_some_and(|value| value % 2 == 0),
            _ => true,
        }
    }

    fn resolve(op: &Op, results: &Results<'_, Self>) -> Option<Op> {
        match op.of {
            None => Some(op.clone()),
            Some(id) => Some(Op { number: *results.get(id)?, of: None, ..op.clone() }),
        }
    }
}

// ---- all orders

/// A possible configuration of a program: the state, the returned values, the commands without a
/// waiting branch, and true if a result may be lost.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Config {
    kind: Kind,
    data: Vec<u32>,
    returned: BTreeMap<u32, u32>,
    open: Vec<(u32, u32)>,
    lost: bool,
}

fn parsed(text: &str) -> Op {
    let mut fields = text.split('/');
    let mut number = || fields.next().and_then(|field| field.parse().ok());
    let (verb, count) = (number().unwrap(), number().unwrap());
    Op { verb, number: count, of: number().map(CommandId) }
}

type Placed = (u32, Op, Faults);

/// Executes all orders of one stage, and returns all possible states at its end.
///
/// # Errors
/// If a command is not allowed.
fn stage(branches: &[Vec<Placed>], starts: &BTreeSet<Config>) -> Result<BTreeSet<Config>, String> {
    let mut ends = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut left: Vec<(Vec<usize>, Config)> =
        starts.iter().map(|start| (vec![0; branches.len()], start.clone())).collect();
    while let Some((at, config)) = left.pop() {
        if !seen.insert((at.clone(), config.clone())) {
            continue;
        }
        let thing = Thing { kind: config.kind, data: config.data.clone() };
        for nth in 0..config.open.len() {
            let late = op(config.open[nth].0, config.open[nth].1);
            if !thing.precondition(&late) {
                return Err(format!("{late:?}, which nobody waits for, at {at:?} in {config:?}"));
            }
            for (next, _) in thing.after(&late) {
                let mut open = config.open.clone();
                open.remove(nth);
                left.push((at.clone(), Config { data: next.data, open, ..config.clone() }));
            }
        }
        let mut ended = true;
        for (nth, branch) in branches.iter().enumerate() {
            let Some((id, asked, faults)) = branch.get(at[nth]) else { continue };
            ended = false;
            let mut at = at.clone();
            at[nth] += 1;
            let number = match asked.of {
                None => Some(asked.number),
                // A command must not see the result of a concurrent command.
                Some(of) => {
                    let beside = branches.iter().enumerate().filter(|(other, _)| *other != nth);
                    let beside = beside.flat_map(|(_, branch)| branch).any(|(id, ..)| *id == of.0);
                    config.returned.get(&of.0).copied().filter(|_| !beside)
                }
            };
            let Some(number) = number else {
                if !config.lost {
                    return Err(format!("#{id}, whose result is not there, in {config:?}"));
                }
                left.push((at, config.clone()));
                continue;
            };
            let asked = op(asked.verb, number);
            if !thing.precondition(&asked) {
                return Err(format!("#{id}: {asked:?} at {at:?} in {config:?}"));
            }
            if faults.timeout {
                let mut open = config.open.clone();
                open.push((asked.verb, asked.number));
                left.push((at, Config { open, lost: true, ..config.clone() }));
                continue;
            }
            for (next, ret) in thing.after(&asked) {
                let happened = Config { data: next.data, ..config.clone() };
                let mut returned = config.returned.clone();
                returned.insert(*id, ret);
                left.push((at.clone(), Config { returned, ..happened.clone() }));
                if faults.crash.is_some() {
                    left.push((at.clone(), Config { lost: true, ..happened }));
                }
            }
            if faults.crash.is_some() {
                left.push((at, Config { lost: true, ..config.clone() }));
            }
        }
        if ended {
            ends.insert(config);
        }
    }
    Ok(ends)
}

/// Goes through all orders of a program.
///
/// # Errors
/// If a command is not allowed.
fn every_order(kind: Kind, commands: &[CommandRecord]) -> Result<(), String> {
    let mut stages: BTreeMap<(u32, u32), BTreeMap<u32, Vec<Placed>>> = BTreeMap::new();
    let named = commands.iter().enumerate().filter(|(_, c)| c.layout.fate == Fate::Runs);
    let looked = named.clone().any(|(_, command)| parsed(&command.text).of.is_some());
    for (id, command) in named {
        let (stage, branch) = match command.layout.part {
            Part::Prefix => ((0, 0), 0),
            Part::Branch { stage, branch } => ((1, stage), branch),
            Part::Suffix => ((2, 0), 0),
            Part::Nemesis { .. } => panic!("a program without faults"),
        };
        let placed = (id as u32, parsed(&command.text), command.faults);
        stages.entry(stage).or_default().entry(branch).or_default().push(placed);
    }
    let start =
        Config { kind, data: Vec::new(), returned: BTreeMap::new(), open: Vec::new(), lost: false };
    let mut now = BTreeSet::from([start]);
    for (number, branches) in stages {
        let branches: Vec<Vec<Placed>> = branches.into_values().collect();
        now = stage(&branches, &now).map_err(|why| format!("in stage {number:?}, {why}"))?;
        if !looked {
            // No command requests a result, so results are dropped.
            let forget = |config: Config| Config { returned: BTreeMap::new(), ..config };
            now = now.into_iter().map(forget).collect();
        }
    }
    Ok(())
}

/// The run of a seed that only generates the program; results are not checked.
fn made(kind: Kind, shape: &Shape, seed: u64) -> Run {
    runner("safety").run_seed(seed, async || {
        sim::parallel(shape.clone().budget(1), Thing::new(kind), async |_| 0).await;
    })
}

/// Checks that every command of the programs of a shape is allowed in every order.
fn check(shapes: &[(&str, Shape)], seeds: std::ops::Range<u64>) {
    for (name, shape) in shapes {
        for kind in KINDS {
            let (mut commands, mut unchecked, mut faults, mut took) = (0, 0, 0, 0);
            for seed in seeds.clone() {
                let run = made(kind, shape, seed);
                let Some(program) = run.programs.first() else {
                    panic!("{name}, {kind:?}, seed {seed}: {:?}", run.outcome)
                };
                if let Err(why) = every_order(kind, &program.commands) {
                    let texts: Vec<_> =
                        program.commands.iter().map(|c| (c.layout.part, &c.text)).collect();
                    panic!("{name}, {kind:?}, seed {seed}: {why}\n{texts:?}");
                }
                commands += program.commands.len();
                unchecked += program.omitted.unchecked;
                faults += program.omitted.faults;
                took += program.work;
            }
            println!(
                "{name}, {kind:?}: {commands} commands, {unchecked} not checked and left out, {faults} without their faults, \
                 {} steps a program",
                took / (seeds.end - seeds.start)
            );
        }
    }
}

#[cfg_attr(feature = "sim", test)]
fn preconditions_hold_in_every_order() {
    let default = [("chunks", Shape::chunks()), ("branches", Shape::branches())];
    // Seven models and two shapes: 10^5 programs on request.
    check(&default, 0..if sim_tests::histories::long() { 7200 } else { 3 });
    let faulty = [
        ("chunks, timeout", Shape::chunks().max_chunks(1).timeout(0.5)),
        ("chunks, crash", Shape::chunks().max_chunks(2).crash(0.3)),
        ("branches, both", Shape::branches().max_prefix_length(4).crash(0.2).timeout(0.2)),
    ];
    let more = if sim_tests::histories::long() { 300 } else { 1 };
    check(&faulty, 30..30 + more);
}

// ---- programs that are made smaller or written down

#[test]
fn a_stage_without_commands_keeps_all_states() {
    // After this stage, one of the five orders has an odd number at the top.
    for gap in [1, 2, 5] {
        let script = || {
            let pushes = [2, 4, 6, 8, 1].into_iter().zip(0..);
            let script =
                pushes.fold(Script::new(), |script, (n, at)| script.branch(0, at, op(0, n)));
            script.branch(gap, 0, op(2, 0))
        };
        let model = || Thing::new(Stack);
        let report = runner("gap").seeds(0..2).run(async || {
            sim::parallel::scripted(script(), model(), async |_| 0).await;
        });
        let outcome = report.finding.expect("it is not allowed").run.outcome;
        let Outcome::Failed(Failure::Misuse { message, .. }) = &outcome else {
            panic!("{outcome:?}")
        };
        assert!(message.contains("does not allow command #5"), "{message}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn what_is_left_of_a_program_is_allowed() {
    let mut found = 0;
    for start in 0..if sim_tests::histories::long() { 60 } else { 2 } {
        // Two tasks that get a slot at the same time get the same slot.
        let runner = runner("left").seeds(start * 150..start * 150 + 150);
        let report = runner.run(async || {
            let slots = Mutex::new(BTreeSet::new());
            sim::parallel(Shape::chunks(), Thing::new(Slots), async |op| {
                if op.verb == 1 {
                    assert!(slots.lock().await.remove(&op.number), "it is not held");
                    return 0;
                }
                let free = {
                    let slots = slots.lock().await;
                    (0..).find(|n| !slots.contains(n)).unwrap()
                };
                slots.lock().await.insert(free);
                free
            })
            .await;
        });
        let Some(finding) = report.finding else { continue };
        found += 1;
        let program = &finding.run.programs[0];
        let allowed = every_order(Slots, &program.commands);
        assert_eq!(allowed, Ok(()), "seeds from {start}: {:?}", program.left());
    }
    assert!(found > 0, "{found}");
}

#[test]
fn a_model_with_several_ways_is_followed_into_each() {
    // The connection released last is allocated first: one possible behaviour of a pool that
    // allocates any.
    let seeds = if sim_tests::histories::long() { SEEDS } else { SEEDS / 4 };
    let report = runner("pool").seeds(0..seeds).run(async || {
        let pool = Mutex::new(vec![2, 1, 0]);
        sim::parallel(Shape::chunks(), Thing::new(Pool), async |op| {
            let mut pool = pool.lock().await;
            match op.verb {
                0 => pool.pop().expect("one is free"),
                _ => {
                    assert!(!pool.contains(&op.number), "{} was given back twice", op.number);
                    pool.push(op.number);
                    0
                }
            }
        })
        .await;
    });
    assert_eq!(report.finding.map(|found| found.run.outcome), None);
}
