//! An operation on a file of the run, as a request of the thread that calls: the carrier does it in its turn.

use super::super::orders;
use super::super::request::{Call, Request};
use super::super::thread::{Thread, outside};
use super::{Answer, Net};

/// An operation on a file. The carrier does it with
/// [`Execution::perform_transfer`](crate::Execution::perform_transfer). If it cannot be done, it waits until its object
/// has changed, and does it again. The thread is resumed with 0, or with 1 if it has waited too long.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The key of the object, the same in all runs of a schedule: of a connection, of an address, of an event.
    pub object: u64,
    /// The kind of object: `TcpStream`.
    pub kind: &'static str,
    /// The operation: `read`.
    pub name: &'static str,
    /// The virtual time in nanoseconds at which the thread does not wait any more.
    pub deadline: Option<u64>,
    pub(crate) call: Call,
}

/// The effect of an operation on a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It was done.
    Done {
        /// The answer of the function; an error as a negative number.
        answer: i64,
        /// The objects that were changed. Whoever waits for one of them can try again.
        changed: Vec<u64>,
    },
    /// It must wait for a change of its object.
    Waits {
        /// The number of changes so far.
        version: u64,
    },
}

/// An operation in the frame of the thread that calls.
struct Slot<F> {
    act: F,
    object: u64,
    waits: bool,
    path: u64,
    net: *mut Net,
    answer: Answer,
}

/// The object of an operation, its kind and its name.
pub(super) type About = (u64, &'static str, &'static str);

/// Does `act` in the turn of the thread. While it returns `EAGAIN`, waits for changes of the object if `waits` is
/// true, until the deadline. The answer is then `EAGAIN` as well.
pub(super) fn operate<F: FnMut(&mut Net) -> Answer>(
    thread: &mut Thread,
    frame: usize,
    (object, kind, name): About,
    (waits, deadline): (bool, Option<u64>),
    act: F,
) -> Answer {
    unsafe fn call<F: FnMut(&mut Net) -> Answer>(slot: *mut ()) {
        // SAFETY: the slot of the thread that waits below. The network belongs to its run. No
        // thread uses it while the carrier runs.
        let slot = unsafe { &mut *slot.cast::<Slot<F>>() };
        // SAFETY: the same.
        let net = unsafe { &mut *slot.net };
        net.path = slot.path;
        slot.answer = (slot.act)(net);
        let changed = std::mem::take(&mut net.changed);
        net.effect = Some(match slot.answer {
            Err(libc::EAGAIN) if slot.waits => Effect::Waits { version: net.version(slot.object) },
            Ok(size) => Effect::Done { answer: size as i64, changed },
            Err(error) => Effect::Done { answer: -i64::from(error), changed },
        });
    }
    fn typed<F: FnMut(&mut Net) -> Answer>(_: &Slot<F>) -> unsafe fn(*mut ()) {
        call::<F>
    }
    let (path, net) = (thread.path, &raw mut thread.run().net);
    let mut slot = Slot { act, object, waits, path, net, answer: Ok(0) };
    let call = Call::new(typed(&slot), (&raw mut slot).cast());
    let transfer = Transfer { object, kind, name, deadline, call };
    let number = thread.number;
    // Any two calls are ordered, in the order of the calls: more than programs rely on.
    if let Some(orders) = orders::orders() {
        outside(|| orders.publish(number, orders::FILES));
    }
    thread.stop(Request::Transfer(transfer), (0, frame));
    if let Some(orders) = orders::orders() {
        outside(|| orders.receive(number, orders::FILES));
    }
    slot.answer
}
