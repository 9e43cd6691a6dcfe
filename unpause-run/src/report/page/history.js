"use strict";
// The page of a checked history: a window of calls as intervals, the chosen call, and the contradiction.
// A history may have 100,000 calls, so only the calls of the window are elements.

// Calls that begin in a window, at most.
const WINDOW = 80;
// Calls that began before the window and have not ended there, at most.
const OPEN = 40;

function readHistory() {
  const finding = JSON.parse(byId("report").textContent);
  if (finding.format !== "unpause check" || !Array.isArray(finding.operations)) throw new Error("it is not a history");
  const calls = finding.operations.map((call, number) => ({
    ...call,
    number,
    end: call.returned === null || call.returned === undefined ? Infinity : call.returned,
  }));
  const order = [...calls].sort((one, other) => one.invoked - other.invoked || one.number - other.number);
  order.forEach((call, at) => (call.at = at));
  const verdict = finding.verdict || {};
  const edges = (verdict.anomaly && verdict.anomaly.edges) || [];
  const part = new Set(verdict.part || []);
  for (const edge of edges) part.add(edge.from).add(edge.to);
  if (verdict.misfit !== undefined && verdict.kind === "violated") part.add(verdict.misfit);
  return { finding, calls, order, verdict, edges, part };
}

function callText(call) {
  return call.result === null || call.result === undefined ? call.op : `${call.op} → ${call.result}`;
}

function clientName(history, client) {
  return brief(history.finding.clients[client] ?? `client ${client}`, 60);
}

// The calls that the filters leave, in the order of their invocations.
function filtered(history, state) {
  if (state.client === null && !state.only) return history.order;
  return history.order.filter(
    (call) => (state.client === null || call.client === state.client) && (!state.only || history.part.has(call.number)),
  );
}

// The calls of the window around the chosen call.
function inWindow(listed, at) {
  const from = Math.max(0, Math.min(at - WINDOW / 2, listed.length - WINDOW));
  const shown = listed.slice(from, from + WINDOW);
  if (!shown.length) return { shown, open: [], left: 0 };
  const begin = shown[0].invoked;
  const open = [];
  let left = 0;
  for (const call of listed.slice(0, from)) {
    if (call.end < begin) continue;
    if (open.length < OPEN) open.push(call);
    else left += 1;
  }
  return { shown, open, left };
}

function drawCalls(history, state, actions) {
  const { listed } = state;
  const at = Math.max(0, listed.indexOf(state.call));
  const { shown, open, left } = inWindow(listed, at);
  const all = [...open, ...shown];
  const begin = shown.length ? shown[0].invoked : 0;
  const end = shown.length ? shown[shown.length - 1].invoked : 0;
  const times = new Set();
  for (const call of all) {
    if (call.invoked >= begin) times.add(call.invoked);
    if (call.end >= begin && call.end <= end) times.add(call.end);
  }
  const ranks = new Map([...times].sort((one, other) => one - other).map((time, rank) => [time, rank]));
  const column = 44;
  const width = (ranks.size + 2) * column;
  const clients = [...new Set(all.map((call) => call.client))].sort((one, other) => one - other);
  const lanes = clients.map((client) =>
    element(
      "div",
      { class: "client" },
      element("span", { class: "who" }, clientName(history, client)),
      element(
        "div",
        { class: "track", style: `width:${width}px` },
        all
          .filter((call) => call.client === client)
          .map((call) => oneCall(history, state, call, ranks, column, width, actions)),
      ),
    ),
  );
  replace(byId("calls"), lanes.length ? lanes : element("p", {}, "no call is left by the filters"));
  const chosen = document.querySelector("#calls [aria-current=true]");
  if (chosen) {
    const box = byId("calls");
    box.scrollLeft = Math.max(0, chosen.offsetLeft - box.clientWidth / 2);
    if (state.focuses) chosen.focus({ preventScroll: true });
  }
  const position = byId("position");
  position.max = String(Math.max(0, listed.length - 1));
  position.value = String(at);
  position.setAttribute("aria-valuetext", `call ${at + 1} of ${listed.length}`);
  byId("count").textContent =
    (listed.length === history.calls.length
      ? plural(listed.length, "call")
      : `${listed.length.toLocaleString("en")} of ${plural(history.calls.length, "call")}`) +
    (left ? `; ${plural(left, "call")} that began earlier and are open here are left out` : "");
}

function oneCall(history, state, call, ranks, column, width, actions) {
  const isOpen = call.end === Infinity;
  const before = !ranks.has(call.invoked);
  const after = !isOpen && !ranks.has(call.end);
  const from = before ? 0 : (ranks.get(call.invoked) + 0.5) * column;
  const to = isOpen || after ? width : (ranks.get(call.end) + 0.5) * column + column / 2;
  const { verdict } = history;
  const isMisfit = verdict.kind === "violated" && verdict.misfit === call.number;
  const marks = `${before ? "◂ " : ""}${isMisfit ? "✗ " : ""}`;
  const text = `${marks}${call.number}: ${callText(call)}${isOpen ? " ⋯" : ""}${after ? " ▸" : ""}`;
  const classes = ["call"];
  if (isMisfit) classes.push("bad");
  else if (history.part.has(call.number)) classes.push("part");
  if (isOpen || after) classes.push("open");
  return element(
    "button",
    {
      type: "button",
      class: classes.join(" "),
      id: `c${call.number}`,
      "aria-current": call === state.call ? "true" : null,
      title: brief(text, 2000),
      style: `left:${from}px;width:${Math.max(column / 2, to - from)}px`,
      onclick: () => actions.choose(call),
    },
    brief(text, 100),
  );
}

function toCall(history, number, actions) {
  const call = history.calls[number];
  if (!call) return String(number);
  return element(
    "button",
    { type: "button", class: "link", onclick: () => actions.choose(call) },
    `call ${number}`,
  );
}

function rows(pairs) {
  return pairs
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
}

function drawCall(history, state, actions) {
  const { call } = state;
  if (!call) {
    replace(byId("call"), element("p", {}, "no call is chosen"));
    return;
  }
  const { verdict } = history;
  const isMisfit = verdict.kind === "violated" && verdict.misfit === call.number;
  const lines = (call.lines || []).filter((line) => line !== null && line !== undefined);
  const place = verdict.order ? verdict.order.indexOf(call.number) : -1;
  const edges = history.edges.filter((edge) => edge.from === call.number || edge.to === call.number);
  replace(
    byId("call"),
    element(
      "dl",
      {},
      rows([
        ["call", `${call.number}${isMisfit ? ", which fits nowhere" : ""}`],
        ["client", clientName(history, call.client)],
        ["operation", long(call.op)],
        ["result", call.end === Infinity ? "it has not returned" : long(call.result ?? "")],
        ["invoked", String(call.invoked)],
        ["returned", call.end === Infinity ? null : String(call.end)],
        ["lines", lines.length ? `${brief(history.finding.file, 200)}:${lines.join(" and :")}` : null],
        ["in the order", place >= 0 ? `number ${place + 1} of ${verdict.order.length}` : null],
      ]),
    ),
    edges.length ? edgeList(history, edges, actions) : null,
  );
}

function edgeList(history, edges, actions) {
  return element(
    "ul",
    { class: "links" },
    edges.map((edge) =>
      element(
        "li",
        {},
        toCall(history, edge.from, actions),
        " comes before ",
        toCall(history, edge.to, actions),
        ": ",
        long(edge.why),
      ),
    ),
  );
}

function drawContradiction(history, actions) {
  const { verdict } = history;
  const box = byId("d-contradiction");
  box.hidden = verdict.kind !== "violated";
  if (box.hidden) return;
  const listed = [...history.part].sort((one, other) => history.calls[one].at - history.calls[other].at);
  const partial = (verdict.partial || []).slice(0, 3).map((order) =>
    element(
      "p",
      {},
      `an order of ${plural(order.length, "call")} that ends before it: `,
      order.length > 60 ? "… " : "",
      order.slice(-60).map((number) => [toCall(history, number, actions), " "]),
    ),
  );
  replace(
    byId("contradiction"),
    verdict.anomaly ? element("p", {}, element("b", {}, brief(verdict.anomaly.name, 80)), ": ", long(verdict.anomaly.text, 600)) : null,
    history.edges.length ? edgeList(history, history.edges, actions) : null,
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ["call", "client", "operation and result"].map((name) => element("th", {}, name)))),
      element(
        "tbody",
        {},
        listed.slice(0, 200).map((number) =>
          element(
            "tr",
            {},
            element("td", {}, toCall(history, number, actions), number === verdict.misfit ? " ✗" : ""),
            element("td", {}, clientName(history, history.calls[number].client)),
            element("td", {}, element("code", {}, long(callText(history.calls[number])))),
          ),
        ),
      ),
    ),
    listed.length > 200 ? element("p", {}, `${plural(listed.length - 200, "more call")}: the filter shows them all`) : null,
    partial,
    (verdict.partial || []).length > 3 ? element("p", {}, `and ${plural(verdict.partial.length - 3, "more order")}`) : null,
  );
}

function drawOrder(history, actions) {
  const { order } = history.verdict;
  byId("d-order").hidden = !(order && order.length);
  if (byId("d-order").hidden) return;
  replace(
    byId("order"),
    element("p", {}, `one order of the ${plural(order.length, "call")} that explains all results:`),
    element("p", {}, order.slice(0, 500).map((number) => [toCall(history, number, actions), " "])),
    order.length > 500 ? element("p", {}, `and ${plural(order.length - 500, "more call")}`) : null,
  );
}

function drawHeader(history, actions) {
  const { finding, verdict } = history;
  byId("title").textContent = visible(`${finding.file}: ${finding.condition} (${finding.model})`);
  const isBad = verdict.kind === "violated";
  const failure = byId("failure");
  failure.className = isBad ? "bad" : verdict.kind === "consistent" ? "good" : "";
  failure.textContent = isBad ? "violated" : verdict.kind === "consistent" ? "consistent" : visible(verdict.text || "undecided");
  const misfit = isBad ? history.calls[verdict.misfit] : null;
  replace(
    byId("why"),
    rows([
      ["fits nowhere", misfit ? [toCall(history, misfit.number, actions), " ", long(callText(misfit))] : null],
      ["it may return", verdict.expected && verdict.expected.length ? long(verdict.expected.join(" or ")) : null],
      ["state", verdict.state ? long(verdict.state) : null],
      ["decided by", verdict.engine ? brief(verdict.engine, 120) : null],
    ]),
  );
  const notes = [...(finding.notes || []), ...(finding.remark ? [finding.remark] : [])];
  byId("d-notes").hidden = !notes.length;
  replace(byId("notes"), notes.map((note) => element("p", {}, long(note, 600))));
  byId("screen").textContent = (finding.screen || []).map(visible).join("\n");
}

function drawHistoryPage() {
  const history = readHistory();
  const { verdict } = history;
  const state = { client: null, only: false, listed: history.order, call: null, focuses: false };
  const actions = {};
  const draw = () => {
    drawCalls(history, state, actions);
    drawCall(history, state, actions);
    byId("at").textContent = state.call ? `call ${state.call.number}` : "no call";
    const at = state.listed.indexOf(state.call);
    for (const id of ["first", "back"]) byId(id).disabled = at <= 0;
    for (const id of ["forth", "last"]) byId(id).disabled = at < 0 || at === state.listed.length - 1;
  };
  // A call that the filters have removed is shown without them.
  actions.choose = (call) => {
    if (!state.listed.includes(call)) actions.filter({ client: null, only: false });
    state.call = call;
    draw();
    if (window.history.replaceState) window.history.replaceState(null, "", `#c=${call.number}`);
  };
  actions.filter = (wanted) => {
    Object.assign(state, wanted);
    state.listed = filtered(history, state);
    byId("client").value = state.client === null ? "" : String(state.client);
    byId("only").checked = state.only;
    if (!state.listed.includes(state.call)) {
      const after = state.call ? state.listed.find((call) => call.at >= state.call.at) : undefined;
      state.call = after || state.listed[state.listed.length - 1] || state.call;
    }
    draw();
  };
  const move = (by) => {
    const at = state.listed.indexOf(state.call);
    const to = Math.max(0, Math.min(state.listed.length - 1, at + by));
    if (state.listed[to] && to !== at) actions.choose(state.listed[to]);
  };
  const misfit = verdict.kind === "violated" ? history.calls[verdict.misfit] : null;
  const ofPart = [...history.part].map((number) => history.calls[number]).filter(Boolean);
  ofPart.sort((one, other) => one.at - other.at);
  const nextOfPart = () => {
    const here = state.call ? state.call.at : -1;
    const next = ofPart.find((call) => call.at > here) || ofPart[0];
    if (next) actions.choose(next);
  };
  const find = () => {
    const text = byId("q").value.toLowerCase();
    if (!text) return;
    const at = state.listed.indexOf(state.call);
    for (let step = 1; step <= state.listed.length; step += 1) {
      const call = state.listed[(at + step + state.listed.length) % state.listed.length];
      if (callText(call).toLowerCase().includes(text) || String(call.number) === text) {
        actions.choose(call);
        return;
      }
    }
    byId("count").textContent = `no call has the text ${brief(byId("q").value, 60)}`;
  };
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  on("first", "click", () => move(-Infinity));
  on("last", "click", () => move(Infinity));
  on("back", "click", () => move(-1));
  on("forth", "click", () => move(1));
  on("misfit", "click", () => misfit && actions.choose(misfit));
  on("part", "click", nextOfPart);
  on("clear", "click", () => actions.filter({ client: null, only: false }));
  on("only", "change", () => actions.filter({ only: byId("only").checked }));
  on("client", "change", () => actions.filter({ client: byId("client").value === "" ? null : Number(byId("client").value) }));
  on("position", "input", () => {
    const call = state.listed[Number(byId("position").value)];
    if (call) actions.choose(call);
  });
  on("q", "keydown", (event) => {
    if (event.key === "Enter") find();
    if (event.key === "Escape") byId("q").blur();
    event.stopPropagation();
  });
  byId("misfit").disabled = !misfit;
  byId("part").disabled = !ofPart.length;
  byId("only").disabled = !ofPart.length;
  const clients = [...new Set(history.calls.map((call) => call.client))].sort((one, other) => one - other);
  replace(
    byId("client"),
    element("option", { value: "" }, "all"),
    clients.slice(0, 2000).map((client) => element("option", { value: client }, clientName(history, client))),
    clients.length > 2000 ? element("option", { disabled: true }, `${plural(clients.length - 2000, "more client")}`) : null,
  );
  const keys = {
    ArrowLeft: () => move(-1),
    ArrowRight: () => move(1),
    PageUp: () => move(-WINDOW / 2),
    PageDown: () => move(WINDOW / 2),
    Home: () => move(-Infinity),
    End: () => move(Infinity),
    m: () => misfit && actions.choose(misfit),
    n: nextOfPart,
    Escape: () => actions.filter({ client: null, only: false }),
    "/": () => byId("q").focus(),
  };
  document.addEventListener("keydown", (event) => {
    const own = event.target instanceof HTMLSelectElement || event.target === byId("position");
    if (own || event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    state.focuses = event.key !== "/";
    keys[event.key]();
    state.focuses = false;
  });
  drawHeader(history, actions);
  drawContradiction(history, actions);
  drawOrder(history, actions);
  const asked = /^#c=(\d+)$/.exec(window.location.hash);
  state.call = (asked && history.calls[Number(asked[1])]) || misfit || ofPart[0] || history.order[0] || null;
  draw();
}

try {
  drawHistoryPage();
} catch (error) {
  byId("title").textContent = "This page has no history";
  byId("failure").textContent = visible(`The history in this page cannot be read: ${error.message}`);
}
