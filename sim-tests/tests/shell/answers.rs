//! The command line in a process of its own, and a failure on real threads.

/// `cargo unpause` with the arguments that the environment has, one a line. Its answer is in the files of a folder.
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
