//! Places in the code of plain threads: the line that a report shows, and the rule that decides if an operation there
//! is a point.

pub(super) mod checks;
mod effects_shown;
mod kept_sites;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use unpause_native::{Execution, Frame, location, shortened};

use self::effects_shown::{Shown, is_mark, is_of_poison, shown};
pub(super) use self::kept_sites::KeptSites;
use super::by_number::ByNumber;
use super::channels::{self, Position};
use super::library_calls::{self, LibraryCall};
use super::locks::LockStep;
use super::orders;
use super::queues;
use super::references::{self, CountChange, counts};
use super::turns;
use crate::run::functions::last_name;
use crate::run::ids::Place;
use crate::run::points::Points;
use crate::seam::here;

/// A place in the code that has requested an operation. It is never freed, because the number of places in a program is
/// limited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site(pub(super) &'static SiteParts);

impl Site {
    /// The site of requests that have no place in the code.
    pub(super) const NOWHERE: Site = Site(&SiteParts {
        caller: 0,
        lines: 0,
        place: here(),
        primitive: None,
        lock: None,
        is_of_cell: false,
        channel: None,
        is_behind: false,
        spawns_in_turn: false,
        part: CodePart::Visible,
        library: None,
        wakes_spuriously: false,
        loose: None,
        is_weak: false,
        looped: None,
        names_thread: false,
        ends_wait: false,
        parks: false,
        is_of_mark: false,
        is_merged: false,
        shows: None,
        shows_counts: false,
        count_change: CountChange::Owning,
    });
}

/// The parts of a [`Site`].
#[derive(Debug)]
pub(super) struct SiteParts {
    /// The value of [`Execution::caller`] at this place.
    pub(super) caller: u64,
    /// A hash of the lines of the functions on the call stack. It makes copies of a place in an unrolled loop equal.
    pub(super) lines: u64,
    /// The line of the innermost function outside of std.
    pub(super) place: Place,
    /// The std primitive that accesses the memory, if any.
    pub(super) primitive: Option<&'static str>,
    /// The role of the operation in a lock call, if any.
    pub(super) lock: Option<LockStep>,
    /// True for an operation on the words with which a cell of loom counts its accesses.
    pub(super) is_of_cell: bool,
    /// The place in an operation of a channel, if the operation is part of one.
    pub(super) channel: Option<Position>,
    /// True for a lock operation behind the first operation of a call: see [`queues::is_behind`].
    pub(super) is_behind: bool,
    /// True in the spawn of a task if no decision changes the order of the task: see [`turns`].
    pub(super) spawns_in_turn: bool,
    part: CodePart,
    /// The place in a call of a library that spins for a bounded number of rounds and counts them on the stack, if any.
    pub(super) library: Option<LibraryCall>,
    /// True if the program can observe that a wait here ends without a wake-up. The locks of std wait again instead.
    pub(super) wakes_spuriously: bool,
    /// The function of shuttle's names that has called std here, if it promises less than std's function.
    pub(super) loose: Option<Loose>,
    /// True in `compare_exchange_weak`, unless std calls it.
    pub(super) is_weak: bool,
    /// The name of the atomic operation, if the compiler turned it into a loop with a compare-exchange.
    pub(super) looped: Option<&'static str>,
    /// True in the code that [names](super::NAMES_THREAD) the first thread.
    pub(super) names_thread: bool,
    /// True in the waits of std that do not end before they have read the newest store: see [`ends_wait`].
    pub(super) ends_wait: bool,
    /// True in the function of std that parks a thread, unless a scope of threads calls it.
    pub(super) parks: bool,
    /// True if an operation here reads or sets the mark of a panic on a lock, and is not a point: a lock call reads the
    /// mark while it holds the lock.
    pub(super) is_of_mark: bool,
    /// True if the operation has no line or no function of std, because the compiler has merged several operations.
    pub(super) is_merged: bool,
    /// The operation of std whose effect the program sees here, although it is not a point.
    shows: Option<Shown>,
    /// True if operations here depend on the counts of an `Arc`, although they are points.
    pub(super) shows_counts: bool,
    /// The change of a count, if an operation here [counts](Self::is_of_counts).
    pub(super) count_change: CountChange,
}

/// A function of shuttle's names that returns in cases in which std's function waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loose {
    /// A sleep, which takes no time there.
    Sleep,
    /// `park`, which may return at any moment there.
    Park,
}

/// The part of the program to which a place belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CodePart {
    /// Code whose operations are visible to the program.
    Visible,
    /// The reference counts of `Arc`.
    Counts,
    /// Other internals of std.
    Internal,
}

impl Deref for Site {
    type Target = SiteParts;

    fn deref(&self) -> &SiteParts {
        self.0
    }
}

impl SiteParts {
    /// Returns `true` if an operation here is a point. Otherwise it takes effect without a point.
    pub(super) fn is_point(&self, points: Points) -> bool {
        match self.part {
            CodePart::Visible => true,
            CodePart::Counts => points.all || points.arc == Some(true),
            CodePart::Internal => points.all,
        }
    }

    /// Returns the report text for a part of the program that a search does not see, if the operation reads the effect
    /// of an operation that is not a point.
    #[inline]
    pub(super) fn unseen(&self, points: Points) -> Option<&'static str> {
        match self.shows? {
            _ if points.all => None,
            Shown::End if points.arc == Some(true) => None,
            Shown::End => Some(END),
            Shown::Poison => Some(POISON),
        }
    }

    /// Returns `true` if an operation here shows the mark of a panic on a lock to the program.
    #[inline]
    pub(super) fn shows_marks(&self) -> bool {
        self.shows == Some(Shown::Poison)
    }

    /// Returns `true` for an operation on the counts of an `Arc` that is usually not a point.
    #[inline]
    pub(super) fn is_of_counts(&self) -> bool {
        self.part == CodePart::Counts
    }

    /// Returns `true` if the operation is part of a lock call that is stepped as a whole.
    #[inline]
    pub(super) fn is_whole_lock(&self, points: Points) -> bool {
        self.lock.is_some_and(|part| part.is_whole(points))
    }
}

/// The report text for the end of a thread, which is part of the thread's last step.
pub(super) const END: &str =
    "the end of a thread, which `is_finished` returns (not with the setting `arc`)";
/// The report text for the mark on a lock, which is part of the step in which a thread panics.
pub(super) const POISON: &str = "the mark on a poisoned lock, which `is_poisoned` returns";

/// The places seen so far, by [`Execution::caller`]. They are kept from run to run.
#[derive(Debug, Default)]
pub(super) struct Sites {
    known: ByNumber<Site>,
    /// For places that are not points, their return addresses.
    passing: ByNumber<Vec<usize>>,
}

impl Sites {
    /// Returns the place of the last request of a thread.
    pub(super) fn find(&mut self, execution: &Execution, thread: usize) -> Site {
        let caller = execution.caller(thread);
        let find = || {
            let frames = execution.frames(thread);
            let parts = site(&frames);
            let lines = hash_of_lines(&frames, parts.library.is_some()).unwrap_or(caller);
            Site(Box::leak(Box::new(SiteParts { caller, lines, ..parts })))
        };
        *self.known.entry(caller).or_insert_with(find)
    }

    /// Returns the return addresses, innermost first, that show that this place of a thread's last request is not a
    /// point.
    pub(super) fn passing(&mut self, execution: &Execution, thread: usize, site: Site) -> &[usize] {
        self.passing.entry(site.caller).or_insert_with(|| decisive(execution, thread))
    }
}

/// Returns a hash of the lines of functions, or `None` if no line is known. Lines of a spinning library do not count,
/// because the compiler may merge operations from several of its lines, and builds differ in this.
fn hash_of_lines(frames: &[Frame], backs_off: bool) -> Option<u64> {
    let counts = |frame: &&Frame| {
        frame.line > 0 && !(backs_off && (frame.is_of_std() || library_calls::backs_off(frame)))
    };
    let mut lines = frames.iter().filter(counts).peekable();
    lines.peek()?;
    let mut hasher = DefaultHasher::new();
    lines.for_each(|frame| (&frame.file, frame.line, frame.column).hash(&mut hasher));
    Some(hasher.finish())
}

/// Returns the innermost return addresses of the last request of a thread, up to the function that decides
/// [`SiteParts::is_point`]. This is the first function that has a [part](part_of), belongs to the user, or begins a
/// thread.
fn decisive(execution: &Execution, thread: usize) -> Vec<usize> {
    let mut addresses = Vec::new();
    for (_, address) in execution.calls(thread) {
        addresses.push(address);
        if execution.frames_at(address).iter().any(decides) {
            break;
        }
    }
    addresses
}

/// Returns `true` for a function at which [`site`] ends its search for the part.
fn decides(frame: &Frame) -> bool {
    // The callers of these functions decide if the program sees the mark.
    !is_mark(frame) && (part_of(frame).is_some() || uses_std(frame) || is_of_runtime(frame))
}

/// Returns the part of the program that a std function determines. `None` if the function belongs to several parts.
fn part_of(frame: &Frame) -> Option<CodePart> {
    match () {
        () if is_replacement(frame) => Some(CodePart::Visible),
        // This comes first, because outer functions may belong to another part. For example, a channel waits in a
        // closure of `LocalKey::with`, and a sender is dropped with the last reference of an `Arc`.
        () if primitive(frame) == Some("channel") => Some(CodePart::Visible),
        () if counts(frame) => Some(CodePart::Counts),
        () if is_internal(frame) => Some(CodePart::Internal),
        () => None,
    }
}

/// Returns the place of functions that called each other, innermost first.
pub(super) fn site(frames: &[Frame]) -> SiteParts {
    let names_thread = names_thread(frames);
    // The runtime, not the user, called the std code in which a thread begins or ends.
    let frames = frames.split(is_of_runtime).next().unwrap_or_default();
    let outer = frames.iter().position(uses_std);
    let (inner, user) = frames.split_at(outer.unwrap_or(frames.len()));
    let (lock, shows) = (LockStep::of(frames), shown(inner));
    // Calls of parking_lot, and of channels and queues of crossbeam, are single operations, like calls of std. So the
    // line of the caller is shown.
    let channel = Position::of(frames);
    let is_of_channel = channel.as_ref().is_some_and(Position::is_of_channel);
    let is_called = |frame: &&Frame| {
        lock.is_some() && is_of_lock_crate(frame) || is_of_channel && channels::has(frame)
    };
    let user = &user[user.iter().take_while(is_called).count()..];
    // Operations that the compiler has merged have no line. The line of their call is correct for all of them.
    let with_line = user.iter().find(|frame| is_of_user(frame) && frame.line > 0);
    let unknown = Frame { file: "unknown".to_owned(), ..Frame::default() };
    let of_thread = frames.iter().find(|frame| frame.file.contains("/std/src/thread/"));
    let first = user.iter().find(|frame| is_of_user(frame));
    let user = with_line.or(first).or(of_thread).or(user.first()).unwrap_or(&unknown);
    let part = match (names_thread, shows) {
        (true, _) => CodePart::Internal,
        (false, Some(_)) => CodePart::Visible,
        (false, None) => inner.iter().find_map(part_of).unwrap_or(CodePart::Visible),
    };
    SiteParts {
        caller: 0,
        lines: 0,
        place: location(shortened(&user.file), user.line, user.column),
        primitive: inner.iter().rev().find_map(primitive),
        lock,
        is_of_cell: frames.iter().take_while(|frame| !is_of_user(frame)).any(orders::is_of_cell),
        channel,
        is_behind: lock.is_none() && queues::is_behind(frames),
        spawns_in_turn: turns::spawns(frames),
        part,
        library: LibraryCall::of(frames),
        wakes_spuriously: wakes_spuriously(inner),
        loose: loose(frames),
        is_weak: !inner.iter().any(|frame| primitive(frame).is_some()) && inner.iter().any(is_weak),
        looped: frames.iter().take(LOOPED).find_map(Frame::looped),
        names_thread,
        ends_wait: ends_wait(inner),
        parks: parks(inner),
        is_of_mark: shows.is_none()
            && inner.iter().find(|frame| is_internal(frame)).is_some_and(is_of_poison),
        is_merged: frames.first().is_some_and(|frame| frame.line == 0 || is_of_user(frame)),
        shows,
        shows_counts: part == CodePart::Visible && references::shows(frames),
        count_change: CountChange::of(frames),
    }
}

/// Returns `true` for code that [names](super::NAMES_THREAD) the first thread, and for code that calls this naming
/// function. The thread begins within the naming function and runs its routine there. That function owns objects of
/// this library.
fn names_thread(frames: &[Frame]) -> bool {
    for frame in frames {
        let name = last_name(&frame.function);
        match () {
            () if is_of_runtime(frame) => return name == "run_own" || calls_body(frame),
            () if is_ours(frame) && name == super::NAMES_THREAD => return true,
            () if is_of_user(frame) => return false,
            () => {}
        }
    }
    false
}

/// The number of innermost functions to search for the intrinsic of an operation that became a loop.
const LOOPED: usize = 2;

/// Returns `true` for a function of parking_lot.
fn is_of_lock_crate(frame: &Frame) -> bool {
    ["/parking_lot-", "/lock_api-"].iter().any(|package| frame.file.contains(package))
}

/// Returns `true` if a wait in these std functions may end without a wake-up, as documented by std.
fn wakes_spuriously(inner: &[Frame]) -> bool {
    let documented = |name| matches!(name, None | Some("Condvar" | "thread"));
    documented(inner.iter().find_map(primitive))
        && documented(inner.iter().rev().find_map(primitive))
}

/// Returns `true` in the functions of std that wait for the threads of a scope, park a thread, or unpark it. They
/// return after they have acquired the newest store, whichever store they have read before.
fn ends_wait(inner: &[Frame]) -> bool {
    let files = [
        "/replaced/thread.rs",
        "/std/src/thread/scoped.rs",
        "/std/src/sys/sync/thread_parking/futex.rs",
    ];
    let of_wait = inner.iter().find(|frame| !frame.file.contains("/library/core/src/"));
    of_wait.is_some_and(|frame| files.iter().any(|file| frame.file.ends_with(file)))
}

/// Returns `true` in the function of std that parks a thread, unless a scope of threads calls it.
fn parks(inner: &[Frame]) -> bool {
    let is_park = |frame: &Frame| {
        frame.file.ends_with("/replaced/thread.rs")
            && last_name(&frame.function).starts_with("unpause_std_thread_park")
    };
    inner.iter().any(is_park) && !inner.iter().any(|frame| frame.file.ends_with("/scoped.rs"))
}

/// Returns the function of shuttle's names that has called these functions, if it promises less than std's function.
fn loose(frames: &[Frame]) -> Option<Loose> {
    let of_facade = frames.iter().find(|frame| frame.is_of_facade())?;
    let is_of_shuttle = of_facade.file.contains("unpause-shuttle");
    match last_name(&of_facade.function) {
        "sleep" if is_of_shuttle => Some(Loose::Sleep),
        "park" | "park_timeout" if is_of_shuttle => Some(Loose::Park),
        _ => None,
    }
}

/// Returns `true` for the atomic method that may fail although it sees the expected value.
fn is_weak(frame: &Frame) -> bool {
    frame.file.ends_with("/core/src/sync/atomic.rs")
        && frame.function.contains("compare_exchange_weak")
}

/// Returns `true` for a function of the user. Functions of std, of this library and of its facade crates (which have
/// the names of other tools) are not user functions.
pub(super) fn is_of_user(frame: &Frame) -> bool {
    let is_between = frame.is_of_std() || frame.is_of_facade();
    !frame.file.is_empty() && !is_between && !is_ours(frame)
}

/// Returns `true` for a function of the user or of a facade crate. The std functions that it calls decide if an
/// operation is a point. Std functions that call it do not: for example, std calls the routine of a facade's thread.
fn uses_std(frame: &Frame) -> bool {
    is_of_user(frame) || frame.is_of_facade()
}

/// Returns `true` for a function that begins a simulated thread.
pub(super) fn is_of_runtime(frame: &Frame) -> bool {
    let begins = frame.file.ends_with("/src/linux/thread.rs") || calls_body(frame);
    begins && frame.file.contains("unpause-native")
}

/// Returns `true` for the function that calls the body of a run, on the first thread of the run.
fn calls_body(frame: &Frame) -> bool {
    frame.file.ends_with("/src/linux/local.rs")
}

/// Returns `true` for a function of this library. For example, a generated program spawns the threads of its branches.
pub(super) fn is_ours(frame: &Frame) -> bool {
    let mut folders = [env!("CARGO_MANIFEST_DIR"), unpause_run::FOLDER].into_iter();
    folders
        .any(|folder| frame.file.strip_prefix(folder).is_some_and(|file| file.starts_with("/src/")))
}

/// The folder of functions that are linked in place of compiled std functions, so that their operations are points.
pub(super) const REPLACEMENTS: &str = "/rustc/unpause/replaced/";

/// Returns `true` for a function that is linked in place of a std function.
fn is_replacement(frame: &Frame) -> bool {
    frame.file.starts_with(REPLACEMENTS)
}

/// The files of std primitives, and the names of the primitives.
const PRIMITIVES: &[(&str, &str)] = &[
    ("/std/src/sync/poison/mutex.rs", "Mutex"),
    ("/std/src/sync/poison/rwlock.rs", "RwLock"),
    ("/std/src/sync/poison/condvar.rs", "Condvar"),
    ("/std/src/sync/once.rs", "Once"),
    ("/std/src/sync/poison/once.rs", "Once"),
    ("/std/src/sync/once_lock.rs", "OnceLock"),
    ("/std/src/sync/lazy_lock.rs", "LazyLock"),
    ("/std/src/sync/barrier.rs", "Barrier"),
    ("/std/src/sync/mpsc.rs", "channel"),
    ("/std/src/sync/mpmc/", "channel"),
    ("/alloc/src/sync.rs", "Arc"),
    ("/std/src/thread/", "thread"),
    ("/replaced/mutex.rs", "Mutex"),
    ("/replaced/rwlock.rs", "RwLock"),
    ("/replaced/condvar.rs", "Condvar"),
    ("/replaced/once.rs", "Once"),
    ("/replaced/barrier.rs", "Barrier"),
    ("/replaced/c_barrier.rs", "Barrier"),
    ("/replaced/c_condvar.rs", "Condvar"),
    ("/replaced/c_mutex.rs", "Mutex"),
    ("/replaced/c_once.rs", "Once"),
    ("/replaced/c_rwlock.rs", "RwLock"),
    ("/replaced/c_semaphore.rs", "Semaphore"),
    ("/replaced/c_spin.rs", "SpinLock"),
    ("/replaced/thread.rs", "thread"),
];

/// Returns the std primitive to which a function belongs.
pub(super) fn primitive(frame: &Frame) -> Option<&'static str> {
    let of = |(file, _): &&(&str, &str)| frame.file.contains(*file);
    PRIMITIVES.iter().find(of).map(|(_, name)| *name)
}

/// Returns `true` for a std function whose operations are invisible to programs. Such functions create and join
/// threads, count references, detect features of the processor, or guard the panic counter and the standard streams.
fn is_internal(frame: &Frame) -> bool {
    let Frame { function, file, .. } = frame;
    if let Some((_, thread)) = file.split_once("/std/src/thread/") {
        // The name of a generic function has the names of its types, which are the user's.
        return thread != "scoped.rs" && !last_name(function).contains("park");
    }
    file.contains("/std/src/io/")
        // The list of the processor's features, which is filled before the first run.
        || file.contains("/std_detect/src/")
        || file.contains("/std/src/panicking.rs")
        || is_of_poison(frame)
}
