//! How programs look: how many commands run before, beside and after each other, and what may befall
//! one.

/// How programs look.
///
/// Programs grow with the seed, from size 20 at seed 0 to size 100 at seed 40; a size is the part, in
/// percent, of what is said here as the most.
///
/// ```
/// use sim::Shape;
/// // Three tasks of up to four commands, after which everything is looked at.
/// let shape = Shape::branches().max_branches(3).max_branch_length(4).max_suffix_length(2);
/// assert_eq!(shape.interleavings(), 34_650); // 12! / (4! 4! 4!)
/// assert_eq!(Shape::chunks().max_chunks(1).interleavings(), 120); // 5!
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shape {
    pub(super) prefix: (u32, u32),
    pub(super) middle: Middle,
    pub(super) suffix_max: u32,
    // Probabilities are in parts of a thousand.
    pub(super) stutter: u32,
    pub(super) crash: u32,
    pub(super) timeout: u32,
    pub(crate) budget: u64,
}

/// Configurations that the check of a program may visit unless told otherwise: some seconds at the
/// most.
pub(super) const BUDGET: u64 = 20_000_000;

/// What stands between prefix and suffix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Middle {
    /// One stage after the other; each has so many branches of one command.
    Chunks { count_max: u32, width_max: u32 },
    /// One stage. The prefix goes on until a draw with this probability says that it branches.
    Branches { probability: u32, count_max: u32, length_max: u32 },
}

/// The least number of commands in a chunk and of branches in a stage.
pub(super) const WIDTH_MIN: u32 = 2;
/// The greatest.
const WIDTH_MAX: u32 = 8;

impl Shape {
    /// Up to 3 commands, then up to 4 chunks of 2 to 5 commands that run at the same time, each after
    /// the one before has ended, then 1 to 3 commands. For things whose every command is short. All orders of a
    /// chunk are looked at for what the model does not allow: see [`generate`](super), "What is safe".
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

    /// At least 3 commands, each followed with a probability of 0.2 by 2 or 3 branches of up to 5
    /// commands; then 1 to 3 commands. For things whose clients do several things in a row.
    pub fn branches() -> Shape {
        let middle = Middle::Branches { probability: 200, count_max: 3, length_max: 5 };
        Shape { prefix: (3, 20), middle, ..Shape::chunks() }
    }

    /// At least so many commands before any that run at the same time; with chunks, at most as many
    /// as well if it is more than the most.
    #[must_use]
    pub fn min_prefix_length(mut self, length: u32) -> Shape {
        self.prefix = (length, self.prefix.1.max(length));
        self
    }

    /// At most so many commands before any that run at the same time; at least as many as well if
    /// that is less than the least.
    #[must_use]
    pub fn max_prefix_length(mut self, length: u32) -> Shape {
        self.prefix = (self.prefix.0.min(length), length);
        self
    }

    /// At most so many commands after all that run at the same time, at least 1.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn max_suffix_length(mut self, length: u32) -> Shape {
        self.suffix_max = at_least_one("commands in the suffix", length);
        self
    }

    /// At most so many chunks, at least 1.
    ///
    /// # Panics
    /// If the shape has branches, or the number is 0.
    #[must_use]
    #[track_caller]
    pub fn max_chunks(mut self, count: u32) -> Shape {
        match &mut self.middle {
            Middle::Chunks { count_max, .. } => *count_max = at_least_one("chunks", count),
            Middle::Branches { .. } => panic!("{NO_CHUNKS}"),
        }
        self
    }

    /// At most so many commands in a chunk, 2 to 8.
    ///
    /// # Panics
    /// If the shape has branches, or the number is not one of these.
    #[must_use]
    #[track_caller]
    pub fn max_chunk_size(mut self, size: u32) -> Shape {
        match &mut self.middle {
            Middle::Chunks { width_max, .. } => *width_max = width("commands in a chunk", size),
            Middle::Branches { .. } => panic!("{NO_CHUNKS}"),
        }
        self
    }

    /// With which probability the program branches after a command of the prefix, 0 to 1.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn branch_probability(mut self, p: f64) -> Shape {
        match &mut self.middle {
            Middle::Branches { probability, .. } => *probability = thousandths(p),
            Middle::Chunks { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// At most so many branches, 2 to 8.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is not one of these.
    #[must_use]
    #[track_caller]
    pub fn max_branches(mut self, count: u32) -> Shape {
        match &mut self.middle {
            Middle::Branches { count_max, .. } => *count_max = width("branches", count),
            Middle::Chunks { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// At most so many commands in a branch, at least 1.
    ///
    /// # Panics
    /// If the shape has chunks, or the number is 0.
    #[must_use]
    #[track_caller]
    pub fn max_branch_length(mut self, length: u32) -> Shape {
        match &mut self.middle {
            Middle::Branches { length_max, .. } => {
                *length_max = at_least_one("commands in a branch", length);
            }
            Middle::Chunks { .. } => panic!("{NO_BRANCHES}"),
        }
        self
    }

    /// With which probability a command is sent once more after it has returned: as a network does
    /// with a message, or a client that did not hear. The second one must change nothing, as
    /// it is the same command; what it returns is not looked at, unless the model says what it is
    /// ([`Program::again`](super::Program::again)).
    ///
    /// # Panics
    /// If the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn stutter(mut self, p: f64) -> Shape {
        self.stutter = thousandths(p);
        self
    }

    /// With which probability a command is dropped at one of its first 8 points, so that nobody knows
    /// whether it happened. The branch goes on. On real threads each wait counts as one more point, and a
    /// build without debug assertions drops a command only where it waits.
    ///
    /// One that is also to be sent again ([`stutter`](Shape::stutter)) is sent again then, as a client does
    /// that did not hear: both are one call, and what the second is told is the answer.
    ///
    /// # Panics
    /// If the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn crash(mut self, p: f64) -> Shape {
        self.crash = thousandths(p);
        self
    }

    /// With which probability a branch does not wait for a command to return: its effect may come at
    /// any later time, or never. The next command of the branch is begun without it.
    ///
    /// # Panics
    /// If the number is not a probability.
    #[must_use]
    #[track_caller]
    pub fn timeout(mut self, p: f64) -> Shape {
        self.timeout = thousandths(p);
        self
    }

    /// How many configurations the check of one program may look at, 20 million unless told otherwise.
    /// If they do not suffice nobody knows whether the program is right, and the test fails as undecided.
    #[must_use]
    pub fn budget(mut self, configurations: u64) -> Shape {
        self.budget = configurations;
        self
    }

    /// In how many orders the commands of the largest program may take effect if each does so at once:
    /// for each stage the multinomial coefficient of the lengths of its branches. `u64::MAX` if there
    /// are more. A checker may have to look at many of them: a test whose shape has more than 10^12 is
    /// warned.
    pub fn interleavings(&self) -> u64 {
        match self.middle {
            Middle::Chunks { count_max, width_max } => {
                let one = interleavings(&vec![1; width_max as usize]);
                (0..count_max).fold(1, |all: u64, _| all.saturating_mul(one))
            }
            Middle::Branches { count_max, length_max, .. } => {
                interleavings(&vec![length_max as usize; count_max as usize])
            }
        }
    }
}

const NO_CHUNKS: &str = "a shape with branches has no chunks: begin with Shape::chunks()";
const NO_BRANCHES: &str = "a shape with chunks has no branches: begin with Shape::branches()";

#[track_caller]
fn at_least_one(what: &str, most: u32) -> u32 {
    assert!(most > 0, "a shape with at most 0 {what}: give at least 1");
    most
}

/// How much may run at the same time.
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

/// In how many orders sequences of these lengths can be merged: their sum, factorial, divided by the
/// factorial of each. `u64::MAX` if there are more.
pub(crate) fn interleavings(lengths: &[usize]) -> u64 {
    let (mut all, mut sum) = (1_u128, 0_u128);
    for length in lengths {
        for nth in 1..=*length as u128 {
            sum += 1;
            // Always divisible: it is a binomial coefficient after each step.
            all = all * sum / nth;
            if all > u128::from(u64::MAX) {
                return u64::MAX;
            }
        }
    }
    all as u64
}
