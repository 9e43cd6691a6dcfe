"use strict";
// The rows of the picture: which steps are shown, what a long run folds to, and the lanes.

const FOLDED_FROM = 200;
const ROWS_KEPT = 300;
const AROUND = 3;

function isFiltered(state) {
  return Boolean(state.q || state.task !== null || state.object !== null || state.crate);
}

// The steps that the filters leave.
function stepsShown(model, state) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  return model.steps.filter((step) => {
    if (state.task !== null && step.task !== state.task) return false;
    if (state.object !== null && !step.events.some((event) => event.object === state.object)) return false;
    if (state.crate && !step.events.some((event) => model.crates[event.place] === state.crate)) return false;
    return !words.length || matches(model, step, words);
  });
}

function matches(model, step, words) {
  const task = model.run.tasks[step.task];
  const events = step.events.map((event) => {
    const place = model.place(event.place);
    return `${wordsOf(event)} ${place ? `${place.text} ${place.source || ""}` : ""}`;
  });
  const text = `${task ? task.shown : ""} ${textOf(model, step)} ${events.join(" ")}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

// The steps to which a long run folds: preemptions, conflicts, faults, what the explanation names, and the end.
function stepsThatMatter(model) {
  const { steps, why } = model;
  const kept = new Set();
  const keep = (at, around = 0) => {
    for (let one = at - around; one <= at + around; one += 1) if (steps[one]) kept.add(one);
  };
  keep(0, AROUND);
  for (let at = steps.length - 20; at < steps.length; at += 1) keep(at);
  for (const after of [...why.marks, why.no_return ? why.no_return.after : null]) {
    if (after !== null && model.atOf.has(after)) keep(model.atOf.get(after), AROUND);
  }
  if (model.beside) keep(model.beside.from, AROUND);
  for (const event of model.run.events) {
    if (event.at !== undefined && event.fault) keep(event.at);
  }
  const { between, decisive } = why.cause || { between: [] };
  const named = new Set([...(decisive || []), ...between.slice(0, 50)]);
  for (const event of model.run.events) if (named.has(event.event) && event.at !== undefined) keep(event.at, 1);
  if (model.run.omitted_steps) {
    const cut = steps.findIndex((step) => step.step >= model.run.omitted_steps.to);
    if (cut > 0) keep(cut, AROUND);
  }
  // The last ones are nearest to the failure.
  const most = (candidates, around) => {
    for (const at of candidates.reverse()) {
      if (kept.size >= ROWS_KEPT) break;
      keep(at, around);
    }
  };
  most(
    steps.filter((step) => step.preempts).map((step) => step.at),
    1,
  );
  most(
    model.edges
      .filter((edge) => edge.kind === "conflict")
      .flatMap((edge) => [edge.from, edge.to])
      .sort((one, other) => one - other),
    0,
  );
  // A row that says what is folded takes as much room as a step.
  let from = 0;
  for (let at = 0; at <= steps.length; at += 1) {
    if (at < steps.length && !kept.has(at)) continue;
    if (at - from <= 2) for (let one = from; one < at; one += 1) keep(one);
    from = at + 1;
  }
  return kept;
}

// The rows: steps, gaps of steps that are folded, and remarks between them.
function rowsOf(model, state) {
  const { steps, run, why } = model;
  const shown = stepsShown(model, state);
  const folds = !state.all && !isFiltered(state) && steps.length > FOLDED_FROM;
  if (folds && !model.matter) model.matter = stepsThatMatter(model);
  const rows = [];
  let gap = null;
  const flush = () => {
    if (gap) rows.push(gap);
    gap = null;
  };
  for (const step of shown) {
    if (folds && !model.matter.has(step.at) && !state.opened.has(step.at)) {
      gap = gap ? { ...gap, to: step.at } : { kind: "gap", from: step.at, to: step.at };
      continue;
    }
    flush();
    if (run.omitted_steps && step.step === run.omitted_steps.to) {
      const count = run.omitted_steps.to - run.omitted_steps.from;
      rows.push({ kind: "note", text: `${plural(count, "step")} are not in the report. The trace has them.` });
    }
    if (!isFiltered(state)) {
      for (const move of step.moves) rows.push({ kind: "note", text: `time moves on to ${move.text}` });
      if (model.beside && model.beside.from === step.at) rows.push({ kind: "note", text: partingText(model.beside) });
    }
    rows.push({ kind: "step", at: step.at });
    if (why.no_return && why.no_return.after === step.step + 1) {
      const count = plural(why.no_return.interleavings, "interleaving");
      const stores = why.newest_stores ? " with the newest stores" : "";
      rows.push({ kind: "note", text: `no way back: every schedule${stores} fails from here on (${count})` });
    }
  }
  flush();
  return isFiltered(state) ? rows : [...rows, ...ends(model)];
}

// The last rows: the failure, and the waits of tasks.
function ends(model) {
  const { failure, run } = model.finding;
  const waits = failure && failure.deadlock ? failure.deadlock.waits : run.stuck;
  const rows = waits.slice(0, 100).map((wait) => ({ kind: "wait", task: wait.task, text: wait.text }));
  if (waits.length > 100) rows.push({ kind: "note", text: `… and ${plural(waits.length - 100, "more waiting task")}` });
  if (failure) rows.push({ kind: "note", text: failure.text, isFailure: true });
  return rows;
}

// The lanes: their names, and the lane of each task. A message has the lane of the task that receives it.
function lanesOf(model, state, rows) {
  const { run, messages } = model;
  const receiver = new Map(messages.map((message) => [message.carrier, message.receiver]));
  const laneOf = run.tasks.map(() => -1);
  const keys = new Map();
  const names = [];
  const lane = (key, name) => {
    if (!keys.has(key)) {
      keys.set(key, names.length);
      names.push(name);
    }
    return keys.get(key);
  };
  const first = new Map();
  run.tasks.forEach((task, index) => {
    if (task.node && !isMessage(task) && !first.has(task.node)) first.set(task.node, index);
  });
  const keyOf = (index) => {
    const task = run.tasks[index];
    if (state.mode === "nodes" && task.node) return [`node ${task.node}`, task.node];
    if (isMessage(task)) {
      const to = receiver.get(index) ?? first.get(task.node);
      if (to !== undefined && to !== null) return [`task ${to}`, run.tasks[to].shown];
    }
    return [`task ${index}`, task.shown];
  };
  const used = new Set();
  for (const row of rows) {
    if (row.kind === "step") used.add(model.steps[row.at].task);
    if (row.kind === "wait") used.add(row.task);
  }
  run.tasks.forEach((task, index) => {
    if (used.has(index)) laneOf[index] = lane(...keyOf(index));
  });
  return { names, laneOf };
}
