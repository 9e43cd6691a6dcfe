//! One run of a program on simulated threads, in this process or in a separate process.

use super::apart::process::{self, Forked};
use super::apart::recorded::{self, NOTE, RESUME, Recorded};
use super::apart::{ProcessEnd, Watch, tape};
use super::captured;
use super::death;
use super::fault::Fault;
use super::heap::{self, Memory};
use super::local::{Body, Local, Workers};
use super::net::Effect;
use super::passing;
use super::places::{self, Frame};
use super::request::Request;
use super::unseen;

/// The way in which the first thread of a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The function of the thread returned.
    Returned,
    /// The thread panicked with this message, at this place: `file:line:column`.
    Panicked(String, String),
}

/// The memory to which an address belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// The heap of the run, whose addresses are the same in all processes.
    Heap,
    /// The stack of the thread with this number.
    Stack(usize),
    /// The code and the statics of the program.
    Program,
    /// Any other memory.
    Unknown,
}

/// One run of a program on simulated threads. Its owner, the *carrier*, steps the threads.
///
/// If threads have not ended when it is dropped, they are abandoned: their stacks are not unwound, and no destructor
/// runs.
pub struct Execution(Option<Side>);

/// The process in which the run executes.
enum Side {
    /// In this process.
    Here(Local),
    /// In this process, which was created for the run.
    Child(Local),
    /// In another process, which has ended.
    Parent(Box<Recorded>),
}

/// Returns the answer to a question with a number: from the threads of this process, or from the tape. If the tape does
/// not contain it, returns `$lost`.
macro_rules! answer {
    ($question:literal, $side:expr, $lost:expr, |$local:ident| $act:expr) => {
        match $side {
            Some(Side::Here($local)) => $act,
            Some(Side::Child($local)) => {
                let answer = $act;
                recorded::write($question, &answer);
                answer
            }
            Some(Side::Parent(recorded)) => recorded.answer($question).unwrap_or_else(|| $lost),
            None => $lost,
        }
    };
}

mod copied;
mod memory_orders;

impl Execution {
    /// Begins a run whose first thread, number 0, calls `body` when it is resumed. Waits while another run of the
    /// process executes.
    ///
    /// # Errors
    /// Returns an error if the statics of the program cannot be found, because it has no symbols.
    pub fn begin(body: Body) -> Result<Execution, String> {
        Execution::begin_with(body, Memory::Plain)
    }

    /// Like [`begin`](Execution::begin), but `memory` sets how the heap treats freed memory.
    ///
    /// # Errors
    /// Returns the same errors as [`begin`](Self::begin).
    pub fn begin_with(body: Body, memory: Memory) -> Result<Execution, String> {
        let workers = Workers::take()?;
        Ok(Execution(Some(Side::Here(Local::begin(workers, body, memory)))))
    }

    /// Like `begin_with`, but in a separate process. Returns twice. It returns first in the new process, which executes
    /// the run and ends when the execution is dropped. Then it returns in this process, with the answers of the new
    /// process. The caller must ask the same questions in both processes.
    ///
    /// # Errors
    /// Returns the same errors as [`begin`](Self::begin), and an error if the system refuses to create a process.
    pub fn begin_apart(body: Body, memory: Memory, watch: &Watch<'_>) -> Result<Execution, String> {
        let mut workers = Workers::take()?;
        // Otherwise each child would create the same number of workers.
        workers.prepare(recorded::last_threads());
        // The symbols are read once here, and not in each child.
        places::load();
        process::shrink();
        if !tape::begin() {
            return Err("the system refuses memory for a process of the run".to_owned());
        }
        Ok(Execution(Some(match process::fork()? {
            Forked::Child => Side::Child(Local::begin(workers, body, memory)),
            Forked::Parent(child) => {
                Side::Parent(Box::new(Recorded::of(child.wait(watch), workers)))
            }
        })))
    }

    /// Continues a thread until its next request, and returns the request. `reply` is the reply to its last request.
    ///
    /// # Panics
    /// Panics if the run has no such thread, or the thread has ended.
    #[inline]
    pub fn resume(&mut self, thread: usize, reply: u64) -> Request {
        match &mut self.0 {
            Some(Side::Here(local)) => local.resume(thread, reply),
            Some(Side::Child(local)) => {
                let request = local.resume(thread, reply);
                recorded::write(RESUME, &request);
                request
            }
            Some(Side::Parent(recorded)) => recorded.resume(),
            None => Request::Fault,
        }
    }

    /// Returns the bytes of the last request, if it was [`Request::Noted`].
    pub fn take_note(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Some(Side::Parent(recorded)) => recorded.take_note(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` in a process that was created for this run.
    pub fn is_child(&self) -> bool {
        matches!(self.0, Some(Side::Child(_)))
    }

    /// Ends the run. Also ends the process, if it was created for the run; [`take_left`](Execution::take_left) then
    /// returns `left` in the parent.
    pub fn end_with(mut self, left: Vec<u8>) {
        match self.0.take() {
            Some(Side::Child(local)) => {
                drop(local);
                recorded::end(left);
            }
            side => drop(side),
        }
    }

    /// Returns how the process of the run ended, if it died before the end of the run. The result is available after
    /// the last request at the latest.
    pub fn died(&self) -> Option<ProcessEnd> {
        match &self.0 {
            Some(Side::Parent(recorded)) => recorded.died(),
            _ => None,
        }
    }

    /// Returns the bytes that the process of the run has left at its end. Empty if the process did not reach its end.
    pub fn take_left(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Some(Side::Parent(recorded)) => recorded.take_left(),
            _ => Vec::new(),
        }
    }

    /// Performs the operation that `thread` has requested last, or the change of its [`Request::WakeOp`]. Returns the
    /// previous value and the new value.
    ///
    /// # Panics
    /// Panics if the last request of `thread` contains no access.
    #[inline]
    pub fn perform(&mut self, thread: usize) -> (u64, u64) {
        answer!(2, &mut self.0, (0, 0), |local| local.perform(thread))
    }

    /// Makes the last requested compare-exchange of `thread` fail, although it may see the expected value. Returns the
    /// value that it has seen, twice. Returns `None`, and does nothing, if it cannot be made to fail.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not a compare-exchange.
    pub fn perform_failing(&mut self, thread: usize) -> Option<(u64, u64)> {
        answer!(22, &mut self.0, None, |local| local.perform_failing(thread))
    }

    /// Performs the last requested file operation of `thread`.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not a file operation.
    pub fn perform_transfer(&mut self, thread: usize) -> Effect {
        let lost = Effect::Done { answer: 0, changed: Vec::new(), beside: Vec::new() };
        answer!(3, &mut self.0, lost, |local| local.perform_transfer(thread))
    }

    /// Returns the number of changes of the object with this key: see [`Transfer`](crate::Transfer).
    pub fn version(&self, object: u64) -> u64 {
        answer!(4, &self.0, 0, |local| local.version(object))
    }

    /// Returns the value that the last requested access of `thread` would see, if the access would leave the memory
    /// unchanged.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    #[inline]
    pub fn look(&self, thread: usize) -> Option<u64> {
        answer!(5, &self.0, None, |local| local.look(thread))
    }

    /// Returns the newest value of the memory that `thread` has requested to access.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was not an access.
    pub fn value(&self, thread: usize) -> u64 {
        answer!(31, &self.0, 0, |local| local.value(thread))
    }

    /// Returns a hash of the registers of `thread` at the access that it has requested. If a loop counts its rounds in
    /// registers, the hash differs in each round.
    pub fn registers(&self, thread: usize) -> Option<u64> {
        answer!(6, &self.0, None, |local| local.registers(thread))
    }

    /// Returns a hash of the stack of `thread` at the access that it has requested: of its variables in all functions
    /// that have not returned. If a loop counts its rounds on the stack, the hash differs in each round.
    pub fn hash_of_stack(&self, thread: usize) -> u64 {
        answer!(33, &self.0, 0, |local| local.thread(thread).hash_of_stack())
    }

    /// Like [`hash_of_stack`](Self::hash_of_stack), for the innermost 12 KiB. Addresses of the heap count as offsets.
    pub fn hash_of_counters(&self, thread: usize) -> u64 {
        answer!(34, &self.0, 0, |local| local.thread(thread).hash_of_counters())
    }

    /// Returns a hash of up to 128 bytes before and after the word of the last access of `thread`.
    pub fn hash_around_word(&self, thread: usize) -> u64 {
        answer!(35, &self.0, 0, |local| local.hash_around_word(thread))
    }

    /// Returns the value of the word for which `thread` has requested to wait, or whose waits it has requested to move.
    ///
    /// # Panics
    /// Panics if the last request of `thread` was neither a wait nor a [`Request::Requeue`].
    pub fn word(&self, thread: usize) -> u32 {
        answer!(7, &self.0, 0, |local| local.word(thread))
    }

    /// Takes the first error in memory use.
    pub fn take_fault(&mut self) -> Option<Fault> {
        answer!(8, &mut self.0, None, |local| local.take_fault())
    }

    /// Searches the heap for memory that was written after its free, or outside of an allocation. Called at the end of
    /// a run.
    pub fn check_memory(&mut self) -> Option<Fault> {
        answer!(9, &mut self.0, None, |local| local.check_memory())
    }

    /// Returns an allocation of the run without references, and the number and the bytes of all such allocations.
    /// `None` if the heap is plain. Called at the end of a run.
    pub fn leaks(&self) -> Option<(Fault, usize, usize)> {
        answer!(10, &self.0, None, |local| local.leaks())
    }

    /// Stores the values of the statics that outlive the runs of a closure: see [`capture`](super::capture()). Must be
    /// called at the end of a complete run. Has no effect if the run has a process of its own.
    pub fn keep_statics(&self) {
        if let Some(Side::Here(local)) = &self.0 {
            let threads = 0..local.run.threads.len();
            captured::keep_statics(threads.map(|thread| local.thread(thread)));
        }
    }

    /// Returns how the first thread ended; `None` while it runs.
    pub fn ended(&self) -> Option<Ended> {
        answer!(11, &self.0, None, |local| local.ended())
    }

    /// Returns the last panics of each thread: its number, the message and the place.
    pub fn panics(&self) -> Vec<(u32, String, String)> {
        answer!(12, &self.0, Vec::new(), |local| local.panics())
    }

    /// Returns the virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        answer!(13, &self.0, 0, |local| local.now())
    }

    /// Returns the virtual time at which a wait of `time` nanoseconds ends that begins now.
    pub fn in_nanoseconds(&self, time: u64) -> u64 {
        answer!(32, &self.0, time, |local| local.run.in_nanoseconds(time))
    }

    /// Advances the virtual time to `time`. Has no effect if the time is later already.
    pub fn advance_to(&mut self, time: u64) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.advance_to(time);
        }
    }

    /// Advances the virtual time to the end of a wait, so that each later clock reading is after it.
    pub fn advance_past(&mut self, deadline: u64) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.advance_past(deadline);
        }
    }

    /// Makes each clock reading later than the previous one, from now on. By default, two readings at the same virtual
    /// time are equal.
    pub fn tell_readings_apart(&mut self) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.tell_readings_apart();
        }
    }

    /// Makes the clocks since the boot of the system start this number of seconds later. Called at the start of a run.
    pub fn set_uptime(&mut self, seconds: u64) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.run.set_uptime(seconds);
        }
    }

    /// Returns a hash of the innermost eight return addresses at the last request of `thread`. The hash is the same for
    /// all requests of one source line that was called from the same lines.
    #[inline]
    pub fn caller(&self, thread: usize) -> u64 {
        match &self.0 {
            Some(Side::Parent(recorded)) => recorded.caller(14, thread),
            side => answer!(14, side, 0, |local| local.caller(thread)),
        }
    }

    /// Lets threads perform the operations at a place directly, without a request, unless they access a watched
    /// address. The owner must do nothing else for such operations. A place is as many return addresses as are needed
    /// to identify it, innermost first.
    pub fn let_pass(&self, place: &[usize]) {
        passing::mark(place);
    }

    /// Makes each operation on an address a request, for the rest of the run.
    pub fn watch(&self, address: usize) {
        passing::watch(address);
    }

    /// Removes the watched addresses. Also removes [all places](Execution::let_pass) if the last run had other rules.
    /// Called at the start of a run.
    pub fn begin_passing(&self, rules: u64) {
        passing::begin(rules);
    }

    /// Makes threads perform all operations directly from now on, 1,000 in a turn, except operations on these
    /// addresses. A turn ends sooner if its operations change nothing. The first operation after a turn is a request.
    /// Used for a run beyond its step limit.
    pub fn run_on(&mut self, watched: &[usize]) {
        passing::run_on(watched);
    }

    /// Makes all operations requests until the next call of [`run_on`](Execution::run_on).
    pub fn stop_all(&mut self) {
        passing::stop_all();
    }

    /// Returns `true` if an operation has changed memory since the last call, or since `run_on` or `stop_all`.
    pub fn take_changed(&mut self) -> bool {
        answer!(24, &mut self.0, false, |_local| passing::take_changed())
    }

    /// Begins another turn if the turn of the stopped thread is over. Returns `false` if it is not over.
    pub fn next_turn(&mut self) -> bool {
        answer!(25, &mut self.0, false, |_local| passing::next_turn())
    }

    /// Asks a question whose answer may differ from time to time. The process of the run and the process that repeats
    /// the run get the same answer.
    pub fn agree(&mut self, question: impl FnOnce() -> bool) -> bool {
        answer!(26, &mut self.0, false, |_local| question())
    }

    /// Returns the functions on the call stack at the last request of `thread`, innermost first.
    pub fn frames(&self, thread: usize) -> Vec<Frame> {
        let addresses = answer!(15, &self.0, Vec::new(), |local| local.addresses(thread));
        addresses.into_iter().flat_map(places::frames).collect()
    }

    /// Returns the return addresses at the last request of `thread`, innermost first. Before each address is the stack
    /// position of the function that contains it.
    pub fn calls(&self, thread: usize) -> Vec<(usize, usize)> {
        answer!(21, &self.0, Vec::new(), |local| local.calls(thread))
    }

    /// Records the functions that allocate memory, for [`allocated_by`](Self::allocated_by). Called where a run begins.
    pub fn keep_origins(&self) {
        // SAFETY: only the carrier calls this; see `heap::Shared`. In a process that does not execute the run, the list
        // stays empty.
        unsafe { (*heap::heap()).origins.keep() };
    }

    /// Returns the return addresses of the function that has allocated the memory at an address, innermost first. Empty
    /// if they are not [recorded](Execution::keep_origins), or if the address is not on the heap of the run.
    pub fn allocated_by(&self, address: usize) -> Vec<usize> {
        // SAFETY: like in `keep_origins`.
        answer!(27, &self.0, Vec::new(), |_local| unsafe { (*heap::heap()).origins.of(address) })
    }

    /// Returns the functions at a return address, innermost first. There are several if functions were inlined.
    pub fn frames_at(&self, address: usize) -> Vec<Frame> {
        places::frames(address)
    }

    /// Returns the functions on the stack of the thread that has [died](Request::Died), innermost first. If the thread
    /// was interrupted, returns several stacks: the function that the thread does not leave, at each line where it was
    /// seen, and its callers.
    pub fn stacks(&self) -> Vec<Vec<Frame>> {
        let stacks: Vec<Vec<usize>> = answer!(16, &self.0, Vec::new(), |_local| death::stacks());
        let frames = |stack: Vec<usize>| stack.into_iter().flat_map(places::frames).collect();
        stacks.into_iter().map(frames).collect()
    }

    /// Returns the functions entered by the run so far that have operations without requests. They synchronise threads
    /// or call the system by their own instructions.
    pub fn entered(&self) -> Vec<&'static str> {
        answer!(23, &self.0, Vec::new(), |_local| unseen::entered().into_iter().collect())
    }

    /// Returns the messages and the places of the last panics of a thread, in their order.
    pub fn panics_of(&self, thread: usize) -> Vec<(String, String)> {
        answer!(17, &self.0, Vec::new(), |local| local.panics_of(thread))
    }

    /// Returns the return addresses of the last panic of a thread, innermost first.
    pub fn panicked_by(&self, thread: usize) -> Vec<usize> {
        answer!(28, &self.0, Vec::new(), |local| local.thread(thread).panicked_by.clone())
    }

    /// Returns the memory to which an address belongs.
    pub fn region(&self, address: usize) -> Region {
        answer!(18, &self.0, Region::Unknown, |local| local.region(address))
    }

    /// Returns a name of an address that does not depend on the order in which threads run. The name is computed from
    /// the offset of the address in its allocation, or in the stack or thread-local block of its thread.
    pub fn name(&self, address: usize) -> u64 {
        answer!(19, &self.0, 1, |local| local.name(address))
    }

    /// Returns a value for reports and traces. An address on a stack, in thread-locals or in the program differs from
    /// process to process, so it is replaced by a number that does not. Other values are unchanged.
    #[inline]
    pub fn stable_value(&self, value: u64) -> u64 {
        /// Smaller values are not addresses.
        const LEAST: u64 = 1 << 32;
        if value < LEAST {
            return value;
        }
        answer!(20, &self.0, value, |local| local.stable_value(value))
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if let Some(Side::Child(local)) = self.0.take() {
            drop(local);
            recorded::end(Vec::new());
        }
    }
}

/// Ends this process, if it was created for a run. The parent process then sees a run that did not reach its end.
#[inline]
pub fn leave_child() {
    if tape::is_written() {
        process::leave();
    }
}

/// Returns `true` if the current action of the carrier must be noted. This is so if a simulated thread has called it,
/// in a process that was created for the run.
pub fn is_noted() -> bool {
    tape::is_written() && super::local::is_called()
}

/// Notes an action of the carrier that was called by a simulated thread. The other process, which does not execute this
/// thread, performs the same action when it gets the request [`Noted`](Request::Noted).
pub fn note(bytes: Vec<u8>) {
    if is_noted() {
        recorded::write(NOTE, &bytes);
    }
}
