//! The recipes of `docs/scale.md`, run as they are written there.

use std::fs;
use std::path::Path;
use std::process::Command;

use jsonschema::draft202012;
use serde_json::{Value as Json, json};
use yaml_rust2::{Yaml, YamlLoader};

use crate::child::{Ended, clean, folder, root, with_its_compiler};
use crate::shards::merge;

/// The text of the guide between two others.
fn recipe(after: &str, before: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/scale.md")).unwrap();
    let (_, rest) = guide.split_once(after).unwrap_or_else(|| panic!("no {after:?}"));
    rest.split_once(before).unwrap_or_else(|| panic!("no {before:?}")).0.to_owned()
}

/// The seeds of a test, or a search of a test.
struct Work {
    test: &'static str,
    is_search: bool,
    /// The value of `SIM_SEEDS`.
    seeds: &'static str,
    /// The verdict on `{}` shards.
    verdict: &'static str,
}

const SEEDS: Work = Work {
    test: "lost_update_of_another_test",
    is_search: false,
    seeds: "90",
    verdict: "90 of 90 seeds, in {} files",
};

const SEARCH: Work = Work {
    test: "many_runs::takes_many_runs",
    is_search: true,
    seeds: "1000000",
    verdict: "proved   all 1,106 interleavings pass in {} shares",
};

/// The uses of a recipe. The real build has no searches.
fn works() -> &'static [Work] {
    if sim::SIMULATED { &[SEEDS, SEARCH] } else { &[SEEDS] }
}

impl Work {
    fn folder(&self, name: &str) -> std::path::PathBuf {
        folder(&format!("{name} {}", if self.is_search { "search" } else { "seeds" }))
    }

    /// Enables the line for searches in a recipe if this work is a search.
    fn in_recipe(&self, recipe: String) -> String {
        let is_off = |line: &str| line.contains("SIM_STRATEGY") && line.trim().starts_with("# ");
        assert_eq!(recipe.lines().filter(|line| is_off(line)).count(), 1, "{recipe}");
        let enabled = |line: &str| match self.is_search && is_off(line) {
            true => line.replacen("# ", "", 1) + "\n",
            false => format!("{line}\n"),
        };
        recipe.lines().map(enabled).collect()
    }

    /// A shell that runs a script with the test as the program of the recipe.
    fn shell(&self, script: &str, program: &str) -> Command {
        let own = std::env::current_exe().unwrap();
        let test = format!("{} fixture::{} --exact", own.display(), self.test);
        assert!(script.contains(program), "{script}");
        let mut command = Command::new("sh");
        clean(&mut command);
        command.args(["-c", &script.replace(program, &test)]);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command
    }

    /// Checks the verdict on the results of all shards.
    #[track_caller]
    fn adds_up(&self, results: &Path, shards: usize) {
        let (code, said) = merge(&[], results);
        let verdict = self.verdict.replace("{}", &shards.to_string());
        assert!(code == 0 && said.contains(&verdict), "{verdict:?}, {code}: {said}");
    }
}

/// The YAML text as JSON.
fn from_yaml(text: &str) -> Json {
    let documents = YamlLoader::load_from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"));
    let [document] = &documents[..] else { panic!("{} documents: {text}", documents.len()) };
    as_json(document)
}

fn as_json(yaml: &Yaml) -> Json {
    match yaml {
        Yaml::String(text) => json!(text),
        Yaml::Integer(number) => json!(number),
        Yaml::Boolean(flag) => json!(flag),
        Yaml::Null => Json::Null,
        Yaml::Array(values) => values.iter().map(as_json).collect(),
        Yaml::Hash(entries) => {
            let entry = |(name, value): (&Yaml, &Yaml)| {
                (name.as_str().expect("a name").to_owned(), as_json(value))
            };
            Json::Object(entries.iter().map(entry).collect())
        }
        Yaml::Real(_) | Yaml::Alias(_) | Yaml::BadValue => panic!("not in JSON: {yaml:?}"),
    }
}

/// The text of a value in an environment.
fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The commands for nextest select tests of the fixture. They use the features of the workspace, like this program.
#[cfg_attr(feature = "sim", test)]
fn commands_of_nextest_add_up() {
    let there = Command::new("cargo").args(["nextest", "--version"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: cargo-nextest is not installed");
        return;
    }
    let run = |line: &str, folder: &Path, number: u32, tests: &[&str]| {
        let tests: Vec<String> =
            tests.iter().map(|test| format!("test(=fixture::{test})")).collect();
        let options = format!("--workspace --test shell --offline -E '{}'", tests.join(" + "));
        let mut script = line.to_owned();
        for (written, own) in [
            ("2/4", format!("{number}/2")),
            ("SIM_RESULTS=results", format!("SIM_RESULTS='{}'", folder.display())),
            ("--release", options),
        ] {
            assert_eq!(script.matches(written).count(), 1, "{written} in {script}");
            script = script.replace(written, &own);
        }
        let mut command = Command::new("sh");
        clean(&mut command);
        with_its_compiler(&mut command);
        // Variables of a surrounding nextest must not affect this process.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("NEXTEST") {
                command.env_remove(name);
            }
        }
        command.args(["-c", &script]).current_dir(root()).env("PWD", root());
        // A search keeps the limit of its test.
        if !line.contains("SIM_STRATEGY") {
            command.env("SIM_SEEDS", SEEDS.seeds);
        }
        let ended = Ended::of(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{script}: {ended}");
    };
    let section = recipe("## cargo-nextest\n", "\n## ");
    let block = section.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```"));
    let lines: Vec<&str> = block.expect("a block").0.lines().collect();
    let [seeds, tests, search] = lines[..] else { panic!("{lines:?}") };
    for (line, work) in [(seeds, SEEDS), (search, SEARCH)] {
        let folder = work.folder("nextest");
        (1..=2).for_each(|number| run(line, &folder, number, &[work.test]));
        work.adds_up(&folder, 2);
    }
    let folder = folder("nextest partitions");
    (1..=2).for_each(|number| run(tests, &folder, number, &[SEEDS.test, "does_nothing"]));
    let (code, said) = merge(&[], &folder);
    let both = said.matches("90 of 90 seeds, in 1 file\n").count() == 2;
    assert!(code == 0 && both, "{code}: {said}");
}

#[test]
fn a_matrix_adds_up() {
    for work in works() {
        let folder = work.folder("matrix");
        let text = work.in_recipe(recipe("## A matrix in CI\n", "\nThe traces"));
        let (_, text) = text.split_once("```yaml\n").unwrap();
        let workflow = from_yaml(text.split_once("```").unwrap().0);
        let step_of = |job: &str, program: &str| {
            let steps = workflow["jobs"][job]["steps"].as_array().unwrap().iter();
            let is_it =
                |step: &&Json| step["run"].as_str().is_some_and(|run| run.contains(program));
            steps.clone().find(is_it).unwrap_or_else(|| panic!("no {program}: {workflow}")).clone()
        };
        let step = step_of("explore", "nextest run");
        let (script, variables) = (step["run"].as_str().unwrap(), step["env"].as_object().unwrap());
        let shards = workflow["jobs"]["explore"]["strategy"]["matrix"]["shard"].as_array().unwrap();
        for shard in shards {
            let program = "cargo nextest run --archive-file tests.tar.zst --no-fail-fast";
            let mut command = work.shell(script, program);
            for (name, value) in variables {
                let value = text_of(value).replace("${{ matrix.shard }}", &text_of(shard));
                match &name[..] {
                    "SIM_SEEDS" => command.env(name, work.seeds),
                    "SIM_RESULTS" | "SIM_OUT" => command.env(name, folder.join(value)),
                    _ => command.env(name, value),
                };
            }
            let ended = Ended::of(command.output().unwrap());
            assert_eq!(ended.code, Some(0), "{ended}");
        }
        let merged = step_of("merge", "cargo unpause merge ");
        let (_, results) = merged["run"].as_str().unwrap().split_once("merge ").unwrap();
        work.adds_up(&folder.join(results), shards.len());
    }
}

/// The manifest for Kubernetes.
fn manifest(work: &Work) -> String {
    let rest = recipe("```yaml\napiVersion: batch/v1\n", "```");
    work.in_recipe(format!("apiVersion: batch/v1\n{rest}"))
}

#[test]
fn an_indexed_job_of_kubernetes_adds_up() {
    for work in works() {
        let folder = work.folder("kubernetes");
        let job = from_yaml(&manifest(work));
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["command"], json!(["sh", "-c"]));
        let script = container["args"][0].as_str().unwrap();
        let all = format!("/{}", job["spec"]["completions"]);
        assert_eq!(script.matches(&all).count(), 1, "{script}");
        let shard = |index: &str| {
            let mut command = work.shell(&script.replace(&all, "/3"), "/queue-tests");
            for variable in container["env"].as_array().unwrap() {
                let (name, value) = (text_of(&variable["name"]), text_of(&variable["value"]));
                command.env(name, value);
            }
            command.env("JOB_COMPLETION_INDEX", index).env("SIM_SEEDS", work.seeds);
            let (results, traces) = (folder.join("results"), folder.join("traces"));
            command.env("SIM_RESULTS", results).env("SIM_OUT", traces);
            command.output().unwrap().status.code()
        };
        for index in ["0", "1", "2"] {
            assert_eq!(shard(index), Some(0));
        }
        work.adds_up(&folder.join("results"), 3);

        // A volume that cannot be written is not a failure of the test: the index is tried again.
        fs::remove_dir_all(folder.join("results")).unwrap();
        fs::write(folder.join("results"), "").unwrap();
        assert_eq!(shard("0"), Some(1));
    }
}

#[test]
fn the_job_of_kubernetes_is_valid_and_a_mistake_is_not() {
    let schema: Json = serde_json::from_str(include_str!("kubernetes-job.schema.json")).unwrap();
    assert!(draft202012::meta::is_valid(&schema));
    let validator = draft202012::new(&schema).unwrap();
    for work in [SEEDS, SEARCH] {
        let job = from_yaml(&manifest(&work));
        let errors: Vec<String> =
            validator.iter_errors(&job).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
    let right = manifest(&SEEDS);
    for (what, with) in [
        ("apiVersion: batch/v1", "apiVersion: v1"),
        ("name: explore\nspec", "name: Explore\nspec"),
        ("completions: 64", "completion: 64"),
        ("completions: 64", "completions: \"64\""),
        ("completionMode: Indexed", "completionMode: NonIndexed"),
        ("  backoffLimitPerIndex: 5\n", ""),
        ("action: FailIndex", "action: Fail"),
        ("operator: In,", "operator: Within,"),
        ("values: [101]", "values: [0]"),
        (", status: \"True\"", ""),
        ("restartPolicy: Never", "restartPolicy: OnFailure"),
        ("      restartPolicy: Never\n", ""),
        ("command: [sh, -c]", "command: sh -c"),
        ("value: \"100000000\"", "value: 100000000"),
        ("name: SIM_OUT, ", ""),
        ("mountPath: /data", "path: /data"),
        ("claimName: explore", "claim: explore"),
    ] {
        let wrong = right.replacen(what, with, 1);
        assert_ne!(wrong, right, "{what}");
        assert!(!validator.is_valid(&from_yaml(&wrong)), "{what:?} as {with:?} is accepted");
    }
}

#[test]
fn an_array_of_slurm_adds_up() {
    for work in works() {
        let folder = work.folder("slurm");
        let script = work.in_recipe(recipe("## Slurm: an array\n\n```sh\n", "```"));
        for number in ["1", "2", "3"] {
            let script = script.replace("/64", "/3").replace("100000000", work.seeds);
            let script = script.replace("$SLURM_ARRAY_TASK_ID/3", &format!("{number}/3"));
            let mut command = work.shell(&script, "./queue-tests");
            command.env("SLURM_SUBMIT_DIR", &folder).env("SLURM_CPUS_PER_TASK", "1");
            assert!(command.output().unwrap().status.success());
        }
        work.adds_up(&folder.join("results"), 3);
    }
}
