//! Faults as commands of a generated program. The faults are drawn, shrunk, pinned, replayed and written to the source
//! file together with the program.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use sim::check::Model;
use sim::nemesis::{Fault, Nemesis, Victim};
use sim::run::program::{CommandRecord, Part};
use sim::time::{Duration, Instant, sleep};
use sim::{
    Atomic, Gen, Node, Ordering::SeqCst, Program, Runner, Script, Shape, Topology, net, node,
};

use super::{failure, passes, screen};

/// A register with growing values; the operation 0 reads it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Register(u64, Topology);

impl Model for Register {
    type Op = u64;
    type Ret = u64;

    fn step(&mut self, value: &u64) -> u64 {
        self.0 = self.0.max(*value);
        self.0
    }
}

impl Program for Register {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u64 {
        let writes = g.client().is_some_and(|client| self.1.client(client).writes);
        if writes { u64::from(g.id().0) + 1 } else { 0 }
    }
}

/// The memory of a life of the primary.
type Memory = Arc<Mutex<Option<Arc<Atomic<u64>>>>>;

/// A primary and its backup. A restarted primary begins with the state of the backup.
struct Pair {
    nodes: [Node; 2],
    memory: Memory,
    stored: Arc<Atomic<u64>>,
    early: bool,
}

impl Pair {
    fn new(early: bool) -> Pair {
        let nodes = ["n1", "n2"].map(node);
        let (memory, stored) = (Memory::default(), Arc::new(Atomic::new(0)));
        let (place, kept) = (memory.clone(), stored.clone());
        nodes[0].run(move || {
            *place.lock().unwrap() = None;
            let (place, kept) = (place.clone(), kept.clone());
            async move {
                let memory = Arc::new(Atomic::new(kept.load(SeqCst).await));
                *place.lock().unwrap() = Some(memory);
                std::future::pending().await
            }
        });
        Pair { nodes, memory, stored, early }
    }

    /// Sends a request to the primary until it answers. The primary with the bug answers before the backup has the
    /// value.
    async fn ask(&self, value: u64) -> u64 {
        loop {
            let (memory, stored, early) = (self.memory.clone(), self.stored.clone(), self.early);
            let nodes = self.nodes.clone();
            let answer = self.nodes[0].spawn(async move {
                let memory = memory.lock().unwrap().clone()?;
                let answer = memory.fetch_max(value, SeqCst).await.max(value);
                let copy = replicate(nodes, stored, answer);
                if value > 0 && early {
                    sim::spawn(copy).detach();
                    return Some(answer);
                }
                copy.await.then_some(answer)
            });
            if let Ok(Some(answer)) = answer.await {
                return answer;
            }
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn primary(&self) -> Victim {
        let primary = self.nodes[0].clone();
        Victim::guided("primary", move || Some(primary.clone()))
    }
}

/// Returns true if the backup has the value.
async fn replicate([primary, backup]: [Node; 2], stored: Arc<Atomic<u64>>, value: u64) -> bool {
    let (sender, mut receiver) = net::link(&primary, &backup);
    let copied = backup.spawn(async move {
        let value = receiver.recv().await?;
        Some(stored.fetch_max(value, SeqCst).await)
    });
    let _ = sender.send(value).await;
    matches!(copied.await, Ok(Some(_)))
}

fn topology() -> Topology {
    Topology::sticky(2, 1)
}

fn shape() -> Shape {
    Shape::clients(topology()).max_branch_length(3)
}

async fn drawn(early: bool, nemesis: fn(&Pair) -> Nemesis) {
    let pair = Pair::new(early);
    sim::parallel(shape(), Register(0, topology()), async |op| pair.ask(op).await)
        .nemesis(nemesis(&pair), &pair.nodes)
        .await;
    pair.nodes.iter().for_each(Node::kill);
}

fn kills(pair: &Pair) -> Nemesis {
    Nemesis::new().kill(pair.primary()).pause(Victim::any()).faults(1..=4)
}

fn is_fault(command: &CommandRecord) -> bool {
    matches!(command.layout.part, Part::Nemesis { .. })
}

/// Returns the faults that shrinking has kept, as text, and the number of other commands.
fn left(report: &sim::report::Report) -> (Vec<String>, usize) {
    let program = &report.finding.as_ref().expect("it passed").run.programs[0];
    let (faults, commands): (Vec<_>, Vec<_>) =
        program.left().into_iter().partition(|command| is_fault(command));
    (faults.iter().map(|fault| fault.text.clone()).collect(), commands.len())
}

fn find(early: bool) -> sim::report::Report {
    Runner::new().hermetic().seeds(0..500).run(async || drawn(early, kills).await)
}

#[cfg_attr(feature = "sim", test)]
fn a_fault_of_a_program_is_shrunk_and_pinned() {
    let found = find(true);
    assert_eq!(failure(&found).kind(), "history", "{}", screen(&found));
    // The lost write and a read are left, beside one fault.
    let (faults, commands) = left(&found);
    assert!(faults.len() == 1 && commands <= 3, "{faults:?}, {commands}\n{}", screen(&found));
    assert!(faults[0].starts_with("kill n1"), "{faults:?}");
    assert!(screen(&found).contains("─── kill n1"), "{}", screen(&found));
    // A replay fails in the same way, with the same program.
    let replay = found.finding.as_ref().unwrap().replay.clone().unwrap();
    let source = replay.split('"').nth(1).unwrap().to_owned();
    let again = Runner::new().hermetic().replay(&source).run(async || drawn(true, kills).await);
    assert_eq!(left(&again), left(&found));
    passes(&find(false));
}

#[cfg_attr(feature = "sim", test)]
fn a_pinned_victim_is_hit_whatever_the_function_names() {
    let guided = |pair: &Pair| Nemesis::new().kill(pair.primary()).faults(1..=2);
    let run = async |guided: fn(&Pair) -> Nemesis| drawn(true, guided).await;
    // With random victims, both nodes are killed; the seed must have taken the guided victim.
    let found = (0..20)
        .map(|seed| {
            let seeds = 40 * seed..40 * (seed + 1);
            Runner::new().hermetic().seeds(seeds).run(async || run(guided).await)
        })
        .find(|found| found.finding.is_some() && left(found).0[0].contains("(primary)"));
    let found = found.expect("one of them is guided");
    assert!(found.finding.as_ref().unwrap().run.programs[0].pins.is_empty(), "it is pinned");
    let replay = found.finding.as_ref().unwrap().replay.clone().unwrap();
    let source = replay.split('"').nth(1).unwrap().to_owned();
    let none = |_: &Pair| Nemesis::new().kill(Victim::guided("primary", || None)).faults(1..=2);
    let again = Runner::new().hermetic().replay(&source).run(async || run(none).await);
    assert_eq!(left(&again), left(&found));
}

async fn written(early: bool, script: &Script<u64>) {
    let pair = Pair::new(early);
    sim::parallel::scripted(script.clone(), Register(0, topology()), async |op| pair.ask(op).await)
        .nemesis(Nemesis::new(), &pair.nodes)
        .await;
    pair.nodes.iter().for_each(Node::kill);
}

#[cfg_attr(feature = "sim", test)]
fn a_script_has_faults() {
    let kill = || Fault::new("kill", ["n1"]).after_steps(5).lasts(Duration::from_millis(1));
    let script = Script::new().branch(0, 0, 1).fault(kill()).suffix(0);
    let runner = || Runner::new().hermetic().seeds(0..300);
    let found = runner().run(async || written(true, &script).await);
    assert_eq!(failure(&found).kind(), "history", "{}", screen(&found));
    assert_eq!(left(&found), (vec!["kill n1 for 1ms".to_owned()], 2));
    let source = sim::report::rust(&found, &sim::report::Style::default());
    let fault = "sim::nemesis::Fault::new(\"kill\", [\"n1\"]).after_steps(5)\
        .lasts(std::time::Duration::from_nanos(1000000))";
    assert!(source.contains(&format!(".fault({fault})")), "{source}");
    passes(&runner().run(async || written(false, &script).await));
    let alone = Script::new().prefix(1).fault(kill()).suffix(0);
    passes(&runner().run(async || written(false, &alone).await));
}

#[cfg_attr(feature = "sim", test)]
fn a_fault_that_lasts_is_over_when_clients_wait_for_its_end() {
    // A request waits for the backup, which is paused until the end.
    let script = Script::new().branch(0, 0, 1).fault(Fault::new("pause", ["n2"])).suffix(0);
    let waited = AtomicUsize::new(0);
    let report = Runner::new().hermetic().seeds(0..100).run(async || {
        let begin = Instant::now();
        written(false, &script).await;
        waited.fetch_add(usize::from(begin.elapsed() >= Duration::from_secs(1)), Relaxed);
    });
    passes(&report);
    assert!(waited.into_inner() >= 10, "some wait for the end of the pause");
    assert_eq!((report.faults[0].kind, report.faults[0].times), ("pause", 100));
}
