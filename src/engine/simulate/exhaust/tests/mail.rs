//! Programs over the channels of tokio, and the diamond test on them.

use super::act::Act as AnyAct;
use super::channels::Act;
use super::effort;
use super::program::Program;
use crate::run::op::kind::{Kind, faults};
use crate::run::op::of_tokio::{mail, ring, version};
use crate::run::rng::Rng;

/// Acts, some of them more often than others.
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

/// A program of so many tasks at most, with so many acts each at most.
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
        let found = super::diamond::diamonds_of(effort().0, |rng| generate(rng, acts, (3, 3)));
        println!("{name}: {} pairs", found.pairs);
        assert_eq!(found.broken, None, "{name}");
        assert!(found.pairs > 200, "{name}: {}", found.pairs);
    }
}

#[test]
fn a_relation_of_channels_that_is_not_declared_is_found() {
    let faults: [(&str, (Kind, Kind), Acts); 14] = [
        ("push, push", (mail::PUSH, mail::PUSH), MESSAGES),
        ("push, miss", (mail::PUSH, mail::MISS), MESSAGES),
        ("push, close", (mail::PUSH, mail::CLOSE), MESSAGES),
        ("push, pop", (mail::PUSH, mail::POP), MESSAGES),
        ("drop, miss", (mail::DROP, mail::MISS), MESSAGES),
        ("ask, ask", (mail::ASK, mail::ASK), ROOM),
        ("ask, leave", (mail::ASK, mail::LEAVE), ROOM),
        ("drop, upgrade", (mail::DROP, mail::UPGRADE), COUNTS),
        ("send, send", (ring::SEND, ring::SEND), BROADCAST),
        ("send, read", (ring::SEND, ring::READ), BROADCAST),
        ("send, subscribe", (ring::SEND, ring::SUBSCRIBE), BROADCAST),
        ("send, look", (version::SEND, version::LOOK), WATCH),
        ("drop, look", (version::DROP, version::LOOK), WATCH),
        ("send, drop receiver", (version::SEND, version::DROP_RECEIVER), WATCH),
    ];
    for (name, pair, acts) in faults {
        let generate = |rng: &mut Rng| generate(rng, acts, (3, 3));
        let found = faults::without(pair, || super::diamond::diamonds_of(4_000, generate));
        assert!(found.broken.is_some(), "{name}: not found in {} pairs", found.pairs);
    }
}
