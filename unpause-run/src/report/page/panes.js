"use strict";
// The panes beside the picture: all of the chosen step, objects with their values, locks, and source lines.

// A button that goes to a step.
function toStep(model, at, actions) {
  const step = model.steps[at];
  return element(
    "button",
    { type: "button", class: "link", "data-go": at, onclick: () => actions.choose(at) },
    String(step.step),
  );
}

function taskName(model, index) {
  const task = model.run.tasks[index];
  return task ? task.shown : `task ${index}`;
}

function placeOf(model, index) {
  const place = model.place(index);
  if (!place) return null;
  return element(
    "span",
    { class: "where" },
    long(place.text, 160),
    place.source ? element("code", { class: "source" }, long(place.source, 300)) : null,
  );
}

function rowsOfTable(pairs) {
  return pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
}

function bitsOf(bits) {
  return bits.text === bits.bits || bits.text === ""
    ? long(bits.text || bits.bits)
    : [long(bits.text), ` (bits ${bits.bits})`];
}

// The values of an operation: what it saw, and what it left.
function valuesText(values) {
  if (!values) return null;
  const part = (name, value) => (value ? [element("dt", {}, name), element("dd", {}, bitsOf(value))] : []);
  const parts = [part("before", values.saw), part("after", values.left), part("wanted", values.wanted)].flat();
  return parts.length ? parts : null;
}

// All of the chosen step.
function drawStep(model, state, actions) {
  const step = model.steps[state.at];
  const task = model.run.tasks[step.task] || {};
  const events = step.events.map((event) => {
    const object = event.object === null ? null : model.run.objects[event.object];
    const call = model.calls.get(event.event);
    return element(
      "li",
      { class: event.quiet ? "operation quiet" : "operation" },
      element("b", { class: "sign" }, event.sign),
      " ",
      element("strong", {}, long(event.text)),
      element(
        "dl",
        {},
        rowsOfTable([
          ["object", object ? objectButton(model, event.object, actions) : null],
          ["access", `${event.access}${event.changes ? "" : ", changes nothing"}${event.fault ? ", a fault" : ""}`],
          ["order", event.order],
        ]),
        valuesText(event.values),
        rowsOfTable([
          ["place", placeOf(model, event.place)],
          ["call", call ? [long(call.function), " ", placeOf(model, call.place)] : null],
        ]),
      ),
    );
  });
  const held = heldAt(model, step.at).filter((hold) => hold.task === step.task);
  const relation = relationTo(model, step.at);
  const counts = [0, 0, 0];
  for (const one of model.steps) if (one.at !== step.at) counts[relation[one.at] + 1] += 1;
  const edges = (list, end) =>
    list
      .slice(0, 20)
      .map((edge) =>
        element(
          "li",
          {},
          `${edge.kind} `,
          edge.object === null ? "" : `on ${brief(model.run.objects[edge.object].shown, 60)} `,
          "with step ",
          toStep(model, edge[end], actions),
          ` of ${brief(taskName(model, model.steps[edge[end]].task), 60)}${edge.orders ? " (happens-before)" : ""}`,
        ),
      );
  const links = [...edges(step.into, "from"), ...edges(step.out, "to")];
  const more = Math.max(0, step.into.length - 20) + Math.max(0, step.out.length - 20);
  replace(
    byId("step"),
    element(
      "dl",
      {},
      rowsOfTable([
        ["step", `${step.step} of 0 to ${model.run.step_count - 1}${step.preempts ? ", preempts another task" : ""}`],
        [
          "task",
          [
            element(
              "button",
              {
                type: "button",
                class: "link",
                title: "only this task",
                onclick: () => actions.filter({ task: step.task }),
              },
              brief(task.shown || "", 80),
            ),
            task.node ? ` on node ${brief(task.node, 60)}` : "",
            isMessage(task) ? `, a message from ${brief(task.from, 60)}` : "",
          ],
        ],
        ["spawned at", placeOf(model, task.place)],
        ["could step", plural(step.candidates, "task")],
        ["time", step.moves.length ? step.moves.map((move) => move.text).join(", ") : null],
        [
          "drawn",
          step.draws.length
            ? step.draws
                .map((draw) => `${draw.value} below ${draw.bound}${draw.why ? ` (${draw.why})` : ""}`)
                .join(", ")
            : null,
        ],
        ["locks held", held.length ? held.map((hold) => model.run.objects[hold.object].shown).join(", ") : "none"],
        ["chance", chanceInWords(model, step.step + 1)],
        ["order", `${counts[0]} ≺ happen before, ${counts[2]} ≻ after, ${counts[1]} ∥ neither`],
      ]),
    ),
    element("ol", { class: "operations" }, events.length ? events : element("li", {}, textOf(model, step))),
    links.length ? element("ul", { class: "links" }, links, more ? element("li", {}, `… ${more} more`) : null) : null,
  );
}

function objectButton(model, index, actions) {
  return element(
    "button",
    {
      type: "button",
      class: "link",
      title: "only steps with this object",
      onclick: () => actions.filter({ object: index }),
    },
    brief(model.run.objects[index].shown, 80),
  );
}

// The objects with their values over time. Before the chosen step the values are past.
function drawObjects(model, state, actions) {
  const touched = new Set(model.steps[state.at].events.map((event) => event.object));
  const listed = model.run.objects
    .map((_, index) => index)
    .filter((index) => model.values[index].length || touched.has(index))
    .filter((index) => !QUIET_KINDS.has(model.run.objects[index].kind))
    .filter((index) => state.object === null || state.object === index);
  const cut = state.object === null ? 60 : 1;
  const rows = listed.slice(0, cut).map((index) => {
    const object = model.run.objects[index];
    const value = valueAt(model, index, state.at);
    const lock = heldAt(model, state.at)
      .filter((hold) => hold.object === index)
      .map((hold) => taskName(model, hold.task));
    const now = lock.length ? `held by ${lock.join(", ")}` : value ? value.text : "";
    return element(
      "tr",
      { class: touched.has(index) ? "touched" : null },
      element(
        "th",
        { scope: "row" },
        touched.has(index) ? "▶ " : "",
        objectButton(model, index, actions),
        element("small", {}, ` ${brief(object.kind, 40)}`),
      ),
      element("td", { class: "now" }, long(now, 80)),
      element("td", {}, valuesOverTime(model, index, state, actions, state.object === null ? 8 : 400)),
    );
  });
  replace(
    byId("objects"),
    rows.length
      ? element(
          "table",
          {},
          element(
            "thead",
            {},
            element(
              "tr",
              {},
              ["object", "now", "values, each with its step"].map((name) => element("th", { scope: "col" }, name)),
            ),
          ),
          element("tbody", {}, rows),
        )
      : element("p", {}, "no object has a value here"),
    listed.length > cut
      ? element("p", {}, `${plural(listed.length - cut, "more object")}: choose one with the filter`)
      : null,
  );
}

// The values around the chosen step.
function valuesOverTime(model, index, state, actions, most) {
  const own = model.values[index];
  const past = own.filter((value) => value.at <= state.at).length;
  const from = Math.max(0, Math.min(past - Math.ceil(most * 0.6), own.length - most));
  const shown = own.slice(from, from + most).map((value, offset) => {
    const isNow = from + offset === past - 1;
    const name = from + offset < past ? (isNow ? "one now" : "one past") : "one future";
    const label = value.at < 0 ? "at first" : toStep(model, value.at, actions);
    return element(
      "li",
      { class: name },
      element("span", { class: "v" }, long(value.text, 40)),
      " ",
      element("small", {}, label),
    );
  });
  return element(
    "ol",
    { class: "values" },
    from ? element("li", {}, `${from} before …`) : null,
    shown,
    own.length > from + most ? element("li", {}, `… ${own.length - from - most} more`) : null,
  );
}

// The locks that tasks hold after the chosen step, and the waits at the end.
function drawLocks(model, state, actions) {
  const pane = byId("d-locks");
  const { failure, run } = model.finding;
  const waits = failure && failure.deadlock ? failure.deadlock.waits : [];
  pane.hidden = !model.holds.length && !waits.length;
  if (pane.hidden) return;
  const held = heldAt(model, state.at).map((hold) =>
    element(
      "li",
      {},
      `${brief(taskName(model, hold.task), 80)} holds `,
      objectButton(model, hold.object, actions),
      hold.shared ? " with others" : "",
      " since step ",
      toStep(model, hold.from, actions),
      hold.to === Infinity ? ", to the end" : [" to step ", toStep(model, hold.to, actions)],
    ),
  );
  const isLast = state.at === model.steps.length - 1;
  const ends = isLast
    ? waits
        .slice(0, 50)
        .map((wait) =>
          element(
            "li",
            {},
            `B ${brief(taskName(model, wait.task), 80)} `,
            long(wait.text),
            wait.holder
              ? [
                  ", held by ",
                  brief(taskName(model, wait.holder.task), 80),
                  " since step ",
                  holderStep(model, wait.holder.step, actions),
                ]
              : "",
            " ",
            placeOf(model, wait.place),
          ),
        )
    : [];
  const circle =
    isLast && run.circle.length
      ? element(
          "p",
          {},
          `circle: ${run.circle.map((wait) => brief(taskName(model, wait.task), 80)).join(" → ")} → the first one`,
        )
      : null;
  replace(
    byId("locks"),
    held.length ? element("ul", {}, held) : element("p", {}, "no lock is held after this step"),
    ends.length ? element("ul", {}, ends) : null,
    isLast && waits.length > 50 ? element("p", {}, `and ${plural(waits.length - 50, "more wait")}`) : null,
    circle,
  );
}

function holderStep(model, number, actions) {
  return model.atOf.has(number) ? toStep(model, model.atOf.get(number), actions) : String(number);
}

// The source lines that the run executed, by file, each with its steps.
function linesOf(model) {
  const lines = new Map();
  for (const step of model.steps) {
    for (const event of step.events) {
      const place = event.quiet ? null : model.place(event.place);
      if (!place || place.line === null) continue;
      const key = `${place.file}\n${place.line}`;
      if (!lines.has(key)) {
        lines.set(key, {
          place,
          crate: model.crates[event.place],
          file: place.text.replace(/:\d+(:\d+)?$/, ""),
          steps: [],
        });
      }
      const own = lines.get(key).steps;
      if (own[own.length - 1] !== step.at) own.push(step.at);
    }
  }
  return [...lines.values()].sort((one, other) =>
    one.place.file < other.place.file ? -1 : one.place.file > other.place.file ? 1 : one.place.line - other.place.line,
  );
}

function drawSource(model, state, actions) {
  if (!model.lines) model.lines = linesOf(model);
  const listed = model.lines.filter((line) => !state.crate || line.crate === state.crate);
  const files = new Map();
  for (const line of listed.slice(0, 400)) {
    if (!files.has(line.file)) files.set(line.file, []);
    files.get(line.file).push(line);
  }
  const made = [...files].map(([file, lines]) => [
    element("h3", {}, long(file, 120), lines[0].crate ? element("small", {}, ` ${brief(lines[0].crate, 60)}`) : null),
    element(
      "ol",
      { class: "lines" },
      lines.map((line) => sourceLine(model, line, state, actions)),
    ),
  ]);
  replace(
    byId("source"),
    made.length ? made : element("p", {}, "no operation has a place"),
    listed.length > 400
      ? element("p", {}, `${plural(listed.length - 400, "more line")}: choose a crate with the filter`)
      : null,
  );
}

function sourceLine(model, line, state, actions) {
  const isNow = line.steps.includes(state.at);
  const most = 12;
  const around = Math.max(0, line.steps.findIndex((at) => at >= state.at) - most / 2);
  const from = Math.max(0, Math.min(around, line.steps.length - most));
  const shown = line.steps.slice(from, from + most).map((at) => [toStep(model, at, actions), " "]);
  const left = line.steps.length - shown.length;
  return element(
    "li",
    { class: isNow ? "now" : null, value: line.place.line },
    element("span", { class: "no" }, `${isNow ? "▶" : " "}${line.place.line}`),
    element("code", {}, line.place.source ? long(line.place.source, 200) : "(the source could not be read)"),
    element("span", { class: "steps" }, "steps ", shown, left > 0 ? `and ${left} more` : ""),
  );
}
