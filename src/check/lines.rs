//! The search for an order that keeps the order of some lines of operations: those of each client,
//! or what else a condition asks for.
//!
//! Depth first over how far each line has got, with a memo of (positions, state). It is the search for
//! linearizability under another order relation, without what real time gives there: every line is in
//! play all the time, so a key has a word for each line and nothing can be forgotten.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;

use super::hash::Table;
use super::limits::{Budget, Meter};
use super::linearizable::memo::{NOTHING, Orders, States};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::{Evidence, Exhausted, Verdict, Witness};

/// Operations, by index, that have to keep their order.
pub(super) type Line = Vec<usize>;

/// Decides whether there is an order that has all of a stage before anything of the next, keeps each
/// line of a stage, and suits the model. What never returned is optional; it may stand in the last
/// stage only, and with nothing but its like after it in its line.
pub(super) fn decide<M: Model>(
    engine: &str,
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    stages: &[Vec<Line>],
    budget: &Budget<'_>,
) -> Verdict {
    let mut search = Search {
        operations,
        stages,
        meter: Meter::new(budget),
        states: States::new(),
        orders: Orders::default(),
        known: Table::default(),
        stack: Vec::new(),
        longest: 0,
        ends: Vec::new(),
        successors: Vec::new(),
    };
    let spell = |search: &Search<'_, '_, M>, order| {
        search.orders.spell(order).into_iter().map(|op| op as usize).collect::<Vec<usize>>()
    };
    match search.run(initial) {
        Found::Order(order) => {
            let order = Some(spell(&search, order));
            Verdict::Consistent(Witness { engine: engine.to_owned(), order })
        }
        Found::OutOfBudget => Verdict::Unknown(Exhausted {
            nodes: search.meter.nodes,
            longest: search.longest as usize,
            operations: operations.len(),
        }),
        Found::Nothing => {
            let ends = std::mem::take(&mut search.ends);
            let misfit = search.next(&ends[0]).min_by_key(|index| operations[*index].invoked);
            let misfit = misfit.expect("something is left to order");
            let mut evidence = Evidence {
                engine: engine.to_owned(),
                misfit,
                state: search.states.get(ends[0].state).state_text(),
                ..Evidence::default()
            };
            // After the others, some other operation is next.
            for end in ends.iter().filter(|end| search.next(end).any(|next| next == misfit)) {
                let order = spell(&search, end.order);
                if !evidence.partial.contains(&order) {
                    evidence.partial.push(order);
                }
                for ret in search.states.get(end.state).returns(&operations[misfit].op) {
                    let text = M::ret_text(&ret);
                    if !evidence.expected.contains(&text) {
                        evidence.expected.push(text);
                    }
                }
            }
            Verdict::Violated(Box::new(evidence))
        }
    }
}

enum Found {
    Order(u32),
    Nothing,
    OutOfBudget,
}

/// Where an order leads.
#[derive(Clone)]
struct Configuration {
    stage: u32,
    /// How far each line of the stage has got.
    at: Box<[u32]>,
    state: u32,
    order: u32,
    length: u32,
    /// How many operations of the stage that returned are not ordered.
    left: u32,
}

struct Frame {
    here: Configuration,
    /// The lines to go on with and the state after that, the best last.
    moves: Vec<(u32, u32)>,
}

struct Search<'a, 'b, M: Model> {
    operations: &'a [Operation<M::Op, M::Ret>],
    stages: &'a [Vec<Line>],
    meter: Meter<'b>,
    states: States<M>,
    orders: Orders,
    /// What was visited, by stage, state and positions.
    known: Table<(u32, u32, Box<[u32]>), ()>,
    stack: Vec<Frame>,
    longest: u32,
    /// A few configurations that the longest orders lead to.
    ends: Vec<Configuration>,
    successors: Vec<M>,
}

impl<M: Model> Search<'_, '_, M> {
    /// How many of the longest orders are kept: what fits on a screen.
    const ENDS_MAX: usize = 4;

    fn run(&mut self, initial: &M) -> Found {
        let state = self.states.number_of(initial.clone());
        let mut arrived = self.open(0, state);
        let mut nodes_before = 0;
        loop {
            if let Some(found) = self.arrive(arrived, nodes_before) {
                return found;
            }
            arrived = loop {
                let Some(frame) = self.stack.last_mut() else { return Found::Nothing };
                let Some((line, state)) = frame.moves.pop() else {
                    self.stack.pop();
                    continue;
                };
                let mut next = frame.here.clone();
                next.state = state;
                nodes_before = self.orders.len();
                self.take(&mut next, line);
                break next;
            };
        }
    }

    /// The beginning of a stage.
    fn open(&self, stage: usize, state: u32) -> Configuration {
        let lines = self.stages.get(stage).map_or(&[][..], |lines| lines);
        let returned = lines.iter().flatten().filter(|i| self.operations[**i].returned.is_some());
        Configuration {
            stage: stage as u32,
            at: vec![0; lines.len()].into(),
            state,
            order: NOTHING,
            length: 0,
            left: returned.count() as u32,
        }
    }

    /// Orders the next operation of a line.
    fn take(&mut self, here: &mut Configuration, line: u32) {
        let index =
            self.stages[here.stage as usize][line as usize][here.at[line as usize] as usize];
        here.at[line as usize] += 1;
        here.left -= u32::from(self.operations[index].returned.is_some());
        here.order = self.orders.extend(here.order, index as u32);
        here.length += 1;
    }

    /// The operations that have to be next: those that returned.
    fn next(&self, here: &Configuration) -> impl Iterator<Item = usize> {
        let lines = &self.stages[here.stage as usize];
        let next = lines.iter().zip(&here.at).filter_map(|(line, at)| line.get(*at as usize));
        next.copied().filter(|index| self.operations[*index].returned.is_some())
    }

    /// Settles a configuration and puts it on the stack if it is new. What it settles, if anything.
    fn arrive(&mut self, mut here: Configuration, nodes_before: usize) -> Option<Found> {
        let work = self.settle(&mut here);
        if here.left == 0 {
            return Some(Found::Order(here.order));
        }
        match self.known.entry((here.stage, here.state, here.at.clone())) {
            Entry::Occupied(_) => {
                self.orders.truncate(nodes_before);
                return (!self.meter.work(work)).then_some(Found::OutOfBudget);
            }
            Entry::Vacant(entry) => entry.insert(()),
        };
        if !self.meter.visit(work) {
            return Some(Found::OutOfBudget);
        }
        if here.length > self.longest {
            self.longest = here.length;
            self.ends.clear();
        }
        if here.length == self.longest && self.ends.len() < Self::ENDS_MAX {
            self.ends.push(here.clone());
        }
        let moves = self.moves(&here);
        self.stack.push(Frame { here, moves });
        None
    }

    /// Takes every observer that is next and fits, and goes on to the next stage if this one is done.
    /// An observer that fits now loses nothing by going now: what comes before it in the order
    /// relation has gone, and it changes no state. Returns how much work that was.
    fn settle(&mut self, here: &mut Configuration) -> u32 {
        let mut work = 1;
        loop {
            for line in 0..here.at.len() {
                while self.observer_fits(here, line) {
                    work += 1;
                    self.take(here, line as u32);
                }
            }
            if here.left > 0 || here.stage as usize + 1 >= self.stages.len() {
                return work;
            }
            let next = self.open(here.stage as usize + 1, here.state);
            *here = Configuration { order: here.order, length: here.length, ..next };
        }
    }

    /// Whether the next operation of a line is an observer that fits the state.
    fn observer_fits(&mut self, here: &Configuration, line: usize) -> bool {
        let at = here.at[line] as usize;
        let Some(&index) = self.stages[here.stage as usize][line].get(at) else { return false };
        let Operation { op, returned, .. } = &self.operations[index];
        let Some((ret, _)) = returned.as_ref().filter(|(ret, _)| M::observes(op, ret)) else {
            return false;
        };
        self.find_successors(index, here.state);
        let current = self.states.get(here.state);
        assert!(
            self.successors.iter().all(|next| next == current),
            "the model {} says that {op:?} only observes when it returns {ret:?}, but it changes \
             {current:?}: correct its `observes`",
            M::name(),
        );
        !self.successors.is_empty()
    }

    fn find_successors(&mut self, index: usize, state: u32) {
        let Operation { op, returned, .. } = &self.operations[index];
        self.successors.clear();
        let ret = returned.as_ref().map(|(ret, _)| ret);
        self.states.get(state).successors(op, ret, &mut self.successors);
    }

    /// The lines that can go on and the state after that. Tried first, and so last: what returned
    /// first, since most orders that there are keep nearly to real time; what never returned comes
    /// when nothing else is left.
    fn moves(&mut self, here: &Configuration) -> Vec<(u32, u32)> {
        let lines = &self.stages[here.stage as usize];
        let mut next: Vec<(u64, u32, usize)> = Vec::with_capacity(lines.len());
        for (number, line) in lines.iter().enumerate() {
            if let Some(&index) = line.get(here.at[number] as usize) {
                next.push((self.operations[index].end(), number as u32, index));
            }
        }
        next.sort_unstable_by(|a, b| b.cmp(a));
        let mut moves = Vec::with_capacity(next.len());
        for (end, number, index) in next {
            self.find_successors(index, here.state);
            while let Some(state) = self.successors.pop() {
                let state = self.states.number_of(state);
                // What never returned and changes nothing might as well not have happened.
                if end != u64::MAX || state != here.state {
                    moves.push((number, state));
                }
            }
        }
        moves
    }
}
