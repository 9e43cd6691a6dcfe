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
    /// Has no effect: threads have the stacks of std.
    pub stack_size: usize,
    /// Has no effect: the trace of a failure is kept, and the screen names it.
    pub failure_persistence: FailurePersistence,
    /// The limit of the steps of a run.
    pub max_steps: MaxSteps,
    /// The time of all runs.
    pub max_time: Option<Duration>,
    /// Has no effect.
    pub silence_warnings: bool,
    /// Has no effect.
    pub record_steps_in_span: bool,
    /// Has no effect: a run that fails ends with its threads.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

/// The end of a failing run, in shuttle. Here it has no effect.
#[derive(Clone, Copy, Default, Debug)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Has no effect.
    pub immediately_return_on_panic: bool,
    /// Has no effect.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// The defaults.
    pub fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig::default()
    }
}

/// The end of the functions of tasks, in shuttle. Here it has no effect.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// They are dropped.
    Drop,
    /// They are leaked.
    #[default]
    Leak,
}

/// The place where shuttle leaves a failing schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nothing.
    None,
    /// Prints it.
    Print,
    /// Writes it to a file.
    File(Option<PathBuf>),
}

/// The limit of the steps of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MaxSteps {
    /// No limit: unpause's default.
    None,
    /// A run with more steps fails.
    FailAfter(usize),
    /// A run with more steps ends, in shuttle. Here it fails.
    ContinueAfter(usize),
}

impl Config {
    /// The defaults.
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

    /// The settings of unpause, each with a blank before it.
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

/// Makes the runs of a test.
#[derive(Debug)]
pub struct Runner<S: ?Sized> {
    config: Config,
    scheduler: Box<S>,
}

impl<S: Scheduler + 'static> Runner<S> {
    /// A runner of this scheduler.
    pub fn new(scheduler: S, config: Config) -> Runner<S> {
        Runner { config, scheduler: Box::new(scheduler) }
    }

    /// Makes the runs. Returns their number.
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

/// Runners that make their runs one after another: each uses the cores of the machine by itself.
#[derive(Debug)]
pub struct PortfolioRunner {
    config: Config,
    plans: Vec<String>,
}

impl PortfolioRunner {
    /// A runner without schedulers.
    pub fn new(_stop_on_first_failure: bool, config: Config) -> PortfolioRunner {
        PortfolioRunner { config, plans: Vec::new() }
    }

    /// Adds a scheduler.
    pub fn add<S: Scheduler + Send + 'static>(&mut self, scheduler: S) {
        self.plans.push(scheduler.settings() + &self.config.settings());
    }

    /// Makes the runs of each scheduler.
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

/// Makes the runs of a plan. Returns their number.
fn check(plan: &str, body: &(dyn Fn() + Sync), has_captured: bool) -> usize {
    let body = || {
        crate::thread::begin();
        body();
    };
    match (Model { plan, tool: "unpause-shuttle" }).try_check(&body, has_captured) {
        Ok(runs) => runs as usize,
        Err(message) => {
            // shuttle's words, which tests expect.
            let message = match message.strip_prefix("deadlock: ") {
                Some(tasks) => format!("deadlock! blocked tasks: [{tasks}]"),
                None => message,
            };
            // The screen has told all, so the hook is not called.
            resume_unwind(Box::new(message))
        }
    }
}
