//! Programs as data: tasks and their acts.
//!
//! Objects are few and fixed, so that generated programs collide: [`WORDS`] words of memory, [`LOCKS`] locks, [`NODES`]
//! node names and one recorded register. A task holds the handles of the tasks that it spawned, until it gives them
//! away. An act on a handle that its task does not hold has no effect.

use std::fmt;

/// The number of words of memory: two atomics, a cell and an atomic in a `static`.
pub const WORDS: usize = 4;
/// The word that is a cell.
pub const CELL: usize = 2;
/// The word that is a `static`.
pub const STATIC: usize = 3;
/// The number of locks.
pub const LOCKS: usize = 2;
/// The number of node names.
pub const NODES: usize = 3;

/// Numbered tasks. Task 0 is the body of the test. At most one act spawns each other task.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    /// The acts of each task.
    pub tasks: Vec<Vec<Act>>,
}

/// An act of a task.
///
/// Acts that read a value log it. "A point" marks an act before which other tasks may step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Act {
    /// Reads a word and logs the value. This act is a point.
    Load(usize),
    /// Writes a word. This act is a point.
    Store(usize, u8),
    /// Writes a word and logs the previous value. This act is a point.
    Swap(usize, u8),
    /// Adds 1 to an atomic and logs the previous value. This act is a point.
    Add(usize),
    /// Sets an atomic to the maximum of its value and this value; logs the previous value. This act is a point.
    Max(usize, u8),
    /// Replaces the second value by the third value, and logs the observed value. This act is a point.
    Exchange(usize, u8, u8),
    /// Draws a value below the bound and writes it to a word. This act is a point.
    StoreDrawn(usize, u8),

    /// Waits for a lock, logs the value under the lock, and adds 1 to this value. This act is a point.
    Lock(usize),
    /// Tries to lock. Logs 0 if the lock is held. Otherwise acts like `Lock`, and logs 1 more than the value. This act
    /// is a point.
    TryLock(usize),
    /// Releases the lock that this piece of the program acquired last. This act has no point.
    Unlock,

    /// Waits until a word has a value. Each evaluation is a point.
    Spin(usize, u8),
    /// Waits until word 0 has the first value or word 1 has the second value. Reads word 0 first.
    SpinEither(u8, u8),
    /// Waits until word 0 has the first value and, in a later step, word 1 has the second value.
    SpinBoth(u8, u8),
    /// Waits until an exchange succeeds.
    SpinExchange(usize, u8, u8),
    /// Waits until an attempt to lock succeeds, and releases the lock at once.
    SpinTry(usize),

    /// Does nothing. This act is a point.
    Yield,
    /// Draws a value below the bound and logs it. This act has no point.
    Draw(u8),
    /// Skips `.1` acts if the value that this piece logged last is `.0`. This act has no point.
    SkipIf(u8, u8),
    /// Panics, which ends the run. This act has no point.
    Panic,

    /// Spawns a task, and moves the handles of these other tasks into it. This act has no point.
    Spawn(usize, Vec<usize>),
    /// Awaits a handle. Logs 1 if the task ended by itself, and 0 if it was aborted. Takes over the handles that the
    /// target held at its end. This act is a point.
    Join(usize),
    /// Polls a handle once and drops it. Logs 0 if the handle was pending, otherwise 1 more than [`Act::Join`] logs.
    /// This act has no point.
    Poll(usize),
    /// Polls a handle once and yields. Then awaits the handle, unless the poll was ready.
    PollJoin(usize),
    /// Aborts a task. This act has no point.
    Abort(usize),
    /// Logs 1 if a task has ended, and 0 otherwise. This act has no point.
    Look(usize),
    /// Detaches a task. This act has no point.
    Detach(usize),
    /// Creates the future of an act with one point, polls it once and drops it. This act has no point.
    Drop(Box<Act>),

    /// Adds a running node with this name. The run ends if a node has this name already. This act has no point.
    Node(usize),
    /// Logs 1 if a node has this name, and 0 otherwise. This act has no point.
    Find(usize),
    /// Logs the number of the node with this name, in the order of additions from 1; 0 if no node has the name. This
    /// act has no point.
    Addr(usize),
    /// Logs twice the number of lives of a node, plus 1 if it is running; 0 if no node has the name. This act has no
    /// point.
    Life(usize),
    /// Ends the process of the node with this name, if it exists and is running. This act has no point.
    Kill(usize),
    /// Begins the next life of the node with this name, if it exists. This act has no point.
    Restart(usize),

    /// Two pieces, like in `select`: the first piece that ends drops the other.
    Race(Vec<Act>, Vec<Act>),
    /// Two pieces, like in `join`: each poll of the task polls both.
    Both(Vec<Act>, Vec<Act>),
    /// Two pieces, like in `FuturesUnordered`: each is polled when it was woken.
    Woken(Vec<Act>, Vec<Act>),

    /// From now on, the piece holds a value with this drop effect. It is dropped when the piece ends, its task is
    /// aborted, or the piece loses a race. The value acquired last is dropped first. This act has no point.
    Defer(Effect),

    /// A recorded write of this value to a register, or a recorded read. It accesses each of the words in turn, and the
    /// last access determines the result. A point for each word.
    Call {
        /// True if the call is recorded with `History::invoke`.
        explicit: bool,
        /// The written value; `None` for a read.
        write: Option<u8>,
        /// The accessed words.
        words: Vec<usize>,
    },
}

/// The effect of a drop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// Like [`Act::Abort`].
    Abort(usize),
    /// Like [`Act::Look`].
    Look(usize),
    /// Like [`Act::Draw`].
    Draw(u8),
    /// Like [`Act::Spawn`], without handles.
    Spawn(usize),
    /// Like [`Act::Panic`].
    Panic,
}

impl Act {
    /// Returns the pieces of an act, if it has any.
    pub fn pieces(&self) -> Option<[&Vec<Act>; 2]> {
        match self {
            Act::Race(one, two) | Act::Both(one, two) | Act::Woken(one, two) => Some([one, two]),
            _ => None,
        }
    }

    /// Returns the pieces of an act, if it has any.
    pub fn pieces_mut(&mut self) -> Option<[&mut Vec<Act>; 2]> {
        match self {
            Act::Race(one, two) | Act::Both(one, two) | Act::Woken(one, two) => Some([one, two]),
            _ => None,
        }
    }
}

impl Program {
    /// Returns the number of acts, including acts in pieces.
    pub fn size(&self) -> usize {
        fn size(acts: &[Act]) -> usize {
            let inner = |act: &Act| act.pieces().map_or(0, |pair| size(pair[0]) + size(pair[1]));
            acts.iter().map(|act| 1 + inner(act)).sum()
        }
        self.tasks.iter().map(|acts| size(acts)).sum()
    }

    /// Returns `true` if `is` holds for any act, including acts in pieces.
    pub fn any(&self, is: impl Fn(&Act) -> bool) -> bool {
        fn any(acts: &[Act], is: &dyn Fn(&Act) -> bool) -> bool {
            let inner =
                |act: &Act| act.pieces().is_some_and(|pair| pair.iter().any(|p| any(p, is)));
            acts.iter().any(|act| is(act) || inner(act))
        }
        self.tasks.iter().any(|acts| any(acts, &is))
    }

    /// Returns `true` if calls are recorded. The body then checks the history at its end.
    pub fn records(&self) -> bool {
        self.any(|act| matches!(act, Act::Call { .. }))
    }
}

/// The observations of one run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sight {
    /// The end of the run.
    pub end: End,
    /// The log of each task. [`entry`] creates the elements of a log.
    pub logs: Vec<Vec<u16>>,
    /// The last values of the words, and the last values under the locks.
    pub memory: [u8; WORDS + LOCKS],
}

/// The end of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// The body returned.
    Passed,
    /// No remaining task can step.
    Deadlock,
    /// This task panicked.
    Panicked(usize),
    /// This task added a node with an existing name.
    Refused(usize),
    /// The body returned, but the history was not linearizable.
    Violated,
    /// The run failed in a way that is impossible for these programs.
    Other(String),
}

impl End {
    /// Returns `true` if the run passed.
    pub fn passed(&self) -> bool {
        *self == End::Passed
    }
}

/// Returns a log entry: a value, with the branch of the task that saw it (0: no branch).
pub fn entry(branch: u8, value: u8) -> u16 {
    100 * u16::from(branch) + u16::from(value)
}

impl fmt::Display for Program {
    /// Writes the program as Rust-like text, with each task at the place of its spawn.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "async fn body() {{")?;
        let mut shown = vec![0];
        self.show(f, &self.tasks[0], 1, &mut shown)?;
        writeln!(f, "}}")?;
        for task in (0..self.tasks.len()).filter(|task| !shown.contains(task)) {
            if !self.tasks[task].is_empty() {
                writeln!(f, "// never spawned: t{task}")?;
            }
        }
        Ok(())
    }
}

impl Program {
    fn show(
        &self,
        f: &mut fmt::Formatter<'_>,
        acts: &[Act],
        depth: usize,
        shown: &mut Vec<usize>,
    ) -> fmt::Result {
        let indent = "    ".repeat(depth);
        for act in acts {
            write!(f, "{indent}")?;
            match act {
                Act::Spawn(task, gives) => {
                    let gives: Vec<_> = gives.iter().map(|task| format!("t{task}")).collect();
                    let moved = match gives.is_empty() {
                        true => String::new(),
                        false => format!(" /* moves {} */", gives.join(", ")),
                    };
                    writeln!(f, "let t{task} = spawn(async move {{{moved}")?;
                    self.task(f, *task, depth + 1, shown)?;
                    writeln!(f, "{indent}}});")?;
                }
                Act::Defer(Effect::Spawn(task)) => {
                    writeln!(f, "defer!(t{task} = spawn(async move {{")?;
                    self.task(f, *task, depth + 1, shown)?;
                    writeln!(f, "{indent}}}));")?;
                }
                Act::Race(one, two) | Act::Both(one, two) | Act::Woken(one, two) => {
                    let name = match act {
                        Act::Race(..) => "select",
                        Act::Both(..) => "join",
                        _ => "unordered",
                    };
                    writeln!(f, "{name}(async {{")?;
                    self.show(f, one, depth + 1, shown)?;
                    writeln!(f, "{indent}}}, async {{")?;
                    self.show(f, two, depth + 1, shown)?;
                    writeln!(f, "{indent}}}).await;")?;
                }
                act => writeln!(f, "{};", Line(act))?,
            }
        }
        Ok(())
    }

    fn task(
        &self,
        f: &mut fmt::Formatter<'_>,
        task: usize,
        depth: usize,
        shown: &mut Vec<usize>,
    ) -> fmt::Result {
        if shown.contains(&task) {
            return writeln!(f, "{}/* t{task} again: never */", "    ".repeat(depth));
        }
        shown.push(task);
        self.show(f, &self.tasks[task], depth, shown)
    }
}

/// An act that fits on one line.
struct Line<'a>(&'a Act);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |word: &usize| match *word {
            CELL => "cell".to_owned(),
            STATIC => "STATIC".to_owned(),
            word => format!("w{word}"),
        };
        match self.0 {
            Act::Load(w) => write!(f, "see({}.load().await)", word(w)),
            Act::Store(w, v) => write!(f, "{}.store({v}).await", word(w)),
            Act::Swap(w, v) => write!(f, "see({}.swap({v}).await)", word(w)),
            Act::Add(w) => write!(f, "see({}.fetch_add(1).await)", word(w)),
            Act::Max(w, v) => write!(f, "see({}.fetch_max({v}).await)", word(w)),
            Act::Exchange(w, old, new) => {
                write!(f, "see({}.compare_exchange({old}, {new}).await)", word(w))
            }
            Act::StoreDrawn(w, bound) => write!(f, "{}.store(below({bound})).await", word(w)),
            Act::Lock(l) => write!(f, "m{l}.lock().await"),
            Act::TryLock(l) => write!(f, "see(m{l}.try_lock().await)"),
            Act::Unlock => write!(f, "drop(the guard taken last)"),
            Act::Spin(w, v) => write!(f, "spin_until({} == {v}).await", word(w)),
            Act::SpinEither(a, b) => write!(f, "spin_until(w0 == {a} || w1 == {b}).await"),
            Act::SpinBoth(a, b) => write!(f, "spin_until(w0 == {a} && w1 == {b}).await"),
            Act::SpinExchange(w, old, new) => {
                write!(f, "spin_until({}.compare_exchange({old}, {new}).is_ok()).await", word(w))
            }
            Act::SpinTry(l) => write!(f, "spin_until(m{l}.try_lock().is_some()).await"),
            Act::Yield => write!(f, "yield_now().await"),
            Act::Draw(bound) => write!(f, "see(below({bound}))"),
            Act::SkipIf(value, count) => write!(f, "if last == {value} {{ skip {count} acts }}"),
            Act::Panic => write!(f, "panic!()"),
            Act::Join(t) => write!(f, "see(t{t}.await.is_ok())"),
            Act::Poll(t) => write!(f, "see(poll_once(t{t}))"),
            Act::PollJoin(t) => {
                write!(
                    f,
                    "see(match poll_once(&mut t{t}) {{ Pending => {{ yield_now().await; t{t}.await }} }})"
                )
            }
            Act::Abort(t) => write!(f, "t{t}.abort()"),
            Act::Look(t) => write!(f, "see(t{t}.is_finished())"),
            Act::Detach(t) => write!(f, "t{t}.detach()"),
            Act::Drop(act) => write!(f, "poll_once({})", Line(act)),
            Act::Node(n) => write!(f, "node(\"n{n}\")"),
            Act::Find(n) => write!(f, "see(find(\"n{n}\").is_some())"),
            Act::Addr(n) => write!(f, "see(find(\"n{n}\")?.addr())"),
            Act::Life(n) => write!(f, "see(find(\"n{n}\")?.life(), .is_up())"),
            Act::Kill(n) => write!(f, "find(\"n{n}\")?.kill()"),
            Act::Restart(n) => write!(f, "find(\"n{n}\")?.restart()"),
            Act::Defer(effect) => write!(f, "defer!({effect:?})"),
            Act::Call { explicit, write: to, words } => {
                let words: Vec<_> = words.iter().map(word).collect();
                let how = if *explicit { "invoked" } else { "call" };
                match to {
                    Some(value) => write!(f, "history.{how}(Write({value}), {})", words.join(", ")),
                    None => write!(f, "see(history.{how}(Read, {}))", words.join(", ")),
                }
            }
            Act::Spawn(..) | Act::Race(..) | Act::Both(..) | Act::Woken(..) => {
                write!(f, "{:?}", self.0)
            }
        }
    }
}
