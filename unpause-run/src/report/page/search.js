"use strict";
// The search of a test over time: its completed part and its estimated number of runs, as curves and as a table.

const SEARCH_SIZE = { width: 600, height: 150, left: 64, right: 12, top: 12, base: 126 };

function drawSearch(report) {
  const { searched } = report;
  const fallback = searched && searched.fallback ? searched.fallback.searched : null;
  const searches = [
    ["The search", searched],
    ["The search that received the remaining runs", fallback],
  ].filter(([, one]) => one && one.series && one.series.length > 1);
  byId("d-search").hidden = !searches.length;
  replace(
    byId("search"),
    searches.map(([name, one]) => [searches.length > 1 ? element("h3", {}, name) : null, oneSearch(one)]),
  );
}

function oneSearch({ series }) {
  const points = series.map((point) => ({
    ...point,
    total: point.total === null || isExtrapolated(point) ? null : Number(point.total),
    interval: point.low === null ? [] : [Number(point.low), Number(point.high)],
  }));
  const last = points[points.length - 1];
  const done = `${partText(last.part)} after ${plural(last.runs, "run")} and ${timeText(last.milliseconds)}`;
  const parts = points.filter((point) => point.part !== null);
  const known = points.filter((point) => point.total !== null);
  const table = element(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": "the search over time" },
    seriesTable(series),
  );
  return [
    element("p", {}, `Completed: ${done}.`),
    parts.length > 1 ? partPlot(parts, done) : null,
    known.length > 1 ? estimatePlot(known, series) : null,
    element("details", {}, element("summary", {}, "As a table"), table),
  ];
}

function partPlot(points, done) {
  return plotOf(points, `Completed part over time: ${done}`, {
    valuesOf: (point) => [point.part],
    heightOf: (part) => part,
    isExact: () => false,
    ticks: [0, 0.5, 1].map((part) => [part, partText(part)]),
  });
}

// The estimated number of runs, on a logarithmic scale. Bars are intervals.
function estimatePlot(points, series) {
  const last = totalText(series.filter((point) => point.total !== null).pop());
  const all = points.flatMap((point) => [point.total, ...point.interval]).map((total) => Math.max(total, 1));
  const low = Math.floor(Math.log10(Math.min(...all)));
  const span = Math.max(Math.ceil(Math.log10(Math.max(...all))) - low, 1);
  const ticks = [];
  for (let power = low; power <= low + span; power += Math.ceil(span / 4)) {
    ticks.push([10 ** power, power < 6 ? (10 ** power).toLocaleString("en") : `1e${power}`]);
  }
  return [
    element("p", {}, `Estimated number of all runs: ${last}. ● with an interval of 95 %, ○ exact.`),
    plotOf(points, `Estimated number of all runs over time: ${last}`, {
      valuesOf: (point) => [point.total, ...point.interval],
      heightOf: (total) => (Math.log10(Math.max(total, 1)) - low) / span,
      isExact: (point) => !point.interval.length,
      ticks,
    }),
  ];
}

// A curve through the first values of the points. Two further values are the ends of an interval.
function plotOf(points, label, { valuesOf, heightOf, isExact, ticks }) {
  const { width, height, left, right, top, base } = SEARCH_SIZE;
  const end = points[points.length - 1].milliseconds;
  const count = Math.max(points.length - 1, 1);
  // If the clock shows no difference, the points have equal distances.
  const across = (point, at) => left + (width - left - right) * (end ? point.milliseconds / end : at / count);
  const up = (value) => base - (base - top) * Math.min(1, Math.max(0, heightOf(value)));
  const text = (x, at, words, anchor) => drawn("text", { x, y: at, "text-anchor": anchor }, words);
  const shapes = ticks.flatMap(([value, name]) => [
    drawn("path", { d: `M${left} ${up(value)}H${width - right}`, class: "axis" }),
    text(left - 5, up(value) + 4, name, "end"),
  ]);
  shapes.push(text(left, height - 4, "0", "middle"), text(width - right, height - 4, timeText(end), "end"));
  const line = points.map((point, at) => `${across(point, at)} ${up(valuesOf(point)[0])}`);
  shapes.push(drawn("path", { d: `M${line.join("L")}`, class: "curve" }));
  points.forEach((point, at) => {
    const [value, low, high] = valuesOf(point);
    const x = across(point, at);
    if (low !== undefined) shapes.push(drawn("path", { d: `M${x} ${up(low)}V${up(high)}`, class: "interval" }));
    const dot = drawn("circle", { cx: x, cy: up(value), r: 3, class: isExact(point) ? "dot exact" : "dot" });
    dot.append(drawn("title", {}, `${timeText(point.milliseconds)}: ${plural(point.runs, "run")}`));
    shapes.push(dot);
  });
  const box = `0 0 ${width} ${height}`;
  return drawn("svg", { viewBox: box, class: "plot", role: "img", "aria-label": label }, ...shapes);
}

function seriesTable(series) {
  const cells = (name, texts, attributes) => texts.map((text) => element(name, attributes, text));
  const rows = series.map((point) => [
    timeText(point.milliseconds),
    point.runs.toLocaleString("en"),
    partText(point.part),
    totalText(point),
  ]);
  const names = ["time", "runs", "completed", "estimated number of all runs"];
  return element(
    "table",
    { class: "series" },
    element("thead", {}, element("tr", {}, cells("th", names, { scope: "col" }))),
    element(
      "tbody",
      {},
      rows.map((texts) => element("tr", {}, cells("td", texts, {}))),
    ),
  );
}

// Only a part of exactly 0 is shown as 0 %, and only a part of exactly 1 as 100 %.
function partText(part) {
  if (part === null) return "unknown";
  if (part > 0 && part < 0.0001) return "< 0.01 %";
  if (part < 1 && part > 0.9999) return "> 99.99 %";
  return `${(100 * part).toFixed(2).replace(/\.?0+$/, "")} %`;
}

function timeText(milliseconds) {
  return milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

// A number of runs may exceed the numbers that JavaScript has.
function totalText(point) {
  const { total, low, high } = point;
  const number = (text) => BigInt(text).toLocaleString("en");
  if (total === null) return "unknown";
  if (isExtrapolated(point)) return `about ${number(total)}`;
  return low === null ? number(total) : `${number(total)} (${number(low)} to ${number(high)})`;
}

// In a report of an earlier version, a number without an interval may be extrapolated.
function isExtrapolated({ low, part }) {
  return low === null && part !== null && part < 1;
}
