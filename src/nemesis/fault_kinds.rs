//! The list of the kinds of faults.
//!
//! A new kind is a row of the list and a file with its [`Effect`] and its method of [`Nemesis`](super::Nemesis). For an
//! example, see `clogs.rs`. Kinds without an effect here are cases of the matches in `fault.rs`.

use super::fault::Active;
use crate::node::Node;
use crate::run::op::{Access, Op, word};
use crate::seam::Here;

/// The effect of a kind of fault that has its own file.
pub(super) trait Effect {
    /// Returns the number of different parameters. A fault draws its parameter below a multiple of this number.
    fn parameters(&self) -> u64 {
        1
    }

    /// Returns the parameter as text, for reports.
    fn tell(&self, parameter: u64) -> Option<String> {
        let _ = parameter;
        None
    }

    /// Returns `true` if a system may lose its victims: a [`Tolerance`](super::Tolerance) then bounds their number.
    fn takes_nodes(&self) -> bool {
        true
    }

    /// Starts the effect on the victims of `fault`. Stores in `fault` everything that its end needs.
    fn begin(&self, fault: &mut Active, nodes: &[Node], here: Here);

    /// Ends the effect, except for effects that other active faults share. Returns `true` if the fault affected
    /// something.
    fn end(&self, fault: &Active, others: &[Active], here: Here) -> bool;
}

/// The row of a kind.
struct Row {
    name: &'static str,
    /// The operations for the start and the end of a fault in reports.
    ops: [&'static Op; 2],
    /// The name of the condition that a fault had an effect.
    wish: &'static str,
    effect: Option<&'static dyn Effect>,
}

/// Generates [`FaultKind`] from the list. Each row has the name of the kind, the name of its end, and what it meets. A
/// kind with its own file also has its [`Effect`].
macro_rules! kinds {
    ($($(#[$about:meta])* $Kind:ident: $name:literal, $end:literal, $thing:literal $(, $effect:expr)?;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum FaultKind {
            $($(#[$about])* $Kind,)*
        }

        impl FaultKind {
            /// All kinds.
            pub(super) const ALL: &[FaultKind] = &[$(FaultKind::$Kind,)*];

            fn row(self) -> &'static Row {
                match self {
                    $(FaultKind::$Kind => const {
                        &Row {
                            name: $name,
                            ops: [
                                &Op::of_kind($name, Access::Tell, word::WRITE),
                                &Op::of_kind($end, Access::Tell, word::WRITE),
                            ],
                            wish: concat!("nemesis: ", $name, " meets ", $thing),
                            effect: first!($(Some(&$effect),)? None),
                        }
                    },)*
                }
            }
        }
    };
}

/// Expands to the first expression.
macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

kinds! {
    Isolate: "isolate", "heal", "a message";
    Cut: "cut", "heal", "a message";
    Partition: "partition", "heal", "a message";
    Kill: "kill", "restart", "a task";
    PowerOff: "power_off", "restart", "a task";
    Restart: "restart", "restart", "a task";
    Pause: "pause", "resume", "a task";
    /// Isolates nodes one by one, and heals them in another order.
    Swizzle: "swizzle", "heal", "a message";
    /// An isolation that follows its victim.
    Rolling: "rolling", "heal", "a message";
    /// Kills and restarts the nodes one after the other.
    Churn: "churn", "restart", "a task";
    Offset: "offset", "correct", "a read of the wall clock";
    Drift: "drift", "correct", "a timer";
    Jump: "jump", "correct", "a read of the wall clock";
    Strobe: "strobe", "correct", "a read of the wall clock";
    Slow: "slow", "full speed", "a step";
    /// Delays messages.
    Clog: "clog", "unclog", "a message", super::clogs::Clogs;
    Disk: "disk", "mend", "a call";
    Wipe: "wipe", "restart", "a file";
}

impl FaultKind {
    pub(super) fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the operations for the start and the end of a fault in reports.
    pub(super) fn ops(self) -> [&'static Op; 2] {
        self.row().ops
    }

    /// Returns the name of the condition that a fault of this kind had an effect.
    pub(super) fn wish(self) -> &'static str {
        self.row().wish
    }

    /// Returns the effect; `None` for a kind without its own file.
    pub(super) fn effect(self) -> Option<&'static dyn Effect> {
        self.row().effect
    }

    /// Returns `true` if the fault affects only the life in which it begins.
    pub(super) fn is_of_life(self) -> bool {
        matches!(
            self,
            FaultKind::Kill
                | FaultKind::PowerOff
                | FaultKind::Wipe
                | FaultKind::Pause
                | FaultKind::Slow
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nemesis::fault::Package;
    use crate::nemesis::{Nemesis, Tolerance, Victim};

    #[test]
    fn a_parameter_of_an_effect_reaches_the_script_and_the_report() {
        for kind in FaultKind::ALL {
            let Some(effect) = kind.effect() else { continue };
            let package = Package::new(*kind, Victim::one());
            assert_eq!(package.parameters(), effect.parameters(), "{kind:?}");
            let last = effect.parameters() - 1;
            assert_eq!(effect.tell(last), effect.tell(last + effect.parameters()), "{kind:?}");
        }
    }

    /// A kind without an effect needs a case in `fault.rs`, and the compiler does not check this.
    #[test]
    fn each_kind_begins_and_ends() {
        let series =
            [FaultKind::Partition, FaultKind::Swizzle, FaultKind::Rolling, FaultKind::Churn];
        for kind in FaultKind::ALL.iter().filter(|kind| !series.contains(kind)) {
            let report = crate::Runner::new().hermetic().seeds(0..3).run(async || {
                let nodes = ["a", "b", "c"].map(crate::node);
                let bound = Tolerance::nodes(1).disks(1);
                let nemesis = Nemesis::new().with(*kind, Victim::one()).faults(1..=1);
                let nemesis = match kind {
                    FaultKind::Disk => {
                        Nemesis::new().disk(Victim::one(), [crate::fs::DiskFault::Full])
                    }
                    _ => nemesis,
                };
                nemesis.tolerance(bound).run(&nodes).await;
                assert!(nodes.iter().all(|node| node.is_up() && !node.is_paused()), "{kind:?}");
            });
            assert!(report.passed(), "{kind:?}: {report:?}");
        }
    }
}
