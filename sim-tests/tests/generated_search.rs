//! Generated programs under a search: all programs of a shape, each in all its interleavings, against programs
//! and interleavings that are enumerated here without the library.

use std::collections::{BTreeMap, BTreeSet};

use sim::check::Model;
use sim::program::{Fate, Part};
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, CommandId, Gen, Ordering::SeqCst, Program, SIMULATED, Shape};
use sim_tests::seeds::runner;

// ---- what is tested

/// Adds in two accesses, is looked at, and gives one away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Op {
    Add(CommandId),
    Get(CommandId),
    Take(CommandId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sum {
    value: i64,
    /// Whether commands are taken for what they are: else [`Op::Take`] may be asked of nothing.
    strict: bool,
    kinds: usize,
}

impl Model for Sum {
    type Op = Op;
    type Ret = i64;

    fn step(&mut self, op: &Op) -> i64 {
        match op {
            Op::Add(_) => self.value += 1,
            Op::Get(_) => {}
            Op::Take(_) => self.value -= 1,
        }
        self.value
    }
}

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
        let id = g.id();
        g.choose(&[Op::Add(id), Op::Get(id), Op::Take(id)][..self.kinds])
    }

    fn precondition(&self, op: &Op) -> bool {
        !self.strict || !matches!(op, Op::Take(_)) || self.value > 0
    }
}

async fn ask(sum: &Atomic<i64>, op: Op) -> i64 {
    match op {
        Op::Add(_) => {
            let value = sum.load(SeqCst).await + 1;
            sum.store(value, SeqCst).await;
            value
        }
        Op::Get(_) => sum.load(SeqCst).await,
        Op::Take(_) => sum.fetch_sub(1, SeqCst).await - 1,
    }
}

// ---- the same without the library

/// Numbers that look random, of a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % bound
    }
}

/// A small shape, as numbers.
#[derive(Clone, Debug)]
struct Small {
    prefix: u32,
    /// Chunks and their size; or branches and their length.
    chunks: Option<(u32, u32)>,
    branches: (u32, u32),
    suffix: u32,
    kinds: usize,
    strict: bool,
    crash: bool,
    stutter: bool,
}

impl Small {
    fn drawn(seed: u64) -> Small {
        let mut rng = Dice(seed);
        let fault = rng.below(6);
        let mut small = Small {
            prefix: rng.below(2) as u32,
            chunks: (rng.below(2) == 0).then(|| (1, 2 + u32::from(rng.below(3) == 0))),
            branches: (2, 1 + u32::from(rng.below(3) == 0)),
            suffix: 1,
            kinds: 1 + rng.below(3) as usize,
            strict: rng.below(2) == 0,
            crash: fault == 0,
            stutter: fault == 1,
        };
        match rng.below(6) {
            0 if small.kinds == 1 => small.branches = (3, 1),
            1 if small.kinds < 3 => small.suffix = 2,
            2 if small.kinds == 1 => small.chunks = small.chunks.map(|_| (2, 2)),
            _ => {}
        }
        if small.crash || small.stutter {
            (small.kinds, small.prefix, small.suffix) = (small.kinds.min(2), 0, 1);
            small.branches = (2, 1);
            small.chunks = small.chunks.map(|_| (1, 2));
        }
        small
    }

    fn shape(&self) -> Shape {
        let shape = match self.chunks {
            Some((count, width)) => Shape::chunks().max_chunks(count).max_chunk_size(width),
            None => {
                let (count, length) = self.branches;
                Shape::branches().min_prefix_length(0).max_branches(count).max_branch_length(length)
            }
        };
        let shape = shape.max_prefix_length(self.prefix).max_suffix_length(self.suffix);
        let shape = if self.crash { shape.crash(0.1) } else { shape };
        if self.stutter { shape.stutter(0.9) } else { shape }
    }

    /// How many commands can stand where.
    fn skeletons(&self) -> Vec<Vec<Part>> {
        let mut all = Vec::new();
        for prefix in 0..=self.prefix {
            for middle in self.middles() {
                for suffix in 1..=self.suffix {
                    let mut parts = vec![Part::Prefix; prefix as usize];
                    parts.extend(&middle);
                    parts.extend((0..suffix).map(|_| Part::Suffix));
                    all.push(parts);
                }
            }
        }
        all
    }

    fn middles(&self) -> Vec<Vec<Part>> {
        let mut all = vec![];
        if let Some((count_max, width_max)) = self.chunks {
            for count in 1..=count_max {
                let mut of_count: Vec<Vec<Part>> = vec![vec![]];
                for stage in 0..count {
                    let wider = |parts: &Vec<Part>| {
                        let parts = parts.clone();
                        (2..=width_max).map(move |width| {
                            let beside = (0..width).map(|branch| Part::Branch { stage, branch });
                            parts.iter().copied().chain(beside).collect::<Vec<_>>()
                        })
                    };
                    of_count = of_count.iter().flat_map(wider).collect();
                }
                all.extend(of_count);
            }
            return all;
        }
        let (count_max, length_max) = self.branches;
        for count in 2..=count_max {
            let mut of_count: Vec<Vec<Part>> = vec![vec![]];
            for branch in 0..count {
                let longer = |parts: &Vec<Part>| {
                    let parts = parts.clone();
                    (1..=length_max).map(move |length| {
                        let more = (0..length).map(|_| Part::Branch { stage: 0, branch });
                        parts.iter().copied().chain(more).collect::<Vec<_>>()
                    })
                };
                of_count = of_count.iter().flat_map(longer).collect();
            }
            all.extend(of_count);
        }
        all
    }
}

/// A command with what befalls it; no operation if it was left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Command {
    part: Part,
    /// 0: add, 1: get, 2: take.
    kind: Option<usize>,
    crash: Option<u32>,
    again: bool,
}

/// The commands of each stage, branch by branch, by their numbers.
fn stages(commands: &[Command]) -> Vec<Vec<Vec<usize>>> {
    let mut stages: BTreeMap<(u32, u32), BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (id, command) in commands.iter().enumerate().filter(|(_, command)| command.kind.is_some()) {
        let (stage, branch) = match command.part {
            Part::Prefix => ((0, 0), 0),
            Part::Branch { stage, branch } => ((1, stage), branch),
            Part::Suffix => ((2, 0), 0),
        };
        stages.entry(stage).or_default().entry(branch).or_default().push(id);
    }
    stages.into_values().map(|branches| branches.into_values().collect()).collect()
}

/// Calls `visit` with each order in which the items of these sequences can be merged.
fn merges(left: &mut Vec<&[usize]>, taken: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
    let mut any = false;
    for nth in 0..left.len() {
        let Some((first, rest)) = left[nth].split_first() else { continue };
        any = true;
        let before = std::mem::replace(&mut left[nth], rest);
        taken.push(*first);
        merges(left, taken, visit);
        taken.pop();
        left[nth] = before;
    }
    if !any {
        visit(taken);
    }
}

/// Whether each command may be asked in every order; a crashed one happens or not.
fn is_allowed(commands: &[Command]) -> bool {
    let mut starts = BTreeSet::from([0]);
    for stage in stages(commands) {
        let mut ends = BTreeSet::new();
        let mut allowed = true;
        let mut left: Vec<&[usize]> = stage.iter().map(Vec::as_slice).collect();
        merges(&mut left, &mut Vec::new(), &mut |order| {
            let mut states: BTreeSet<i64> = starts.clone();
            for id in order {
                let Command { kind, crash, again, .. } = commands[*id];
                allowed &= kind != Some(2) || states.iter().all(|state| *state > 0);
                let change = [1, 0, -1][kind.unwrap_or(1)];
                let after = states.iter().map(|state| state + change);
                let happens: BTreeSet<i64> = after.collect();
                states = if crash.is_some() && !again { &happens | &states } else { happens };
            }
            ends.extend(states);
        });
        if !allowed {
            return false;
        }
        starts = ends;
    }
    true
}

/// All programs of a shape.
fn programs(small: &Small) -> BTreeSet<Vec<Command>> {
    let mut all = BTreeSet::new();
    for parts in small.skeletons() {
        let mut some: Vec<Vec<Command>> = vec![Vec::new()];
        for part in &parts {
            let mut more = Vec::new();
            for begun in &some {
                let crashes = if small.crash { 8 } else { 0 };
                for crash in 0..=crashes {
                    for again in [false, true].iter().take(1 + usize::from(small.stutter)) {
                        for kind in 0..small.kinds {
                            let crash = (crash > 0).then_some(crash);
                            let next =
                                Command { part: *part, kind: Some(kind), crash, again: *again };
                            more.push([&begun[..], &[next]].concat());
                        }
                    }
                }
            }
            // What the model does not allow leaves a hole.
            for program in &mut more {
                if small.strict && !is_allowed(program) {
                    program.last_mut().unwrap().kind = None;
                }
            }
            more.sort();
            more.dedup();
            some = more;
        }
        all.extend(some);
    }
    all
}

/// What each command returned.
type Told = Vec<Option<i64>>;

/// A command on its way.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Machine {
    value: i64,
    /// For each branch: the command, how many accesses it has done, whether for the second time, and what it
    /// has loaded.
    at: Vec<(usize, u32, bool, i64)>,
    told: Told,
}

/// All that the commands can return.
fn outcomes(commands: &[Command]) -> BTreeSet<Told> {
    let start = Machine { value: 0, at: Vec::new(), told: vec![None; commands.len()] };
    let mut now = BTreeSet::from([start]);
    for stage in stages(commands) {
        let mut open: Vec<Machine> = now
            .into_iter()
            .map(|machine| Machine { at: vec![(0, 0, false, 0); stage.len()], ..machine })
            .collect();
        let mut seen: BTreeSet<Machine> = open.iter().cloned().collect();
        let mut ends = BTreeSet::new();
        while let Some(machine) = open.pop() {
            let mut ended = true;
            for branch in 0..stage.len() {
                let Some(id) = stage[branch].get(machine.at[branch].0) else { continue };
                ended = false;
                let mut next = machine.clone();
                access(&mut next, branch, &commands[*id], *id);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
            if ended {
                ends.insert(Machine { at: Vec::new(), ..machine });
            }
        }
        now = ends;
    }
    now.into_iter().map(|machine| machine.told).collect()
}

/// The next access of a branch.
fn access(machine: &mut Machine, branch: usize, command: &Command, id: usize) {
    let (at, done, twice, loaded) = &mut machine.at[branch];
    let over = |at: &mut usize, done: &mut u32, twice: &mut bool| {
        (*at, *done, *twice) = (*at + 1, 0, false);
    };
    if !*twice && command.crash.is_some_and(|point| point == *done + 1) {
        // Dropped before this access.
        return over(at, done, twice);
    }
    let last = match (command.kind, *done) {
        (Some(0), 0) => {
            *loaded = machine.value;
            false
        }
        (Some(0), _) => {
            machine.value = *loaded + 1;
            true
        }
        (Some(1), _) => true,
        _ => {
            machine.value -= 1;
            true
        }
    };
    *done += 1;
    if !last {
        return;
    }
    let told = if command.kind == Some(0) { *loaded + 1 } else { machine.value };
    if !*twice {
        machine.told[id] = Some(told);
    }
    if command.again && !*twice {
        (*done, *twice) = (0, true);
    } else {
        over(at, done, twice);
    }
}

// ---- both

/// A program and what its commands returned, of a run of the library.
fn seen(run: &Run) -> (Vec<Command>, Told) {
    let program = &run.programs[0];
    let commands = program.commands.iter().map(|command| {
        let kind = match command.text.split('(').next() {
            Some("Add") => Some(0),
            Some("Get") => Some(1),
            Some("Take") => Some(2),
            _ => None,
        };
        assert_eq!(kind.is_some(), command.layout.fate == Fate::Runs, "{command:?}");
        let (crash, again) = (command.faults.crash, command.faults.again);
        Command { part: command.layout.part, kind, crash, again }
    });
    let told = program.commands.iter().map(|command| {
        let text = command.text.split(", ").next();
        let history = &run.histories[0];
        let own = history.operations.iter().find(|own| Some(own.op.as_str()) == text);
        own.and_then(|own| own.returned.as_ref()).map(|(ret, _)| ret.parse().unwrap())
    });
    (commands.collect(), told.collect())
}

/// Explores all programs of a shape, and compares. The numbers of programs and of outcomes.
fn compare(seed: u64) -> (usize, usize) {
    let small = Small::drawn(seed);
    let mut wanted: BTreeMap<Vec<Command>, BTreeSet<Told>> = BTreeMap::new();
    for program in programs(&small) {
        let outcomes = outcomes(&program);
        wanted.insert(program, outcomes);
    }
    let mut found: BTreeMap<Vec<Command>, BTreeSet<Told>> = BTreeMap::new();
    let runner = runner("all_programs").strategy("exhaustive").seeds(0..1_000_000);
    let report = runner.each_run(
        async || {
            let (sum, model) =
                (Atomic::new(0), Sum { value: 0, strict: small.strict, kinds: small.kinds });
            sim::parallel(small.shape(), model, async |op| ask(&sum, op).await).await;
        },
        |run| {
            let (program, told) = seen(&run);
            found.entry(program).or_default().insert(told);
        },
    );
    assert!(report.finding.is_none(), "seed {seed}: {small:?}: {report:?}");
    assert!(report.searched.unwrap().is_proof(), "seed {seed}: {small:?}");
    let missed: Vec<_> =
        wanted.iter().filter(|(program, _)| !found.contains_key(*program)).collect();
    assert!(missed.is_empty(), "seed {seed}: {small:?}: never made {:?}", missed[0]);
    let other: Vec<_> = found.iter().filter(|(p, told)| wanted.get(*p) != Some(*told)).collect();
    assert!(
        other.is_empty(),
        "seed {seed}: {small:?}: {:?} is not {:?}",
        other[0],
        wanted.get(other[0].0)
    );
    (wanted.len(), wanted.values().map(BTreeSet::len).sum())
}

#[test]
fn a_search_explores_all_programs_of_a_shape_in_all_interleavings() {
    if !SIMULATED {
        return;
    }
    let shapes = if sim_tests::histories::long() { 500 } else { 12 };
    let (mut programs, mut outcomes) = (0, 0);
    for seed in 0..shapes {
        let (some, told) = compare(seed);
        programs += some;
        outcomes += told;
    }
    println!("{shapes} shapes, {programs} programs, {outcomes} outcomes");
    assert!(outcomes > programs, "nothing ever overlapped");
}

/// Answers wrongly when three calls are under way.
async fn wrong_if_three(shape: Shape) {
    let (under_way, sum) = (Atomic::new(0), Atomic::new(0i64));
    let model = Sum { value: 0, strict: false, kinds: 2 };
    sim::parallel(shape, model, async |op| {
        let others = under_way.fetch_add(1, SeqCst).await;
        let value = match op {
            Op::Add(_) => sum.fetch_add(1, SeqCst).await + 1,
            _ => sum.load(SeqCst).await,
        };
        under_way.fetch_sub(1, SeqCst).await;
        if others >= 2 { value + 100 } else { value }
    })
    .await;
}

#[test]
fn a_search_proves_nothing_of_chunks_that_it_did_not_make() {
    if !SIMULATED {
        return;
    }
    let shape = |size| {
        let one = Shape::chunks().max_chunks(1).max_chunk_size(size);
        one.max_prefix_length(0).max_suffix_length(1)
    };
    for strategy in ["exhaustive", "delays:2"] {
        let search = |size| {
            let runner = runner("three").strategy(strategy).seeds(0..200_000);
            runner.run(async || wrong_if_three(shape(size)).await)
        };
        let found = search(3)
            .finding
            .unwrap_or_else(|| panic!("{strategy}: a chunk of three was never made"));
        let failure = match &found.run.outcome {
            Outcome::Failed(failure @ Failure::History { .. }) => failure,
            outcome => panic!("{strategy}: {outcome:?}"),
        };
        assert_eq!(failure.kind(), "history");
        let two = search(2);
        assert!(two.passed(), "{strategy}: {two:?}");
    }
}

#[test]
fn a_search_of_large_programs_is_not_taken_for_non_determinism() {
    if !SIMULATED {
        return;
    }
    for shape in [Shape::chunks(), Shape::branches(), Shape::chunks().max_chunks(1)] {
        for strategy in ["exhaustive", "preemptions:1", "delays:1"] {
            let runner = runner("large").strategy(strategy).seeds(0..300);
            let report = runner.run(async || {
                let sum = sim::Mutex::new(0i64);
                let model = Sum { value: 0, strict: true, kinds: 3 };
                sim::parallel(shape.clone(), model, async |op| {
                    let mut sum = sum.lock().await;
                    *sum += match op {
                        Op::Add(_) => 1,
                        Op::Get(_) => 0,
                        Op::Take(_) => -1,
                    };
                    *sum
                })
                .await;
            });
            assert!(report.passed(), "{strategy}, {shape:?}: {report:?}");
            assert!(!report.searched.unwrap().is_proof(), "{strategy}: {shape:?}");
        }
    }
}

#[test]
fn what_a_search_finds_is_replayed_and_made_smaller() {
    if !SIMULATED {
        return;
    }
    let shape = || Shape::chunks().max_chunks(1).max_prefix_length(0).max_suffix_length(1);
    let body = async || {
        let sum = Atomic::new(0);
        let model = Sum { value: 0, strict: true, kinds: 2 };
        sim::parallel(shape(), model, async |op| ask(&sum, op).await).await;
    };
    let report = runner("found_by_search").strategy("exhaustive").seeds(0..10_000).run(body);
    let found = report.finding.expect("an update is lost");
    assert_eq!(found.run.programs[0].left().len(), 2, "{:?}", found.run.programs);
    // The trace says all: without the strategy it is the same run.
    let again = runner("found_by_search").replay(found.trace_file.unwrap()).run(body);
    let again = again.finding.unwrap();
    assert_eq!(again.run.programs, found.run.programs);
    assert_eq!(again.run.events, found.run.events);
}
