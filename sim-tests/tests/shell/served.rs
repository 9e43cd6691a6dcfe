//! `cargo unpause serve` with a client, and `cargo unpause play` with answers: both run the fixture's tests.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::child::{child, folder};
use crate::failures::{calls_the_fixture, fake_cargo};

/// A client of the server.
struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    /// Starts the server with a Cargo that runs this program.
    fn start(name: &str) -> Client {
        let started = child("answers::the_command").env("UNPAUSE_ARGUMENTS", "serve");
        let started = started.env("UNPAUSE_ANSWER", folder(name));
        let mut command = started.into_command();
        calls_the_fixture(&mut command, &fake_cargo(&format!("{name}-cargo")));
        command.env("SIM_OUT", folder(&format!("{name}-out")));
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = piped.spawn().unwrap();
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut client = Client { server, input, output, next: 1 };
        let hello = client.request("initialize", &json!({"protocolVersion": "2025-06-18"}));
        assert_eq!(hello["result"]["serverInfo"]["name"], "unpause");
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    /// Sends a request and does not wait for the answer.
    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message of the server. Other lines come from the harness.
    fn read(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
            if let Some(at) = line.find("{\"") {
                return serde_json::from_str(&line[at..]).unwrap();
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The answer of a verb, which is written twice: as text and as data.
    #[track_caller]
    fn call(&mut self, verb: &str, arguments: &Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": verb, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 24_000, "{verb}: {} bytes", text.len());
        let data = &result["structuredContent"];
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), data);
        assert_eq!(result["isError"], data["error"].is_string(), "{answer}");
        data.clone()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.server.wait();
    }
}

fn of_the_fixture(test: &str) -> Value {
    json!({"test": format!("fixture::{test}"), "package": "sim-tests", "target": "test:shell"})
}

#[cfg_attr(feature = "sim", test)]
fn a_failure_is_found_explained_replayed_and_stepped() {
    let mut client = Client::start("served");
    let found = client.call("test", &of_the_fixture("deadlocks"));
    assert_eq!(found["failed"].as_array().map(Vec::len), Some(1), "{found}");
    let failed = &found["failed"][0];
    assert_eq!(
        (&failed["kind"], &failed["filter"]),
        (&json!("deadlock"), &json!("fixture::deadlocks"))
    );
    assert!(failed["deadlock"][0]["place"]["source"].is_string(), "{failed}");
    assert!(failed["remedy"]["tested"].as_str().unwrap().starts_with("proved"), "{failed}");
    let file = failed["file"].as_str().unwrap().to_owned();
    assert!(PathBuf::from(&file).is_file(), "{file}");
    let still_there = client.call("test", &of_the_fixture("deadlocks"));
    assert_eq!(still_there["failed"][0]["file"], file, "{still_there}");

    let shown = client.call("show", &json!({"file": file}));
    assert!(shown["screen"].as_str().unwrap().contains("── schedule"), "{shown}");
    let steps = client.call("show", &json!({"file": file, "task": "0.0"}));
    let count = steps["step_count"].as_u64().unwrap();
    assert!(steps["steps"].as_array().unwrap().len() > 1, "{steps}");
    let why = client.call("why", &json!({"file": file}));
    assert_eq!((&why["cause"], &why["remedy"]), (&failed["cause"], &failed["remedy"]));
    let passing = &why["passing"];
    assert_eq!(passing["steps"][0]["step"], passing["first_difference"], "{why}");
    assert!(passing["first_difference"].as_u64().is_some_and(|step| step < count), "{why}");
    assert!(passing["replay"].as_str().unwrap().contains("SIM_REPLAY="), "{why}");
    let state = client.call("state_at", &json!({"file": file, "step": count - 1}));
    assert!(!state["objects"].as_array().unwrap().is_empty(), "{state}");
    let same = client.call("diverges_from", &json!({"file": file, "other": file}));
    assert_eq!(same["equal"], true);

    let again = client.call("replay", &json!({"file": file}));
    assert_eq!(
        (&again["same_failure"], &again["passed"]),
        (&json!(true), &json!(false)),
        "{again}"
    );

    // The failing run, step by step: each prefix can be continued by the task of the failing run.
    let trace = failed["replay"].as_str().unwrap();
    let trace = trace.split("SIM_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
    let whole = client.call("step", &json!({"file": file, "choices": trace}));
    assert_eq!((&whole["has_ended"], &whole["steps"]), (&json!(true), &json!(count)), "{whole}");
    assert!(whole["failure"].as_str().unwrap().starts_with("deadlock"), "{whole}");
    let start = client.call("step", &json!({"file": file}));
    assert_eq!(start["enabled"][0]["task"], "0", "{start}");
    assert_eq!((&start["steps"], &start["has_ended"]), (&json!(0), &json!(false)));
    let wrong = client.call("step", &json!({"file": file, "choices": "0,0.7"}));
    let wrong = wrong["error"].as_str().unwrap();
    assert!(wrong.contains("at step 1 the trace has a step of 0.7"), "{wrong}");
}

#[cfg_attr(feature = "sim", test)]
fn a_proof_is_one_only_if_all_was_explored() {
    let mut client = Client::start("proving");
    let proof = client.call("prove", &of_the_fixture("proves"));
    assert_eq!(
        (&proof["proved"], &proof["passed"][0]["proved"]),
        (&json!(true), &json!(true)),
        "{proof}"
    );
    let failed = client.call("prove", &of_the_fixture("deadlocks"));
    assert_eq!(
        (&failed["proved"], &failed["failed"][0]["kind"]),
        (&json!(false), &json!("deadlock"))
    );
    let mut few = of_the_fixture("proves");
    few["settings"] = json!({"seeds": 2});
    let few = client.call("prove", &few);
    assert_eq!(few["proved"], false, "{few}");
    let none = client.call("test", &of_the_fixture("no_such_test"));
    assert!(none["hint"].as_str().unwrap().contains("no test of unpause has run"), "{none}");
}

#[cfg_attr(feature = "sim", test)]
fn wrong_arguments_are_errors_with_a_remedy() {
    let mut client = Client::start("wrong");
    for (verb, arguments, said) in [
        ("test", json!({"tset": "x"}), "did you mean `test`?"),
        ("test", json!({"test": 7}), "`test` is 7, but should be a text"),
        ("test", json!({"test": "--config"}), "which is no name"),
        ("test", json!({"target": "queue"}), "should be lib, test:NAME"),
        ("test", json!({"settings": {"sedes": 3}}), "SIM_SEEDS"),
        ("show", json!({}), "`file` is missing"),
        ("show", json!({"file": "no/such.simtrace"}), "there is no file no/such.simtrace"),
        ("step", json!({}), "which test?"),
        ("step", json!({"test": "x", "choices": "main"}), "is no step"),
        ("prove", json!({"strategy": "exhaustiv"}), "exhaustive"),
    ] {
        let answer = client.call(verb, &arguments);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains(said), "{verb} {arguments}: {answer}");
    }
}

/// The server answers while a test runs, which ends when it is cancelled, and has no answer then.
#[cfg_attr(feature = "sim", test)]
fn a_call_that_is_cancelled_ends() {
    let mut client = Client::start("cancelled");
    let mut arguments = of_the_fixture("takes_its_time");
    arguments["settings"] = json!({"seeds": 100_000_000});
    let id = client.ask("tools/call", &json!({"name": "test", "arguments": arguments}));
    let pong = client.request("ping", &json!({}));
    assert_eq!(pong["result"], json!({}));
    let cancelled = json!({"requestId": id, "reason": "too long"});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    let next = client.call("test", &of_the_fixture("does_nothing"));
    assert_eq!(next["exit_code"], 0, "{next}");
}

/// The answers of a user: tasks, an undo, an invalid name, the end.
#[cfg_attr(feature = "sim", test)]
fn the_user_chooses_each_step_and_can_undo_it() {
    let play = |arguments: &str, answers: &str| {
        let answer = folder("played");
        let started = child("answers::the_command").env("UNPAUSE_ANSWER", &answer);
        let arguments = format!("play\n-p\nsim-tests\n--test\nshell\n{arguments}");
        let mut command = started.env("UNPAUSE_ARGUMENTS", arguments).into_command();
        calls_the_fixture(&mut command, &fake_cargo("played-cargo"));
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut started = command.spawn().unwrap();
        started.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        started.wait().unwrap();
        let read = |name: &str| std::fs::read_to_string(answer.join(name)).unwrap();
        (read("code"), read("output"), read("errors"))
    };
    let (code, output, errors) = play("fixture::deadlocks", "\nu\n\n0.9\nq\n");
    assert_eq!(code, "0", "{output}{errors}");
    assert!(output.contains("\"0.9\" cannot step (there is: "), "{output}");
    assert!(
        output.contains("after 0 steps") && output.ends_with("SIM_REPLAY=sim2:0\n"),
        "{output}"
    );
    // The whole failing run, and one step less.
    let replay = child("deadlocks").fails().after("replay:");
    let trace = replay.split("SIM_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
    let arguments = format!("fixture::deadlocks\n--choices\n{trace}");
    let (code, output, _) = play(&arguments, "");
    assert!(code == "1" && output.contains("FAILED  deadlock"), "{output}");
    assert!(output.ends_with(&format!("SIM_REPLAY={trace}\n")), "{output}");
    let (code, output, _) = play(&arguments, "u\nq\n");
    let (_, after_undo) = output.split_once("FAILED  deadlock").unwrap();
    assert!(code == "0" && after_undo.contains("can step"), "{output}");
    let (code, _, errors) = play("--cohices", "");
    assert!(code == "2" && errors.contains("did you mean `--choices`?"), "{errors}");
}
