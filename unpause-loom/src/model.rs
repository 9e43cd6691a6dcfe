//! Models: loom's `model` and its `Builder`.

use std::env;
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use unpause_model::Model;

/// The default of [`Builder::max_branches`] in loom.
const BRANCHES: usize = 1_000;
/// The largest bound of unpause's search with a bound on preemptions.
const MOST_PREEMPTIONS: usize = 8;
/// The time limit of the search if the model sets none.
const SEARCH: &str = "SIM_TIME=10s";

/// Runs the search of a model.
///
/// # Panics
/// If a run fails.
pub fn model<F>(body: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(body);
}

/// A model with settings. loom's environment variables also set them. unpause's environment variables, such as
/// `SIM_STRATEGY`, take precedence.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// loom's limit on the number of threads. This crate has no limit.
    pub max_threads: usize,
    /// The step limit of a run. loom's default value of 1,000 selects unpause's default.
    pub max_branches: usize,
    /// The maximum number of runs: `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// The time limit of the search: `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// The maximum number of preemptions in a run: `LOOM_MAX_PREEMPTIONS`. A number above 8 has no effect.
    pub preemption_bound: Option<usize>,
    /// loom's checkpoint file. A search does not use it, and a note says so.
    pub checkpoint_file: Option<PathBuf>,
    /// Has no effect, because there are no checkpoints.
    pub checkpoint_interval: usize,
    /// Has no effect, because the whole model is always searched.
    pub expect_explicit_explore: bool,
    /// Has no effect, because source places are always shown.
    pub location: bool,
    /// Has no effect, because a failure always shows its run.
    pub log: bool,
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// Creates a model with the settings from the environment.
    ///
    /// # Panics
    /// If an environment variable of loom is not a number.
    pub fn new() -> Builder {
        Builder {
            max_threads: crate::MAX_THREADS,
            max_branches: number("LOOM_MAX_BRANCHES").unwrap_or(BRANCHES),
            max_permutations: number("LOOM_MAX_PERMUTATIONS"),
            max_duration: number("LOOM_MAX_DURATION")
                .map(|seconds| Duration::from_secs(seconds as u64)),
            preemption_bound: number("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: env::var_os("LOOM_CHECKPOINT_FILE").map(PathBuf::from),
            checkpoint_interval: number("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: false,
            log: false,
        }
    }

    /// Sets the checkpoint file.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Runs the search of the model.
    ///
    /// # Panics
    /// If a run fails.
    pub fn check<F>(&self, body: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        if let Some(file) = &self.checkpoint_file {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                eprintln!(
                    "note: loom's checkpoint {} is neither read nor written: a failure is replayed by its trace file, \
                     which the screen names",
                    file.display()
                );
            });
        }
        Model { plan: &self.plan(), tool: "unpause-loom" }.check(move || {
            body();
            crate::lazy_static::shut_down();
        });
    }

    /// Returns the settings of the phases: a search, runs of the default strategy if the search was too long, and runs
    /// with weak memory orders.
    fn plan(&self) -> String {
        let strategy = match self.preemption_bound {
            Some(bound @ ..=MOST_PREEMPTIONS) => format!("preemptions:{bound}"),
            // The search of the whole model contains each larger bound.
            _ => "exhaustive".to_owned(),
        };
        let time = match self.max_duration {
            // The setting cannot express a longer time, such as `Duration::MAX`.
            Some(time) => format!("SIM_TIME={}ms", time.as_millis().clamp(1, u64::MAX.into())),
            None => SEARCH.to_owned(),
        };
        let runs = self
            .max_permutations
            .map_or(String::new(), |runs| format!(" SIM_SEEDS={}", runs.max(1)));
        let steps = match self.max_branches {
            BRANCHES => String::new(),
            steps => format!(" SIM_STEPS={}", steps.clamp(1, u32::MAX as usize)),
        };
        format!(
            "SIM_STRATEGY={strategy} {time}{runs}{steps}\n\
             unproved SIM_SEEDS=1000 SIM_TIME=5s{steps}\n\
             weak SIM_MEMORY=c11 SIM_SEEDS=1000 SIM_TIME=5s{steps}\n"
        )
    }
}

/// Returns the value of one of loom's environment variables.
fn number(variable: &str) -> Option<usize> {
    let value = env::var_os(variable)?;
    let number = value.to_str().and_then(|text| text.trim().parse().ok());
    Some(number.unwrap_or_else(|| panic!("{variable} must be a number, and is {value:?}")))
}
