//! The order in which the branches of a combinator are polled. The order begins at a random branch, but the first poll
//! of a `join!` is in source order.

use crate::real::jitter;

/// The polling order of `N` branches.
#[derive(Debug)]
pub(crate) struct Turns<const N: usize> {
    biased: bool,
    /// True until the first poll of a `join!`.
    in_source_order: bool,
}

/// An empty type: no run reads the operations of a branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before;

impl<const N: usize> Turns<N> {
    /// Returns the order for the branches of `select!`.
    #[inline]
    pub(crate) fn select(biased: bool) -> Turns<N> {
        Turns { biased, in_source_order: false }
    }

    /// Returns the order for the branches of `join!`.
    #[inline]
    pub(crate) fn join(biased: bool) -> Turns<N> {
        Turns { biased, in_source_order: true }
    }

    /// Returns the branch to poll first. The later branches follow in source order, and then the
    /// earlier branches.
    #[inline]
    pub(crate) fn start(&mut self, _: &[bool; N]) -> usize {
        let in_source_order = std::mem::take(&mut self.in_source_order);
        if self.biased || in_source_order || N < 2 { 0 } else { jitter::turn(N as u64) as usize }
    }

    #[inline(always)]
    pub(crate) fn before_branch(&mut self) -> Before {
        Before
    }

    #[inline(always)]
    pub(crate) fn after_branch(&mut self, _: Before, _: Option<usize>) {}

    #[inline(always)]
    pub(crate) fn all_polled(&mut self) {}
}
