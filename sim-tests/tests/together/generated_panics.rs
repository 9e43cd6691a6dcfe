//! Models of generated programs that panic: while a program is made, and when a report shows it.

use std::fmt;

use sim::check::Model;
use sim::report::{Report, Style, text};
use sim::run::Failure;
use sim::{Atomic, Gen, Ordering::SeqCst, Program, SIMULATED, Shape};
use sim_tests::seeds::{failure, runner};

/// The function of the model that panics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Panics {
    Never,
    Generate,
    Precondition,
    Step,
    Shrink,
    Debug,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Sum(Panics, u64);

#[derive(Clone, PartialEq, Eq)]
struct Add(Panics, u64);

impl fmt::Debug for Add {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(self.0 != Panics::Debug, "no text for {}", self.1);
        write!(f, "Add({})", self.1)
    }
}

impl Model for Sum {
    type Op = Add;
    type Ret = u64;

    fn step(&mut self, op: &Add) -> u64 {
        assert!(self.0 != Panics::Step || self.1 == 0, "no step");
        self.1 += op.1;
        self.1
    }
}

impl Program for Sum {
    fn generate(&self, g: &mut Gen<'_, Self>) -> Add {
        assert!(self.0 != Panics::Generate || g.id().0 < 2, "nothing to generate");
        Add(self.0, 5)
    }

    fn precondition(&self, _: &Add) -> bool {
        assert!(self.0 != Panics::Precondition || self.1 < 10, "no precondition");
        true
    }

    fn shrink(op: &Add) -> Vec<Add> {
        assert!(op.0 != Panics::Shrink, "nothing simpler");
        Vec::new()
    }
}

/// Loses updates.
fn run(panics: Panics) -> Report {
    runner("panics").seeds(0..200).run(async || {
        let sum = Atomic::new(0);
        sim::parallel(Shape::chunks(), Sum(panics, 0), async |op| {
            let before = sum.load(SeqCst).await;
            sum.store(before + op.1, SeqCst).await;
            before + op.1
        })
        .await;
    })
}

#[test]
fn a_panic_while_a_program_is_made_says_so_and_shows_the_program_so_far() {
    for (panics, message, doing) in [
        (Panics::Generate, "nothing to generate", "command #2 was made for a program"),
        (Panics::Precondition, "no precondition", "was made for a program"),
        (Panics::Step, "no step", "was made for a program"),
        (Panics::Shrink, "nothing simpler", "a program was made smaller"),
    ] {
        let report = run(panics);
        let screen = text(&report, &Style::default());
        let found = report.finding.expect("it panics");
        let Failure::Panic { message: said, place, .. } = failure(&found.run) else {
            panic!("{screen}")
        };
        assert_eq!(said, message);
        assert!(place.contains("generated_panics.rs"), "{place}");
        let program = &found.run.programs[0];
        let unfinished = program.unfinished.as_deref().expect("it is not finished");
        assert!(unfinished.contains(doing), "{unfinished}");
        let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("The model panicked while {unfinished}.")), "{screen}");
        assert!(screen.contains("Add(5)"), "{screen}");
        // No source file is written, because the program cannot be a separate test.
        assert_eq!(found.source_file, None);
    }
}

#[test]
fn a_debug_that_panics_loses_no_report() {
    let report = run(Panics::Debug);
    let screen = text(&report, &Style::default());
    if !SIMULATED && report.passed() {
        return;
    }
    let found = report.finding.expect("an update is lost");
    assert!(matches!(found.run.programs[0].commands.len(), 1..), "{screen}");
    assert!(screen.contains("its text cannot be shown: making it panics"), "{screen}");
}

#[test]
fn a_program_that_is_finished_is_not_called_unfinished() {
    let report = run(Panics::Never);
    if let Some(found) = &report.finding {
        assert_eq!(found.run.programs[0].unfinished, None);
        assert!(!text(&report, &Style::default()).contains("The model panicked"));
    }
}

#[test]
fn help_for_what_never_happened_speaks_of_programs_only_where_there_are_any() {
    let screens = [false, true].map(|generated| {
        let report = runner("never").seeds(0..5).run(async || {
            sim::sometimes!(sim::rand::below(2) == 2, "two");
            if generated {
                let sum = Atomic::new(0);
                let add = async |op: Add| sum.fetch_add(op.1, SeqCst).await + op.1;
                sim::parallel(Shape::chunks(), Sum(Panics::Never, 0), add).await;
            }
        });
        let screen = text(&report, &Style::default());
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    assert!(screens[0].contains("Run more seeds"), "{}", screens[0]);
    assert!(!screens[0].contains("SIM_STATISTICS"), "{}", screens[0]);
    assert!(
        screens[1].contains("SIM_STATISTICS=1 shows which generated commands"),
        "{}",
        screens[1]
    );
}
