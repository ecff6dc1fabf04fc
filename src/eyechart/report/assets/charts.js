// Plots, drawn by Observable Plot as SVG in the page's own colours. Each has a label that says what it shows, and
// the numbers stand in a table or in text beside it. They are drawn again when the width changes.
import { OUTCOMES, el, formatCount, formatPercent, formatRange, formatSeconds, formatTenths } from "./dom.js";

const TYPE = { fontSize: "12px", fontFamily: "inherit" };
const percentAxis = { label: null, domain: [0, 100], grid: true, tickFormat: (value) => `${value} %` };

/** A figure that `draw(width)` fills, again whenever its width changes. */
export function figure(label, draw, { caption = null } = {}) {
  const holder = el("div", {});
  const made = el("figure", { class: "plot" }, caption ? el("figcaption", {}, caption) : null, holder);
  let drawn = 0;
  const redraw = (width) => {
    if (width < 40 || Math.abs(width - drawn) < 8) return;
    drawn = width;
    const svg = draw(Math.floor(width));
    for (const part of svg.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label"); // not allowed without a role
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    holder.replaceChildren(svg);
  };
  new ResizeObserver((entries) => redraw(entries[0].contentRect.width)).observe(holder);
  return made;
}

/** The headline with its interval among the levels it is compared with. */
export function levelsChart(overall, levels) {
  const points = [
    ...levels.map((level) => ({ name: level.name, x: 100 * level.score, ends: level.ci95, isOwn: false })),
    ...(overall.score === null ? [] : [{ name: "this run", x: 100 * overall.score, ends: overall.ci95, isOwn: true }]),
  ];
  const told = points.map((one) => `${one.name} ${formatTenths(one.x)} %`).join(", ");
  return figure(`Score and levels: ${told}`, (width) => Plot.plot({
    width, style: TYPE, height: 30 + 30 * points.length, marginLeft: marginFor(points.map((one) => one.name), width), marginRight: 56, marginTop: 8, marginBottom: 26,
    x: percentAxis,
    y: { domain: points.map((one) => one.name), label: null, tickSize: 0 },
    marks: [
      Plot.axisY({ tickSize: 0, fontSize: 13, label: null }),
      Plot.ruleY(points.filter((one) => one.ends), { y: "name", x1: (one) => 100 * one.ends[0], x2: (one) => 100 * one.ends[1], stroke: (one) => (one.isOwn ? "var(--accent)" : "var(--muted)"), strokeWidth: (one) => (one.isOwn ? 6 : 3), strokeOpacity: 0.4, strokeLinecap: "round" }),
      Plot.dot(points, { x: "x", y: "name", r: (one) => (one.isOwn ? 7 : 5), fill: (one) => (one.isOwn ? "var(--accent)" : "var(--paper)"), stroke: (one) => (one.isOwn ? "var(--accent)" : "var(--muted)"), strokeWidth: 2 }),
      Plot.text(points, { x: 100, y: "name", text: (one) => `${formatTenths(one.x)} %`, dx: 12, textAnchor: "start", fontSize: 12.5, fontWeight: (one) => (one.isOwn ? 650 : 400) }),
    ],
    color: { type: "identity" }, r: { type: "identity" },
  }));
}

/** One bar of all sample-trials by outcome. */
export function outcomeBar(outcomes) {
  const parts = OUTCOMES.filter((outcome) => outcomes[outcome]).map((outcome) => ({ outcome, n: outcomes[outcome] }));
  const total = parts.reduce((sum, part) => sum + part.n, 0);
  const told = parts.map((part) => `${part.outcome} ${part.n}`).join(", ");
  return figure(`Outcomes: ${told}`, (width) => Plot.plot({
    width, style: TYPE, height: 26, margin: 0, axis: null,
    x: { domain: [0, total] },
    color: { domain: OUTCOMES, range: OUTCOMES.map((outcome) => `var(--${outcome})`) },
    marks: [Plot.barX(parts, Plot.stackX({ x: "n", fill: "outcome", order: null, insetLeft: 1, insetRight: 1, rx: 3, title: (part) => `${part.outcome}: ${formatCount(part.n)} of ${formatCount(total)} (${formatPercent(part.n / total)} %)` }))],
  }));
}

/** A score with its interval per group, the overall score as a line, chance as a small mark. */
export function groupsChart(groups, overall, key) {
  const rows = groups.filter(([, group]) => group.score !== null).map(([name, group]) => ({ name, x: 100 * group.score, ends: group.ci95 ?? [group.score, group.score], chance: group.chance, n: group.n }));
  const names = rows.map((row) => row.name);
  return figure(`Score by ${key}, with 95 % intervals; the numbers are in the table`, (width) => Plot.plot({
    width, style: TYPE, height: 34 + 24 * rows.length, marginLeft: marginFor(names, width), marginRight: 26, marginTop: 4, marginBottom: 28,
    x: percentAxis, y: { domain: names, label: null },
    marks: [
      Plot.axisY({ tickSize: 0, fontSize: 12.5, label: null, tickFormat: (name) => clip(name, width) }),
      overall.score === null ? null : Plot.ruleX([100 * overall.score], { stroke: "var(--muted)", strokeDasharray: "3,3" }),
      Plot.ruleY(rows, { y: "name", x1: (row) => 100 * row.ends[0], x2: (row) => 100 * row.ends[1], stroke: "var(--accent)", strokeWidth: 5, strokeOpacity: 0.35, strokeLinecap: "round" }),
      Plot.dot(rows.filter((row) => row.chance !== null), { x: (row) => 100 * row.chance, y: "name", symbol: "times", r: 3.5, stroke: "var(--muted)", title: (row) => `chance ${formatPercent(row.chance)} %` }),
      Plot.dot(rows, { x: "x", y: "name", r: 5, fill: "var(--accent)", title: (row) => `${row.name}: ${formatTenths(row.x)} % (${formatRange(row.ends)}), n = ${formatCount(row.n)}` }),
    ],
  }));
}

/** Differences with their intervals, around zero. */
export function differencesChart(rows, label) {
  const names = rows.map((row) => row.name);
  const reach = Math.max(5, ...rows.flatMap((row) => row.ends.map((end) => Math.abs(100 * end)))) * 1.05;
  return figure(label, (width) => Plot.plot({
    width, style: TYPE, height: 34 + 26 * rows.length, marginLeft: marginFor(names, width), marginRight: 26, marginTop: 4, marginBottom: 28,
    x: { domain: [-Math.min(100, reach), Math.min(100, reach)], grid: true, label: null, tickFormat: (value) => `${value > 0 ? "+" : ""}${value}` },
    y: { domain: names, label: null },
    marks: [
      Plot.axisY({ tickSize: 0, fontSize: 12.5, label: null, tickFormat: (name) => clip(name, width) }),
      Plot.ruleX([0], { stroke: "var(--ink)" }),
      Plot.ruleY(rows, { y: "name", x1: (row) => 100 * row.ends[0], x2: (row) => 100 * row.ends[1], stroke: (row) => (row.isClear ? "var(--accent)" : "var(--muted)"), strokeWidth: 5, strokeOpacity: 0.4, strokeLinecap: "round" }),
      Plot.dot(rows, { x: (row) => 100 * row.x, y: "name", r: 5, fill: (row) => (row.isClear ? "var(--accent)" : "var(--paper)"), stroke: (row) => (row.isClear ? "var(--accent)" : "var(--muted)"), strokeWidth: 2 }),
    ],
    color: { type: "identity" },
  }));
}

/** Score against what it takes: filled where nothing dominates a setting, joined along the best for the money. */
export function frontierChart(points, label, name) {
  const steps = [];
  for (const one of [...points].sort((a, b) => a.x - b.x || b.y - a.y)) if (!steps.length || one.y > steps[steps.length - 1].y) steps.push(one);
  const edges = steps.slice(1).flatMap(({ x, y }, place) => {
    const last = steps[place];
    return [{ x1: last.x, y1: last.y, x2: x, y2: last.y }, { x1: x, y1: last.y, x2: x, y2: y }];
  });
  const places = new Map(); // points at the same place share a label
  for (const { x, y, number } of points) places.set(`${x} ${y}`, { x, y, number: [places.get(`${x} ${y}`)?.number, number].filter(Boolean).join(", ") });
  return figure(label, (width) => Plot.plot({
    width, style: TYPE, height: 280, inset: 10, marginLeft: 48, marginRight: 26, marginTop: 12, marginBottom: 40,
    x: { label: name, grid: true, zero: true, ticks: Math.max(3, Math.floor(width / 110)) }, y: { label: "score %", grid: true },
    marks: [
      Plot.link(edges, { x1: "x1", y1: "y1", x2: "x2", y2: "y2", stroke: "var(--muted)", strokeDasharray: "3,3" }),
      Plot.ruleX(points.filter((one) => one.ends), { x: "x", y1: (one) => 100 * one.ends[0], y2: (one) => 100 * one.ends[1], stroke: (one) => (one.isOpen ? "var(--muted)" : "var(--accent)"), strokeWidth: 3, strokeOpacity: 0.35, strokeLinecap: "round" }),
      Plot.dot(points, { x: "x", y: "y", r: 5, fill: (one) => (one.isOpen ? "var(--paper)" : "var(--accent)"), stroke: (one) => (one.isOpen ? "var(--muted)" : "var(--accent)"), strokeWidth: 2, title: "title" }),
      Plot.text(places.values(), { x: "x", y: "y", text: "number", dy: -12, fontSize: 11.5 }),
    ],
    color: { type: "identity" },
  }));
}

/** Scores by step, with the intervals of the gains since the first checkpoint; the best one in another colour. */
export function curveChart(points, best) {
  const first = points[0].score;
  const rows = points.map((one) => ({ step: one.step, y: 100 * one.score, low: Math.max(0, 100 * (first + one.since_first.low)), high: Math.min(100, 100 * (first + one.since_first.high)), isBest: one.step === best }));
  const joints = rows.slice(1).map((row, place) => ({ from: rows[place], to: row }));
  return figure("Score by step; the numbers are in the table", (width) => Plot.plot({
    width, style: TYPE, height: 280, inset: 10, marginLeft: 48, marginRight: 26, marginTop: 12, marginBottom: 40,
    x: { label: "step", ticks: Math.max(3, Math.floor(width / 110)) }, y: { label: "score %", grid: true },
    marks: [
      Plot.ruleX(rows, { x: "step", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 5, strokeOpacity: 0.35, strokeLinecap: "round" }),
      Plot.link(joints, { x1: (one) => one.from.step, y1: (one) => one.from.y, x2: (one) => one.to.step, y2: (one) => one.to.y, stroke: "var(--accent)", strokeWidth: 2 }),
      Plot.dot(rows, { x: "step", y: "y", r: 4.5, fill: (row) => (row.isBest ? "var(--side-b)" : "var(--accent)"), title: (row) => `step ${formatCount(row.step)}: ${formatTenths(row.y)} %` }),
    ],
    color: { type: "identity" },
  }));
}

/** How often each letter was chosen, beside how often it is right. */
export function lettersChart(letters) {
  const rows = Object.entries(letters).map(([letter, share]) => ({ letter, chosen: 100 * share.chosen, gold: 100 * share.gold }));
  const most = Math.max(...rows.flatMap((row) => [row.chosen, row.gold]));
  return figure("Share of each letter among the answers (filled) and among the golds (open)", (width) => Plot.plot({
    width, style: TYPE, height: 34 + 26 * rows.length, marginLeft: 28, marginRight: 26, marginTop: 4, marginBottom: 28,
    x: { ...percentAxis, domain: [0, Math.min(100, Math.ceil(most / 10) * 10 + 5)] }, y: { domain: rows.map((row) => row.letter), label: null },
    marks: [
      Plot.axisY({ tickSize: 0, fontSize: 13, label: null }),
      Plot.link(rows, { x1: "gold", x2: "chosen", y1: "letter", y2: "letter", stroke: "var(--line)", strokeWidth: 3 }),
      Plot.dot(rows, { x: "gold", y: "letter", r: 5.5, fill: "var(--paper)", stroke: "var(--muted)", strokeWidth: 2, title: (row) => `${row.letter} is right in ${formatTenths(row.gold)} %` }),
      Plot.dot(rows, { x: "chosen", y: "letter", r: 5, fill: "var(--accent)", title: (row) => `${row.letter} chosen in ${formatTenths(row.chosen)} %` }),
    ],
  }));
}

/** How a number is spread over the samples; the longest percent share the last bar. */
export function histogram(values, label, format = formatCount) {
  const known = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  const end = quantile(known, 0.99) || known[known.length - 1] || 1;
  const shown = known.map((value) => Math.min(value, end));
  return figure(label, (width) => Plot.plot({
    width, style: TYPE, height: 150, marginLeft: 44, marginRight: 12, marginTop: 8, marginBottom: 28,
    x: { label: null, tickFormat: (value) => format(value), ticks: Math.max(3, Math.floor(width / 90)) }, y: { label: null, grid: true, ticks: 4, tickFormat: "~s" },
    marks: [Plot.rectY(shown, Plot.binX({ y: "count" }, { x: (value) => value, thresholds: 24, fill: "var(--accent)", fillOpacity: 0.75 })), Plot.ruleY([0], { stroke: "var(--line)" })],
  }));
}

export function quantile(sorted, share) {
  if (!sorted.length) return null;
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** Median, 95th percentile and most, in words. */
export function tellSpread(values, format = formatSeconds) {
  const known = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  return `median ${format(quantile(known, 0.5))}, 95th percentile ${format(quantile(known, 0.95))}, most ${format(known[known.length - 1])}`;
}

// Room for the names at the left: as much as they need, at most two fifths of the width.
function marginFor(names, width) {
  const longest = Math.max(0, ...names.map((name) => name.length));
  return Math.min(Math.max(40, 12 + 7.2 * longest), Math.floor(0.4 * width));
}

function clip(name, width) {
  const most = Math.max(6, Math.floor((0.4 * width - 12) / 7.2));
  return name.length > most ? `${name.slice(0, most - 1)}…` : name;
}
