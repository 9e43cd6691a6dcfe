"use strict";
// The failing run beside the nearest passing run, from the first step that differs. A row has the steps in which a task
// does the same in both runs, or steps that differ.

const BESIDE_MAX = 200;
const COMPARED_MAX = 20;
const BESIDE_MARKS = {
  same: ["=", "the same step"],
  values: ["≠ values", "the same step with other values"],
  other: ["≠ step", "different steps"],
};

// The two runs from the step where they part, or null without a passing run. Each row has a kind and up to two steps.
function besideOf(model) {
  const passing = model.why.passing;
  const from = passing ? model.atOf.get(passing.common) : undefined;
  if (from === undefined || !passing.steps.length) return null;
  const earlier = new Map();
  for (const step of model.steps.slice(0, from)) {
    const { path } = model.run.tasks[step.task];
    earlier.set(path, (earlier.get(path) || 0) + 1);
  }
  const failing = model.steps.slice(from, from + BESIDE_MAX);
  const left = sidesOf(
    failing.map((step) => failingSide(model, step)),
    earlier,
  );
  const right = sidesOf(passing.steps.slice(0, BESIDE_MAX).map(passingSide), earlier);
  const rows = alignedRows(left, right);
  markMoved(rows);
  const after = (sides, count) => count - sides[sides.length - 1].step - 1;
  const hidden = [after(left, model.run.step_count), after(right, passing.step_count)];
  return { passing, from, left, right, rows, hidden };
}

function failingSide(model, step) {
  const task = model.run.tasks[step.task];
  const loud = step.events.filter((event) => !event.quiet);
  const shown = loud.length ? loud : step.events.slice(0, 1);
  const operations = shown.slice(0, COMPARED_MAX);
  const more = shown.length - operations.length;
  return { ...step, shown: task.shown, path: task.path, operations, more };
}

function passingSide(step) {
  return { ...step, at: null, shown: step.task };
}

// Adds to each step the number that it has among the steps of its task, its text, and what identifies it.
function sidesOf(sides, earlier) {
  const counts = new Map(earlier);
  for (const side of sides) {
    side.nth = counts.get(side.path) || 0;
    counts.set(side.path, side.nth + 1);
    const words = side.operations.map((operation) => operation.text);
    if (!words.length && !side.nth) words.push("start");
    for (const draw of side.draws) words.push(`draw ${draw.value} below ${draw.bound}`);
    if (side.more > 0) words.push(`${side.more} more`);
    side.text = words.join("; ") || "(waits)";
    const sites = side.operations.map((operation) => `${operation.op} ${operation.place}`);
    side.key = JSON.stringify([side.path, sites, side.more]);
  }
  return sides;
}

// The rows with the most equal steps. Steps with equal values count more than steps with other values.
function alignedRows(left, right) {
  const worth = (one, other) => (one.key !== other.key ? 0 : one.text === other.text ? 3 : 2);
  const best = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const own = worth(left[i], right[j]);
      best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], own ? own + best[i + 1][j + 1] : 0);
    }
  }
  const rows = [];
  const only = [[], []];
  const flush = () => {
    const count = Math.max(only[0].length, only[1].length);
    for (let at = 0; at < count; at += 1) {
      rows.push({ kind: "other", sides: [only[0][at] || null, only[1][at] || null] });
    }
    only[0] = [];
    only[1] = [];
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const own = i < left.length && j < right.length ? worth(left[i], right[j]) : 0;
    if (own && best[i][j] === own + best[i + 1][j + 1]) {
      flush();
      rows.push({ kind: own === 3 ? "same" : "values", sides: [left[i], right[j]] });
      i += 1;
      j += 1;
    } else if (j === right.length || (i < left.length && best[i + 1][j] >= best[i][j + 1])) {
      only[0].push(left[i]);
      i += 1;
    } else {
      only[1].push(right[j]);
      j += 1;
    }
  }
  flush();
  return rows;
}

// Adds to steps of only one side the step of the other run in which their task does the same.
function markMoved(rows) {
  const others = rows.filter((row) => row.kind === "other");
  const name = (side) => `${side.nth} ${side.key}`;
  const named = [0, 1].map((at) => {
    const sides = others.map((row) => row.sides[at]).filter(Boolean);
    return new Map(sides.map((side) => [name(side), side]));
  });
  for (const row of others) {
    row.sides.forEach((side, at) => {
      const other = side && named[1 - at].get(name(side));
      if (other) side.moved = other.step;
    });
  }
}

// What the passing run does where the two part, for the lanes.
function partingText(beside) {
  const first = beside.right[0];
  return `here the nearest passing run differs: ${brief(first.shown, 40)} does ${brief(first.text, 80)}`;
}

function besideCell(model, side, at, actions) {
  if (!side) return element("td", { class: "side" });
  const operation = side.operations[0];
  const place = operation ? model.place(operation.place) : null;
  const number = `${side.preempts ? "» " : ""}${side.step}`;
  const where = side.moved < side.step ? "↑ earlier" : "↓ later";
  const run = at ? "failing" : "passing";
  const moved = side.moved === undefined ? null : `${where}, step ${side.moved} of the ${run} run`;
  return element(
    "td",
    { class: "side" },
    side.at === null
      ? element("span", { class: "number" }, number)
      : element(
          "button",
          { type: "button", class: "link", "data-go": side.at, onclick: () => actions.choose(side.at) },
          number,
        ),
    " ",
    element("b", {}, brief(side.shown, 40)),
    " ",
    long(side.text, 120),
    place ? element("small", { title: brief(place.source || "") }, ` ${shortPlace(place.text)}`) : null,
    moved ? element("small", { class: "moved" }, ` ${moved}`) : null,
  );
}

// The pane with the two runs. Without a passing run it is hidden, like its button.
function drawBeside(model, actions) {
  const { beside } = model;
  byId("d-beside").hidden = byId("parts").hidden = !beside;
  if (!beside) return;
  const { passing, from, rows, hidden } = beside;
  const { failure } = model.finding;
  const first = [beside.left[0], beside.right[0]];
  const ends = [failure ? `✗ ${failure.text}` : "✗ fails", "✓ passes"].map((text, at) =>
    element(
      "td",
      { class: at ? "side good" : "side bad" },
      hidden[at] > 0 ? `… ${plural(hidden[at], "more step")}, then ` : "",
      long(text, 120),
    ),
  );
  const head = ["failing run", "", "nearest passing run"].map((name) => element("th", { scope: "col" }, name));
  const body = rows.map((row) =>
    element(
      "tr",
      { class: `kind-${row.kind}`, "data-left": row.sides[0] ? row.sides[0].at : null },
      besideCell(model, row.sides[0], 0, actions),
      element("td", { class: "mark", title: BESIDE_MARKS[row.kind][1] }, BESIDE_MARKS[row.kind][0]),
      besideCell(model, row.sides[1], 1, actions),
    ),
  );
  replace(
    byId("beside"),
    element(
      "p",
      {},
      passing.common ? `Both runs have the first ${plural(passing.common, "step")} in common. At step ` : "At step ",
      toStep(model, from, actions),
      `, the failing run executes a step of ${brief(first[0].shown, 40)}, `,
      `and the passing run a step of ${brief(first[1].shown, 40)}. `,
      "= the same step, ≠ values the same step with other values, ≠ step different steps.",
    ),
    element(
      "table",
      { class: "beside" },
      element("thead", {}, element("tr", {}, head)),
      element("tbody", {}, body, element("tr", { class: "ends" }, ends[0], element("td", { class: "mark" }), ends[1])),
    ),
    passing.replay
      ? element("p", {}, "To replay the passing run: ", element("code", {}, long(passing.replay, 400)))
      : null,
  );
}

// Marks the row of the chosen step.
function markBeside(model, state) {
  if (!model.beside) return;
  for (const row of byId("beside").querySelectorAll("tr[data-left]")) {
    const isNow = Number(row.dataset.left) === state.at;
    if (isNow) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}
