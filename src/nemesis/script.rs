//! Faults that are written down: commands of a nemesis in a script.

use std::time::Duration;

use super::fault::{Kind, Package};
use super::plan::{Command, Pause};
use super::shapes::Partition;
use super::victim::Victim;
use super::{Nemesis, disks};
use crate::node::Node;

/// A fault with its victims, as a command of a [`Script`](crate::Script): a generated program that fails is written
/// with such.
///
/// ```
/// use sim::nemesis::Fault;
/// use sim::time::Duration;
///
/// let fault = Fault::new("isolate", ["n1"]).after(Duration::from_millis(20)).lasts_steps(5);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    kind: Kind,
    victims: Vec<String>,
    parameter: u64,
    lasts: Option<Pause>,
    gap: Pause,
}

impl Fault {
    /// A fault of the kind that has the name of a method of [`Nemesis`], and of the nodes with these names. It comes
    /// after a step of the run, and lasts until the end. The nodes of `partition` are all nodes, in the order of its
    /// parts.
    ///
    /// # Panics
    /// If there is no such kind.
    #[track_caller]
    pub fn new<'a>(kind: &str, victims: impl IntoIterator<Item = &'a str>) -> Fault {
        let known = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let names = || Kind::ALL.map(Kind::name).join(", ");
        let Some(kind) = known else {
            panic!("a fault of the kind {kind:?}: give one of {}", names())
        };
        let victims = victims.into_iter().map(str::to_owned).collect();
        Fault { kind, victims, parameter: 0, lasts: None, gap: Pause::Steps(1) }
    }

    /// The way of the fault: of `cut` 0 for what the victim sends, 1 for what it receives; of `partition` a position in
    /// [`Partition::ANY`] and its number of ways times the number of the parts of [`Partition::Uniform`]; of `clog` 0
    /// for what the victim sends, 1 for what it receives, 2 for both, and 3 or 6 more for a longer time; of `swizzle`
    /// the order of the ends; of `rolling` two less than the number of moves, modulo 3; of faults of clocks and of
    /// `slow` the size; of `disk` a position in [`DiskFault::ALL`](crate::fs::DiskFault::ALL), or 9 and the
    /// milliseconds of another `Slow`.
    #[must_use]
    pub fn way(self, parameter: u64) -> Fault {
        Fault { parameter, ..self }
    }

    /// It comes after this time.
    #[must_use]
    pub fn after(self, time: Duration) -> Fault {
        Fault { gap: Pause::Time(time), ..self }
    }

    /// It comes after so many steps, or more.
    #[must_use]
    pub fn after_steps(self, steps: u32) -> Fault {
        Fault { gap: Pause::Steps(steps), ..self }
    }

    /// It lasts for this time.
    #[must_use]
    pub fn lasts(self, time: Duration) -> Fault {
        Fault { lasts: Some(Pause::Time(time)), ..self }
    }

    /// It lasts for so many steps, or more.
    #[must_use]
    pub fn lasts_steps(self, steps: u32) -> Fault {
        Fault { lasts: Some(Pause::Steps(steps)), ..self }
    }

    /// The fault as a command of `nemesis`, to which its kind is added.
    ///
    /// # Panics
    /// If no node has one of its names.
    #[track_caller]
    pub(super) fn add_to(&self, nemesis: &mut Nemesis, nodes: &[Node]) -> Command {
        let known = |name: &String| {
            let node = nodes.iter().find(|node| node.name() == *name);
            node.unwrap_or_else(|| panic!("a fault of {name:?}: the nemesis has no such node"))
        };
        let victim = Victim::these(self.victims.iter().map(known));
        let ways = match self.kind {
            Kind::Partition => Partition::ANY.to_vec(),
            _ => Vec::new(),
        };
        let Fault { mut parameter, lasts, gap, .. } = *self;
        let mut troubles = Vec::new();
        if self.kind == Kind::Disk {
            troubles.push(disks::of_way(std::mem::take(&mut parameter)));
        }
        let package = nemesis.packages.len();
        nemesis.packages.push(Package { ways, troubles, ..Package::new(self.kind, victim) });
        Command { package, victim: 0, parameter, lasts, gap }
    }
}

/// A fault as Rust source, of these victims.
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
        (Kind::Swizzle | Kind::Rolling, None) => command.parameter,
        (Kind::Cut, None) => command.parameter % 2,
        (Kind::Clog, None) => command.parameter % super::clogs::PARAMETERS,
        (Kind::Disk, None) => package.trouble(command.parameter).map_or(0, disks::way),
        (kind, None) => kind.sizes().map_or(0, |sizes| command.parameter % sizes),
    };
    let way = if parameter == 0 { String::new() } else { format!(".way({parameter})") };
    let pause = |name: &str, pause: Pause| match pause {
        Pause::Steps(steps) => format!(".{name}_steps({steps})"),
        Pause::Time(time) => {
            format!(".{name}(std::time::Duration::from_nanos({}))", time.as_nanos())
        }
        // The time of a fault that was not reached.
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
