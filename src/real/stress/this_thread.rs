//! The stress-run task that this thread polls. Primitives, recorders and the panic hook find their run here.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::AbortHandle;

use super::{CheckFailed, Member};
use crate::real::jitter::{self, Shaker};
use crate::run::panics::{self, PanicHandling, Panicked};
use crate::run::place::in_text;
use crate::run::program::ProgramSource;
use crate::run::recording::HistorySource;
use crate::run::{Condition, Failure};

thread_local! {
    static CURRENT: RefCell<Option<Arc<Member>>> = const { RefCell::new(None) };
    /// The second-last panic of this thread.
    static BEFORE: RefCell<Option<Panicked>> = const { RefCell::new(None) };
}

/// A guard that marks the current thread as polling a task.
pub(super) struct PollGuard<'a> {
    before: (Option<Arc<Member>>, Option<Shaker>),
    shaker: &'a mut Option<Shaker>,
}

impl<'a> PollGuard<'a> {
    pub(super) fn enter(member: &Arc<Member>, shaker: &'a mut Option<Shaker>) -> PollGuard<'a> {
        let outer = CURRENT.with(|current| current.replace(Some(member.clone())));
        let before = (outer, jitter::set(shaker.take()));
        PollGuard { before, shaker }
    }
}

impl Drop for PollGuard<'_> {
    fn drop(&mut self) {
        let (member, shaker) = std::mem::take(&mut self.before);
        // The previous member is bound to a variable, and not dropped inside the closure, because it may be the last
        // member of its run.
        let _member = CURRENT.with(|current| current.replace(member));
        *self.shaker = jitter::set(shaker);
    }
}

pub(in crate::real) fn current() -> Option<Arc<Member>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Registers a task that the current task spawns and that `abort` ends. The task joins the run of the current task, if
/// any.
pub(crate) fn join_in(name: Option<&str>, abort: AbortHandle) -> Option<Arc<Member>> {
    let parent = current()?;
    Some(parent.run.add(Some(parent.task), name, abort))
}

/// Returns a number for the current task, if it takes part in a stress run.
pub(crate) fn client() -> Option<u64> {
    current().map(|member| member.client.0)
}

/// Returns the name of the current task, if it takes part in a stress run.
pub(crate) fn client_name() -> Option<String> {
    current().map(|member| member.client.1.clone())
}

/// Adds a new history to the stress run of this thread. Returns its number in the run.
pub(crate) fn add_history(history: Arc<dyn HistorySource>) -> Option<usize> {
    let member = current()?;
    let mut state = member.run.lock();
    state.histories.push(history);
    Some(state.histories.len() - 1)
}

/// Counts a condition in the stress run of this thread, if any.
pub(crate) fn note_condition(condition: Condition) {
    if let Some(member) = current() {
        condition.note(&mut member.run.lock().conditions);
    }
}

/// Adds a new generated program to the stress run of this thread.
pub(crate) fn add_program(program: Arc<dyn ProgramSource>) {
    if let Some(member) = current() {
        member.run.lock().programs.push(program);
    }
}

/// Returns the time after which the stress run of this thread counts as hung. `None` without a run or a limit.
pub(crate) fn hang_limit() -> Option<Duration> {
    current().and_then(|member| member.run.hang)
}

/// Reports progress within a long step of the task of this thread.
pub(crate) fn beat() {
    if let Some(member) = current() {
        member.moves.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns the seed of the stress run of this thread, or 0 outside of stress runs.
pub(crate) fn seed() -> u64 {
    current().map_or(0, |member| member.run.seed)
}

/// Fails and ends the stress run of this thread, if any, and unwinds.
pub(crate) fn fail(failure: impl FnOnce() -> Failure) {
    if let Some(member) = current() {
        let failure = failure();
        member.run.fails(failure);
        std::panic::resume_unwind(Box::new(CheckFailed));
    }
}

/// Handles a panic for the panic hook of the process.
pub(crate) fn hear(info: &std::panic::PanicHookInfo<'_>) -> PanicHandling {
    // A panic may happen while the thread ends, when its thread-locals no longer exist.
    let Ok(Some(member)) = CURRENT.try_with(|current| current.borrow().clone()) else {
        return PanicHandling::Foreign;
    };
    if member.run.is_over() {
        return PanicHandling::Foreign;
    }
    let panicked = panics::panicked(info);
    if panics::aborts(&panicked) {
        tell(&member);
        return PanicHandling::Taken;
    }
    let before = panics::note(panicked);
    BEFORE.with(|last| *last.borrow_mut() = before);
    if member.run.loud { PanicHandling::Shown } else { PanicHandling::Taken }
}

/// Prints the panics that were recorded on this thread, because the process aborts now. Does not use `eprint!`: a test
/// harness may have captured its output, and has no time to show it.
fn tell(member: &Member) {
    let show = |panicked: Option<Panicked>| match panicked {
        Some(Panicked { message, place }) => format!("{message:?} at {}", in_text(place)),
        None => "unknown".to_owned(),
    };
    let (run, task) = (&member.run, &member.client.1);
    let (first, second) = (show(BEFORE.with(RefCell::take)), show(panics::take()));
    let text = format!(
        "\nsim: a destructor panicked while a panic unwound, and the process aborts.\n\
         first:  {first}\nsecond: {second}\n\
         It was task {task} in the run of seed {} of {} on real threads.\n",
        run.seed, run.test,
    );
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
