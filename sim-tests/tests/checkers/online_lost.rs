//! The online checker when calls are lost. A Jepsen-like load on a register stays cheap for any
//! number of lost calls. Verdicts on short streams with many lost calls agree with brute force. A
//! stream that costs too much is soon `Unknown`.
//!
//! `UNPAUSE_LONG=1` compares 100,000 streams of each kind with brute force.

use sim::check::Model;
use sim::check::models::*;
use sim::check::online::{ClientEvent, Online, OnlineStatus};
use sim_tests::histories::{Draw, long};
use sim_tests::online::agree;
use sim_tests::streams::Events;

/// The kinds of calls and of faults, each in percent.
#[derive(Clone, Copy, Debug)]
struct Load {
    clients: usize,
    swaps: usize,
    lost: usize,
    /// The number of writes that repeat an earlier value.
    repeated: usize,
    /// A read returns any value, or a swap the opposite.
    lies: usize,
    /// A call fails although it may have taken effect.
    failed: usize,
    /// The number of values that count as written from the beginning.
    values: usize,
}

const JEPSEN: Load =
    Load { clients: 16, swaps: 0, lost: 5, repeated: 0, lies: 0, failed: 0, values: 0 };

type Call = (CasRegisterOp, Option<CasRegisterRet>);

/// Returns a stream of `count` events of clients of a register. Each call takes effect at a moment between its
/// invocation and its return.
fn stream(draw: &mut Draw, load: Load, count: usize) -> Events<CasRegister> {
    let mut state = CasRegister::new(0);
    let mut open: Vec<Option<Call>> = vec![None; load.clients];
    let mut names: Vec<u32> = (0..load.clients as u32).collect();
    let (mut last_name, mut unique, mut seen) = (load.clients as u32, load.values as u64, 0);
    let mut events = Vec::new();
    while events.len() < count {
        let slot = draw.below(load.clients);
        let client = names[slot];
        let percent = draw.below(100);
        let mut value = |draw: &mut Draw| {
            if draw.below(100) < load.repeated {
                return draw.below(unique as usize + 1) as u64;
            }
            unique += 1;
            unique
        };
        match open[slot].take() {
            None => {
                let op = match draw.below(100) {
                    kind if kind < load.swaps => CasRegisterOp::Cas(seen, value(draw)),
                    kind if kind % 2 == 0 => CasRegisterOp::Write(value(draw)),
                    _ => CasRegisterOp::Read,
                };
                open[slot] = Some((op.clone(), None));
                events.push(ClientEvent::Invoke { client, op });
            }
            Some((op, ret)) if percent < load.lost => {
                if ret.is_none() && draw.below(2) == 0 {
                    let _ = state.step(&op);
                }
                if draw.below(2) == 0 {
                    events.push(ClientEvent::Lost { client });
                } else {
                    events.push(ClientEvent::End { client });
                    names[slot] = last_name;
                    last_name += 1;
                }
            }
            Some((_, None)) if percent < load.lost + load.failed => {
                events.push(ClientEvent::Failed { client });
            }
            Some((op, None)) => {
                let mut ret = state.step(&op);
                if let CasRegisterRet::Value(value) = &mut ret {
                    if draw.below(100) < load.lies {
                        *value = draw.below(unique as usize + 2) as u64;
                    }
                    seen = *value;
                }
                if let CasRegisterRet::Swapped(swapped) = &mut ret {
                    *swapped ^= draw.below(200) < load.lies;
                }
                open[slot] = Some((op, Some(ret)));
            }
            Some((_, Some(ret))) => events.push(ClientEvent::Return { client, ret }),
        }
    }
    events
}

/// Returns these events as events of a register without swaps.
fn plain(events: Events<CasRegister>) -> Events<Register> {
    let op = |op| match op {
        CasRegisterOp::Write(value) => RegisterOp::Write(value),
        _ => RegisterOp::Read,
    };
    let ret = |ret| match ret {
        CasRegisterRet::Value(value) => RegisterRet::Value(value),
        _ => RegisterRet::Done,
    };
    let event = |event| match event {
        ClientEvent::Invoke { client, op: call } => ClientEvent::Invoke { client, op: op(call) },
        ClientEvent::Return { client, ret: end } => ClientEvent::Return { client, ret: ret(end) },
        ClientEvent::Failed { client } => ClientEvent::Failed { client },
        ClientEvent::Lost { client } => ClientEvent::Lost { client },
        ClientEvent::End { client } => ClientEvent::End { client },
    };
    events.into_iter().map(event).collect()
}

#[test]
fn short_streams_with_many_lost_calls_are_decided_as_by_brute_force() {
    let mut draw = Draw(11);
    let few = Load { clients: 3, swaps: 0, lost: 20, repeated: 0, lies: 40, failed: 4, values: 0 };
    for load in [
        few,
        Load { clients: 5, lost: 40, lies: 20, ..few },
        Load { clients: 2, repeated: 15, ..few },
        Load { swaps: 30, ..few },
        Load { swaps: 60, clients: 4, ..few },
        Load { swaps: 30, repeated: 10, ..few },
        Load { swaps: 50, repeated: 90, ..few },
        Load { swaps: 70, repeated: 95, clients: 4, lost: 35, lies: 20, ..few },
        Load { swaps: 80, repeated: 60, clients: 5, lies: 10, ..few },
        Load { swaps: 60, repeated: 100, values: 2, clients: 4, lost: 30, lies: 10, ..few },
    ] {
        let mut verdicts = [0u32; 2];
        for _ in 0..if long() { 100_000 } else { 250 } {
            let count = 6 + draw.below(13);
            let events = stream(&mut draw, load, count);
            let possible = agree(&CasRegister::new(0), &events);
            verdicts[usize::from(possible)] += 1;
            if load.swaps == 0 {
                assert_eq!(agree(&Register::new(0), &plain(events)), possible);
            }
        }
        println!("[violated, possible] = {verdicts:?}");
        assert!(verdicts.iter().all(|count| *count > 3), "{verdicts:?}");
    }
}

#[test]
fn long_streams_are_decided_as_by_the_search() {
    let mut draw = Draw(23);
    let few = Load { clients: 3, swaps: 0, lost: 6, repeated: 0, lies: 0, failed: 1, values: 0 };
    for load in [
        few,
        Load { clients: 5, lost: 1, ..few },
        Load { repeated: 3, ..few },
        Load { swaps: 30, lost: 3, ..few },
        Load { swaps: 90, clients: 2, lost: 1, ..few },
        Load { swaps: 40, repeated: 95, lost: 1, ..few },
        Load { swaps: 40, repeated: 60, clients: 4, lost: 2, ..few },
    ] {
        let (mut verdicts, mut events_fed, mut unknown) = ([0u32; 2], 0, 0);
        for _ in 0..if long() { 1_000 } else { 8 } {
            let count = 100 + draw.below(200);
            let mut events = stream(&mut draw, load, count);
            // At most one result is wrong, because nothing after a wrong result is checked.
            let reads = |event: &&mut ClientEvent<_, _>| {
                matches!(event, ClientEvent::Return { ret: CasRegisterRet::Value(_), .. })
            };
            let mut after = events.iter_mut().skip(draw.below(2 * count)).filter(reads);
            if let Some(ClientEvent::Return { ret: CasRegisterRet::Value(value), .. }) =
                after.next()
            {
                *value = value.saturating_sub(1 + draw.below(4) as u64);
            }
            let mut online = Online::new(CasRegister::new(0));
            let mut search = Online::new(Searched(CasRegister::new(0))).limit(3_000);
            for event in events {
                let status = search.feed(event.clone()).unwrap();
                let own = online.feed(event).unwrap();
                if status == OnlineStatus::Unknown {
                    break;
                }
                if own == OnlineStatus::Unknown && load.repeated > 0 {
                    unknown += 1;
                    break;
                }
                assert_eq!(own, status, "event {} of {load:?}", online.events());
                events_fed += 1;
            }
            verdicts[usize::from(online.status() == OnlineStatus::Possible)] += 1;
        }
        println!("[violated, possible] = {verdicts:?}, {events_fed} events, {unknown} unknown");
        assert!(verdicts.iter().all(|count| *count > 0), "{verdicts:?}");
        assert!(unknown * 20 < verdicts[0] + verdicts[1], "{unknown} are unknown");
    }
}

#[test]
fn a_register_under_time_outs_stays_cheap() {
    let mut draw = Draw(5);
    let count = if long() { 3_000_000 } else { 30_000 };
    let mut online = Online::new(Register::new(0));
    let events = plain(stream(&mut draw, JEPSEN, count));
    let (mut lost, mut most) = (0, 0);
    for event in events {
        let ends = matches!(event, ClientEvent::Lost { .. } | ClientEvent::End { .. });
        lost += usize::from(ends);
        assert_eq!(online.feed(event), Ok(OnlineStatus::Possible), "event {}", online.events());
        assert_eq!(online.possibilities(), 1);
        // Each lost call may be a write that is read later. Therefore the checker keeps lost calls, also of clients
        // that have ended.
        most = most.max(online.kept() - online.kept().min(3 * lost));
    }
    println!("{lost} lost, at most {most} kept besides");
    assert!(lost > count / 50 && most < 2_000, "{lost}, {most}");
    // This value was overwritten long before.
    let old = RegisterRet::Value(0);
    let _ = online.feed(ClientEvent::Invoke { client: u32::MAX, op: RegisterOp::Read });
    let status = online.feed(ClientEvent::Return { client: u32::MAX, ret: old });
    assert_eq!(status, Ok(OnlineStatus::Violated));
    let evidence = online.evidence().unwrap();
    assert!(evidence.partial[0].len() == 32 && evidence.expected.len() == 1, "{evidence:?}");
}

/// The checker after a stream of `count` events of a register, and the number of swaps that failed.
fn status_of(draw: &mut Draw, load: Load, count: usize) -> (Online<CasRegister>, usize) {
    let mut online = Online::new(CasRegister::new(0));
    let (mut failed, mut lost, mut most) = (0, 0, 0);
    for event in stream(draw, load, count) {
        let ret = CasRegisterRet::Swapped(false);
        failed +=
            usize::from(matches!(&event, ClientEvent::Return { ret: own, .. } if *own == ret));
        lost += usize::from(matches!(event, ClientEvent::Lost { .. } | ClientEvent::End { .. }));
        let status = online.feed(event).unwrap();
        assert_ne!(status, OnlineStatus::Violated, "event {} of {load:?}", online.events());
        most = most.max(online.kept() - online.kept().min(3 * lost));
    }
    assert!(most < 2_000, "{most} are kept besides");
    (online, failed)
}

#[test]
fn failed_swaps_of_unique_values_stay_cheap_under_time_outs() {
    let mut draw = Draw(29);
    let load = Load { swaps: 25, ..JEPSEN };
    let (mut online, failed) = status_of(&mut draw, load, if long() { 1_000_000 } else { 40_000 });
    assert!(failed > 1_000 && online.status() == OnlineStatus::Possible, "{failed} swaps failed");
    let old = CasRegisterRet::Value(0);
    let _ = online.feed(ClientEvent::Invoke { client: u32::MAX, op: CasRegisterOp::Read });
    let status = online.feed(ClientEvent::Return { client: u32::MAX, ret: old });
    assert_eq!(status, Ok(OnlineStatus::Violated));
}

#[test]
fn a_register_of_few_values_is_decided_under_time_outs() {
    // About a hundred calls on each key, as in the tests of Jepsen.
    let mut draw = Draw(31);
    let few = Load { clients: 10, swaps: 33, repeated: 100, values: 4, ..JEPSEN };
    let two = Load { clients: 6, swaps: 100, lost: 20, repeated: 100, values: 1, ..JEPSEN };
    let keys = if long() { 10_000 } else { 60 };
    for load in
        [few, Load { swaps: 60, ..few }, two, Load { clients: 3, ..two }, Load { swaps: 60, ..two }]
    {
        let unknown = (0..keys)
            .filter(|_| status_of(&mut draw, load, 240).0.status() == OnlineStatus::Unknown)
            .count();
        println!("{unknown} of {keys} keys are unknown under {load:?}");
        assert!(unknown * 50 <= keys, "{unknown} of {keys} keys are unknown under {load:?}");
    }
}

#[test]
fn a_lost_write_can_be_read_once_however_late() {
    let mut online = Online::new(Register::new(0));
    for number in 1..=10_000 {
        let op = RegisterOp::Write(number);
        let client = number as u32;
        assert_eq!(online.feed(ClientEvent::Invoke { client, op }), Ok(OnlineStatus::Possible));
        if number % 2 == 0 {
            assert_eq!(online.feed(ClientEvent::End { client }), Ok(OnlineStatus::Possible));
        } else {
            let ret = RegisterRet::Done;
            assert_eq!(
                online.feed(ClientEvent::Return { client, ret }),
                Ok(OnlineStatus::Possible)
            );
        }
    }
    let mut read = |value| {
        let _ = online.feed(ClientEvent::Invoke { client: 0, op: RegisterOp::Read });
        let ret = RegisterRet::Value(value);
        online.feed(ClientEvent::Return { client: 0, ret }).unwrap()
    };
    assert_eq!([4, 4, 10_000, 9_998].map(&mut read), [OnlineStatus::Possible; 4]);
    assert_eq!(read(4), OnlineStatus::Violated);
}

#[test]
fn lost_calls_that_are_too_many_are_unknown_soon() {
    let mut online = Online::new(Queue::<u64>::new()).limit(1_000);
    // Each lost item may be at any position of the queue.
    for number in 0.. {
        let op = QueueOp::Enqueue(number);
        let client = number as u32;
        let _ = online.feed(ClientEvent::Invoke { client, op }).unwrap();
        let event = match number % 2 {
            0 => ClientEvent::End { client },
            _ => ClientEvent::Return { client, ret: QueueRet::Done },
        };
        match online.feed(event).unwrap() {
            OnlineStatus::Possible => assert!(number < 40, "that takes for ever"),
            OnlineStatus::Unknown => break,
            OnlineStatus::Violated => panic!("all of it can have happened"),
        }
    }
    assert!(!online.finish().is_consistent());
}

/// A register that does not declare itself as a register, so only the search checks it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Searched(CasRegister);

impl Model for Searched {
    type Op = CasRegisterOp;
    type Ret = CasRegisterRet;

    fn step(&mut self, op: &CasRegisterOp) -> CasRegisterRet {
        self.0.step(op)
    }

    fn observes(op: &CasRegisterOp, ret: &CasRegisterRet) -> bool {
        CasRegister::<u64>::observes(op, ret)
    }
}
