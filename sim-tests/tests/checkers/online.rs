//! The online checker. The checker must decide at the same event as brute force, its evidence must be true, and its
//! memory must not grow with the stream.

use std::hash::Hash;

use sim::check::Model;
use sim::check::datum::Datum;
use sim::check::models::*;
use sim::check::online::{ClientEvent, MalformedEventKind, Online, OnlineStatus};
use sim::check::verdict::Verdict;
use sim_tests::every_model;
use sim_tests::histories::{Draw, every, long, random};
use sim_tests::odd_models::{Exchange, ExchangeOp};
use sim_tests::online::agree;
use sim_tests::streams::{events, with_ends};

#[test]
fn all_short_streams_are_decided_at_the_right_event() {
    fn fact<M: RegisteredModel>() {
        for count in 0..=if long() { 4 } else { 3 } {
            let letters = if count < 3 || long() { 100 } else { 4 };
            let mut verdicts = [0u32; 2];
            every::<M>(count, 3, letters, |history| {
                verdicts[usize::from(agree(&M::initial(), &events::<M>(history)))] += 1;
            });
            println!("{}: {count} operations, [violated, possible] = {verdicts:?}", M::NAME);
            assert!(count == 0 || verdicts.iter().all(|count| *count > 0));
        }
    }
    every_model!(fact, Pool, Exchange);
}

#[test]
fn random_streams_are_decided_at_the_right_event() {
    fn fact<M: RegisteredModel>() {
        let mut draw = Draw(7);
        let (cases, longest) = if long() { (130_000, 9) } else { (120, 7) };
        for _ in 0..cases {
            let (count, clients) = (1 + draw.below(longest), 1 + draw.below(4));
            let (pending_one_in, lies) = (1 + draw.below(8), draw.below(3));
            let history = random::<M>(&mut draw, count, clients, pending_one_in, lies);
            agree(&M::initial(), &with_ends::<M>(&history, &mut draw));
        }
    }
    every_model!(fact, Pool, Exchange);
}

#[test]
fn all_is_the_same_on_any_number_of_threads() {
    let mut draw = Draw(3);
    let (mut most, mut violated, mut unknown) = (0, 0, 0);
    for _ in 0..if long() { 1_000 } else { 12 } {
        let (count, clients, lies) = (10 + draw.below(15), 3 + draw.below(4), draw.below(3));
        let history = random::<Queue>(&mut draw, count, clients, 30, lies);
        let mut whole = Online::new(Queue::initial()).limit(400);
        let mut threads = Online::new(Queue::initial()).limit(400).threads(3);
        for event in with_ends::<Queue>(&history, &mut draw) {
            let status = whole.feed(event.clone()).unwrap();
            assert_eq!(status, threads.feed(event).unwrap());
            assert_eq!(whole.possibilities(), threads.possibilities());
            assert_eq!(whole.evidence(), threads.evidence());
            most = most.max(whole.possibilities());
        }
        match whole.status() {
            OnlineStatus::Possible => {}
            OnlineStatus::Violated => violated += 1,
            OnlineStatus::Unknown => unknown += 1,
        }
        assert_eq!(whole.finish(), threads.finish());
    }
    assert!(most > 100, "only then do threads have anything to share; the most were {most}");
    println!("at most {most} possibilities, {violated} violated, {unknown} unknown");
    assert!(violated > 0 && unknown > 0, "{violated}, {unknown}");
}

#[test]
fn what_is_kept_does_not_grow_with_the_stream() {
    let mut draw = Draw(5);
    let mut online = Online::new(CasRegister::new(0));
    let mut state = CasRegister::new(0);
    let mut open: [Option<(CasRegisterOp, Option<CasRegisterRet>)>; 3] = Default::default();
    let (mut kept, mut possibilities) = ([0; 2], [0; 2]);
    let count = if long() { 2_000_000 } else { 40_000 };
    for number in 0..count {
        let client = draw.below(3);
        // Some calls are lost. If a lost call took effect, all other clients see the effect soon.
        let event = match open[client].take() {
            None => {
                let op = match draw.below(3) {
                    0 => CasRegisterOp::Write(draw.below(5) as u64),
                    1 => CasRegisterOp::Cas(draw.below(5) as u64, draw.below(5) as u64),
                    _ => CasRegisterOp::Read,
                };
                open[client] = Some((op.clone(), None));
                ClientEvent::Invoke { client: client as u32, op }
            }
            Some(_) if draw.below(60_000) == 0 => ClientEvent::Lost { client: client as u32 },
            Some((op, None)) => {
                let ret = state.step(&op);
                open[client] = Some((op, Some(ret)));
                continue;
            }
            Some((_, Some(ret))) => ClientEvent::Return { client: client as u32, ret },
        };
        assert_eq!(online.feed(event), Ok(OnlineStatus::Possible), "event {number}");
        assert!(online.open() <= 3);
        let half = usize::from(number > count / 2);
        // Lost calls are forgotten when they are known to have taken effect, and some never did.
        kept[half] = kept[half].max(online.kept());
        possibilities[half] = possibilities[half].max(online.possibilities());
    }
    println!("kept {kept:?}, possibilities {possibilities:?}");
    assert!(kept[1] < kept[0] + 500, "{kept:?}");
    assert!(possibilities.iter().all(|most| *most < 2000), "{possibilities:?}");
    assert!(online.finish().is_consistent());
}

#[test]
fn after_many_events_little_is_kept_and_a_violation_is_shown_by_the_last_few() {
    let items = if long() { 250_000 } else { 8_000 };
    let mut online = Online::new(Queue::<u64>::new());
    for item in 0..items {
        let _ = feed(&mut online, 0, QueueOp::Enqueue(item), QueueRet::Done);
        let _ = feed(&mut online, 1, QueueOp::Dequeue, QueueRet::Item(Some(item)));
        assert_eq!((online.possibilities(), online.open()), (1, 0));
        assert!(online.kept() < 1100, "{}", online.kept());
    }
    let _ = feed(&mut online, 0, QueueOp::Enqueue(7), QueueRet::Done);
    assert_eq!(
        feed(&mut online, 1, QueueOp::Dequeue, QueueRet::Item(None)),
        OnlineStatus::Violated
    );
    let evidence = online.evidence().unwrap();
    let misfit = 2 * items as usize + 1;
    assert_eq!(evidence.misfit, misfit);
    assert_eq!(evidence.expected, ["Some(7)"]);
    assert_eq!(evidence.state, "[7]");
    let last: Vec<usize> = (misfit - 32..misfit).collect();
    assert_eq!(evidence.partial, [last]);
    assert_eq!(online.decided_at(), Some(2 * misfit as u64 + 1));
}

#[test]
fn after_unknown_no_violation_is_claimed() {
    let mut online = Online::new(Stack::<u64>::new()).limit(20);
    for client in 0..8 {
        let op = StackOp::Push(client.into());
        assert_eq!(online.feed(ClientEvent::Invoke { client, op }), Ok(OnlineStatus::Possible));
    }
    let status = online.feed(ClientEvent::Return { client: 0, ret: StackRet::Done });
    assert_eq!(status, Ok(OnlineStatus::Unknown));
    // No client pushed the item 99.
    assert_eq!(
        feed(&mut online, 9, StackOp::Pop, StackRet::Item(Some(99))),
        OnlineStatus::Unknown,
        "a wrong result later is not claimed to be the first"
    );
    assert_eq!((online.decided_at(), online.evidence()), (Some(8), None));
    let Verdict::Unknown(exhausted) = online.finish() else { panic!() };
    assert!(exhausted.nodes > 20 && exhausted.operations == 9, "{exhausted:?}");
}

#[test]
fn a_misfed_event_is_refused_with_its_place_and_changes_nothing() {
    let mut online = Online::new(Register::new(0u64));
    let refused = |online: &mut Online<Register>, event| {
        let before = (online.possibilities(), online.open(), online.kept(), online.status());
        let error = online.feed(event).unwrap_err();
        assert_eq!((online.possibilities(), online.open(), online.kept(), online.status()), before);
        assert_eq!(error.event + 1, online.events());
        assert!(error.to_string().contains(&format!("client {}", error.client)), "{error}");
        error.kind
    };
    use {ClientEvent::*, MalformedEventKind::*, RegisterOp::*, RegisterRet::*};
    assert_eq!(refused(&mut online, Return { client: 0, ret: Done }), NothingOpen);
    assert_eq!(refused(&mut online, Lost { client: 0 }), NothingOpen);
    assert_eq!(refused(&mut online, Failed { client: 0 }), NothingOpen);
    let _ = online.feed(Invoke { client: 0, op: Write(1) });
    let kind = refused(&mut online, Invoke { client: 0, op: Read });
    assert_eq!(kind, AlreadyOpen { operation: 0 });
    assert_eq!(online.feed(End { client: 0 }), Ok(OnlineStatus::Possible));
    assert_eq!(refused(&mut online, Invoke { client: 0, op: Read }), Ended);
    assert_eq!(refused(&mut online, End { client: 0 }), Ended);
    // The lost write may still take effect. The write takes effect between the first two reads, so the third read is
    // wrong.
    assert_eq!(feed(&mut online, 1, Read, Value(0)), OnlineStatus::Possible);
    assert_eq!(feed(&mut online, 1, Read, Value(1)), OnlineStatus::Possible);
    assert_eq!(feed(&mut online, 1, Read, Value(0)), OnlineStatus::Violated);
}

#[test]
fn by_key_an_operation_without_a_key_is_refused() {
    let mut online = Online::by_key(Half(0));
    assert_eq!(feed(&mut online, 0, Some(1), 1), OnlineStatus::Possible);
    let error = online.feed(ClientEvent::Invoke { client: 0, op: None }).unwrap_err();
    assert_eq!(error.kind, MalformedEventKind::NoKey);
    assert!(error.to_string().contains("Online::new"), "{error}");
    let mut online = Online::new(Half(0));
    assert_eq!(feed(&mut online, 0, Some(1), 1), OnlineStatus::Possible);
    assert_eq!(feed(&mut online, 0, None, 1), OnlineStatus::Possible);
}

#[test]
fn a_failed_write_that_was_read_is_a_violation_when_it_fails() {
    let mut online = Online::new(Register::new(0u64));
    let write = ClientEvent::Invoke { client: 0, op: RegisterOp::Write(1) };
    assert_eq!(online.feed(write), Ok(OnlineStatus::Possible));
    let read = feed(&mut online, 1, RegisterOp::Read, RegisterRet::Value(1));
    assert_eq!(read, OnlineStatus::Possible);
    assert_eq!(online.feed(ClientEvent::Failed { client: 0 }), Ok(OnlineStatus::Violated));
    let evidence = online.evidence().unwrap();
    assert_eq!((evidence.misfit, &evidence.partial[..]), (0, &[vec![0, 1]][..]));
    let anomaly = evidence.anomaly.as_ref().unwrap();
    assert_eq!(anomaly.name, "aborted read");
    assert!(anomaly.text.starts_with("`Write(1)` did not happen"), "{}", anomaly.text);
}

#[test]
fn a_result_may_show_another_effect_than_the_pending_call() {
    use ClientEvent::{Invoke, Return};
    use ExchangeOp::{CompareExchange, Read, Swap, Write};
    type Event = ClientEvent<ExchangeOp, Result<u8, u8>>;
    let possible = |events: &[Event]| agree(&Exchange::initial(), events);
    // The write of 1 never returns. The exchange found 1, so nothing wrote the 2 that the read returned.
    let failed: [Event; 4] = [
        Invoke { client: 0, op: Read },
        Invoke { client: 1, op: CompareExchange(0, 2) },
        Invoke { client: 2, op: Write(1) },
        Return { client: 1, ret: Err(1) },
    ];
    let with_read = |ret| [&failed[..], &[Return { client: 0, ret }]].concat();
    assert!(possible(&with_read(Ok(1))));
    assert!(!possible(&with_read(Ok(2))));
    // A pending swap could replace any value, but its result names the value.
    let call = |op, ret: u8| -> [Event; 2] {
        [Invoke { client: 0, op }, Return { client: 0, ret: Ok(ret) }]
    };
    assert!(possible(&[call(Write(1), 1), call(Swap(3), 1)].concat()));
    assert!(!possible(&[call(Write(1), 1), call(Swap(3), 0)].concat()));
    // A write returns the value that it wrote.
    assert!(possible(&call(Write(1), 1)));
    assert!(!possible(&call(Write(1), 0)));
}

#[test]
fn what_was_settled_by_others_is_what_a_late_result_should_have_been() {
    // 1 was removed although 0 was added first, so the open dequeue must have taken 0.
    let mut online = Online::new(Queue::<u64>::new());
    for item in 0..2 {
        let _ = feed(&mut online, 0, QueueOp::Enqueue(item), QueueRet::Done);
    }
    let _ = online.feed(ClientEvent::Invoke { client: 1, op: QueueOp::Dequeue });
    let _ = feed(&mut online, 2, QueueOp::Dequeue, QueueRet::Item(Some(1)));
    let status = online.feed(ClientEvent::Return { client: 1, ret: QueueRet::Item(None) });
    assert_eq!(status, Ok(OnlineStatus::Violated));
    let evidence = online.evidence().unwrap();
    assert_eq!((evidence.misfit, &evidence.expected[..]), (2, &["Some(0)".to_owned()][..]));
    assert_eq!(evidence.partial, [[0, 1, 2, 3]]);
}

/// Feeds a call and its return, without an overlapping call.
fn feed<M: Model>(online: &mut Online<M>, client: u32, op: M::Op, ret: M::Ret) -> OnlineStatus {
    let _ = online.feed(ClientEvent::Invoke { client, op }).unwrap();
    online.feed(ClientEvent::Return { client, ret }).unwrap()
}

/// A nondeterministic model: takes out any of the items, each there at most once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Pool(u8);

#[derive(Clone, PartialEq, Debug)]
enum PoolOp {
    Put(u8),
    Take,
}

impl Model for Pool {
    type Op = PoolOp;
    type Ret = Option<u8>;

    fn step(&mut self, op: &PoolOp) -> Option<u8> {
        match op {
            PoolOp::Put(item) => self.0 |= 1 << item,
            PoolOp::Take if self.0 == 0 => {}
            PoolOp::Take => {
                let item = self.0.trailing_zeros();
                self.0 &= self.0 - 1;
                return Some(item as u8);
            }
        }
        None
    }

    fn observes(op: &PoolOp, ret: &Option<u8>) -> bool {
        *op == PoolOp::Take && ret.is_none()
    }

    fn successors(&self, op: &PoolOp, ret: Option<&Option<u8>>, out: &mut Vec<Self>) {
        for item in self.returns(op) {
            if ret.is_none_or(|ret| *ret == item) {
                out.push(match (op, item) {
                    (PoolOp::Put(item), _) => Pool(self.0 | 1 << item),
                    (PoolOp::Take, Some(item)) => Pool(self.0 & !(1 << item)),
                    (PoolOp::Take, None) => self.clone(),
                });
            }
        }
    }

    fn returns(&self, op: &PoolOp) -> Vec<Option<u8>> {
        match op {
            PoolOp::Take if self.0 != 0 => {
                (0..8).filter(|item| self.0 & 1 << item != 0).map(Some).collect()
            }
            _ => vec![None],
        }
    }
}

impl RegisteredModel for Pool {
    const NAME: &'static str = "pool";
    const SUMMARY: &'static str = "nondeterministic";

    fn initial() -> Self {
        Pool(0)
    }

    fn alphabet() -> Vec<(PoolOp, Vec<Option<u8>>)> {
        vec![
            (PoolOp::Put(1), vec![None]),
            (PoolOp::Put(2), vec![None]),
            (PoolOp::Take, vec![None, Some(1), Some(2)]),
        ]
    }

    // The model has no format in files.
    type Recorded = Pool;
    const CALLS: &'static [&'static str] = &[];
    const SAMPLES: &'static [sim::check::models::FileSample] = &[];

    fn recorded(_: Option<&Datum>) -> Result<Pool, String> {
        Ok(Pool(0))
    }

    fn call(f: &str, _: &Datum) -> Result<PoolOp, String> {
        Err(format!("a pool has no {f}"))
    }

    fn outcome(_: &PoolOp, _: &Datum, _: NilRead) -> Result<Option<Option<u8>>, String> {
        Err("a pool is not recorded".to_owned())
    }
}

/// A number whose operations add to it. Operations are partitioned by key if they name an amount.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Half(i64);

impl Model for Half {
    type Op = Option<i64>;
    type Ret = i64;

    fn step(&mut self, op: &Option<i64>) -> i64 {
        self.0 += op.unwrap_or(0);
        self.0
    }

    fn partition(op: &Option<i64>) -> Option<sim::check::Key> {
        op.map(|amount| sim::check::Key::of(&amount))
    }
}
