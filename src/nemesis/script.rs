//! Scripted faults: nemesis commands in a script.

use std::time::Duration;

use super::fault::Package;
use super::fault_kinds::FaultKind;
use super::plan::{Command, Pause};
use super::shapes::Partition;
use super::victim::Victim;
use super::{Nemesis, disks};
use crate::node::Node;

/// A fault with its victims, as a command of a [`Script`](crate::Script). Failing generated programs are written with
/// such commands.
///
/// ```
/// use sim::nemesis::Fault;
/// use sim::time::Duration;
///
/// let fault = Fault::new("isolate", ["n1"]).after(Duration::from_millis(20)).lasts_steps(5);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    kind: FaultKind,
    victims: Vec<String>,
    parameter: u64,
    lasts: Option<Pause>,
    gap: Pause,
}

impl Fault {
    /// Creates a fault. `kind` is the name of a method of [`Nemesis`], and `victims` are the names of the nodes. By
    /// default the fault starts after one step of the run and lasts until the end. For `partition`, give all nodes in
    /// the order of its parts.
    ///
    /// ```
    /// use sim::nemesis::Fault;
    ///
    /// let kill = Fault::new("kill", ["n1"]);
    /// assert_eq!(kill, kill.clone().after_steps(1));
    /// assert_ne!(kill, kill.clone().lasts_steps(1));
    /// ```
    ///
    /// # Panics
    /// If there is no such kind.
    #[track_caller]
    pub fn new<'a>(kind: &str, victims: impl IntoIterator<Item = &'a str>) -> Fault {
        let known = FaultKind::ALL.iter().find(|known| known.name() == kind);
        let names = || FaultKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let Some(&kind) = known else {
            panic!("a fault of the kind {kind:?}: give one of {}", names())
        };
        let victims = victims.into_iter().map(str::to_owned).collect();
        Fault { kind, victims, parameter: 0, lasts: None, gap: Pause::Steps(1) }
    }

    /// Sets the parameter of the fault. `cut`: 0 for messages from the victim, 1 for messages to it. `partition`: the
    /// position in [`Partition::ANY`], plus the length of `ANY` times the number of the split for
    /// [`Partition::Uniform`]. `clog`: 0 for messages from the victim, 1 for messages to it, 2 for both; add 3 or 6 for
    /// a longer delay. `swizzle`: the order in which victims are healed. `rolling`: the number of moves minus two,
    /// modulo 3. Clock faults and `slow`: the size. `disk`: the position in
    /// [`DiskFault::ALL`](crate::fs::DiskFault::ALL), or 9 plus the milliseconds of a different `Slow`.
    ///
    /// ```
    /// use sim::fs::DiskFault;
    /// use sim::nemesis::Fault;
    ///
    /// let full = DiskFault::ALL.iter().position(|fault| *fault == DiskFault::Full).unwrap();
    /// let fault = Fault::new("disk", ["n1"]).way(full as u64);
    /// assert_eq!(fault, Fault::new("disk", ["n1"]).way(1));
    /// ```
    #[must_use]
    pub fn way(self, parameter: u64) -> Fault {
        Fault { parameter, ..self }
    }

    /// Starts the fault after this time.
    #[must_use]
    pub fn after(self, time: Duration) -> Fault {
        Fault { gap: Pause::Time(time), ..self }
    }

    /// Starts the fault after at least this many steps.
    #[must_use]
    pub fn after_steps(self, steps: u32) -> Fault {
        Fault { gap: Pause::Steps(steps), ..self }
    }

    /// Makes the fault last for this time.
    #[must_use]
    pub fn lasts(self, time: Duration) -> Fault {
        Fault { lasts: Some(Pause::Time(time)), ..self }
    }

    /// Makes the fault last for at least this many steps.
    #[must_use]
    pub fn lasts_steps(self, steps: u32) -> Fault {
        Fault { lasts: Some(Pause::Steps(steps)), ..self }
    }

    /// Converts the fault to a command of `nemesis`, and adds its kind to `nemesis`.
    ///
    /// # Panics
    /// If a victim name matches no node.
    #[track_caller]
    pub(super) fn add_to(&self, nemesis: &mut Nemesis, nodes: &[Node]) -> Command {
        let known = |name: &String| {
            let node = nodes.iter().find(|node| node.name() == *name);
            node.unwrap_or_else(|| panic!("a fault of {name:?}: the nemesis has no such node"))
        };
        let victim = Victim::these(self.victims.iter().map(known));
        let ways = match self.kind {
            FaultKind::Partition => Partition::ANY.to_vec(),
            _ => Vec::new(),
        };
        let Fault { mut parameter, lasts, gap, .. } = *self;
        let mut troubles = Vec::new();
        if self.kind == FaultKind::Disk {
            troubles.push(disks::of_way(std::mem::take(&mut parameter)));
        }
        let package = nemesis.packages.len();
        nemesis.packages.push(Package { ways, troubles, ..Package::new(self.kind, victim) });
        Command { package, victim: 0, parameter, lasts, gap }
    }
}

/// Returns the Rust source of a fault with these victims.
pub(super) fn source(package: &Package, victims: &[Node], command: &Command) -> String {
    let names: Vec<String> = victims.iter().map(|node| format!("{:?}", node.name())).collect();
    let (kind, names) = (package.kind.name(), names.join(", "));
    let parameter = match (package.kind, package.way(command.parameter)) {
        (_, Some(way)) => {
            let ways = Partition::ANY.len() as u64;
            let position = Partition::ANY.iter().position(|known| *known == way);
            let coins = if way == Partition::Uniform { command.victim } else { 0 };
            position.unwrap_or(0) as u64 + ways * coins
        }
        (FaultKind::Swizzle | FaultKind::Rolling, None) => command.parameter,
        (FaultKind::Cut, None) => command.parameter % 2,
        (FaultKind::Disk, None) => package.trouble(command.parameter).map_or(0, disks::way),
        (kind, None) => {
            let effect = kind.effect().map(|effect| effect.parameters());
            effect.or_else(|| kind.sizes()).map_or(0, |sizes| command.parameter % sizes)
        }
    };
    let way = if parameter == 0 { String::new() } else { format!(".way({parameter})") };
    let pause = |name: &str, pause: Pause| match pause {
        Pause::Steps(steps) => format!(".{name}_steps({steps})"),
        Pause::Time(time) => {
            format!(".{name}(std::time::Duration::from_nanos({}))", time.as_nanos())
        }
        // The duration of a fault that the run did not reach.
        Pause::Timers(_) => String::new(),
    };
    let lasts = command.lasts.map_or(String::new(), |lasts| pause("lasts", lasts));
    let after = pause("after", command.gap);
    format!("sim::nemesis::Fault::new(\"{kind}\", [{names}]){way}{after}{lasts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_written_with_its_way() {
        let nodes = [crate::node("scripted")];
        for kind in ["cut", "clog", "rolling", "drift", "slow", "disk"] {
            let fault = Fault::new(kind, ["scripted"]).way(1).lasts_steps(5);
            let mut nemesis = Nemesis::new();
            let command = fault.add_to(&mut nemesis, &nodes);
            let text = source(&nemesis.packages[0], &nodes, &command);
            let fault = format!("Fault::new({kind:?}, [\"scripted\"]).way(1)");
            assert_eq!(text, format!("sim::nemesis::{fault}.after_steps(1).lasts_steps(5)"));
        }
    }
}
