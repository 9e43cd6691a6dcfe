//! Failing runs: confirmed by a second run, shrunk, replayed and written as a trace.

use std::sync::Arc;
use unpause_ordered::sort;

use super::job::WorkerJob;
use super::session::Session;
use super::smallest::{Smallest, smallest};
use super::strengthen::strengthening;
use super::watchdog::Unwatch;
use super::{hook, seek, why};
use crate::engine::assignment::Account;
use crate::engine::seeds::Found;
use crate::native;
use crate::report::{Finding, Origin, Shrinking, Size};
use crate::rt::{RunLimits, Worker};
use crate::run::event::ValueKind;
use crate::run::place::in_text;
use crate::run::schedule::Schedule;
use crate::run::trace::show_values;
use crate::run::{Failure, Outcome, Run, Signature};
use crate::shrink::{Budget, Replayer, Shrunk, Sought, shrink};
use crate::strategy::ONE_TASK;
use crate::testing::generate::memo::Memo;
use unpause_check::verdict::Verdict;

/// The maximum number of replays for shrinking.
const REPLAYS: u64 = 4000;
/// The maximum number of replays for a hanging run. Each replay takes at least a twentieth of the time limit of a step.
const HANGS: u64 = 40;
/// The maximum number of additional runs for the searches of small programs.
const SOUGHT: u64 = 30_000;
/// The maximum number of steps for shrinking. These steps take about a second.
const STEPS: u64 = 20_000_000;
/// The maximum number of steps for shrinking plain threads, whose steps are slower. These steps take some seconds.
const STEPS_NATIVE: u64 = 3_000_000;
/// The number of steps of a run that take as long as one model step during program generation.
const PLANNED: u64 = 10;

/// The text for a run that has ended or diverged before an operation.
const NOTHING: &str = "nothing";

/// Adds a failing run to an account: confirms, shrinks and replays the run, and writes it to a file.
pub(super) fn confirm(
    session: &Session<'_>,
    run: Run,
    from: Origin,
    mut account: Account,
) -> Account {
    let (runs, original) = (account.runs, Size::of(&run));
    let Smallest { run, shrunk, proof, with_sc } =
        session.quietly(|| match confirmed(session, &run) {
            Ok(()) if is_undecided(&run) || !session.config.shrink => Smallest::of(run),
            Ok(()) => smallest(session, run, runs),
            Err(failure) => Smallest::of(Run { outcome: Outcome::Failed(failure), ..run }),
        });
    let trace = session.trace(&run);
    let (mut warning, mut callers) = (None, hook::Callers::default());
    let run = match &run.outcome {
        // A replay is pointless here, because the next run would differ again.
        Outcome::Failed(Failure::NonDeterminism { .. }) => run,
        _ => {
            let again = session.loudly(|| session.replay(&trace));
            callers = hook::callers();
            warning = other_history(&run, &again);
            // The report names the strategy that found the failure, not the replay strategy.
            let (seed, strategy) = (run.seed, run.strategy.clone());
            if same_failure(&again, &run) { Run { seed, strategy, ..again } } else { run }
        }
    };
    let strengthening = shrunk.and_then(|_| session.quietly(|| strengthening(session, &run, runs)));
    let (trace_file, trace_error) = session.write(&trace);
    let replay = Some(session.replay_command(trace, trace_file.as_deref().unwrap_or_default()));
    let finding = Finding {
        original,
        shrunk,
        proof,
        strengthening,
        with_sc,
        called_from: callers.of_std,
        needs_runtime: callers.of_runtime,
        trace_file,
        trace_error,
        replay,
        ..Finding::of(run, from)
    };
    account.settings = Some(session.config.in_traces());
    account.warnings.splice(0..0, warning);
    let explain = || why::explain(session, &finding, account.without_tally());
    let why = shrunk.and_then(|_| session.quietly(explain));
    Account { finding: Some(Finding { why, ..finding }), ..account }
}

/// Checks that the decisions of `run` lead to the same run again, as far as they determine it.
fn confirmed(session: &Session<'_>, run: &Run) -> Result<(), Failure> {
    if is_undecided(run) { Ok(()) } else { same_again(session, run) }
}

/// Returns `true` if the run failed because a check ran out of time or budget. Such a check takes seconds, so shrinking
/// would take too long. The progress of the check also depends on real time, not on the decisions alone.
fn is_undecided(run: &Run) -> bool {
    let outcome = &run.outcome;
    matches!(outcome, Outcome::Failed(Failure::History { verdict: Verdict::Unknown(_), .. }))
}

/// Checks that the decisions of `run` lead to the same run again.
///
/// # Errors
/// The failure that reports the first step that differs.
pub(super) fn same_again(session: &Session<'_>, run: &Run) -> Result<(), Failure> {
    let again = session.seeing_standstill(|| {
        let job = WorkerJob::Again(Arc::new(run.clone()));
        session.run_with(job.strategy(), "again", run.seed, job)
    });
    // Programs are generated before other steps, so they are compared first.
    same_programs(run, &again)?;
    if let Outcome::Failed(failure @ Failure::Misuse { .. }) = &again.outcome {
        // A misuse often fails only the second run, for example a lock in a `static`. The message of a misuse contains
        // the remedy, so it takes precedence over the difference of the two runs.
        return if same_failure(run, &again) { Ok(()) } else { Err(failure.clone()) };
    }
    if let Outcome::Failed(Failure::Diverged { step, expected, found }) = &again.outcome {
        let (first, second) = (expected.clone(), found.clone());
        // If an earlier operation differs, it explains more.
        same_operations(run, &again, *step).map_err(|failure| announced(failure, found))?;
        return Err(Failure::NonDeterminism { step: *step, first, second });
    }
    same_operations(run, &again, u32::MAX)?;
    if same_failure(run, &again) {
        return Ok(());
    }
    let tell = |run: &Run| match &run.outcome {
        Outcome::Passed => "the run passed".to_owned(),
        Outcome::Failed(failure) => crate::report::one_line(failure, run),
    };
    let step = run.steps.len() as u32;
    Err(Failure::NonDeterminism { step, first: tell(run), second: tell(&again) })
}

/// Returns the failure with the pending operation of the repetition, if the repetition has diverged before this
/// operation. `found` is the text of the divergence.
fn announced(mut failure: Failure, found: &str) -> Failure {
    if let Failure::NonDeterminism { second, .. } = &mut failure
        && second == NOTHING
        && let Some(pending) = found.strip_prefix(ONE_TASK)
    {
        *second = pending.to_owned();
    }
    failure
}

/// Returns the failure of a run that fails in a helper but passes here.
pub(super) fn differs_from_helper(run: Run, position: u64, failed: String) -> Box<Found> {
    let (step, second) = (run.steps.len() as u32, "the run passed".to_owned());
    let failure = Failure::NonDeterminism { step, first: failed, second };
    let origin = Origin::Seed(run.seed);
    Box::new(Found { position, run: Run { outcome: Outcome::Failed(failure), ..run }, origin })
}

/// Checks that both runs generated the same programs from the same decisions.
fn same_programs(run: &Run, again: &Run) -> Result<(), Failure> {
    for (one, other) in run.programs.iter().zip(&again.programs) {
        let draw = run.draws.get(one.draws.start);
        let step = draw.map_or(0, |draw| draw.step);
        for nth in 0..one.commands.len().max(other.commands.len()) {
            let texts = [one, other].map(|program| program.commands.get(nth).map(|c| &c.text));
            let [one, other] = texts.map(|text| text.map(|text| letters(text)));
            if one != other {
                let tell = |text: Option<&String>| {
                    let text = text.map_or("nothing", String::as_str);
                    format!("command #{nth} of the generated program: {text}")
                };
                let (first, second) = (tell(texts[0]), tell(texts[1]));
                return Err(Failure::NonDeterminism { step, first, second });
            }
        }
    }
    Ok(())
}

/// Returns the characters of a text, sorted. A command that contains a set may show its elements in any order.
fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().collect();
    sort(&mut letters);
    letters
}

/// Checks that two runs executed the same operations before step `end`.
fn same_operations(run: &Run, again: &Run, end: u32) -> Result<(), Failure> {
    if run.events == again.events {
        return Ok(());
    }
    let before = |run: &Run| run.events.iter().take_while(|event| event.step < end).count();
    let shown = |run: &Run, index: usize| match run.events.get(index) {
        None => NOTHING.to_owned(),
        Some(event) => {
            let object = event.object.map_or(String::new(), |object| {
                format!(" {}#{}", run.objects[object.index()].kind, object.index())
            });
            let values = show_values(event, run);
            format!("{}{object} {values} at {}", event.op.name, in_text(event.place))
        }
    };
    let pointer = |run: &Run, index: usize| {
        let object = run.events.get(index).and_then(|event| event.object);
        object.is_some_and(|object| run.objects[object.index()].values == ValueKind::Pointer)
    };
    for index in 0..before(run).max(before(again)) {
        let same = run.events.get(index) == again.events.get(index)
            || (pointer(run, index) && shown(run, index) == shown(again, index));
        if !same {
            let step = run.events.get(index).map_or(run.steps.len() as u32, |event| event.step);
            let (first, second) = (shown(run, index), shown(again, index));
            return Err(Failure::NonDeterminism { step, first, second });
        }
    }
    Ok(())
}

/// Returns a warning if the calls of clients returned other results in the repetition of the same decisions.
fn other_history(run: &Run, again: &Run) -> Option<String> {
    let (first, second) =
        results_of(run).zip(results_of(again)).find(|(first, second)| first != second)?;
    let tell = |(op, ret): (&str, Option<&str>)| format!("{op} → {}", ret.unwrap_or("?"));
    let (first, second) = (tell(first), tell(second));
    Some(format!(
        "`{first}` was `{second}` when the same decisions were taken again: the test depends on something that \
         the scheduler does not control, often a static that keeps its value from run to run. Create all \
         state in the body of the test"
    ))
}

/// Returns each operation and its result, if any.
fn results_of(run: &Run) -> impl Iterator<Item = (&str, Option<&str>)> {
    let operations = run.histories.iter().flat_map(|history| &history.operations);
    operations.map(|o| (o.op.as_str(), o.returned.as_ref().map(|(ret, _)| ret.as_str())))
}

pub(super) fn signature(run: &Run) -> Option<Signature> {
    match &run.outcome {
        Outcome::Passed => None,
        Outcome::Failed(failure) => Some(failure.signature()),
    }
}

fn same_failure(a: &Run, b: &Run) -> bool {
    signature(a) == signature(b)
}

/// Shrinks `run`. Returns the smallest run found that fails in the same way, with at most `preemptions_max`
/// preemptions.
pub(super) fn shrunk(
    session: &Session<'_>,
    run: Run,
    preemptions_max: Option<u32>,
) -> (Run, Option<Shrinking>) {
    let Some(wanted) = signature(&run) else { return (run, None) };
    let (mut result, left_out) = replayed(session, &run, &wanted, preemptions_max, true);
    let mut small = followed(session, &run, &wanted, &result);
    if left_out && (small.is_none() || !result.reproduced) {
        // A loop ends only after the rounds that the replays left out.
        let first = result.replays;
        (result, _) = replayed(session, &run, &wanted, preemptions_max, false);
        small = followed(session, &run, &wanted, &result);
        result.replays += first;
    }
    let Some(small) = small else { return (run, None) };
    let small = pinned(session, &small).unwrap_or(small);
    let small = Run { strategy: run.strategy, ..small };
    let size = Size::of(&small);
    let shrinking = Shrinking {
        replays: u32::try_from(result.replays).unwrap_or(u32::MAX),
        size,
        complete: result.complete,
    };
    (small, Some(shrinking))
}

/// Shrinks the schedule of a run that fails as `wanted`. If `shortens` is set, the replays
/// [shorten](native::shorten_loops) loops. Also returns `true` if they left out rounds of a loop.
fn replayed(
    session: &Session<'_>,
    run: &Run,
    wanted: &Signature,
    preemptions_max: Option<u32>,
    shortens: bool,
) -> (Shrunk, bool) {
    let steps_max = if session.config.is_native() { STEPS_NATIVE } else { STEPS };
    let by_steps = steps_max / (run.steps.len() as u64).max(1);
    let (replays, sought) = match wanted.kind {
        "hang" => (HANGS, 0),
        _ => (REPLAYS.min(by_steps).max(20), SOUGHT.min(by_steps)),
    };
    let worker = Worker::new(WorkerJob::Follow(Arc::default()).strategy());
    let job = WorkerJob::Follow(Arc::default());
    let watched = session.watch.follow(worker.progress(), job, run.seed);
    // A schedule with a removed piece may never end: tasks that spawn each other can keep all other tasks waiting. The
    // step limit is therefore the length of the original run, because a longer schedule is not smaller.
    let mut limits = session.limits_following(run.steps.len());
    if !matches!(run.outcome, Outcome::Failed(Failure::StepLimit { .. })) {
        let steps = u32::try_from(run.steps.len()).unwrap_or(u32::MAX);
        let steps = steps.saturating_add(1);
        limits.beyond = limits.beyond.min(steps.saturating_sub(limits.steps_max));
        limits.steps_max = limits.steps_max.min(steps);
    }
    let preemptions_max = preemptions_max.map_or(u64::MAX, u64::from);
    let (wants, left_out) = (wanted.clone(), false);
    let (steps, _memo) = (0, Memo::begin());
    let steps_max = 2 * steps_max;
    native::take_rounds();
    let mut lenient = ShrinkReplayer {
        session,
        worker,
        watched,
        limits,
        wants,
        preemptions_max,
        shortens,
        left_out,
        steps,
        steps_max,
        _memo,
    };
    let result = shrink(Schedule::of(run), &mut lenient, &Budget { replays, sought });
    (result, lenient.left_out)
}

/// Returns the run that follows the schedule found by shrinking. `None` if the run does not fail as `wanted`, or is not
/// the same again.
fn followed(session: &Session<'_>, run: &Run, wanted: &Signature, result: &Shrunk) -> Option<Run> {
    let is_smaller = result.passes.iter().any(|pass| pass.accepted > 0);
    if !is_smaller && result.reproduced {
        // If nothing could be removed, the run was already repeated before.
        return Some(run.clone());
    }
    let job = WorkerJob::Follow(Arc::new(result.schedule.clone()));
    let small = session.run_with(job.strategy(), "follow", run.seed, job);
    // The decisions alone must lead to the same failure, twice.
    let fails = signature(&small).as_ref() == Some(wanted) && same_again(session, &small).is_ok();
    fails.then_some(small)
}

/// Returns the run with its guided victims pinned to the same nodes, if it fails in the same way and has no more steps.
/// Then a replay hits the same victims even if the function that names them has changed.
fn pinned(session: &Session<'_>, run: &Run) -> Option<Run> {
    let mut pinned = run.clone();
    let pins = run.programs.iter().flat_map(|program| &program.pins);
    pins.for_each(|pin| pinned.draws[pin.draw].value = pin.value);
    if pinned.draws == run.draws {
        return None;
    }
    let job = WorkerJob::Follow(Arc::new(Schedule::of(&pinned)));
    let pinned = session.run_with(job.strategy(), "follow", run.seed, job);
    let is_good = same_failure(&pinned, run)
        && pinned.steps.len() <= run.steps.len()
        && same_again(session, &pinned).is_ok();
    is_good.then_some(pinned)
}

/// A replayer of schedules, for the shrinker.
pub(super) struct ShrinkReplayer<'a, 'b> {
    session: &'a Session<'b>,
    pub(super) worker: Worker,
    pub(super) watched: Unwatch<'a>,
    limits: RunLimits,
    wants: Signature,
    preemptions_max: u64,
    /// True if the replays shorten loops.
    shortens: bool,
    /// True if a replay left out rounds of a loop.
    left_out: bool,
    /// The number of steps so far. This number includes the steps that generated programs, and the reads of loops
    /// without points.
    steps: u64,
    /// The number of steps after which no further replay is tried.
    steps_max: u64,
    /// A memo of generated programs, so that each program is generated only once.
    _memo: Memo,
}

impl ShrinkReplayer<'_, '_> {
    /// Executes one run.
    pub(super) fn once(&mut self) -> Option<Failure> {
        let seed = crate::run::ids::Seed(0);
        let _shortened = self.shortens.then(native::shorten_loops);
        let failure = self.session.once_more(&mut self.worker, seed, &self.limits);
        let rounds = native::take_rounds();
        self.left_out |= rounds.left_out;
        self.steps += self.worker.steps() + PLANNED * self.worker.planned() + rounds.reads;
        failure
    }

    pub(super) fn fails_as_wanted(&self, failure: Option<&Failure>) -> bool {
        failure.is_some_and(|failure| failure.signature() == self.wants)
    }

    /// Returns `true` if the failure is a violated history.
    pub(super) fn wants_history(&self) -> bool {
        self.wants.kind == "history"
    }

    /// Returns `true` if the schedule has no more preemptions than are allowed.
    pub(super) fn may_be(&self, ran: &Schedule) -> bool {
        ran.preemptions() <= self.preemptions_max
    }
}

impl Replayer for ShrinkReplayer<'_, '_> {
    fn is_spent(&self) -> bool {
        self.steps > self.steps_max
    }

    fn replay(&mut self, schedule: &Schedule) -> Option<Schedule> {
        let job = WorkerJob::Follow(Arc::new(schedule.clone()));
        self.worker.set_strategy(job.strategy());
        self.watched.watched.begin_job(job);
        let failure = self.once();
        let same = self.fails_as_wanted(failure.as_ref());
        let schedule = same.then(|| self.worker.schedule());
        let schedule = schedule.filter(|ran| self.may_be(ran));
        self.worker.forget_histories();
        schedule
    }

    fn seek(
        &mut self,
        schedule: &Schedule,
        runs_max: u64,
        smaller: &dyn Fn(&Schedule) -> bool,
    ) -> Sought {
        seek::seek(self, schedule, runs_max, smaller)
    }
}
