"use strict";
// The run of a report as the page needs it: steps with their operations, arrows between steps, values over time, locks.
// A step is known by its index in the report, `at`, because a long run lacks the steps in its middle.

const SIGNS = {
  Read: "R",
  Peek: "R",
  Write: "W",
  ReadModifyWrite: "U",
  Lock: "L",
  LockShared: "L",
  TryLock: "L",
  Unlock: "F",
  UnlockShared: "F",
  Join: "J",
  Spawn: "S",
  Enqueue: "W",
  Resume: "R",
  Wake: "W",
  Abort: "!",
};
const QUIET_KINDS = new Set(["clock", "node", "nodes", "net", "table"]);
// Accesses that see what another task has left.
const SEES = new Set([
  "Read",
  "Peek",
  "ReadModifyWrite",
  "Lock",
  "LockShared",
  "TryLock",
  "Resume",
  "Join",
  "Act",
  "Wait",
  "Wake",
  "Enqueue",
]);

function signOf(event, tasks) {
  if (event.fault) return "!";
  if (event.access === "Spawn" && event.values && event.values.kind === "task") {
    return isMessage(tasks[event.values.task]) ? "M" : "S";
  }
  if (/^(sleep|travel|now|move_time)$/.test(event.op)) return "T";
  if (/^(send|recv|arrive)$/.test(event.op)) return "M";
  return SIGNS[event.access] || "·";
}

function isMessage(task) {
  return Boolean(task) && task.from !== null && task.from !== undefined;
}

// The crate of a place, by the file that the compiler names.
function crateOf(place, own) {
  if (!place) return "";
  const file = place.file || place.text;
  if (place.text.startsWith("<sim>")) return "unpause";
  const fetched = /[/\\](?:registry[/\\]src|git[/\\]checkouts)[/\\][^/\\]+[/\\]([^/\\]+)/.exec(file);
  if (fetched) return fetched[1];
  const rust = /(?:^[/\\]rustc[/\\][0-9a-f]+|rust[/\\]library)[/\\](?:library[/\\])?([^/\\]+)/.exec(file);
  if (rust) return rust[1];
  const folder = /^(?:.*[/\\])?([^/\\]+)[/\\](?:src|tests|examples|benches)[/\\]/.exec(file);
  return folder && folder[1] !== ".." ? folder[1] : own;
}

function modelOf(report) {
  const finding = report.finding;
  if (!finding || !finding.run.steps.length) return null;
  const run = finding.run;
  const places = report.places;
  const place = (index) => (index === null || index === undefined ? null : places[index] || null);
  const crates = places.map((one) => crateOf(one, report.package));
  const steps = run.steps.map((step, at) => ({ ...step, at, events: [], draws: [], moves: [], into: [], out: [] }));
  const atOf = new Map(steps.map((step) => [step.step, step.at]));
  const stepOf = (number) => steps[atOf.get(number)];
  for (const event of run.events) {
    const step = stepOf(event.step);
    if (!step) continue;
    event.sign = signOf(event, run.tasks);
    event.at = step.at;
    step.events.push(event);
  }
  for (const draw of run.draws) {
    const step = stepOf(draw.step);
    // As on the screen: settings are omitted, but not an order of branches other than the source order.
    const turnsBranches = draw.why === "the branch that is polled first" && draw.value !== 0;
    if (step && (!draw.given || turnsBranches)) step.draws.push(draw);
  }
  for (const move of run.time_moves) {
    const step = stepOf(move.step);
    if (step) step.moves.push(move);
  }
  const ofTask = run.tasks.map(() => []);
  for (const step of steps) {
    const own = ofTask[step.task];
    step.before = own.length ? own[own.length - 1] : null;
    step.next = null;
    if (step.before !== null) steps[step.before].next = step.at;
    own.push(step.at);
  }
  const model = {
    report,
    finding,
    run,
    places,
    place,
    crates,
    steps,
    atOf,
    ofTask,
    why: finding.why || { chances: [], marks: [], cause: null, remedy: null, no_return: null },
  };
  model.edges = edgesOf(model);
  model.messages = messagesOf(model);
  const carried = new Set(
    model.edges.filter((edge) => edge.kind === "message").map((edge) => `${edge.from} ${edge.to}`),
  );
  model.edges = model.edges.filter((edge) => edge.kind !== "conflict" || !carried.has(`${edge.from} ${edge.to}`));
  for (const edge of model.edges) {
    steps[edge.from].out.push(edge);
    steps[edge.to].into.push(edge);
  }
  model.values = valuesOf(model);
  model.holds = holdsOf(model);
  model.calls = new Map(run.calls.flatMap((call) => call.events.map((event) => [event, call])));
  model.chances = new Map(model.why.chances.map((chance) => [chance.after, chance]));
  model.beside = besideOf(model);
  return model;
}

// Conflicts, spawns and joins: each from a step to a later step of another task. `orders` says if it is a
// happens-before edge.
function edgesOf(model) {
  const { run, steps, ofTask } = model;
  const shown = new Map(run.tasks.map((task, index) => [task.shown, index]));
  const last = new Map();
  const edges = [];
  const seen = new Set();
  const add = (from, to, kind, object, orders) => {
    const key = `${from} ${to} ${kind} ${object}`;
    if (from === to || seen.has(key)) return;
    seen.add(key);
    edges.push({ from, to, kind, object, orders });
  };
  for (const step of steps) {
    for (const event of step.events) {
      if (event.access === "Spawn" && event.values && event.values.kind === "task") {
        const child = event.values.task;
        if (!isMessage(run.tasks[child]) && ofTask[child] && ofTask[child].length) {
          add(step.at, ofTask[child][0], "spawn", null, true);
        }
      }
      if (event.access === "Join") {
        const child = shown.get(event.text.replace(/^join /, ""));
        const own = child === undefined ? [] : ofTask[child];
        const end = own.filter((at) => at < step.at).pop();
        if (end !== undefined) add(end, step.at, "join", null, true);
      }
      if (event.object === null || event.quiet) continue;
      const object = run.objects[event.object];
      if (!object || QUIET_KINDS.has(object.kind)) continue;
      conflicts(event, object, last, add);
    }
  }
  return edges;
}

// The operations of other tasks that an operation conflicts with, as far as none is between.
function conflicts(event, object, last, add) {
  if (!last.has(event.object)) last.set(event.object, { write: null, reads: [] });
  const known = last.get(event.object);
  const looks = !event.changes || ["Read", "Peek", "LockShared", "UnlockShared"].includes(event.access);
  const relaxed = (one) => one.order === "Relaxed";
  const edge = (one) => {
    if (one.task === event.task) return;
    const sees = SEES.has(event.access) && one.changes && object.kind !== "cell";
    const acquires = event.order !== "Release" && one.order !== "Acquire";
    // A load that sees an older value has nothing of the newest store.
    const [left, saw] = [one.values && one.values.left, event.values && event.values.saw];
    const isOld = Boolean(left && saw && left.bits !== saw.bits);
    add(one.at, event.at, "conflict", event.object, sees && acquires && !isOld && !relaxed(one) && !relaxed(event));
  };
  if (looks) {
    if (known.write) edge(known.write);
    known.reads = known.reads.filter((read) => read.task !== event.task);
    known.reads.push(event);
    return;
  }
  known.reads.forEach(edge);
  if (known.write) edge(known.write);
  known.write = event;
  known.reads = [];
}

// The messages between nodes: sent, arrived and received at these steps. Adds their edges.
function messagesOf(model) {
  const { run, steps, ofTask, edges } = model;
  const put = new Map();
  const byCarrier = new Map();
  const messages = [];
  for (const step of steps) {
    for (const event of step.events) {
      const carried =
        event.access === "Spawn" && event.values && event.values.kind === "task" ? event.values.task : null;
      if (carried !== null && isMessage(run.tasks[carried])) {
        const own = ofTask[carried];
        const arrive = own.length ? own[own.length - 1] : null;
        const message = { carrier: carried, send: step.at, arrive, receive: null, receiver: null };
        byCarrier.set(carried, message);
        messages.push(message);
        if (arrive !== null) edges.push({ from: step.at, to: arrive, kind: "message", object: null, orders: true });
      }
      if (event.op === "put" && byCarrier.has(event.task)) put.set(event.object, byCarrier.get(event.task));
      if (event.op === "get" && put.has(event.object)) {
        const message = put.get(event.object);
        put.delete(event.object);
        message.receive = step.at;
        message.receiver = event.task;
        if (message.arrive !== null && message.arrive !== step.at) {
          edges.push({ from: message.arrive, to: step.at, kind: "message", object: null, orders: true });
        }
      }
    }
  }
  return messages;
}

// For each object its values: the steps after which it has them.
function valuesOf(model) {
  const values = model.run.objects.map(() => []);
  for (const step of model.steps) {
    for (const event of step.events) {
      if (event.object === null || event.quiet) continue;
      const own = values[event.object];
      const { saw, left } = event.values || {};
      if (saw && !own.length) own.push({ at: -1, text: saw.text, bits: saw.bits, task: null });
      if (left) own.push({ at: step.at, text: left.text, bits: left.bits, task: event.task });
      // A store that took effect before the newest store: the object keeps the newest value.
      else if (saw && event.op === "precedes_the_newest_value_of") {
        own.push({ at: step.at, text: saw.text, bits: saw.bits, task: event.task });
      } else if (event.changes) own.push({ at: step.at, text: event.op, bits: null, task: event.task });
    }
  }
  return values;
}

// The value that an object has after a step.
function valueAt(model, object, at) {
  const own = model.values[object];
  let low = 0;
  let high = own.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (own[middle].at <= at) low = middle + 1;
    else high = middle;
  }
  return low ? own[low - 1] : null;
}

// The times for which a task has a lock: from a step to the step that frees it.
function holdsOf(model) {
  const holds = [];
  const open = new Map();
  for (const step of model.steps) {
    for (const event of step.events) {
      if (event.object === null) continue;
      const { kind } = model.run.objects[event.object] || {};
      const isLock = kind === "mutex" || kind === "rwlock";
      const failed = event.values && event.values.kind === "failed";
      const takes =
        ["Lock", "LockShared"].includes(event.access) ||
        (event.access === "TryLock" && event.changes) ||
        (isLock && event.changes && !failed && /^(try_)?(lock|read|write)(_owned)?$/.test(event.op));
      const frees = ["Unlock", "UnlockShared"].includes(event.access) || (isLock && /^unlock/.test(event.op));
      if (!open.has(event.object)) open.set(event.object, []);
      const own = open.get(event.object);
      if (takes) {
        const shared = event.access === "LockShared" || event.op.includes("read");
        const hold = { task: event.task, object: event.object, from: step.at, to: Infinity, shared, event };
        own.push(hold);
        holds.push(hold);
      } else if (frees && own.length) {
        // A task may share a lock with itself, and another task may free it, to which the guard was moved.
        const last = own.map((hold) => hold.task).lastIndexOf(event.task);
        const [freed] = own.splice(last < 0 ? 0 : last, 1);
        freed.to = step.at;
      }
    }
  }
  const known = new Set(holds.filter((hold) => hold.to === Infinity).map((hold) => hold.event.event));
  for (const hold of model.run.threads.holds) {
    const event = model.run.events.find((one) => one.event === hold.event);
    if (event && event.at !== undefined && !known.has(event.event)) {
      holds.push({ task: event.task, object: hold.lock, from: event.at, to: Infinity, shared: hold.shared, event });
    }
  }
  return holds;
}

function heldAt(model, at) {
  return model.holds.filter((hold) => hold.from <= at && at < hold.to);
}

// For each step: -1 if it happens before this step, 1 if after, 0 if neither.
function relationTo(model, at) {
  const { steps } = model;
  const relation = new Int8Array(steps.length);
  const walk = (start, sign, neighbours) => {
    const todo = [start];
    while (todo.length) {
      for (const other of neighbours(todo.pop())) {
        if (other === null || relation[other] === sign) continue;
        relation[other] = sign;
        todo.push(other);
      }
    }
  };
  const ordered = (edges, end) => edges.filter((edge) => edge.orders).map((edge) => edge[end]);
  walk(at, -1, (one) => [steps[one].before, ...ordered(steps[one].into, "from")]);
  walk(at, 1, (one) => [steps[one].next, ...ordered(steps[one].out, "to")]);
  return relation;
}

// An operation in words, with its memory order.
function wordsOf(event) {
  return event.order ? `${event.text} ${event.order}` : event.text;
}

// A step in words.
function textOf(model, step) {
  const loud = step.events.filter((event) => !event.quiet);
  const words = loud.map(wordsOf);
  if (!words.length && step.before === null) words.push("start");
  for (const draw of step.draws) words.push(`draw ${draw.value} below ${draw.bound}`);
  if (!words.length) words.push(step.events.length ? step.events[0].text : "(waits)");
  return words.join("; ");
}
