//! Acts on `select!`, with each kind of branch that can end it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use super::act::Act;
use crate::run::rng::Rng;
use crate::time::sleep;

/// The acts of two branches.
#[derive(Clone, Debug)]
pub(super) struct Select {
    pub(super) form: Form,
    pub(super) branches: [Vec<Act>; 2],
}

/// A form of `select!`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// The first to end wins.
    Random,
    /// A biased `select!`: its branches are polled in the order in which they are written.
    Biased,
    /// The value of the first branch never matches.
    Mismatch,
    /// The first branch is not dropped when the second branch ends the `select!`. The first branch continues in a
    /// second `select!`.
    Loop,
    /// A sleep of one second as a third branch.
    Deadline,
}

const FORMS: [Form; 5] = [Form::Random, Form::Biased, Form::Mismatch, Form::Loop, Form::Deadline];

impl Act {
    /// Branches that wait for locks and words.
    pub(super) fn select(rng: &mut Rng) -> Act {
        Act::select_of(rng, &[Act::load, Act::store, Act::lock, Act::lock, Act::wait, Act::pause])
    }

    /// Branches that wait for objects of tokio.
    #[cfg(feature = "tokio")]
    pub(super) fn select_of_tokio(rng: &mut Rng) -> Act {
        Act::select_of(rng, &[Act::semaphore, Act::notify, Act::notify, Act::rwlock, Act::add])
    }

    fn select_of(rng: &mut Rng, acts: &[fn(&mut Rng) -> Act]) -> Act {
        let form = FORMS[rng.below(FORMS.len() as u64) as usize];
        let mut branch = || -> Vec<Act> {
            let count = 1 + rng.below(2);
            (0..count).map(|_| acts[rng.below(acts.len() as u64) as usize](rng)).collect()
        };
        Act::Select(Select { form, branches: [branch(), branch()] })
    }
}

/// The future of a branch, which can be created again.
type Branch<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Waits for the branches. Returns the number of the winner, from 3.
pub(super) async fn select<'a>(form: Form, begin: [&(dyn Fn() -> Branch<'a> + Sync); 2]) -> u64 {
    let [first, second] = begin;
    match form {
        Form::Random => crate::select! {
            () = first() => 3,
            () = second() => 4,
        },
        Form::Biased => crate::select! {
            biased;
            () = first() => 3,
            () = second() => 4,
        },
        Form::Mismatch => crate::select! {
            Some(()) = async { first().await; None } => 3,
            () = second() => 4,
        },
        Form::Loop => {
            let mut first = pin!(first());
            for _ in 0..2 {
                crate::select! {
                    () = &mut first => return 3,
                    () = second() => {}
                }
            }
            4
        }
        Form::Deadline => crate::select! {
            () = first() => 3,
            () = second() => 4,
            () = sleep(Duration::from_secs(1)) => 5,
        },
    }
}
