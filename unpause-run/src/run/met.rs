//! The number of faults that a nemesis injected, and the number of faults that had an effect.

use super::faults::BUGGIFY;

/// The number of injected faults of one kind, and the number of these faults that had an effect. Effects are, for
/// example, a message lost or delayed by a cut, or a task that ended or paused. Each place of `buggify!` is a kind,
/// too. For such a kind, the counts are all passes, and the passes in which it was true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultCount {
    /// The kind, as the name of its method, for example `isolate`. For a `buggify!`, `buggify: ` and the name of its
    /// place.
    pub kind: &'static str,
    /// The number of faults of this kind.
    pub times: u64,
    /// The number of these faults that had an effect.
    pub met: u64,
}

impl FaultCount {
    /// Adds the counts to `all`, which is sorted by kind.
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

    /// Returns the counts in the words of a report: `isolate: 812 of 1000 met a message`.
    #[doc(hidden)]
    pub fn text(&self) -> String {
        let FaultCount { kind, times, met } = self;
        match kind.starts_with(BUGGIFY) {
            true => format!("{kind}: true in {met} of {times} passes"),
            false => format!("{kind}: {met} of {times} met {}", self.thing()),
        }
    }

    /// Returns the warning about a kind of fault that had no effect.
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

    /// Returns the thing that faults of this kind affect, with its article.
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
