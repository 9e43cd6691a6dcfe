//! A summary of the run in a few lines, for a condition that never held. The summary contains the reads of the last
//! evaluation, the waits of all tasks, and the messages in flight.

use crate::rt::diagnose::waiting;
use crate::rt::state::RunState;
use crate::rt::world::World;
use crate::run::board::{Status, TaskRow};
use crate::run::event::{Event, ValueKind, Values};
use crate::run::ids::TaskId;
use crate::run::place::in_text;

/// The maximum number of lines of a kind.
const LINES: usize = 6;

impl World {
    /// Describes the run. The operations of the current task since event number `since` belong to its condition.
    pub(crate) fn standing(&self, since: u64) -> String {
        let names: Vec<String> = {
            let tasks = self.state().board.tasks.len();
            (0..tasks).map(|index| self.name_of(TaskId(index as u32))).collect()
        };
        let state = &*self.state();
        let own = state.current();
        let events = state.board.events.iter().enumerate().skip(since as usize);
        let is_read =
            |(at, event): &(usize, &Event)| event.task == own && !state.board.is_of_invariant(*at);
        let read = events.filter(is_read).filter_map(|(_, event)| saw(state, event)).collect();
        let mut waits = Vec::new();
        let mut on_their_way = Vec::new();
        for (index, row) in state.board.tasks.iter().enumerate() {
            let task = TaskId(index as u32);
            if task == own || row.status == Status::Done || state.slots.at(task.index()).is_of_run {
                continue;
            }
            match &row.route {
                Some(route) => {
                    on_their_way.push(format!(
                        "{}→{}, sent at {}",
                        route.from,
                        route.to,
                        in_text(row.place)
                    ));
                }
                None if row.held & TaskRow::PAUSED != 0 => {
                    waits.push(format!("{} is paused", names[index]))
                }
                None => waits.push(format!("{}: {}", names[index], waiting(state, task))),
            }
        }
        let mut text = String::new();
        add(&mut text, "last seen", read);
        add(&mut text, "waits", waits);
        add(&mut text, "on its way", on_their_way);
        text
    }
}

/// Returns the value that an operation saw; `None` if it saw no value.
fn saw(state: &RunState, event: &Event) -> Option<String> {
    let (Values::Read(bits) | Values::Refused(bits, _) | Values::Changed(bits, _)) = event.values
    else {
        return None;
    };
    let record = &state.objects.rows[event.object?.index()].record;
    let value = match record.values {
        ValueKind::Opaque | ValueKind::Pointer => return None,
        kind => kind.show(bits),
    };
    let object = record.name.unwrap_or(record.kind);
    Some(format!("{} {object} = {value} at {}", event.op.name, in_text(event.place)))
}

/// Adds lines, and the number of omitted lines.
fn add(text: &mut String, label: &str, lines: Vec<String>) {
    for line in lines.iter().take(LINES) {
        text.push_str(&format!("\n{label}: {line}"));
    }
    if lines.len() > LINES {
        text.push_str(&format!("\n{label}: … {} more …", lines.len() - LINES));
    }
}
