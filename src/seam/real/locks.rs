//! The gates of locks are empty in this build. The real lock behind each gate does the work.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Here;
use super::point::give_way;
use crate::real::jitter::jitter;
use crate::real::nameless::Object;
use crate::run::op::Op;

/// The scheduler's side of a lock; empty in this build.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) object: Object,
}

/// Permission to use a lock.
#[derive(Debug)]
pub(crate) struct Pass<'a>(PhantomData<&'a ()>);

impl Gate {
    pub(crate) fn new(_: &'static str, _: Here) -> Gate {
        Gate { object: Object }
    }

    #[inline(always)]
    pub(crate) fn enter(&self, _: &'static Op, _: Here) -> Enter<'_> {
        Enter(PhantomData)
    }

    /// Returns `Some`: only a scheduler could know that the lock is held.
    #[inline(always)]
    pub(crate) fn try_enter(&self, _: &'static Op, _: Here) -> TryEnter<'_> {
        TryEnter(PhantomData)
    }
}

impl<'a> Pass<'a> {
    /// Acquires the lock again after this pass has been dropped.
    pub(crate) fn enter_again(&self, _: &'static Op, _: Here) -> Enter<'a> {
        Enter(PhantomData)
    }
}

/// Waits until the lock is free and acquires it.
#[derive(Debug)]
pub(crate) struct Enter<'a>(PhantomData<&'a ()>);

impl<'a> Future for Enter<'a> {
    type Output = Pass<'a>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Pass<'a>> {
        if jitter() {
            return give_way(cx);
        }
        Poll::Ready(Pass(PhantomData))
    }
}

/// Acquires the lock if it is free.
#[derive(Debug)]
pub(crate) struct TryEnter<'a>(PhantomData<&'a ()>);

impl<'a> Future for TryEnter<'a> {
    type Output = Option<Pass<'a>>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Pass<'a>>> {
        if jitter() {
            return give_way(cx);
        }
        Poll::Ready(Some(Pass(PhantomData)))
    }
}
