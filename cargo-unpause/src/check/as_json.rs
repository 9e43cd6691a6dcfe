//! The verdict on a recorded history as JSON, one object per line. docs/json.md describes it.

use serde_json::{Value, json};
use sim::check::Operation;
use sim::check::picture::Style;
use sim::check::verdict::{Anomaly, Edge, Limit, Verdict};
use unpause_histories::HistoryFinding;

/// Returns the finding for a file.
pub(super) fn finding(file: &str, finding: &HistoryFinding) -> Value {
    let style = Style::default();
    let operation = |(operation, lines): (&Operation<String, String>, &(u64, Option<u64>))| {
        let Operation { client, op, invoked, returned } = operation;
        json!({
            "client": client,
            "op": op,
            "invoked": invoked,
            "result": returned.as_ref().map(|(result, _)| result),
            "returned": returned.as_ref().map(|(_, time)| time),
            "lines": [lines.0, lines.1],
        })
    };
    let history = &finding.history;
    let operations = history.operations.iter().zip(&finding.lines).map(operation);
    json!({
        "format": "unpause check",
        "version": 1,
        "file": file,
        "error": null,
        "condition": finding.condition,
        "model": finding.model,
        "by_key": finding.by_key,
        "verdict": verdict(&finding.verdict),
        "clients": history.clients,
        "operations": operations.collect::<Vec<_>>(),
        "calls": finding.calls,
        "failed": finding.failed,
        "unanswered": finding.unanswered,
        "unchecked": finding.unchecked,
        "notes": finding.notes,
        "remark": history.remark,
        "screen": finding.text(file, &style).lines().collect::<Vec<_>>(),
    })
}

/// Returns the error for a file that could not be checked.
pub(super) fn error(file: &str, error: &str) -> Value {
    json!({"format": "unpause check", "version": 1, "file": file, "error": error})
}

/// Returns a verdict in the form that reports use.
fn verdict(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Consistent(witness) => {
            json!({"kind": "consistent", "engine": witness.engine, "order": witness.order})
        }
        Verdict::Violated(evidence) => json!({
            "kind": "violated",
            "engine": evidence.engine,
            "anomaly": evidence.anomaly.as_ref().map(anomaly),
            "partial": evidence.partial,
            "misfit": evidence.misfit,
            "expected": evidence.expected,
            "state": evidence.state,
            "part": evidence.part,
        }),
        Verdict::Unknown(exhausted) => json!({
            "kind": "unknown",
            "text": exhausted.to_string(),
            "nodes": exhausted.nodes,
            "longest": exhausted.longest,
            "operations": exhausted.operations,
            "limit": match exhausted.limit {
                Limit::Nodes => "nodes",
                Limit::Memory => "memory",
                Limit::Stop => "stop",
            },
        }),
    }
}

fn anomaly(anomaly: &Anomaly) -> Value {
    let edge = |Edge { from, to, why }: &Edge| json!({"from": from, "to": to, "why": why});
    let edges: Vec<Value> = anomaly.edges.iter().map(edge).collect();
    json!({"name": anomaly.name, "text": anomaly.text, "edges": edges})
}
