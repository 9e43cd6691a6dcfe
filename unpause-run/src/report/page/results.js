"use strict";
// What the report says about the run as a whole: cause and remedy, the chance of failure as a curve, the history.

// Only a share of exactly 0 is shown as 0, and only a share of exactly 1 as 1.
function shareText(share, runs) {
  if (share > 0 && share < 0.005) return "<.01";
  if (share < 1 && share >= 0.995) return ">.99";
  const text = share <= 0 ? "0" : share >= 1 ? "1" : share.toFixed(2).slice(1);
  return runs ? `~${text}` : text;
}

// The chance of failure after so many steps, as the column P has it.
function chanceText(model, after) {
  const chance = model.chances.get(after);
  if (!chance) return "";
  return shareText(chance.share, chance.runs) + (model.why.marks.includes(after - 1) ? " ◂" : "");
}

function chanceInWords(model, after) {
  const chance = model.chances.get(after);
  if (!chance) return null;
  const { share, runs } = chance;
  const rounded = (100 * share).toFixed(1);
  const isLimit = (share > 0 && rounded === "0.0") || (share < 1 && rounded === "100.0");
  const percent = isLimit ? (share < 0.5 ? "less than 0.1" : "more than 99.9") : rounded.replace(/\.0$/, "");
  const basis = runs ? `sampled by ${plural(runs, "run")}` : "exactly";
  const stores = model.why.newest_stores ? " with the newest stores" : "";
  return `${percent} % of all schedules${stores} fail after this step, ${basis}`;
}

function operationText(model, op, index) {
  const place = model.place(index);
  return `\`${brief(op, 60)}\` (${place ? shortPlace(place.text) : "?"})`;
}

function regionText(model, region) {
  const { from_op, from, to_op, to } = region;
  return `${operationText(model, from_op, from)} and ${operationText(model, to_op, to)}`;
}

// What the remedy changes: the order of two operations, or regions that become one step.
function changeText(model, remedy) {
  if (!remedy.order) {
    return `as one step, ${remedy.regions.map((region) => regionText(model, region)).join("; ")}`;
  }
  const { early_op, early, late_op, late, times } = remedy.order;
  const often = times === 1 ? "" : ` ${plural(times, "time")}`;
  return `${operationText(model, early_op, early)}${often} before ${operationText(model, late_op, late)}`;
}

// Cause and remedy at the top.
function drawWhy(model, actions) {
  const { why, run } = model;
  const pairs = [];
  const pattern = model.finding.pattern ? `${brief(model.finding.pattern, 40)}: ` : "";
  if (why.cause) {
    const events = new Map(run.events.map((event) => [event.event, event]));
    // A report of an earlier version has no decisive events.
    const { decisive, between } = why.cause;
    const known = (decisive || between).map((index) => events.get(index)).filter(Boolean);
    const told = decisive ? known : known.filter((event) => event.sign !== "T");
    const shown = (told.length ? told : known)
      .slice(0, 3)
      .map((event, at, all) => [
        at === 0 ? "" : at === all.length - 1 ? " and " : ", ",
        `\`${brief(event.text, 80)}\` of ${brief(taskName(model, event.task), 60)} (step `,
        event.at === undefined ? String(event.step) : toStep(model, event.at, actions),
        ")",
      ]);
    const whose = `of ${brief(taskName(model, why.cause.task), 60)}`;
    pairs.push([
      "cause",
      [
        `${pattern}between ${regionText(model, why.cause.region)} ${whose} `,
        shown.length ? ["came ", shown] : "another task continued",
      ],
    ]);
  } else if (pattern) {
    pairs.push(["cause", brief(model.finding.pattern, 40)]);
  }
  if (why.remedy) {
    const { remedy } = why;
    // The runs that failed are runs without the remedy: with the remedy none failed.
    const passed =
      remedy.kind === "counted"
        ? `0 of ${plural(remedy.runs || 0, "run")} like this one fail (now ${remedy.failed || 0} of ${remedy.of || 0})`
        : remedy.interleavings === null
          ? `all ${plural(remedy.runs || 0, "run")} with at most ${plural(remedy.preemptions || 0, "preemption")} pass`
          : `all ${plural(remedy.interleavings, "interleaving")}${remedy.order ? " that keep it" : ""} pass`;
    const stores = why.newest_stores ? ", with the newest stores" : "";
    pairs.push(["remedy", `${changeText(model, remedy)}${stores}: ${passed}`]);
  }
  if (why.no_return) {
    const at = model.atOf.get(why.no_return.after - 1);
    const stores = why.newest_stores ? " with the newest stores" : "";
    pairs.push([
      "no way back",
      at === undefined
        ? why.no_return.after
          ? `every schedule${stores} fails after step ${why.no_return.after - 1}`
          : `it fails in every run${stores}`
        : [
            `every schedule${stores} fails after step `,
            toStep(model, at, actions),
            `, shown by ${plural(why.no_return.interleavings, "interleaving")}`,
          ],
    ]);
  }
  replace(byId("why"), rowsOfTable(pairs));
}

// The curve of the chance: circles are sampled, squares exact, triangles are jumps.
function drawChance(model, state, actions) {
  const { chances, marks } = model.why;
  byId("d-chance").hidden = !chances.length;
  if (!chances.length) return;
  const [width, height, left, base] = [600, 150, 34, 126];
  const end = Math.max(...chances.map((chance) => chance.after), 1);
  const x = (after) => left + ((width - left - 12) * after) / end;
  const y = (share) => base - (base - 12) * share;
  const points = chances.map((chance) => `${x(chance.after)} ${y(chance.share)}`);
  const text = (at, top, words, anchor) => drawn("text", { x: at, y: top, "text-anchor": anchor || "middle" }, words);
  const number = model.steps[state.at].step + 1;
  const shapes = [0, 0.5, 1].flatMap((share) => [
    drawn("path", { d: `M${left} ${y(share)}H${width - 12}`, class: "axis" }),
    text(left - 5, y(share) + 4, String(share), "end"),
  ]);
  shapes.push(
    drawn("path", { d: `M${x(number)} 8V${base}`, class: "cursor" }),
    text(Math.min(x(number), width - 40), 146, `step ${number - 1}`),
  );
  shapes.push(drawn("path", { d: `M${points.join("L")}`, class: "curve" }));
  for (const chance of chances) {
    const at = model.atOf.get(chance.after - 1);
    const [px, py] = [x(chance.after), y(chance.share)];
    const shape = chance.runs
      ? drawn("circle", { cx: px, cy: py, r: 3.5, class: "sampled" })
      : drawn("rect", { x: px - 3.5, y: py - 3.5, width: 7, height: 7, class: "exact" });
    const title = drawn("title", {}, `after ${plural(chance.after, "step")}: ${shareText(chance.share, chance.runs)}`);
    shape.append(title);
    if (at !== undefined) shape.addEventListener("click", () => actions.choose(at));
    shapes.push(shape);
    if (marks.includes(chance.after - 1)) shapes.push(text(px - 9, py + 4, "▸"));
  }
  const worst = chances[chances.length - 1];
  const share = (chance) => shareText(chance.share, chance.runs);
  const label = `Chance of failure: ${share(chances[0])} at first, ${share(worst)} after ${plural(worst.after, "step")}`;
  const jumps = marks
    .filter((step) => model.atOf.has(step))
    .map((step) => [toStep(model, model.atOf.get(step), actions), " "]);
  replace(
    byId("chance"),
    drawn("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": label }, ...shapes),
    element("p", {}, `${label}. ■ exact, ○ sampled`, jumps.length ? [", ▸ a jump, at step ", jumps] : ""),
  );
}

// The histories: calls as intervals in the order of their times, and the call that fits nowhere.
function drawHistory(model) {
  const { histories } = model.run;
  byId("d-history").hidden = !histories.length;
  replace(
    byId("history"),
    histories.map((history, index) => oneHistory(model, history, index, false, CALLS)),
  );
}

// Calls that are shown at first, and that each click adds.
const CALLS = 600;

// A history. Of a contradiction it has only the calls that belong to it, unless `whole`, and at most `most` calls.
function oneHistory(model, history, index, whole, most) {
  const failure = model.finding.failure;
  const judged = failure && failure.history && failure.history.history === index ? failure.history : null;
  const verdict = (judged && judged.verdict) || history.verdict || {};
  const part = new Set(verdict.part || []);
  const all = history.operations.map((operation, number) => ({ ...operation, number }));
  const cut = part.size > 0 && part.size < all.length && !whole;
  const listed = cut ? all.filter((one) => part.has(one.number)) : all;
  const shown = listed.filter((one, at) => at < most || one.number === verdict.misfit);
  const left = listed.length - shown.length;
  const other = (text, ...wanted) =>
    element(
      "button",
      { type: "button", class: "more", onclick: () => box.replaceWith(oneHistory(model, history, index, ...wanted)) },
      text,
    );
  const times = [...new Set(shown.flatMap((one) => [one.invoked, one.returned ?? Infinity]))].sort(
    (one, other) => one - other,
  );
  const rank = new Map(times.map((time, at) => [time, at]));
  const clients = [...new Set(shown.map((one) => one.client))].sort((one, other) => one - other);
  const column = shown.length > 60 ? 34 : 64;
  const lanes = clients.map((client) =>
    element(
      "div",
      { class: "client" },
      element("span", { class: "who" }, brief(history.clients[client] ?? `client ${client}`, 60)),
      element(
        "div",
        { class: "track", style: `width:${times.length * column}px` },
        shown.filter((one) => one.client === client).map((one) => interval(one, verdict, rank, column)),
      ),
    ),
  );
  const box = element(
    "div",
    { class: "history" },
    element(
      "h3",
      {},
      `${brief(history.model, 80)}: ${judged ? `${brief(judged.condition, 60)} ` : ""}${brief(verdict.kind || "not judged", 60)}`,
    ),
    element(
      "p",
      {},
      `${shown.length < all.length ? `${shown.length.toLocaleString("en")} of ` : ""}${plural(all.length, "call")}. `,
      "Time goes from left to right. ✗ fits nowhere, ⋯ has not returned. ",
      cut ? other("all calls", true, CALLS) : null,
      left ? [" ", other(plural(Math.min(left, CALLS), "more call"), whole, most + CALLS)] : null,
    ),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "calls of clients" }, lanes),
    verdict.misfit !== undefined && history.operations[verdict.misfit]
      ? element(
          "p",
          { class: "misfit" },
          `✗ call ${verdict.misfit} fits nowhere: `,
          long(callText(history.operations[verdict.misfit])),
          verdict.expected && verdict.expected.length ? [". It may return ", long(verdict.expected.join(" or "))] : "",
          verdict.state ? [". The state is ", long(verdict.state)] : "",
        )
      : null,
    verdict.anomaly
      ? [
          element("p", {}, element("b", {}, brief(verdict.anomaly.name, 80)), ": ", long(verdict.anomaly.text, 600)),
          element(
            "ul",
            {},
            verdict.anomaly.edges.map((edge) =>
              element("li", {}, `call ${edge.from} → call ${edge.to}: `, long(edge.why)),
            ),
          ),
        ]
      : null,
    verdict.order && verdict.order.length
      ? element(
          "p",
          {},
          `an order that explains the most: ${verdict.order
            .slice(0, 200)
            .map((one) => `call ${one}`)
            .join(", ")}${verdict.order.length > 200 ? ` and ${verdict.order.length - 200} more` : ""}`,
        )
      : null,
    history.remark ? element("p", {}, long(history.remark)) : null,
  );
  return box;
}

function callText(call) {
  return call.result === null || call.result === undefined ? call.op : `${call.op} → ${call.result}`;
}

function interval(call, verdict, rank, column) {
  const isMisfit = verdict.misfit === call.number;
  const isOpen = call.returned === null || call.returned === undefined;
  const from = rank.get(call.invoked);
  const to = rank.get(isOpen ? Infinity : call.returned);
  const text = `${isMisfit ? "✗ " : ""}${call.number}: ${callText(call)}${isOpen ? " ⋯" : ""}`;
  return element(
    "span",
    {
      class: `call${isMisfit ? " bad" : ""}${isOpen ? " open" : ""}`,
      tabindex: "0",
      title: brief(text, 2000),
      style: `left:${from * column}px;width:${Math.max(1, to - from) * column + column / 2}px`,
    },
    brief(text, 100),
  );
}

// The commands of generated programs, each with the steps in which it ran.
function drawPrograms(model, actions) {
  const { programs } = model.run;
  byId("d-programs").hidden = !programs.length;
  replace(
    byId("programs"),
    programs.map((program) => {
      const commands = program.commands.filter((command) => command.fate !== "absent" && command.label);
      const rows = commands.slice(0, 200).map((command) => {
        const { ran } = command;
        const [from, to] = ran ? [model.atOf.get(ran.first_step), model.atOf.get(ran.last_step)] : [];
        const steps = [from, to].filter((at) => at !== undefined).map((at) => [toStep(model, at, actions), " "]);
        return element(
          "tr",
          {},
          element("td", {}, brief(command.part, 40)),
          element("td", {}, element("code", {}, long(command.label, 120))),
          element("td", {}, ran ? `${brief(taskName(model, ran.task), 60)}, steps ` : brief(command.fate, 40), steps),
        );
      });
      return [
        element("h3", {}, `${brief(program.model, 80)}: ${plural(commands.length, "command")}`),
        element("table", {}, element("tbody", {}, rows)),
        commands.length > 200 ? element("p", {}, `and ${plural(commands.length - 200, "more command")}`) : null,
      ];
    }),
  );
}
