//! Runs the command line in a separate process, and produces a failure on real threads.

/// Runs `cargo unpause` with the arguments from the environment, one per line. The answer is written to files in a
/// folder.
#[test]
fn the_command() {
    let Ok(arguments) = std::env::var("UNPAUSE_ARGUMENTS") else { return };
    let folder = std::path::PathBuf::from(std::env::var_os("UNPAUSE_ANSWER").unwrap());
    let mut terminal = cargo_unpause::Terminal::silent();
    let code = cargo_unpause::run(arguments.lines().map(Into::into).collect(), &mut terminal);
    std::fs::create_dir_all(&folder).unwrap();
    let answers = [
        ("code", code.to_string()),
        ("output", terminal.output().into()),
        ("errors", terminal.errors().into()),
    ];
    for (name, text) in answers {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// Fails in the build with real threads only.
#[sim::test(seeds = 3)]
async fn fails_on_real_threads() {
    let is_on = std::env::var_os("UNPAUSE_FIXTURE").is_some() && !sim::SIMULATED;
    assert!(!is_on, "real threads");
}
