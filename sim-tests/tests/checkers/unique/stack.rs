//! The engine for stacks.

use sim::check::Model;
use sim::check::models::{Stack, StackOp, StackRet};
use sim::check::unique::{Action, Plain};

use super::collections::{self, Collection};

impl Collection for Stack {
    const ENGINE: &'static str = "unique stack";
    const LOOKS: bool = false;
    const RANKS: bool = false;

    fn holding(items: &[u64]) -> Self {
        items.iter().copied().collect()
    }
    fn put(item: u64) -> StackOp {
        StackOp::Push(item)
    }
    fn done() -> StackRet {
        StackRet::Done
    }
    fn take() -> StackOp {
        StackOp::Pop
    }
    fn look() -> StackOp {
        unreachable!("a stack has no look")
    }
    fn item(item: Option<u64>) -> StackRet {
        StackRet::Item(item)
    }
    fn puts(op: &StackOp) -> Option<u64> {
        match op {
            StackOp::Push(item) => Some(*item),
            StackOp::Pop => None,
        }
    }
    fn got(ret: &StackRet) -> Option<u64> {
        match ret {
            StackRet::Item(item) => *item,
            StackRet::Done => None,
        }
    }
}

#[test]
fn all_short_histories_are_judged_right() {
    collections::all_short_histories::<Stack>();
}

#[test]
fn random_histories_are_judged_right() {
    collections::random_histories::<Stack>(false);
}

#[test]
fn random_histories_with_operations_that_never_returned_are_judged_right() {
    collections::random_histories::<Stack>(true);
}

#[test]
fn long_histories_need_no_search() {
    collections::long_histories::<Stack>();
}

/// A stack with an operation that reads the top.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Seen(Vec<u64>);

#[derive(Clone, PartialEq, Debug)]
enum SeenOp {
    Push(u64),
    Pop,
    Top,
}

impl Model for Seen {
    type Op = SeenOp;
    type Ret = StackRet;

    fn step(&mut self, op: &SeenOp) -> StackRet {
        match op {
            SeenOp::Push(item) => {
                self.0.push(*item);
                StackRet::Done
            }
            SeenOp::Pop => StackRet::Item(self.0.pop()),
            SeenOp::Top => StackRet::Item(self.0.last().copied()),
        }
    }

    fn observes(op: &SeenOp, ret: &StackRet) -> bool {
        *op == SeenOp::Top || *ret == StackRet::Item(None)
    }

    /// Like [`Stack`], with the looks inserted.
    fn plain<'a>(
        &self,
        calls: &mut dyn Iterator<Item = (&'a SeenOp, Option<&'a StackRet>)>,
    ) -> Option<Plain> {
        let calls: Vec<_> = calls.collect();
        let alike = |op: &SeenOp| match op {
            SeenOp::Push(item) => StackOp::Push(*item),
            SeenOp::Pop | SeenOp::Top => StackOp::Pop,
        };
        let ops: Vec<StackOp> = calls.iter().map(|(op, _)| alike(op)).collect();
        let stack: Stack = self.0.iter().copied().collect();
        let mut alike = ops.iter().zip(&calls).map(|(op, (_, ret))| (op, *ret));
        let mut plain = stack.plain(&mut alike)?;
        for (action, (op, _)) in plain.actions.iter_mut().zip(calls) {
            if *op == SeenOp::Top {
                *action = match *action {
                    Action::Take(item) => Action::Peek(item),
                    Action::TakeUnknown => Action::Nothing,
                    other => other,
                };
            }
        }
        Some(plain)
    }
}

impl Collection for Seen {
    const ENGINE: &'static str = "unique stack";
    const LOOKS: bool = true;
    const RANKS: bool = false;

    fn holding(items: &[u64]) -> Self {
        Seen(items.to_vec())
    }
    fn put(item: u64) -> SeenOp {
        SeenOp::Push(item)
    }
    fn done() -> StackRet {
        StackRet::Done
    }
    fn take() -> SeenOp {
        SeenOp::Pop
    }
    fn look() -> SeenOp {
        SeenOp::Top
    }
    fn item(item: Option<u64>) -> StackRet {
        StackRet::Item(item)
    }
    fn puts(op: &SeenOp) -> Option<u64> {
        match op {
            SeenOp::Push(item) => Some(*item),
            SeenOp::Pop | SeenOp::Top => None,
        }
    }
    fn got(ret: &StackRet) -> Option<u64> {
        Stack::got(ret)
    }
}

#[test]
fn a_stack_that_can_be_looked_at_is_judged_right() {
    collections::random_histories::<Seen>(false);
    collections::random_histories::<Seen>(true);
}
