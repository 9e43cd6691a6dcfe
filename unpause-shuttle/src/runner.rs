//! shuttle's runner and its settings.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::Duration;

use unpause_model::{Checked, Model};

use crate::events::{self, Created};
use crate::heard::Heard;
use crate::scheduler::{Demands, MANY, Scheduler, seeds};

/// Settings of a [`Runner`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Has no effect, because threads have std's stacks.
    pub stack_size: usize,
    /// Has no effect, because the trace of a failure is always kept, and the screen names its file.
    pub failure_persistence: FailurePersistence,
    /// The step limit of a run.
    pub max_steps: MaxSteps,
    /// The time limit of all runs together.
    pub max_time: Option<Duration>,
    /// Has no effect.
    pub silence_warnings: bool,
    /// Has no effect.
    pub record_steps_in_span: bool,
    /// Changes only the message of a failure, because a failing run ends all its threads.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

/// shuttle's handling of the end of a failing run. Here, it changes only the message of a failure.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// If true, the message of a failure begins with shuttle's sentence about this setting.
    pub immediately_return_on_panic: bool,
    /// Has no effect.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// Returns the default settings.
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::new(),
        }
    }
}

/// shuttle's handling of task functions at the end of a run. It has no effect here.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// The functions are dropped.
    Drop,
    /// The functions are leaked.
    #[default]
    Leak,
}

impl ContinuationFunctionBehavior {
    /// Returns the default setting.
    pub const fn new() -> ContinuationFunctionBehavior {
        ContinuationFunctionBehavior::Leak
    }
}

/// The place where shuttle stores a failing schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// The schedule is not stored.
    None,
    /// The schedule is printed.
    Print,
    /// The schedule is written to a file.
    File(Option<PathBuf>),
}

/// The step limit of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No explicit limit: unpause's default limit applies.
    None,
    /// A run with more steps fails.
    FailAfter(usize),
    /// A run with more steps ends there without a failure.
    ContinueAfter(usize),
}

impl Config {
    /// Returns the default settings.
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::None,
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }

    /// Returns the corresponding unpause settings, each preceded by a space.
    fn settings(&self) -> String {
        // Reference counts are no steps in shuttle.
        let limit = |steps: usize| format!(" SIM_STEPS={} SIM_ARC=0", steps.max(1));
        let steps = match self.max_steps {
            MaxSteps::None => String::new(),
            MaxSteps::FailAfter(steps) => limit(steps) + " fails_at_limit",
            MaxSteps::ContinueAfter(steps) => limit(steps) + " ends_at_limit",
        };
        // The setting cannot express a longer time, such as `Duration::MAX`.
        let millis = |time: Duration| time.as_millis().clamp(1, u64::MAX.into());
        let time = self.max_time.map(|time| format!(" SIM_TIME={}ms", millis(time)));
        steps + &time.unwrap_or_default()
    }

    /// Returns the plan for the runs of a scheduler.
    fn plan(&self, scheduler: &dyn Scheduler) -> String {
        let settings = self.settings();
        let first = scheduler.settings() + &settings;
        // If its runs end at their step limit, no search is a proof.
        let is_cut = matches!(self.max_steps, MaxSteps::ContinueAfter(_));
        match scheduler.demands().samples && !is_cut && self.max_time.is_none() {
            true => format!("{first}\nunproved {}{settings}", seeds(0, MANY)),
            false => first,
        }
    }

    /// Executes the runs of a plan, and returns their number.
    fn check(
        &self,
        plan: &str,
        demands: Demands,
        body: &(dyn Fn() + Sync),
        has_captured: bool,
    ) -> usize {
        if demands.follows {
            eprintln!(
                "note: unpause-shuttle: a schedule of shuttle cannot be followed, so the test runs {MANY} times"
            );
        }
        let created = Created::if_heard();
        let heard = Heard::if_any();
        let body = || {
            crate::thread::begin(demands, created);
            if let Some(heard) = &heard {
                heard.begin();
            }
            body();
            crate::thread::order();
            unpause_model::end_locals();
            crate::thread::wait_for_detached();
        };
        let model = Model { plan, tool: "unpause-shuttle" };
        let Checked { runs, failure } = model.try_check(&body, has_captured || created.is_some());
        if let Some(heard) = heard {
            heard.end();
        }
        if let Some(created) = created {
            created.send();
        }
        events::ended(runs);
        if let Some(message) = failure {
            // The screen has already shown everything, so the panic hook is not called.
            resume_unwind(Box::new(self.words(&message)));
        }
        runs as usize
    }

    /// Returns the message of a failure with shuttle's wording, which tests expect.
    fn words(&self, message: &str) -> String {
        if let Some(tasks) = message.strip_prefix("deadlock: ") {
            return format!("deadlock! blocked tasks: [{tasks}]");
        }
        if let Some(steps) = message.strip_prefix("step limit reached after ") {
            return format!(
                "exceeded max_steps bound of {steps}. this might be caused by an unfair schedule (e.g., a spin loop)?"
            );
        }
        if message.starts_with("no concurrency: ") {
            return "test closure did not exercise any concurrency".to_owned();
        }
        if let Some(differs) = message.strip_prefix("non-determinism ") {
            return format!("possible nondeterminism: {}{differs}", kind_of(differs));
        }
        match self.ungraceful_shutdown_config.immediately_return_on_panic {
            true => format!("Task panicked, and early return is enabled. {message}"),
            false => message.to_owned(),
        }
    }
}

/// Returns shuttle's words for the first difference of two runs, before the engine's own words; empty if shuttle has no
/// words for it. The difference is a text like `at step 3: first yield_now at …, then nothing`.
fn kind_of(differs: &str) -> String {
    let both = differs.split_once(": first ").and_then(|(_, both)| both.split_once(", then "));
    let Some((first, second)) = both else { return String::new() };
    let [yielded, yields] = [first, second].map(|step| step.starts_with("yield_now"));
    let is_draw =
        |step: &str| step.contains(" at getrandom-") || step.starts_with(crate::rand::DRAW);
    let [drew, draws] = [first, second].map(is_draw);
    // The other run has spawned threads before, or it spawns the thread in another step.
    let differs_later = |step: &str| step.starts_with("spawn") && !step.starts_with("spawn 0.0 ");
    let is_of_one = |op: &str| first.starts_with(op) != second.starts_with(op);
    match (first, second) {
        ("nothing", step) if !differs_later(step) => {
            "current execution should have ended: ".to_owned()
        }
        (step, "nothing") if !differs_later(step) => {
            "current execution ended earlier than expected: ".to_owned()
        }
        _ if yielded != yields => format!(
            "`next_task` was called with `is_yielding` equal to {yielded} in the original execution, and {yields} in \
             the current execution: "
        ),
        _ if drew && !draws => {
            "next step was context switch, but recording expected random number generation: "
                .to_owned()
        }
        _ if draws && !drew => {
            "next step was random number generation, but recording expected context switch: "
                .to_owned()
        }
        _ if is_of_one("spawn") || is_of_one("start") => {
            "set of runnable tasks is different than expected: ".to_owned()
        }
        _ => String::new(),
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// Executes the runs of a test.
#[derive(Debug)]
pub struct Runner<S: ?Sized> {
    config: Config,
    scheduler: Box<S>,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// Creates a runner with this scheduler.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { config, scheduler: Box::new(scheduler) }
    }

    /// Executes the runs, and returns their number.
    ///
    /// # Panics
    /// If a run fails.
    pub fn run<F>(self, body: F) -> usize
    where
        F: Fn() + Send + Sync + 'static,
    {
        let (plan, demands) = (self.config.plan(&*self.scheduler), self.scheduler.demands());
        self.config.check(&plan, demands, &|| body(), size_of::<F>() > 0)
    }
}

/// A group of runners, executed one after another, because each runner already uses all cores of
/// the machine.
#[derive(Debug)]
pub struct PortfolioRunner {
    config: Config,
    plans: Vec<String>,
    /// The demands of the schedulers. Random numbers are refused only if all schedulers refuse them.
    demands: Option<Demands>,
}

impl PortfolioRunner {
    /// Creates a runner without schedulers.
    pub fn new(_stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { config, plans: Vec::new(), demands: None }
    }

    /// Adds a scheduler.
    pub fn add<S: Scheduler + Send + 'static>(&mut self, scheduler: S) {
        self.plans.push(self.config.plan(&scheduler));
        let (new, old) = (scheduler.demands(), self.demands);
        self.demands = Some(Demands {
            refuses_random: new.refuses_random && old.is_none_or(|old| old.refuses_random),
            follows: new.follows || old.is_some_and(|old| old.follows),
            ..new
        });
    }

    /// Executes the runs of each scheduler.
    ///
    /// # Panics
    /// If a run fails.
    pub fn run<F>(self, body: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        let (plan, demands) = (self.plans.join("\n"), self.demands.unwrap_or_default());
        self.config.check(&plan, demands, &|| body(), size_of::<F>() > 0);
    }
}
