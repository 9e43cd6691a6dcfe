//! Faults that consist of several single faults: isolations one by one, an isolation that follows
//! its victim, a rolling restart.

use super::fault::{Active, Package};
use super::fault_kinds::FaultKind;
use super::plan::{Command, Pause};
use super::shapes::ordered;
use super::underway::{Struck, Underway};

/// The pause between the parts of a series if no duration was drawn.
const BETWEEN: Pause = Pause::Steps(5);

impl Underway {
    /// Runs a series that starts with these victims, and ends it unless it lasts until the end. Returns `true` if
    /// the series affected something.
    pub(super) async fn series(
        &self,
        package: &Package,
        struck: Struck,
        (command, lasts): (&Command, Option<Pause>),
        is_guided: bool,
    ) -> bool {
        let part = package.part();
        match package.kind {
            FaultKind::Churn => self.churn(&part, struck, (command, lasts)).await,
            FaultKind::Rolling => self.rolling(&part, struck, (command, lasts), is_guided).await,
            _ => self.swizzle(&part, struck, (command, lasts)).await,
        }
    }

    fn begin(&self, part: &Package, struck: Struck, command: &Command, begun: &[Active]) -> Active {
        let mut others = self.active();
        let before = others.len();
        // The faults of the series are not in the active list before the series ends.
        others.extend(begun.iter().cloned());
        let fault = part.begin(&self.nodes, struck, command, &self.nemesis, &others, self.here());
        others.truncate(before);
        fault
    }

    async fn churn(
        &self,
        part: &Package,
        struck: Struck,
        (command, lasts): (&Command, Option<Pause>),
    ) -> bool {
        let mut met = false;
        for node in struck.nodes {
            let one = Struck { nodes: vec![node], role: None };
            let fault = self.begin(part, one, command, &[]);
            lasts.unwrap_or(BETWEEN).pass(self.here()).await;
            met |= self.end_one(fault, &[]);
            command.gap.pass(self.here()).await;
        }
        met
    }

    async fn rolling(
        &self,
        part: &Package,
        struck: Struck,
        (command, lasts): (&Command, Option<Pause>),
        is_guided: bool,
    ) -> bool {
        let mut met = false;
        let mut at = struck.nodes.clone();
        let mut fault = self.begin(part, struck, command, &[]);
        for _ in 0..2 + command.parameter % 3 {
            lasts.unwrap_or(BETWEEN).pass(self.here()).await;
            let Some(next) = self.struck(command, is_guided, None).await else { break };
            if next.nodes != at {
                met |= self.end_one(fault, &[]);
                at = next.nodes.clone();
                fault = self.begin(part, next, command, &[]);
            }
        }
        match lasts {
            Some(time) => {
                time.pass(self.here()).await;
                met | self.end_one(fault, &[])
            }
            None => {
                self.active().push(fault.part_of(FaultKind::Rolling));
                met
            }
        }
    }

    async fn swizzle(
        &self,
        part: &Package,
        struck: Struck,
        (command, lasts): (&Command, Option<Pause>),
    ) -> bool {
        let mut begun: Vec<Active> = Vec::new();
        for node in struck.nodes {
            if !begun.is_empty() {
                command.gap.pass(self.here()).await;
            }
            let one = Struck { nodes: vec![node], role: struck.role };
            let fault = self.begin(part, one, command, &begun);
            begun.push(fault);
        }
        let Some(time) = lasts else {
            let begun = begun.into_iter().map(|fault| fault.part_of(FaultKind::Swizzle));
            self.active().extend(begun);
            return false;
        };
        time.pass(self.here()).await;
        let mut met = false;
        let mut number = command.parameter;
        while !begun.is_empty() {
            let left = begun.len() as u64;
            let fault = begun.remove((number % left) as usize);
            number /= left;
            met |= self.end_one(fault, &begun);
            command.gap.pass(self.here()).await;
        }
        met
    }
}

/// Returns all nodes in the drawn order, or the named nodes in their order.
pub(super) fn of_all(underway: &Underway, package: &Package, command: &Command) -> Struck {
    let named = package.victim.named();
    let nodes = named.unwrap_or_else(|| ordered(&underway.nodes, command.victim));
    Struck { nodes, role: None }
}
