//! Serialization of generated programs, for runs of plain threads in separate processes.
//!
//! The trait belongs to the crate that starts the processes, so only this crate can implement it for its own types.

use unpause_native::{Written, written_enumerations, written_structures};

use crate::run::ids::TaskId;
use crate::run::program::{
    CommandLayout, CommandRecord, Fate, Faults, Omitted, Part, Pin, ProgramRecord,
};

written_structures! {
    ProgramRecord {
        model, initial, op_type, interleavings, interleavings_max, commands, draws, omitted, work, unfinished, blocks,
        pins
    }
    Omitted { refused, precondition, reference, waiting, unchecked, faults, trusted }
    CommandRecord { layout, text, label, source, faults }
    Faults { again, crash, timeout }
    Pin { draw, value }
}

written_enumerations! {
    Part { 0 Prefix 1 Branch { stage, branch } 2 Suffix 3 Nemesis { stage } }
    Fate { 0 Runs 1 Absent 2 Tombstone(points) }
}

impl Written for CommandLayout {
    fn write(&self, to: &mut Vec<u8>) {
        let CommandLayout { part, fate, change, simpler, candidates, ran, drawn } = *self;
        (part, fate, change, simpler).write(to);
        let ran = ran.map(|(task, began, ended)| (task.0, began, ended));
        (candidates, ran, drawn).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<CommandLayout> {
        let (part, fate, change, simpler) = Written::read(from)?;
        let (candidates, ran, drawn): (u64, Option<(u32, u32, u32)>, _) = Written::read(from)?;
        let ran = ran.map(|(task, began, ended)| (TaskId(task), began, ended));
        Some(CommandLayout { part, fate, change, simpler, candidates, ran, drawn })
    }
}
