//! The search for an order that keeps the order within each line of operations, for example the operations of each
//! client.
//!
//! The search is depth-first over the position in each line, with a memo of (positions, state). This is the search for
//! linearizability under another order relation, without the pruning by real time. Every line is active all the time,
//! so a key has some bits for each line, and no entry can be dropped. Moves are generated one at a time, so a move that
//! is never tried costs nothing.
//!
//! A linearizable history satisfies both conditions that use this search. So linearizability is checked first, because
//! that check takes only a fraction of the time.

// tidy: never iterated: looked up only
use std::collections::hash_map::Entry;

use super::hash::Table;
use super::limits::{Budget, Malformed, Meter, table_bytes, vec_bytes};
use super::linearizable::linearizable_counted;
use super::linearizable::memo::{NOTHING, OrderTree, StateTable};
use super::model::Model;
use crate::history::Operation;
use crate::verdict::{Evidence, Exhausted, Verdict, Witness};

/// Operations, by index, that must stay in this order.
pub(super) type Line = Vec<usize>;

/// Checks linearizability, with half of the budget, for a condition that linearizability implies. Returns the verdict
/// if the history is linearizable, otherwise the meter for the rest of the check.
///
/// A linearization keeps two orders: the order of each client's operations, because the next operation is invoked
/// after the previous return, and the order across moments of rest. An operation that never returned comes after its
/// invocation, and so after the earlier operations of its client and the last moment of rest.
pub(super) fn implied<'a, M: Model>(
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    budget: &Budget<'a>,
) -> Result<(Option<Verdict>, Meter<'a>), Malformed> {
    let half = Budget { nodes: budget.nodes / 2, ..*budget };
    let (verdict, nodes) = linearizable_counted(initial, operations, &half)?;
    let mut meter = Meter::new(budget);
    meter.nodes = nodes;
    let Verdict::Consistent(Witness { engine, order }) = verdict else {
        return Ok((None, meter));
    };
    let engine = format!("linearizable: {engine}");
    Ok((Some(Verdict::Consistent(Witness { engine, order })), meter))
}

/// Searches for an order that the model accepts, with every stage before the next stage, and each line of a stage in
/// its order. Operations that never returned are optional. Such operations may be in the last stage only, and in their
/// line only operations of the same kind may follow them.
pub(super) fn decide<M: Model>(
    engine: &str,
    initial: &M,
    operations: &[Operation<M::Op, M::Ret>],
    stages: &[Vec<Line>],
    meter: Meter<'_>,
) -> Verdict {
    let observes = |call: &Operation<M::Op, M::Ret>| {
        call.returned.as_ref().is_some_and(|(ret, _)| M::observes(&call.op, ret))
    };
    let mut search = LineSearch {
        operations,
        stages,
        widths: stages.iter().map(|lines| Widths::new(lines)).collect(),
        observer: operations.iter().map(observes).collect(),
        keys: 0,
        meter,
        states: StateTable::new(),
        orders: OrderTree::default(),
        known: Table::default(),
        stack: Vec::new(),
        looked: 0,
        longest: 0,
        ends: Vec::new(),
        successors: Vec::new(),
    };
    let spell = |search: &LineSearch<'_, '_, M>, order| {
        search.orders.spell(order).into_iter().map(|op| op as usize).collect::<Vec<usize>>()
    };
    match search.run(initial) {
        LineSearchResult::Order(order) => {
            let order = Some(spell(&search, order));
            Verdict::Consistent(Witness { engine: engine.to_owned(), order })
        }
        LineSearchResult::OutOfBudget => Verdict::Unknown(Exhausted {
            nodes: search.meter.nodes,
            longest: search.longest as usize,
            operations: operations.len(),
            limit: search.meter.limit(),
        }),
        LineSearchResult::Nothing => {
            let ends = std::mem::take(&mut search.ends);
            let misfit = search.next(&ends[0]).min_by_key(|index| operations[*index].invoked);
            let misfit = misfit.expect("something is left to order");
            let mut evidence = Evidence {
                engine: engine.to_owned(),
                misfit,
                state: search.states.get(ends[0].state).state_text(),
                ..Evidence::default()
            };
            // An order leads to a different next operation than the misfit: skip it.
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

enum LineSearchResult {
    Order(u32),
    Nothing,
    OutOfBudget,
}

/// The configuration after an order.
#[derive(Clone)]
struct LineConfiguration {
    stage: u32,
    /// The position in each line of the stage, encoded by [`Widths`].
    at: Box<[u64]>,
    state: u32,
    order: u32,
    length: u32,
    /// The number of operations of this stage that returned and are not yet ordered.
    left: u32,
}

struct LineFrame {
    here: LineConfiguration,
    /// The line tried last: the return time of its next operation, and its number. Later lines have not been tried.
    tried: Option<(u64, u32)>,
    /// The lines to try next, in reverse order. The lines are found as a batch, so that the search need not find them
    /// one at a time.
    next: Vec<(u64, u32)>,
    /// The possible states after the move on the last line.
    states: Vec<u32>,
}

/// The bits of each line's position in a key: the minimum for its length.
struct Widths {
    lines: Vec<Width>,
    words: usize,
}

#[derive(Clone, Copy)]
struct Width {
    word: u32,
    shift: u8,
    bits: u8,
}

impl Widths {
    fn new(lines: &[Line]) -> Widths {
        let (mut word, mut used) = (0, 0);
        let width = |line: &Line| {
            let bits = (usize::BITS - line.len().leading_zeros()) as u8;
            if used + bits > 64 {
                (word, used) = (word + 1, 0);
            }
            used += bits;
            Width { word, shift: used - bits, bits }
        };
        Widths { lines: lines.iter().map(width).collect(), words: word as usize + 1 }
    }

    fn get(&self, at: &[u64], line: usize) -> usize {
        let Width { word, shift, bits } = self.lines[line];
        (at[word as usize] >> shift & ((1 << bits) - 1)) as usize
    }

    fn pass(&self, at: &mut [u64], line: usize) {
        let Width { word, shift, .. } = self.lines[line];
        at[word as usize] += 1 << shift;
    }
}

struct LineSearch<'a, 'b, M: Model> {
    operations: &'a [Operation<M::Op, M::Ret>],
    stages: &'a [Vec<Line>],
    /// The widths for each stage.
    widths: Vec<Widths>,
    /// True for each operation that returned and is an observer.
    observer: Vec<bool>,
    meter: Meter<'b>,
    states: StateTable<M>,
    orders: OrderTree,
    /// The visited configurations, by stage, state and positions.
    known: Table<(u32, u32, Box<[u64]>), ()>,
    /// The bytes that the keys in `known` take besides their entries; the keys on the stack take at most as many.
    keys: usize,
    stack: Vec<LineFrame>,
    /// The number of lines examined since the last report to the meter.
    looked: u32,
    longest: u32,
    /// A few of the configurations after the longest orders.
    ends: Vec<LineConfiguration>,
    successors: Vec<M>,
}

impl<M: Model> LineSearch<'_, '_, M> {
    /// The maximum number of longest orders to keep: as many as fit on a screen.
    const ENDS_MAX: usize = 4;

    fn run(&mut self, initial: &M) -> LineSearchResult {
        let state = self.states.number_of(initial.clone());
        let mut arrived = self.open(0, state);
        let mut nodes_before = 0;
        loop {
            if let Some(found) = self.arrive(arrived, nodes_before) {
                return found;
            }
            arrived = loop {
                let Some(way) = self.next_move() else {
                    // The budget ran out, so no further move was found.
                    if self.meter.is_over() {
                        return LineSearchResult::OutOfBudget;
                    }
                    self.stack.pop();
                    if self.stack.is_empty() {
                        return LineSearchResult::Nothing;
                    }
                    continue;
                };
                let Some(frame) = self.stack.last() else { return LineSearchResult::Nothing };
                let mut next = frame.here.clone();
                next.state = way.1;
                nodes_before = self.orders.len();
                self.take(&mut next, way.0);
                break next;
            };
        }
    }

    /// Returns the configuration at the beginning of a stage.
    fn open(&self, stage: usize, state: u32) -> LineConfiguration {
        let lines = self.stages.get(stage).map_or(&[][..], |lines| lines);
        let returned = lines.iter().flatten().filter(|i| self.operations[**i].returned.is_some());
        LineConfiguration {
            stage: stage as u32,
            at: vec![0; self.widths.get(stage).map_or(0, |widths| widths.words)].into(),
            state,
            order: NOTHING,
            length: 0,
            left: returned.count() as u32,
        }
    }

    /// Orders the next operation of a line.
    fn take(&mut self, here: &mut LineConfiguration, line: u32) {
        let widths = &self.widths[here.stage as usize];
        let at = widths.get(&here.at, line as usize);
        let index = self.stages[here.stage as usize][line as usize][at];
        widths.pass(&mut here.at, line as usize);
        here.left -= u32::from(self.operations[index].returned.is_some());
        here.order = self.orders.extend(here.order, index as u32);
        here.length += 1;
    }

    /// Returns the operations that must come next: the next operation of each line, if it returned.
    fn next(&self, here: &LineConfiguration) -> impl Iterator<Item = usize> {
        let stage = here.stage as usize;
        let next = self.stages[stage].iter().enumerate().filter_map(move |(number, line)| {
            line.get(self.widths[stage].get(&here.at, number)).copied()
        });
        next.filter(|index| self.operations[*index].returned.is_some())
    }

    /// Settles a configuration and pushes it on the stack if it is new. Returns the result if this configuration
    /// decides the search.
    fn arrive(
        &mut self,
        mut here: LineConfiguration,
        nodes_before: usize,
    ) -> Option<LineSearchResult> {
        self.settle(&mut here);
        if here.left == 0 {
            return Some(LineSearchResult::Order(here.order));
        }
        match self.known.entry((here.stage, here.state, here.at.clone())) {
            Entry::Occupied(_) => {
                self.orders.truncate(nodes_before);
                return self.meter.is_over().then_some(LineSearchResult::OutOfBudget);
            }
            Entry::Vacant(entry) => entry.insert(()),
        };
        // Add the overhead of the allocator.
        self.keys += size_of_val::<[u64]>(&here.at) + 16;
        if !self.meter.hold(self.bytes()) || !self.meter.visit(1) {
            return Some(LineSearchResult::OutOfBudget);
        }
        if here.length > self.longest {
            self.longest = here.length;
            self.ends.clear();
        }
        if here.length == self.longest && self.ends.len() < Self::ENDS_MAX {
            self.ends.push(here.clone());
        }
        self.stack.push(LineFrame { here, tried: None, next: Vec::new(), states: Vec::new() });
        None
    }

    /// Returns the approximate number of bytes that the search occupies.
    fn bytes(&self) -> usize {
        // For each frame: the lines to try next and, usually, one state.
        let lists = Self::LOOKED_UP * size_of::<(u64, u32)>() + size_of::<[u32; 8]>();
        table_bytes(&self.known)
            + 2 * self.keys
            + vec_bytes(&self.stack)
            + self.stack.len() * lists
            + self.states.bytes()
            + self.orders.bytes()
    }

    /// Orders every next observer that fits, and continues with the next stage if this stage is complete. Ordering a
    /// fitting observer as early as possible loses no solution, because its predecessors have been ordered and it
    /// changes no state.
    fn settle(&mut self, here: &mut LineConfiguration) {
        loop {
            for line in 0..self.stages.get(here.stage as usize).map_or(0, Vec::len) {
                while self.observer_fits(here, line) {
                    self.take(here, line as u32);
                }
            }
            if here.left > 0 || here.stage as usize + 1 >= self.stages.len() {
                return;
            }
            let next = self.open(here.stage as usize + 1, here.state);
            *here = LineConfiguration { order: here.order, length: here.length, ..next };
        }
    }

    /// Returns `true` if the next operation of a line is an observer that fits the state.
    fn observer_fits(&mut self, here: &LineConfiguration, line: usize) -> bool {
        let at = self.widths[here.stage as usize].get(&here.at, line);
        let Some(&index) = self.stages[here.stage as usize][line].get(at) else { return false };
        self.looked += 1;
        if !self.observer[index] || !self.find_successors(index, here.state) {
            return false;
        }
        let current = self.states.get(here.state);
        let Operation { op, returned, .. } = &self.operations[index];
        assert!(
            self.successors.iter().all(|next| next == current),
            "the model {} says that {op:?} only observes when it returns {:?}, but it changes \
             {current:?}: correct its `observes`",
            M::name(),
            returned.as_ref().map(|(ret, _)| ret),
        );
        !self.successors.is_empty()
    }

    /// Fills `successors` with the states that the model allows after an operation. Returns `false`, with no
    /// states, if the meter is over.
    #[must_use]
    fn find_successors(&mut self, index: usize, state: u32) -> bool {
        let Operation { op, returned, .. } = &self.operations[index];
        self.successors.clear();
        // Examining a line costs a fraction of a model step.
        let looked = std::mem::take(&mut self.looked) / 8;
        if !self.meter.work(self.states.work(state).saturating_add(looked)) {
            return false;
        }
        let ret = returned.as_ref().map(|(ret, _)| ret);
        self.states.get(state).successors(op, ret, &mut self.successors);
        true
    }

    /// The number of lines that one look-up finds.
    const LOOKED_UP: usize = 16;

    /// Returns the next line with a possible move from the top configuration, and the state after the move. Lines are
    /// tried in the return order of their next operations, because most orders are close to real time. Operations that
    /// never returned are tried last. Returns `None` if there is no further move, or the meter is over.
    fn next_move(&mut self) -> Option<(u32, u32)> {
        let mut frame = self.stack.pop()?;
        let way = self.next_of(&mut frame);
        self.stack.push(frame);
        way
    }

    fn next_of(&mut self, frame: &mut LineFrame) -> Option<(u32, u32)> {
        loop {
            if let (Some(state), Some((_, line))) = (frame.states.pop(), frame.tried) {
                return Some((line, state));
            }
            if frame.next.is_empty() {
                self.look_up(frame);
            }
            let (end, line) = frame.next.pop()?;
            frame.tried = Some((end, line));
            let stage = frame.here.stage as usize;
            let at = self.widths[stage].get(&frame.here.at, line as usize);
            if !self.find_successors(self.stages[stage][line as usize][at], frame.here.state) {
                return None;
            }
            let known = self.states.len();
            while let Some(state) = self.successors.pop() {
                let state = self.states.number_of(state);
                // An operation that never returned and changes nothing can be left out.
                if end != u64::MAX || state != frame.here.state {
                    frame.states.push(state);
                }
            }
            if self.states.len() > known && !self.meter.hold(self.bytes()) {
                return None;
            }
        }
    }

    /// Fills `next` with the lines that follow the line tried last.
    fn look_up(&mut self, frame: &mut LineFrame) {
        let stage = frame.here.stage as usize;
        let lines = &self.stages[stage];
        self.looked += lines.len() as u32;
        for (number, line) in (0..).zip(lines) {
            let at = self.widths[stage].get(&frame.here.at, number as usize);
            let Some(&index) = line.get(at) else { continue };
            let key = (self.operations[index].end(), number);
            if frame.tried.is_some_and(|tried| key <= tried) {
                continue;
            }
            let place = frame.next.partition_point(|other| *other > key);
            if frame.next.len() == Self::LOOKED_UP {
                // The first entry of the list is the last to be tried.
                if place == 0 {
                    continue;
                }
                frame.next.remove(0);
                frame.next.insert(place - 1, key);
            } else {
                frame.next.insert(place, key);
            }
        }
    }
}
