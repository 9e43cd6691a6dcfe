//! The chain of versions. At every event, its verdict must equal the verdicts of brute force and of the general
//! engines. Each violation must have its name, and memory must stay flat.

use sim::check::chain::{Chain, ChainEvent, check};
use sim::check::models::{
    RegisteredModel, VersionedRegister, VersionedRegisterOp, VersionedRegisterRet,
};
use sim::check::online::{ClientEvent, MalformedEventKind, Online, OnlineStatus};
use sim::check::verdict::{Evidence, Verdict};
use sim_tests::histories::{Draw, every, long};
use sim_tests::judge;
use sim_tests::streams::{Events, events, told};

use ClientEvent::{End, Failed, Invoke, Lost, Return};
use VersionedRegisterOp::{Read, Update};
use VersionedRegisterRet::{Updated, Version};

#[test]
fn all_short_histories_with_ids_are_decided_at_the_right_event() {
    for count in 0..=if long() { 5 } else { 3 } {
        let mut verdicts = [0u32; 2];
        every::<VersionedRegister>(count, 3, 100, |history| {
            let mut ids: Vec<u64> = history.iter().filter_map(|call| written(&call.op)).collect();
            ids.sort_unstable();
            if ids.windows(2).all(|pair| pair[0] != pair[1]) {
                verdicts[usize::from(agree(&events::<VersionedRegister>(history)))] += 1;
            }
        });
        println!("{count} operations, [violated, possible] = {verdicts:?}");
        assert!(count == 0 || verdicts.iter().all(|count| *count > 0));
    }
}

#[test]
fn random_streams_are_decided_at_the_right_event() {
    let mut draw = Draw(11);
    let mut verdicts = [0u32; 2];
    let streams = if long() { 1_000_000 } else { 800 };
    for _ in 0..streams {
        let (count, clients, lies) = (1 + draw.below(9), 1 + draw.below(4), draw.below(3));
        verdicts[usize::from(agree(&random(&mut draw, count, clients, lies)))] += 1;
    }
    println!("[violated, possible] = {verdicts:?}");
    assert!(verdicts.iter().all(|count| *count > streams / 10), "{verdicts:?}");
}

#[test]
fn long_streams_get_the_verdict_of_the_general_engine() {
    let mut draw = Draw(12);
    let mut violated = 0;
    let streams = if long() { 10_000 } else { 70 };
    for _ in 0..streams {
        let (clients, lies) = (2 + draw.below(4), draw.below(2));
        let events = random(&mut draw, 200, clients, lies);
        let mut online = Online::new(VersionedRegister::new(0));
        let mut chain = Chain::new(0);
        for event in &events {
            assert_eq!(chain.feed(event.clone()), online.feed(event.clone()));
            assert_eq!(chain.decided_at(), online.decided_at());
        }
        violated += u32::from(online.evidence().is_some());
    }
    assert!(violated > streams / 8, "{violated}");
}

#[test]
fn over_many_events_memory_stays_flat() {
    // Updates are lost all along, and in the first half a read is open.
    let mut chain = Chain::new(0);
    let _ = chain.feed(Invoke { client: 9, op: Read });
    let count = if long() { 300_000u64 } else { 40_000 };
    let mut most = 0;
    for version in 1..=count {
        update(&mut chain, version - 1, version);
        assert_eq!(read(&mut chain, version), OnlineStatus::Possible);
        if version % 10 == 0 {
            // This update loses against the next update.
            let op = Update { from: version, to: count + version };
            let _ = chain.feed(Invoke { client: 2, op });
            let _ = chain.feed(Lost { client: 2 });
        }
        if version == count / 2 {
            assert!(chain.kept() as u64 > count / 2, "the open read may return any of them");
            let status = chain.feed(Return { client: 9, ret: Version(1) });
            assert_eq!(status, Ok(OnlineStatus::Possible));
        }
        if version > count * 3 / 4 {
            most = most.max(chain.kept());
        }
    }
    println!("{} events, {most} versions kept", chain.events());
    assert!(chain.events() > 4 * count);
    assert!(most <= 1024 + 2, "{most}");
    assert_eq!(chain.last(), &count);
    assert_eq!(read(&mut chain, count - 3), OnlineStatus::Violated);
    assert_eq!(anomaly(&chain), "stale read");
    assert_eq!(chain.evidence().unwrap().expected, [count.to_string()]);
}

#[test]
fn a_stale_read_is_shown_with_the_chain_that_was_known() {
    let mut chain = Chain::new(0u64);
    for version in 0..9 {
        update(&mut chain, version, version + 1);
    }
    assert_eq!(read(&mut chain, 1), OnlineStatus::Violated);
    let Evidence { anomaly, misfit, expected, part, state, .. } = chain.evidence().unwrap();
    let anomaly = anomaly.as_ref().unwrap();
    assert_eq!(
        anomaly.text,
        "Operation 9 read version 1. When it was invoked, the chain 1 → (2 more) → 4 → 5 → 6 → 7 → \
         8 → 9 was known already by operation 8, 8 versions newer."
    );
    let edges: Vec<_> = anomaly.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    assert_eq!(edges, [(9, 1), (1, 9)], "operation 1 replaced version 1 by 2");
    assert_eq!((*misfit, &part[..], &state[..]), (9, &[1, 9][..], "9"));
    assert_eq!(expected, &["9"]);
}

#[test]
fn each_violation_has_its_name() {
    let begin = |client, from, to| Invoke { client, op: Update { from, to } };
    let done = |client, done| Return { client, ret: Updated(done) };
    let look = |client| Invoke { client, op: Read };
    let saw = |client, id| Return { client, ret: Version(id) };
    let name = |events: &[ChainEvent]| {
        agree(events);
        let mut chain = Chain::new(0);
        let feed = events.iter().map(|event| chain.feed(event.clone()).unwrap());
        assert_eq!(feed.last(), Some(OnlineStatus::Violated));
        anomaly(&chain)
    };
    let lost = [begin(0, 0, 1), begin(1, 0, 2), done(0, true), done(1, true)];
    assert_eq!(name(&lost), "lost update");
    assert_eq!(name(&[begin(0, 0, 1), look(1), saw(1, 1), done(0, false)]), "aborted read");
    assert_eq!(name(&[look(1), saw(1, 5)]), "unknown version");
    assert_eq!(name(&[begin(0, 4, 5), look(1), saw(1, 5)]), "unknown predecessor");
    assert_eq!(name(&[look(1), saw(1, 5), begin(0, 0, 5)]), "future read");
    let circle = [begin(0, 1, 2), begin(1, 2, 1), done(0, true)];
    assert_eq!(name(&circle), "circular updates");
    let late = [begin(0, 0, 1), look(1), saw(1, 1), look(2), look(1), saw(1, 0), saw(2, 1)];
    assert_eq!(name(&late), "stale read");
}

#[test]
fn an_open_read_may_return_what_was_replaced_meanwhile() {
    let mut chain = Chain::new(0u64);
    let _ = chain.feed(Invoke { client: 5, op: Read });
    for version in 0..5000 {
        update(&mut chain, version, version + 1);
    }
    assert_eq!(chain.feed(Return { client: 5, ret: Version(0) }), Ok(OnlineStatus::Possible));
    // The old versions are no longer possible. A read of an old version is a violation, and the checker cannot know
    // which of two kinds it is.
    for version in 5000..9000 {
        update(&mut chain, version, version + 1);
    }
    assert!(chain.kept() <= 1025, "{}", chain.kept());
    assert_eq!(read(&mut chain, 3), OnlineStatus::Violated);
    assert_eq!(anomaly(&chain), "unknown version");
    let text = &chain.evidence().unwrap().anomaly.as_ref().unwrap().text;
    assert!(text.contains("never written") && text.contains("or it is older"), "{text}");
}

#[test]
fn a_malformed_event_is_refused_with_its_place_and_changes_nothing() {
    let mut chain = Chain::new(0u64);
    let refused = |chain: &mut Chain, event| {
        let before = (chain.kept(), chain.open());
        let error = chain.feed(event).unwrap_err();
        assert_eq!((chain.kept(), chain.open()), before);
        assert_eq!(error.event + 1, chain.events());
        error.kind
    };
    use MalformedEventKind::*;
    assert_eq!(refused(&mut chain, Return { client: 0, ret: Version(0) }), NothingOpen);
    let unique = |id: u64| IdNotUnique { id: id.to_string() };
    for to in [0, 7] {
        assert_eq!(
            refused(&mut chain, Invoke { client: 0, op: Update { from: 7, to } }),
            unique(to)
        );
    }
    let _ = chain.feed(Invoke { client: 0, op: Update { from: 0, to: 1 } });
    let again = Invoke { client: 1, op: Update { from: 0, to: 1 } };
    assert_eq!(refused(&mut chain, again), unique(1));
    assert_eq!(refused(&mut chain, Return { client: 0, ret: Version(1) }), WrongResult);
    assert_eq!(refused(&mut chain, Invoke { client: 0, op: Read }), AlreadyOpen { operation: 0 });
    let _ = chain.feed(End { client: 0 });
    assert_eq!(refused(&mut chain, End { client: 0 }), Ended);
    let error = chain.feed(Return { client: 4, ret: Updated(true) }).unwrap_err();
    assert!(error.to_string().starts_with("event 9: client 4 has no call open"), "{error}");
    // The lost update may still happen.
    assert_eq!(
        (read(&mut chain, 0), read(&mut chain, 1)),
        (OnlineStatus::Possible, OnlineStatus::Possible)
    );
}

#[test]
fn a_lost_update_can_follow_a_second_update_that_writes_the_version_of_a_failed_one() {
    let begin = |client, from, to| Invoke { client, op: Update { from, to } };
    let read: [ChainEvent; 2] =
        [Invoke { client: 2, op: Read }, Return { client: 2, ret: Version(8) }];
    // The second update names version 7 while the first is pending, and is lost.
    let lost: [ChainEvent; 3] = [begin(0, 0, 7), begin(1, 7, 8), Lost { client: 1 }];
    for failed in [Failed { client: 0 }, Return { client: 0, ret: Updated(false) }] {
        let once = [&lost[..], &[failed][..]].concat();
        assert!(!agree(&[&once[..], &read[..]].concat()), "version 7 never existed");
        let again = [begin(0, 0, 7), Return { client: 0, ret: Updated(true) }];
        assert!(agree(&[&once[..], &again[..], &read[..]].concat()));
    }
}

fn anomaly(chain: &Chain) -> String {
    chain.evidence().unwrap().anomaly.as_ref().unwrap().name.clone()
}

fn update(chain: &mut Chain, from: u64, to: u64) {
    assert_eq!(
        chain.feed(Invoke { client: 0, op: Update { from, to } }),
        Ok(OnlineStatus::Possible)
    );
    assert_eq!(chain.feed(Return { client: 0, ret: Updated(true) }), Ok(OnlineStatus::Possible));
}

fn read(chain: &mut Chain, id: u64) -> OnlineStatus {
    assert_eq!(chain.feed(Invoke { client: 1, op: Read }), Ok(OnlineStatus::Possible));
    chain.feed(Return { client: 1, ret: Version(id) }).unwrap()
}

fn written(op: &VersionedRegisterOp) -> Option<u64> {
    match op {
        Update { to, .. } => Some(*to),
        Read => None,
    }
}

/// Returns `true` if the stream is linearizable. Checks that the chain agrees and decided at the
/// right event, online and offline, and that the edges of its evidence form a cycle.
fn agree(events: &[ChainEvent]) -> bool {
    let initial = VersionedRegister::initial();
    let explicable =
        |events: &[ChainEvent]| judge::explicable(&initial, &told::<VersionedRegister>(events).0);
    let expected = explicable(events);
    let mut chain = Chain::new(0);
    let mut online = Online::new(initial.clone());
    for (number, event) in events.iter().enumerate() {
        assert_eq!(chain.feed(event.clone()), online.feed(event.clone()), "{events:#?}");
        if chain.decided_at() == Some(number as u64) {
            assert!(explicable(&events[..number]), "too late: {events:#?}");
            assert!(!explicable(&events[..=number]), "too early: {events:#?}");
            let anomaly = chain.evidence().unwrap().anomaly.as_ref().unwrap();
            for (at, edge) in anomaly.edges.iter().enumerate() {
                let next = &anomaly.edges[(at + 1) % anomaly.edges.len()];
                assert!(
                    edge.to == next.from || anomaly.name == "aborted read",
                    "{anomaly:#?}\n{events:#?}"
                );
            }
        }
    }
    let verdict = chain.finish();
    assert_eq!(verdict.is_consistent(), expected, "{events:#?}");
    assert!(verdict.is_consistent() || matches!(verdict, Verdict::Violated(_)));
    assert_eq!(check(0, events.iter().cloned()), Ok(verdict));
    expected
}

/// Returns a possible history of the clients of a store, with `lies` results replaced. An update builds on the last
/// version, an old version or a future version; some calls are lost, fail or are cut off. Some ids of failed updates
/// are used again.
pub(super) fn random(
    draw: &mut Draw,
    count: usize,
    clients: usize,
    lies: usize,
) -> Events<VersionedRegister> {
    let (mut state, mut next) = (0u64, 1u64);
    let mut open: Vec<Option<(VersionedRegisterOp, Option<VersionedRegisterRet>)>> =
        vec![None; clients];
    let (mut events, mut failed) = (Vec::new(), Vec::new());
    let mut calls = 0;
    while calls < count || open.iter().any(Option::is_some) {
        let slot = draw.below(clients);
        let client = slot as u32;
        open[slot] = match open[slot].take() {
            None if calls == count => None,
            None => {
                calls += 1;
                let op = match draw.below(2) {
                    0 => Read,
                    _ => {
                        let known = if draw.below(2) == 0 { failed.pop() } else { None };
                        let to = known.unwrap_or(next);
                        next = next.max(to + 1);
                        let near = (state + 2).saturating_sub(draw.below(4) as u64);
                        let from = if draw.below(3) == 0 { near } else { state };
                        Update { from: from.min(next - 1), to }
                    }
                };
                let op = match op {
                    Update { from, to } if from == to => Update { from: to + 1, to },
                    op => op,
                };
                events.push(Invoke { client, op: op.clone() });
                Some((op, None))
            }
            Some((op, None)) => match draw.below(12) {
                0 => {
                    events.push(Failed { client });
                    failed.extend(written(&op));
                    None
                }
                chance => {
                    let ret = match op {
                        Read => Version(state),
                        Update { from, to } if from == state => {
                            state = to;
                            Updated(true)
                        }
                        Update { .. } => Updated(false),
                    };
                    if chance == 1 {
                        events.push(Lost { client });
                    }
                    (chance != 1).then_some((op, Some(ret)))
                }
            },
            Some((_, Some(ret))) => {
                events.push(Return { client, ret });
                None
            }
        };
    }
    for _ in 0..lies {
        let at = draw.below(events.len());
        match &mut events[at] {
            Return { ret: Version(id), .. } => *id = draw.below(next as usize + 1) as u64,
            Return { ret: Updated(done), .. } => *done = !*done,
            _ => {}
        }
    }
    events
}
