//! `Select` of crossbeam over two channels without a buffer, beside plain sends and receives. The model performs the
//! attempts and registrations of crossbeam. Each of them holds the lock of its channel, and is one effect.

use super::super::model::{DISCONNECTED, EMPTY, HELD, NONE, Outcome, REFUSED};
use super::super::program::Numbers;
use super::selects::{self, Act, Selected, receives};
use super::subject::{Local, Program, Subject};

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Channel {
    /// The numbers of senders and receivers.
    ends: [u32; 2],
    is_disconnected: bool,
    /// The registered threads that send, and the registered threads that receive.
    waiting: [Vec<usize>; 2],
}

/// A thread with its operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Own {
    has_end: [bool; 2],
    random: u32,
    order: [usize; 2],
    selected: Selected,
    /// The message that the thread sends, or the message that another thread has sent to it.
    message: i64,
    registered: usize,
    attempted: usize,
    ready: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Meetings {
    variant: u64,
    channels: [Channel; 2],
    threads: Vec<Own>,
}

const ATTEMPT: u32 = 0;
const REGISTER: u32 = 1;
const ABORT: u32 = 2;
const LOOK: u32 = 3;
const WAIT: u32 = 4;
const UNREGISTER: u32 = 5;
const ACCEPT: u32 = 6;

impl Meetings {
    fn side(&self, me: usize, channel: usize) -> usize {
        usize::from(receives(self.variant, me, channel))
    }

    /// Attempts an operation with a registered thread. Returns its result.
    fn attempt(&mut self, me: usize, at: usize, by: i64) -> Option<i64> {
        let side = self.side(me, at);
        let others = &self.channels[at].waiting[1 - side];
        let waits =
            |other: &usize| *other != me && self.threads[*other].selected == Selected::Waiting;
        let Some(nth) = others.iter().position(waits) else {
            let ends = if side == 1 { DISCONNECTED } else { REFUSED };
            return self.channels[at].is_disconnected.then_some(ends);
        };
        let other = self.channels[at].waiting[1 - side].remove(nth);
        let other = &mut self.threads[other];
        other.selected = Selected::Channel(at);
        if side == 1 {
            return Some(other.message);
        }
        other.message = by;
        Some(0)
    }

    /// Registers an operation. Returns `true` if it is ready.
    fn register(&mut self, me: usize, at: usize) -> bool {
        let side = self.side(me, at);
        let channel = &mut self.channels[at];
        channel.waiting[side].push(me);
        let waits =
            |other: &usize| *other != me && self.threads[*other].selected == Selected::Waiting;
        channel.is_disconnected || channel.waiting[1 - side].iter().any(waits)
    }

    fn unregister(&mut self, me: usize, at: usize) {
        let side = self.side(me, at);
        self.channels[at].waiting[side].retain(|thread| *thread != me);
    }

    fn complete(&mut self, at: Option<usize>, result: i64, local: &mut Local) -> Option<bool> {
        if let Some(at) = at {
            local.see(at as i64);
        }
        local.see(result);
        let own = &mut self.threads[local.me];
        (own.registered, own.attempted, own.ready) = (0, 0, None);
        (own.selected, own.message) = (Selected::Waiting, 0);
        Some(true)
    }

    /// Returns the result of an operation that another thread has selected.
    fn result(&self, me: usize, at: usize) -> i64 {
        if self.side(me, at) == 1 { self.threads[me].message } else { 0 }
    }

    /// Performs an effect of a plain send or receive.
    fn meet(&mut self, at: usize, by: i64, local: &mut Local) -> Option<bool> {
        let me = local.me;
        if local.stage == 0 {
            if let Some(result) = self.attempt(me, at, by) {
                return self.complete(None, result, local);
            }
            (self.threads[me].message, self.threads[me].selected) = (by, Selected::Waiting);
            self.register(me, at);
            return Some(false);
        }
        let result = match self.threads[me].selected {
            Selected::Waiting => return None,
            Selected::Channel(at) => self.result(me, at),
            _ if self.side(me, at) == 1 => DISCONNECTED,
            _ => REFUSED,
        };
        self.unregister(me, at);
        self.complete(None, result, local)
    }

    /// Performs an effect of a select operation.
    fn select(&mut self, by: i64, has_default: bool, local: &mut Local) -> Option<bool> {
        let me = local.me;
        let own = &mut self.threads[me];
        let (order, registered) = (own.order, own.registered);
        match local.stage {
            ATTEMPT => {
                let at = order[own.attempted % 2];
                own.attempted += 1;
                if let Some(result) = self.attempt(me, at, by) {
                    return self.complete(Some(at), result, local);
                }
                // With a default, all operations are attempted twice.
                let own = &mut self.threads[me];
                if own.attempted % 2 == 1 || has_default && own.attempted < 4 {
                    return local.go_to(ATTEMPT);
                }
                own.attempted = 0;
                (own.selected, own.message) = (Selected::Waiting, by);
                if has_default {
                    own.message = 0;
                    return Some(local.see(EMPTY));
                }
                local.go_to(REGISTER)
            }
            REGISTER => {
                own.registered += 1;
                let is_ready = self.register(me, order[registered]);
                local.go_to(if is_ready { ABORT } else { LOOK })
            }
            ABORT => {
                if own.selected == Selected::Waiting {
                    own.selected = Selected::Aborted;
                    own.ready = Some(order[registered - 1]);
                }
                local.go_to(UNREGISTER)
            }
            LOOK => {
                let is_selected = own.selected != Selected::Waiting;
                local.go_to(match () {
                    () if is_selected => UNREGISTER,
                    () if registered < 2 => REGISTER,
                    () => WAIT,
                })
            }
            WAIT => {
                (own.selected != Selected::Waiting).then_some(())?;
                local.go_to(UNREGISTER)
            }
            UNREGISTER => {
                let at = order[own.attempted];
                own.attempted += 1;
                let is_last = own.attempted == registered;
                if is_last {
                    (own.attempted, own.registered) = (0, 0);
                }
                self.unregister(me, at);
                local.go_to(if is_last { ACCEPT } else { UNREGISTER })
            }
            _ => {
                let ready = own.ready.take();
                match own.selected {
                    Selected::Channel(at) => {
                        let result = self.result(me, at);
                        return self.complete(Some(at), result, local);
                    }
                    Selected::Aborted => {
                        let at = ready.expect("a ready operation");
                        if let Some(result) = self.attempt(me, at, by) {
                            return self.complete(Some(at), result, local);
                        }
                    }
                    _ => {}
                }
                local.go_to(ATTEMPT)
            }
        }
    }

    fn hang_up(&mut self, me: usize, at: usize) {
        let side = self.side(me, at);
        if !std::mem::take(&mut self.threads[me].has_end[at]) {
            return;
        }
        let channel = &mut self.channels[at];
        channel.ends[side] -= 1;
        if channel.ends[side] == 0 {
            channel.is_disconnected = true;
            for thread in channel.waiting.iter().flatten() {
                let selected = &mut self.threads[*thread].selected;
                if *selected == Selected::Waiting {
                    *selected = Selected::Disconnected;
                }
            }
        }
    }
}

impl Subject for Meetings {
    type Act = Act;
    const NAME: &'static str = "Meetings";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, thread: usize, _: u64) -> Act {
        let (at, by) = (numbers.below(2) as usize, numbers.one_of(&[1, 2, 3]));
        let is_biased = numbers.below(2) == 0;
        let select = |has_default| Act::Select { by, is_biased, has_default };
        let waits = if thread == 0 { select(false) } else { Act::Do(at, by) };
        let other = numbers.one_of(&[Act::Try(at, by), select(true), select(thread == 0)]);
        numbers.one_of(&[waits, waits, select(false), other, Act::Drop(at)])
    }

    fn first(program: &Program<Self>) -> Self {
        let count = program.threads.len();
        let channel = |at| Channel { ends: selects::ends(program, at), ..Channel::default() };
        let own = Own {
            has_end: [true, true],
            random: selects::RANDOM,
            order: [0, 1],
            selected: Selected::Waiting,
            message: 0,
            registered: 0,
            attempted: 0,
            ready: None,
        };
        Meetings {
            variant: program.variant,
            channels: [channel(0), channel(1)],
            threads: vec![own; count],
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let has_end = self.threads[me].has_end;
        match act {
            Act::Drop(at) => {
                self.hang_up(me, at);
                Some(true)
            }
            Act::Do(at, _) | Act::Try(at, _) if !has_end[at] => Some(local.see(NONE)),
            Act::Select { .. } if has_end != [true, true] => Some(local.see(NONE)),
            Act::Do(at, by) => self.meet(at, by, local),
            Act::Try(at, by) => {
                let result = self.attempt(me, at, by);
                Some(local.see(result.unwrap_or(HELD)))
            }
            Act::Select { by, is_biased, has_default } => {
                // The first attempt begins with the order.
                if local.kept == 0 {
                    let own = &mut self.threads[me];
                    (own.order, local.kept) = (selects::order(is_biased, &mut own.random), 1);
                }
                self.select(by, has_default, local)
            }
        }
    }

    /// Drops the end of the first channel, and then the end of the second.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let at = local.kept as usize;
        self.hang_up(local.me, at);
        local.kept += 1;
        Some(at == 1)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        Vec::new()
    }

    fn execute(program: &Program<Self>) -> Outcome {
        selects::execute_with(program, [0, 0])
    }
}
