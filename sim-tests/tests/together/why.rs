//! Explanations of failing runs, compared with runs that these tests make on their own.

use std::cell::RefCell;
use std::path::PathBuf;

use expect_test::expect_file;
use sim::report::{Change, Finding, NoReturn, Order, Pattern, Region, Style, Tested, Why, text};
use sim::run::Outcome;
use sim::run::ids::{Seed, TaskId};
use sim::strategy::{Draw, Mismatch, Status, Strategy, View};
use sim::{Runner, run::op::Access};
use sim_tests::corpus::all;
use sim_tests::corpus::programs::{Program, Spawning};
use sim_tests::histories::long;

/// Runs that an explanation may take by default.
const RUNS: u64 = 3000;

fn runner(name: &str) -> Runner {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("why");
    Runner::new().hermetic().jobs(1).out(out).name(name)
}

pub(crate) fn finding(program: &Program) -> Box<Finding> {
    let runner = runner(program.name).seeds(0..program.seeds);
    let report = runner.run(|| (program.buggy)(Spawning::Together));
    report.finding.expect("the corpus holds programs to it")
}

pub(crate) fn named(name: &str) -> &'static Program {
    all().find(|program| program.name == name).expect("a program of the corpus")
}

/// The choices of runs that a test makes: the tasks of a prefix, and then either every sticky schedule once, or a
/// random schedule.
#[derive(Default)]
struct Choices {
    prefix: Vec<TaskId>,
    /// The answers of the current run after the prefix: the position in the order of `weights`, and the weights.
    path: Vec<(usize, Vec<f64>)>,
    at: usize,
    /// The next runs are drawn.
    dice: Option<u64>,
}

thread_local! {
    static CHOICES: RefCell<Choices> = RefCell::default();
}

struct Chosen;

impl Strategy for Chosen {
    fn begin(&mut self, _: Seed) {
        CHOICES.with_borrow_mut(|choices| choices.at = 0);
    }

    fn sees_forced_steps(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &View<'_>) -> Result<usize, Mismatch> {
        CHOICES.with_borrow_mut(|choices| {
            let tasks = view.candidates();
            let step = view.step() as usize;
            if let Some(task) = choices.prefix.get(step) {
                return Ok(tasks.iter().position(|other| other == task).expect("the same run"));
            }
            if let Some(state) = &mut choices.dice {
                *state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                return Ok((*state >> 33) as usize % tasks.len());
            }
            let mut order = tasks.to_vec();
            order.sort_unstable();
            if choices.at == choices.path.len() {
                choices.path.push((0, weights(view, &order)));
            }
            let task = order[choices.path[choices.at].0];
            choices.at += 1;
            Ok(tasks.iter().position(|other| *other == task).expect("it is from this list"))
        })
    }

    fn draw(&mut self, _: &Draw) -> Result<u64, Mismatch> {
        unreachable!("these programs draw nothing")
    }
}

/// The probabilities of these tasks in a sticky schedule, by the words of docs/why.md.
fn weights(view: &View<'_>, tasks: &[TaskId]) -> Vec<f64> {
    let n = tasks.len();
    let goes_on = |task: &TaskId| {
        let row = view.task(*task);
        let yields = |access| access == Access::Yield;
        row.status == Status::Ready && row.announced.iter().any(|a| !yields(a.op.access))
    };
    let last = view.last().filter(goes_on);
    let weight = |task: &TaskId| match last {
        Some(_) if n == 1 => 1.0,
        Some(last) if last == *task => 7.0 / 8.0,
        Some(_) => 1.0 / 8.0 / (n - 1) as f64,
        None => 1.0 / n as f64,
    };
    tasks.iter().map(weight).collect()
}

/// Makes one run by the choices. Returns `true` if the run fails.
fn fails(program: &Program) -> bool {
    let runner = runner("own").strategy_with("chosen", || Box::new(Chosen));
    let run = runner.run_seed(0, || (program.buggy)(Spawning::Together));
    run.outcome != Outcome::Passed
}

/// The chance of failure after these steps: the sum over all schedules, each of which is run.
fn chance(program: &Program, prefix: &[TaskId]) -> f64 {
    CHOICES.with_borrow_mut(|choices| {
        *choices = Choices { prefix: prefix.to_vec(), ..Choices::default() };
    });
    let mut sum = 0.0;
    loop {
        let failed = fails(program);
        let more = CHOICES.with_borrow_mut(|choices| {
            let weight: f64 = choices.path.iter().map(|(at, weights)| weights[*at]).product();
            sum += if failed { weight } else { 0.0 };
            while let Some((at, weights)) = choices.path.last_mut() {
                *at += 1;
                if *at < weights.len() {
                    return true;
                }
                choices.path.pop();
            }
            false
        });
        if !more {
            return sum;
        }
    }
}

/// Makes continuations at random. Returns the numbers of failing and of all runs.
fn continued(program: &Program, prefix: &[TaskId], runs: u64) -> (u64, u64) {
    continued_by(17, program, prefix, runs)
}

/// Counts the failing runs after a prefix, with random continuations that `dice` determines.
fn continued_by(dice: u64, program: &Program, prefix: &[TaskId], runs: u64) -> (u64, u64) {
    CHOICES.with_borrow_mut(|choices| {
        *choices = Choices { prefix: prefix.to_vec(), dice: Some(dice), ..Choices::default() };
    });
    ((0..runs).map(|_| u64::from(fails(program))).sum(), runs)
}

fn tasks(finding: &Finding) -> Vec<TaskId> {
    finding.run.steps.iter().map(|step| step.task).collect()
}

#[cfg_attr(feature = "sim", test)]
fn an_exact_chance_is_the_sum_over_all_schedules() {
    for name in ["bluetooth", "deadlock01", "message_lost", "weak_upgrade", "try_lock_cas"] {
        let program = named(name);
        let finding = finding(program);
        let (why, tasks) = (finding.why.as_ref().expect("it is explained"), tasks(&finding));
        for known in &why.chances {
            assert_eq!(known.runs, 0, "{name}: {why:?}");
            let sum = chance(program, &tasks[..known.after as usize]);
            assert!((sum - known.share).abs() < 1e-9, "{name}: {sum} and {known:?}");
        }
        assert_eq!(why.chances.last().map(|last| last.share), Some(1.0), "{name}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_sampled_chance_is_near_the_sum_over_all_schedules() {
    // The explanation has too few runs to compute the exact sum.
    let program = named("bluetooth");
    let runner = runner("sampled").seeds(0..program.seeds).why(700);
    let report = runner.run(|| (program.buggy)(Spawning::Together));
    let finding = report.finding.unwrap();
    let (why, tasks) = (finding.why.as_ref().unwrap(), tasks(&finding));
    let sampled = why.chances.iter().filter(|chance| chance.runs > 0);
    for known in sampled {
        let sum = chance(program, &tasks[..known.after as usize]);
        let deviation = (sum * (1.0 - sum) / known.runs as f64).sqrt();
        assert!((sum - known.share).abs() < 4.5 * deviation.max(0.01), "{sum} and {known:?}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn after_the_step_without_return_all_fail_and_before_it_one_passes() {
    for name in ["bluetooth", "deadlock01", "peterson", "dining_3", "bank_transfer", "treiber_aba"]
    {
        let program = named(name);
        let finding = finding(program);
        let why = finding.why.as_ref().expect("it is explained");
        let NoReturn { after, .. } = why.no_return.expect("it is proved");
        let tasks = tasks(&finding);
        let many = if long() { 10_000 } else { 150 };
        let (failed, runs) = continued(program, &tasks[..after as usize], many);
        assert_eq!(failed, runs, "{name}: no way back after {after}");
        let mut choices = finding.run.steps[..after as usize - 1].iter();
        let before = choices.rposition(|step| step.candidates > 1).map_or(0, |step| step + 1);
        let passes = (0..20).any(|part| {
            let (failed, runs) = continued_by(17 + part, program, &tasks[..before], 100);
            failed < runs
        });
        assert!(passes, "{name}: a way back after {before}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn the_nearest_passing_run_differs_at_the_last_step_with_a_way_back() {
    for name in ["bluetooth", "deadlock01", "bank_transfer"] {
        let program = named(name);
        let finding = finding(program);
        let why = finding.why.as_ref().expect("it is explained");
        let NoReturn { after, .. } = why.no_return.expect("it is proved");
        let passing = why.passing.as_ref().expect("a run passes");
        let mut choices = finding.run.steps[..after as usize - 1].iter();
        let before = choices.rposition(|step| step.candidates > 1).map_or(0, |step| step + 1);
        let common = passing.common as usize;
        assert!((before..after as usize).contains(&common), "{name}: {before} {common} {after}");
        let first = &passing.steps[0].path;
        let instead = finding.run.steps[common].task;
        assert_ne!(*first, finding.run.tasks[instead.index()].path, "{name}");
        assert_eq!(passing.steps.len(), passing.step_count as usize - common, "{name}");
        // The runner is hermetic, so the command is a call with the trace as its argument.
        let replay = passing.replay.as_ref().expect("the trace is short");
        let trace = replay.split('"').nth(1).expect("the trace is quoted");
        let report = runner("replayed").replay(trace).run(|| (program.buggy)(Spawning::Together));
        assert!(report.passed(), "{name}: {replay}");
        assert_eq!(report.steps, u64::from(passing.step_count), "{name}");
    }
}

/// Continues a run at random after the step without return.
fn is_not_contradicted(program: &Program, finding: &Finding) {
    let why = finding.why.as_ref().expect("it is explained");
    let Some(NoReturn { after, .. }) = why.no_return else { return };
    if finding.run.draws.is_empty() {
        let runs = if long() { 1_000 } else { 10 };
        let (failed, runs) = continued(program, &tasks(finding)[..after as usize], runs);
        assert_eq!(failed, runs, "{}: no way back after {after}", program.name);
    }
}

/// Returns the step at which the failing run interrupted the region of the remedy.
fn interrupted(finding: &Finding) -> Option<u32> {
    let cause = finding.why.as_ref()?.cause.as_ref()?;
    let before = *cause.between.first()?;
    let run = &finding.run;
    // The first step of another task after the last step of the interrupted task.
    let first = run.events[before].step as usize;
    let own = run.steps[..first].iter().rposition(|step| step.task == cause.task)?;
    u32::try_from(own + 1).ok()
}

/// A row of the table in docs/why-corpus.md.
fn row(program: &Program, finding: &Finding) -> String {
    let why = finding.why.as_ref().expect("it is explained");
    let region = |region: &Region| {
        let (from, to) = (region.from.place, region.to.place);
        let file = |path: &'static str| path.rsplit(['/', '\\']).next().unwrap_or_default();
        match from.file() == to.file() {
            true => format!("{}:{}..{}", file(from.file()), from.line(), to.line()),
            false => {
                format!("{}:{}..{}:{}", file(from.file()), from.line(), file(to.file()), to.line())
            }
        }
    };
    let remedy = why.remedy.as_ref().map_or("-".to_owned(), |remedy| match &remedy.change {
        Change::Regions { regions, .. } => {
            regions.iter().map(region).collect::<Vec<_>>().join(" and ")
        }
        Change::Order(Order { early, late, times }) => {
            let span = region(&Region { from: *early, to: *late }).replace("..", " < ");
            if *times == 1 { span } else { format!("{span} ({times} times)") }
        }
    });
    let tested = match why.remedy.as_ref().map(|remedy| remedy.tested) {
        Some(Tested::All { interleavings, of: Some(of), .. }) => format!("{interleavings} of {of}"),
        Some(Tested::All { interleavings, of: None, .. }) => format!("all {interleavings}"),
        Some(Tested::Within { preemptions, runs }) => {
            format!("{runs} runs, {preemptions} preemptions")
        }
        Some(Tested::Counted { runs, failed, of }) => format!("0 of {runs}, now {failed} of {of}"),
        None => String::new(),
    };
    let chance = |steps: u32| why.chance_after(steps).map_or(f64::NAN, |chance| chance.share);
    let marks = why.marks.iter().map(|mark| {
        let at = if interrupted(finding) == Some(*mark) { "**" } else { "" };
        format!("{at}{mark}{at} {:.2}→{:.2}", chance(*mark), chance(mark + 1))
    });
    let marks = marks.collect::<Vec<_>>().join(", ");
    let back = why.no_return.map_or("-".to_owned(), |proved| match proved.after {
        0 => "every run".to_owned(),
        after => (after - 1).to_string(),
    });
    let name = Pattern::of_finding(finding).map_or("-", Pattern::name);
    format!("| {} | {name} | {remedy} | {tested} | {marks} | {back} |\n", program.name)
}

#[cfg_attr(feature = "sim", test)]
fn the_table_of_the_corpus_is_that_of_the_manual_and_no_run_contradicts_it() {
    let mut rows = String::new();
    let (mut remedies, mut proved, mut causes, mut marked, mut no_return) = (0, 0, 0, 0, 0);
    let mut orders = 0;
    for program in all() {
        let finding = finding(program);
        let why = finding.why.as_ref().expect("it is explained");
        assert!(why.runs <= RUNS, "{}", program.name);
        let tested = why.remedy.as_ref().map(|remedy| remedy.tested);
        let change = why.remedy.as_ref().map(|remedy| &remedy.change);
        orders += u32::from(matches!(change, Some(Change::Order(_))));
        remedies += u32::from(tested.is_some());
        proved += u32::from(matches!(tested, Some(Tested::All { .. })));
        no_return += u32::from(why.no_return.is_some());
        if let Some(at) = interrupted(&finding) {
            causes += 1;
            marked += u32::from(why.marks.contains(&at));
        }
        is_not_contradicted(program, &finding);
        rows += &row(program, &finding);
    }
    let text = format!("{remedies} remedies, {proved} proved, {orders} orders");
    assert!(remedies >= 57 && proved - orders >= 40 && orders >= 5, "{text}");
    assert!(no_return >= 56, "{no_return} without return");
    assert!(causes - marked <= 2, "{marked} of {causes} marked");
    let head = include_str!("../../../docs/why-corpus.md");
    let end = head.find("|---|").map_or(head.len(), |at| at + head[at..].find('\n').unwrap() + 1);
    expect_file!["../../../docs/why-corpus.md"].assert_eq(&format!("{}{rows}", &head[..end]));
}

/// The lines that a cause needs are quoted from the source, below the cause and only there.
#[cfg_attr(feature = "sim", test)]
fn the_lines_of_a_cause_are_those_of_the_source() {
    let source = include_str!("../../src/corpus/programs/bluetooth.rs");
    let program = named("bluetooth");
    let report =
        runner("quoted").seeds(0..program.seeds).run(|| (program.buggy)(Spawning::Together));
    let finding = report.finding.as_ref().unwrap();
    let cause = finding.why.as_ref().unwrap().cause.as_ref().expect("a region");
    let events = cause.decisive.iter().map(|at| finding.run.events[*at].place.line());
    let ends = [cause.region.from, cause.region.to].map(|site| site.place.line());
    let lines: Vec<u32> = ends.into_iter().chain(events).collect();
    assert_eq!((lines.len(), finding.quoted.len()), (4, 4), "{:?}", finding.quoted);
    let screen = text(&report, &Style::default());
    for line in lines {
        let text = source.lines().nth(line as usize - 1).unwrap().trim();
        assert!(finding.quoted.iter().any(|quoted| quoted.text == text), "{line}: {text}");
        assert_eq!(screen.matches(&format!(":{line} | {text}")).count(), 1, "{screen}");
    }
    // The JSON document contains the same lines.
    let document = sim::report::json(&report, &Style::default());
    assert!(document.contains(r#""pattern":"check then act""#), "{document}");
    assert!(document.contains(r#""quoted":[{"place":"#), "{document}");
}

/// For some programs, the name of the pattern must be right. Other programs have faults without such a name.
#[cfg_attr(feature = "sim", test)]
fn programs_of_the_corpus_have_the_names_of_their_faults() {
    for (program, expected) in [
        ("bluetooth", Some(Pattern::CheckThenAct)),
        ("once_cell", Some(Pattern::LostUpdate)),
        ("ticket_lock", Some(Pattern::LostUpdate)),
        ("treiber_aba", Some(Pattern::Aba)),
        ("snapshot", Some(Pattern::TornRead)),
        ("deadlock01", Some(Pattern::LockOrder)),
        ("dining_3", Some(Pattern::LockOrder)),
        ("writer_starves", None),
        ("message_lost", None),
        ("map_length", None),
        ("striped_counter", None),
    ] {
        assert_eq!(Pattern::of_finding(&finding(named(program))), expected, "{program}");
    }
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_in_every_run_is_one() {
    let finding = finding(named("phase01"));
    let Some(Why { no_return: Some(NoReturn { after, interleavings }), chances, passing, .. }) =
        &finding.why
    else {
        panic!("{:?}", finding.why)
    };
    assert_eq!((*after, *interleavings, chances.len()), (0, 6, 0));
    assert_eq!(*passing, None);
}

#[cfg_attr(feature = "sim", test)]
fn the_same_failure_has_the_same_screen() {
    for name in ["peterson", "ticket_lock", "broadcast_lag"] {
        let screen = || {
            let program = named(name);
            let runner = runner("again").seeds(0..program.seeds);
            text(&runner.run(|| (program.buggy)(Spawning::Together)), &Style::default())
        };
        let first = screen();
        assert!(first.contains("◂"), "{first}");
        assert_eq!(first, screen());
    }
}

#[cfg_attr(feature = "sim", test)]
fn no_explanation_is_made_without_runs_without_shrinking_and_of_a_run_without_end() {
    let body = || (named("bluetooth").buggy)(Spawning::Together);
    for runner in [runner("none").why(0), runner("whole").shrink(false)] {
        assert_eq!(runner.run(body).finding.unwrap().why, None);
    }
    let report = runner("endless").max_steps(50).run(async || {
        while !std::hint::black_box(false) {
            sim::task::yield_now().await;
        }
    });
    assert_eq!(report.finding.unwrap().why, None);
}
