//! Random programs over the primitives of the library. A model of the primitives enumerates all interleavings of a
//! program (`explored.rs`). A search that is a proof must have exactly the outcomes of the model, and no run may have
//! another outcome.
//!
//! Each primitive has a file, and a row in the list below. The file contains the calls of the primitive, its state in
//! the model, and the execution of its calls. The models are written from the documentation of tokio and of the
//! library. They share no code with either.
//!
//! `PROGRAMS=1000` names the number of programs of each primitive, `FIRST` the first one, and `SHOWN` the number of
//! differences in the message. With `UNPAUSE_LONG=1`, there are more programs.

mod compared;
mod drawn_programs;
mod executed;
mod explored;
mod fair_queue;
mod lent_end;

use std::hash::Hash;

use self::drawn_programs::{Act, Clock, Program};
use super::differential::Dice;

/// A call of a task: the task, and the branch of its `select!`.
type Caller = (usize, usize);

/// The result of a poll in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Polled {
    Done(i64),
    /// The call takes another step.
    Continues,
    Waits,
}

/// The value of a call that does nothing, because its task does not have the required end or permit.
const NOTHING: i64 = -9;
/// The value of a call on an object that is closed.
const CLOSED: i64 = -1;
/// The value of an attempt that would have to wait.
const WOULD_WAIT: i64 = -2;

/// Returns the value of a call. If the kind of call is a point, a call without a result is a point, too.
async fn or_nothing(got: Option<i64>, call: impl Callable) -> i64 {
    if got.is_none() && call.is_point() {
        sim::task::yield_now().await;
    }
    got.unwrap_or(NOTHING)
}

/// A call of a primitive.
trait Callable: Copy {
    /// Draws a call of a task.
    fn draw(dice: &mut Dice, task: usize, tasks: usize) -> Self;

    /// Returns `true` if the call is a point. Other calls belong to the step of their caller, and never wait.
    fn is_point(self) -> bool;

    /// Returns `true` if the call needs an end that its task has only once.
    fn is_exclusive(self) -> bool {
        false
    }
}

/// The state of a primitive in the model.
trait Model: Clone + Eq + Hash {
    type Call: Callable;

    /// Returns the state before the first step of a program. `variant` selects a capacity.
    fn new(tasks: usize, variant: usize) -> Self;

    /// The effect of the first poll of a call, before its point.
    fn begin(&mut self, _: Self::Call, _: Caller) {}

    /// Polls a call at its point or later. A poll of a call that still waits has no further effect.
    fn poll(&mut self, call: Self::Call, caller: Caller) -> Polled;

    /// Drops a call that has begun.
    fn cancel(&mut self, _: Self::Call, _: Caller) {}

    /// Plants a fault: from now on, the model breaks one rule of the primitive.
    fn plant(&mut self);

    /// Drops everything that a task holds, because the task ends or was aborted.
    fn end(&mut self, _: usize, _: bool) {}
}

/// Declares the primitives: the file and the variant of each.
macro_rules! primitives {
    ($($file:ident $variant:ident,)*) => {
        $(mod $file;)*

        /// The names of the primitives.
        const NAMES: &[&str] = &[$(stringify!($file)),*];

        /// A call of any primitive.
        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Call {
            $($variant($file::Call)),*
        }

        impl Call {
            /// Draws a call of the primitive with this number.
            fn draw(primitive: usize, dice: &mut Dice, task: usize, tasks: usize) -> Call {
                let mut number = 0;
                $(
                    if primitive == number {
                        return Call::$variant(Callable::draw(dice, task, tasks));
                    }
                    number += 1;
                )*
                unreachable!("{number} primitives, not {primitive}")
            }

            fn name(self) -> &'static str {
                match self {
                    $(Call::$variant(_) => stringify!($file)),*
                }
            }

            fn is_point(self) -> bool {
                match self {
                    $(Call::$variant(call) => call.is_point()),*
                }
            }

            fn is_exclusive(self) -> bool {
                match self {
                    $(Call::$variant(call) => call.is_exclusive()),*
                }
            }
        }

        /// The primitives in the model.
        #[derive(Clone, PartialEq, Eq, Hash)]
        struct Objects {
            $($file: $file::State),*
        }

        impl Objects {
            fn new(tasks: usize, variant: usize) -> Objects {
                Objects { $($file: Model::new(tasks, variant)),* }
            }

            /// Plants a fault in the primitive with this number.
            fn plant(&mut self, primitive: usize) {
                let mut number = 0;
                $(
                    if primitive == number {
                        self.$file.plant();
                    }
                    number += 1;
                )*
                assert!(primitive < number);
            }

            fn begin(&mut self, call: Call, caller: Caller) {
                match call {
                    $(Call::$variant(call) => self.$file.begin(call, caller)),*
                }
            }

            fn poll(&mut self, call: Call, caller: Caller) -> Polled {
                match call {
                    $(Call::$variant(call) => self.$file.poll(call, caller)),*
                }
            }

            fn cancel(&mut self, call: Call, caller: Caller) {
                match call {
                    $(Call::$variant(call) => self.$file.cancel(call, caller)),*
                }
            }

            fn end(&mut self, task: usize, is_aborted: bool) {
                $(self.$file.end(task, is_aborted);)*
            }
        }

        /// The objects of one task. Primitives that the program does not use are absent.
        #[derive(Default)]
        struct Ends {
            $($file: Option<$file::Ends>),*
        }

        impl Ends {
            /// Creates the objects of all tasks of a program.
            fn of(program: &Program) -> Vec<Ends> {
                let tasks = program.tasks.len();
                let mut all: Vec<Ends> = (0..tasks).map(|_| Ends::default()).collect();
                $(
                    if program.calls().any(|call| call.name() == stringify!($file)) {
                        let ends = $file::ends(tasks, program.variant);
                        for (all, ends) in all.iter_mut().zip(ends) {
                            all.$file = Some(ends);
                        }
                    }
                )*
                all
            }

            async fn perform(&self, call: Call) -> i64 {
                match call {
                    $(Call::$variant(call) => {
                        self.$file.as_ref().expect("the program uses it").perform(call).await
                    })*
                }
            }
        }
    };
}

primitives! {
    words_model Word,
    semaphore_model Semaphore,
    fair_mutex FairMutex,
    readers_model Readers,
    notify_model Notify,
    mpsc_model Mpsc,
    unbounded_model Unbounded,
    oneshot_model Oneshot,
    watch_model Watch,
    broadcast_model Broadcast,
    barrier_model Barrier,
    once_model Once,
    barging_mutex BargingMutex,
    set_model Set,
}
