//! `Arc` and `Weak`: the counts, the ends that return the value (`try_unwrap`, `into_inner`), `get_mut`, and the
//! destructor of the value. The counts are points.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Arc, Weak};

use super::super::model::{HELD, NONE, Outcome};
use super::super::program::Numbers;
use super::subject::{Local, Program, Subject, execute_threads};

/// A command on the references of the thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    Clone,
    Drop,
    /// Returns the value if the reference is the only one. Otherwise the thread keeps it.
    TryUnwrap,
    /// Returns the value if the reference is the last one.
    IntoInner,
    /// Adds to the value if the reference is the only one of any kind.
    GetMut(i64),
    /// Reads the value.
    Peek,
    Count,
    WeakCount,
    Downgrade,
    Upgrade,
    WeakClone,
    WeakDrop,
    /// The number of strong references, by a weak one.
    CountByWeak,
    /// Reads the sum of the values that were dropped.
    Dropped,
}

/// The number of weak references while `get_mut` looks at the other number.
const LOCKED: i64 = -1;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Owners {
    strong: i64,
    weak: i64,
    value: i64,
    dropped: i64,
    /// The references of the threads.
    own: Vec<(i64, i64)>,
}

/// The first stages of the end of the last strong reference, with and without the value as result.
const LAST: u32 = 10;
const TAKEN: u32 = 20;

impl Owners {
    /// Performs an effect after the end of the last strong reference. Returns `true` after the last effect.
    fn end_value(&mut self, local: &mut Local) -> bool {
        match local.stage {
            LAST => self.dropped += self.value,
            TAKEN => self.weak -= 1,
            _ if local.stage > TAKEN => self.dropped += self.value,
            _ => self.weak -= 1,
        }
        let is_over = local.stage == LAST + 1 || local.stage == TAKEN + 1;
        local.stage += 1;
        is_over
    }

    /// Drops a strong reference.
    fn drop_one(&mut self, local: &mut Local) -> Option<bool> {
        self.own[local.me].0 -= 1;
        self.strong -= 1;
        if self.strong == 0 { local.go_to(LAST) } else { Some(true) }
    }
}

impl Subject for Owners {
    type Act = Act;
    const NAME: &'static str = "Owners";
    const IS_SAME_WITH_C11: bool = false;
    const COUNTS: bool = true;

    fn draw(numbers: &mut Numbers, _: usize, variant: u64) -> Act {
        let by = numbers.one_of(&[1, 2, 3]);
        let by_kind: [Act; 4] = match variant % 4 {
            0 => [Act::TryUnwrap, Act::Drop, Act::Dropped, Act::TryUnwrap],
            1 => [Act::IntoInner, Act::IntoInner, Act::Dropped, Act::Count],
            2 => [Act::GetMut(by), Act::GetMut(by), Act::Downgrade, Act::WeakDrop],
            _ => [Act::Upgrade, Act::WeakDrop, Act::WeakCount, Act::CountByWeak],
        };
        match numbers.below(6) {
            0 => numbers.one_of(&[Act::Clone, Act::Downgrade, Act::WeakClone, Act::WeakCount]),
            1 => numbers.one_of(&[Act::Drop, Act::WeakDrop, Act::Upgrade, Act::CountByWeak]),
            2 => numbers.one_of(&[Act::TryUnwrap, Act::IntoInner, Act::GetMut(by), Act::Peek]),
            _ => numbers.one_of(&by_kind),
        }
    }

    fn first(program: &Program<Self>) -> Self {
        let count = program.threads.len() as i64;
        Owners {
            strong: count,
            // All strong references have one weak reference.
            weak: count + 1,
            value: 1,
            dropped: 0,
            own: vec![(1, 1); program.threads.len()],
        }
    }

    fn step(&mut self, act: Act, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        let me = local.me;
        let (strong, weak) = self.own[me];
        let has_reference = match act {
            Act::Upgrade | Act::WeakClone | Act::WeakDrop | Act::CountByWeak => weak > 0,
            Act::Dropped => true,
            _ => strong > 0,
        };
        match (act, local.stage) {
            (_, 0) if !has_reference => Some(local.see(NONE)),
            (Act::Drop | Act::TryUnwrap | Act::IntoInner, stage) if stage >= LAST => {
                let is_over = self.end_value(local);
                local.go_to(local.stage);
                Some(is_over)
            }
            (Act::Clone, _) => {
                self.strong += 1;
                self.own[me].0 += 1;
                Some(true)
            }
            (Act::Drop, _) => self.drop_one(local),
            (Act::TryUnwrap, _) if self.strong > 1 => Some(local.see(HELD)),
            (Act::TryUnwrap | Act::IntoInner, _) => {
                self.own[me].0 -= 1;
                self.strong -= 1;
                if self.strong > 0 {
                    return Some(local.see(NONE));
                }
                local.see(self.value);
                local.go_to(TAKEN)
            }
            (Act::GetMut(_), 0) if self.weak != 1 => Some(local.see(HELD)),
            (Act::GetMut(_), 0) => {
                self.weak = LOCKED;
                Some(false)
            }
            (Act::GetMut(_), 1) => {
                local.kept = (self.strong == 1).into();
                Some(false)
            }
            (Act::GetMut(by), _) => {
                self.weak = 1;
                if local.kept == 0 {
                    return Some(local.see(HELD));
                }
                self.value += by;
                Some(local.see(self.value))
            }
            (Act::Peek, _) => Some(local.see(self.value)),
            (Act::Count | Act::CountByWeak, _) => Some(local.see(self.strong)),
            (Act::WeakCount, _) => {
                Some(local.see(if self.weak == LOCKED { 0 } else { self.weak - 1 }))
            }
            (Act::Downgrade, _) => {
                (self.weak != LOCKED).then_some(())?;
                self.weak += 1;
                self.own[me].1 += 1;
                Some(true)
            }
            (Act::Upgrade, _) if self.strong == 0 => Some(local.see(NONE)),
            (Act::Upgrade, _) => {
                self.strong += 1;
                self.own[me].0 += 1;
                Some(local.see(1))
            }
            (Act::WeakClone, _) => {
                self.weak += 1;
                self.own[me].1 += 1;
                Some(true)
            }
            (Act::WeakDrop, _) => {
                self.weak -= 1;
                self.own[me].1 -= 1;
                Some(true)
            }
            (Act::Dropped, _) => Some(local.see(self.dropped)),
        }
    }

    /// Drops the strong references, and then the weak ones.
    fn end(&mut self, local: &mut Local, _: &mut [i64; 2]) -> Option<bool> {
        local.stage -= 1;
        if local.stage >= LAST {
            let is_over = self.end_value(local);
            local.stage = if is_over { 0 } else { local.stage };
            return Some(false);
        }
        let (strong, weak) = self.own[local.me];
        if strong > 0 {
            self.drop_one(local)?;
        } else if weak > 0 {
            self.weak -= 1;
            self.own[local.me].1 -= 1;
        }
        Some(strong == 0 && weak == 0)
    }

    fn last(&self, _: [i64; 2]) -> Vec<i64> {
        vec![self.dropped]
    }

    fn execute(program: &Program<Self>) -> Outcome {
        let mut references = vec![Arc::new(Value(1)); program.threads.len()];
        let weak = vec![Arc::downgrade(&references[0]); program.threads.len()];
        let own = weak.into_iter().map(|weak| Own {
            strong: vec![references.pop().expect("one for each thread")],
            weak: vec![weak],
        });
        let mut own: Vec<_> = own.rev().collect();
        let own = |_| own.pop().expect("one for each thread");
        let outcome =
            execute_threads(program, (Arc::default(), own), |mut own, commands, words| {
                let seen = words.run(commands, |act| own.act(act));
                while let Some(reference) = own.strong.pop() {
                    drop(reference);
                }
                while let Some(reference) = own.weak.pop() {
                    drop(reference);
                }
                seen
            });
        Outcome { last: vec![DROPPED.load(SeqCst)], ..outcome }
    }
}

/// The sum of the values that were dropped.
static DROPPED: AtomicI64 = AtomicI64::new(0);

struct Value(i64);

impl Drop for Value {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, SeqCst);
    }
}

/// The references of a thread.
struct Own {
    strong: Vec<Arc<Value>>,
    weak: Vec<Weak<Value>>,
}

impl Own {
    fn act(&mut self, act: Act) -> Option<i64> {
        let Own { strong, weak } = self;
        match act {
            Act::Dropped => return Some(DROPPED.load(SeqCst)),
            Act::Upgrade | Act::WeakClone | Act::WeakDrop | Act::CountByWeak => {
                let Some(first) = weak.last() else { return Some(NONE) };
                match act {
                    Act::CountByWeak => return Some(first.strong_count() as i64),
                    Act::WeakClone => weak.push(first.clone()),
                    Act::WeakDrop => drop(weak.pop()),
                    _ => {
                        let Some(reference) = first.upgrade() else { return Some(NONE) };
                        strong.push(reference);
                        return Some(1);
                    }
                }
                return None;
            }
            _ => {}
        }
        let Some(first) = strong.last_mut() else { return Some(NONE) };
        match act {
            Act::Clone => {
                let other = first.clone();
                strong.push(other);
            }
            Act::Drop => drop(strong.pop()),
            Act::TryUnwrap => {
                return match Arc::try_unwrap(strong.pop()?) {
                    Ok(value) => Some(value.0),
                    Err(reference) => {
                        strong.push(reference);
                        Some(HELD)
                    }
                };
            }
            Act::IntoInner => {
                return Some(Arc::into_inner(strong.pop()?).map_or(NONE, |value| value.0));
            }
            Act::GetMut(by) => {
                let value = Arc::get_mut(first).map(|value| {
                    value.0 += by;
                    value.0
                });
                return Some(value.unwrap_or(HELD));
            }
            Act::Peek => return Some(first.0),
            Act::Count => return Some(Arc::strong_count(first) as i64),
            Act::WeakCount => return Some(Arc::weak_count(first) as i64),
            _ => weak.push(Arc::downgrade(first)),
        }
        None
    }
}
