//! The engine: runs a test many times and reports the outcome.
//!
//! [`Runner`](runner::Runner) is the entry point in both builds. It resolves the [settings](config), opens the
//! [results] of earlier processes and passes the seeds to the backend of the build. The backend `simulate` explores
//! interleavings, shrinks failures and proves properties; `stress` runs the same body on real threads. All code that
//! uses clocks, files, the environment or the process is in this folder.

mod assignment;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
mod config;
mod live;
mod patience;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
mod persistence;
pub(crate) mod results;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
pub mod runner;
mod seeds;
#[cfg(all(feature = "sim", not(sim_real)))]
mod simulate;
#[cfg(not(all(feature = "sim", not(sim_real))))]
mod stress;
#[cfg_attr(not(all(feature = "sim", not(sim_real))), allow(dead_code))]
mod underway;

#[cfg(all(feature = "sim", not(sim_real)))]
use simulate as backend;
#[cfg(not(all(feature = "sim", not(sim_real))))]
use stress as backend;

/// Returns the error of the first setting variable with an invalid value, if any.
pub(crate) fn invalid_setting(
    variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> Option<String> {
    config::Settings::from_environment(variables).err().map(|invalid| invalid.to_string())
}

/// Returns the environment variable of a setting.
pub(crate) fn variable_of(setting: &str) -> Option<&'static str> {
    config::SETTINGS.iter().find(|row| row.name == setting).map(|row| row.variable)
}

/// Returns the folder name of a test with this name, in which the test has its traces.
pub(crate) fn folder_name(test: &str) -> String {
    persistence::folder_name(test)
}

/// Returns the warning about a variable that has the prefix of settings but names no setting.
pub(crate) fn unknown_setting(variable: &str) -> Option<String> {
    let is_known = config::SETTINGS.iter().any(|row| row.variable == variable);
    (!is_known).then(|| config::unknown(variable))
}
