//! An operation on a file of the run, as a request of the calling thread. The carrier performs the operation in the
//! turn of the thread.

use std::ffi::c_int;

use super::super::orders;
use super::super::request::{Call, Request};
use super::super::thread::{Thread, outside};
use super::calls::at_once;
use super::{Answer, Net, objects};

/// An operation on a file. The carrier performs it with
/// [`Execution::perform_transfer`](crate::Execution::perform_transfer). If this is not possible yet, the carrier waits
/// until the object has changed, and tries again. The thread is resumed with 0, or with 1 if the wait has timed out.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// The key of the object (a connection, an address or an event). It is the same in all runs of a schedule.
    pub object: u64,
    /// The kind of object, for example `TcpStream`.
    pub kind: &'static str,
    /// The name of the operation, for example `read`.
    pub name: &'static str,
    /// The virtual time, in nanoseconds, at which the wait of the thread times out.
    pub deadline: Option<u64>,
    pub(crate) call: Call,
}

/// The effect of an operation on a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The operation was performed.
    Done {
        /// The result of the function; an error is a negative number.
        answer: i64,
        /// The objects that were changed. Threads that wait for them can try again.
        changed: Vec<u64>,
        /// The other objects that the operation has used, with their kinds.
        beside: Vec<(u64, &'static str, Use)>,
    },
    /// The operation must wait for a change of its object.
    Waits {
        /// The number of changes so far.
        version: u64,
        /// The nanoseconds after which the wait times out, if the file has a time limit.
        limit: Option<u64>,
    },
}

/// The way in which an operation uses an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Reads the object.
    Reads,
    /// Adds a part to the object, or removes a part. Two such uses commute, but a read sees all parts.
    Adds,
    /// Changes the object.
    Changes,
}

/// An operation, stored in the stack frame of the calling thread.
struct Slot<F> {
    act: F,
    object: u64,
    waits: bool,
    path: u64,
    net: *mut Net,
    answer: Answer,
}

/// The object of an operation, the kind of the object, and the name of the operation.
pub(super) type About = (u64, &'static str, &'static str);

/// Performs `act` in the turn of the thread. While `act` returns `EAGAIN` and `waits` is true, waits for changes of the
/// object, until the deadline. The answer after the deadline is `EAGAIN`. `act` may set [`Net::waits`] and
/// [`Net::limit`] instead.
pub(super) fn operate<F: FnMut(&mut Net) -> Answer>(
    thread: &mut Thread,
    frame: usize,
    (object, kind, name): About,
    (waits, deadline): (bool, Option<u64>),
    act: F,
) -> Answer {
    unsafe fn call<F: FnMut(&mut Net) -> Answer>(slot: *mut ()) {
        // SAFETY: the slot belongs to the thread that waits below, and the network belongs to its run. No thread uses
        // them while the carrier runs.
        let slot = unsafe { &mut *slot.cast::<Slot<F>>() };
        // SAFETY: the same reason.
        let net = unsafe { &mut *slot.net };
        (net.path, net.waits, net.limit) = (slot.path, slot.waits, None);
        slot.answer = (slot.act)(net);
        let changed = std::mem::take(&mut net.changed);
        let beside = std::mem::take(&mut net.beside);
        net.effect = Some(match slot.answer {
            Err(libc::EAGAIN) if net.waits => {
                Effect::Waits { version: net.version(slot.object), limit: net.limit }
            }
            Ok(size) => Effect::Done { answer: size as i64, changed, beside },
            Err(error) => Effect::Done { answer: -i64::from(error), changed, beside },
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
    // Any two calls are ordered by happens-before, in the order of the calls. Programs may rely on less. Calls on the
    // file system order no memory.
    let orders = || orders::orders().filter(|_| !objects::is_of_files(kind));
    if let Some(orders) = orders() {
        outside(|| orders.publish(number, orders::FILES));
    }
    thread.stop(Request::Transfer(transfer), (0, frame));
    if let Some(orders) = orders() {
        outside(|| orders.receive(number, orders::FILES));
    }
    slot.answer
}

/// Performs `act` on the open file of a descriptor, like [`operate`]. Returns `EBADF` if another thread has closed the
/// descriptor before. As in the kernel, a file stays open while a call waits for it, even without a descriptor.
pub(super) fn operate_on(
    thread: &mut Thread,
    frame: usize,
    about: About,
    (waits, deadline): (bool, Option<u64>),
    (descriptor, file): (c_int, usize),
    mut act: impl FnMut(&mut Net) -> Answer,
) -> Answer {
    let mut is_waiting = false;
    let answer = operate(thread, frame, about, (waits, deadline), |net| {
        if !is_waiting && net.find(descriptor) != Ok(file) {
            return Err(libc::EBADF);
        }
        let answer = act(net);
        let must_wait = net.waits && answer == Err(libc::EAGAIN);
        match (std::mem::replace(&mut is_waiting, must_wait), must_wait) {
            (false, true) => net.file(file).descriptors += 1,
            (true, false) => net.release(file),
            _ => {}
        }
        answer
    });
    if is_waiting {
        // The wait has timed out.
        let is_last = at_once(thread, |net| net.file(file).descriptors == 1);
        let release = |net: &mut Net| -> Answer {
            net.release(file);
            Ok(0)
        };
        if is_last {
            let _ = operate(thread, frame, (about.0, about.1, "close"), (false, None), release);
        } else {
            let _ = at_once(thread, release);
        }
    }
    answer
}
