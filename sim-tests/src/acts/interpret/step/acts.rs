//! The effects of the acts.

use super::{Answer, Flow, Lane, Step};
use crate::acts::interpret::JOIN_IS_A_POINT;
use crate::acts::interpret::state::{Item, NodeState};
use crate::acts::program::{Act, Effect, End, WORDS};

impl Step<'_, '_> {
    /// Makes a fiber perform its current act, from its current progress.
    pub(super) fn act(&mut self, lane: Lane, act: &Act) -> Flow {
        match act {
            Act::Load(word) => self.access(lane, *word, |old| (None, Some(old))),
            Act::Store(word, value) => {
                if !self.point(lane) {
                    return Flow::Waits;
                }
                self.write(*word, *value);
                Flow::Done
            }
            Act::StoreDrawn(word, bound) => {
                // The value is drawn before the operation is announced.
                if !self.fiber(lane).unwrap().announced {
                    let value = self.draws.draw(*bound);
                    self.fiber_mut(lane).unwrap().stage = value;
                }
                if !self.point(lane) {
                    return Flow::Waits;
                }
                let value = self.fiber(lane).unwrap().stage;
                self.write(*word, value);
                Flow::Done
            }
            Act::Swap(word, value) => self.access(lane, *word, |old| (Some(*value), Some(old))),
            Act::Add(word) => self.access(lane, *word, |old| (Some(old + 1), Some(old))),
            Act::Max(word, value) => {
                self.access(lane, *word, |old| (Some(old.max(*value)), Some(old)))
            }
            Act::Exchange(word, from, to) => {
                self.access(lane, *word, |old| ((old == *from).then_some(*to), Some(old)))
            }

            Act::Lock(lock) => {
                // Another branch of this task may have acquired the lock in this very step.
                if self.state.held[*lock] {
                    self.fiber_mut(lane).unwrap().turn = false;
                }
                if !self.point(lane) {
                    return Flow::Waits;
                }
                Flow::Saw(self.acquire(lane, *lock))
            }
            Act::TryLock(lock) => {
                if !self.point(lane) {
                    return Flow::Waits;
                }
                match self.state.held[*lock] {
                    true => Flow::Saw(0),
                    false => Flow::Saw(1 + self.acquire(lane, *lock)),
                }
            }
            Act::Unlock => {
                let items = &mut self.fiber_mut(lane).unwrap().items;
                if let Some(at) = items.iter().rposition(|item| matches!(item, Item::Guard(_))) {
                    let item = items.remove(at);
                    self.release_item(item);
                }
                Flow::Done
            }

            Act::Spin(word, value) => self.ask(lane, |step, _| step.looks(lane, *word, *value)),
            Act::SpinEither(one, two) => self.ask(lane, |step, stage| match stage {
                0 => match step.looks(lane, 0, *one) {
                    Answer::No => Answer::More,
                    answer => answer,
                },
                _ => step.looks(lane, 1, *two),
            }),
            Act::SpinBoth(one, two) => self.ask(lane, |step, stage| match stage {
                0 => match step.looks(lane, 0, *one) {
                    Answer::Yes => Answer::More,
                    answer => answer,
                },
                _ => step.looks(lane, 1, *two),
            }),
            Act::SpinExchange(word, from, to) => self.ask(lane, |step, _| {
                let answer = step.looks(lane, *word, *from);
                if let Answer::Yes = answer {
                    step.replace(*word, *to);
                }
                answer
            }),
            Act::SpinTry(lock) => self.ask(lane, |step, _| {
                step.fiber_mut(lane).unwrap().spin.seen |= 1 << (WORDS + lock);
                if step.state.held[*lock] {
                    return Answer::No;
                }
                // The lock was acquired and released within the step, so a held waiter evaluates its condition again.
                step.changed(WORDS + lock);
                Answer::Yes
            }),

            Act::Yield => {
                if self.point(lane) {
                    Flow::Done
                } else {
                    Flow::Waits
                }
            }
            Act::Draw(bound) => Flow::Saw(self.draws.draw(*bound)),
            Act::SkipIf(..) => Flow::Done,
            Act::Panic => self.panic(),

            Act::Spawn(child, gives) => {
                let mut given = 0;
                for target in gives {
                    given |= self.give_up(*target);
                }
                self.spawn(*child, given);
                Flow::Done
            }
            Act::Join(target) => {
                if !self.fiber(lane).unwrap().announced && self.give_up(*target) == 0 {
                    return Flow::Done;
                }
                self.join(lane, *target)
            }
            Act::Poll(target) => {
                if self.give_up(*target) == 0 {
                    return Flow::Done;
                }
                if JOIN_IS_A_POINT || !self.state.has_ended(*target) {
                    return Flow::Saw(0);
                }
                Flow::Saw(1 + self.joined(*target))
            }
            Act::PollJoin(target) => {
                let fiber = self.fiber(lane).unwrap();
                if fiber.stage == 0 {
                    if !fiber.announced {
                        if self.give_up(*target) == 0 {
                            return Flow::Done;
                        }
                        if !JOIN_IS_A_POINT && self.state.has_ended(*target) {
                            return Flow::Saw(self.joined(*target));
                        }
                    }
                    // This point is the yield. The join is announced together with the yield.
                    if !self.point(lane) {
                        return Flow::Waits;
                    }
                    let ended = self.state.has_ended(*target);
                    let fiber = self.fiber_mut(lane).unwrap();
                    fiber.stage = 1;
                    fiber.announced = true;
                    fiber.turn = ended;
                }
                self.join(lane, *target)
            }
            Act::Abort(target) => {
                self.effect(lane, Effect::Abort(*target));
                Flow::Done
            }
            Act::Look(target) => {
                self.effect(lane, Effect::Look(*target));
                Flow::Done
            }
            Act::Detach(target) => {
                self.give_up(*target);
                Flow::Done
            }
            // The operation is announced and then cancelled, so it has no effect.
            Act::Drop(_) => Flow::Done,

            Act::Node(name) => {
                if self.state.nodes[*name].is_some() {
                    self.state.over = Some(End::Refused(self.task));
                    return Flow::Over;
                }
                let number = 1 + self.state.nodes.iter().flatten().count() as u8;
                self.state.nodes[*name] = Some(NodeState { number, life: 1, is_up: true });
                Flow::Done
            }
            Act::Find(name) => Flow::Saw(u8::from(self.state.nodes[*name].is_some())),
            Act::Addr(name) => Flow::Saw(self.state.nodes[*name].map_or(0, |node| node.number)),
            Act::Life(name) => {
                let seen = |node: NodeState| 2 * node.life + u8::from(node.is_up);
                Flow::Saw(self.state.nodes[*name].map_or(0, seen))
            }
            Act::Kill(name) => {
                if let Some(node) = &mut self.state.nodes[*name] {
                    node.is_up = false;
                }
                Flow::Done
            }
            Act::Restart(name) => {
                if let Some(node) = &mut self.state.nodes[*name] {
                    (node.life, node.is_up) = (node.life + 1, true);
                }
                Flow::Done
            }

            Act::Race(..) | Act::Both(..) => self.branches(lane, matches!(act, Act::Race(..))),
            Act::Woken(..) => unreachable!("the order in which branches are woken is not modelled"),

            Act::Defer(effect) => {
                self.fiber_mut(lane).unwrap().items.push(Item::Defer(*effect));
                Flow::Done
            }
            Act::Call { write, words, .. } => self.call(lane, *write, words),
        }
    }
}
