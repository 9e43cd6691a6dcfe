//! The shape of programs: the numbers of sequential and concurrent commands, and the probabilities of faults.

use super::Topology;

/// The shape of programs: limits for the numbers of their commands, and probabilities of their faults.
///
/// Programs grow with the seed: from size 20 at seed 0 to size 100 at seed 40. The size is a percentage of the maximum
/// numbers in the shape.
///
/// ```
/// use sim::Shape;
/// // Three tasks of up to four commands, followed by a read of everything.
/// let shape = Shape::branches().max_branches(3).max_branch_length(4).max_suffix_length(2);
/// assert_eq!(shape.interleavings(), 34_650); // 12! / (4! 4! 4!)
/// assert_eq!(Shape::chunks().max_chunks(1).interleavings(), 120); // 5!
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    pub(super) prefix: (u32, u32),
    pub(super) middle: Middle,
    pub(super) suffix_max: u32,
    // Probabilities are in thousandths.
    pub(super) stutter: u32,
    pub(super) crash: u32,
    pub(super) timeout: u32,
    pub(crate) budget: u64,
}

/// The default number of configurations for the check of a program: at most a few seconds.
pub(super) const BUDGET: u64 = 20_000_000;

/// The part between prefix and suffix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Middle {
    /// Sequential stages; each has up to `width_max` branches of one command.
    Chunks { count_max: u32, width_max: u32 },
    /// One stage. The prefix continues until a draw with this probability starts the branches.
    Branches { probability: u32, count_max: u32, length_max: u32 },
    /// One stage with a branch for each client.
    Clients { topology: Topology, length_max: u32 },
}

/// The minimum number of commands in a chunk, and of branches in a stage.
pub(super) const WIDTH_MIN: u32 = 2;
/// The maximum of these numbers.
const WIDTH_MAX: u32 = 8;

impl Shape {
    /// Returns a shape with up to 3 commands, then up to 4 chunks, then 1 to 3 commands. A chunk has 2 to 5 concurrent
    /// commands, and begins after the end of the previous chunk. Use it for objects whose commands are all short. All
    /// orders of a chunk are checked against the model: see [`generate`](super), "What is safe".
    pub fn chunks() -> Shape {
        Shape {
            prefix: (0, 3),
            middle: Middle::Chunks { count_max: 4, width_max: 5 },
            suffix_max: 3,
            stutter: 0,
            crash: 0,
            timeout: 0,
            budget: BUDGET,
        }
    }

    /// Returns a shape with at least 3 commands, then 2 or 3 branches of up to 5 commands, then 1 to 3 commands. After
    /// each command from the third on, the branches start with a probability of 0.2. Use it for objects whose clients
    /// make several calls in a row.
    pub fn branches() -> Shape {
        let middle = Middle::Branches { probability: 200, count_max: 3, length_max: 5 };
        Shape { prefix: (3, 20), middle, ..Shape::chunks() }
    }

    /// Returns a shape with a branch of 1 to 5 commands for each client of a cluster, all in one stage, then 1 to 3
    /// commands. [`Gen::client`](super::Gen::client) returns the client number of a command.
    ///
    /// Use it for models without preconditions, waits and references. For other models, commands are checked in all
    /// orders, and a command with too many orders is left out. The checker needs a
    /// [`partition`](unpause_check::Model::partition) by key.
    ///
    /// ```
    /// use sim::check::Model;
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Runner, Shape, Topology};
    ///
    /// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// struct Store { values: Vec<u64>, topology: Topology }
    ///
    /// #[derive(Clone, PartialEq, Debug)]
    /// enum Op { Write { key: usize, value: u64 }, Read { key: usize } }
    ///
    /// impl Model for Store {
    ///     type Op = Op;
    ///     type Ret = u64;
    ///     fn step(&mut self, op: &Op) -> u64 {
    ///         match *op {
    ///             Op::Write { key, value } => { self.values[key] = value; value }
    ///             Op::Read { key } => self.values[key],
    ///         }
    ///     }
    /// }
    ///
    /// impl Program for Store {
    ///     fn generate(&self, g: &mut Gen<'_, Self>) -> Op {
    ///         let client = self.topology.client(g.client().unwrap_or(0));
    ///         match client.writes {
    ///             true => Op::Write { key: client.key, value: u64::from(g.id().0) + 1 },
    ///             false => Op::Read { key: client.key },
    ///         }
    ///     }
    /// }
    ///
    /// let topology = Topology::sticky(2, 1);
    /// let report = Runner::new().hermetic().seeds(0..20).run(async || {
    ///     let values = [Atomic::new(0)];
    ///     let store = Store { values: vec![0], topology: topology.clone() };
    ///     let shape = Shape::clients(topology.clone()).max_branch_length(2);
    ///     sim::parallel(shape, store, async |op| match op {
    ///         Op::Write { key, value } => { values[key].store(value, SeqCst).await; value }
    ///         Op::Read { key } => values[key].load(SeqCst).await,
    ///     })
    ///     .await;
    /// });
    /// assert!(report.passed());
    /// ```
    pub fn clients(topology: Topology) -> Shape {
        Shape {
            prefix: (0, 0),
            middle: Middle::Clients { topology, length_max: 5 },
            ..Shape::chunks()
        }
    }

    /// Sets the minimum number of commands before the concurrent commands. With chunks, also raises the maximum to this
    /// number.
    #[must_use]
    pub fn min_prefix_length(mut self, length: u32) -> Shape {
        self.prefix = (length, self.prefix.1.max(length));
        self
    }

    /// Sets the maximum number of commands before the concurrent commands. Also lowers the minimum to this number.
    #[must_use]
    pub fn max_prefix_length(mut self, length: u32) -> Shape {
        self.prefix = (self.prefix.0.min(length), length);
        self
    }

    /// Sets the maximum number of commands after the concurrent commands, at least 1.
    ///
    /// # Panics
    /// If `length` is 0.
    #[must_use]
    #[track_caller]
    pub fn max_suffix_length(mut self, length: u32) -> Shape {
        self.suffix_max = at_least_one("commands in the suffix", length);
        self
    }

    /// Sets the maximum number of chunks, at least 1.
    ///
    /// # Panics
    /// If the shape has branches, or the number is 0.
    ///
    /// ```
    /// let shape = sim::Shape::chunks().max_chunk_size(2);
    /// assert_eq!(shape.clone().max_chunks(1).interleavings(), 2);
    /// assert_eq!(shape.max_chunks(3).interleavings(), 2 * 2 * 2);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_chunks(mut self, count: u32) -> Shape {
        match &mut self.middle {
            Middle::Chunks { count_max, .. } => *count_max = at_least_one("chunks", count),
            Middle::Branches { .. } | Middle::Clients { .. } => panic!("{NO_CHUNKS}"),
        }
        self
    }

    /// Sets the maximum number of commands in a chunk, 2 to 8.
    ///
    /// # Panics
    /// If the shape has branches, or the number is not in this range.
    ///
    /// ```
    /// let shape = sim::Shape::chunks().max_chunks(1);
    /// assert_eq!(shape.clone().max_chunk_size(2).interleavings(), 2);
    /// assert_eq!(shape.max_chunk_size(4).interleavings(), 4 * 3 * 2);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_chunk_size(mut self, size: u32) -> Shape {
        match &mut self.middle {
            Middle::Chunks { width_max, .. } => *width_max = width("commands in a chunk", size),
            Middle::Branches { .. } | Middle::Clients { .. } => panic!("{NO_CHUNKS}"),
        }
        self
    }

    /// Sets the probability, 0 to 1, that the branches start after a command of the prefix.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn branch_probability(mut self, p: f64) -> Shape {
        match &mut self.middle {
            Middle::Branches { probability, .. } => *probability = thousandths(p),
            Middle::Chunks { .. } | Middle::Clients { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// Sets the maximum number of branches, 2 to 8.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is not in this range.
    ///
    /// ```
    /// let shape = sim::Shape::branches().max_branch_length(2);
    /// assert_eq!(shape.clone().max_branches(2).interleavings(), 6); // 4! / (2! 2!)
    /// assert_eq!(shape.max_branches(3).interleavings(), 90); // 6! / (2! 2! 2!)
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_branches(mut self, count: u32) -> Shape {
        match &mut self.middle {
            Middle::Branches { count_max, .. } => *count_max = width("branches", count),
            Middle::Chunks { .. } | Middle::Clients { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// Sets the maximum number of commands in a branch, at least 1.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is 0.
    ///
    /// ```
    /// use sim::{Shape, Topology};
    ///
    /// // A writer and two readers of one key.
    /// let shape = Shape::clients(Topology::sticky(2, 1));
    /// assert_eq!(shape.clone().max_branch_length(1).interleavings(), 6); // 3!
    /// assert_eq!(shape.max_branch_length(2).interleavings(), 90); // 6! / (2! 2! 2!)
    /// ```
    #[must_use]
    #[track_caller]
    pub fn max_branch_length(mut self, length: u32) -> Shape {
        match &mut self.middle {
            Middle::Branches { length_max, .. } | Middle::Clients { length_max, .. } => {
                *length_max = at_least_one("commands in a branch", length);
            }
            Middle::Chunks { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// Sets the probability that a command is sent once more after it has returned, for example because the network
    /// repeats a message. The repetition must change nothing, because it is the same command. The result of the
    /// repetition is ignored, unless the model defines it ([`Program::again`](super::Program::again)).
    ///
    /// # Panics
    /// If the number is not a probability.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Shape};
    ///
    /// # use sim::check::Model;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Tickets(u64);
    /// # impl Model for Tickets {
    /// #     type Op = ();
    /// #     type Ret = u64;
    /// #     fn step(&mut self, _take: &()) -> u64 {
    /// #         self.0 += 1;
    /// #         self.0
    /// #     }
    /// # }
    /// # impl Program for Tickets {
    /// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
    /// # }
    /// let runner = sim::Runner::new().hermetic().seeds(0..50);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     let last = Atomic::new(0);
    ///     let shape = Shape::chunks().stutter(1.0);
    ///     sim::parallel(shape, Tickets(0), async |()| {
    ///         last.fetch_add(1, SeqCst).await + 1
    ///     })
    ///     .await;
    /// });
    /// assert!(!report.passed(), "the repeated command takes a second ticket");
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stutter(mut self, p: f64) -> Shape {
        self.stutter = thousandths(p);
        self
    }

    /// Sets the probability that a command is dropped at one of its first 8 points, so that its outcome is unknown. The
    /// branch continues. On real threads each wait counts as one more point, and a build without debug assertions drops
    /// a command only where it waits.
    ///
    /// If a dropped command also has to be sent again ([`stutter`](Shape::stutter)), it is then sent again, as if by a
    /// client that received no reply. The two attempts are one call, with the result of the second attempt.
    ///
    /// # Panics
    /// If the number is not a probability.
    ///
    /// ```
    /// use sim::{Atomic, Gen, Ordering::SeqCst, Program, Shape};
    ///
    /// # use sim::check::Model;
    /// # #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    /// # struct Tickets(u64);
    /// # impl Model for Tickets {
    /// #     type Op = ();
    /// #     type Ret = u64;
    /// #     fn step(&mut self, _take: &()) -> u64 {
    /// #         self.0 += 1;
    /// #         self.0
    /// #     }
    /// # }
    /// # impl Program for Tickets {
    /// #     fn generate(&self, _: &mut Gen<'_, Self>) {}
    /// # }
    /// let runner = sim::Runner::new().hermetic().seeds(0..50);
    /// # let runner = runner.out(std::env::temp_dir().join("sim-docs"));
    /// let report = runner.run(async || {
    ///     let last = Atomic::new(0);
    ///     let shape = Shape::chunks().crash(0.5);
    ///     sim::parallel(shape, Tickets(0), async |()| {
    ///         last.fetch_add(1, SeqCst).await + 1
    ///     })
    ///     .await;
    /// });
    /// // The model allows both outcomes of a dropped command.
    /// assert!(report.passed());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn crash(mut self, p: f64) -> Shape {
        self.crash = thousandths(p);
        self
    }

    /// Sets the probability that a branch does not wait for a command to return. The effect of the command may happen
    /// at any later time, or never. The branch continues with its next command.
    ///
    /// # Panics
    /// If the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn timeout(mut self, p: f64) -> Shape {
        self.timeout = thousandths(p);
        self
    }

    /// Sets the number of configurations for the check of one program, 20 million by default. If the check needs more,
    /// its result is unknown, and the test fails as undecided.
    #[must_use]
    pub fn budget(mut self, configurations: u64) -> Shape {
        self.budget = configurations;
        self
    }

    /// Returns the number of orders in which the commands of the largest program may take effect, if each command is
    /// atomic. The number is the product, over all stages, of the multinomial coefficients of the branch lengths. For
    /// clients, it counts the commands on one key. Returns `u64::MAX` if the number is greater. A checker may have to
    /// try many of these orders, so a test whose shape has more than 10^12 gets a warning.
    ///
    /// ```
    /// use sim::Shape;
    ///
    /// // Two stages of three concurrent commands.
    /// assert_eq!(Shape::chunks().max_chunks(2).max_chunk_size(3).interleavings(), 6 * 6);
    /// let large = Shape::branches().max_branches(8).max_branch_length(20);
    /// assert_eq!(large.interleavings(), u64::MAX, "more than fit into the number");
    /// ```
    pub fn interleavings(&self) -> u64 {
        match &self.middle {
            Middle::Chunks { count_max, width_max } => {
                let one = interleavings(&vec![1; *width_max as usize]);
                (0..*count_max).fold(1, |all: u64, _| all.saturating_mul(one))
            }
            Middle::Branches { count_max, length_max, .. } => {
                interleavings(&vec![*length_max as usize; *count_max as usize])
            }
            Middle::Clients { topology, length_max } => {
                interleavings(&vec![*length_max as usize; topology.of_one_key()])
            }
        }
    }
}

const NO_CHUNKS: &str =
    "a shape with branches or clients has no chunks: begin with Shape::chunks()";
const NO_BRANCHES: &str =
    "a shape with chunks or clients has no such branches: begin with Shape::branches()";

#[track_caller]
fn at_least_one(what: &str, most: u32) -> u32 {
    assert!(most > 0, "a shape with at most 0 {what}: give at least 1");
    most
}

/// Checks a number of concurrent branches or commands.
#[track_caller]
fn width(what: &str, most: u32) -> u32 {
    assert!(
        (WIDTH_MIN..=WIDTH_MAX).contains(&most),
        "a shape with at most {most} {what}, which run at the same time: give {WIDTH_MIN} to {WIDTH_MAX}"
    );
    most
}

#[track_caller]
fn thousandths(p: f64) -> u32 {
    assert!((0.0..=1.0).contains(&p), "{p} is no probability: give a number from 0 to 1");
    (p * 1000.0).round() as u32
}

/// Returns the number of ways to merge sequences of these lengths: the factorial of the sum, divided by the factorial
/// of each length. Returns `u64::MAX` if the number is greater.
pub(crate) fn interleavings(lengths: &[usize]) -> u64 {
    let (mut all, mut sum) = (1_u128, 0_u128);
    for length in lengths {
        for nth in 1..=*length as u128 {
            sum += 1;
            // Always divisible, because the result is a multiple of a binomial coefficient after each step.
            all = all * sum / nth;
            if all > u128::from(u64::MAX) {
                return u64::MAX;
            }
        }
    }
    all as u64
}
