//! The server without tests to run: protocol, arguments, and failures in files.

use std::sync::Mutex;

use serde_json::{Value as Json, json};

use super::serve;

/// The answers to these messages, by id.
fn answers(messages: &[Json]) -> Vec<Json> {
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let written = Mutex::new(String::new());
    serve(input.as_bytes(), |line| {
        written.lock().unwrap().push_str(line);
        true
    });
    let written = written.into_inner().unwrap();
    written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(id: u64, method: &str, params: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_client_says_hello_and_reads_the_verbs() {
    let answers = answers(&[
        request(1, "initialize", json!({"protocolVersion": "2025-03-26", "capabilities": {}})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request(2, "ping", json!({})),
        request(3, "tools/list", json!({})),
    ]);
    assert_eq!(answers.len(), 3, "a notification has no answer");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(answers[1]["result"], json!({}));
    let tools = answers[2]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["test", "replay", "show", "state_at", "why", "diverges_from", "step", "prove", "keep"]
    );
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        for required in schema["required"].as_array().unwrap() {
            assert!(schema["properties"][required.as_str().unwrap()].is_object(), "{tool}");
        }
    }
}

#[test]
fn an_unknown_version_is_answered_by_the_newest() {
    let answers = answers(&[request(1, "initialize", json!({"protocolVersion": "1999-01-01"}))]);
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn wrong_messages_have_errors_of_the_protocol() {
    let answers = answers(&[
        json!([1]),
        request(1, "tools/call", json!({"name": "tset"})),
        request(2, "resources/list", json!({})),
        request(3, "tools/call", json!({"name": "show", "arguments": 7})),
        json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
    ]);
    let codes: Vec<i64> =
        answers.iter().map(|answer| answer["error"]["code"].as_i64().unwrap()).collect();
    assert_eq!(codes, [-32_600, -32_602, -32_601, -32_602]);
    assert!(answers[1]["error"]["message"].as_str().unwrap().contains("diverges_from"));
    assert_eq!(answers[3]["id"], 3);
}

#[test]
fn a_line_that_is_no_json_does_not_end_the_server() {
    let written = Mutex::new(Vec::new());
    let input = format!("{{\"jsonrpc\"\n\n{}\n", request(1, "ping", json!({})));
    serve(input.as_bytes(), |line| {
        written.lock().unwrap().push(line.to_owned());
        true
    });
    let written = written.into_inner().unwrap();
    assert!(written[0].contains("-32700") && written[1].contains("\"id\":1"), "{written:?}");
}
