//! The legend of a schedule: the displayed objects, with the places that created them or used them first.

use super::names::DisplayNames;
use super::places::cut_place;
use crate::run::event::{Event, ValueKind};
use crate::run::ids::ObjectId;
use crate::run::place::{is_std, portable};
use crate::run::{Failure, Outcome, Run, Wait};
use unpause_check::picture::screen::{Line, Paint, Screen, columns};
use unpause_ordered::sort;

/// The maximum number of objects in the legend.
const OBJECTS_MAX: usize = 10;

/// Lists the places that created the displayed objects, to distinguish the objects.
pub(super) fn draw(screen: &mut Screen, run: &Run, names: &DisplayNames<'_>, objects: &[ObjectId]) {
    let mut objects: Vec<ObjectId> =
        objects.iter().copied().filter(|id| id.index() < run.objects.len()).collect();
    sort(&mut objects);
    let left_out = objects.len().saturating_sub(OBJECTS_MAX);
    objects.truncate(OBJECTS_MAX);
    let name_width = objects.iter().map(|id| columns(&names.object(*id))).max();
    screen.blank();
    for id in &objects {
        let mut line = Line::default();
        line.put(2, Paint::Strong, &names.object(*id));
        let left = name_width.unwrap_or(0) + 4;
        let room = screen.width().saturating_sub(left);
        line.put(left, Paint::Faint, &origin(run, *id, room));
        screen.line(line);
    }
    if left_out > 0 {
        screen.line(Line::of(Paint::Faint, &format!("  … {left_out} more objects")));
    }
}

/// Returns the place that created an object, in at most `room` columns. The text includes the object's first use if
/// other objects were created at the same place, or if the place is in std.
fn origin(run: &Run, id: ObjectId, room: usize) -> String {
    let object = &run.objects[id.index()];
    if object.values == ValueKind::Time {
        return "the time of the run".to_owned();
    }
    let kind = object.name.map_or(String::new(), |_| format!("{}, ", object.kind));
    let created = object.place.to_string();
    let in_std = is_std(&created);
    let is_alone = || run.objects.iter().filter(|other| other.place == object.place).count() == 1;
    let first = run.events.iter().find(|event| event.object == Some(id));
    // The run knows the memory of a plain thread only from its first access on, and this access may still be waiting.
    let is_use = |event: &Event| event.object == Some(id) && event.place == object.place;
    let is_wait = |wait: &Wait| wait.object == Some(id) && wait.place == object.place;
    let waits = match &run.outcome {
        Outcome::Failed(Failure::Deadlock { waits }) => waits.as_slice(),
        _ => &[],
    };
    if run.events.iter().any(is_use) || waits.iter().any(is_wait) {
        let text = format!("{kind}used first at ");
        let place = cut_place(&created, room.saturating_sub(columns(&text)));
        return text + &place;
    }
    let first = first.filter(|_| in_std || object.name.is_none() && !is_alone());
    let Some(first) = first else {
        let text = format!("{kind}created at ");
        let place = cut_place(&created, room.saturating_sub(columns(&text)));
        return text + &place;
    };
    if first.place.file() == object.place.file() {
        let text = format!("{kind}created at ");
        let used = format!(", used first in line {}", first.place.line());
        let taken = columns(&text) + columns(&used);
        return text + &cut_place(&created, room.saturating_sub(taken)) + &used;
    }
    let used = first.place.to_string();
    let created = if in_std { "in std".to_owned() } else { format!("at {}", portable(&created)) };
    let text = format!("{kind}created {created}, used first at ");
    let wanted = columns(&text) + columns(&portable(&used));
    let text = if wanted <= room { text } else { format!("{kind}used first at ") };
    let place = cut_place(&used, room.saturating_sub(columns(&text)));
    text + &place
}
