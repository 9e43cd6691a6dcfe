//! The online checker compared with brute force after every event, with its evidence.

use sim::check::Model;
use sim::check::online::{ClientEvent, Online, OnlineStatus};
use sim::check::verdict::Evidence;

use crate::histories::Recorded;
use crate::judge;
use crate::streams::told;

/// Returns `true` if the stream is linearizable. Checks that the online checker agrees and decides
/// at the earliest possible event, and that its evidence is true.
pub fn agree<M: Model>(initial: &M, events: &[ClientEvent<M::Op, M::Ret>]) -> bool {
    let expected = judge::explicable(initial, &told::<M>(events).0);
    let has_key = |event: &ClientEvent<M::Op, M::Ret>| match event {
        ClientEvent::Invoke { op, .. } => M::partition(op).is_some(),
        _ => true,
    };
    let by_key = events.iter().all(has_key).then(|| Online::by_key(initial.clone()));
    for mut online in std::iter::once(Online::new(initial.clone())).chain(by_key) {
        for (number, event) in events.iter().enumerate() {
            let status = online.feed(event.clone()).unwrap();
            let decided = online.decided_at().is_some();
            assert_eq!(
                status,
                if decided { OnlineStatus::Violated } else { OnlineStatus::Possible }
            );
            if online.decided_at() == Some(number as u64) {
                let (before, now) = (&events[..number], &events[..=number]);
                let at = format!("{} at event {number} of {events:#?}", M::name());
                assert!(judge::explicable(initial, &told::<M>(before).0), "too late: {at}");
                assert!(!judge::explicable(initial, &told::<M>(now).0), "too early: {at}");
                let evidence = online.evidence().unwrap();
                if let Some(fault) = evidence_fault(initial, before, event, evidence) {
                    panic!("{fault}\n{evidence:#?}\n{at}");
                }
            }
        }
        assert_eq!(
            online.status() == OnlineStatus::Possible,
            expected,
            "{}: {events:#?}",
            M::name()
        );
        assert_eq!(online.finish().is_consistent(), expected);
    }
    expected
}

/// Returns the fault, if any, of the evidence that `event` is a violation after the events
/// `before`. The orders must explain all earlier results. The misfit must be impossible as the next
/// operation of an order, or the order must contain it with another result.
fn evidence_fault<M: Model>(
    initial: &M,
    before: &[ClientEvent<M::Op, M::Ret>],
    event: &ClientEvent<M::Op, M::Ret>,
    evidence: &Evidence,
) -> Option<String> {
    let Evidence { partial, misfit, expected, state, part, .. } = evidence;
    let (all, names) = told::<M>(before);
    let Some(own) = names.iter().position(|name| name == misfit) else {
        return Some("the misfit has failed before".to_owned());
    };
    let key = M::partition(&all[own].op);
    let whole = part.is_empty();
    let ours: Vec<usize> =
        (0..all.len()).filter(|n| whole || M::partition(&all[*n].op) == key).collect();
    let history: Recorded<M> = ours.iter().map(|n| all[*n].clone()).collect();
    let local = |name: &usize| ours.iter().position(|n| names[*n] == *name);
    let misfit = local(misfit).expect("it is in its own part");
    if partial.is_empty() || partial.len() > 4 {
        return Some(format!("{} partial orders", partial.len()));
    }
    let (mut possible, mut states_text) = (Vec::new(), Vec::new());
    for (number, order) in partial.iter().enumerate() {
        if order.iter().any(|name| local(name).is_none() || !(whole || part.contains(name))) {
            return Some(format!("partial order {number} leaves its part or holds what failed"));
        }
        let order: Vec<usize> = order.iter().filter_map(local).collect();
        // A witness explains all returned operations.
        if let Some(fault) = judge::witness_fault(initial, &history, &order) {
            return Some(format!("partial order {number}: {fault}"));
        }
        if partial[..number].contains(&partial[number]) || partial[number].len() > partial[0].len()
        {
            return Some("partial orders must be distinct and the first the longest".to_owned());
        }
        let stands = order.contains(&misfit);
        let mut longer = order.clone();
        if !stands {
            longer.push(misfit);
        }
        let with = |ret: &M::Ret| {
            let mut history = history.clone();
            history[misfit].returned = Some((ret.clone(), u64::MAX - 1));
            judge::witness_fault(initial, &history, &longer).is_none()
        };
        match event {
            ClientEvent::Return { ret, .. } if with(ret) => {
                return Some(format!("the misfit fits partial order {number}"));
            }
            ClientEvent::Return { .. } => {}
            _ if stands => {}
            _ => return Some(format!("partial order {number} does without the one that failed")),
        }
        let mut states = vec![initial.clone()];
        for step in &order {
            let mut next = Vec::new();
            for state in &states {
                let ret = history[*step].returned.as_ref().map(|(ret, _)| ret);
                state.successors(&history[*step].op, ret, &mut next);
                let rets = state.returns(&history[*step].op);
                possible.extend(rets.into_iter().filter(|ret| *step == misfit && with(ret)));
            }
            states = next;
        }
        if !stands {
            for state in &states {
                possible.extend(state.returns(&history[misfit].op).into_iter().filter(|r| with(r)));
            }
        }
        if number == 0 {
            states_text = states.iter().map(|state| state.state_text()).collect();
        }
    }
    let possible: Vec<String> = possible.iter().map(|ret| M::ret_text(ret)).collect();
    let needed = matches!(event, ClientEvent::Return { .. });
    if expected.is_empty() == needed || !expected.iter().all(|text| possible.contains(text)) {
        return Some(format!("possible were {possible:?}"));
    }
    (!states_text.contains(state)).then(|| format!("the state is one of {states_text:?}"))
}
