"use strict";
// The state of the page, its buttons and keys. The address after `#` has the state: step, task, object, crate, q, all,
// lanes and arrows.

let report = null;
let model = null;
let initialMode = "tasks";
const state = {
  at: 0,
  q: "",
  task: null,
  object: null,
  crate: "",
  all: false,
  mode: "tasks",
  arrows: "step",
  opened: new Set(),
};
const FILTERS = ["q", "task", "object", "crate"];
let lanes = null;

const actions = {
  // Goes to a step. A step that the filters or a fold hide is shown.
  choose(at) {
    if (!model.steps[at]) return;
    state.at = at;
    if (!lanes.rowOf.has(at)) {
      Object.assign(state, { q: "", task: null, object: null, crate: "" });
      lanes.draw();
    }
    if (lanes.rows[lanes.rowOf.get(at)].kind === "gap") {
      for (let one = at - 3; one <= at + 3; one += 1) state.opened.add(one);
      lanes.draw();
    }
    lanes.reveal();
    lanes.mark();
    update();
  },
  filter(change) {
    Object.assign(state, change);
    lanes.draw();
    const steps = shownSteps();
    if (steps.length && !steps.includes(state.at)) state.at = nearest(steps, state.at);
    lanes.mark();
    lanes.reveal();
    update();
  },
};

function shownSteps() {
  return lanes.rows.filter((row) => row.kind === "step").map((row) => row.at);
}

function nearest(steps, at) {
  return steps.reduce((best, one) => (Math.abs(one - at) < Math.abs(best - at) ? one : best), steps[0]);
}

// Opens the steps of a fold, many at a time.
function open(gap) {
  for (let at = gap.from; at <= Math.min(gap.to, gap.from + 499); at += 1) state.opened.add(at);
  lanes.draw();
  actions.choose(gap.from);
}

// Goes some rows on, and over gaps.
function move(by) {
  const steps = shownSteps();
  if (!steps.length) return;
  let index = steps.findIndex((at) => at >= state.at);
  if (index < 0) index = steps.length - 1;
  actions.choose(steps[Math.max(0, Math.min(steps.length - 1, index + by))]);
}

// Goes to the next or previous step that the function accepts. Folded steps count.
function seek(by, accepts) {
  const steps = isFiltered(state) ? shownSteps() : model.steps.map((step) => step.at);
  const all = by > 0 ? steps.filter((at) => at > state.at) : steps.filter((at) => at < state.at).reverse();
  const found = all.find((at) => accepts(model.steps[at]));
  if (found !== undefined) actions.choose(found);
}

// Goes to the first step that differs from the nearest passing run.
function part() {
  if (!model.beside) return;
  actions.choose(model.beside.from);
  byId("d-beside").open = true;
  byId("d-beside").scrollIntoView({ block: "nearest" });
}

// The panes, the fields and the address.
function update() {
  const step = model.steps[state.at];
  byId("at").textContent = `step ${step.step} of 0 to ${model.run.step_count - 1}`;
  drawStep(model, state, actions);
  drawObjects(model, state, actions);
  drawLocks(model, state, actions);
  drawChance(model, state, actions);
  drawSource(model, state, actions);
  markBeside(model, state);
  byId("q").value = state.q;
  for (const name of ["task", "object"]) byId(name).value = state[name] === null ? "" : String(state[name]);
  byId("crate").value = state.crate;
  byId("all").checked = state.all;
  byId("mode").value = state.mode;
  byId("arrows").value = state.arrows;
  byId("clear").disabled = !isFiltered(state);
  const parts = new URLSearchParams({ step: step.step });
  for (const name of FILTERS) if (state[name] !== null && state[name] !== "") parts.set(name, state[name]);
  if (state.all) parts.set("all", "1");
  if (state.mode !== initialMode) parts.set("lanes", state.mode);
  if (state.arrows !== "step") parts.set("arrows", state.arrows);
  const address = `#${parts}`;
  if (location.hash !== address) history.replaceState(null, "", address);
}

// Takes the state from the address.
function fromAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const index = (name, all) => {
    const number = Number.parseInt(parts.get(name) ?? "", 10);
    return number >= 0 && number < all.length ? number : null;
  };
  state.task = index("task", model.run.tasks);
  state.object = index("object", model.run.objects);
  state.crate = model.crates.includes(parts.get("crate")) ? parts.get("crate") : "";
  state.q = parts.get("q") ?? "";
  state.all = parts.get("all") === "1";
  state.mode = parts.get("lanes") === "tasks" ? "tasks" : parts.get("lanes") === "nodes" ? "nodes" : initialMode;
  state.arrows = ["all", "none"].includes(parts.get("arrows")) ? parts.get("arrows") : "step";
  lanes.draw();
  const at = model.atOf.get(Number.parseInt(parts.get("step") ?? "", 10));
  if (at !== undefined) state.at = at;
  // Filters of the address stay: the nearest step is chosen.
  if (at === undefined || !lanes.rowOf.has(at)) actions.filter({});
  else actions.choose(at);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const field = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    byId("tip").hidden = true;
    if (isFiltered(state)) actions.filter({ q: "", task: null, object: null, crate: "" });
    byId("lanes").focus({ preventScroll: true });
    return;
  }
  if (field && field.type !== "checkbox") return;
  // Panes that scroll keep the keys that scroll them.
  const scrolls = event.target.closest("pre, .scroll");
  const run = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ArrowRight: () => move(1),
    ArrowLeft: () => move(-1),
    PageDown: () => move(10),
    PageUp: () => move(-10),
    Home: () => move(-Infinity),
    End: () => move(Infinity),
    n: () => seek(1, (step) => step.preempts),
    p: () => seek(-1, (step) => step.preempts),
    c: () => seek(1, (step) => [...step.into, ...step.out].some((edge) => edge.kind === "conflict")),
    d: part,
    a: () => actions.filter({ all: !state.all }),
    "/": () => byId("q").focus(),
    "?": () => byId("help").click(),
  }[event.key];
  if (!run || (scrolls && event.key.length > 1)) return;
  event.preventDefault();
  run();
}

function options(select, pairs) {
  replace(
    select,
    element("option", { value: "" }, "all"),
    pairs.map(([value, text]) => element("option", { value }, brief(text, 60))),
  );
}

function fields() {
  const { run } = model;
  const used = new Set(model.steps.map((step) => step.task));
  options(
    byId("task"),
    run.tasks.map((task, index) => [index, task.shown]).filter(([index]) => used.has(index)),
  );
  const loud = new Set(run.events.filter((event) => !event.quiet).map((event) => event.object));
  const objects = run.objects.map((object, index) => [index, object.shown]);
  options(
    byId("object"),
    objects.filter(([index]) => model.values[index].length || loud.has(index)),
  );
  const crates = new Set(run.events.map((event) => model.crates[event.place]).filter(Boolean));
  options(
    byId("crate"),
    [...crates].sort().map((name) => [name, name]),
  );
  const number = (text) => (text === "" ? null : Number(text));
  byId("q").addEventListener("input", (event) => actions.filter({ q: event.target.value }));
  byId("task").addEventListener("change", (event) => actions.filter({ task: number(event.target.value) }));
  byId("object").addEventListener("change", (event) => actions.filter({ object: number(event.target.value) }));
  byId("crate").addEventListener("change", (event) => actions.filter({ crate: event.target.value }));
  byId("all").addEventListener("change", (event) => actions.filter({ all: event.target.checked }));
  byId("mode").addEventListener("change", (event) => actions.filter({ mode: event.target.value }));
  byId("arrows").addEventListener("change", (event) => actions.filter({ arrows: event.target.value }));
  const buttons = {
    first: () => move(-Infinity),
    back: () => move(-1),
    forth: () => move(1),
    last: () => move(Infinity),
    before: () => seek(-1, (step) => step.preempts),
    after: () => seek(1, (step) => step.preempts),
    parts: part,
    clear: () => actions.filter({ q: "", task: null, object: null, crate: "" }),
  };
  for (const [id, run] of Object.entries(buttons)) byId(id).addEventListener("click", run);
  byId("by").hidden = !run.tasks.some((task) => task.node);
}

function about() {
  const { finding } = report;
  const command = (name, text) => [name, text ? element("code", {}, long(text, 400)) : null];
  replace(
    byId("about"),
    element(
      "dl",
      {},
      rowsOfTable([
        ["test", long(report.test)],
        ["package", long(report.package)],
        ["runs", `${plural(report.runs, "run")}, ${plural(report.steps, "step")}`],
        ["seeds", report.seeds ? `${report.seeds.first} to ${report.seeds.last}` : null],
        [
          "settings",
          report.settings.length ? report.settings.map((one) => `${one.name}=${one.value}`).join(", ") : "the defaults",
        ],
        ["strategy", finding ? finding.run.strategy : null],
        command("trace", finding && finding.trace_file),
        command("replay", finding && finding.replay),
        command("record", finding && finding.record),
        ["unpause", report.by],
      ]),
    ),
    [...report.warnings, ...report.notes].map((text) => element("p", {}, long(text, 600))),
    finding && finding.run.output ? element("pre", { tabindex: "0" }, visibleLines(finding.run.output)) : null,
  );
  byId("screen").textContent = report.screen.lines
    .map((line) => visible(line.map((piece) => piece[1]).join("")))
    .join("\n");
}

function head() {
  const { finding } = report;
  const failure = finding && finding.failure;
  // These failures concern all runs.
  const isOfAll = failure && ["too seldom", "unproven"].includes(failure.kind);
  const seed = finding && !isOfAll && !report.real_threads ? `  seed ${finding.run.seed}` : "";
  document.title = brief(`${failure ? "FAILED" : "passed"} ${report.test}`, 120);
  replace(
    byId("title"),
    element("b", { class: failure ? "bad" : "good" }, failure ? "✗ FAILED" : "✓ passed"),
    ` ${brief(report.test, 200)}${seed}`,
  );
  replace(byId("failure"), failure ? long(failure.text, 600) : "the test passed, so there is no run to show");
}

// Draws the whole page.
function drawPage() {
  report = JSON.parse(byId("report").textContent);
  model = modelOf(report);
  initialMode = model && model.run.tasks.some((task) => task.node) ? "nodes" : "tasks";

  head();
  about();
  drawSearch(report);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("lanes").focus();
  });
  byId("help").addEventListener("click", () => {
    const legend = byId("legend");
    legend.hidden = !legend.hidden;
    byId("help").setAttribute("aria-expanded", String(!legend.hidden));
  });
  if (model) {
    lanes = new Lanes(model, state, actions.choose, open);
    state.at = model.steps.length - 1;
    fields();
    drawWhy(model, actions);
    drawHistory(model);
    drawPrograms(model, actions);
    drawBeside(model, actions);
    fromAddress();
    document.addEventListener("keydown", keys);
    addEventListener("hashchange", fromAddress);
    let timer = 0;
    addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        lanes.draw();
        lanes.reveal();
        lanes.mark();
      }, 100);
    });
  } else {
    // Runs on real threads have no steps, but they may have a history.
    const { finding } = report;
    if (finding) drawHistory({ finding, run: finding.run });
    const panes = ["bar", "run", "d-beside", "d-programs", "d-locks", "d-chance", ...(finding ? [] : ["d-history"])];
    for (const id of panes) byId(id).hidden = true;
    document.querySelector("main").classList.add("alone");
    document.querySelectorAll("#side > section, #side > details:not([id])").forEach((one, index, all) => {
      one.hidden = index < all.length - 2;
      if (index === all.length - 1) one.open = true;
    });
  }
}

try {
  drawPage();
} catch (error) {
  byId("title").textContent = "This page has no report";
  byId("failure").textContent = visible(`The report in this page cannot be read: ${error.message}`);
}
