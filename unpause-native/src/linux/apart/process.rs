//! The fork of a process for one run, and the wait for its end.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::{ProcessEnd, Watch, tape};
use crate::linux::bystanders;
use crate::linux::death::SAMPLES;
use crate::linux::real::real;
use crate::linux::{signals, std_state};

/// The number of times that a process without progress is interrupted before it is killed.
const TRIES: u32 = 2;
/// The time between two such interruptions.
const AGAIN: Duration = Duration::from_millis(100);
/// The longest time between two checks of the progress.
const LOOK: Duration = Duration::from_millis(50);

/// The two processes after a fork.
pub(crate) enum Forked {
    Child,
    Parent(Child),
}

/// A process that executes a run.
pub(crate) struct Child(libc::pid_t);

/// Returns freed memory to the system, once, because the cost of a fork grows with the memory in use.
pub(crate) fn shrink() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the only argument is a number.
        unsafe { libc::malloc_trim(0) };
    });
}

/// Forks the process for one run.
///
/// # Errors
/// Returns an error if the system refuses.
pub(crate) fn fork() -> Result<Forked, String> {
    let forked = fork_thread()?;
    if matches!(forked, Forked::Child) {
        tape::write_here();
        signals::begin_child();
    }
    Ok(forked)
}

/// Forks the process. The child contains only the calling thread, and ends with it.
///
/// # Errors
/// Returns an error if the system refuses.
pub(super) fn fork_thread() -> Result<Forked, String> {
    std_state::begin_fork();
    // Another thread may be printing now. Its lock would stay locked in the child, which contains only this thread.
    let (out, error) = (std::io::stdout().lock(), std::io::stderr().lock());
    // SAFETY: other threads may have locked four things that the child uses: the allocator, the dynamic linker, the
    // standard streams, and other state of std. The locks of the first two are released by libc in the child, and the
    // streams are locked here. The other locks of std are unlocked below. The child uses nothing else of std or of this
    // library that outlives a run.
    let forked = unsafe { fork_only() };
    if matches!(forked, Ok(Forked::Child)) {
        std_state::begin_copy();
    }
    drop((out, error));
    forked
}

/// Forks the process within a run. The child contains only the calling thread, and what it prints is lost.
///
/// # Errors
/// Returns an error if the system refuses.
pub(crate) fn fork_run() -> Result<Forked, String> {
    // SAFETY: as in `fork_thread`, but the standard streams may be locked, by a thread of the run too. A child that
    // waits for such a lock is killed.
    let forked = unsafe { fork_only() }?;
    if matches!(forked, Forked::Child) {
        // SAFETY: system calls with numbers. The path ends with a zero.
        unsafe {
            let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
            libc::dup2(nothing, 1);
            libc::dup2(nothing, 2);
        }
    }
    Ok(forked)
}

/// Forks the process.
///
/// # Safety
/// The child must not wait for a lock that another thread of this process has. libc releases its own locks in the
/// child.
unsafe fn fork_only() -> Result<Forked, String> {
    // SAFETY: the function is libc's, with its own signature. The caller guarantees the requirements of the child,
    // which contains only this thread.
    match unsafe { real!(c"fork", unsafe extern "C" fn() -> libc::pid_t)() } {
        0 => {
            // SAFETY: the system call takes numbers. It makes the child end with its parent.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            bystanders::forget_others();
            Ok(Forked::Child)
        }
        process if process > 0 => Ok(Forked::Parent(Child(process))),
        _ => Err(format!(
            "the system refuses a process for the run: {}",
            std::io::Error::last_os_error()
        )),
    }
}

/// Ends the child. Does not clean up the copied process, because the cleanup is the task of the parent.
pub(crate) fn leave() -> ! {
    leave_with(0)
}

/// Like [`leave`], with an answer for the parent.
pub(crate) fn leave_with(answer: u8) -> ! {
    // SAFETY: the function is libc's, with its own signature.
    unsafe { real!(c"_exit", unsafe extern "C" fn(c_int) -> !)(answer.into()) }
}

impl Child {
    /// Waits for the end of the process. Interrupts the process if it makes no progress, and kills it if that does not
    /// help. Returns the reason of its end, or `None` if it ended itself in the normal way.
    pub(crate) fn wait(self, watch: &Watch<'_>) -> Option<ProcessEnd> {
        let interval = watch.hang.map_or(LOOK, |hang| (hang / 10).max(Duration::from_millis(1)));
        let interval = interval.min(LOOK);
        let handle = Handle::of(self.0);
        let (mut progress, mut still, mut tries) = (tape::progress(), Duration::ZERO, 0);
        let mut killed = false;
        // The loop counts intervals and not time, because the clock of a stopped process does not advance.
        while !handle.has_ended_within(self.0, interval) {
            (watch.beat)();
            let now = tape::progress();
            if now != progress {
                (progress, still, tries) = (now, Duration::ZERO, 0);
                continue;
            }
            still += interval;
            let Some(hang) = watch.hang.filter(|hang| still >= *hang) else { continue };
            if tries == TRIES {
                killed = true;
                self.kill();
                break;
            }
            tries += 1;
            self.interrupt();
            still = hang.saturating_sub(AGAIN);
        }
        let status = self.status();
        match status {
            _ if killed => Some(ProcessEnd::Hung),
            _ if libc::WIFSIGNALED(status) => Some(ProcessEnd::Signal(libc::WTERMSIG(status))),
            0 => None,
            _ => Some(ProcessEnd::Exit(libc::WEXITSTATUS(status))),
        }
    }

    /// Returns the answer with which the process [leaves](leave_with), or `None` if it does not leave in this time.
    pub(crate) fn answer_within(self, time: Duration) -> Option<u8> {
        const INTERVAL: Duration = Duration::from_millis(10);
        let handle = Handle::of(self.0);
        let mut intervals = 0..time.as_millis() / INTERVAL.as_millis();
        if !intervals.any(|_| handle.has_ended_within(self.0, INTERVAL)) {
            self.kill();
        }
        let status = self.status();
        libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status) as u8)
    }

    /// Kills the process and waits for its end.
    pub(super) fn end(&self) {
        self.kill();
        self.status();
    }

    fn kill(&self) {
        // SAFETY: a system call with numbers, for a child that was not yet waited for.
        unsafe { real!(c"kill", unsafe extern "C" fn(i32, c_int) -> c_int)(self.0, libc::SIGKILL) };
    }

    /// Waits for the end of the process. Returns its exit status.
    fn status(&self) -> c_int {
        let mut status = 0;
        // SAFETY: the child belongs to this process, and there is room for its status.
        while unsafe { libc::waitpid(self.0, &mut status, 0) } == -1
            && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
        {}
        status
    }

    /// Makes the process record its stack several times, and then ends the thread that runs in it.
    fn interrupt(&self) {
        for sample in 0..SAMPLES {
            let value = libc::sigval { sival_ptr: sample as *mut c_void };
            // SAFETY: a system call with numbers. The child has a handler for this signal.
            unsafe { libc::sigqueue(self.0, signals::interruption(), value) };
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A file descriptor that becomes readable when a process has ended; negative if the system does not support this.
struct Handle(c_int);

impl Handle {
    fn of(process: libc::pid_t) -> Handle {
        // SAFETY: a system call with numbers.
        Handle(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) } as c_int)
    }

    /// Waits for the end of the process, for at most `time`. Returns `true` if it has ended.
    fn has_ended_within(&self, process: libc::pid_t, time: Duration) -> bool {
        if self.0 >= 0 {
            let mut file = libc::pollfd { fd: self.0, events: libc::POLLIN, revents: 0 };
            // SAFETY: the array has one element.
            return unsafe { libc::poll(&mut file, 1, time.as_millis().max(1) as c_int) } == 1;
        }
        // SAFETY: the type allows all bytes to be zero.
        let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        std::thread::sleep(time.min(Duration::from_millis(1)));
        // SAFETY: the child belongs to this process and remains waitable; there is room for its end.
        unsafe {
            libc::waitid(libc::P_PID, process as libc::id_t, &mut ended, options) == 0
                && ended.si_pid() != 0
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.0 >= 0 {
            // SAFETY: the descriptor was opened above, and is not used any more.
            unsafe { libc::close(self.0) };
        }
    }
}
