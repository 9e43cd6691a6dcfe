"use strict";
// The picture of the run: a row for each step, a lane for each task or node, arrows between them.

const ROW = 22;
const GUTTER = 92;
const DRAWN_MAX = 1500;
// Of several signs of a step the one that tells most.
const TELLING = ["!", "M", "S", "J", "L", "U", "W", "F", "R", "T"];

class Lanes {
  constructor(model, state, choose, open) {
    Object.assign(this, { model, state, choose, open });
    this.scroll = byId("scroll");
    this.list = byId("lanes");
    this.head = byId("head");
    this.tip = byId("tip");
    this.scroll.addEventListener("scroll", () => this.isPartial && this.slice());
    this.list.addEventListener("click", (event) => this.clicked(event));
    this.list.addEventListener("mouseover", (event) => this.hover(event));
    this.list.addEventListener("mouseleave", () => {
      this.tip.hidden = true;
    });
  }

  // Draws all anew: after a filter, and when the window has another width.
  draw() {
    const { model, state } = this;
    this.rows = rowsOf(model, state);
    this.rowOf = new Map();
    this.rows.forEach((row, index) => {
      if (row.kind === "step") this.rowOf.set(row.at, index);
      if (row.kind === "gap") for (let at = row.from; at <= row.to; at += 1) this.rowOf.set(at, index);
    });
    Object.assign(this, lanesOf(model, state, this.rows));
    const hasChances = model.chances.size > 0;
    const room = this.scroll.clientWidth - GUTTER - (hasChances ? 60 : 0) - 20;
    const count = Math.max(this.names.length, 1);
    const place = room / count > 200 ? 170 : 0;
    this.width = Math.max(130, Math.min(420, Math.floor((room - place) / count)));
    const columns = `${GUTTER}px repeat(${count}, ${this.width}px) ${hasChances ? "60px" : "0"} ${place}px`;
    this.list.style.setProperty("--columns", columns);
    this.head.style.setProperty("--columns", columns);
    const total = GUTTER + count * this.width + (hasChances ? 60 : 0) + place;
    this.total = total;
    const guides = this.names.map((_, lane) => `${GUTTER + lane * this.width + 8}px 0/1px 100% no-repeat`);
    const paint = "linear-gradient(var(--line),var(--line))";
    this.list.style.background = guides.map((guide) => `${paint} ${guide}`).join(",");
    this.list.style.width = this.head.style.width = `${total}px`;
    this.list.style.height = `${this.rows.length * ROW}px`;
    this.hasPlace = place > 0;
    replace(
      this.head,
      element("span", { class: "no" }, "step"),
      this.names.map((name) => element("span", { class: "name", title: brief(name) }, brief(name, 80))),
      element("span", { class: "p" }, hasChances ? "P" : ""),
      element("span", { class: "place" }, place ? "place" : ""),
    );
    this.isPartial = this.rows.length > DRAWN_MAX;
    this.drawnFrom = null;
    this.slice();
    const steps = this.rows.filter((row) => row.kind === "step").length;
    const all = model.run.step_count;
    const part = `${steps.toLocaleString("en")} of ${plural(all, "step")}`;
    const folds = this.rows.some((row) => row.kind === "gap");
    byId("count").textContent = isFiltered(state)
      ? `${part} match`
      : folds
        ? `${part}: a click opens what is folded`
        : steps < all
          ? part
          : `${plural(all, "step")}, ${plural(this.names.length, "lane")}`;
  }

  // Puts the rows that can be seen into the page; of fewer rows all.
  slice() {
    let [from, to] = [0, this.rows.length];
    if (this.isPartial) {
      const first = Math.floor(this.scroll.scrollTop / ROW);
      from = Math.max(0, first - 100);
      to = Math.min(this.rows.length, first + Math.ceil(this.scroll.clientHeight / ROW) + 100);
      if (this.drawnFrom !== null && Math.abs(from - this.drawnFrom) < 50 && to - this.drawnTo < 50) return;
    }
    Object.assign(this, { drawnFrom: from, drawnTo: to });
    this.svg = drawn("svg", { class: "arrows", "aria-hidden": "true" });
    const made = this.rows.slice(from, to).map((row, index) => this.row(row, from + index));
    replace(this.list, this.svg, made);
    this.mark();
  }

  row(row, index) {
    const { model } = this;
    const top = `top:${index * ROW}px`;
    if (row.kind === "gap") {
      const count = row.to - row.from + 1;
      const tasks = new Set();
      for (let at = row.from; at <= row.to; at += 1) tasks.add(model.steps[at].task);
      const names = [...tasks]
        .slice(0, 3)
        .map((task) => model.run.tasks[task].shown)
        .join(", ");
      return element(
        "div",
        { class: "row gap", style: top, "data-row": index, role: "option", "aria-selected": "false" },
        `⋮ ${plural(count, "step")} of ${brief(names, 60)}${tasks.size > 3 ? ` and ${tasks.size - 3} more` : ""}`,
      );
    }
    if (row.kind === "note") {
      return element(
        "div",
        { class: row.isFailure ? "row note bad" : "row note", style: top, role: "presentation" },
        row.isFailure ? `✗ ${brief(row.text)}` : brief(row.text),
      );
    }
    if (row.kind === "wait") {
      const lane = this.laneOf[row.task];
      return element(
        "div",
        { class: "row wait", style: top, role: "presentation" },
        element(
          "span",
          { class: "cell", style: `grid-column:${lane + 2} / -3` },
          element("b", { class: "sign" }, "B"),
          " ",
          brief(row.text),
        ),
      );
    }
    const step = model.steps[row.at];
    const loud = step.events.filter((event) => !event.quiet);
    const sign = TELLING.find((one) => loud.some((event) => event.sign === one)) || "·";
    const task = model.run.tasks[step.task];
    const many = loud.length > 1 ? `(${loud.length}) ` : "";
    const whose = this.state.mode === "nodes" && task.node && !isMessage(task) ? `${task.path}: ` : "";
    const place = loud.length ? model.place(loud[0].place) : null;
    const words = brief(`${many}${whose}${textOf(model, step)}`, 200);
    return element(
      "div",
      {
        class: step.preempts ? "row step preempts" : "row step",
        style: top,
        role: "option",
        id: `s${step.step}`,
        "data-at": row.at,
        "data-row": index,
        "aria-selected": "false",
        "aria-label": brief(`step ${step.step}, ${task.shown}: ${textOf(model, step)}`),
      },
      element("span", { class: "no" }, element("i", { class: "rel" }), step.preempts ? "» " : "", String(step.step)),
      element(
        "span",
        { class: "cell", style: `grid-column:${this.laneOf[step.task] + 2} / -3` },
        element("b", { class: `sign sign-${sign === "!" ? "x" : sign}` }, sign),
        " ",
        words,
      ),
      element("span", { class: "p", style: "grid-column:-3" }, chanceText(model, step.step + 1)),
      this.hasPlace && place
        ? element("span", { class: "place", style: "grid-column:-2" }, shortPlace(place.text))
        : null,
    );
  }

  // The chosen step, what happens before and after it, and the arrows.
  mark() {
    const { model, state } = this;
    const relation = relationTo(model, state.at);
    for (const row of this.list.querySelectorAll(".step")) {
      const at = Number(row.dataset.at);
      const isChosen = at === state.at;
      const sign = isChosen ? "▶" : ["≺", "∥", "≻"][relation[at] + 1];
      // Only what changes is laid out anew.
      if (row.getAttribute("aria-selected") !== String(isChosen)) row.setAttribute("aria-selected", String(isChosen));
      const relative = row.querySelector(".rel");
      if (relative.textContent !== sign) relative.textContent = sign;
    }
    this.list.setAttribute("aria-activedescendant", `s${model.steps[state.at].step}`);
    this.arrows();
  }

  x(at) {
    const lane = this.laneOf[this.model.steps[at].task];
    return lane < 0 ? null : GUTTER + lane * this.width + 8;
  }

  arrows() {
    const { model, state, drawnFrom: from, drawnTo: to } = this;
    const height = (to - from) * ROW;
    const width = this.total;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    Object.assign(this.svg.style, { top: `${from * ROW}px`, height: `${height}px`, width: `${width}px` });
    const head = drawn(
      "marker",
      {
        id: "head-of-arrow",
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 9,
        markerHeight: 9,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      drawn("path", { d: "M0 0 L8 4 L0 8 z", class: "tip" }),
    );
    const shapes = [drawn("defs", {}, head)];
    const line = (d, name) =>
      shapes.push(
        drawn("path", { d, class: name, "marker-end": name.startsWith("turn") ? null : "url(#head-of-arrow)" }),
      );
    if (state.arrows !== "none") {
      this.turns(line, from, to);
      for (const edge of this.edges()) this.arrow(edge, line, from, to);
    }
    this.svg.replaceChildren(...shapes);
  }

  // From one task to the next one.
  turns(line, from, to) {
    for (let index = Math.max(1, from); index < to; index += 1) {
      const [before, row] = [this.rows[index - 1], this.rows[index]];
      if (row.kind !== "step" || before.kind !== "step" || row.at !== before.at + 1) continue;
      const [x, other] = [this.x(before.at), this.x(row.at)];
      if (x === null || other === null || x === other) continue;
      const y = (index - from) * ROW;
      line(`M${x} ${y - 4}V${y}H${other}V${y + 4}`, this.model.steps[row.at].preempts ? "turn preemption" : "turn");
    }
  }

  edges() {
    const { model, state } = this;
    if (state.arrows === "all") return model.edges;
    const step = model.steps[state.at];
    const messages = model.edges.filter((edge) => edge.kind === "message");
    return [...new Set([...step.into, ...step.out, ...messages])];
  }

  arrow(edge, line, from, to) {
    const [start, end] = [this.rowOf.get(edge.from), this.rowOf.get(edge.to)];
    if (start === undefined || end === undefined || start === end || end < from || start >= to) return;
    // A folded step has the place of its gap, and perhaps no lane.
    const [x, other] = [this.x(edge.from), this.x(edge.to)];
    if (x === null || other === null) return;
    const y = (start - from) * ROW + ROW / 2;
    const z = (end - from) * ROW + ROW / 2;
    const isChosen = edge.from === this.state.at || edge.to === this.state.at;
    const name = `${edge.kind}${isChosen ? " chosen" : ""}`;
    if (x === other) {
      line(`M${x - 8} ${y}C${x - 30} ${y} ${x - 30} ${z} ${x - 9} ${z}`, name);
    } else {
      const side = other > x ? 1 : -1;
      line(`M${x + 8 * side} ${y + 4}L${other - 9 * side} ${z - 2}`, name);
    }
  }

  clicked(event) {
    const row = event.target.closest("[data-row]");
    // Text that is being selected is no click.
    if (!row || String(getSelection()).length) return;
    const chosen = this.rows[Number(row.dataset.row)];
    if (chosen.kind === "gap") this.open(chosen);
    else this.choose(chosen.at);
  }

  hover(event) {
    const row = event.target.closest(".step");
    this.tip.hidden = !row;
    if (!row) return;
    this.tip.textContent = tipOf(this.model, this.model.steps[Number(row.dataset.at)]);
    const box = row.getBoundingClientRect();
    const height = this.tip.offsetHeight;
    const above = box.bottom + height + 8 > innerHeight;
    this.tip.style.top = `${above ? Math.max(0, box.top - height - 4) : box.bottom + 4}px`;
    this.tip.style.left = `${Math.max(4, Math.min(event.clientX + 12, innerWidth - this.tip.offsetWidth - 8))}px`;
  }

  // Scrolls to the chosen step.
  reveal() {
    const index = this.rowOf.get(this.state.at);
    if (index === undefined) return;
    const room = this.scroll.clientHeight - this.head.offsetHeight;
    const top = index * ROW;
    if (top < this.scroll.scrollTop + ROW) this.scroll.scrollTop = top - 2 * ROW;
    else if (top > this.scroll.scrollTop + room - 3 * ROW) this.scroll.scrollTop = top - room + 4 * ROW;
    if (this.isPartial) this.slice();
    const x = this.x(this.state.at);
    if (x === null) return;
    const { scrollLeft, clientWidth } = this.scroll;
    if (x < scrollLeft + GUTTER || x + this.width > scrollLeft + clientWidth) {
      this.scroll.scrollLeft = Math.max(0, Math.min(x - GUTTER, x + this.width - clientWidth));
    }
  }
}

// The name of the file, with line and column.
function shortPlace(text) {
  const shown = visible(text).split(/[/\\]/).pop();
  return shown.length > 30 ? `…${shown.slice(-29)}` : shown;
}

// All of a step as text, for the tooltip.
function tipOf(model, step) {
  const task = model.run.tasks[step.task];
  const lines = [`step ${step.step}, ${task.shown}${step.preempts ? ", preempts" : ""}`];
  for (const event of step.events.slice(0, 30)) {
    const place = model.place(event.place);
    lines.push(`${event.sign} ${wordsOf(event)}`);
    if (place) lines.push(`    ${place.text}${place.source ? `  ${place.source}` : ""}`);
  }
  if (step.events.length > 30) lines.push(`… ${step.events.length - 30} more`);
  for (const draw of step.draws) lines.push(`draw ${draw.value} below ${draw.bound}`);
  const held = heldAt(model, step.at).filter((hold) => hold.task === step.task);
  if (held.length) lines.push(`holds ${held.map((hold) => model.run.objects[hold.object].shown).join(", ")}`);
  const chance = chanceText(model, step.step + 1);
  if (chance) lines.push(`chance of failure ${chance}`);
  return lines.map((line) => brief(line, 160)).join("\n");
}
