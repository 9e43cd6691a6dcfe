//! Linearizability by example: legal histories, violations with their reasons, and histories that are refused or
//! undecided.

use std::cell::Cell;

use sim::check::history::Operation;
use sim::check::models::*;
use sim::check::verdict::{Evidence, Exhausted, Verdict};
use sim::check::{
    Budget, Malformed, MalformedKind, Model, linearizable, linearizable_counted,
    linearizable_parallel,
};
use sim_tests::histories::{Draw, long, random};
use sim_tests::judge;

/// An operation, the time of its invocation, and its result with the time of its return.
fn call<O, R>(op: O, invoked: u64, returned: R, end: u64) -> Operation<O, R> {
    Operation { client: 0, op, invoked, returned: Some((returned, end)) }
}

/// An operation that never returned.
fn pending<O, R>(op: O, invoked: u64) -> Operation<O, R> {
    Operation { client: 1, op, invoked, returned: None }
}

/// The verdict, after checking it against the judge.
fn verdict<M: Model>(initial: &M, history: &judge::History<M>) -> Verdict {
    let verdict = linearizable(initial, history, &Budget::default()).expect("well-formed");
    judge::check(initial, history, &verdict, judge::explicable(initial, history));
    verdict
}

fn legal<M: Model>(initial: M, history: &judge::History<M>) {
    assert!(verdict(&initial, history).is_consistent());
}

fn illegal<M: Model>(initial: M, history: &judge::History<M>) -> Evidence {
    match verdict(&initial, history) {
        Verdict::Violated(evidence) => *evidence,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_queue_does_not_overtake() {
    use {QueueOp::*, QueueRet::*};
    let mut evidence = illegal(
        Queue::new(),
        &[
            call(Enqueue(1), 1, Done, 2),
            call(Enqueue(2), 3, Done, 4),
            call(Dequeue, 5, Item(Some(2)), 6),
        ],
    );
    assert_eq!(evidence.anomaly.take().map(|anomaly| anomaly.name).as_deref(), Some("lost item"));
    assert_eq!(
        evidence,
        Evidence {
            engine: "unique queue".to_owned(),
            anomaly: None,
            partial: vec![vec![0, 1]],
            misfit: 2,
            expected: vec!["Some(1)".to_owned()],
            state: "[1, 2]".to_owned(),
            part: vec![0, 1, 2],
        }
    );
}

#[test]
fn overlapping_enqueues_may_take_effect_in_either_order() {
    use {QueueOp::*, QueueRet::*};
    legal(
        Queue::new(),
        &[
            call(Enqueue(1), 1, Done, 3),
            call(Enqueue(2), 2, Done, 4),
            call(Dequeue, 5, Item(Some(2)), 6),
            call(Dequeue, 7, Item(Some(1)), 8),
        ],
    );
}

#[test]
fn a_pending_write_that_was_read_cannot_be_unread() {
    use {RegisterOp::*, RegisterRet::*};
    let reads = [call(Read, 2, Value(1), 3), call(Read, 4, Value(0), 5)];
    let [one, zero] = reads;
    let evidence = illegal(Register::new(0), &[pending(Write(1), 1), one.clone(), zero.clone()]);
    assert_eq!((evidence.misfit, evidence.expected), (2, vec!["1".to_owned()]));
    legal(Register::new(0), &[pending(Write(1), 1), one]);
    legal(Register::new(0), &[pending(Write(1), 1), zero]);
}

#[test]
fn a_pending_cas_may_take_effect_or_not() {
    use {CasRegisterOp::*, CasRegisterRet::*};
    for seen in [0, 1] {
        legal(CasRegister::new(0), &[pending(Cas(0, 1), 1), call(Read, 2, Value(seen), 3)]);
    }
    illegal(CasRegister::new(0), &[pending(Cas(0, 1), 4), call(Read, 2, Value(1), 3)]);
}

#[test]
fn a_stack_pops_the_last_unless_the_push_overlaps() {
    use {StackOp::*, StackRet::*};
    let pushes = [call(Push(1), 1, Done, 2), call(Push(2), 3, Done, 5)];
    let [one, two] = pushes;
    let overlapping = call(Pop, 4, Item(Some(1)), 6);
    legal(Stack::new(), &[one.clone(), two.clone(), overlapping]);
    illegal(Stack::new(), &[one, two, call(Pop, 6, Item(Some(1)), 7)]);
}

#[test]
fn the_length_of_a_map_during_a_put_grows_once() {
    use {MapOp::*, MapRet::*};
    let len = |len, at| call(MapOp::Len, at, MapRet::Len(len), at + 1);
    let put = || pending(Put(1, 7), 1);
    for history in [[len(0, 2), len(0, 4)], [len(0, 2), len(1, 4)], [len(1, 2), len(1, 4)]] {
        let [first, second] = history;
        legal(Map::new(), &[put(), first, second]);
    }
    illegal(Map::new(), &[put(), len(1, 2), len(0, 4)]);
    illegal(Map::new(), &[call(Put(1, 7), 1, Value(None), 2), len(0, 4)]);
}

#[test]
fn a_striped_counter_read_in_two_orders_is_caught() {
    use {CounterOp::*, CounterRet::*};
    let adds = [call(Add(1), 1, Done, 10), call(Add(2), 2, Done, 11)];
    let [one, two] = adds;
    let reads = [call(Get, 3, Value(1), 8), call(Get, 4, Value(2), 9)];
    let [low, high] = reads;
    illegal(Counter::new(0), &[one.clone(), two.clone(), low.clone(), high]);
    legal(Counter::new(0), &[one, two, low, call(Get, 4, Value(3), 9)]);
}

#[test]
fn a_write_that_changes_nothing_here_is_kept_for_later() {
    // Write(2) overlaps everything. In state 2 it does nothing, and is needed after Write(1).
    use {RegisterOp::*, RegisterRet::*};
    legal(
        Register::new(2),
        &[call(Write(2), 1, Done, 8), call(Write(1), 2, Done, 3), call(Read, 4, Value(2), 5)],
    );
}

#[test]
fn evidence_of_a_partitioned_history_names_its_part() {
    use {MapOp::*, MapRet::*};
    let evidence = illegal(
        Map::new(),
        &[
            call(Put(1, 7), 1, Value(None), 2),
            call(Put(2, 8), 3, Value(None), 4),
            call(Get(1), 5, Value(Some(7)), 6),
            call(Get(2), 7, Value(None), 8),
            call(Get(2), 9, Value(Some(8)), 10),
        ],
    );
    assert_eq!(evidence.part, [1, 3, 4]);
    assert_eq!((evidence.partial, evidence.misfit), (vec![vec![1]], 3));
    assert_eq!(evidence.expected, ["Some(8)"]);
}

#[test]
fn clients_may_overlap_themselves_and_operations_come_in_any_order() {
    use {RegisterOp::*, RegisterRet::*};
    legal(Register::new(0), &[call(Read, 4, Value(1), 5), call(Write(1), 1, Done, 6)]);
}

#[test]
fn an_impossible_history_is_refused() {
    use {RegisterOp::*, RegisterRet::*};
    let refused = |history: &[Operation<RegisterOp, RegisterRet>]| {
        linearizable(&Register::new(0), history, &Budget::default()).unwrap_err()
    };
    let kind = MalformedKind::ReturnNotAfterInvocation { invoked: 3, returned: 3 };
    assert_eq!(
        refused(&[call(Read, 1, Value(0), 2), call(Read, 3, Value(0), 3)]),
        Malformed { operation: 1, kind }
    );
    let same = refused(&[call(Read, 1, Value(0), 4), pending(Write(1), 4)]);
    let kind = MalformedKind::SameTime { other: 0, time: 4 };
    assert_eq!(same, Malformed { operation: 1, kind });
    assert_eq!(same.to_string(), "operations 0 and 1 both have an event at time 4");
}

#[test]
fn an_exhausted_budget_is_no_verdict() {
    use {RegisterOp::*, RegisterRet::*};
    let history =
        [call(Write(1), 1, Done, 2), call(Write(1), 3, Done, 4), call(Read, 5, Value(1), 6)];
    let check = |budget: &Budget<'_>| linearizable(&Register::new(0), &history, budget).unwrap();
    let exhausted = Exhausted { nodes: 1, longest: 1, operations: 3, ..Default::default() };
    assert_eq!(check(&Budget::nodes(1)), Verdict::Unknown(exhausted));
    assert!(check(&Budget::nodes(2)).is_consistent());
}

#[test]
fn the_caller_can_stop_a_search() {
    let history = slow_violation();
    let polls = Cell::new(0);
    let stop = || {
        polls.set(polls.get() + 1);
        polls.get() == 3
    };
    let budget = Budget { stop: Some(&stop), ..Budget::default() };
    let verdict = linearizable(&Register::new(0), &history, &budget).unwrap();
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
    assert_eq!(polls.get(), 3);
}

/// Returns a history with concurrent writes of distinct values, and then a read of a value that was never written: 2^12
/// · 12 configurations.
fn slow_violation() -> Vec<Operation<RegisterOp, RegisterRet>> {
    let writes = (0..12).map(|i| call(RegisterOp::Write(i), i, RegisterRet::Done, 100 + i));
    writes.chain([call(RegisterOp::Read, 50, RegisterRet::Value(99), 99)]).collect()
}

#[test]
fn more_operations_than_a_word_has_bits_may_overlap() {
    use {RegisterOp::*, RegisterRet::*};
    for count in [129, 400] {
        let mut history: Vec<_> = (0..count).map(|i| call(Write(i), i, Done, 10_000 + i)).collect();
        // All writes are still in flight while the last value is read, then the previous value, ...
        for i in 0..count {
            history.push(call(Read, 1000 + 2 * i, Value(count - 1 - i), 1001 + 2 * i));
        }
        let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
        let Verdict::Consistent(witness) = verdict else { panic!("{verdict:?}") };
        assert_eq!(
            judge::witness_fault(&Register::new(0), &history, &witness.order.unwrap()),
            None
        );
    }
}

#[test]
fn more_operations_than_a_word_has_bits_may_be_pending() {
    use {RegisterOp::*, RegisterRet::*};
    let mut history: Vec<_> = (0..300).map(|i| pending(Write(i), i)).collect();
    history.push(call(Read, 1000, Value(250), 1001));
    history.push(call(Read, 1002, Value(7), 1003));
    let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
    let Verdict::Consistent(witness) = verdict else { panic!("{verdict:?}") };
    assert_eq!(witness.order.unwrap(), [250, 300, 7, 301]);
    history.push(call(Read, 1004, Value(250), 1005));
    let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(judge::evidence_fault(&Register::new(0), &history, &evidence), None);
    assert_eq!(evidence.misfit, 302);
}

#[test]
fn equal_pending_operations_are_counted_not_told_apart() {
    use {CounterOp::*, CounterRet::*};
    // Half of sixty increments happened: a sum of thirty, in any of 60 over 30 ways.
    let mut history: Vec<_> = (0..60).map(|i| pending(Increment, i)).collect();
    history.push(call(Get, 100, Value(30), 101));
    history.push(call(Get, 102, Value(29), 103));
    let (verdict, nodes) =
        linearizable_counted(&Counter::new(0), &history, &Budget::default()).unwrap();
    assert!(verdict.is_violated());
    assert!(nodes < 200, "{nodes}");
}

#[test]
fn long_histories_cost_configurations_in_proportion() {
    for (clients, per_operation_max) in [(1, 1), (4, 3)] {
        let history = random::<Register>(&mut Draw(3), 10_000, clients, usize::MAX / 2, 0);
        let (verdict, nodes) =
            linearizable_counted(&Register::new(0), &history, &Budget::default()).unwrap();
        let Verdict::Consistent(witness) = verdict else { panic!("{clients}: {verdict:?}") };
        assert_eq!(witness.order.unwrap().len(), history.len());
        assert!(nodes <= 10_000 * per_operation_max, "{clients} clients: {nodes}");
    }
}

#[test]
fn a_violation_late_in_a_long_history_is_found_where_it_is() {
    let mut history = random::<Register>(&mut Draw(4), 10_000, 4, usize::MAX / 2, 0);
    let read = |call: &Operation<RegisterOp, RegisterRet>| call.op == RegisterOp::Read;
    let (place, call) = history.iter_mut().enumerate().skip(9000).find(|(_, c)| read(c)).unwrap();
    call.returned.as_mut().unwrap().0 = RegisterRet::Value(5);
    let verdict = linearizable(&Register::new(0), &history, &Budget::default()).unwrap();
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(evidence.misfit, place);
    assert_eq!(judge::evidence_fault(&Register::new(0), &history, &evidence), None);
}

#[test]
fn a_model_that_calls_a_writer_an_observer_is_told_so() {
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Wrong(u8);
    impl Model for Wrong {
        type Op = u8;
        type Ret = ();
        fn step(&mut self, op: &u8) {
            self.0 = *op;
        }
        fn observes(_: &u8, _: &()) -> bool {
            true
        }
    }
    let history = [call(3, 1, (), 2)];
    let check = || linearizable(&Wrong(0), &history, &Budget::default());
    let message = *std::panic::catch_unwind(check).unwrap_err().downcast::<String>().unwrap();
    assert_eq!(
        message,
        "the model Wrong says that 3 only observes when it returns Some(()), but it changes \
         Wrong(0): correct its `observes`"
    );
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    for seed in 0..if long() { 40 } else { 3 } {
        let lies = seed as usize % 4;
        let mut history = random::<Map>(&mut Draw(seed), 400, 6, 50, lies);
        history.retain(|call| call.op != MapOp::Len);
        for nodes in [5, 60, 150, 100_000] {
            let budget = Budget::nodes(nodes);
            let one = linearizable_counted(&Map::new(), &history, &budget).unwrap();
            for threads in [1, 2, 3, 16] {
                let more = linearizable_parallel(&Map::new(), &history, &budget, threads).unwrap();
                assert_eq!(more, one, "seed {seed}, {nodes} nodes, {threads} threads");
            }
        }
    }
}

#[test]
fn threads_stop_when_the_caller_says_so() {
    // The history has for each of two keys 17 concurrent puts, and a read of a value that was never put: 2^17 · 17
    // configurations.
    let mut history = Vec::new();
    for key in 0..2 {
        let at = |time: u64| 1000 * key + time;
        let puts = (0..17).map(|i| call(MapOp::Put(key, i), at(i), MapRet::Done, at(100 + i)));
        history.extend(puts);
        history.push(call(MapOp::Get(key), at(50), MapRet::Value(Some(99)), at(99)));
    }
    for threads in [1, 2, 4] {
        let stop = || true;
        let budget = Budget { stop: Some(&stop), ..Budget::nodes(u64::MAX) };
        let (verdict, nodes) =
            linearizable_parallel(&Map::new(), &history, &budget, threads).unwrap();
        assert!(matches!(verdict, Verdict::Unknown(_)), "{threads} threads: {verdict:?}");
        assert!(nodes < 1 << 17, "{threads} threads went on for {nodes}");
    }
}

#[test]
fn a_violation_among_many_overlapping_operations_is_proved_in_memory_that_does_not_grow() {
    let mut history = random::<CasRegister>(&mut Draw(6), 3000, 12, usize::MAX / 2, 0);
    let judge = |history: &judge::History<CasRegister>| {
        linearizable_counted(&CasRegister::new(0), history, &Budget::default()).unwrap()
    };
    let (verdict, nodes) = judge(&history);
    assert!(verdict.is_consistent());
    let read = |call: &Operation<CasRegisterOp, CasRegisterRet>| call.op == CasRegisterOp::Read;
    let call = history.iter_mut().skip(2900).find(|call| read(call)).unwrap();
    call.returned.as_mut().unwrap().0 = CasRegisterRet::Value(7);
    let end = call.end();
    let (verdict, more) = judge(&history);
    let Verdict::Violated(evidence) = verdict else { panic!("{verdict:?}") };
    assert_eq!(history[evidence.misfit].end(), end);
    assert_eq!(judge::evidence_fault(&CasRegister::new(0), &history, &evidence), None);
    assert!(more > 10 * nodes, "nothing to prove: {nodes} and {more}");
}
