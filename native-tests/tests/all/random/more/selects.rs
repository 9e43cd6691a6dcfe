//! `Select` of crossbeam over two channels: with and without a default, biased or not, and beside plain sends and
//! receives. The model performs the attempts, registrations and notifications of crossbeam. An operation on a buffer is
//! one effect. The channels have a buffer with one place, or without a limit.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, TrySendError};

use super::super::model::{DISCONNECTED, EMPTY, HELD, NONE, Outcome, REFUSED};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, execute_threads};

/// A command. Each thread sends to a channel, or receives from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Sends this number or receives, by the channel with the number in the first field.
    Do(usize, i64),
    Try(usize, i64),
    /// Drops the end of the channel.
    Drop(usize),
    /// Selects one of both channels, with a default if `has_default`.
    Select {
        by: i64,
        is_biased: bool,
        has_default: bool,
    },
}

const UNBOUNDED: usize = usize::MAX;

/// Returns the capacities of the channels, and `true` if the first thread receives from the second channel.
fn kind(variant: u64) -> ([usize; 2], bool) {
    let capacity = |number: u64| if number.is_multiple_of(2) { 1 } else { UNBOUNDED };
    ([capacity(variant), capacity(variant / 2)], (variant / 4).is_multiple_of(2))
}

/// Returns `true` if the thread receives from the channel.
pub(super) fn receives(variant: u64, me: usize, channel: usize) -> bool {
    let (_, first_receives) = kind(variant);
    (channel == 0 || first_receives) == (me == 0)
}

/// The operation of a thread that was selected, if any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Selected {
    #[default]
    Waiting,
    Aborted,
    Disconnected,
    Channel(usize),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Channel {
    capacity: usize,
    queue: Vec<i64>,
    /// The numbers of senders and receivers.
    ends: [u32; 2],
    /// The registered threads that send, and the registered threads that receive.
    waiting: [Vec<usize>; 2],
}

/// A thread with its select operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Own {
    has_end: [bool; 2],
    random: u32,
    order: [usize; 2],
    selected: Selected,
    /// The number of registered operations, and of attempted ones.
    registered: usize,
    attempted: usize,
    ready: Option<usize>,
    /// The channel of a completed operation.
    channel: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Selects {
    variant: u64,
    channels: [Channel; 2],
    threads: Vec<Own>,
}

/// The stages: attempts, registrations, the wait, the ends of the registrations, the selected operation, the
/// notification after an operation, the second half of a drop.
const ATTEMPT: u32 = 0;
const REGISTER: u32 = 1;
const CHECK: u32 = 2;
const ABORT: u32 = 3;
const LOOK: u32 = 4;
const WAIT: u32 = 5;
const UNREGISTER: u32 = 6;
const ACCEPT: u32 = 7;
const NOTIFY: u32 = 8;
const HANG_UP: u32 = 9;

impl Selects {
    fn side(&self, me: usize, channel: usize) -> usize {
        usize::from(receives(self.variant, me, channel))
    }

    /// Attempts an operation. Returns its result.
    fn attempt(&mut self, me: usize, at: usize, by: i64) -> Option<i64> {
        let receives = self.side(me, at) == 1;
        let channel = &mut self.channels[at];
        let [senders, receivers] = channel.ends;
        if receives {
            return match channel.queue.is_empty() {
                false => Some(channel.queue.remove(0)),
                true => (senders == 0).then_some(DISCONNECTED),
            };
        }
        if receivers == 0 {
            return Some(REFUSED);
        }
        (channel.queue.len() < channel.capacity).then_some(())?;
        channel.queue.push(by);
        Some(0)
    }

    fn is_ready(&self, me: usize, at: usize) -> bool {
        let channel = &self.channels[at];
        match self.side(me, at) {
            1 => !channel.queue.is_empty() || channel.ends[0] == 0,
            _ => channel.queue.len() < channel.capacity || channel.ends[1] == 0,
        }
    }

    /// Selects an operation of a waiting thread. Returns `false` if one is already selected.
    fn select(&mut self, thread: usize, selected: Selected) -> bool {
        let own = &mut self.threads[thread].selected;
        let is_first = *own == Selected::Waiting;
        if is_first {
            *own = selected;
        }
        is_first
    }

    /// Notifies a waiting thread on the other side of a channel.
    fn notify(&mut self, me: usize, at: usize) {
        let other = 1 - self.side(me, at);
        for (nth, thread) in self.channels[at].waiting[other].clone().into_iter().enumerate() {
            if thread != me && self.select(thread, Selected::Channel(at)) {
                self.channels[at].waiting[other].remove(nth);
                return;
            }
        }
    }

    /// Completes an operation with a result.
    fn complete(&mut self, at: usize, result: i64, shows: bool, local: &mut Local) -> Option<bool> {
        if shows {
            local.see(at as i64);
        }
        local.see(result);
        let receives = self.side(local.me, at) == 1;
        let own = &mut self.threads[local.me];
        own.channel = at;
        (own.registered, own.attempted, own.ready) = (0, 0, None);
        own.selected = Selected::Waiting;
        let is_unbounded = self.channels[at].capacity == UNBOUNDED;
        // A receive from a channel without a limit ends no wait.
        let notifies = !matches!(result, DISCONNECTED | REFUSED) && !(receives && is_unbounded);
        if notifies { local.go_to(NOTIFY) } else { Some(true) }
    }

    /// Performs an effect of an operation on channels in this order. It is a select operation if `shows`.
    fn run(
        &mut self,
        (order, by): (&[usize], i64),
        (shows, has_default): (bool, bool),
        local: &mut Local,
    ) -> Option<bool> {
        let me = local.me;
        let own = &self.threads[me];
        let (registered, attempted) = (own.registered, own.attempted);
        match local.stage {
            ATTEMPT => {
                let at = order[attempted % order.len()];
                if let Some(result) = self.attempt(me, at, by) {
                    return self.complete(at, result, shows, local);
                }
                let own = &mut self.threads[me];
                own.attempted += 1;
                // With a default, all operations are attempted twice.
                if !own.attempted.is_multiple_of(order.len())
                    || has_default && own.attempted < 2 * order.len()
                {
                    return local.go_to(ATTEMPT);
                }
                own.attempted = 0;
                if has_default {
                    return Some(local.see(EMPTY));
                }
                local.go_to(REGISTER)
            }
            REGISTER => {
                let at = order[registered];
                let side = self.side(me, at);
                let own = &mut self.threads[me];
                own.registered += 1;
                if own.registered == 1 {
                    own.selected = Selected::Waiting;
                }
                self.channels[at].waiting[side].push(me);
                local.go_to(CHECK)
            }
            CHECK => {
                let is_ready = self.is_ready(me, order[registered - 1]);
                local.go_to(if is_ready { ABORT } else { LOOK })
            }
            ABORT => {
                if self.select(me, Selected::Aborted) {
                    self.threads[me].ready = Some(order[registered - 1]);
                }
                local.go_to(UNREGISTER)
            }
            LOOK => {
                let is_selected = self.threads[me].selected != Selected::Waiting;
                local.go_to(match () {
                    () if is_selected => UNREGISTER,
                    () if registered < order.len() => REGISTER,
                    () => WAIT,
                })
            }
            WAIT => {
                (self.threads[me].selected != Selected::Waiting).then_some(())?;
                local.go_to(UNREGISTER)
            }
            UNREGISTER => {
                let at = order[attempted];
                let side = self.side(me, at);
                self.channels[at].waiting[side].retain(|thread| *thread != me);
                let own = &mut self.threads[me];
                own.attempted += 1;
                if own.attempted < own.registered {
                    return local.go_to(UNREGISTER);
                }
                (own.attempted, own.registered) = (0, 0);
                local.go_to(ACCEPT)
            }
            _ => {
                let own = &mut self.threads[me];
                let at = match std::mem::take(&mut own.selected) {
                    Selected::Channel(at) => Some(at),
                    Selected::Aborted => own.ready.take(),
                    _ => None,
                };
                // A plain operation attempts its channel anyway.
                if let Some(at) = at.filter(|_| shows)
                    && let Some(result) = self.attempt(me, at, by)
                {
                    return self.complete(at, result, shows, local);
                }
                self.threads[me].ready = None;
                local.go_to(ATTEMPT)
            }
        }
    }

    /// Drops an end of a channel.
    fn hang_up(&mut self, at: usize, local: &mut Local) -> Option<bool> {
        let side = self.side(local.me, at);
        if local.stage == HANG_UP {
            for thread in self.channels[at].waiting[1 - side].clone() {
                self.select(thread, Selected::Disconnected);
            }
            return Some(true);
        }
        if !std::mem::take(&mut self.threads[local.me].has_end[at]) {
            return Some(true);
        }
        let ends = &mut self.channels[at].ends[side];
        *ends -= 1;
        if *ends == 0 { local.go_to(HANG_UP) } else { Some(true) }
    }
}

/// The first random number of a thread.
pub(super) const RANDOM: u32 = 1_406_868_647;

/// Returns the order of the attempts of a select operation. The order depends on the random numbers of a thread, unless
/// the operation is biased.
pub(super) fn order(is_biased: bool, random: &mut u32) -> [usize; 2] {
    if is_biased {
        return [0, 1];
    }
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    if (u64::from(*random) * 2) >> 32 == 1 { [0, 1] } else { [1, 0] }
}

/// Returns the numbers of senders and receivers of a channel.
pub(super) fn ends<S: Subject>(program: &Program<S>, channel: usize) -> [u32; 2] {
    let count = program.threads.len();
    let receivers = (0..count).filter(|me| receives(program.variant, *me, channel)).count();
    [(count - receivers) as u32, receivers as u32]
}

impl Subject for Selects {
    type Act = Act;
    const NAME: &'static str = "Selects";
    const IS_SAME_WITH_C11: bool = false;

    fn draw(numbers: &mut Numbers, thread: usize, _: u64) -> Act {
        let (at, by) = (numbers.below(2) as usize, numbers.one_of(&[1, 2, 3]));
        let is_biased = numbers.below(2) == 0;
        let select = |has_default| Act::Select { by, is_biased, has_default };
        let waits = if thread == 0 { select(false) } else { Act::Do(at, by) };
        numbers.one_of(&[waits, waits, select(true), select(true), Act::Try(at, by), Act::Drop(at)])
    }

    fn first(program: &Program<Self>) -> Self {
        let count = program.threads.len();
        let (capacities, _) = kind(program.variant);
        let channel = |at: usize| Channel {
            capacity: capacities[at],
            queue: Vec::new(),
            ends: ends(program, at),
            waiting: Default::default(),
        };
        let own = Own {
            has_end: [true, true],
            random: RANDOM,
            order: [0, 1],
            selected: Selected::Waiting,
            registered: 0,
            attempted: 0,
            ready: None,
            channel: 0,
        };
        Selects {
            variant: program.variant,
            channels: [channel(0), channel(1)],
            threads: vec![own; count],
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        if local.stage == NOTIFY {
            self.notify(me, self.threads[me].channel);
            return Some(true);
        }
        let has_end = self.threads[me].has_end;
        match act {
            Act::Drop(at) => self.hang_up(at, local),
            Act::Do(at, _) | Act::Try(at, _) if !has_end[at] => Some(local.see(NONE)),
            Act::Select { .. } if has_end != [true, true] => Some(local.see(NONE)),
            Act::Do(at, by) => self.run((&[at], by), (false, false), local),
            Act::Try(at, by) => match self.attempt(me, at, by) {
                Some(result) => self.complete(at, result, false, local),
                None => Some(local.see(HELD)),
            },
            Act::Select { by, is_biased, has_default } => {
                // The first attempt begins with the order.
                if local.kept == 0 {
                    let own = &mut self.threads[me];
                    (own.order, local.kept) = (order(is_biased, &mut own.random), 1);
                }
                let order = self.threads[me].order;
                self.run((&order, by), (true, has_default), local)
            }
        }
    }

    /// Drops the ends of the first channel, and then the ends of the second.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        local.stage -= 1;
        let at = local.kept as usize;
        if self.hang_up(at, local)? {
            local.stage = 0;
            local.kept += 1;
            return Some(at == 1);
        }
        Some(false)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        Vec::new()
    }

    fn execute(program: &Program<Self>) -> Outcome {
        execute_with(program, kind(program.variant).0)
    }
}

/// Executes a program over channels with these capacities.
pub(super) fn execute_with<S: Subject<Act = Act>>(
    program: &Program<S>,
    capacities: [usize; 2],
) -> Outcome {
    let variant = program.variant;
    let channels = capacities.map(|capacity| match capacity {
        UNBOUNDED => crossbeam_channel::unbounded(),
        capacity => crossbeam_channel::bounded(capacity),
    });
    let count = program.threads.len();
    let mut own: Vec<[End; 2]> = (0..count)
        .rev()
        .map(|me| {
            [0, 1].map(|at| {
                let (sender, receiver) = &channels[at];
                match receives(variant, me, at) {
                    true => End::Receiver(receiver.clone()),
                    false => End::Sender(sender.clone()),
                }
            })
        })
        .collect();
    drop(channels);
    let own = |_| own.pop().expect("ends for each thread");
    let outcome = execute_threads(program, (Arc::default(), own), |mut own, commands, words| {
        let seen = words.run_all(commands, |act| act_on(&mut own, act));
        let [first, second] = own;
        drop(first);
        drop(second);
        seen
    });
    Outcome { last: Vec::new(), ..outcome }
}

/// An end of a channel.
enum End {
    Sender(Sender<i64>),
    Receiver(Receiver<i64>),
    None,
}

fn act_on(own: &mut [End; 2], act: Act) -> Vec<i64> {
    let value = match act {
        Act::Drop(at) => {
            own[at] = End::None;
            return Vec::new();
        }
        Act::Do(at, by) => match &own[at] {
            End::Sender(sender) => sender.send(by).map_or(REFUSED, |()| 0),
            End::Receiver(receiver) => receiver.recv().unwrap_or(DISCONNECTED),
            End::None => NONE,
        },
        Act::Try(at, by) => match &own[at] {
            End::Sender(sender) => match sender.try_send(by) {
                Ok(()) => 0,
                Err(TrySendError::Full(_)) => HELD,
                Err(TrySendError::Disconnected(_)) => REFUSED,
            },
            End::Receiver(receiver) => match receiver.try_recv() {
                Ok(value) => value,
                Err(TryRecvError::Empty) => HELD,
                Err(TryRecvError::Disconnected) => DISCONNECTED,
            },
            End::None => NONE,
        },
        Act::Select { by, is_biased, has_default } => {
            let mut select = if is_biased { Select::new_biased() } else { Select::new() };
            for end in own.iter() {
                match end {
                    End::Sender(sender) => _ = select.send(sender),
                    End::Receiver(receiver) => _ = select.recv(receiver),
                    End::None => return vec![NONE],
                }
            }
            let operation = match has_default {
                true => match select.try_select() {
                    Ok(operation) => operation,
                    Err(_) => return vec![EMPTY],
                },
                false => select.select(),
            };
            let at = operation.index();
            let result = match &own[at] {
                End::Sender(sender) => operation.send(sender, by).map_or(REFUSED, |()| 0),
                End::Receiver(receiver) => operation.recv(receiver).unwrap_or(DISCONNECTED),
                End::None => unreachable!("checked above"),
            };
            return vec![at as i64, result];
        }
    };
    vec![value]
}
