//! Conversions between histories and streams of events. Online checkers read the stream, and their
//! judge reads the history.

use sim::check::Model;
use sim::check::history::Operation;
use sim::check::online::ClientEvent;

use crate::histories::{Draw, Recorded};

/// A stream of events of a model.
pub type Events<M> = Vec<ClientEvent<<M as Model>::Op, <M as Model>::Ret>>;

/// Returns the events of a history. A pending call is lost when its client continues.
pub fn events<M: Model>(history: &Recorded<M>) -> Events<M> {
    with_ends_at::<M>(history, |_| None)
}

/// Like `events`, but some pending calls are lost earlier or fail, or their clients end.
pub fn with_ends<M: Model>(history: &Recorded<M>, draw: &mut Draw) -> Events<M> {
    let events = events::<M>(history);
    let mut ends: Vec<Option<(usize, usize)>> =
        history.iter().map(|_| Some((draw.below(events.len() + 3), draw.below(3)))).collect();
    with_ends_at::<M>(history, move |number| ends[number].take())
}

/// Returns the events of a history. `end` returns the time and the kind of the end of a pending
/// operation, if the operation ends before its client continues.
fn with_ends_at<M: Model>(
    history: &Recorded<M>,
    mut end: impl FnMut(usize) -> Option<(usize, usize)>,
) -> Events<M> {
    let mut moments: Vec<(u64, bool, usize)> = Vec::new();
    for (number, call) in history.iter().enumerate() {
        moments.push((call.invoked, false, number));
        moments.extend(call.returned.as_ref().map(|(_, time)| (*time, true, number)));
    }
    moments.sort();
    // Open calls that will not return, with the time and the kind of their end.
    let mut pending: Vec<(u32, Option<(usize, usize)>)> = Vec::new();
    let mut events = Vec::new();
    for (_, is_return, number) in moments {
        let Operation { client, op, returned, .. } = &history[number];
        let client = *client;
        let now = events.len();
        pending.retain(|(owner, end)| {
            let event = match end {
                Some((at, 0)) if *at <= now => ClientEvent::Failed { client: *owner },
                Some((at, 1)) if *at <= now => ClientEvent::Lost { client: *owner },
                _ if *owner == client => ClientEvent::Lost { client },
                _ => return true,
            };
            events.push(event);
            false
        });
        match returned {
            Some((ret, _)) if is_return => {
                events.push(ClientEvent::Return { client, ret: ret.clone() });
            }
            _ => events.push(ClientEvent::Invoke { client, op: op.clone() }),
        }
        if returned.is_none() {
            pending.push((client, end(number)));
        }
    }
    let ended = pending.into_iter().filter(|(_, end)| matches!(end, Some((_, 2))));
    events.extend(ended.map(|(client, _)| ClientEvent::End { client }));
    events
}

/// Returns the history of these events without failed operations, and the number of each operation
/// in the stream.
pub fn told<M: Model>(events: &[ClientEvent<M::Op, M::Ret>]) -> (Recorded<M>, Vec<usize>) {
    let mut all: Recorded<M> = Vec::new();
    let mut failed = Vec::new();
    let mut open: Vec<(u32, usize)> = Vec::new();
    for (time, event) in events.iter().enumerate() {
        let client = event.client();
        if let ClientEvent::Invoke { op, .. } = event {
            open.push((client, all.len()));
            let invoked = time as u64;
            all.push(Operation { client, op: op.clone(), invoked, returned: None });
            continue;
        }
        let Some(place) = open.iter().position(|(owner, _)| *owner == client) else { continue };
        let number = open.swap_remove(place).1;
        match event {
            ClientEvent::Return { ret, .. } => {
                all[number].returned = Some((ret.clone(), time as u64));
            }
            ClientEvent::Failed { .. } => failed.push(number),
            _ => {}
        }
    }
    let names: Vec<usize> = (0..all.len()).filter(|number| !failed.contains(number)).collect();
    (names.iter().map(|number| all[*number].clone()).collect(), names)
}
