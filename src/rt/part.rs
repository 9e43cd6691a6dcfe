//! The parts of a run: everything that a run may contain besides its core. The core consists of tasks, points, steps,
//! memory and locks.
//!
//! The core names no part. A part is a type in its own file: the state of the part in a run. The same file contains the
//! functions of [`World`] and [`RunState`] by which primitives and other parts use it. A row in the list of `mod.rs`
//! adds the part to every run. The core calls it at these moments:
//!
//! | moment | functions |
//! |---|---|
//! | a run begins | [`begin`](Part::begin), [`begin_body`](Part::begin_body) |
//! | a task is spawned | [`spawned`](Part::spawned) |
//! | a step is left with [work](RunState::needs_work) to do | [`look`](Part::look), [`leave`](Part::leave), [`settle`](Part::settle) |
//! | an operation that waited is retracted | [`retracted`](Part::retracted) |
//! | no task can step | [`unblock`](Part::unblock) |
//! | an operation is announced in a run with fewer points | [`fuses`](Part::fuses) |
//! | a task ends | [`end_task`](Part::end_task) |
//! | the run ends | [`judge`](Part::judge), [`end`](Part::end) |
//!
//! A run *uses* a part after it has first changed the state of the part. The core calls only parts that the run uses,
//! so an unused part costs nothing: see [`RunState::uses_any`].

use super::Parts;
use super::object::AnnouncementId;
use super::state::RunState;
use super::worker::RunLimits;
use super::world::World;
use crate::run::ids::{ObjectId, Place, TaskId};
use crate::run::op::Op;

/// A part of a run. A value of this type is the state of the part, which has the default value at the start of a run.
///
/// Functions with an argument `&World` may call user code. The others are called while the state is borrowed.
pub(super) trait Part: Default {
    /// Removes the state of the previous run, which used the part. May keep allocations.
    fn forget(&mut self);

    /// Called when a run with these limits begins. This moment is for all parts, because no run uses a part yet.
    fn begin(_: &mut RunState, _: &RunLimits) {}

    /// Called when the body of the test begins its first step, if the part has work to do. The part may spawn tasks as
    /// children of the body.
    fn begin_body(_: &World) {}

    /// Called when the current task has spawned a task at this place.
    fn spawned(_: &World, _: TaskId, _: Place) {}

    /// Called when a step ends. The thread still stores its announcement, if any.
    fn look(_: &World) {}

    /// Called when a step ends. Events that the part records here still get the number of this step.
    fn leave(_: &mut RunState) {}

    /// Called when a step has ended, and the waiters of its locks are up to date. The part may enable and disable other
    /// announcements, and fail the run. If it [needs to work](RunState::needs_work) after the next step, too, it must
    /// request this here.
    fn settle(_: &mut RunState) {}

    /// Called when an announcement with [`Access::Wait`](crate::run::op::Access::Wait) is retracted: its operation, on
    /// this object at this place, is done or cancelled.
    fn retracted(_: &mut RunState, _: AnnouncementId, _: (Option<ObjectId>, Place)) {}

    /// Called before an announcement of the current task is retracted because its future is dropped.
    fn given_up(_: &mut RunState, _: AnnouncementId) {}

    /// Called when no task can step. The part may enable a task, or end the run as passed. Otherwise the run fails as
    /// stuck.
    fn unblock(_: &mut RunState) {}

    /// Returns `true` if [`end_task`](Self::end_task) has work for a task of the run.
    fn has_ends(&self) -> bool {
        false
    }

    /// Returns `true` if an operation of the current task takes effect at once, without a point. Called only if the
    /// part has set [`RunState::fuses`].
    fn fuses(_: &mut RunState, _: &'static Op, _: Place) -> bool {
        false
    }

    /// Called when a task ends. The task is the current task.
    fn end_task(_: &World, _: TaskId) {}

    /// Called when the run has no further step, and its tasks are not dropped yet. The part may fail the run.
    fn judge(_: &mut RunState) {}

    /// Called when all tasks of the run are dropped. Values of users must not outlive this call.
    fn end(_: &World) {}
}

/// A part with its position in the list.
pub(super) trait Listed: Part {
    /// The bit that identifies the part.
    const BIT: u32;

    fn of(parts: &Parts) -> &Self;
    fn of_mut(parts: &mut Parts) -> &mut Self;
}

impl Parts {
    /// Returns the state of a part.
    #[inline(always)]
    pub(super) fn get<P: Listed>(&self) -> &P {
        P::of(self)
    }

    /// Returns the state of a part for changes: the run uses the part from now on.
    #[inline(always)]
    pub(super) fn get_mut<P: Listed>(&mut self) -> &mut P {
        self.used |= P::BIT;
        P::of_mut(self)
    }
}

#[cfg(test)]
impl Parts {
    /// Returns the parts that the run uses, as bits in the order of the list.
    pub(super) fn used_bits(&self) -> u32 {
        self.used
    }
}

impl RunState {
    /// Returns `true` if the run uses this part.
    #[inline(always)]
    pub(super) fn uses<P: Listed>(&self) -> bool {
        self.parts.used & P::BIT != 0
    }

    /// Returns `true` if the run uses any part.
    #[inline(always)]
    pub(super) fn uses_any(&self) -> bool {
        self.parts.used != 0
    }
}

impl World {
    /// Returns `true` if the run uses this part.
    #[inline(always)]
    pub(super) fn uses<P: Listed>(&self) -> bool {
        self.unsettled().uses::<P>()
    }

    /// Returns `true` if the run uses any part.
    #[inline(always)]
    pub(super) fn uses_any(&self) -> bool {
        self.unsettled().uses_any()
    }
}

/// Defines [`Parts`], with the state of each part in this list (`file: Type`), and one function per moment. This
/// function calls the parts that the run uses, in list order.
macro_rules! parts {
    ($($file:ident: $Part:ident,)*) => {
        /// The states of all parts of a run.
        #[derive(Default)]
        pub(super) struct Parts {
            /// The parts that the run uses, as bits.
            used: u32,
            $($file: self::parts::$file::$Part,)*
        }

        /// The position of each part in the list.
        #[allow(non_camel_case_types)]
        enum Nth { $($file,)* }

        $(impl self::part::Listed for self::parts::$file::$Part {
            const BIT: u32 = 1 << Nth::$file as u32;

            #[inline(always)]
            fn of(parts: &Parts) -> &Self {
                &parts.$file
            }

            #[inline(always)]
            fn of_mut(parts: &mut Parts) -> &mut Self {
                &mut parts.$file
            }
        })*

        impl Parts {
            /// Begins a run with these limits in all parts.
            #[inline]
            pub(super) fn begin(state: &mut self::state::RunState, limits: &RunLimits) {
                if state.uses_any() {
                    state.parts.forget();
                }
                $(<self::parts::$file::$Part as self::part::Part>::begin(state, limits);)*
            }

            /// Removes the state of the previous run.
            #[cold]
            fn forget(&mut self) {
                $(if self.used & <self::parts::$file::$Part as self::part::Listed>::BIT != 0 {
                    self::part::Part::forget(&mut self.$file);
                })*
                self.used = 0;
            }

            /// The files of the parts.
            #[cfg(test)]
            pub(super) const NAMES: &[&str] = &[$(stringify!($file),)*];

            /// Returns `true` if an operation of the current task takes effect at once, without a point.
            #[cold]
            pub(super) fn fuses(
                state: &mut RunState,
                op: &'static crate::run::op::Op,
                place: Place,
            ) -> bool {
                false $(|| state.uses::<self::parts::$file::$Part>()
                    && <self::parts::$file::$Part as self::part::Part>::fuses(state, op, place))*
            }

            /// Returns `true` if a part has work at the end of a task.
            pub(super) fn has_ends(&self) -> bool {
                false $(|| self::part::Part::has_ends(&self.$file))*
            }
        }

        self::part::moment! { begin_body(world: &World) => (world) [$($file::$Part)*] }
        self::part::moment! { spawned(world: &World, task: TaskId, place: Place) => (world, task, place) [$($file::$Part)*] }
        self::part::moment! { look(world: &World) => (world) [$($file::$Part)*] }
        self::part::moment! { leave(state: &mut RunState) => (state) [$($file::$Part)*] }
        self::part::moment! { settle(state: &mut RunState) => (state) [$($file::$Part)*] }
        self::part::moment! {
            retracted(state: &mut RunState, id: AnnouncementId, at: (Option<ObjectId>, Place))
                => (state, id, at) [$($file::$Part)*]
        }
        self::part::moment! { given_up(state: &mut RunState, id: AnnouncementId) => (state, id) [$($file::$Part)*] }
        self::part::moment! { unblock(state: &mut RunState) => (state) [$($file::$Part)*] }
        self::part::moment! { end_task(world: &World, task: TaskId) => (world, task) [$($file::$Part)*] }
        self::part::moment! { judge(state: &mut RunState) => (state) [$($file::$Part)*] }
        self::part::moment! { end(world: &World) => (world) [$($file::$Part)*] }
    };
}

/// Defines the function of [`Parts`] for one moment.
macro_rules! moment {
    ($moment:ident($run:ident: $($arguments:tt)*) => $call:tt [$($file:ident::$Part:ident)*]) => {
        impl Parts {
            /// Calls the parts that the run uses: see the function with the same name in [`Part`](self::part::Part).
            #[inline]
            pub(super) fn $moment($run: $($arguments)*) {
                #[inline(never)]
                fn of_used_parts($run: $($arguments)*) {
                    $(if $run.uses::<self::parts::$file::$Part>() {
                        <self::parts::$file::$Part as self::part::Part>::$moment $call;
                    })*
                }

                if $run.uses_any() {
                    of_used_parts $call;
                }
            }
        }
    };
}

pub(super) use {moment, parts};
