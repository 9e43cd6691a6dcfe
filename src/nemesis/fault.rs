//! Kinds of faults: their begin, their end, and the things that they met.

use super::clocks;
use super::plan::{Command, Pause};
use super::shapes::{Partition, ordered};
use super::{Nemesis, Victim};
use crate::net;
use crate::node::{Death, Node};
use crate::run::op::{Access, Op, word};
use crate::seam::{Here, Wrapped};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Isolate,
    Cut,
    Partition,
    Kill,
    PowerOff,
    Restart,
    Pause,
    Offset,
    Drift,
    Jump,
    Strobe,
    Slow,
}

/// The name of a kind, its operation in reports, and the condition that it has met something.
type Row = (&'static str, &'static Op, &'static str);

macro_rules! row {
    ($name:literal, $thing:literal) => {
        (
            $name,
            &Op::of_kind($name, Access::Tell, word::WRITE),
            concat!("nemesis: ", $name, " meets ", $thing),
        )
    };
}

const ISOLATE: Row = row!("isolate", "a message");
const CUT: Row = row!("cut", "a message");
const PARTITION: Row = row!("partition", "a message");
const KILL: Row = row!("kill", "a task");
const POWER_OFF: Row = row!("power_off", "a task");
const RESTART: Row = row!("restart", "a task");
const PAUSE: Row = row!("pause", "a task");
const OFFSET: Row = row!("offset", "a read of the wall clock");
const DRIFT: Row = row!("drift", "a timer");
const JUMP: Row = row!("jump", "a read of the wall clock");
const STROBE: Row = row!("strobe", "a read of the wall clock");
const SLOW: Row = row!("slow", "a step");

impl Kind {
    fn row(self) -> Row {
        match self {
            Kind::Isolate => ISOLATE,
            Kind::Cut => CUT,
            Kind::Partition => PARTITION,
            Kind::Kill => KILL,
            Kind::PowerOff => POWER_OFF,
            Kind::Restart => RESTART,
            Kind::Pause => PAUSE,
            Kind::Offset => OFFSET,
            Kind::Drift => DRIFT,
            Kind::Jump => JUMP,
            Kind::Strobe => STROBE,
            Kind::Slow => SLOW,
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.row().0
    }

    /// The name of the condition that a fault of this kind meets something.
    pub(super) fn wish(self) -> &'static str {
        self.row().2
    }
}

/// A kind of fault with its victim.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) kind: Kind,
    pub(super) victim: Victim,
    /// Of partitions.
    pub(super) ways: Vec<Partition>,
}

impl Package {
    /// The number of different parameters.
    pub(super) fn parameters(&self) -> u64 {
        match self.kind {
            Kind::Cut => 2,
            Kind::Partition => self.ways.len() as u64,
            kind => kind.sizes().unwrap_or(1),
        }
    }

    /// Returns `true` if the fault has no duration.
    pub(super) fn is_instant(&self) -> bool {
        self.kind == Kind::Restart
    }

    /// Causes a fault of these victims.
    pub(super) fn begin(
        &self,
        nodes: &[Node],
        (victims, role): (Vec<Node>, Option<&'static str>),
        command: &Command,
        nemesis: &Nemesis,
        here: Here,
    ) -> Active {
        let way = self.ways.get((command.parameter % self.ways.len().max(1) as u64) as usize);
        let size = self.kind.sizes().map(|sizes| command.parameter % sizes);
        // Clocks and nodes tell such a fault themselves.
        let is_shown = size.is_none() || role.is_some();
        if way.is_none() && !victims.is_empty() && is_shown {
            self.show(&victims, role, here);
        }
        let mut fault = Active { kind: self.kind, victims, cuts: Vec::new(), met: 0, size };
        if let Some(way) = way {
            let nodes = ordered(nodes, command.victim);
            Wrapped::outside_named("nodes", &named(&nodes), here).last(PARTITION.1, here);
            fault.cuts = way.cuts(&nodes);
        }
        match self.kind {
            Kind::Isolate => fault.cut_off(nodes, [true, true]),
            Kind::Cut => {
                let outgoing = command.parameter % 2 == 0;
                fault.cut_off(nodes, [outgoing, !outgoing]);
            }
            Kind::Partition => {}
            Kind::Kill | Kind::PowerOff => fault.take_down(nodes, nemesis.down_max, here),
            Kind::Restart => {
                fault.met =
                    fault.victims.iter().map(|node| node.start_again(here)).sum::<u32>().into();
            }
            Kind::Pause => {
                let pause = |node: &Node| node.set_paused(true, here);
                fault.met = fault.victims.iter().map(pause).sum::<u32>().into();
            }
            Kind::Offset | Kind::Drift | Kind::Jump | Kind::Strobe | Kind::Slow => {
                // As with cuts.
                fault.met = self.kind.met(&fault.victims);
                self.kind.disturb(&fault.victims, size.unwrap_or(0), here);
            }
        }
        if !fault.cuts.is_empty() {
            // The difference at its end is what it has met.
            fault.met = net::met();
            fault.cuts.iter().for_each(|(from, to)| net::set_cut(from, to, true, here));
        }
        fault
    }

    /// Records the fault for reports.
    fn show(&self, victims: &[Node], role: Option<&'static str>, here: Here) {
        // A node has its name as an object, too.
        let name = match role {
            Some(role) => format!("{} ({role})", named(victims)),
            None if victims.len() == 1 => format!("node {}", named(victims)),
            None => named(victims),
        };
        Wrapped::outside_named("nodes", &name, here).last(self.kind.row().1, here);
    }
}

/// The names of nodes.
fn named(nodes: &[Node]) -> String {
    nodes.iter().map(Node::name).collect::<Vec<_>>().join(" ")
}

/// A fault that has begun.
pub(super) struct Active {
    kind: Kind,
    victims: Vec<Node>,
    /// The links that it has cut, from and to.
    cuts: Vec<(Node, Node)>,
    /// The number of tasks that it met; of one with cuts, or of a clock or pace, the number met before it by any.
    met: u64,
    /// Of a fault of a clock or pace.
    size: Option<u64>,
}

impl Active {
    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    /// Lets its time pass.
    pub(super) async fn last(&self, time: Pause, here: Here) {
        clocks::last(self.kind, &self.victims, self.size.unwrap_or(0), time, here).await;
    }

    /// Ends the fault, but for cuts that others make, too. Returns `true` if it has met something.
    pub(super) fn end(self, others: &[Active], here: Here) -> bool {
        for (from, to) in &self.cuts {
            let of_other = |other: &Active| other.cuts.iter().any(|(f, t)| f == from && t == to);
            if !others.iter().any(of_other) {
                net::set_cut(from, to, false, here);
            }
        }
        let is_alike =
            |other: Kind| other == self.kind || (other.is_of_clock() && self.kind.is_of_clock());
        let acts_on =
            |other: &Active, node: &Node| is_alike(other.kind) && other.victims.contains(node);
        for node in &self.victims {
            let is_held = others.iter().any(|other| acts_on(other, node));
            match self.kind {
                Kind::Kill | Kind::PowerOff if !node.is_up() && !is_held => {
                    node.start_again(here);
                }
                Kind::Pause if node.is_paused() && !is_held => {
                    node.set_paused(false, here);
                }
                kind if !is_held => kind.calm(node, here),
                _ => {}
            }
        }
        match (self.size, self.cuts.is_empty()) {
            (Some(_), _) => self.kind.met(&self.victims) > self.met,
            (None, true) => self.met > 0,
            (None, false) => net::met() > self.met,
        }
    }

    /// Cuts what the victims send to others, what these send to them, or both.
    fn cut_off(&mut self, nodes: &[Node], [outgoing, incoming]: [bool; 2]) {
        for victim in &self.victims {
            for other in nodes.iter().filter(|node| *node != victim) {
                if outgoing {
                    self.cuts.push((victim.clone(), other.clone()));
                }
                if incoming {
                    self.cuts.push((other.clone(), victim.clone()));
                }
            }
        }
    }

    /// Ends nodes, as long as no more than `most` are down.
    fn take_down(&mut self, nodes: &[Node], most: usize, here: Here) {
        let death = if self.kind == Kind::Kill { Death::Killed } else { Death::PoweredOff };
        let is_down = |node: &&Node| !node.is_up();
        self.victims.retain(|node| {
            let may = node.is_up() && nodes.iter().filter(is_down).count() < most;
            if may {
                self.met += u64::from(node.end(death, here));
            }
            may
        });
    }
}
