//! Generated programs: their commands, and the generator.

/// The width of the words of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    Usize,
    Isize,
}

impl Width {
    pub(super) const ALL: [Width; 10] = [
        Width::U8,
        Width::I8,
        Width::U16,
        Width::I16,
        Width::U32,
        Width::I32,
        Width::U64,
        Width::I64,
        Width::Usize,
        Width::Isize,
    ];
}

/// The kind of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Channel {
    /// `mpsc::channel`.
    Unbounded,
    /// `mpsc::sync_channel`, with this capacity.
    Bounded(usize),
    /// `crossbeam_channel::unbounded`.
    Crossbeam,
    /// `crossbeam_channel::bounded`, with this capacity.
    CrossbeamBounded(usize),
}

/// A command of a thread. The first field of most commands is the number of the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Load(usize),
    Store(usize, i64),
    Swap(usize, i64),
    Add(usize, i64),
    And(usize, i64),
    Max(usize, i64),
    Min(usize, i64),
    /// Compares with the first number, and stores the second.
    Exchange(usize, i64, i64),
    /// Acquires a lock, and changes its value. The locks with the numbers 0 and 1 are std's, number 2 is parking_lot's.
    Lock(usize, i64),
    TryLock(usize, i64),
    /// Adds to the first word while it holds the lock.
    LockAdd(usize, i64),
    /// Acquires std's lock with this number, and then the other one.
    LockBoth(usize),
    Read,
    Write(i64),
    TryWrite(i64),
    /// Waits until the value behind the condition is not 0.
    Wait,
    /// Sets the value behind the condition. Then notifies all threads, or one.
    Notify(i64, bool),
    Park,
    /// Unparks a thread.
    Unpark(usize),
    Send(i64),
    Receive,
    TryReceive,
    /// Waits at the barrier.
    Arrive,
    /// Initialises the value. The initialiser adds to the first word.
    Init(i64),
    Get,
    /// Adds a reference, which the thread drops at its end.
    Clone,
    /// Drops a reference.
    Drop,
    Count,
    Upgrade,
    /// Reads a word until it has a value, at most this number of times.
    Until(usize, i64, u32, Counter),
    /// Acquires a spin lock by swaps, adds to the first word, and releases the lock. Yields in each round if `true`.
    SpinAdd(i64, bool),
    /// Adds to a word by a loop with a compare-exchange.
    ExchangeAdd(usize, i64),
    /// Tries to acquire a lock until it succeeds, and yields between the attempts.
    TryUntil(usize, i64),
    /// Reads the value behind a lock until it is not 0, and yields between the reads.
    Poll(usize),
    /// Tries to receive until there is a value or no sender, and yields between the attempts.
    PollReceive,
    /// Reads the value that is initialised once until there is one, and yields between the reads.
    PollGet,
    /// Reads the number of references until the thread has all of them, and yields between the reads.
    PollCount,
}

/// The number of rounds of a loop without an end of its own.
pub(super) const ENDLESS: u32 = u32::MAX;

/// The place where a loop counts its rounds, and its hint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counter {
    /// In a register or on the stack.
    Local,
    /// The same, and each round yields.
    Yielding,
    /// On the heap. A search that holds such a loop is no proof.
    Heap,
}

/// The kinds of objects besides words that a program uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    Atomics,
    Locks,
    Conditions,
    Parking,
    Channels,
    Barriers,
    Once,
    Counts,
    Loops,
}

impl Family {
    const ALL: [Family; 9] = [
        Family::Atomics,
        Family::Locks,
        Family::Conditions,
        Family::Parking,
        Family::Channels,
        Family::Barriers,
        Family::Once,
        Family::Counts,
        Family::Loops,
    ];
}

/// A generated program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Program {
    pub(super) family: Family,
    pub(super) width: Width,
    pub(super) channel: Channel,
    /// The commands of each thread. The first thread spawns and joins the others.
    pub(super) threads: Vec<Vec<Act>>,
}

/// A small generator of numbers.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    pub(super) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }
}

impl Program {
    /// Returns the program with this number.
    pub(super) fn generate(number: u64) -> Program {
        let mut numbers = Numbers(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 4711);
        let family = Family::ALL[number as usize % Family::ALL.len()];
        let width = Width::ALL[number as usize / Family::ALL.len() % Width::ALL.len()];
        let channel = numbers.one_of(&[
            Channel::Unbounded,
            Channel::Bounded(1),
            Channel::Bounded(2),
            Channel::Crossbeam,
            Channel::CrossbeamBounded(1),
        ]);
        let three = numbers.below(4) == 0;
        let (threads, most) = if three { (3, 2) } else { (2, 3) };
        let mut threads: Vec<Vec<Act>> = (0..threads)
            .map(|thread| {
                let mut own = 1;
                let acts = (0..1 + numbers.below(most))
                    .map(|_| act(&mut numbers, (family, thread, threads), &mut own));
                acts.collect()
            })
            .collect();
        if numbers.below(8) > 0 {
            level(&mut threads);
        }
        Program { family, width, channel, threads }
    }
}

/// Lets all threads wait at the barrier as often as the first. Otherwise most programs with a barrier are deadlocks.
fn level(threads: &mut [Vec<Act>]) {
    let waits = |acts: &[Act]| acts.iter().filter(|act| **act == Act::Arrive).count();
    let wanted = waits(&threads[0]);
    for acts in &mut threads[1..] {
        while waits(acts) < wanted {
            acts.push(Act::Arrive);
        }
        while let Some(last) =
            acts.iter().rposition(|act| *act == Act::Arrive).filter(|_| waits(acts) > wanted)
        {
            acts.remove(last);
        }
    }
}

/// Draws a command for a thread. `own` is the number of its references.
fn act(
    numbers: &mut Numbers,
    (family, thread, threads): (Family, usize, usize),
    own: &mut u32,
) -> Act {
    let word = usize::from(numbers.below(3) == 0);
    let [by, other] = [0, 1].map(|_| numbers.one_of(&[1, 2, 3, -1, -2]));
    let atomic = [
        Act::Load(word),
        Act::Store(word, by),
        Act::Swap(word, by),
        Act::Add(word, by),
        Act::And(word, by),
        Act::Max(word, by),
        Act::Min(word, by),
        Act::Max(word, other),
        Act::Min(word, other),
        Act::Exchange(word, by, other),
        Act::Exchange(word, 0, other),
    ];
    if family == Family::Atomics || numbers.below(3) == 0 {
        return numbers.one_of(&atomic);
    }
    let lock = numbers.below(3) as usize;
    // With two waiting threads, the choice of `notify_one` is the kernel's.
    let wakes_all = threads > 2 || numbers.below(2) == 0;
    match family {
        Family::Atomics => unreachable!("drawn above"),
        Family::Locks => numbers.one_of(&[
            Act::Lock(lock, by),
            Act::TryLock(lock, by),
            Act::LockAdd(lock, by),
            Act::LockBoth(lock % 2),
            Act::Read,
            Act::Write(by),
            Act::TryWrite(by),
        ]),
        Family::Conditions => numbers.one_of(&[
            Act::Wait,
            Act::Notify(1, wakes_all),
            Act::Notify(2, true),
            Act::Notify(0, true),
        ]),
        Family::Parking if thread == 0 => {
            numbers.one_of(&[Act::Park, Act::Unpark(1), Act::Unpark(threads - 1)])
        }
        Family::Parking => numbers.one_of(&[Act::Park, Act::Unpark(0), Act::Unpark(0)]),
        Family::Channels if thread == 0 => {
            numbers.one_of(&[Act::Receive, Act::Receive, Act::TryReceive, Act::PollReceive])
        }
        Family::Channels => Act::Send(by),
        Family::Barriers => Act::Arrive,
        Family::Once => numbers.one_of(&[Act::Init(by), Act::Init(other), Act::Get, Act::PollGet]),
        Family::Loops => {
            let counter = numbers.one_of(&[
                Counter::Local,
                Counter::Local,
                Counter::Yielding,
                Counter::Yielding,
                Counter::Heap,
            ]);
            let most = numbers.one_of(&[1, 2, 3, 4, 6, 9, ENDLESS, ENDLESS]);
            let value = numbers.one_of(&[0, 1, 2, 3]);
            numbers.one_of(&[
                Act::Until(word, value, most, counter),
                Act::Until(word, by.abs(), most, counter),
                Act::Until(0, value, most, counter),
                Act::SpinAdd(by, counter == Counter::Yielding),
                Act::ExchangeAdd(word, by),
                Act::TryUntil(lock, by),
                Act::Poll(lock),
                Act::Lock(lock, by),
            ])
        }
        Family::Counts => match numbers.below(6) {
            0 if *own > 0 => {
                *own += 1;
                Act::Clone
            }
            1 if *own > 0 => {
                *own -= 1;
                Act::Drop
            }
            2 => Act::Upgrade,
            3 if *own > 0 => Act::PollCount,
            _ if *own > 0 => Act::Count,
            _ => Act::Upgrade,
        },
    }
}
