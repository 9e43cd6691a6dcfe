//! Functions that generate each act with random arguments.

use super::Maker;
use crate::acts::program::{Act, Effect};

pub(super) fn load(maker: &mut Maker<'_>) -> Act {
    Act::Load(maker.word())
}

pub(super) fn store(maker: &mut Maker<'_>) -> Act {
    Act::Store(maker.word(), maker.value())
}

pub(super) fn swap(maker: &mut Maker<'_>) -> Act {
    Act::Swap(maker.word(), maker.value())
}

pub(super) fn add(maker: &mut Maker<'_>) -> Act {
    Act::Add(maker.atomic())
}

pub(super) fn max(maker: &mut Maker<'_>) -> Act {
    Act::Max(maker.atomic(), maker.value())
}

pub(super) fn exchange(maker: &mut Maker<'_>) -> Act {
    Act::Exchange(maker.atomic(), maker.value(), maker.value())
}

pub(super) fn store_drawn(maker: &mut Maker<'_>) -> Act {
    Act::StoreDrawn(maker.word(), 2)
}

pub(super) fn lock(maker: &mut Maker<'_>) -> Act {
    Act::Lock(maker.lock())
}

pub(super) fn try_lock(maker: &mut Maker<'_>) -> Act {
    Act::TryLock(maker.lock())
}

pub(super) fn unlock(_: &mut Maker<'_>) -> Act {
    Act::Unlock
}

pub(super) fn spin(maker: &mut Maker<'_>) -> Act {
    match maker.rng.below(6) {
        0 => Act::SpinEither(maker.value(), maker.value()),
        1 => Act::SpinBoth(maker.value(), maker.value()),
        2 => Act::SpinExchange(maker.atomic(), maker.value(), maker.value()),
        _ => Act::Spin(maker.word(), maker.value()),
    }
}

pub(super) fn spin_try(maker: &mut Maker<'_>) -> Act {
    Act::SpinTry(maker.lock())
}

pub(super) fn yields(_: &mut Maker<'_>) -> Act {
    Act::Yield
}

pub(super) fn draw(_: &mut Maker<'_>) -> Act {
    Act::Draw(2)
}

pub(super) fn skip(maker: &mut Maker<'_>) -> Act {
    Act::SkipIf(maker.value(), 1 + maker.value())
}

pub(super) fn panic(_: &mut Maker<'_>) -> Act {
    Act::Panic
}

pub(super) fn join(maker: &mut Maker<'_>) -> Act {
    maker.takes_handle(Act::Join)
}

pub(super) fn poll(maker: &mut Maker<'_>) -> Act {
    maker.takes_handle(Act::Poll)
}

pub(super) fn poll_join(maker: &mut Maker<'_>) -> Act {
    maker.takes_handle(Act::PollJoin)
}

pub(super) fn abort(maker: &mut Maker<'_>) -> Act {
    maker.on_handle(Act::Abort)
}

pub(super) fn look(maker: &mut Maker<'_>) -> Act {
    maker.on_handle(Act::Look)
}

pub(super) fn detach(maker: &mut Maker<'_>) -> Act {
    maker.takes_handle(Act::Detach)
}

pub(super) fn dropped(maker: &mut Maker<'_>) -> Act {
    let of = [load, store, add, lock, try_lock, spin, yields];
    let at = maker.rng.below(of.len() as u64) as usize;
    Act::Drop(Box::new(of[at](maker)))
}

pub(super) fn node(maker: &mut Maker<'_>) -> Act {
    Act::Node(maker.node())
}

pub(super) fn find(maker: &mut Maker<'_>) -> Act {
    Act::Find(maker.node())
}

pub(super) fn addr(maker: &mut Maker<'_>) -> Act {
    Act::Addr(maker.node())
}

pub(super) fn life(maker: &mut Maker<'_>) -> Act {
    Act::Life(maker.node())
}

pub(super) fn kill(maker: &mut Maker<'_>) -> Act {
    Act::Kill(maker.node())
}

pub(super) fn restart(maker: &mut Maker<'_>) -> Act {
    Act::Restart(maker.node())
}

pub(super) fn race(maker: &mut Maker<'_>) -> Act {
    maker.pieces(Act::Race)
}

pub(super) fn both(maker: &mut Maker<'_>) -> Act {
    maker.pieces(Act::Both)
}

pub(super) fn woken(maker: &mut Maker<'_>) -> Act {
    maker.pieces(Act::Woken)
}

pub(super) fn defer(maker: &mut Maker<'_>) -> Act {
    match maker.rng.below(8) {
        0 => Act::Defer(Effect::Draw(2)),
        1 => Act::Defer(Effect::Panic),
        2 | 3 => maker.on_handle(|target| Act::Defer(Effect::Look(target))),
        _ => maker.on_handle(|target| Act::Defer(Effect::Abort(target))),
    }
}

pub(super) fn call(maker: &mut Maker<'_>) -> Act {
    if maker.calls == 4 {
        return load(maker);
    }
    maker.calls += 1;
    let words = [vec![0], vec![0], vec![1], vec![0, 1], vec![1, 0]];
    let words = words[maker.rng.below(5) as usize].clone();
    // The value is unique, so the result of a read identifies its write. If a call is dropped before its first access,
    // it may have taken effect according to the library, but not according to the interpreter. The two results are
    // equivalent, because no read returns the written value.
    let write = (maker.rng.below(2) == 0).then_some(20 * maker.calls);
    // A call in a piece cannot be explicit, because the next access of its task may belong to the other piece.
    let explicit = maker.depth == 0 && maker.rng.below(2) == 0;
    Act::Call { explicit, write, words }
}
