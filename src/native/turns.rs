//! Tasks of a tokio runtime on one thread. The runtime polls them in the order of a queue that only this thread sees,
//! so no decision of a run changes that order. A run that spawns such a task is marked.

use std::sync::atomic::{AtomicBool, Ordering};

use unpause_native::Frame;

use crate::rt::WORLD;
use crate::run::functions::last_name;
use crate::run::untried::Untried;

/// The report text for a part of the program that a search does not see.
const ORDERS: &str = "other orders of the tasks on a current-thread runtime of tokio (unpause-tokio \
    tries them, see docs/tokio.md)";

/// True if a run has spawned such a task.
static SPAWNED: AtomicBool = AtomicBool::new(false);

/// Returns `true` if an operation within these functions, innermost first, is part of such a spawn.
pub(super) fn spawns(frames: &[Frame]) -> bool {
    frames.iter().any(|frame| {
        let of_runtime = frame.file.contains("/tokio-")
            && (frame.file.contains("/src/runtime/scheduler/current_thread")
                || frame.file.ends_with("/src/task/local.rs"));
        of_runtime && last_name(&frame.function).starts_with("spawn")
    })
}

/// Records that such a task was spawned.
#[cold]
pub(super) fn note() {
    SPAWNED.store(true, Ordering::Relaxed);
    WORLD.with(|world| world.note_untried(Untried::Unseen(ORDERS)));
}

/// Records that a run of a helper process has spawned such a task.
pub(crate) fn set_spawned_in_turn() {
    SPAWNED.store(true, Ordering::Relaxed);
}

/// Returns `true` if a run has spawned such a task since the last call.
pub(crate) fn take_spawned_in_turn() -> bool {
    SPAWNED.swap(false, Ordering::Relaxed)
}

/// Tests of this file.
pub(super) mod checks {
    use super::*;

    pub(in super::super) fn spawns_on_a_runtime_of_one_thread_are_known() {
        let frame = |(function, file): (&str, &str)| Frame {
            function: function.into(),
            file: format!("/registry/src/x/{file}"),
            line: 7,
            column: 5,
        };
        let handle = "tokio-1.54.1/src/runtime/scheduler/current_thread/mod.rs";
        let list = ("bind_inner<F>", "tokio-1.54.1/src/runtime/task/list.rs");
        for (functions, expected) in [
            (&[list, ("<x::Handle>::spawn::<F>", handle)][..], true),
            (&[list, ("spawn_local", "tokio-1.54.1/src/task/local.rs")], true),
            (&[("schedule", handle)], false),
            (
                &[list, ("spawn", "tokio-1.54.1/src/runtime/scheduler/multi_thread/handle.rs")],
                false,
            ),
            (&[list, ("spawn", "mine-1.0.0/src/runtime/scheduler/current_thread/mod.rs")], false),
        ] {
            let frames: Vec<_> = functions.iter().copied().map(frame).collect();
            assert_eq!(spawns(&frames), expected, "{functions:?}");
        }
    }
}
