//! Faults: how a fault starts, how it ends, and how many events it affected. A kind of fault with a file of its own has
//! an [`Effect`](super::fault_kinds::Effect) there.

use super::clock_faults;
use super::fault_kinds::FaultKind;
use super::plan::{Command, Pause};
use super::shapes::Partition;
use super::underway::Struck;
use super::{Nemesis, Victim};
use crate::fs::DiskFault;
use crate::net;
use crate::node::{Death, Node};
use crate::run::op::Op;
use crate::seam::{Here, Wrapped};

/// A kind of fault with its victim.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) kind: FaultKind,
    pub(super) victim: Victim,
    /// The partitions to choose from; used only by `FaultKind::Partition`.
    pub(super) ways: Vec<Partition>,
    /// The disk faults to choose from; used only by `FaultKind::Disk`.
    pub(super) troubles: Vec<DiskFault>,
}

impl Package {
    pub(super) fn new(kind: FaultKind, victim: Victim) -> Package {
        Package { kind, victim, ways: Vec::new(), troubles: Vec::new() }
    }

    /// Returns the number of different parameters.
    pub(super) fn parameters(&self) -> u64 {
        match self.kind {
            FaultKind::Cut => 2,
            FaultKind::Partition => self.ways.len() as u64,
            FaultKind::Disk => self.troubles.len() as u64,
            FaultKind::Swizzle => 6,
            FaultKind::Rolling => 3,
            kind => match kind.effect() {
                Some(effect) => effect.parameters(),
                None => kind.sizes().unwrap_or(1),
            },
        }
    }

    /// Returns `true` if the fault has no duration.
    pub(super) fn is_instant(&self) -> bool {
        self.kind == FaultKind::Restart
    }

    /// Returns the partition for a parameter.
    pub(super) fn way(&self, parameter: u64) -> Option<Partition> {
        self.ways.get((parameter % self.ways.len().max(1) as u64) as usize).copied()
    }

    /// Returns the package for a single part of a series.
    pub(super) fn part(&self) -> Package {
        let kind = match self.kind {
            FaultKind::Swizzle | FaultKind::Rolling => FaultKind::Isolate,
            FaultKind::Churn => FaultKind::Kill,
            kind => kind,
        };
        Package { kind, ..self.clone() }
    }

    /// Returns the fault and its victims as text: `isolate n1 (primary)`, `cut n2 (outgoing)`,
    /// `partition n1 n2 n3 (One)`.
    pub(super) fn tell(&self, struck: &Struck, parameter: u64) -> String {
        let (name, nodes) = (self.kind.name(), named(&struck.nodes));
        // In a partition, the role belongs to no single node.
        let role = struck.role.filter(|_| self.ways.is_empty()).map(str::to_owned);
        let notes: Vec<String> = role.into_iter().chain(self.tell_parameter(parameter)).collect();
        let note = match &notes[..] {
            [] => String::new(),
            notes => format!(" ({})", notes.join(", ")),
        };
        format!("{name} {nodes}{note}")
    }

    /// Returns the parameter as text.
    fn tell_parameter(&self, parameter: u64) -> Option<String> {
        if let Some(way) = self.way(parameter) {
            return Some(format!("{way:?}"));
        }
        match self.kind {
            FaultKind::Disk => self.trouble(parameter).map(|trouble| format!("{trouble:?}")),
            FaultKind::Cut => Some(DIRECTIONS[(parameter % 2) as usize].to_owned()),
            kind => kind.effect().and_then(|effect| effect.tell(parameter)),
        }
    }

    /// Starts the fault on these victims.
    pub(super) fn begin(
        &self,
        nodes: &[Node],
        Struck { nodes: victims, role }: Struck,
        command: &Command,
        nemesis: &Nemesis,
        others: &[Active],
        here: Here,
    ) -> Active {
        let parameter = command.parameter;
        let mut victims = nemesis.tolerated((self, parameter), nodes, victims, others, here);
        if matches!(self.kind, FaultKind::Kill | FaultKind::PowerOff | FaultKind::Wipe) {
            let down = nodes.iter().filter(|node| !node.is_up()).count();
            victims.retain(Node::is_up);
            victims.truncate(nemesis.down_max.saturating_sub(down));
        }
        let note = match self.kind {
            FaultKind::Disk => self.tell_parameter(parameter),
            kind => kind.effect().and_then(|effect| effect.tell(parameter)),
        };
        let shown = shown(&victims, role, note);
        let size = self.kind.sizes().map(|sizes| parameter % sizes);
        // Operations on clocks and nodes already show faults with a size.
        let is_told = size.is_some() && role.is_none();
        if !victims.is_empty() && !is_told {
            show(self.kind.ops()[0], &shown, here);
        }
        let mut fault = Active { victims, shown, size, parameter, ..Active::of(self.kind) };
        if self.kind.is_of_life() {
            fault.lives = fault.victims.iter().map(Node::life).collect();
        }
        if let Some(way) = self.way(parameter) {
            let coins = match self.victim.named() {
                Some(_) => parameter / self.ways.len() as u64,
                None => command.victim,
            };
            fault.cuts = way.cuts(&fault.victims, coins);
        }
        self.begin_effect(&mut fault, nodes, here);
        if !fault.cuts.is_empty() {
            // At the end of the fault, the difference to this number is the number of affected messages.
            fault.met = net::met_so_far();
            fault.cuts.iter().for_each(|(from, to)| net::set_cut(from, to, true, here));
        }
        fault
    }

    /// Starts the effect of a fault, except for cuts: computes the links that the fault cuts.
    fn begin_effect(&self, fault: &mut Active, nodes: &[Node], here: Here) {
        let parameter = fault.parameter;
        match self.kind {
            FaultKind::Swizzle | FaultKind::Rolling | FaultKind::Churn => {
                unreachable!("a series has parts")
            }
            FaultKind::Isolate => fault.cuts = fault.links(nodes, [true, true]),
            FaultKind::Cut => {
                let outgoing = parameter % 2 == 0;
                fault.cuts = fault.links(nodes, [outgoing, !outgoing]);
            }
            FaultKind::Partition => {}
            FaultKind::Kill => fault.end_lives(Death::Killed, here),
            FaultKind::PowerOff => fault.end_lives(Death::PoweredOff, here),
            FaultKind::Wipe => fault.wipe(here),
            FaultKind::Disk => {
                if let Some(trouble) = self.trouble(parameter) {
                    fault.break_disks(trouble, here);
                }
            }
            FaultKind::Restart => {
                fault.met =
                    fault.victims.iter().map(|node| node.start_again(here)).sum::<u32>().into();
            }
            FaultKind::Pause => {
                let pause = |node: &Node| node.set_paused(true, here);
                fault.met = fault.victims.iter().map(pause).sum::<u32>().into();
            }
            FaultKind::Offset
            | FaultKind::Drift
            | FaultKind::Jump
            | FaultKind::Strobe
            | FaultKind::Slow => {
                // The count at the start, which is compared at the end, like for cuts.
                fault.met = self.kind.met(&fault.victims);
                self.kind.disturb(&fault.victims, fault.size.unwrap_or(0), here);
            }
            kind => {
                let effect = kind.effect().expect("a kind without a case above has an effect");
                effect.begin(fault, nodes, here);
            }
        }
    }
}

/// Records the start or the end of a fault for reports.
fn show(op: &'static Op, shown: &str, here: Here) {
    Wrapped::outside_named("nodes", shown, here).last(op, here);
}

/// Returns the name of the victims in reports, with their role and a note.
fn shown(victims: &[Node], role: Option<&'static str>, note: Option<String>) -> String {
    let names = named(victims);
    match (role, note) {
        (Some(role), Some(note)) => format!("{names} ({role}, {note})"),
        (None, Some(note)) => format!("{names} ({note})"),
        (Some(role), None) => format!("{names} ({role})"),
        // The text contains `node`, because the plain name is the name of the node's own object.
        (None, None) if victims.len() == 1 => format!("node {names}"),
        (None, None) => names,
    }
}

/// The directions in which links are cut or clogged, indexed by parameter. A cut in both directions does not exist,
/// because it is an isolation.
pub(super) const DIRECTIONS: [&str; 3] = ["outgoing", "incoming", "both ways"];

/// Returns the names of nodes.
pub(super) fn named(nodes: &[Node]) -> String {
    nodes.iter().map(Node::name).collect::<Vec<_>>().join(" ")
}

/// A fault that has started.
#[derive(Clone, Debug)]
pub(super) struct Active {
    kind: FaultKind,
    /// The kind of the series that contains this fault, or its own kind.
    of: FaultKind,
    pub(super) victims: Vec<Node>,
    /// The lives that the fault affects, one for each victim; empty if it also affects later lives.
    lives: Vec<u64>,
    /// The name of the victims in reports.
    shown: String,
    /// The cut links, each with its two ends (from, to).
    cuts: Vec<(Node, Node)>,
    /// The links that the [effect](super::fault_kinds::Effect) of the kind disturbs.
    pub(super) disturbed: Vec<(Node, Node)>,
    pub(super) parameter: u64,
    /// The number of affected tasks or disks. For cuts, clogs, and faults of a clock, pace or disk: the number of
    /// events affected by any fault before this fault.
    pub(super) met: u64,
    /// The size of a clock or pace fault.
    size: Option<u64>,
    /// The fault of a disk.
    pub(super) trouble: Option<DiskFault>,
}

impl Active {
    fn of(kind: FaultKind) -> Active {
        let (victims, lives, cuts, disturbed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (shown, size, trouble) = (String::new(), None, None);
        let (of, parameter, met) = (kind, 0, 0);
        Active { kind, of, victims, lives, shown, cuts, disturbed, parameter, met, size, trouble }
    }

    /// Ends the lives of the victims.
    fn end_lives(&mut self, death: Death, here: Here) {
        let ends = |node: &Node| u64::from(node.end(death, here));
        self.met = self.victims.iter().map(ends).sum();
    }

    /// Returns the kind under which the fault is counted.
    pub(super) fn counts_as(&self) -> FaultKind {
        self.of
    }

    /// Marks the fault as a part of a series of this kind.
    pub(super) fn part_of(self, series: FaultKind) -> Active {
        Active { of: series, ..self }
    }

    /// Returns `true` if this fault has the kind of another fault.
    pub(super) fn is_like(&self, other: &Active) -> bool {
        self.kind == other.kind
    }

    /// Returns `true` if the fault affects the current life of the node.
    fn acts_on(&self, node: &Node) -> bool {
        let nth = self.victims.iter().position(|victim| victim == node);
        nth.is_some_and(|nth| self.lives.get(nth).is_none_or(|life| *life == node.life()))
    }

    /// Returns `true` if this fault cuts the node off.
    pub(super) fn cuts_off(&self, node: &Node) -> bool {
        matches!(self.kind, FaultKind::Isolate | FaultKind::Cut) && self.victims.contains(node)
    }

    /// Waits for the duration of the fault.
    pub(super) async fn last(&self, time: Pause, here: Here) {
        clock_faults::last(self.kind, &self.victims, self.size.unwrap_or(0), time, here).await;
    }

    /// Ends the fault, except effects that other active faults share. A restart of a node has already ended its faults
    /// of the earlier life. Returns `true` if the fault affected something.
    pub(super) fn end(self, others: &[Active], here: Here) -> bool {
        if self.kind != FaultKind::Restart && self.size.is_none() && !self.victims.is_empty() {
            show(self.kind.ops()[1], &self.shown, here);
        }
        for (from, to) in &self.cuts {
            let of_other = |other: &Active| other.cuts.iter().any(|(f, t)| f == from && t == to);
            if !others.iter().any(of_other) {
                net::set_cut(from, to, false, here);
            }
        }
        let is_alike = |other: FaultKind| {
            other == self.kind || (other.is_of_clock() && self.kind.is_of_clock())
        };
        for node in self.victims.iter().filter(|node| self.acts_on(node)) {
            let is_held = others.iter().any(|other| is_alike(other.kind) && other.acts_on(node));
            match self.kind {
                FaultKind::Kill | FaultKind::PowerOff | FaultKind::Wipe
                    if !node.is_up() && !is_held =>
                {
                    node.start_again(here);
                }
                FaultKind::Pause if node.is_paused() && !is_held => {
                    node.set_paused(false, here);
                }
                kind if !is_held => kind.calm(node, here),
                _ => {}
            }
        }
        if let Some(trouble) = self.trouble {
            return self.mend_disks(trouble, here);
        }
        if let Some(effect) = self.kind.effect() {
            return effect.end(&self, others, here);
        }
        match (self.size, self.cuts.is_empty()) {
            (Some(_), _) => self.kind.met(&self.victims) > self.met,
            (None, true) => self.met > 0,
            (None, false) => net::met_so_far() > self.met,
        }
    }

    /// Returns the links from the victims to other nodes, the links to the victims, or both.
    pub(super) fn links(
        &self,
        nodes: &[Node],
        [outgoing, incoming]: [bool; 2],
    ) -> Vec<(Node, Node)> {
        let mut links = Vec::new();
        for victim in &self.victims {
            for other in nodes.iter().filter(|node| *node != victim) {
                if outgoing {
                    links.push((victim.clone(), other.clone()));
                }
                if incoming {
                    links.push((other.clone(), victim.clone()));
                }
            }
        }
        links
    }
}
