//! The Model Context Protocol: JSON-RPC 2.0, one message per line. This module implements the part for tools; each verb
//! is a tool. See the specification of 2025-06-18, "Lifecycle" and "Tools".
//!
//! The crate `rmcp` is not used, because it needs a newer compiler than the other packages, and a tokio runtime in the
//! command.

use serde_json::{Map, Value as Json, json};

use super::bounded::bounded;
use super::verbs::{VERBS, Verb};
use crate::Usage;
use crate::rerun::Stop;

/// The supported protocol versions, newest first. The versions do not differ in the part for tools.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The JSON-RPC error codes.
mod code {
    pub(super) const PARSE: i32 = -32_700;
    pub(super) const REQUEST: i32 = -32_600;
    pub(super) const METHOD: i32 = -32_601;
    pub(super) const PARAMS: i32 = -32_602;
}

/// A message from the client.
pub(super) enum Incoming {
    /// A message with this immediate reply, or without any reply.
    Answered(Option<Json>),
    /// A cancellation of the call with this id.
    Cancelled(Json),
    /// A call of a verb, with the id for its reply.
    Call(Json, Call),
}

/// A call of a verb.
pub(super) struct Call {
    verb: &'static Verb,
    arguments: Map<String, Json>,
}

impl Call {
    /// Runs the call and returns its result in the form of the protocol. An error is also a result, because the
    /// assistant reads it.
    pub(super) fn answer(self, stop: &Stop) -> Json {
        let ended = self.verb.call(self.arguments, stop);
        let (value, is_error) = match ended {
            Ok(value) => (bounded(value), false),
            Err(Usage(text)) => (bounded(json!({"error": text})), true),
        };
        json!({
            "content": [{"type": "text", "text": value.to_string()}],
            "structuredContent": value,
            "isError": is_error,
        })
    }
}

/// Reads a message.
pub(super) fn read(line: &str) -> Incoming {
    let answered = |message| Incoming::Answered(Some(message));
    let message: Json = match serde_json::from_str(line) {
        Ok(message) => message,
        Err(wrong) => {
            return answered(error(&Json::Null, code::PARSE, &format!("no JSON: {wrong}")));
        }
    };
    let method = message.get("method").and_then(Json::as_str);
    let (Some(method), true) = (method, message.get("jsonrpc") == Some(&json!("2.0"))) else {
        // A response is ignored, because this server never sends requests.
        let is_answer = message.get("result").is_some() || message.get("error").is_some();
        let wrong = error(&Json::Null, code::REQUEST, "no request of JSON-RPC 2.0");
        return Incoming::Answered((!is_answer).then_some(wrong));
    };
    let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
    let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_number()) else {
        // A notification gets no reply.
        return match (method, params.get("requestId")) {
            ("notifications/cancelled", Some(id)) => Incoming::Cancelled(id.clone()),
            _ => Incoming::Answered(None),
        };
    };
    match method {
        "initialize" => answered(result(id, hello(&params))),
        "ping" => answered(result(id, json!({}))),
        "tools/list" => {
            let tools: Vec<Json> = VERBS.iter().map(Verb::described).collect();
            answered(result(id, json!({"tools": tools})))
        }
        "tools/call" => {
            let name = params.get("name").and_then(Json::as_str).unwrap_or_default();
            let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
                let names: Vec<&str> = VERBS.iter().map(|verb| verb.name).collect();
                let text = format!("there is no verb {name:?} (there is: {})", names.join(", "));
                return answered(error(id, code::PARAMS, &text));
            };
            match params.get("arguments") {
                None | Some(Json::Null) => {
                    Incoming::Call(id.clone(), Call { verb, arguments: Map::new() })
                }
                Some(Json::Object(arguments)) => {
                    Incoming::Call(id.clone(), Call { verb, arguments: arguments.clone() })
                }
                Some(_) => answered(error(id, code::PARAMS, "`arguments` is no object")),
            }
        }
        other => answered(error(id, code::METHOD, &format!("there is no method {other:?} here"))),
    }
}

/// Returns the reply to the first message, with the client's protocol version if it is supported.
fn hello(params: &Json) -> Json {
    let wanted = params.get("protocolVersion").and_then(Json::as_str);
    let version = wanted.filter(|wanted| VERSIONS.contains(wanted)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "unpause", "version": env!("CARGO_PKG_VERSION")},
        "instructions": "Tests of concurrent Rust under a scheduler that replays. Call `test` first. A failure has `cause` \
            and `remedy`, which other runs have tested, and a `file` for `show`, `state_at`, `why`, `replay`, `step` and \
            `keep`. After a fix, `replay` must pass, and `prove` says whether all interleavings do.",
    })
}

/// Returns the reply to a request.
pub(super) fn result(id: &Json, result: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn error(id: &Json, code: i32, message: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
