//! A running nemesis. The nemesis starts faults one after the other, and ends them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::fault::Active;
use super::fault_kinds::FaultKind;
use super::plan::{Command, Pause, REAL_MAX};
use super::{Nemesis, calm, series};
use crate::node::Node;
use crate::run::ids::Place;
use crate::run::{Condition, FaultCount};
use crate::seam::{self, Here};

/// A running nemesis.
#[derive(Debug)]
pub(super) struct Underway {
    pub(super) nemesis: Nemesis,
    pub(super) nodes: Vec<Node>,
    /// The active faults that last until the end.
    active: Mutex<Vec<Active>>,
    here: Here,
    place: Place,
}

/// The victims of a fault.
#[derive(Clone, Debug)]
pub(super) struct Struck {
    /// For a partition: all nodes, in the order of its parts.
    pub(super) nodes: Vec<Node>,
    /// The role of the victim, if a function chose the victim.
    pub(super) role: Option<&'static str>,
}

/// The reason why a search is incomplete if the program has guided victims.
const UNSEEN: &str = "the state that the function of a guided victim reads";

impl Underway {
    pub(super) fn new(nemesis: Nemesis, nodes: &[Node], (place, here): (Place, Here)) -> Underway {
        Underway { nemesis, nodes: nodes.to_vec(), active: Mutex::default(), here, place }
    }

    pub(super) fn here(&self) -> Here {
        self.here
    }

    pub(super) fn active(&self) -> MutexGuard<'_, Vec<Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the gap of a fault, starts the fault, and ends it unless it lasts until the end. `pinned`
    /// replaces the result of a guided victim's function. The callback receives the victims.
    pub(super) async fn cause(
        &self,
        command: &Command,
        is_guided: bool,
        pinned: Option<usize>,
        told: impl FnOnce(&Struck, Option<Pause>),
    ) {
        command.gap.pass(self.here).await;
        let package = &self.nemesis.packages[command.package];
        self.count(package.kind, false);
        let Some(struck) = self.struck(command, is_guided, pinned).await else { return };
        let lasts = command.lasts.map(Pause::at_once);
        told(&struck, lasts);
        if matches!(package.kind, FaultKind::Swizzle | FaultKind::Rolling | FaultKind::Churn) {
            if self.series(package, struck, (command, lasts), is_guided).await {
                self.count(package.kind, true);
            }
            return;
        }
        let begun = {
            let others = self.active();
            package.begin(&self.nodes, struck, command, &self.nemesis, &others, self.here)
        };
        match lasts {
            Some(time) => {
                begun.last(time, self.here).await;
                self.ends(begun);
            }
            None => self.active().push(begun),
        }
    }

    /// Returns the victims of a fault; `None` if the function returned no node in all attempts.
    pub(super) async fn struck(
        &self,
        command: &Command,
        is_guided: bool,
        pinned: Option<usize>,
    ) -> Option<Struck> {
        /// The number of attempts to call the function again.
        const PATIENCE: u32 = 8;
        let package = &self.nemesis.packages[command.package];
        let victim = &package.victim;
        if !package.ways.is_empty() || package.kind == FaultKind::Churn {
            return Some(series::of_all(self, package, command));
        }
        let Some((role, named)) = victim.guide().filter(|_| is_guided) else {
            return Some(Struck { nodes: victim.drawn(&self.nodes, command.victim), role: None });
        };
        let of = |node| Struck { nodes: vec![node], role: Some(role) };
        if let Some(node) = pinned.and_then(|pinned| self.nodes.get(pinned)) {
            return Some(of(node.clone()));
        }
        seam::unseen(UNSEEN);
        for _ in 0..PATIENCE {
            if let Some(node) = named() {
                return Some(of(node));
            }
            command.gap.pass(self.here).await;
        }
        named().map(of)
    }

    /// Returns four times the longest duration of a fault; `None` if no active fault lasts until
    /// the end.
    pub(super) fn patience(&self) -> Option<Duration> {
        let longest =
            self.nemesis.lasting.iter().max().copied().unwrap_or(Duration::from_millis(250));
        let longest = if seam::in_run() { 4 * longest } else { REAL_MAX };
        (!self.active().is_empty()).then_some(longest)
    }

    /// Ends all faults.
    pub(super) fn end(&self) {
        while let Some(fault) = { self.active().pop() } {
            self.ends(fault);
        }
        calm(&self.nodes, self.here);
    }

    fn ends(&self, fault: Active) {
        let kind = fault.counts_as();
        if self.end_one(fault, &[]) {
            self.count(kind, true);
        }
    }

    /// Ends a fault while the lasting faults and `beside` are active. Returns `true` if the fault
    /// affected something.
    pub(super) fn end_one(&self, fault: Active, beside: &[Active]) -> bool {
        let mut others = self.active().clone();
        others.extend(beside.iter().cloned());
        fault.end(&others, self.here)
    }

    /// Counts a fault that starts, or a fault that had an effect.
    fn count(&self, kind: FaultKind, has_met: bool) {
        if !seam::in_run() {
            return;
        }
        let (times, met) = (u64::from(!has_met), u64::from(has_met));
        seam::note_fault(FaultCount { kind: kind.name(), times, met });
        if self.nemesis.must_meet {
            let (name, place) = (kind.wish(), self.place.into());
            seam::note_condition(Condition { name, place, percent: 0, runs: met });
        }
    }
}
