//! Calls of plain threads. A call from the package under test into another package has many operations.

use super::event::Event;
use super::ids::TaskId;
use unpause_ordered::sort_by_key;

/// A call from the package under test to a function of another package, or to a primitive of std.
///
/// If only the line of a call is known, two calls in a loop from the same line can count as one call. Calls are
/// confused like this only if they only read memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallRecord {
    /// The task of the thread.
    pub task: TaskId,
    /// The name of the function, without its path.
    pub function: String,
    /// The place of the call, as `file:line:column`.
    pub place: String,
    /// The indices of the call's operations in [`Run::events`](super::Run::events).
    pub events: Vec<usize>,
    /// Places in an intermediate crate, between the primitive and the package under test, as `file:line:column`. There
    /// is one place per operation, then one for the request of [`is_last`](CallRecord::is_last). A place is empty if
    /// there is no such crate.
    pub through: Vec<String>,
    /// `true` if the task made its last request in this call. If the run ended before this request was served, the task
    /// still waits.
    pub is_last: bool,
}

impl CallRecord {
    /// Returns the place in the intermediate crate for this event's operation, if any.
    pub fn through_at(&self, event: usize) -> Option<&str> {
        let at = self.events.iter().position(|own| *own == event)?;
        self.through.get(at).map(String::as_str).filter(|place| !place.is_empty())
    }

    /// Returns the place in the intermediate crate at which the task waits, if any.
    pub fn waits_through(&self) -> Option<&str> {
        self.through.get(self.events.len()).map(String::as_str).filter(|place| !place.is_empty())
    }
}

/// The functions that a thread was executing when it requested an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requested {
    /// The task of the thread.
    pub task: TaskId,
    /// The number of events in the run at the time of the request.
    pub events: usize,
    /// The stack position of the innermost function of the package under test. The stack grows down.
    pub position: usize,
    /// The call that this function was executing; `None` if the function did the operation itself.
    pub within: Option<Within>,
}

/// A call that a function of the package under test is executing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[doc(hidden)]
pub struct Within {
    pub function: String,
    pub place: String,
    /// The place in a crate between the primitive and the package under test, or an empty text.
    pub through: String,
    /// A hash of the return addresses between the function and the operation. The hash distinguishes the operations of
    /// the call.
    pub operation: u64,
}

/// A call that may not have ended.
struct Open {
    position: usize,
    place: String,
    /// The first operation of the call.
    first: u64,
    /// True if the last operation of the call changed memory.
    changed: bool,
    record: usize,
}

/// Returns the calls of the events of a run, reconstructed from the requests.
///
/// A program does not show when an inlined call returns. So two successive operations belong to different calls in
/// three cases. First, their function, their line, or their place in the line differ. Second, the function did
/// something by itself in between. Third, the second operation is the call's first operation, and the previous
/// operation changed memory. (A call that retries has changed nothing.)
#[cfg_attr(not(any(unpause_native, test)), allow(dead_code))]
pub fn calls(requests: &[Requested], events: &[Event]) -> Vec<CallRecord> {
    let mut records = Vec::new();
    let tasks = requests.iter().map(|request| request.task.index() + 1).max().unwrap_or(0);
    for task in (0..tasks).map(|index| TaskId(index as u32)) {
        let own: Vec<&Requested> = requests.iter().filter(|r| r.task == task).collect();
        of_task(&own, events, &mut records);
    }
    records.retain(|call: &CallRecord| !call.events.is_empty() || call.is_last);
    sort_by_key(&mut records, |call| call.events.first().copied().unwrap_or(events.len()));
    records
}

/// Adds the calls of one task.
fn of_task(requests: &[&Requested], events: &[Event], records: &mut Vec<CallRecord>) {
    // The outermost call comes first, because the stack grows down.
    let mut open: Vec<Open> = Vec::new();
    for (nth, request) in requests.iter().enumerate() {
        let end = requests.get(nth + 1).map_or(events.len(), |next| next.events.min(events.len()));
        let of_request = (request.events..end).filter(|index| events[*index].task == request.task);
        open.retain(|call| call.position >= request.position);
        let Some(within) = &request.within else {
            open.retain(|call| call.position > request.position);
            continue;
        };
        let again = |call: &Open| call.first == within.operation && call.changed;
        let goes_on = open.last().is_some_and(|call| {
            call.position == request.position && call.place == within.place && !again(call)
        });
        if !goes_on {
            open.retain(|call| call.position > request.position);
            open.push(Open {
                position: request.position,
                place: within.place.clone(),
                first: within.operation,
                changed: false,
                record: records.len(),
            });
            let Within { function, place, .. } = within.clone();
            records.push(CallRecord {
                task: request.task,
                function,
                place,
                events: Vec::new(),
                through: Vec::new(),
                is_last: false,
            });
        }
        let Some(call) = open.last_mut() else { continue };
        let record = &mut records[call.record];
        call.changed = false;
        for index in of_request {
            call.changed |= !events[index].is_look();
            record.events.push(index);
            record.through.push(within.through.clone());
        }
        if nth + 1 == requests.len() {
            record.is_last = true;
            record.through.push(within.through.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::run::event::Values;
    use crate::run::op::{Access, Op};

    const LOAD: Op = Op::new("load", Access::Read);
    const SWAP: Op = Op::new("swap", Access::ReadModifyWrite);

    /// Returns the events of each call of one task. A request is the position, the line of the call if any, the
    /// operation, and whether the operation changes memory.
    fn found(requests: &[(usize, Option<u32>, u64, bool)]) -> Vec<Vec<usize>> {
        let task = TaskId(1);
        let request =
            |(events, (position, line, operation, _)): (usize, &(_, Option<u32>, _, _))| {
                let within = line.map(|line| Within {
                    function: "push".to_owned(),
                    place: format!("tests/queue.rs:{line}:9"),
                    through: String::new(),
                    operation: *operation,
                });
                Requested { task, events, position: *position, within }
            };
        let event = |(step, (.., changes)): (u32, &(usize, Option<u32>, u64, bool))| Event {
            step,
            task,
            object: None,
            op: if *changes { &SWAP } else { &LOAD },
            place: Location::caller(),
            values: if *changes { Values::Changed(0, 1) } else { Values::Read(0) },
        };
        let events: Vec<Event> = (0..).zip(requests).map(event).collect();
        let requests: Vec<Requested> = requests.iter().enumerate().map(request).collect();
        calls(&requests, &events).into_iter().map(|call| call.events).collect()
    }

    #[test]
    fn a_call_that_waits_is_known_before_it_has_done_anything() {
        let within = |line: u32, through: &str| {
            Some(Within {
                function: "insert".to_owned(),
                place: format!("tests/map.rs:{line}:9"),
                through: through.to_owned(),
                operation: 1,
            })
        };
        let request =
            |task, within| Requested { task: TaskId(task), events: 0, position: 900, within };
        let requests = [
            request(1, within(7, "")),
            request(1, within(8, "map-1.0.0/src/lib.rs:3:9")),
            request(2, within(9, "")),
            request(2, None),
        ];
        let calls = calls(&requests, &[]);
        let [waits] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!(
            (waits.task, &waits.place[..], waits.is_last),
            (TaskId(1), "tests/map.rs:8:9", true)
        );
        assert_eq!(waits.waits_through(), Some("map-1.0.0/src/lib.rs:3:9"));
    }

    #[test]
    fn a_line_in_a_loop_makes_calls_of_its_own() {
        let round = [(900, Some(7), 1, false), (900, Some(7), 2, true)];
        assert_eq!(found(&[round, round].concat()), [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_call_that_tries_again_is_one() {
        let fails = (900, Some(7), 1, false);
        assert_eq!(found(&[fails, fails, (900, Some(7), 1, true)]), [[0, 1, 2]]);
    }

    #[test]
    fn another_function_line_or_own_operation_ends_a_call() {
        let one = (900, Some(7), 1, false);
        assert_eq!(found(&[one, (900, Some(8), 1, false)]), [[0], [1]]);
        assert_eq!(found(&[one, (950, Some(7), 1, false)]), [[0], [1]]);
        assert_eq!(found(&[one, (900, None, 3, false), one]), [[0], [2]]);
    }

    #[test]
    fn a_call_goes_on_after_one_that_it_has_called_back() {
        let (outer, inner) = ((900, Some(7), 1, true), (500, Some(30), 1, true));
        assert_eq!(
            found(&[outer, inner, (500, None, 9, true), (900, Some(7), 2, true)]),
            [vec![0, 3], vec![1]]
        );
    }
}
