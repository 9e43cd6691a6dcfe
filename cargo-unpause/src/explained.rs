//! The explanation of a failure as self-contained data: operations with their tasks, places and source lines. The
//! report itself refers to tasks and places by number.

use serde_json::{Value as Json, json};

use crate::document::{
    Document, Event, Object, Order, PassingRun, PlaceIndex, Region, Remedy, Run,
};

/// The maximum number of steps of the nearest passing run.
const PASSING_MAX: usize = 10;

/// Returns a place in the source, with its line.
pub(crate) fn place(report: &Document, place: PlaceIndex) -> Json {
    report
        .place(place)
        .map_or(Json::Null, |place| json!({"at": place.text, "source": place.source}))
}

/// Returns an operation with its task and place.
pub(crate) fn event(report: &Document, run: &Run, event: &Event) -> Json {
    json!({
        "step": event.step,
        "task": shown(run, event.task),
        "operation": event.text,
        "place": place(report, event.place),
    })
}

/// The state of an object after a step.
pub(crate) struct Held<'a> {
    pub(crate) object: &'a Object,
    /// The value of the object, if its operations have values.
    pub(crate) value: Option<&'a str>,
    /// The last operation on the object.
    pub(crate) last: &'a Event,
    /// The last operation that changed the object.
    pub(crate) last_change: Option<&'a Event>,
}

/// Returns the objects used by the operations up to the step.
pub(crate) fn held_after(run: &Run, step: u64) -> Vec<Held<'_>> {
    let before = &run.events[..run.events.partition_point(|event| event.step <= step)];
    // Like screens, this function leaves quiet operations out.
    let held = |(at, object): (usize, _)| {
        let of = || {
            before.iter().rev().filter(move |event| event.object == Some(at as u64) && !event.quiet)
        };
        let last = of().next()?;
        let bits = of().find_map(|event| {
            let values = event.values.as_ref()?;
            values.left.0.as_ref().or(values.saw.0.as_ref())
        });
        let value = bits.map(|bits| &bits.text[..]);
        Some(Held { object, value, last, last_change: of().find(|event| event.changes) })
    };
    run.objects.iter().enumerate().filter_map(held).collect()
}

fn shown(run: &Run, task: u64) -> Option<&str> {
    let at = usize::try_from(task).ok()?;
    run.tasks.get(at).map(|task| &task.shown[..])
}

/// Returns the runs that tested a remedy. None of these runs failed. If the runs were sampled, the result also has the
/// runs `without` the remedy.
fn tested(remedy: &Remedy) -> Json {
    let Remedy { kind, interleavings, preemptions, runs, of, failed, .. } = remedy;
    let (tested, without) = match &kind[..] {
        "all" if order_of(remedy).is_some() => {
            ("proved: all interleavings that keep this order pass", Json::Null)
        }
        "all" => (
            "proved: all interleavings of the program with these lines as one step pass",
            Json::Null,
        ),
        "within" => ("all interleavings with at most so many preemptions pass", Json::Null),
        _ => (
            "sampled: so many runs like the failing run pass, of the program with these lines as one step",
            json!({"runs": of, "failed": failed}),
        ),
    };
    json!({
        "tested": tested,
        "interleavings": interleavings,
        "preemptions": preemptions,
        "runs": runs,
        "without": without,
    })
}

/// Returns the order that a remedy consists of, if any.
fn order_of(remedy: &Remedy) -> Option<&Order> {
    remedy.order.0.as_ref().and_then(Option::as_ref)
}

/// Returns the nearest passing run, from its first step that differs from the failing run.
fn passing(report: &Document, passing: &PassingRun) -> Json {
    let steps = passing.steps.iter().take(PASSING_MAX).map(|step| {
        let operations = step.operations.iter().map(|operation| {
            json!({"operation": operation.text, "place": place(report, operation.place)})
        });
        json!({"step": step.step, "task": step.task, "operations": operations.collect::<Vec<_>>()})
    });
    json!({
        "first_difference": passing.common,
        "steps": steps.collect::<Vec<_>>(),
        "step_count": passing.step_count,
        "replay": passing.replay,
    })
}

/// Returns the failure of a report, with the cause, the remedy and the nearest passing run if known.
pub(crate) fn explained(report: &Document) -> Json {
    let Some(finding) = &report.finding else {
        return json!({"test": report.test, "failure": null});
    };
    let run = &finding.run;
    let failure = finding.failure.as_ref();
    let why = finding.why.as_ref();
    let operation = |op: &str, at| json!({"operation": op, "place": place(report, at)});
    let region = |region: &Region| {
        json!({
            "from": operation(&region.from_op, region.from),
            "to": operation(&region.to_op, region.to),
        })
    };
    let cause = why.and_then(|why| why.cause.as_ref()).map(|cause| {
        let by: Vec<Json> =
            cause.decisive_events(run).map(|found| event(report, run, found)).collect();
        json!({
            "interrupted": shown(run, cause.task),
            "within": region(&cause.region),
            "more": cause.between.len().saturating_sub(by.len()),
            "by": by,
        })
    });
    let remedy = why.and_then(|why| why.remedy.as_ref()).map(|remedy| {
        let mut value = tested(remedy);
        match order_of(remedy) {
            Some(Order { early_op, early, late_op, late, times }) => {
                value["order"] = json!({
                    "first": operation(early_op, *early),
                    "times": times,
                    "then": operation(late_op, *late),
                });
            }
            None => value["as_one_step"] = remedy.regions.iter().map(region).collect(),
        }
        value
    });
    let no_return = why.and_then(|why| why.no_return.as_ref());
    let passing = why.and_then(|why| why.passing.0.as_ref()?.as_ref());
    let passing = passing.map(|passing| self::passing(report, passing));
    let waits = failure.and_then(|failure| failure.deadlock.0.as_ref());
    let waits = waits.map(|deadlock| {
        let wait = |wait: &crate::document::Wait| {
            let holder = wait.holder.as_ref().map(|holder| {
                json!({"task": shown(run, holder.task), "since": place(report, holder.place)})
            });
            json!({
                "task": shown(run, wait.task),
                "waits": wait.text,
                "place": place(report, wait.place),
                "holder": holder,
            })
        };
        deadlock.waits.iter().map(wait).collect::<Vec<_>>()
    });
    let panic = failure.and_then(|failure| failure.panic.0.as_ref());
    json!({
        "test": report.test,
        "failure": failure.map(|failure| failure.text.clone()),
        "kind": failure.map(|failure| failure.kind.clone()),
        "at": panic.map(|panic| place(report, panic.place)),
        "deadlock": waits,
        "pattern": finding.pattern.0,
        "cause": cause,
        "remedy": remedy,
        "certain_after_step": no_return.and_then(|after| after.after.checked_sub(1)),
        "chances": why.map(|why| {
            why.chances.iter().map(|c| json!({"after": c.after, "share": c.share})).collect::<Vec<_>>()
        }),
        "passing": passing,
        "newest_stores_only": why.and_then(|why| why.newest_stores.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Maybe;

    #[test]
    fn runs_that_fail_without_a_remedy_are_no_runs_with_it() {
        let remedy = Remedy {
            regions: Vec::new(),
            waits: false,
            order: Maybe(None),
            kind: "counted".to_owned(),
            interleavings: None,
            of: Some(60),
            left_out: None,
            preemptions: None,
            runs: Some(230),
            failed: Some(10),
        };
        let sampled = tested(&remedy);
        assert_eq!((&sampled["runs"], &sampled["failed"]), (&json!(230), &Json::Null));
        assert_eq!(sampled["without"], json!({"runs": 60, "failed": 10}));
        let proved = Remedy { kind: "all".to_owned(), interleavings: Some(6), ..remedy };
        assert_eq!(tested(&proved)["interleavings"], 6);
        assert_eq!(tested(&proved)["without"], Json::Null);
    }

    #[test]
    fn a_proved_order_is_no_step() {
        let order = Order {
            early_op: "store".to_owned(),
            early: Some(0),
            late_op: "load".to_owned(),
            late: Some(1),
            times: 1,
        };
        let remedy = |order| Remedy {
            regions: Vec::new(),
            waits: false,
            order,
            kind: "all".to_owned(),
            interleavings: Some(6),
            of: Some(9),
            left_out: Some(0),
            preemptions: None,
            runs: None,
            failed: None,
        };
        let words =
            |order| tested(&remedy(order))["tested"].as_str().unwrap_or_default().to_owned();
        assert!(words(Maybe(Some(Some(order)))).ends_with("that keep this order pass"));
        for none in [Maybe(None), Maybe(Some(None))] {
            assert!(words(none).ends_with("these lines as one step pass"));
        }
    }
}
