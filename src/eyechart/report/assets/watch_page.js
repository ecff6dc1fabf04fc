// The page of a watched training: for each benchmark what is sure, the curve with its intervals, a table. It renews itself.
import { el, formatCount, showText } from "./dom.js";
import { curveChart } from "./charts.js";
import { cell, footer, masthead, numbersTable, section } from "./run_page.js";

/** Fill the page with curves. */
export function showWatch(root, data) {
  const links = data.curves.map((curve, place) => [`curve-${place}`, curve.benchmark]);
  root.append(
    masthead(data.title, null, "Every checkpoint on the same questions.", links, "curve-0"),
    el("main", {}, data.curves.map((curve, place) => section(`curve-${place}`, curve.benchmark, null,
      el("div", { class: "panel" }, showText(curve.verdict, { class: "verdict" }, "p")),
      curveChart(curve.points, curve.best),
      pointsTable(curve),
      el("p", { class: "muted small" }, `${formatCount(curve.n)} questions in ${formatCount(curve.n_clusters)} clusters: those with a score at every checkpoint. Bars and gains: intervals that hold for all checkpoints together with 95 %, however many follow.`)))),
    footer(data));
  setTimeout(() => location.reload(), 1000 * data.renew_s);
}

function pointsTable(curve) {
  const [headings, ...rows] = curve.rows;
  return numbersTable(`Checkpoints of ${curve.benchmark}`, headings, rows.map(([step, ...cells]) => el("tr", {}, showText(step, { scope: "row" }, "th"), cells.map((text) => cell(text)))));
}
