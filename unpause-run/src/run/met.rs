//! Faults of a nemesis, and how many of them met something.

use super::faults::BUGGIFY;

/// The number of faults of one kind that a nemesis injected, and the number of faults with an
/// effect: a message lost or held by a cut, a task that ended or stood still. A place of `buggify!`
/// is a kind, too: how many times it was passed, and how many times it was true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultCount {
    /// The kind, by the name of its method: `isolate`. `buggify: ` and the name of the place for one of
    /// `buggify!`.
    pub kind: &'static str,
    /// How many there were.
    pub times: u64,
    /// How many of them met something.
    pub met: u64,
}

impl FaultCount {
    /// Adds the counts to `all`, which is ordered by kind.
    #[doc(hidden)]
    pub fn add(self, all: &mut Vec<FaultCount>) {
        match all.binary_search_by_key(&self.kind, |known| known.kind) {
            Ok(at) => {
                all[at].times += self.times;
                all[at].met += self.met;
            }
            Err(at) => all.insert(at, self),
        }
    }

    /// The counts, in the words of a report: `isolate: 812 of 1000 met a message`.
    #[doc(hidden)]
    pub fn text(&self) -> String {
        let FaultCount { kind, times, met } = self;
        match kind.starts_with(BUGGIFY) {
            true => format!("{kind}: true in {met} of {times} passes"),
            false => format!("{kind}: {met} of {times} met {}", self.thing()),
        }
    }

    /// The warning about a kind of fault without any effect.
    #[doc(hidden)]
    pub fn idle(&self) -> String {
        let FaultCount { kind, times, .. } = self;
        match kind.strip_prefix(BUGGIFY) {
            Some(place) => format!(
                "buggify!({place:?}) was true in none of {times} passes: what it guards was not tested. Run more seeds"
            ),
            None => format!(
                "none of {times} faults `{kind}` met {}: they tested nothing. Have the clients run beside the nemesis, and \
                 the faults come when the nodes are busy (`gaps`, `lasting`)",
                self.thing()
            ),
        }
    }

    /// The thing that faults of this kind meet, with its article.
    fn thing(&self) -> &'static str {
        match self.kind {
            "isolate" | "cut" | "partition" | "swizzle" | "rolling" => "a message",
            "offset" | "jump" | "strobe" => "a read of the wall clock",
            "drift" => "a timer",
            "slow" => "a step",
            "disk" => "a call",
            "wipe" => "a file",
            _ => "a task",
        }
    }
}
