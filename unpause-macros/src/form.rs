//! Examples of the arguments, for error messages.

/// Returns an example of the argument.
pub(crate) fn form(name: &str) -> &'static str {
    match name {
        "seeds" => "`seeds = 1000`",
        "seed" => "`seed = 7`",
        "strategy" => "`strategy = \"random\"`",
        "max_steps" => "`max_steps = 10000`",
        "time" => "`time = \"5s\"`",
        "hang" => "`hang = \"30s\"`",
        "limit" => "`limit = \"5m\"`",
        "replay" => "`replay = \"file.simtrace\"`",
        "crate" => "`crate = path::to::sim`",
        "coverage" => "`coverage`",
        "closure" => "`closure`",
        "prove" => "`prove = 100000`",
        "why" => "`why = 1000`",
        "must_prove" => "`must_prove, strategy = \"exhaustive\"`",
        "statistics" => "`statistics`",
        "native" => "`native`",
        "leaks" => "`native, leaks`",
        "races" => "`native, races`",
        "clock" => "`clock = \"any\"`",
        "cancel" => "`cancel = \"worker-*\"`",
        "cancel_selects" => "`cancel_selects`",
        "buggify" => "`buggify`",
        "progress" => "`progress = \"lock-free\"`",
        "points" => "`native, points = \"all\"`",
        "arc" => "`native, arc`",
        "chances" => "`native, chances = \"timers, spurious\"`",
        "isolate" => "`native, isolate = \"process\"`",
        "memory" => "`memory = \"c11\"`",
        _ => "`must_fail = \"deadlock\"`",
    }
}
