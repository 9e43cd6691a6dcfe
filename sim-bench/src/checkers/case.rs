//! The rows of the table of checkers, and the workloads from which their histories are built.

use super::history::{Histories, build, lose};
use super::{recorded, scripts};

/// The usage text of this part.
pub(crate) const USAGE: &str = "\
usage: sim-bench checkers [quick | long] [register casreg register-lost casreg-lost kv queue queue-2 stack set pq etcd chain ...]

  quick   10^3 and 10^4 operations; long: up to 10^6 at every concurrency
  ...     only these workloads
";

/// The selected part of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// A quick look.
    Quick,
    /// All sizes, but the largest only at one concurrency.
    Usual,
    /// All sizes at every concurrency.
    Long,
}

impl Extent {
    /// Returns the maximum number of turns of a cell.
    pub(super) fn turns(self) -> u32 {
        match self {
            Extent::Quick => 3,
            Extent::Usual => 5,
            Extent::Long => 9,
        }
    }
}

/// The object of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Workload {
    /// Reads and writes; no value is written twice.
    Register,
    /// Reads, writes and swaps of five values.
    CasRegister,
    /// Like `Register`, but one call in twenty never returns.
    RegisterLost,
    /// Like `CasRegister`, but one call in twenty never returns.
    CasRegisterLost,
    /// Reads and writes of 64 keys.
    Map,
    /// A queue that holds about 32 items.
    Queue,
    /// A queue that holds about 2 items.
    ShortQueue,
    Stack,
    Set,
    PriorityQueue,
    /// All recorded logs of etcd.
    Etcd,
}

const ALL: [(Workload, &str); 11] = [
    (Workload::Etcd, "etcd"),
    (Workload::Register, "register"),
    (Workload::CasRegister, "casreg"),
    (Workload::RegisterLost, "register-lost"),
    (Workload::CasRegisterLost, "casreg-lost"),
    (Workload::Map, "kv"),
    (Workload::Queue, "queue"),
    (Workload::ShortQueue, "queue-2"),
    (Workload::Stack, "stack"),
    (Workload::Set, "set"),
    (Workload::PriorityQueue, "pq"),
];

impl Workload {
    /// Returns its name on the command line.
    pub(super) fn name(self) -> &'static str {
        ALL.iter().find(|(workload, _)| *workload == self).expect("all have one").1
    }
}

pub(super) fn is_workload(name: &str) -> bool {
    name == "chain" || ALL.iter().any(|(_, known)| *known == name)
}

/// A row: one history, or all recorded histories.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) workload: Workload,
    pub(super) operations: usize,
    pub(super) clients: u32,
    /// True if a violation is planted, at about 90 % of the history.
    pub(super) bad: bool,
}

/// Returns the rows of the table.
pub(super) fn cases(extent: Extent) -> Vec<Case> {
    let sizes: &[(usize, &[u32])] = match extent {
        Extent::Quick => &[(1_000, &[4, 16, 64]), (10_000, &[4, 16, 64])],
        Extent::Usual => &[
            (1_000, &[4, 16, 64]),
            (10_000, &[4, 16, 64]),
            (100_000, &[4, 16, 64]),
            (1_000_000, &[16]),
        ],
        Extent::Long => &[
            (1_000, &[4, 16, 64]),
            (10_000, &[4, 16, 64]),
            (100_000, &[4, 16, 64]),
            (1_000_000, &[4, 16, 64]),
        ],
    };
    let mut cases = Vec::new();
    for (workload, _) in ALL {
        if workload == Workload::Etcd {
            cases.push(Case { workload, operations: 0, clients: 0, bad: false });
            continue;
        }
        for (operations, clients) in sizes {
            for &clients in *clients {
                for bad in [false, true] {
                    cases.push(Case { workload, operations: *operations, clients, bad });
                }
            }
        }
    }
    cases
}

impl Case {
    /// Returns the case as arguments for a process.
    pub(super) fn words(&self) -> Vec<String> {
        let bad = if self.bad { "bad" } else { "ok" };
        vec![
            self.workload.name().to_owned(),
            self.operations.to_string(),
            self.clients.to_string(),
            bad.to_owned(),
        ]
    }

    /// Parses the arguments that [`Case::words`] returns.
    pub(super) fn read(words: &mut impl Iterator<Item = String>) -> Option<Case> {
        let name = words.next()?;
        let (workload, _) = ALL.into_iter().find(|(_, known)| *known == name)?;
        let operations = words.next()?.parse().ok()?;
        let clients = words.next()?.parse().ok()?;
        let bad = words.next()? == "bad";
        Some(Case { workload, operations, clients, bad })
    }

    /// Returns the reason if the case cannot be measured.
    pub(super) fn missing(&self) -> Option<String> {
        (self.workload == Workload::Etcd).then(recorded::missing).flatten()
    }

    /// Returns the number in the size column: operations, or logs.
    pub(super) fn count(&self) -> usize {
        if self.workload == Workload::Etcd { recorded::count() } else { self.operations }
    }

    pub(super) fn histories(&self) -> Histories {
        use scripts::{Cas, Items, Keys, Members, Values};
        match self.workload {
            Workload::Register => Histories::Register(build(self, Values::default())),
            Workload::CasRegister => Histories::CasRegister(build(self, Cas::new(self.operations))),
            Workload::RegisterLost => Histories::Register(lose(build(self, Values::default()))),
            Workload::CasRegisterLost => {
                Histories::CasRegister(lose(build(self, Cas::new(self.operations))))
            }
            Workload::Map => Histories::Map(build(self, Keys::default())),
            Workload::Queue => Histories::Queue(build(self, Items::with(32))),
            Workload::ShortQueue => Histories::Queue(build(self, Items::with(2))),
            Workload::Stack => Histories::Stack(build(self, Items::with(32))),
            Workload::Set => Histories::Set(build(self, Members::default())),
            Workload::PriorityQueue => Histories::PriorityQueue(build(self, Items::with(32))),
            Workload::Etcd => Histories::Recorded(recorded::histories()),
        }
    }
}
