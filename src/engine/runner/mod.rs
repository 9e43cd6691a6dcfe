//! Runs a test body under many seeds and reports.
//!
//! [`Runner`] is what `#[sim::test]` calls. The seeds are run by the engine of the build: under the
//! scheduler, or on real threads. The result is a [`Report`]; only this module makes text of it
//! and fails the test.

mod each;
mod ended;
pub(crate) mod outcome;
mod part;
mod settings;
mod site;
mod target;
mod test;

use std::panic::Location;

pub(crate) use self::ended::end_process;
pub(crate) use self::outcome::TestBody;
pub use self::outcome::TestResult;
pub(crate) use self::site::Site;
pub use self::test::{Attributes, TestSite, test, wants_color};
pub use crate::engine::config::InvalidSetting;

use self::outcome::FunctionBody;
use self::part::{Part, Ran};
use crate::engine::backend;
use crate::engine::config::{Config, Settings, idle_text};
use crate::engine::results::Results;
use crate::report::Report;

/// Runs a test body under many seeds, one run each.
///
/// Each setting has a default. The environment (`SIM_SEED` and others, see the README) overrides all settings.
///
/// ```
/// use sim::{Atomic, Ordering::SeqCst, Runner};
///
/// let report = Runner::new().seeds(0..100).run(async || {
///     let flag = Atomic::new(false);
///     flag.store(true, SeqCst).await;
///     assert!(flag.load(SeqCst).await);
/// });
/// assert!(report.passed());
/// ```
#[derive(Clone, Debug)]
pub struct Runner {
    settings: Settings,
    site: Site,
}

impl Default for Runner {
    #[track_caller]
    fn default() -> Runner {
        Runner::new()
    }
}

impl Runner {
    /// A runner with the defaults: 1000 seeds (100 on real threads), the portfolio, at most a
    /// million steps for each run, as many threads as there are cores.
    #[track_caller]
    pub fn new() -> Runner {
        let site = Site::of_program(Location::caller());
        Runner { settings: Settings::default(), site }
    }

    pub(crate) fn of_site(site: Site, settings: Settings) -> Runner {
        Runner { settings, site }
    }

    /// Runs `body` once for each seed until one fails, shrinks that run and reports.
    ///
    /// The lowest failing seed is reported, whatever the number of threads.
    ///
    /// # Panics
    /// If a setting cannot be used; the text names it, its value and its grammar.
    pub fn run<B, R>(&self, body: B) -> Report
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        match self.try_run(body) {
            Ok(report) => report,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// Like [`run`](Self::run).
    ///
    /// # Errors
    /// [`InvalidSetting`] if a setting, or a variable of the environment, cannot be used.
    pub fn try_run<B, R>(&self, body: B) -> Result<Report, InvalidSetting>
    where
        B: AsyncFn() -> R + Sync,
        R: TestResult,
    {
        Ok(self.try_run_body(&FunctionBody::new(body), false)?.report)
    }

    fn try_run_body(&self, body: &dyn TestBody, must_fail: bool) -> Result<Ran, InvalidSetting> {
        let (config, warnings) = self.config()?;
        let mut notes = self.idle()?;
        if config.borrows() {
            let (_, seeds) = config.seeds();
            notes.push(format!(
                "{} has no seed of its own in this shard, because there are {seeds} in all: it ran one of another \
                 shard, so that it does not pass without a run",
                self.site.test
            ));
        }
        let results = Results::open(&config, &self.site, must_fail)?;
        let mut report = backend::run(&config, &self.site, &results, body);
        let part = Part::of(&config, &results);
        if let Some(part) = part {
            part.spare_conditions(&mut report);
        }
        results.end(&mut report);
        report.warnings.splice(0..0, warnings);
        report.notes.extend(notes);
        Ok(Ran { report, part })
    }

    /// Notes about settings that mean nothing in this build.
    fn idle(&self) -> Result<Vec<String>, InvalidSetting> {
        if crate::seam::SIMULATED {
            return Ok(Vec::new());
        }
        let arguments: Vec<_> =
            self.settings.idle_on_threads().iter().map(|names| names.0).collect();
        let mut notes: Vec<String> = Vec::new();
        notes.extend(idle_text(&arguments).map(|text| format!("{}: {text}", self.site.test)));
        if !self.site.hermetic {
            let (environment, _) = Settings::from_environment(std::env::vars_os())?;
            let variables: Vec<_> =
                environment.idle_on_threads().iter().map(|names| names.1).collect();
            notes.extend(idle_text(&variables));
        }
        Ok(notes)
    }

    /// The settings of the run, and warnings about them.
    fn config(&self) -> Result<(Config, Vec<String>), InvalidSetting> {
        let mut warnings = Vec::new();
        let mut settings = self.settings.clone();
        if !self.site.hermetic {
            let (environment, unknown) = Settings::from_environment(std::env::vars_os())?;
            settings = settings.overridden_by(environment);
            warnings = unknown;
        }
        Ok((settings.resolve()?, warnings))
    }
}
