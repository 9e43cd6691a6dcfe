//! Atomics.

use std::sync::Arc;

use sim::Atomic;
use sim::Ordering::SeqCst;

use super::{Callable, Caller, Dice, Model, Polled};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Call {
    Load(usize),
    Store(usize, u64),
    Add(usize),
}

impl Callable for Call {
    fn draw(dice: &mut Dice, _: usize, _: usize) -> Call {
        let word = dice.below(2);
        match dice.below(3) {
            0 => Call::Load(word),
            1 => Call::Store(word, 1 + dice.below(2) as u64),
            _ => Call::Add(word),
        }
    }

    fn is_point(self) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State {
    words: [u64; 2],
    /// The planted fault: an addition to a word that is not 0 is lost.
    is_faulty: bool,
}

impl Model for State {
    type Call = Call;

    fn new(_: usize, _: usize) -> State {
        State { words: [0; 2], is_faulty: false }
    }

    fn plant(&mut self) {
        self.is_faulty = true;
    }

    fn poll(&mut self, call: Call, _: Caller) -> Polled {
        let (Call::Load(word) | Call::Store(word, _) | Call::Add(word)) = call;
        let old = self.words[word];
        match call {
            Call::Load(_) => {}
            Call::Store(_, value) => self.words[word] = value,
            Call::Add(_) if self.is_faulty && old > 0 => {}
            Call::Add(_) => self.words[word] += 1,
        }
        Polled::Done(if matches!(call, Call::Store(..)) { 0 } else { old as i64 })
    }
}

pub(super) struct Ends(Arc<[Atomic<u64>; 2]>);

pub(super) fn ends(tasks: usize, _: usize) -> Vec<Ends> {
    let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
    (0..tasks).map(|_| Ends(words.clone())).collect()
}

impl Ends {
    pub(super) async fn perform(&self, call: Call) -> i64 {
        match call {
            Call::Load(word) => self.0[word].load(SeqCst).await as i64,
            Call::Store(word, value) => {
                self.0[word].store(value, SeqCst).await;
                0
            }
            Call::Add(word) => self.0[word].fetch_add(1, SeqCst).await as i64,
        }
    }
}
