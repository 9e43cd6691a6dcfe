//! Programs over the channels of tokio, and the diamond test on them.

use super::act::Act as AnyAct;
use super::channels::Act;
use super::diamond::{diamonds_of, from};
use super::program::Program;
use super::swapped;
use crate::run::op::kind::{Kind, faults};
use crate::run::op::of_tokio::{mail, ring, version};
use crate::run::rng::Rng;

/// A list of acts; an act that is listed twice is drawn more often.
pub(super) type Acts = &'static [Act];

pub(super) const MESSAGES: Acts = &[
    Act::Send(1),
    Act::Send(2),
    Act::TrySend(3),
    Act::Recv,
    Act::Recv,
    Act::Recv,
    Act::TryRecv,
    Act::RecvMany,
    Act::Close,
    Act::DropReceiver,
    Act::DropSender,
];
pub(super) const ROOM: Acts = &[
    Act::Send(1),
    Act::Reserve,
    Act::ReserveTwo,
    Act::ReserveTwoOrStop,
    Act::TryReserve,
    Act::SendReserved(4),
    Act::Release,
    Act::SendOrStop(5),
    Act::Recv,
    Act::Recv,
    Act::RecvOrStop,
    Act::TryRecv,
    Act::Close,
    Act::Look,
];
pub(super) const COUNTS: Acts = &[
    Act::Clone,
    Act::Downgrade,
    Act::Upgrade,
    Act::DropSender,
    Act::DropSender,
    Act::Send(1),
    Act::Recv,
    Act::Recv,
    Act::TryRecv,
    Act::LookAtCount,
    Act::Look,
    Act::Closed,
    Act::ClosedOrStop,
    Act::Close,
    Act::DropReceiver,
];
pub(super) const BROADCAST: Acts = &[
    Act::Publish(1),
    Act::Publish(2),
    Act::Publish(3),
    Act::Hear,
    Act::Hear,
    Act::HearOrStop,
    Act::TryHear,
    Act::Subscribe,
    Act::DropPublisher,
    Act::DropSubscriber,
    Act::LookAtLen,
    Act::Silence,
];
pub(super) const WATCH: Acts = &[
    Act::Write(1),
    Act::Write(2),
    Act::WriteIf(2),
    Act::See,
    Act::SeeNow,
    Act::Changed,
    Act::Changed,
    Act::ChangedOrStop,
    Act::WaitFor(2),
    Act::Watch,
    Act::CloneWriter,
    Act::DropWriter,
    Act::DropWatcher,
    Act::Tally,
    Act::Unwatched,
];
const FAMILIES: [(&str, Acts); 5] = [
    ("messages", MESSAGES),
    ("room", ROOM),
    ("counts", COUNTS),
    ("broadcast", BROADCAST),
    ("watch", WATCH),
];

/// A program of at most `tasks_max` tasks, with at most `acts_max` acts each.
pub(super) fn generate(rng: &mut Rng, acts: Acts, (tasks_max, acts_max): (u64, u64)) -> Program {
    let tasks = 2 + rng.below(tasks_max - 1);
    let mut all = vec![Vec::new()];
    for _ in 0..tasks {
        let mut own = Vec::new();
        for _ in 0..1 + rng.below(acts_max) {
            // A pause first: effects without a point would all be part of the first step.
            if rng.below(2) == 0 {
                own.push(AnyAct::Pause);
            }
            own.push(AnyAct::Channel(acts[rng.below(acts.len() as u64) as usize]));
        }
        all.push(own);
    }
    let awaited = if rng.below(5) == 0 { rng.below(tasks) } else { tasks };
    Program::new(all, tasks as usize, awaited as usize)
}

#[test]
fn steps_on_channels_that_do_not_conflict_can_be_swapped() {
    for (name, acts) in FAMILIES {
        let found = diamonds_of(swapped(), |rng| generate(rng, acts, (3, 3)));
        println!("{name}: {} pairs", found.pairs);
        assert_eq!(found.broken, None, "{name}");
        assert!(found.pairs > 75, "{name}: {}", found.pairs);
    }
}

#[test]
fn numbers_of_messages_that_are_one_off_are_found() {
    let faults: [(&str, (u32, u32), Acts, u64); 4] = [
        ("the message that is sent", (0, 1), MESSAGES, 0),
        ("the one that gives the room", (1, 0), MESSAGES, 0),
        ("the one that gives reserved room", (1, 165), ROOM, 0),
        ("the one whose place is taken", (1, 362), BROADCAST, 0),
    ];
    for (name, more, acts, first) in faults {
        let generate = |rng: &mut Rng| generate(rng, acts, (3, 4));
        let found = faults::with_more(more, || diamonds_of(from(first), generate));
        println!("{name}: {} pairs", found.pairs);
        found.assert_broken(name);
    }
}

/// The number of runs that prove a program of one producer and one consumer with `messages` messages.
fn runs_of_pairs(capacity: Option<usize>, messages: u32) -> u64 {
    use crate::tokio::sync::mpsc;
    let report = crate::Runner::new().hermetic().strategy("exhaustive").run(async move || {
        let (sender, mut receiver) = mpsc::channel(capacity.unwrap_or(usize::MAX >> 3));
        let sending = crate::spawn(async move {
            for n in 0..messages {
                sender.send(n).await.unwrap();
            }
            sender
        });
        for n in 0..messages {
            assert_eq!(receiver.recv().await, Some(n));
        }
        drop(sending.await);
    });
    assert!(report.searched.as_ref().unwrap().is_proof(), "{report:?}");
    report.runs
}

#[test]
fn a_producer_and_a_consumer_of_different_messages_commute() {
    let table = |messages_max: u32| {
        [Some(1), Some(2), None].map(|capacity| {
            (1..=messages_max).map(|count| runs_of_pairs(capacity, count)).collect::<Vec<_>>()
        })
    };
    // The consumer finds a message or waits for it, and the producer finds room or waits: each case is a class. With
    // room for all messages, only the consumer has two cases.
    let runs = table(4);
    println!("{runs:?}");
    assert_eq!(runs, [vec![2, 8, 32, 128], vec![2, 4, 12, 36], vec![2, 4, 8, 16]]);
    let coarse = faults::without_numbers(|| table(4));
    println!("without numbers: {coarse:?}");
    assert!(coarse[2][3] > 2 * runs[2][3], "{coarse:?}");
}

#[test]
fn a_relation_of_channels_that_is_not_declared_is_found() {
    let faults: [(&str, (Kind, Kind), Acts, u64); 14] = [
        ("push, push", (mail::PUSH, mail::PUSH), MESSAGES, 0),
        ("push, miss", (mail::PUSH, mail::MISS), MESSAGES, 0),
        ("push, close", (mail::PUSH, mail::CLOSE), MESSAGES, 0),
        ("push, pop", (mail::PUSH, mail::POP), MESSAGES, 0),
        ("drop, miss", (mail::DROP, mail::MISS), MESSAGES, 0),
        ("ask, ask", (mail::ASK, mail::ASK), ROOM, 0),
        ("ask, leave", (mail::ASK, mail::LEAVE), ROOM, 991),
        ("drop, upgrade", (mail::DROP, mail::UPGRADE), COUNTS, 0),
        ("send, send", (ring::SEND, ring::SEND), BROADCAST, 111),
        ("send, read", (ring::SEND, ring::READ), BROADCAST, 0),
        ("send, subscribe", (ring::SEND, ring::SUBSCRIBE), BROADCAST, 139),
        ("send, look", (version::SEND, version::LOOK), WATCH, 0),
        ("drop, look", (version::DROP, version::LOOK), WATCH, 0),
        ("send, drop receiver", (version::SEND, version::DROP_RECEIVER), WATCH, 220),
    ];
    for (name, pair, acts, first) in faults {
        let generate = |rng: &mut Rng| generate(rng, acts, (3, 3));
        let found = faults::without(pair, || diamonds_of(from(first), generate));
        found.assert_broken(name);
    }
}

#[test]
fn whoever_is_woken_by_the_last_receiver_may_come_before_a_new_receiver() {
    crate::engine::simulate::hook::install();
    let families = [
        (Act::DropSubscriber, Act::Subscribe, Act::Silence),
        (Act::DropWatcher, Act::Watch, Act::Unwatched),
    ];
    let mut tally = super::Tally::default();
    for (leave, come, wait) in families {
        // The first task has a receiver and no sender. An earlier version of the search missed this order: the last
        // receiver is dropped, the waiting task continues, and then a new receiver appears.
        let waits = vec![AnyAct::Channel(leave), AnyAct::Channel(wait)];
        let mut comes = vec![AnyAct::Channel(leave), AnyAct::Pause, AnyAct::Channel(come)];
        comes.extend([AnyAct::Pause, AnyAct::Channel(leave)]);
        for [second, third] in [[&waits, &comes], [&comes, &waits]] {
            let acts = vec![vec![], vec![], second.clone(), third.clone()];
            tally.compare(&Program::new(acts, 3, 3), 20_000);
        }
    }
    assert_eq!(tally.programs, 4);
}
