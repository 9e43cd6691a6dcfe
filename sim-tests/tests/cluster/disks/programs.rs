//! Disk faults as commands of a generated program. The faults are drawn, shrunk, replayed and written to the source
//! file together with the program.

use std::sync::Arc;

use sim::check::Model;
use sim::nemesis::{Fault, Nemesis, Tolerance, Victim};
use sim::run::program::{CommandRecord, Part};
use sim::{Atomic, Gen, Ordering::SeqCst, Program, Script, Shape};

use super::*;

/// A register with growing values; the operation 0 reads it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Register(u8);

impl Model for Register {
    type Op = u8;
    type Ret = u8;

    fn step(&mut self, value: &u8) -> u8 {
        self.0 = self.0.max(*value);
        self.0
    }
}

impl Program for Register {
    fn generate(&self, g: &mut Gen<'_, Self>) -> u8 {
        if g.below(3) == 0 { 0 } else { g.id().0 as u8 + 1 }
    }
}

/// Two nodes with a copy of the register in a file. The version that forgets errors answers, but its file is unchanged.
struct Copies {
    nodes: [Node; 2],
    lock: Arc<Atomic<bool>>,
    forgets: bool,
}

impl Copies {
    fn new(forgets: bool) -> Copies {
        Copies { nodes: ["n1", "n2"].map(node), lock: Arc::new(Atomic::new(false)), forgets }
    }

    /// Sends a request to the primary, which waits for the backup. A client tries again after an error.
    async fn ask(&self, value: u8) -> u8 {
        while self.lock.swap(true, SeqCst).await {
            sleep(MS).await;
        }
        let answer = loop {
            let mut answers = Vec::new();
            for node in &self.nodes {
                let forgets = self.forgets;
                answers.push(node.spawn(async move { keep(value, forgets).await }).await);
            }
            if let [Ok(Ok(one)), Ok(Ok(two))] = answers[..] {
                // The client with the bug uses the answer of the primary for all values.
                break if self.forgets { one } else { one.max(two) };
            }
            sleep(5 * MS).await;
        };
        self.lock.store(false, SeqCst).await;
        answer
    }
}

/// Stores a value unless it is lower, and returns the register's.
async fn keep(value: u8, forgets: bool) -> io::Result<u8> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).open("/register").await?;
    let mut old = [0];
    file.read_at(&mut old, 0).await?;
    if value <= old[0] {
        return Ok(old[0]);
    }
    match file.write_at(&[value], 0).await {
        Ok(_) => {}
        Err(_) if forgets => {}
        Err(error) => return Err(error),
    }
    Ok(value)
}

async fn drawn(forgets: bool, nemesis: fn(&Copies) -> Nemesis) {
    let copies = Copies::new(forgets);
    sim::parallel(Shape::branches().max_branch_length(3), Register(0), async |op| {
        copies.ask(op).await
    })
    .nemesis(nemesis(&copies), &copies.nodes)
    .await;
    copies.nodes.iter().for_each(Node::kill);
}

fn bad(copies: &Copies) -> Nemesis {
    let primary = copies.nodes[0].clone();
    let primary = Victim::guided("primary", move || Some(primary.clone()));
    Nemesis::new()
        .disk(primary, DiskFault::PASSING)
        .disk(Victim::any(), DiskFault::PASSING)
        .kill(Victim::one())
        .faults(1..=5)
}

/// Returns the commands of the run that the report shows.
fn commands(report: &Report) -> Vec<&CommandRecord> {
    let run = &report.finding.as_ref().expect("it passed").run;
    run.programs[0].left()
}

#[cfg_attr(feature = "sim", test)]
fn a_copy_that_forgets_the_error_of_a_write_is_found_and_written_down() {
    let found = sampled(500, async || drawn(true, bad).await);
    let commands = commands(&found);
    let is_fault = |command: &&&CommandRecord| matches!(command.layout.part, Part::Nemesis { .. });
    let faults: Vec<_> = commands.iter().filter(is_fault).collect();
    assert!(!faults.is_empty(), "{}", screen(&found));
    assert!(faults.iter().all(|fault| fault.text.starts_with("disk n")), "{}", screen(&found));
    assert!(faults.iter().all(|fault| fault.text.contains("Full")), "{}", screen(&found));
    assert!(faults[0].source.starts_with("sim::nemesis::Fault::new(\"disk\", ["), "{faults:?}");
    assert!(faults.iter().all(|fault| fault.source.contains(".way(1)")), "{faults:?}");
    let text = screen(&found);
    assert!(text.contains("disk n") && text.contains("mend n"), "{text}");
    let seeds = if sim_tests::histories::long() { 200 } else { 40 };
    passes(&sampled(seeds, async || drawn(false, bad).await));
}

#[cfg_attr(feature = "sim", test)]
fn faults_of_disks_are_written_down() {
    let body = async |faults: [Fault; 2], forgets: bool| {
        let copies = Copies::new(forgets);
        let [first, second] = faults;
        let script = Script::new().branch(0, 0, 1).fault(first).fault(second).suffix(0);
        sim::parallel::scripted(script, Register(0), async |op| copies.ask(op).await)
            .nemesis(Nemesis::new(), &copies.nodes)
            .await;
        copies.nodes.iter().for_each(Node::kill);
    };
    let full = || ["n1", "n2"].map(|name| Fault::new("disk", [name]).way(1));
    assert!(!sampled(100, async || body(full(), true).await).passed());
    passes(&sampled(100, async || body(full(), false).await));
    // A wipe in a written program names its node.
    let wipes = || ["n1", "n2"].map(|name| Fault::new("wipe", [name]).lasts_steps(1));
    assert!(!sampled(100, async || body(wipes(), false).await).passed());
}

#[cfg_attr(feature = "sim", test)]
fn a_program_with_one_lost_disk_of_two_is_right() {
    let wipes = |copies: &Copies| {
        let _ = copies;
        let wipe = Nemesis::new().wipe(Victim::any()).faults(1..=3);
        wipe.tolerance(Tolerance::nodes(1).disks(1))
    };
    passes(&sampled(100, async || drawn(false, wipes).await));
    let both = |copies: &Copies| Nemesis::new().wipe(Victim::these(&copies.nodes)).faults(1..=3);
    let found = sampled(200, async || drawn(false, both).await);
    assert!(!found.passed(), "{}", screen(&found));
}
