//! A job queue with priorities, retries after delays, cancellation, and a list of dead letters. Planted bug: at the
//! second retry, a worker writes back an old copy of the job, which undoes a cancellation, so the job runs again.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::Arc;

use sim::task::yield_now;
use sim::time::{Duration, sleep};
use sim::{Condvar, Mutex};

const JOBS: usize = 100;
const PRIORITIES: u64 = 3;
const WORKERS: usize = 3;
const CLIENTS: usize = 2;
/// The number of attempts to cancel a job.
const CANCELLATIONS: usize = 24;
/// The number of tries after which a job that fails is a dead letter.
const TRIES: u64 = 4;
/// One of this number of tries fails.
const FAILURES: u64 = 5;
const TICK: Duration = Duration::from_millis(1);

/// Draws a time of less than four ticks.
fn pause() -> Duration {
    TICK * sim::rand::below(4) as u32
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Ready,
    Running,
    /// It waits for its next try.
    Delayed,
    Done,
    Cancelled,
    Dead,
}

#[derive(Clone, Copy)]
struct Job {
    priority: u64,
    phase: Phase,
    tries: u64,
    /// True if the job must not be tried again.
    is_cancelled: bool,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// The priority and the number of each ready job.
    ready: BTreeSet<(u64, usize)>,
    /// The number of jobs that have ended.
    ended: usize,
    /// The model: the jobs that must not start any more.
    stopped: BTreeSet<usize>,
}

#[derive(Default)]
struct Queue {
    fixed: bool,
    state: Mutex<State>,
    changed: Condvar,
    dead: Mutex<Vec<usize>>,
}

impl Queue {
    fn make_ready(&self, state: &mut State, number: usize) {
        state.jobs[number].phase = Phase::Ready;
        state.ready.insert((state.jobs[number].priority, number));
        crate::watermark!(state.ready.len() as u64, "ready jobs");
        self.changed.notify_one();
    }

    fn end(&self, state: &mut State, number: usize, phase: Phase) {
        state.jobs[number].phase = phase;
        state.ended += 1;
        if state.ended == JOBS {
            self.changed.notify_all();
        }
    }

    /// Submits jobs until there are enough.
    async fn submit(self: Arc<Self>) {
        loop {
            if sim::rand::bool() {
                sleep(pause()).await;
            }
            let mut state = self.state.lock().await;
            let number = state.jobs.len();
            if number == JOBS {
                return;
            }
            let priority = sim::rand::below(PRIORITIES);
            state.jobs.push(Job { priority, phase: Phase::Ready, tries: 0, is_cancelled: false });
            self.make_ready(&mut state, number);
        }
    }

    /// Cancels jobs. A job that runs ends its try, but is not tried again.
    async fn cancel(self: Arc<Self>) {
        for _ in 0..CANCELLATIONS {
            sleep(pause()).await;
            let mut state = self.state.lock().await;
            let number = sim::rand::below(JOBS as u64) as usize;
            let Some(job) = state.jobs.get(number).copied() else { continue };
            crate::sometimes_each!((job.phase, job.tries), "a job that is cancelled");
            match job.phase {
                Phase::Ready | Phase::Delayed => {
                    state.ready.remove(&(job.priority, number));
                    self.end(&mut state, number, Phase::Cancelled);
                }
                Phase::Running => state.jobs[number].is_cancelled = true,
                _ => continue,
            }
            state.stopped.insert(number);
        }
    }

    /// Takes and tries jobs until all have ended.
    async fn work(self: Arc<Self>) {
        loop {
            let state = self.state.lock().await;
            let is_idle = |state: &mut State| state.ready.is_empty() && state.ended < JOBS;
            let mut state = self.changed.wait_while(state, is_idle).await;
            let Some((_, number)) = state.ready.pop_first() else { return };
            assert!(!state.stopped.contains(&number), "job {number} runs after its cancellation");
            let job = &mut state.jobs[number];
            job.phase = Phase::Running;
            job.tries += 1;
            drop(state);
            for _ in 0..=sim::rand::below(3) {
                yield_now().await;
            }
            if sim::rand::below(FAILURES) == 0 {
                self.fail(number).await;
            } else {
                let mut state = self.state.lock().await;
                self.end(&mut state, number, Phase::Done);
            }
        }
    }

    /// Ends a failed try: the job is tried again, is cancelled, or becomes a dead letter.
    async fn fail(self: &Arc<Self>, number: usize) {
        let mut state = self.state.lock().await;
        let mut job = state.jobs[number];
        crate::sometimes_each!((job.tries, job.is_cancelled), "a try that fails");
        let mut is_dead = false;
        if job.tries > 1 && !job.is_cancelled {
            drop(state);
            let mut dead = self.dead.lock().await;
            is_dead = job.tries == TRIES;
            if is_dead {
                dead.push(number);
                crate::watermark!(dead.len() as u64, "dead letters");
            }
            drop(dead);
            state = self.state.lock().await;
            if self.fixed {
                job = state.jobs[number];
            }
        }
        if is_dead {
            self.end(&mut state, number, Phase::Dead);
        } else if job.is_cancelled {
            self.end(&mut state, number, Phase::Cancelled);
        } else {
            state.jobs[number] = Job { phase: Phase::Delayed, ..job };
            sim::spawn(self.clone().retry(number, TICK + pause())).detach();
        }
    }

    /// Makes a job ready after a delay, unless it is cancelled before.
    async fn retry(self: Arc<Self>, number: usize, delay: Duration) {
        sleep(delay).await;
        let mut state = self.state.lock().await;
        let is_cancelled = state.jobs[number].phase == Phase::Cancelled;
        crate::sometimes!(is_cancelled, "a job is cancelled before its retry");
        if !is_cancelled {
            self.make_ready(&mut state, number);
        }
    }
}

pub(crate) async fn body(fixed: bool) {
    let queue = Arc::new(Queue { fixed, ..Queue::default() });
    let mut tasks: Vec<_> = (0..WORKERS).map(|_| sim::spawn(queue.clone().work())).collect();
    tasks.extend((0..CLIENTS).map(|_| sim::spawn(queue.clone().submit())));
    tasks.push(sim::spawn(queue.clone().cancel()));
    for task in tasks {
        task.await.unwrap();
    }
    let state = queue.state.lock().await;
    let dead = state.jobs.iter().filter(|job| job.phase == Phase::Dead).count();
    assert_eq!(queue.dead.lock().await.len(), dead, "the list of dead letters is wrong");
}
