//! Deaths of nodes: runs that differ only in effects that a death revokes count as one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::act::Act;
use super::cluster::OnCluster;
use super::program::Program;
use super::{Tally, by_brute_force, by_search};
use crate::report::Report;
use crate::run::Run;
use crate::run::clock_mode::ClockMode;
use crate::run::event::{Event, Values};
use crate::run::ids::TaskId;
use crate::run::op::Access;
use crate::run::op::task::KILL;
use crate::strategy::exhaustive::node_lives::faults;
use crate::strategy::search::Apart;
use crate::sync::Ordering::SeqCst;
use crate::{Atomic, Runner};

/// Returns the positions of the events that deaths took back. For a dead task, these are all events after the last act
/// whose effect outlives the task. The positions are computed from the record alone, because a search does not know
/// them.
pub(super) fn lost_events(run: &Run) -> BTreeSet<usize> {
    let died = |event: &Event| match event.values {
        Values::Task(task) if event.op.kind == Some(KILL) => Some(task),
        _ => None,
    };
    let dead: BTreeSet<TaskId> = run.events.iter().filter_map(died).collect();
    let outlives = |event: &Event| {
        let Some(object) = event.object else { return event.op.access != Access::Yield };
        let record = &run.objects[object.index()];
        let node = |task: TaskId| run.tasks[task.index()].node.as_ref();
        let made_by = record.creator.and_then(|(creator, _)| node(creator));
        let is_own = record.node.is_some() || made_by.is_some() && made_by == node(event.task);
        !is_own && !event.is_look()
    };
    let mut lost = BTreeSet::new();
    for task in dead {
        let own = run.events.iter().enumerate().filter(|(_, event)| event.task == task);
        let after = own.rev().take_while(|(_, event)| !outlives(event));
        lost.extend(after.map(|(at, _)| at));
    }
    lost
}

/// A node dies while another task reads its memory.
fn shown() -> Program {
    let tasks = vec![vec![], on(OnCluster::Show(0)), on(OnCluster::Kill(0))];
    Program::new(tasks, 2, 2)
}

fn on(act: OnCluster) -> Vec<Act> {
    vec![Act::OnCluster(act)]
}

/// A node executes `steps` steps in its own memory and then writes twice. Meanwhile another task switches the node off.
fn worker(steps: u64) -> Program {
    let tasks = vec![vec![], on(OnCluster::Work(0, steps, false)), on(OnCluster::Kill(0))];
    Program::new(tasks, 2, 2)
}

#[test]
fn a_death_is_tried_only_where_it_makes_a_difference() {
    crate::engine::simulate::hook::install();
    let classes = |steps: u64, apart: Apart| {
        let mut tally = Tally::default();
        tally.compare_apart(&worker(steps), 100_000, apart);
        assert_eq!(tally.programs, 1);
        (tally.classes, tally.brute)
    };
    let alike: Vec<_> = [0, 1, 2, 4].map(|steps| classes(steps, Apart::ORDERS)).into();
    println!("{alike:?}");
    // The node dies before the task is spawned, before each of its two writes, or after them.
    assert!(alike.iter().all(|(classes, _)| *classes == alike[0].0), "{alike:?}");
    // The number of interleavings grows with each step.
    assert!(alike.windows(2).all(|pair| pair[0].1 < pair[1].1), "{alike:?}");
    let each: Vec<_> =
        [0, 4].map(|steps| classes(steps, Apart::ORDERS.and(Apart::DEATHS)).0).into();
    assert!(each[1] > each[0] && each[0] >= alike[0].0, "{each:?}");
}

#[test]
fn steps_that_outlive_their_node_and_are_taken_for_lost_are_missed() {
    crate::engine::simulate::hook::install();
    let program = worker(2);
    let whole = by_brute_force(&program, Apart::ORDERS, 1_000).expect("it is small").results;
    assert_eq!(by_search(&program, Apart::ORDERS).results, whole);
    let less = faults::with_all_lost(|| by_search(&program, Apart::ORDERS)).results;
    assert!(less.len() < whole.len(), "{} of {}", less.len(), whole.len());
}

#[test]
fn deaths_are_tried_everywhere_if_others_look_at_the_memory_of_the_node() {
    crate::engine::simulate::hook::install();
    let mut tally = Tally::default();
    tally.compare(&shown(), 10_000);
    assert_eq!(tally.programs, 1);
    assert_eq!(by_search(&shown(), Apart::ORDERS).apart, Apart::ORDERS.and(Apart::DEATHS));
    assert_eq!(by_search(&worker(2), Apart::ORDERS).apart, Apart::ORDERS);
}

/// If two tasks spawn tasks into a node, only acts on the node can show the order. The same acts show the time that has
/// passed for the waiting tasks of the node when it dies.
#[test]
fn acts_on_nodes_whose_tasks_have_spawned_or_wait_are_explored_as_by_brute_force() {
    use OnCluster::{Clog, CutBack, Heal, Kill, Nap, PowerOff, Send, Slow, Spawn};
    crate::engine::simulate::hook::install();
    let on = |act| vec![Act::OnCluster(act)];
    let programs = [
        (vec![vec![], on(Kill(1)), on(Spawn(1)), on(Spawn(1))], (3, 3), ClockMode::Last),
        (vec![vec![], on(Slow(1, 1)), on(Spawn(1)), on(Spawn(1))], (3, 3), ClockMode::Last),
        (vec![vec![Act::Until(2)], on(Nap(0, 2)), on(Kill(0))], (2, 1), ClockMode::Late(1)),
        (vec![vec![Act::Sleep(1)], on(Nap(0, 1)), on(PowerOff(0))], (2, 0), ClockMode::Any),
        // The link back is made by its cut.
        (vec![on(CutBack), on(Heal)], (2, 2), ClockMode::Last),
        (vec![vec![], on(CutBack), on(Heal)], (3, 3), ClockMode::Last),
        (vec![vec![], on(Heal), on(CutBack)], (3, 3), ClockMode::Last),
        // Both messages are due at the same time. The second message waits for the first.
        (vec![on(Send(2)), on(Send(2)), on(Clog)], (2, 1), ClockMode::Last),
    ];
    for (tasks, (early, awaited), clock) in programs {
        let program = Program::new(tasks, early, awaited).with_clock(clock);
        let mut tally = Tally::default();
        tally.compare(&program, 5_000);
        assert_eq!(tally.programs, 1, "{program:?}");
    }
}

/// A node counts its steps in memory that no search sees, and is killed. The test stores the count.
async fn noted(is_told: bool) -> u64 {
    let notes = Arc::new(std::sync::Mutex::new(0));
    let node = crate::node("n");
    let words = Arc::new([Atomic::new(0), Atomic::new(0)]);
    let (of_node, told) = (notes.clone(), words.clone());
    node.run(move || {
        let (notes, words) = (of_node.clone(), told.clone());
        async move {
            let own = Atomic::new(0);
            for step in 1..3 {
                own.store(step, SeqCst).await;
                if is_told {
                    words[0].store(step, SeqCst).await;
                }
                *notes.lock().unwrap() = step;
            }
        }
    });
    crate::task::yield_now().await;
    node.kill();
    let noted = *notes.lock().unwrap();
    words[1].store(noted, SeqCst).await;
    noted
}

fn prove(test: impl AsyncFn() + Sync) -> Report {
    Runner::new().hermetic().strategy("exhaustive").seeds(0..10_000).run(test)
}

#[test]
fn a_lost_step_that_changed_memory_which_is_not_seen_takes_the_proof_away() {
    crate::engine::simulate::hook::install();
    let fails = async || assert_ne!(noted(false).await, 1, "it died between its notes");
    assert!(!prove(fails).passed());
    let told = prove(async || _ = noted(true).await);
    let searched = told.searched.as_ref().expect("it was a search");
    assert!(told.passed() && searched.is_proof() && !searched.by_step, "{searched:?}");
    let untold = prove(async || _ = noted(false).await);
    let searched = untold.searched.as_ref().expect("it was a search");
    assert!(untold.passed() && searched.is_proof() && searched.by_step, "{searched:?}");
}
