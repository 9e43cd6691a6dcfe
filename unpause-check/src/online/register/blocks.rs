//! Clusters and blocks of a register, and the check that a block contradicts no other block.
//!
//! Times are engine times; 0 is the start. `first` is the earliest return of a cluster or block (`u64::MAX` without a
//! return), and `last` is its latest invocation.

use std::collections::VecDeque;
use unpause_ordered::sort_by_key;

use super::{KeptCall, RegisterRefusal};
use crate::hash::Table;
use crate::model::{Key, Model};
use crate::online::orders::WINDOW;
use crate::online::slab::Slab;

/// The index for "no cluster" or "no block".
pub(super) const NONE: u32 = u32::MAX;

/// The number of returned blocks at which values that are over are first searched.
const FEW: usize = 32;

pub(super) struct Blocks<M: Model> {
    /// The state before all blocks. If the beginning of the first block was forgotten, the state before the rest of
    /// this block.
    start: M,
    /// The cluster of each value that a later call could read or replace.
    values: Table<Key, u32>,
    clusters: Slab<ValueCluster<M>>,
    blocks: Slab<Block>,
    /// The blocks in the order of their first return. An entry is valid if the block still has this first return.
    returned: Vec<(u64, u32)>,
    /// The number of entries in `returned` at which [`forget`](Self::forget) is due.
    full: usize,
    /// The last operations of the forgotten blocks, in order.
    forgotten: VecDeque<u64>,
    /// The number of lost writers of values that no call has read.
    lost: usize,
    /// The number of calls kept.
    kept: usize,
}

/// The calls on one value.
pub(super) struct ValueCluster<M: Model> {
    pub(super) value: Key,
    /// The writer; `None` if the register starts with this value.
    pub(super) writer: Option<KeptCall<M>>,
    /// The value that a swap replaces.
    from: Option<Key>,
    is_lost: bool,
    /// The reads in the order of their returns. If there were too many reads, only the first read and the later reads
    /// are kept.
    pub(super) reads: VecDeque<KeptCall<M>>,
    pub(super) has_gap: bool,
    /// The state while the register holds the value, once the register certainly held it.
    pub(super) state: Option<M>,
    first: u64,
    last: u64,
    block: u32,
    /// The position in the block, relative to other clusters.
    place: i64,
}

/// A chain of clusters joined by swaps.
pub(super) struct Block {
    first: u64,
    last: u64,
    /// The clusters in the order of the swaps. Never empty.
    pub(super) chain: VecDeque<u32>,
    /// The position of the first cluster of the chain.
    begin: i64,
}

impl<M: Model> ValueCluster<M> {
    /// Creates the cluster of a value that `writer` has begun to write, or to swap for `from`.
    pub(super) fn written(value: Key, from: Option<Key>, writer: KeptCall<M>) -> Self {
        ValueCluster {
            value,
            from,
            is_lost: false,
            reads: VecDeque::new(),
            has_gap: false,
            state: None,
            first: u64::MAX,
            last: writer.invoked,
            block: NONE,
            place: 0,
            writer: Some(writer),
        }
    }

    /// Keeps a read. If the cluster has too many reads, drops a read that does not matter.
    fn keep(&mut self, call: KeptCall<M>) -> usize {
        self.reads.push_back(call);
        if self.reads.len() <= WINDOW {
            return 1;
        }
        // The first return and the last invocation determine which blocks come before and after the cluster.
        let middle = if self.reads[1].invoked == self.last { 2 } else { 1 };
        self.reads.remove(middle);
        self.has_gap = true;
        0
    }

    /// Returns the calls that are kept.
    fn calls(&self) -> impl Iterator<Item = &KeptCall<M>> {
        self.writer.iter().chain(&self.reads)
    }
}

impl<M: Model> Blocks<M> {
    pub(super) fn new(start: M, value: Key) -> Self {
        let mut clusters = Slab::default();
        let mut blocks = Slab::default();
        // The initial value was written and returned at time 0, before every event.
        let cluster = clusters.add(ValueCluster {
            value,
            writer: None,
            from: None,
            is_lost: false,
            reads: VecDeque::new(),
            has_gap: false,
            state: Some(start.clone()),
            first: 0,
            last: 0,
            block: 0,
            place: 0,
        });
        blocks.add(Block { first: 0, last: 0, chain: [cluster].into(), begin: 0 });
        Blocks {
            start,
            values: [(value, cluster)].into_iter().collect(),
            clusters,
            blocks,
            returned: vec![(0, 0)],
            full: FEW,
            forgotten: VecDeque::new(),
            lost: 0,
            kept: 0,
        }
    }

    /// Returns `true` if a call could still read this value.
    pub(super) fn has(&self, value: Key) -> bool {
        self.values.contains_key(&value)
    }

    /// Returns the cluster of a value that a call could still read.
    pub(super) fn find(&self, value: Key) -> Option<u32> {
        self.values.get(&value).copied()
    }

    /// Ensures that later calls find no cluster of this value. The cluster of the value stays.
    pub(super) fn forget_mapping(&mut self, value: Key) {
        self.values.remove(&value);
    }

    /// Adds a cluster whose writer has begun.
    pub(super) fn add(&mut self, cluster: ValueCluster<M>) -> u32 {
        let value = cluster.value;
        let number = self.clusters.add(cluster);
        self.values.insert(value, number);
        self.kept += 1;
        number
    }

    /// Returns `true` if there is a cluster with this index whose writer writes `value`, or swaps it for `from`.
    pub(super) fn is_written(&self, at: u32, from: Option<Key>, value: Key) -> bool {
        self.clusters.get(at).is_some_and(|cluster| cluster.from == from && cluster.value == value)
    }

    /// Records that the writer of a cluster certainly took effect. The writers before it in its chain then took effect,
    /// too.
    pub(super) fn settle(&mut self, cluster: u32) -> Result<(), RegisterRefusal> {
        let mut chain = vec![cluster];
        // Collect the swaps that must precede this swap, back to a value that the register certainly held.
        loop {
            let at = *chain.last().expect("it begins with one");
            if self.clusters[at].state.is_some() {
                chain.pop();
                break;
            }
            let Some(from) = self.clusters[at].from else { break };
            let before = self.find(from).ok_or(RegisterRefusal::Violated)?;
            // In a circle of swaps, each value would have to be there before itself.
            if chain.contains(&before) {
                return Err(RegisterRefusal::Violated);
            }
            chain.push(before);
        }
        while let Some(at) = chain.pop() {
            self.begin(at)?;
        }
        Ok(())
    }

    /// Assigns a cluster its state and its block. The replaced value, if any, already has a state and a block.
    fn begin(&mut self, at: u32) -> Result<(), RegisterRefusal> {
        let before = self.clusters[at].from.and_then(|from| self.find(from));
        let state = match before {
            None => &self.start,
            Some(before) => self.clusters[before].state.as_ref().expect("it was settled before"),
        };
        let cluster = &self.clusters[at];
        let writer = cluster.writer.as_ref().expect("the first value was always there");
        let mut after = Vec::new();
        state.successors(&writer.op, None, &mut after);
        let holds = |state: &M| state.register_value() == Some(cluster.value);
        let [state] = &after[..] else { return Err(RegisterRefusal::NotMine) };
        if !holds(state) {
            return Err(RegisterRefusal::NotMine);
        }
        let (state, invoked) = (state.clone(), cluster.last);
        self.lost -= usize::from(cluster.is_lost);
        let block = match before {
            None => {
                let chain = [at].into();
                // A block without a return must come before no other block, so it contradicts none yet.
                self.blocks.add(Block { first: u64::MAX, last: invoked, chain, begin: 0 })
            }
            Some(before) => self.clusters[before].block,
        };
        let Block { chain, begin, .. } = &mut self.blocks[block];
        if let Some(before) = before {
            if chain.back() != Some(&before) {
                // Two swaps replaced the same value.
                return Err(RegisterRefusal::Violated);
            }
            chain.push_back(at);
        }
        let place = *begin + chain.len() as i64 - 1;
        let cluster = &mut self.clusters[at];
        (cluster.state, cluster.block, cluster.place) = (Some(state), block, place);
        self.count_invocation(block, invoked)
    }

    /// Ends the call that writes a settled cluster.
    pub(super) fn wrote(
        &mut self,
        at: u32,
        ret: &M::Ret,
        returned: u64,
    ) -> Result<(), RegisterRefusal> {
        let ValueCluster { writer, from, block, .. } = &self.clusters[at];
        let writer = writer.as_ref().expect("the first value was always there");
        let before = from.and_then(|from| self.find(from));
        let state = before.and_then(|before| self.clusters[before].state.as_ref());
        let mut after = Vec::new();
        state.unwrap_or(&self.start).successors(&writer.op, Some(ret), &mut after);
        let block = *block;
        if after.is_empty() {
            return Err(RegisterRefusal::NotMine);
        }
        self.count_return(at, block, returned);
        let cluster = &mut self.clusters[at];
        let writer = cluster.writer.as_mut().expect("it was there");
        (writer.ret, writer.returned) = (Some(ret.clone()), returned);
        Ok(())
    }

    /// Adds a returned read to a settled cluster.
    pub(super) fn read(&mut self, at: u32, call: KeptCall<M>) -> Result<(), RegisterRefusal> {
        let cluster = &self.clusters[at];
        let (state, block) = (cluster.state.as_ref().expect("it is settled"), cluster.block);
        let mut after = Vec::new();
        state.successors(&call.op, call.ret.as_ref(), &mut after);
        // Two different values can have equal keys.
        if after.is_empty() {
            return Err(RegisterRefusal::NotMine);
        }
        self.count_return(at, block, call.returned);
        let invoked = call.invoked;
        if invoked > self.clusters[at].last {
            self.clusters[at].last = invoked;
            let Block { chain, begin, .. } = &self.blocks[block];
            let place = (self.clusters[at].place - begin) as usize;
            let mut later = chain.range(place + 1..);
            if later.any(|later| self.clusters[*later].first < invoked) {
                return Err(RegisterRefusal::Violated);
            }
            self.count_invocation(block, invoked)?;
        }
        self.kept += self.clusters[at].keep(call);
        Ok(())
    }

    /// Records a return of a cluster.
    fn count_return(&mut self, at: u32, block: u32, returned: u64) {
        let cluster = &mut self.clusters[at];
        // A return alone contradicts nothing, because no call has been invoked after it yet.
        cluster.first = cluster.first.min(returned);
        let block_first = &mut self.blocks[block].first;
        if *block_first == u64::MAX {
            *block_first = returned;
            self.returned.push((returned, block));
        }
    }

    /// Records an invocation of a block, and checks that no other block must come both before and after it.
    fn count_invocation(&mut self, block: u32, invoked: u64) -> Result<(), RegisterRefusal> {
        let own = &mut self.blocks[block];
        if invoked <= own.last {
            return Ok(());
        }
        let (first, last) = (own.first, std::mem::replace(&mut own.last, invoked));
        // The block contradicted no other block before. So if it now contradicts a block, that block had its first
        // return in between.
        let begin = self.returned.partition_point(|(first, _)| *first < last);
        let between = self.returned[begin..].iter().take_while(|(first, _)| *first < invoked);
        for (returned, other) in between {
            let valid = self.blocks.get(*other).filter(|other| other.first == *returned);
            if *other != block && valid.is_some_and(|other| first < other.last) {
                return Err(RegisterRefusal::Violated);
            }
        }
        Ok(())
    }

    /// Marks the writer of a cluster as lost.
    pub(super) fn lost(&mut self, at: u32) {
        let cluster = &mut self.clusters[at];
        cluster.is_lost = true;
        self.lost += usize::from(cluster.state.is_none());
    }

    /// Removes the cluster of a writer that did not take effect. If its value was observed, keeps the cluster and
    /// returns `true`.
    pub(super) fn withdraw(&mut self, at: u32) -> bool {
        let was_there = self.clusters[at].state.is_some();
        if !was_there {
            let cluster = self.clusters.remove(at);
            self.values.remove(&cluster.value);
            self.kept -= 1;
        }
        was_there
    }

    /// Returns `true` if [`forget`](Self::forget) is due. Called only then, `forget` takes amortized constant time per
    /// return.
    pub(super) fn is_full(&self) -> bool {
        self.returned.len() >= self.full
    }

    /// Forgets values that are over, if all pending calls were invoked at `oldest` or later.
    pub(super) fn forget(&mut self, oldest: u64) {
        let Blocks { returned, blocks, .. } = self;
        returned.retain(|(first, block)| blocks.get(*block).is_some_and(|it| it.first == *first));
        let mut settled: Vec<(u64, u32)> = Vec::new();
        for (_, block) in returned.iter().take_while(|(first, _)| *first < oldest) {
            settled.push((blocks[*block].last, *block));
        }
        sort_by_key(&mut settled, |(last, _)| std::cmp::Reverse(*last));
        // True if a block that returned before `oldest` must come after this block.
        let is_over = |block: u32, it: &Block| {
            settled
                .iter()
                // The list begins with the latest invocation, so one other block decides.
                .find(|(_, other)| *other != block)
                .is_some_and(|(last, _)| it.first < *last)
        };
        let over: Vec<u32> = (returned.iter().map(|(_, block)| *block))
            .filter(|block| is_over(*block, &blocks[*block]))
            .collect();
        let (mut gone, mut stay) = (Vec::new(), Vec::new());
        for block in over {
            for at in &self.blocks[block].chain {
                forget_value(&mut self.values, &self.clusters[*at], *at);
            }
            match self.blocks[block].first < oldest {
                true => gone.push(block),
                false => stay.push(block),
            }
        }
        // In the order of a linearization, because the forgotten operations are kept for evidence in this order.
        sort_by_key(&mut gone, |block| self.blocks[*block].start());
        for block in gone {
            let chain = self.blocks.remove(block).chain;
            chain.into_iter().for_each(|at| self.drop_cluster(at));
        }
        let Blocks { returned, blocks, .. } = self;
        returned.retain(|(first, block)| blocks.get(*block).is_some_and(|it| it.first == *first));
        let rest: Vec<u32> = returned.iter().map(|(_, block)| *block).collect();
        for block in &rest {
            if !stay.contains(block) {
                self.forget_beginning(*block, &rest, oldest);
            }
        }
        self.full = 2 * self.returned.len() + FEW;
    }

    /// Forgets values at the beginning of a block if a value that replaced them, directly or indirectly, returned
    /// before `oldest`.
    fn forget_beginning(&mut self, block: u32, all: &[u32], oldest: u64) {
        let it = &self.blocks[block];
        let is_later = |at: &u32| self.clusters[*at].first < oldest;
        let over = it.chain.iter().rposition(is_later).unwrap_or(0);
        for at in it.chain.range(..over) {
            forget_value(&mut self.values, &self.clusters[*at], *at);
        }
        // The rest of the block must come before all other kept blocks and all later blocks, because it starts the
        // replay.
        let first = it.first;
        if over == 0 || all.iter().any(|other| *other != block && self.blocks[*other].last <= first)
        {
            return;
        }
        let it = &mut self.blocks[block];
        // The places of the remaining clusters stay valid, because they count from `begin`.
        it.begin += over as i64;
        let gone: Vec<u32> = it.chain.drain(..over).collect();
        let last = self.clusters[gone[over - 1]].state.clone();
        self.start = last.expect("a swap replaced it");
        gone.into_iter().for_each(|at| self.drop_cluster(at));
    }

    fn drop_cluster(&mut self, at: u32) {
        let cluster = self.clusters.remove(at);
        // Some reads of this cluster are missing, so an earlier operation must not be shown directly before the later
        // operations.
        if cluster.has_gap {
            self.forgotten.clear();
        }
        let reads = cluster.reads.iter().skip(usize::from(cluster.has_gap));
        let writer = cluster.writer.iter().filter(|_| !cluster.has_gap);
        self.forgotten.extend(writer.chain(reads).map(|call| call.number));
        let more = self.forgotten.len().saturating_sub(WINDOW);
        self.forgotten.drain(..more);
        self.kept -= cluster.calls().count();
    }

    /// Returns the state before all blocks that are kept.
    pub(super) fn start(&self) -> &M {
        &self.start
    }

    /// Returns the blocks before a replay, with the initial state and the forgotten operations.
    pub(super) fn before_replay(&self) -> Self {
        let value = self.start.register_value().expect("a state of a register");
        let mut blocks = Blocks::new(self.start.clone(), value);
        let starts_chain = self.blocks.iter().any(|block| block.begin > 0);
        if !starts_chain && self.clusters.iter().all(|cluster| cluster.writer.is_some()) {
            // The initial value is over, and may have been written again.
            blocks.values.clear();
        }
        blocks.forgotten.clone_from(&self.forgotten);
        blocks
    }

    /// Returns the last forgotten operations, in the order of a linearization.
    pub(super) fn forgotten(&self) -> impl Iterator<Item = u64> {
        self.forgotten.iter().copied()
    }

    /// Returns the numbers of lost writers that may take effect, and of calls kept.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.lost, self.kept)
    }

    /// Returns the kept calls: writers, which may have returned or be pending or lost, and reads that have returned.
    pub(super) fn kept(&self) -> impl Iterator<Item = &KeptCall<M>> {
        self.clusters.iter().flat_map(ValueCluster::calls)
    }

    /// Returns the clusters whose value the register held, in the order of a linearization.
    pub(super) fn in_order(&self) -> Vec<&ValueCluster<M>> {
        let mut blocks: Vec<&Block> = self.blocks.iter().collect();
        sort_by_key(&mut blocks, |block| block.start());
        let chains = blocks.into_iter().flat_map(|block| &block.chain);
        chains.map(|at| &self.clusters[*at]).collect()
    }
}

impl Block {
    /// Returns the key by which a linearization orders blocks.
    fn start(&self) -> u64 {
        self.first.min(self.last)
    }
}

/// Removes a value from the table, unless another cluster has this value now.
fn forget_value<M: Model>(values: &mut Table<Key, u32>, cluster: &ValueCluster<M>, at: u32) {
    if values.get(&cluster.value) == Some(&at) {
        values.remove(&cluster.value);
    }
}
