//! Handwritten reports of small runs: they contain everything that a page can show, and dangerous values.

use serde_json::{Value as Json, json};

/// A report whose run grows step by step.
pub(crate) struct Report {
    pub(crate) json: Json,
}

impl Report {
    /// The report of a failure without steps, with these tasks: each a name and the name of its node.
    pub(crate) fn new(test: &str, failure: Json, tasks: &[(&str, Option<&str>)]) -> Report {
        let size = json!({"tasks": tasks.len(), "steps": 0, "switches": 0, "preemptions": 0, "draws": 0, "commands": 0});
        let task = |(shown, node): &(&str, Option<&str>)| {
            let path = shown.split(' ').next().unwrap().replace("main", "0");
            json!({"shown": shown, "path": path, "name": null, "place": 0, "node": node, "from": null, "message": null})
        };
        let run = json!({
            "seed": "7", "strategy": "portfolio", "passed": false, "tasks": Vec::from_iter(tasks.iter().map(task)),
            "objects": [], "step_count": 0, "omitted_steps": null, "steps": [], "draws": [], "events": [], "calls": [],
            "threads": {"spawns": [], "holds": [], "own": [], "panicked_from": null}, "histories": [], "programs": [],
            "leaked": [], "stuck": [], "circle": [], "spins": [], "foreign": false, "time_moves": [], "output": "",
            "panics": [], "conditions": [], "faults": [],
        });
        let finding = json!({
            "failure": failure, "from": {"kind": "seed", "seed": "7", "file": null}, "size": size,
            "original_size": size, "shrunk": null, "proof": null, "strengthening": null, "with_sc": null,
            "why": null, "called_from": null, "needs_runtime": null, "trace_file": null, "trace_error": null,
            "source_file": null, "history_file": null, "replay": "SIM_REPLAY=sim2:0 cargo test", "record": null,
            "run": run,
        });
        let mut json = passed(test);
        json["format"] = json!("unpause failure");
        json["finding"] = finding;
        Report { json }
    }

    /// The text of the report in its file.
    pub(crate) fn json_of(report: Report) -> String {
        report.json.to_string()
    }

    /// The run of the report.
    pub(crate) fn run(&mut self) -> &mut Json {
        &mut self.json["finding"]["run"]
    }

    /// An object, by its name and kind. Returns its index.
    pub(crate) fn object(&mut self, name: &str, kind: &str) -> usize {
        let objects = self.run()["objects"].as_array_mut().unwrap();
        objects.push(json!({"shown": name, "kind": kind, "name": name, "values": "unsigned", "place": 0, "creator": null,
            "node": null, "ordinal": 0}));
        objects.len() - 1
    }

    /// A line of a source file. Returns its index.
    pub(crate) fn place(&mut self, file: &str, line: u64, source: &str) -> usize {
        let places = self.json["places"].as_array_mut().unwrap();
        places.push(json!({"text": format!("{file}:{line}:5"), "file": file, "line": line, "column": 5, "source": source}));
        places.len() - 1
    }

    /// A step of a task.
    pub(crate) fn step(&mut self, task: usize, preempts: bool) -> &mut Report {
        let run = self.run();
        let steps = run["steps"].as_array_mut().unwrap();
        let step = steps.len();
        steps.push(json!({"step": step, "task": task, "candidates": 2, "preempts": preempts}));
        run["step_count"] = json!(step + 1);
        self
    }

    /// An operation of the last step.
    pub(crate) fn does(
        &mut self,
        access: &str,
        text: &str,
        object: Option<usize>,
        place: usize,
        values: Json,
    ) -> &mut Report {
        let run = self.run();
        let step = run["steps"].as_array().unwrap().last().unwrap().clone();
        let events = run["events"].as_array_mut().unwrap();
        let op = text.split(' ').next().unwrap();
        events.push(json!({"event": events.len(), "step": step["step"], "task": step["task"], "object": object, "op": op,
            "access": access, "text": text, "order": null, "quiet": matches!(op, "put" | "get"), "fault": false,
            "changes": !matches!(access, "Read" | "Peek"), "place": place, "values": values}));
        self
    }
}

/// The report of a test that passed.
pub(crate) fn passed(test: &str) -> Json {
    json!({
        "format": "unpause pass", "version": 1, "by": "0.1.0", "test": test, "package": "demo", "runs": 1,
        "rehearsals": 4, "seeds": {"first": "0", "last": "9"}, "steps": 30, "settings": [], "real_threads": false,
        "replayed": null, "warnings": [], "notes": [], "searched": null, "coverage": null, "closure": null,
        "statistics": null, "faults": [], "finding": null,
        "screen": {"width": 100, "lines": [[["strong", "the screen"]], [["plain", "of the test"]]]},
        "places": [{"text": "src/demo.rs:1:1", "file": "src/demo.rs", "line": 1, "column": 1, "source": "fn demo() {"}],
    })
}

fn signature(kind: &str) -> Json {
    json!({"kind": kind, "place": "src/demo.rs:9:9"})
}

fn panic(message: &str) -> Json {
    json!({"kind": "panic", "text": format!("panic in main: {message}"), "signature": signature("panic"),
        "panic": {"task": 0, "message": message, "place": 0}})
}

pub(crate) fn saw(value: u64) -> Json {
    json!({"kind": "read", "saw": {"bits": value.to_string(), "text": value.to_string()}})
}

pub(crate) fn left(value: u64) -> Json {
    json!({"kind": "wrote", "left": {"bits": value.to_string(), "text": value.to_string()}})
}

pub(crate) fn task(task: usize) -> Json {
    json!({"kind": "task", "task": task})
}

/// Two tasks load a counter and store its successor, in 8 steps with two preemptions. The chance rises.
pub(crate) fn lost_update(counter: &str) -> Report {
    let mut report = Report::new(
        "demo::lost_update",
        panic("an update was lost: 1 of 2"),
        &[("main", None), ("0.0", None), ("0.1", None)],
    );
    let load = report.place("src/demo.rs", 12, "let value = counter.load(SeqCst).await;");
    let store = report.place("src/demo.rs", 13, "counter.store(value + 1, SeqCst).await;");
    let lent =
        report.place("/cargo/registry/src/index-1/lender-0.3.1/src/lib.rs", 4, "self.0.load()");
    let object = report.object(counter, "atomic");
    let reads = format!("load {counter} = 0");
    let writes = format!("store {counter} := 1");
    report.step(0, false).does("Spawn", "spawn 0.0", None, 0, task(1));
    report.does("Spawn", "spawn 0.1", None, 0, task(2));
    report.step(1, false);
    report.step(1, false).does("Read", &reads, Some(object), load, saw(0));
    report.step(2, true);
    report.step(2, false).does("Read", &reads, Some(object), load, saw(0));
    report.step(2, false).does("Write", &writes, Some(object), store, left(1));
    report.step(1, true).does("Write", &writes, Some(object), store, left(1));
    report.step(0, false).does("Join", "join 0.0", None, 0, Json::Null);
    report.does("Read", &format!("load {counter} = 1"), Some(object), lent, saw(1));
    report.json["finding"]["why"] = json!({
        "runs": 60,
        "cause": {"task": 1, "region": {"from": load, "from_op": "load", "to": store, "to_op": "store"}, "between": [4],
            "decisive": [4], "is_reached": true},
        "remedy": {"regions": [{"from": load, "from_op": "load", "to": store, "to_op": "store"}], "kind": "all",
            "interleavings": 6, "waits": false, "left_out": 0, "failed": null, "of": null, "preemptions": null,
            "runs": null},
        "chances": [{"after": 0, "share": 0.25, "runs": 50}, {"after": 4, "share": 0.5, "runs": 0},
            {"after": 7, "share": 1.0, "runs": 0}],
        "marks": [6], "no_return": {"after": 7, "interleavings": 1},
    });
    report.json["finding"]["pattern"] = json!("lost update");
    report.json["finding"]["quoted"] =
        json!([{"place": load, "text": "let value = counter.load(SeqCst).await;"}]);
    report
}

/// Two tasks take two locks in the two orders.
pub(crate) fn deadlock() -> Report {
    let wait = |task: usize, object: usize, holder: usize, step: usize| {
        json!({"task": task, "text": format!("waits to lock mutex#{object}"), "op": "lock", "object": object,
            "target": null, "place": 0, "holder": {"task": holder, "step": step, "place": 0}, "unpolled": false})
    };
    let waits = json!([wait(0, 1, 1, 1), wait(1, 0, 0, 0)]);
    let failure = json!({"kind": "deadlock", "text": "deadlock: main at lock, 0.0 at lock", "signature": signature("deadlock"),
        "deadlock": {"waits": waits}});
    let mut report = Report::new("demo::deadlock", failure, &[("main", None), ("0.0", None)]);
    let locks = [report.object("mutex#0", "mutex"), report.object("mutex#1", "mutex")];
    report.step(0, false).does("Lock", "lock mutex#0", Some(locks[0]), 0, Json::Null);
    report.step(1, true).does("Lock", "lock mutex#1", Some(locks[1]), 0, Json::Null);
    report.run()["circle"] = waits;
    report
}

/// A task has two guards of one lock, and another task drops the guard of a mutex.
pub(crate) fn guards() -> Report {
    let tasks = [("main", None), ("0.0", None)];
    let mut report = Report::new("demo::guards", panic("the end"), &tasks);
    let (table, log) = (report.object("table", "rwlock"), report.object("log", "mutex"));
    report.step(0, false).does("LockShared", "read table", Some(table), 0, Json::Null);
    report.step(0, false).does("LockShared", "read table", Some(table), 0, Json::Null);
    report.step(0, false).does("Lock", "lock log", Some(log), 0, Json::Null);
    report.step(1, true).does("Unlock", "unlock log", Some(log), 0, Json::Null);
    report.step(0, true).does("UnlockShared", "unlock table", Some(table), 0, Json::Null);
    report.step(0, false).does("UnlockShared", "unlock table", Some(table), 0, Json::Null);
    report
}

/// A node sends two messages to another node, and one of them arrives. A history has a read that fits nowhere.
pub(crate) fn cluster() -> Report {
    let verdict = json!({"kind": "violated", "engine": "linear", "anomaly": null, "partial": [], "misfit": 1,
        "expected": ["1"], "state": "1", "part": [0, 1]});
    let failure = json!({"kind": "history", "text": "linearizability violated", "signature": signature("history"),
        "history": {"history": 0, "condition": "linearizability", "verdict": verdict, "place": 0}});
    let tasks = [
        ("main", None),
        ("0.0 n1", Some("n1")),
        ("0.1 n2", Some("n2")),
        ("0.0.0", Some("n2")),
        ("0.0.1", Some("n2")),
    ];
    let mut report = Report::new("demo::stale_read", failure, &tasks);
    for carrier in [3, 4] {
        report.run()["tasks"][carrier]["from"] = json!("n1");
    }
    let link = report.object("n1→n2", "link");
    let message = report.object("message#0", "message");
    report.step(0, false).does("Spawn", "spawn 0.0 n1", None, 0, task(1));
    report.does("Spawn", "spawn 0.1 n2", None, 0, task(2));
    report.step(1, false).does("Spawn", "send to n2", None, 0, task(3));
    report.step(1, false).does("Spawn", "send to n2", None, 0, task(4));
    report.step(3, false).does("Wait", "arrive n1→n2", Some(link), 0, Json::Null);
    report.does("Tell", "put message#0", Some(message), 0, Json::Null);
    report.step(2, false).does("Peek", "get message#0", Some(message), 0, Json::Null);
    report.does("Wait", "recv n1→n2", Some(link), 0, Json::Null);
    let call = |client: u64, op: &str, invoked: u64, result: &str| json!({"client": client, "op": op, "invoked": invoked, "result": result, "returned": invoked + 1});
    let open =
        json!({"client": 1, "op": "Write(2)", "invoked": 6, "result": null, "returned": null});
    let ran = json!({"task": 1, "first_step": 1, "last_step": 2});
    let command = json!({"text": "Write(1)", "label": "Write(1)", "source": "Write(1)", "part": "0", "fate": "runs",
        "points": null, "change": 0, "simpler": [], "candidates": "0", "ran": ran, "drawn": [],
        "faults": {"again": false, "crash": null, "timeout": false}});
    let omitted = json!({"waiting": 0, "refused": 0, "precondition": 0, "reference": 0, "faults": 0, "unchecked": 0,
        "trusted": false});
    report.run()["programs"] = json!([{"model": "register", "initial": "0", "op_type": "Op", "interleavings": "1",
        "interleavings_max": "1", "commands": [command], "draws": [], "pins": [], "blocks": false, "unfinished": null,
        "work": 0, "omitted": omitted}]);
    report.run()["histories"] = json!([{"model": "register", "clients": ["0.0 n1", "0.1 n2"], "lines": null, "remark": null,
        "verdict": verdict, "operations": [call(0, "Write(1)", 0, "ok"), call(1, "Read", 2, "0"), call(0, "Read", 4, "1"), open]}]);
    report
}

/// A run of `steps` steps of two tasks, with a preemption in each hundred steps.
pub(crate) fn long(steps: usize) -> Report {
    let mut report =
        Report::new("demo::long", panic("it took long"), &[("main", None), ("0.0", None)]);
    let object = report.object("ticks", "atomic");
    for step in 0..steps {
        let task = step / 100 % 2;
        report.step(task, step > 0 && step % 100 == 0);
        report.does(
            "ReadModifyWrite",
            &format!("fetch_add ticks {step} → {}", step + 1),
            Some(object),
            0,
            left(step as u64 + 1),
        );
    }
    report
}

/// The history of [`cluster`], from a run on real threads: it has no steps.
pub(crate) fn on_threads() -> Report {
    let mut report = cluster();
    report.json["real_threads"] = json!(true);
    let run = report.run();
    for field in ["tasks", "objects", "steps", "events"] {
        run[field] = json!([]);
    }
    run["step_count"] = json!(0);
    report
}
