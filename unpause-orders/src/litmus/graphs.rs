//! The outcomes that the axioms allow: computed by trying every source of every read and every modification order.

use std::collections::BTreeSet;

use super::axioms::{Event, Graph};
use super::{Act, Litmus, Outcome};
use crate::operation::Operation;

/// The outcomes of a program, by model.
#[derive(Default)]
pub struct Outcomes {
    /// The outcomes that C++20 allows.
    pub by_cpp20: BTreeSet<Outcome>,
    /// The outcomes that RC11 allows: a superset of the C++20 outcomes.
    pub by_rc11: BTreeSet<Outcome>,
    /// The number of execution graphs that C++20 allows.
    pub graphs_by_cpp20: usize,
    /// The number of execution graphs that RC11 allows.
    pub graphs_by_rc11: usize,
}

/// Returns the outcomes of a program that each model allows.
pub fn outcomes(program: &Litmus) -> Outcomes {
    let mut found = Outcomes::default();
    let is_exchange = |act: &&Act| matches!(act, Act::CompareExchange(..));
    let exchanges = program.threads.iter().flatten().filter(is_exchange).count();
    // The event kind of a compare-exchange depends on its success, so each guess of the successes is checked at the
    // end.
    for guess in 0..1u32 << exchanges {
        Guess::new(program, guess).enumerate(&mut found);
    }
    found
}

/// The events of a program, under a guess about which compare-exchanges succeed.
struct Guess {
    events: Vec<Event>,
    /// The action of each event; `None` for the initial value of a word.
    acts: Vec<Option<Act>>,
}

/// A modification order of one word and the sources of its reads.
struct Part {
    order: Vec<usize>,
    /// The reading events, each with the event that wrote the value.
    sources: Vec<(usize, usize)>,
}

impl Guess {
    fn new(program: &Litmus, mut guess: u32) -> Guess {
        let first =
            |word| Event { thread: None, word: Some(word), reads: false, writes: true, order: 0 };
        let mut events: Vec<Event> = (0..program.words).map(first).collect();
        let mut all = vec![None; program.words];
        for (thread, acts) in program.threads.iter().enumerate() {
            for act in acts {
                let writes = match act {
                    Act::Load(..) | Act::Fence(_) => false,
                    Act::Store(..) | Act::Add(..) | Act::Swap(..) | Act::Max(..) => true,
                    Act::CompareExchange(..) => {
                        let succeeds = guess & 1 == 1;
                        guess >>= 1;
                        succeeds
                    }
                };
                let order = act.order_if(writes);
                let (word, reads) = (act.word(), act.reads());
                events.push(Event { thread: Some(thread), word, reads, writes, order });
                all.push(Some(*act));
            }
        }
        Guess { events, acts: all }
    }

    /// Adds the outcomes of all graphs with these events.
    fn enumerate(&self, found: &mut Outcomes) {
        let words = self.events.iter().filter(|event| event.thread.is_none()).count();
        let parts: Vec<Vec<Part>> = (0..words).map(|word| self.parts(word)).collect();
        if parts.iter().any(Vec::is_empty) {
            return;
        }
        let count = self.events.len();
        let (events, source, place) = (self.events.clone(), vec![None; count], vec![0; count]);
        let mut graph = Graph { events, source, place };
        each_choice(&parts.iter().map(Vec::len).collect::<Vec<_>>(), |choice| {
            for (parts, at) in parts.iter().zip(choice) {
                let Part { order, sources } = &parts[*at];
                order.iter().enumerate().for_each(|(at, event)| graph.place[*event] = at);
                sources.iter().for_each(|(read, source)| graph.source[*read] = Some(*source));
            }
            let allowed = graph.allowed();
            if !allowed.by_cpp20 && !allowed.by_rc11 {
                return;
            }
            if let Some(outcome) = self.values(&graph) {
                found.graphs_by_cpp20 += usize::from(allowed.by_cpp20);
                found.graphs_by_rc11 += usize::from(allowed.by_rc11);
                if allowed.by_rc11 {
                    found.by_rc11.insert(outcome.clone());
                }
                if allowed.by_cpp20 {
                    found.by_cpp20.insert(outcome);
                }
            }
        });
    }

    /// Returns the modification orders and sources of one word that agree with the program order on that word. In each
    /// modification order, a read-modify-write directly follows its source.
    fn parts(&self, word: usize) -> Vec<Part> {
        let events = &self.events;
        let here: Vec<usize> =
            (0..events.len()).filter(|event| events[*event].word == Some(word)).collect();
        let of_threads = here.iter().copied().filter(|event| events[*event].thread.is_some());
        let mut stores: Vec<usize> = of_threads.filter(|event| events[*event].writes).collect();
        let readers: Vec<usize> =
            here.iter().copied().filter(|event| events[*event].reads).collect();
        let mut found = Vec::new();
        each_permutation(&mut stores, 0, &mut |stores| {
            let order: Vec<usize> = here[..1].iter().chain(stores).copied().collect();
            let mut place = vec![0; events.len()];
            order.iter().enumerate().for_each(|(at, event)| place[*event] = at);
            each_choice(&vec![order.len(); readers.len()], |choice| {
                let source = |event: usize| {
                    readers.iter().position(|reader| *reader == event).map(|at| choice[at])
                };
                let is_behind = |event: &usize| {
                    let source = source(*event);
                    !events[*event].writes || source.is_some_and(|at| at + 1 == place[*event])
                };
                let agrees = |a: usize, b: usize| {
                    let seen = if events[a].writes { Some(place[a]) } else { source(a) };
                    match source(b) {
                        Some(sees) => Some(sees) >= seen,
                        None => Some(place[b]) > seen,
                    }
                };
                let is_coherent = readers.iter().all(is_behind)
                    && here.iter().all(|a| {
                        let of_thread =
                            |b: &&usize| *b > a && events[**b].thread == events[*a].thread;
                        here.iter().filter(of_thread).all(|b| agrees(*a, *b))
                    });
                if is_coherent {
                    let sources = readers.iter().zip(choice).map(|(read, at)| (*read, order[*at]));
                    found.push(Part { order: order.clone(), sources: sources.collect() });
                }
            });
        });
        found
    }

    /// Returns the outcome of an acyclic graph, or `None` if a compare-exchange contradicts the guess.
    fn values(&self, graph: &Graph) -> Option<Outcome> {
        let count = self.events.len();
        let (mut read, mut written) = (vec![None; count], vec![None; count]);
        // Each round computes at least one event.
        for _ in 0..count {
            for event in 0..count {
                read[event] = graph.source[event].and_then(|source| written[source]);
                let Event { reads, writes, .. } = self.events[event];
                if writes && (read[event].is_some() || !reads) {
                    let old = read[event].unwrap_or(0);
                    written[event] = match &self.acts[event] {
                        Some(act) => Some(act.written_over(old)?),
                        None => Some(0),
                    };
                }
            }
        }
        let mut outcome = Vec::new();
        for (event, act) in self.acts.iter().enumerate() {
            let (Some(act), Some(value)) = (act, read[event]) else { continue };
            if act.written_over(value).is_some() != self.events[event].writes {
                return None;
            }
            outcome.push(value);
        }
        for word in 0..self.events.iter().filter(|event| event.thread.is_none()).count() {
            let of_word = |event: &usize| {
                self.events[*event].word == Some(word) && self.events[*event].writes
            };
            let last = (0..count).filter(of_word).max_by_key(|event| graph.place[*event])?;
            outcome.push(written[last]?);
        }
        Some(outcome)
    }
}

/// Calls `act` with each sequence of numbers in which every number is below its bound.
fn each_choice(bounds: &[usize], mut act: impl FnMut(&[usize])) {
    let mut choice = vec![0; bounds.len()];
    loop {
        act(&choice);
        let Some(up) = (0..bounds.len()).find(|at| choice[*at] + 1 < bounds[*at]) else { return };
        choice[up] += 1;
        choice[..up].fill(0);
    }
}

/// Calls `act` with each permutation of the items from `from` on.
fn each_permutation(items: &mut [usize], from: usize, act: &mut impl FnMut(&[usize])) {
    if from == items.len() {
        return act(items);
    }
    for at in from..items.len() {
        items.swap(from, at);
        each_permutation(items, from + 1, act);
        items.swap(from, at);
    }
}
