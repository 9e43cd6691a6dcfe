//! File calls. In a run, a call has a point and then executes in one step on the disk of the run.
//! Outside of runs, it calls std.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::at::At;
use super::machine::{Effects, Machine};
use super::trouble::Befalls;
use crate::disk::{Call, Error};
use crate::run::event::Values;
use crate::run::op::clock;
use crate::run::op::fs;
use crate::run::op::{Access, Op};
use crate::seam::{self, Here, PlainCall, Timer, Wrapped};

/// Declares an operation that changes something.
pub(super) const fn acts(name: &'static str) -> Op {
    Op::of_kind(name, Access::Act, fs::ACT)
}

/// Declares an operation that only reads.
pub(super) const fn sees(name: &'static str) -> Op {
    Op::of_kind(name, Access::Read, fs::SEE)
}

/// The wait for a slow disk.
const BE_SERVED: Op = Op::of_kind("be_served", Access::Wait, clock::DUE);
const SET: Op = Op::of_kind("set", Access::Peek, clock::READ).quiet();

/// The state of a call. On a slow disk, a call waits before its point.
#[derive(Debug)]
pub(super) struct DiskCall {
    pub(super) plain: PlainCall,
    wait: Wait,
}

#[derive(Debug)]
enum Wait {
    /// The call was not polled yet.
    Unknown,
    For(Box<Timer>),
    Over,
}

impl DiskCall {
    pub(super) fn new(op: &'static Op, here: Here) -> DiskCall {
        DiskCall { plain: PlainCall::new(op, here), wait: Wait::Unknown }
    }

    /// Waits for the delay of a slow disk, if any.
    fn poll_wait(&mut self, machine: &Machine, here: Here, cx: &mut Context<'_>) -> Poll<()> {
        if let Wait::Unknown = self.wait {
            let timer = |time| Timer::new(&BE_SERVED, seam::deadline(&SET, time, here), here);
            let delay = machine.delay();
            self.wait = delay.map_or(Wait::Over, |time| Wait::For(Box::new(timer(time))));
        }
        if let Wait::For(timer) = &mut self.wait {
            ready!(timer.poll(cx));
            self.wait = Wait::Over;
        }
        Poll::Ready(())
    }
}

/// Executes a call on a machine of a run, at the point of the call.
pub(super) fn poll_on<R>(
    call: &mut DiskCall,
    (machine, life): (&Arc<Machine>, u64),
    (mark, path, here): (&Wrapped, &Path, Here),
    cx: &mut Context<'_>,
    act: impl FnOnce(&mut Call<'_>, &Befalls<'_>) -> Result<R, Error>,
    (shown, at): (impl FnOnce(&R) -> Option<u64>, Option<Arc<Wrapped>>),
) -> Poll<io::Result<R>> {
    ready!(call.poll_wait(machine, here, cx));
    let act = || machine.act(life, path, here, act);
    let values = |done: &(io::Result<R>, Effects)| match &done.0 {
        Ok(result) => shown(result).map_or(Values::None, Values::Read),
        Err(_) => Values::Failed,
    };
    let (result, effects) = ready!(call.plain.poll(mark, cx, act, values));
    call.wait = Wait::Unknown;
    machine.record(effects.at(at), here);
    Poll::Ready(result)
}

/// Makes a call with a path, on the machine of the calling code.
pub(super) fn by_path<R>(
    op: &'static Op,
    at: At,
    path: PathBuf,
    here: Here,
    mut act: impl FnMut(&mut Call<'_>) -> Result<R, Error> + Send,
    mut real: impl FnMut() -> io::Result<R> + Send,
) -> impl Future<Output = io::Result<R>> + Send {
    let mut call = DiskCall::new(op, here);
    let mut mark = None;
    poll_fn(move |cx| {
        let Some((machine, life)) = at.machine(here) else {
            return Poll::Ready(real());
        };
        let mark = mark.get_or_insert_with(|| machine.path(&path, here));
        let on = (&**mark, &*path, here);
        poll_on(&mut call, (machine, *life), on, cx, |call, _| act(call), (|_| None, None))
    })
}

/// Joins the two paths of a call into one text for screens.
pub(super) fn both(from: &Path, to: &Path) -> PathBuf {
    let mut text = from.as_os_str().to_owned();
    text.push(" → ");
    text.push(to);
    text.into()
}
