//! Runs a program over the public API of the library: the body of a test, and the observations of each
//! run.

mod acts;

use std::sync::{self, Arc, MutexGuard, PoisonError};

use sim::Ordering::SeqCst;
use sim::check::models::Register;
use sim::run::{Failure, Outcome, Run};
use sim::{Atomic, Cell, History, Mutex};

use self::acts::{Handles, task};
use super::program::{CELL, End, LOCKS, NODES, Program, STATIC, Sight, WORDS, entry};

/// The names of nodes.
const NAMES: [&str; NODES] = ["n0", "n1", "n2"];

static WORD: Atomic<u8> = Atomic::<u8>::const_new(0);

/// A program that can be run, with the observations of its last run.
#[derive(Clone)]
pub struct Driven {
    program: Arc<Program>,
    record: Arc<sync::Mutex<Record>>,
}

/// Observations of the current run. The observations are not shared memory of the program, because no task reads them.
#[derive(Default)]
struct Record {
    logs: Vec<Vec<u16>>,
    /// The last value that a task wrote to each word and lock.
    memory: [u8; WORDS + LOCKS],
    /// The length of each task's log when the task last continued. If the run ends before the task continues again,
    /// later entries come from the drop of the remaining tasks.
    polled: Vec<usize>,
    /// The end of the run as reported by the body or a panicking task. Later log entries do not belong to the
    /// run.
    end: Option<End>,
}

impl Driven {
    /// Creates a driver for the program, which has not run yet.
    pub fn new(program: &Program) -> Driven {
        Driven { program: Arc::new(program.clone()), record: Arc::default() }
    }

    /// The body of a test that runs the program.
    pub async fn body(&self) {
        let tasks = self.program.tasks.len();
        *self.record() =
            Record { logs: vec![Vec::new(); tasks], polled: vec![0; tasks], ..Record::default() };
        let shared = Arc::new(Shared {
            driven: self.clone(),
            words: [Atomic::new(0), Atomic::new(0)],
            cell: Cell::new(0),
            locks: [Mutex::new(0), Mutex::new(0)],
            history: self.program.records().then(|| History::new(Register::default())),
        });
        drop(task(shared.clone(), 0, Handles::new()).await);
        self.record().end = Some(End::Passed);
        if let Some(history) = &shared.history {
            history.assert_linearizable();
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sight of the last run, which was `run`.
    pub fn sight(&self, run: &Run) -> Sight {
        let record = self.record();
        let name = |task: sim::run::ids::TaskId| match &run.tasks[task.index()].name {
            Some(name) => name.parse().expect("tasks are named by their numbers"),
            None => 0,
        };
        let mut logs = record.logs.clone();
        let end = match &run.outcome {
            Outcome::Passed => End::Passed,
            Outcome::Failed(Failure::Deadlock { waits }) => {
                // The other tasks were dropped at the end of the run.
                for left in waits.iter().map(|wait| name(wait.task)) {
                    logs[left].truncate(record.polled[left]);
                }
                End::Deadlock
            }
            Outcome::Failed(Failure::Panic { task, .. })
                if record.end == Some(End::Panicked(name(*task))) =>
            {
                End::Panicked(name(*task))
            }
            Outcome::Failed(Failure::Misuse { message, .. }) if message.contains(" already: ") => {
                match &record.end {
                    Some(end @ End::Refused(_)) => end.clone(),
                    end => End::Other(format!("{message}, and the record has {end:?}")),
                }
            }
            Outcome::Failed(Failure::History { .. }) => End::Violated,
            Outcome::Failed(failure) => End::Other(format!("{failure:?}")),
        };
        Sight { end, logs, memory: record.memory }
    }
}

/// The shared state of the tasks of a run.
struct Shared {
    driven: Driven,
    words: [Atomic<u8>; 2],
    cell: Cell<u8>,
    locks: [Mutex<u8>; LOCKS],
    history: Option<History<Register<u64>>>,
}

impl Shared {
    fn log(&self, task: usize, branch: u8, value: u8) {
        let mut record = self.driven.record();
        if record.end.is_none() {
            record.logs[task].push(entry(branch, value));
        }
    }

    /// Records that the task continues, so its log so far belongs to the run.
    fn goes_on(&self, task: usize) {
        let mut record = self.driven.record();
        record.polled[task] = record.logs[task].len();
    }

    fn wrote(&self, at: usize, value: u8) {
        let mut record = self.driven.record();
        if record.end.is_none() {
            record.memory[at] = value;
        }
    }

    /// Panics, unless the run has ended and the remaining tasks are being dropped.
    fn panic(&self, task: usize) {
        let mut record = self.driven.record();
        if record.end.is_none() {
            record.end = Some(End::Panicked(task));
            drop(record);
            panic!("an act");
        }
    }

    /// Adds a node. If the run ends because a node has this name already, the record says so.
    fn add_node(&self, task: usize, name: usize) {
        struct Refused<'a>(&'a Driven, usize);

        impl Drop for Refused<'_> {
            fn drop(&mut self) {
                self.0.record().end.get_or_insert(End::Refused(self.1));
            }
        }

        let refused = Refused(&self.driven, task);
        drop(sim::node(NAMES[name]));
        std::mem::forget(refused);
    }

    fn atomic(&self, word: usize) -> &Atomic<u8> {
        if word == STATIC { &WORD } else { &self.words[word] }
    }

    async fn load(&self, word: usize) -> u8 {
        if word == CELL { self.cell.get().await } else { self.atomic(word).load(SeqCst).await }
    }

    async fn store(&self, word: usize, value: u8) {
        match word {
            CELL => self.cell.set(value).await,
            word => self.atomic(word).store(value, SeqCst).await,
        }
        self.wrote(word, value);
    }

    async fn exchange(&self, word: usize, from: u8, to: u8) -> Result<u8, u8> {
        let result = self.atomic(word).compare_exchange(from, to, SeqCst, SeqCst).await;
        if result.is_ok() {
            self.wrote(word, to);
        }
        result
    }

    async fn lock(&self, lock: usize) -> (u8, sim::MutexGuard<'_, u8>) {
        self.took(lock, self.locks[lock].lock().await)
    }

    async fn try_lock(&self, lock: usize) -> Option<(u8, sim::MutexGuard<'_, u8>)> {
        self.locks[lock].try_lock().await.map(|guard| self.took(lock, guard))
    }

    fn took<'a>(
        &self,
        lock: usize,
        mut guard: sim::MutexGuard<'a, u8>,
    ) -> (u8, sim::MutexGuard<'a, u8>) {
        *guard += 1;
        self.wrote(WORDS + lock, *guard);
        (*guard - 1, guard)
    }
}
