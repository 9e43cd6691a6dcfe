//! The recipes of `docs/scale.md`, run as they are written there.

use std::fs;
use std::process::Command;

use crate::child::{clean, folder, root};
use crate::shards::merge;

/// The text of the guide between two others.
fn recipe(after: &str, before: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/scale.md")).unwrap();
    let (_, rest) = guide.split_once(after).unwrap_or_else(|| panic!("no {after:?}"));
    rest.split_once(before).unwrap_or_else(|| panic!("no {before:?}")).0.to_owned()
}

/// Seeds of a test, or a search of one: the test, its strategy, the limit on the runs, and the verdict on three shards.
type Work = (&'static str, &'static str, &'static str, &'static str);

const SEEDS: Work = ("lost_update_of_another_test", "random", "90", "90 of 90 seeds, in 3 files");
const SEARCH: Work = (
    "many_runs::takes_many_runs",
    "exhaustive",
    "1000000",
    "proved   all 1,106 interleavings pass in 3 shares",
);

/// The uses of a recipe. The real build has no searches.
fn works() -> &'static [Work] {
    if sim::SIMULATED { &[SEEDS, SEARCH] } else { &[SEEDS] }
}

/// A shell that runs a script with a test of the fixture as the program of the recipe.
fn shell(script: &str, program: &str, (test, strategy, ..): Work) -> Command {
    let own = std::env::current_exe().unwrap();
    let test = format!("{} fixture::{test} --exact", own.display());
    assert!(script.contains(program), "{script}");
    let mut command = Command::new("sh");
    clean(&mut command);
    command.env("SIM_STRATEGY", strategy);
    command.args(["-c", &script.replace(program, &test)]).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

#[test]
fn an_indexed_job_of_kubernetes_adds_up() {
    for work in works() {
        let (_, strategy, runs, verdict) = *work;
        let folder = folder(&format!("kubernetes {strategy}"));
        let script = recipe("            - |\n", "          env:").replace("              ", "");
        let shard = |index: &str| {
            let mut command = shell(&script.replace("/64", "/3"), "/queue-tests", *work);
            command.env("JOB_COMPLETION_INDEX", index).env("SIM_SEEDS", runs);
            let (results, traces) = (folder.join("results"), folder.join("traces"));
            command.env("SIM_RESULTS", results).env("SIM_OUT", traces);
            command.output().unwrap().status.code()
        };
        for index in ["0", "1", "2"] {
            assert_eq!(shard(index), Some(0));
        }
        let (code, said) = merge(&[], &folder.join("results"));
        assert!(code == 0 && said.contains(verdict), "{code}: {said}");

        // A volume that cannot be written is not a failure of the test: the index is tried again.
        fs::remove_dir_all(folder.join("results")).unwrap();
        fs::write(folder.join("results"), "").unwrap();
        assert_eq!(shard("0"), Some(1));
    }
}

#[test]
fn an_array_of_slurm_adds_up() {
    for work in works() {
        let (_, strategy, runs, verdict) = *work;
        let folder = folder(&format!("slurm {strategy}"));
        let script = recipe("## Slurm: an array\n\n```sh\n", "```");
        for number in ["1", "2", "3"] {
            let script = script.replace("/64", "/3").replace("100000000", runs);
            let script = script.replace("$SLURM_ARRAY_TASK_ID/3", &format!("{number}/3"));
            let mut command = shell(&script, "./queue-tests", *work);
            command.env("SLURM_SUBMIT_DIR", &folder).env("SLURM_CPUS_PER_TASK", "1");
            assert!(command.output().unwrap().status.success());
        }
        let (code, said) = merge(&[], &folder.join("results"));
        assert!(code == 0 && said.contains(verdict), "{code}: {said}");
    }
}
