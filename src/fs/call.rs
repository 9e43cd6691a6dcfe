//! The way of a call: its point, then its step on the disk of the run, or std's call outside of runs.

use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::faults::Faults;
use super::machine::{At, Effects, Machine};
use crate::disk::{Call, Error};
use crate::run::event::Values;
use crate::run::op::fs;
use crate::run::op::{Access, Op};
use crate::seam::{Here, PlainCall, Wrapped};

/// An operation that changes something.
pub(super) const fn acts(name: &'static str) -> Op {
    Op::of_kind(name, Access::Act, fs::ACT)
}

/// An operation that reads.
pub(super) const fn sees(name: &'static str) -> Op {
    Op::of_kind(name, Access::Read, fs::SEE)
}

/// Does a call on a machine of a run, in its turn.
pub(super) fn poll_on<R>(
    call: &mut PlainCall,
    (machine, life): (&Arc<Machine>, u64),
    (mark, path, here): (&Wrapped, &Path, Here),
    cx: &mut Context<'_>,
    act: impl FnOnce(&mut Call<'_>, &Faults) -> Result<R, Error>,
    (shown, at): (impl FnOnce(&R) -> Option<u64>, Option<Arc<Wrapped>>),
) -> Poll<io::Result<R>> {
    let act = || machine.act(life, path, here, act);
    let values = |done: &(io::Result<R>, Effects)| match &done.0 {
        Ok(result) => shown(result).map_or(Values::None, Values::Read),
        Err(_) => Values::Failed,
    };
    let (result, effects) = ready!(call.poll(mark, cx, act, values));
    machine.record(effects.at(at), here);
    Poll::Ready(result)
}

/// A call by path, on the machine of the code that makes it.
pub(super) fn by_path<R>(
    op: &'static Op,
    at: At,
    path: PathBuf,
    here: Here,
    mut act: impl FnMut(&mut Call<'_>) -> Result<R, Error> + Send,
    mut real: impl FnMut() -> io::Result<R> + Send,
) -> impl Future<Output = io::Result<R>> + Send {
    let mut call = PlainCall::new(op, here);
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

/// The paths of a call with two, as screens show them.
pub(super) fn both(from: &Path, to: &Path) -> PathBuf {
    let mut text = from.as_os_str().to_owned();
    text.push(" → ");
    text.push(to);
    text.into()
}
