//! Faults of a nemesis, and how many of them met something.

/// The faults of one kind that a [nemesis](mod@crate::nemesis) caused, and how many of them met something: a message that a
/// cut lost or held, a task that ended or stood still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultCount {
    /// The kind, by the name of its method: `isolate`.
    pub kind: &'static str,
    /// How many there were.
    pub times: u64,
    /// How many of them met something.
    pub met: u64,
}

impl FaultCount {
    /// Adds the counts to `all`, which is ordered by kind.
    pub(crate) fn add(self, all: &mut Vec<FaultCount>) {
        match all.binary_search_by_key(&self.kind, |known| known.kind) {
            Ok(at) => {
                all[at].times += self.times;
                all[at].met += self.met;
            }
            Err(at) => all.insert(at, self),
        }
    }

    /// The counts, in the words of a report: `isolate: 812 of 1000 met a message`.
    pub(crate) fn text(&self) -> String {
        format!("{}: {} of {} met {}", self.kind, self.met, self.times, self.thing())
    }

    /// The thing that faults of this kind meet, with its article.
    pub(crate) fn thing(&self) -> &'static str {
        match self.kind {
            "isolate" | "cut" | "partition" | "swizzle" | "rolling" => "a message",
            "offset" | "jump" | "strobe" => "a read of the wall clock",
            "drift" => "a timer",
            "slow" => "a step",
            _ => "a task",
        }
    }
}
