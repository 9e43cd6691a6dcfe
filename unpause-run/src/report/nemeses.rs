//! Faults of a nemesis in a schedule. A line across all columns marks the beginning and the end of each fault, and
//! replaces the rows of its effects.

use super::names::DisplayNames;
use crate::run::Run;
use crate::run::event::Event;
use crate::run::ids::Place;

/// The kind of the objects on which a nemesis records its faults.
const NODES: &str = "nodes";

/// The places of the nemeses of a run.
pub(super) struct Nemeses(Vec<Place>);

impl Nemeses {
    pub(super) fn of(run: &Run) -> Nemeses {
        let mut known = Vec::new();
        for event in run.events.iter().filter(|event| is_fault(run, event)) {
            if !known.contains(&event.place) {
                known.push(event.place);
            }
        }
        Nemeses(known)
    }

    /// Returns `true` if a nemesis caused this event, either as a wait or as an effect.
    pub(super) fn did(&self, event: &Event) -> bool {
        self.0.contains(&event.place)
    }

    /// Returns the faults that begin or end with these events, as text.
    pub(super) fn tell(&self, run: &Run, names: &DisplayNames<'_>, events: &[usize]) -> Vec<Fault> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let events = events.iter().map(|index| &run.events[*index]);
        let of_kind = |event: &&Event, kind: &str| {
            let object = event.object.and_then(|object| run.objects.get(object.index()));
            self.did(event) && object.is_some_and(|object| object.kind == kind)
        };
        // At its end, a nemesis repairs nodes that other tasks have changed.
        let kind = if events.clone().any(|event| is_fault(run, event)) { NODES } else { "node" };
        let faults = events.filter(|event| of_kind(event, kind));
        let tell = |event: &Event| {
            let object = event.object.map_or(String::new(), |object| names.object(object));
            let object = object.strip_prefix("node ").unwrap_or(&object);
            // Faults of the same nodes are separate objects with the same name.
            let object = object.split_once('#').map_or(object, |(name, _)| name);
            Fault { text: format!("{} {object}", event.op.name), place: event.place }
        };
        faults.map(tell).collect()
    }
}

/// The line of a fault.
pub(super) struct Fault {
    pub(super) text: String,
    pub(super) place: Place,
}

/// Returns `true` if a fault begins or ends with this event.
pub(super) fn is_fault(run: &Run, event: &Event) -> bool {
    let object = event.object.and_then(|object| run.objects.get(object.index()));
    object.is_some_and(|object| object.kind == NODES)
}
