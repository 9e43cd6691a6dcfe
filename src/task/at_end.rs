//! Work at the end of a task.

use crate::seam;

/// Runs `work` at the end of the current task: when its future returns, when the task is aborted, or when its executor
/// or the end of the run drops the task.
///
/// The work runs once, after the values of the task's future are dropped and before a joining task can continue. The
/// work is a part of the task's last step. Several pieces of work run in reverse order of registration, like the
/// destructors of local values. The work cannot await. Values of [`task_local!`](macro@crate::task_local) are already
/// dropped. A panic in the work counts as a panic of the task.
///
/// # Panics
/// Outside of tasks, which means in a future that another executor polls and this library did not spawn. The body of a
/// test and the future of [`block_on`](crate::block_on) count as tasks.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// # sim::block_on(async {
/// let open = Arc::new(AtomicU32::new(0));
/// let own = open.clone();
/// let task = sim::spawn(async move {
///     own.fetch_add(1, SeqCst);
///     sim::task::at_end(move || assert_eq!(own.fetch_sub(1, SeqCst), 1));
///     std::future::pending::<()>().await;
/// });
/// while open.load(SeqCst) == 0 {
///     sim::task::yield_now().await;
/// }
/// task.abort();
/// assert!(task.await.unwrap_err().is_cancelled());
/// assert_eq!(open.load(SeqCst), 0);
/// # });
/// ```
///
/// Code after the last await of a task does not run if the task is aborted:
///
/// ```
/// use sim::Runner;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
///
/// async fn test(at_end: bool) {
///     let is_taken = Arc::new(AtomicBool::new(false));
///     let own = is_taken.clone();
///     let task = sim::spawn(async move {
///         own.store(true, SeqCst);
///         let give_back = move || own.store(false, SeqCst);
///         if at_end {
///             sim::task::at_end(give_back);
///             sim::task::yield_now().await;
///         } else {
///             sim::task::yield_now().await;
///             give_back();
///         }
///     });
///     sim::task::yield_now().await;
///     task.abort();
///     let _ = task.await;
///     assert!(!is_taken.load(SeqCst), "it was not given back");
/// }
///
/// # if sim::SIMULATED {
/// assert!(!Runner::new().hermetic().run(async || test(false).await).passed());
/// # }
/// assert!(Runner::new().hermetic().run(async || test(true).await).passed());
/// ```
#[track_caller]
pub fn at_end(work: impl FnOnce() + Send + 'static) {
    let is_taken = seam::at_end(Box::new(work));
    assert!(is_taken, "there is no task here: call at_end in a task that this library spawned");
}
