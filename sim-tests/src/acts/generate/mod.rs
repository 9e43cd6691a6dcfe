//! Generates programs. Each mixture has its own acts and its own tree of tasks.

mod acts;
mod mixtures;

use super::compare::Judge;
use super::program::{Act, CELL, Effect, NODES, Program};

pub use self::mixtures::MIXTURES;

/// A kind of program.
pub struct Mixture {
    /// The name of the mixture.
    pub name: &'static str,
    /// The acts, each with its weight.
    acts: &'static [(u32, Make)],
    /// The words of memory that the acts use.
    words: &'static [usize],
    /// The number of locks that the acts use.
    locks: u64,
    /// The maximum number of tasks besides the body, and the maximum number of acts per task.
    most: (u64, u64),
    /// The percentage of tasks that are spawned by a task other than the body.
    tree: u64,
    /// The percentage of handles that are moved into the next task.
    moves: u64,
    /// The source of the expected results.
    pub judge: Judge,
}

/// A function that generates an act.
type Make = fn(&mut Maker<'_>) -> Act;

impl Mixture {
    const fn named(self, name: &'static str) -> Mixture {
        Mixture { name, ..self }
    }

    /// Returns the mixture with this name.
    pub fn find(name: &str) -> Option<&'static Mixture> {
        MIXTURES.iter().find(|mixture| mixture.name == name)
    }

    /// Generates the program with this number.
    pub fn program(&self, seed: u64) -> Program {
        let (tasks_most, acts_most) = self.most;
        // One program in ten is larger.
        let acts_most = acts_most + u64::from(seed % 10 == 9);
        let mut maker =
            Maker { mixture: self, rng: Rng(seed), handles: Vec::new(), depth: 0, calls: 0 };
        let tasks = 2 + maker.rng.below(tasks_most) as usize;
        // The parent of each task has a lower number.
        let mut parents = vec![0; tasks];
        for (task, parent) in parents.iter_mut().enumerate().skip(2) {
            if maker.rng.below(100) < self.tree {
                *parent = maker.rng.below(task as u64) as usize;
            }
        }
        let mut program = Program { tasks: Vec::new() };
        let mut given = vec![Vec::new(); tasks];
        for task in 0..tasks {
            maker.handles = std::mem::take(&mut given[task]);
            let children: Vec<_> = (1..tasks).filter(|child| parents[*child] == task).collect();
            program.tasks.push(maker.task(task, &children, acts_most, &mut given));
        }
        program
    }
}

/// A stream of numbers: SplitMix64 (Steele, Lea, Flood 2014).
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A partially generated program.
struct Maker<'a> {
    mixture: &'a Mixture,
    rng: Rng,
    /// The handles that the task may hold at this act.
    handles: Vec<usize>,
    /// 1 inside a piece, otherwise 0.
    depth: u32,
    /// The number of recorded calls.
    calls: u8,
}

impl Maker<'_> {
    fn task(
        &mut self,
        task: usize,
        children: &[usize],
        acts_most: u64,
        given: &mut [Vec<usize>],
    ) -> Vec<Act> {
        let count = match task {
            0 => self.rng.below(acts_most),
            // Most tasks are short, because their interaction matters.
            _ => 1 + self.rng.below(acts_most).min(self.rng.below(acts_most)),
        };
        // The body spawns most of its children at once.
        let mut slots = Vec::new();
        for _ in children {
            let late = task != 0 || self.rng.below(5) == 0;
            slots.push(if late { self.rng.below(count + 1) } else { 0 });
        }
        let mut acts = Vec::new();
        for slot in 0..=count {
            for (child, _) in children.iter().zip(&slots).filter(|(_, at)| **at == slot) {
                acts.push(self.spawn(*child, given));
            }
            if slot < count {
                acts.push(self.act());
            }
        }
        // At its end, a task joins most of the tasks for which it holds handles.
        let joins = if task == 0 { 9 } else { 3 };
        for target in std::mem::take(&mut self.handles) {
            if self.rng.below(10) < joins {
                acts.push(Act::Join(target));
            }
        }
        acts
    }

    fn spawn(&mut self, child: usize, given: &mut [Vec<usize>]) -> Act {
        let defers = self
            .mixture
            .acts
            .iter()
            .any(|(_, make)| std::ptr::fn_addr_eq(*make, acts::defer as Make));
        if defers && self.rng.below(8) == 0 {
            return Act::Defer(Effect::Spawn(child));
        }
        let mut gives = Vec::new();
        for target in std::mem::take(&mut self.handles) {
            match self.rng.below(100) < self.mixture.moves {
                true => gives.push(target),
                false => self.handles.push(target),
            }
        }
        given[child].clone_from(&gives);
        self.handles.push(child);
        Act::Spawn(child, gives)
    }

    fn act(&mut self) -> Act {
        let total = self.mixture.acts.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut at = self.rng.below(total);
        for (weight, make) in self.mixture.acts {
            match at.checked_sub(u64::from(*weight)) {
                Some(rest) => at = rest,
                None => return make(self),
            }
        }
        unreachable!("the weights are their sum")
    }

    fn word(&mut self) -> usize {
        self.mixture.words[self.rng.below(self.mixture.words.len() as u64) as usize]
    }

    fn atomic(&mut self) -> usize {
        match self.word() {
            CELL => 0,
            word => word,
        }
    }

    fn value(&mut self) -> u8 {
        self.rng.below(3) as u8
    }

    fn lock(&mut self) -> usize {
        self.rng.below(self.mixture.locks) as usize
    }

    fn node(&mut self) -> usize {
        self.rng.below(NODES as u64) as usize
    }

    /// Generates an act on a handle if the task may hold one, otherwise a yield.
    fn on_handle(&mut self, act: impl FnOnce(usize) -> Act) -> Act {
        match self.handles.len() {
            0 => Act::Yield,
            held => act(self.handles[self.rng.below(held as u64) as usize]),
        }
    }

    /// Like `on_handle`, for an act that consumes the handle.
    fn takes_handle(&mut self, act: impl FnOnce(usize) -> Act) -> Act {
        let mut taken = None;
        let act = self.on_handle(|target| act(*taken.insert(target)));
        // A piece may never reach the act, so the handle may remain.
        if self.depth == 0 {
            self.handles.retain(|handle| taken != Some(*handle));
        }
        act
    }

    /// Generates an act with two pieces, unless the task is already in a piece.
    fn pieces(&mut self, act: fn(Vec<Act>, Vec<Act>) -> Act) -> Act {
        if self.depth > 0 {
            return acts::add(self);
        }
        self.depth = 1;
        let [one, two] = [(); 2].map(|()| {
            let count = 1 + self.rng.below(2);
            (0..count).map(|_| self.act()).collect()
        });
        self.depth = 0;
        act(one, two)
    }
}
