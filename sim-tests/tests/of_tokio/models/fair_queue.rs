//! The model of a queue for permits: requests are served in their order, and a large request blocks later requests.

use super::{CLOSED, Caller, WOULD_WAIT};

/// A request in the queue, or a request that left it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Request {
    caller: Caller,
    wanted: u32,
    got: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Permits {
    pub(super) free: u32,
    pub(super) is_closed: bool,
    /// True for the planted fault: the last request is served first.
    pub(super) is_unfair: bool,
    queue: Vec<Request>,
    /// Requests that are served, or that a close has removed from the queue. Their callers do not know it yet.
    ready: Vec<Request>,
}

impl Permits {
    pub(super) fn new(free: u32) -> Permits {
        Permits { free, ..Permits::default() }
    }

    /// Polls a request. Returns `Some(true)` if it is served, and `Some(false)` if the queue is closed.
    pub(super) fn poll(&mut self, caller: Caller, wanted: u32) -> Option<bool> {
        if self.is_closed {
            self.cancel(caller);
            return Some(false);
        }
        if let Some(at) = self.ready.iter().position(|request| request.caller == caller) {
            self.ready.remove(at);
            return Some(true);
        }
        if self.queue.iter().any(|request| request.caller == caller) {
            return None;
        }
        if self.free >= wanted {
            self.free -= wanted;
            return Some(true);
        }
        let got = std::mem::take(&mut self.free);
        self.queue.push(Request { caller, wanted, got });
        None
    }

    /// Removes a request, if there is one, and passes its permits on.
    pub(super) fn cancel(&mut self, caller: Caller) {
        let mut got = 0;
        for list in [&mut self.queue, &mut self.ready] {
            let is_of_caller = |request: &Request| request.caller == caller;
            got += list
                .iter()
                .filter(|request| is_of_caller(request))
                .map(|request| request.got)
                .sum::<u32>();
            list.retain(|request| !is_of_caller(request));
        }
        self.add(got);
    }

    pub(super) fn add(&mut self, mut permits: u32) {
        while permits > 0 && !self.queue.is_empty() {
            if self.is_unfair {
                self.queue.rotate_right(1);
            }
            let first = &mut self.queue[0];
            let given = permits.min(first.wanted - first.got);
            first.got += given;
            permits -= given;
            if first.got == first.wanted {
                let first = self.queue.remove(0);
                self.ready.push(first);
            }
        }
        self.free += permits;
        self.ready.sort_by_key(|request| request.caller);
    }

    /// Takes permits without a wait. Returns 0, or the reason why this is impossible.
    pub(super) fn take(&mut self, wanted: u32) -> i64 {
        if self.is_closed {
            return CLOSED;
        }
        if self.free < wanted {
            return WOULD_WAIT;
        }
        self.free -= wanted;
        0
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.ready.append(&mut self.queue);
        self.ready.sort_by_key(|request| request.caller);
    }

    /// Returns `true` if no request has any of `all` permits.
    pub(super) fn is_idle(&self, all: u32) -> bool {
        self.free == all
    }
}
