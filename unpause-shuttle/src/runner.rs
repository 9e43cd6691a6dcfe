//! shuttle's runner and its settings.

use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::Duration;

use unpause_model::Model;

use crate::scheduler::Scheduler;

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
    /// Has no effect, because a failing run ends all its threads.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

/// shuttle's handling of the end of a failing run. It has no effect here.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Has no effect.
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
    /// A run with more steps ends in shuttle, but fails here.
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
        let steps = match self.max_steps {
            MaxSteps::None => String::new(),
            MaxSteps::FailAfter(steps) | MaxSteps::ContinueAfter(steps) => {
                format!(" SIM_STEPS={}", steps.max(1))
            }
        };
        let time = self.max_time.map(|time| format!(" SIM_TIME={}ms", time.as_millis().max(1)));
        steps + &time.unwrap_or_default()
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
        let plan = self.scheduler.settings() + &self.config.settings();
        check(&plan, &|| body(), size_of::<F>() > 0)
    }
}

/// A group of runners, executed one after another, because each runner already uses all cores of
/// the machine.
#[derive(Debug)]
pub struct PortfolioRunner {
    config: Config,
    plans: Vec<String>,
}

impl PortfolioRunner {
    /// Creates a runner without schedulers.
    pub fn new(_stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { config, plans: Vec::new() }
    }

    /// Adds a scheduler.
    pub fn add<S: Scheduler + Send + 'static>(&mut self, scheduler: S) {
        self.plans.push(scheduler.settings() + &self.config.settings());
    }

    /// Executes the runs of each scheduler.
    ///
    /// # Panics
    /// If a run fails.
    pub fn run<F>(self, body: F)
    where
        F: Fn() + Send + Sync + 'static,
    {
        check(&self.plans.join("\n"), &|| body(), size_of::<F>() > 0);
    }
}

/// Executes the runs of a plan, and returns their number.
fn check(plan: &str, body: &(dyn Fn() + Sync), has_captured: bool) -> usize {
    let body = || {
        crate::thread::begin();
        body();
    };
    match (Model { plan, tool: "unpause-shuttle" }).try_check(&body, has_captured) {
        Ok(runs) => runs as usize,
        Err(message) => {
            // shuttle's wording, which tests expect.
            let message = match message.strip_prefix("deadlock: ") {
                Some(tasks) => format!("deadlock! blocked tasks: [{tasks}]"),
                None => message,
            };
            // The screen has already shown everything, so the panic hook is not called.
            resume_unwind(Box::new(message))
        }
    }
}
