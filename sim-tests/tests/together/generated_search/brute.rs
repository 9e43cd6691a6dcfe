//! Small shapes, their programs, and all results of their commands, without the library.

use std::collections::{BTreeMap, BTreeSet};

use sim::Shape;
use sim::run::program::Part;

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
pub(super) struct Small {
    prefix: u32,
    /// Chunks and their size; or branches and their length.
    chunks: Option<(u32, u32)>,
    branches: (u32, u32),
    suffix: u32,
    pub(super) kinds: usize,
    pub(super) strict: bool,
    crash: bool,
    stutter: bool,
}

impl Small {
    pub(super) fn drawn(seed: u64) -> Small {
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

    pub(super) fn shape(&self) -> Shape {
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

    /// The possible numbers of commands in each part.
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

/// A command with its faults; no operation if it was omitted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Command {
    pub(super) part: Part,
    /// 0: add, 1: get, 2: take.
    pub(super) kind: Option<usize>,
    pub(super) crash: Option<u32>,
    pub(super) again: bool,
}

/// The commands of each stage, branch by branch, by their numbers.
fn stages(commands: &[Command]) -> Vec<Vec<Vec<usize>>> {
    let mut stages: BTreeMap<(u32, u32), BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
    for (id, command) in commands.iter().enumerate().filter(|(_, command)| command.kind.is_some()) {
        let (stage, branch) = match command.part {
            Part::Prefix => ((0, 0), 0),
            Part::Branch { stage, branch } => ((1, stage), branch),
            Part::Suffix => ((2, 0), 0),
            Part::Nemesis { .. } => panic!("a program without faults"),
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

/// Returns `true` if each command is allowed in every order; a crashed command takes effect or not.
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
pub(super) fn programs(small: &Small) -> BTreeSet<Vec<Command>> {
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
            // A command that the model does not allow is left out.
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

/// The result of each command.
pub(super) type Told = Vec<Option<i64>>;

/// A command in progress.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Machine {
    value: i64,
    /// For each branch: the command, the number of its accesses so far, `true` if the command is sent for the second
    /// time, and the value that it has loaded.
    at: Vec<(usize, u32, bool, i64)>,
    told: Told,
}

/// All possible results of the commands.
pub(super) fn outcomes(commands: &[Command]) -> BTreeSet<Told> {
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
            for (branch, ids) in stage.iter().enumerate() {
                let Some(id) = ids.get(machine.at[branch].0) else { continue };
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
