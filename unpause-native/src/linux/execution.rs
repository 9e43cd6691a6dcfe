//! One run of a program on simulated threads: in this process, or in one of its own.

use super::apart::process::{self, Forked};
use super::apart::recorded::{self, NOTE, RESUME, Recorded};
use super::apart::{ProcessEnd, Watch, tape};
use super::death;
use super::fault::Fault;
use super::heap::{self, Memory};
use super::local::{Body, Local, Workers};
use super::net::Effect;
use super::passing;
use super::places::{self, Frame};
use super::request::Request;
use super::unseen;

/// The end of the first thread of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Its function returned.
    Returned,
    /// It panicked with this message, at this place: `file:line:column`.
    Panicked(String, String),
}

/// The memory that an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Region {
    /// The heap of the run, whose addresses are the same in all processes.
    Heap,
    /// The stack of the thread with this number.
    Stack(usize),
    /// The code and the statics of the program.
    Program,
    /// None of these.
    Unknown,
}

/// One run of a program on simulated threads, which the owner steps: its carrier.
///
/// Threads that have not ended when it is dropped are given up: their stacks are not unwound, and no destructor runs.
pub struct Execution(Option<Side>);

/// Where the run is made.
enum Side {
    /// In this process.
    Here(Local),
    /// In this process, which was made for it.
    Child(Local),
    /// In a process that has ended.
    Parent(Box<Recorded>),
}

/// The answer to a question with a number: of the threads of this process, or from the tape. If it is not on the tape
/// it is `$lost`.
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

mod memory_orders;

impl Execution {
    /// Begins a run whose first thread, number 0, calls `body` when it is resumed. Waits while the process
    /// has another run.
    ///
    /// # Errors
    /// If the statics of the program cannot be found, because it has no symbols.
    pub fn begin(body: Body) -> Result<Execution, String> {
        Execution::begin_with(body, Memory::Plain)
    }

    /// Like [`begin`](Execution::begin), with a heap that treats freed memory as `memory` says.
    ///
    /// # Errors
    /// The same as for [`begin`](Self::begin).
    pub fn begin_with(body: Body, memory: Memory) -> Result<Execution, String> {
        let workers = Workers::take()?;
        Ok(Execution(Some(Side::Here(Local::begin(workers, body, memory)))))
    }

    /// The same in a process of its own. Returns twice. In the new process it returns first: that process makes the
    /// run, and ends when the execution is dropped. Then it returns in this process, with the answers of the new
    /// process. The caller must ask the same questions in both processes.
    ///
    /// # Errors
    /// The same as for [`begin`](Self::begin). If the system refuses a process.
    pub fn begin_apart(body: Body, memory: Memory, watch: &Watch<'_>) -> Result<Execution, String> {
        let mut workers = Workers::take()?;
        // Read once here, and not in each child.
        places::load();
        process::shrink();
        if !tape::begin() {
            return Err("the system refuses memory for a process of the run".to_owned());
        }
        Ok(Execution(Some(match process::fork()? {
            Forked::Child => {
                workers.forget();
                Side::Child(Local::begin(workers, body, memory))
            }
            Forked::Parent(child) => {
                Side::Parent(Box::new(Recorded::of(child.wait(watch), workers)))
            }
        })))
    }

    /// Continues a thread until its next request, and returns the request. `reply` is the answer to its last one.
    ///
    /// # Panics
    /// If the run has no such thread, or the thread has ended.
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

    /// The bytes of the last request, if it was [`Request::Noted`].
    pub fn take_note(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Some(Side::Parent(recorded)) => recorded.take_note(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` in a process that was made for this run.
    pub fn is_child(&self) -> bool {
        matches!(self.0, Some(Side::Child(_)))
    }

    /// Ends the run, and the process if it was made for it: [`take_left`](Execution::take_left) returns `left` in the
    /// other one.
    pub fn end_with(mut self, left: Vec<u8>) {
        match self.0.take() {
            Some(Side::Child(local)) => {
                drop(local);
                recorded::end(left);
            }
            side => drop(side),
        }
    }

    /// The end of the process that was made for the run, if it died before the end of the run: at the latest after the
    /// last request.
    pub fn died(&self) -> Option<ProcessEnd> {
        match &self.0 {
            Some(Side::Parent(recorded)) => recorded.died(),
            _ => None,
        }
    }

    /// The bytes left by the process of the run at its end; empty if it did not get so far.
    pub fn take_left(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Some(Side::Parent(recorded)) => recorded.take_left(),
            _ => Vec::new(),
        }
    }

    /// Does the operation that `thread` has requested last. Returns the previous value and the new
    /// one.
    ///
    /// # Panics
    /// If its last request was not an access.
    #[inline]
    pub fn perform(&mut self, thread: usize) -> (u64, u64) {
        answer!(2, &mut self.0, (0, 0), |local| local.perform(thread))
    }

    /// Makes the last requested compare-exchange of `thread` fail, although it may see the expected
    /// value. Returns the value that it has seen twice. `None` if it cannot be made to fail:
    /// nothing is done then.
    ///
    /// # Panics
    /// If its last request was not a compare-exchange.
    pub fn perform_failing(&mut self, thread: usize) -> Option<(u64, u64)> {
        answer!(22, &mut self.0, None, |local| local.perform_failing(thread))
    }

    /// Does the operation on a file that `thread` has requested last.
    ///
    /// # Panics
    /// If its last request was no such operation.
    pub fn perform_transfer(&mut self, thread: usize) -> Effect {
        let lost = Effect::Done { answer: 0, changed: Vec::new() };
        answer!(3, &mut self.0, lost, |local| local.perform_transfer(thread))
    }

    /// The number of changes of the object with this key: see [`Transfer`](crate::Transfer).
    pub fn version(&self, object: u64) -> u64 {
        answer!(4, &self.0, 0, |local| local.version(object))
    }

    /// The value that the access requested last by `thread` would see, if it would leave the memory as it is now.
    ///
    /// # Panics
    /// If its last request was not an access.
    #[inline]
    pub fn look(&self, thread: usize) -> Option<u64> {
        answer!(5, &self.0, None, |local| local.look(thread))
    }

    /// The newest value of the memory that `thread` has requested to access.
    ///
    /// # Panics
    /// If its last request was not an access.
    pub fn value(&self, thread: usize) -> u64 {
        answer!(31, &self.0, 0, |local| local.value(thread))
    }

    /// A hash of the registers of `thread` at the access that it has requested. A loop that keeps its state in
    /// registers has another one in each round if it counts its rounds.
    pub fn registers(&self, thread: usize) -> Option<u64> {
        answer!(6, &self.0, None, |local| local.registers(thread))
    }

    /// The value of the word that `thread` has requested to wait for.
    ///
    /// # Panics
    /// If its last request was not a wait.
    pub fn word(&self, thread: usize) -> u32 {
        answer!(7, &self.0, 0, |local| local.word(thread))
    }

    /// The first error in the use of memory, taken out.
    pub fn take_fault(&mut self) -> Option<Fault> {
        answer!(8, &mut self.0, None, |local| local.take_fault())
    }

    /// Searches the heap for memory that was written after it was freed, or beside an allocation. For the end of a
    /// run.
    pub fn check_memory(&mut self) -> Option<Fault> {
        answer!(9, &mut self.0, None, |local| local.check_memory())
    }

    /// An allocation of the run that nothing refers to, and the number and the bytes of all of
    /// them. `None` if the heap is plain. For the end of a run.
    pub fn leaks(&self) -> Option<(Fault, usize, usize)> {
        answer!(10, &self.0, None, |local| local.leaks())
    }

    /// The end of the first thread: `None` while it runs.
    pub fn ended(&self) -> Option<Ended> {
        answer!(11, &self.0, None, |local| local.ended())
    }

    /// The messages and the places of the last panics of all threads but the first.
    pub fn panics(&self) -> Vec<(String, String)> {
        answer!(12, &self.0, Vec::new(), |local| local.panics())
    }

    /// The virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        answer!(13, &self.0, 0, |local| local.now())
    }

    /// Moves the virtual time on. It does not go back.
    pub fn advance_to(&mut self, time: u64) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.advance_to(time);
        }
    }

    /// Moves the virtual time on to the end of a wait, so that each reading of a clock is after it.
    pub fn advance_past(&mut self, deadline: u64) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.advance_past(deadline);
        }
    }

    /// Makes each reading of a clock later than the previous one, from now on. Without a call two readings at one
    /// virtual time are equal.
    pub fn tell_readings_apart(&mut self) {
        if let Some(Side::Here(local) | Side::Child(local)) = &mut self.0 {
            local.tell_readings_apart();
        }
    }

    /// A hash of the return addresses up to the last request of `thread`, the innermost eight: the same for all
    /// requests of one line of code that was called from the same lines.
    #[inline]
    pub fn caller(&self, thread: usize) -> u64 {
        match &self.0 {
            Some(Side::Parent(recorded)) => recorded.caller(14, thread),
            side => answer!(14, side, 0, |local| local.caller(thread)),
        }
    }

    /// Has threads do operations at a place by themselves, without a request, unless they access a watched address:
    /// where the owner does nothing else for them. A place is as many return addresses as it takes to tell, innermost
    /// first.
    pub fn let_pass(&self, place: &[usize]) {
        passing::mark(place);
    }

    /// Makes each operation on an address a request, for the rest of the run.
    pub fn watch(&self, address: usize) {
        passing::watch(address);
    }

    /// Forgets the watched addresses, and [all places](Execution::let_pass) if the last run had other rules. For the
    /// begin of a run.
    pub fn begin_passing(&self, rules: u64) {
        passing::begin(rules);
    }

    /// Makes threads do all operations by themselves from now on, 1,000 in a turn, except operations on these
    /// addresses. The first operation after a turn is a request. For a run beyond its step limit.
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

    /// Begins another turn if the turn of the thread that has stopped is over. Returns `false` if it is not.
    pub fn next_turn(&mut self) -> bool {
        answer!(25, &mut self.0, false, |_local| passing::next_turn())
    }

    /// The answer to a question whose answer differs from time to time. The process of the run and
    /// the process that repeats the run from its answers get the same one.
    pub fn agree(&mut self, question: impl FnOnce() -> bool) -> bool {
        answer!(26, &mut self.0, false, |_local| question())
    }

    /// The functions that led to the last request of `thread`, innermost first.
    pub fn frames(&self, thread: usize) -> Vec<Frame> {
        let addresses = answer!(15, &self.0, Vec::new(), |local| local.addresses(thread));
        addresses.into_iter().flat_map(places::frames).collect()
    }

    /// The return addresses up to the last request of `thread`, innermost first, each behind the position on the stack
    /// of the function that it is in.
    pub fn calls(&self, thread: usize) -> Vec<(usize, usize)> {
        answer!(21, &self.0, Vec::new(), |local| local.calls(thread))
    }

    /// Keeps the functions that allocate memory, for [`allocated_by`](Execution::allocated_by). For the begin of a run.
    pub fn keep_origins(&self) {
        // SAFETY: the carrier's; see `heap::Shared`. In a process that does not make the run the list stays empty.
        unsafe { (*heap::heap()).origins.keep() };
    }

    /// The return addresses of the function that has allocated the memory at an address, innermost first. Empty if they
    /// are not [kept](Execution::keep_origins), or if the address is not on the heap of the run.
    pub fn allocated_by(&self, address: usize) -> Vec<usize> {
        // SAFETY: as in `keep_origins`.
        answer!(27, &self.0, Vec::new(), |_local| unsafe { (*heap::heap()).origins.of(address) })
    }

    /// The functions at a return address, innermost first: several if functions were inlined.
    pub fn frames_at(&self, address: usize) -> Vec<Frame> {
        places::frames(address)
    }

    /// The functions that were on the stack of the thread that has [died](Request::Died), innermost
    /// first. If the thread was interrupted, there are several stacks: the function in which it
    /// stays, in each line in which it was seen, and its callers.
    pub fn stacks(&self) -> Vec<Vec<Frame>> {
        let stacks: Vec<Vec<usize>> = answer!(16, &self.0, Vec::new(), |_local| death::stacks());
        let frames = |stack: Vec<usize>| stack.into_iter().flat_map(places::frames).collect();
        stacks.into_iter().map(frames).collect()
    }

    /// The functions entered by the run so far whose operations are not requests: they synchronise
    /// threads or call the system by instructions of their own.
    pub fn entered(&self) -> Vec<&'static str> {
        answer!(23, &self.0, Vec::new(), |_local| unseen::entered().into_iter().collect())
    }

    /// The messages and the places of the last panics of a thread, the last one last.
    pub fn panics_of(&self, thread: usize) -> Vec<(String, String)> {
        answer!(17, &self.0, Vec::new(), |local| local.panics_of(thread))
    }

    /// The return addresses of the last panic of a thread, innermost first.
    pub fn panicked_by(&self, thread: usize) -> Vec<usize> {
        answer!(28, &self.0, Vec::new(), |local| local.thread(thread).panicked_by.clone())
    }

    /// The memory that an address is in.
    pub fn region(&self, address: usize) -> Region {
        answer!(18, &self.0, Region::Unknown, |local| local.region(address))
    }

    /// A name of an address that does not depend on the order in which threads run: its allocation,
    /// or the thread of its stack or thread-local block, and the offset there.
    pub fn name(&self, address: usize) -> u64 {
        answer!(19, &self.0, 1, |local| local.name(address))
    }

    /// A value for reports and traces: an address on a stack, in thread-locals or in the program, which differs from
    /// process to process, becomes a number that does not. Other values are as they are.
    #[inline]
    pub fn stable_value(&self, value: u64) -> u64 {
        /// Smaller values are no addresses.
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

/// Ends this process, if it was made for a run. The parent process then finds a run that did not
/// reach its end.
#[inline]
pub fn leave_child() {
    if tape::is_written() {
        process::leave();
    }
}

/// Returns `true` if what the carrier does now must be noted: it was called by a simulated thread of a process that was
/// made for the run.
pub fn is_noted() -> bool {
    tape::is_written() && super::local::is_called()
}

/// Notes what the carrier does because a simulated thread has called it. The other process, which does not execute that
/// thread, does the same when it gets the request [`Noted`](Request::Noted).
pub fn note(bytes: Vec<u8>) {
    if is_noted() {
        recorded::write(NOTE, &bytes);
    }
}
